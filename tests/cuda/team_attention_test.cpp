// The plain kernel's phases, run thread after thread on the host, against attention's definition.
#include "cuda/layout/team_attention.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "reference/weights/counter_random.hpp"

namespace orthros::cuda {
namespace {

// Threads in turn, from the last to the first, so that no phase may lean on the order of one.
struct HostTeam {
  int64_t threads;
  int64_t size() const { return threads; }
  template <class Phase>
  void each(const Phase& phase) const {
    for (int64_t t = threads - 1; t >= 0; --t) phase(t);
  }
};

std::vector<uint16_t> draw(int64_t count, uint64_t seed, const char* name, double scale) {
  const CounterRandom random(seed, name);
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = hopper::round_bf16(static_cast<float>(scale * random.normal(i)));
  }
  return values;
}

// What a team writes, and the sums in front of it.
struct Attended {
  std::vector<uint16_t> out;
  std::vector<float> part, total;
};

template <class Keys>
Attended attend_by_team(const std::vector<uint16_t>& q, const Keys& seen, bool windowed,
                        int64_t threads) {
  const size_t width = q.size();
  std::vector<float> most(static_cast<size_t>(threads));
  std::vector<float> exact(static_cast<size_t>(team_keys));
  std::vector<uint16_t> weights(static_cast<size_t>(team_keys));
  std::vector<float> chains(static_cast<size_t>(hopper::sum_chains));
  Attended result{std::vector<uint16_t>(width, 0x7fff), std::vector<float>(width),
                  std::vector<float>(width)};
  const TeamAttention<HostTeam, Keys> attention{
      {threads},
      {most.data(), exact.data(), weights.data(), chains.data(), result.part.data(),
       result.total.data()},
      q.data(),
      seen,
      hopper::score_scale(static_cast<int64_t>(width))};
  if (windowed) {
    attention.base(result.out.data());
  } else {
    attention.output(result.out.data());
  }
  return result;
}

RC_GTEST_PROP(team_attention, a_team_gives_the_definitions_bits_for_windows_and_splits, ()) {
  const auto width = *rc::gen::element<int64_t>(8, 16, 24, 40).as("width");
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  const auto end = *rc::gen::oneOf(rc::gen::inRange<int64_t>(1, 40),
                                   rc::gen::element<int64_t>(511, 512, 513, 529, 1024, 1100))
                        .as("keys");
  const bool windowed = *rc::gen::arbitrary<bool>();
  const auto window = *rc::gen::inRange<int64_t>(1, 700).as("window");
  const auto threads = *rc::gen::element<int64_t>(1, 5, 32, 128).as("threads");
  // Entries behind the last are NaN.
  auto keys = draw((end + 16) * width, seed, "keys", 2.0);
  auto values = draw((end + 16) * width, seed, "values", 1.0);
  std::fill(keys.begin() + end * width, keys.end(), uint16_t{0x7fff});
  std::fill(values.begin() + end * width, values.end(), uint16_t{0x7fff});
  const auto q = draw(width, seed, "q", 3.0);
  const int64_t begin = windowed ? std::max<int64_t>(0, end - window) : 0;
  const hopper::VisibleKeys seen{keys.data(), values.data(), width, width, begin, end};
  const float scale = hopper::score_scale(width);
  std::vector<float> scratch(static_cast<size_t>(2 * width));
  std::vector<uint16_t> expected(static_cast<size_t>(width));
  (windowed ? hopper::attend_base : hopper::attend_output)(q.data(), seen, scale, scratch.data(),
                                                           expected.data());

  const Attended got = attend_by_team(q, seen, windowed, threads);
  RC_ASSERT(got.out == expected);
  // Rounding hides most slips in the order of sums; the sums before it do not.
  const std::vector<float>& sums = windowed ? got.part : got.total;
  RC_ASSERT(std::equal(sums.begin(), sums.end(), scratch.begin(),
                       [](float a, float b) { return hopper::bits_of(a) == hopper::bits_of(b); }));
}

RC_GTEST_PROP(team_attention, entries_of_e4m3_are_attended_as_what_they_are_read_as, ()) {
  const auto width = *rc::gen::element<int64_t>(8, 24, 40).as("width");
  const auto end = *rc::gen::element<int64_t>(1, 17, 511, 513, 700).as("keys");
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  const bool windowed = *rc::gen::arbitrary<bool>();
  const int key_exponent = *rc::gen::inRange(-6, 2).as("keys' exponent");
  const int value_exponent = *rc::gen::inRange(-6, 2).as("values' exponent");
  const auto entries_of = [](const std::vector<uint16_t>& drawn, int exponent,
                             std::vector<uint16_t>& read) {
    std::vector<uint8_t> entries;
    for (const uint16_t bits : drawn) {
      entries.push_back(hopper::entry_of(hopper::widen_bf16(bits), exponent));
      read.push_back(hopper::widen_e4m3(entries.back(), exponent));
    }
    return entries;
  };
  std::vector<uint16_t> read_keys;
  std::vector<uint16_t> read_values;
  const auto keys = entries_of(draw(end * width, seed, "keys", 2.0), key_exponent, read_keys);
  const auto values =
      entries_of(draw(end * width, seed, "values", 1.0), value_exponent, read_values);
  const auto q = draw(width, seed, "q", 3.0);
  const int64_t begin = windowed ? end / 2 : 0;
  const hopper::VisibleKeys read{read_keys.data(), read_values.data(), width, width, begin, end};
  const E4m3Keys seen{keys.data(), values.data(), width,        width,
                      begin,       end,           key_exponent, value_exponent};
  constexpr int64_t threads = 32;
  RC_ASSERT(attend_by_team(q, seen, windowed, threads).out ==
            attend_by_team(q, read, windowed, threads).out);
}

}  // namespace
}  // namespace orthros::cuda
