// The threads of a group: they meet, and one that fails ends what the others wait for.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

#include "cuda/group/crew.hpp"
#include "cuda/group/rendezvous.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

constexpr auto long_patience = std::chrono::milliseconds(60'000);

Crew::Watch watch(Rendezvous& rendezvous, std::chrono::milliseconds patience = long_patience) {
  return {[] {}, [&] { rendezvous.fail("another rank failed"); }, patience};
}

std::string failure_of(Crew& crew, const std::function<void(int32_t)>& work) {
  try {
    crew.run(work);
  } catch (const GroupFailure& failure) {
    return failure.what();
  }
  return "none";
}

TEST(group, all_ranks_meet_again_and_again) {
  constexpr int64_t ranks = 4;
  Rendezvous rendezvous(ranks, long_patience);
  Crew crew({0, 1, 2, 3}, watch(rendezvous));
  std::atomic<int64_t> arrived = 0;
  std::atomic<int64_t> wrong = 0;
  crew.run([&](int32_t) {
    for (int64_t round = 1; round <= 200; ++round) {
      ++arrived;
      rendezvous.meet();
      if (arrived < ranks * round) ++wrong;
      rendezvous.meet();
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(arrived, 200 * ranks);
}

TEST(group, a_rank_that_throws_ends_the_run_with_its_own_words_while_others_wait_for_it) {
  Rendezvous rendezvous(3, long_patience);
  Crew crew({0, 1, 2}, watch(rendezvous));
  const std::string heard = failure_of(crew, [&](int32_t rank) {
    if (rank == 1) throw std::runtime_error("out of memory");
    rendezvous.meet();
  });
  EXPECT_EQ(heard, "rank 1: out of memory");
}

TEST(group, bad_input_that_a_rank_finds_stays_bad_input) {
  Rendezvous rendezvous(2, long_patience);
  Crew crew({0, 1}, watch(rendezvous));
  EXPECT_THROW(crew.run([&](int32_t rank) {
    if (rank == 0) throw InputError("tokens", "", "expected fewer");
    rendezvous.meet();
  }),
               InputError);
}

TEST(group, a_rank_that_never_comes_is_noticed_by_those_who_wait) {
  Rendezvous rendezvous(2, std::chrono::milliseconds(50));
  Crew crew({0, 1}, watch(rendezvous));
  const std::string heard = failure_of(crew, [&](int32_t rank) {
    if (rank == 0) rendezvous.meet();
  });
  EXPECT_EQ(heard, "rank 0: not all ranks came to meet within 50 ms");
}

TEST(group, a_run_without_end_is_ended_by_the_watch) {
  Rendezvous rendezvous(2, long_patience);
  Crew crew({0, 1}, watch(rendezvous, std::chrono::milliseconds(50)));
  const std::string heard = failure_of(crew, [&](int32_t rank) {
    if (rank == 0) rendezvous.meet();  // rank 1 is done and will not come
  });
  EXPECT_EQ(heard, "the group: no end within 50 ms");
}

TEST(group, what_the_transport_finds_in_silence_ends_the_run) {
  Rendezvous rendezvous(2, long_patience);
  Crew crew({0, 1}, {[] { throw GroupFailure("NCCL: remote process exited"); },
                [&] { rendezvous.fail("another rank failed"); }, long_patience});
  const std::string heard = failure_of(crew, [&](int32_t rank) {
    if (rank == 0) rendezvous.meet();
  });
  EXPECT_EQ(heard, "the group: NCCL: remote process exited");
}

TEST(group, a_failed_meeting_place_lets_nobody_in_again) {
  Rendezvous rendezvous(2, long_patience);
  rendezvous.fail("first");
  rendezvous.fail("second");
  EXPECT_TRUE(rendezvous.failed());
  EXPECT_EQ(rendezvous.reason(), "first");
  EXPECT_THROW(rendezvous.meet(), GroupFailure);
}

}  // namespace
}  // namespace orthros::cuda
