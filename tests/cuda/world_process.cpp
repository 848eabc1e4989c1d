// One process of a World, for world_test: world_process SCENARIO. Exit 0: it has what it should.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/group/told.hpp"
#include "cuda/group/world.hpp"

namespace orthros::cuda {
namespace {

Prediction made_by(int32_t rank, int64_t i) {
  return {1000 * rank + i, {static_cast<float>(rank), static_cast<float>(i), 0.5f}};
}

// The i-th of six predictions is made by rank i mod size; the others' memory holds nothing.
bool predictions() {
  const World& all = world();
  std::vector<Prediction> mine(6);
  std::vector<int32_t> makers;
  for (int64_t i = 0; i < 6; ++i) {
    makers.push_back(static_cast<int32_t>(i) % all.size);
    if (makers.back() == all.rank) mine[static_cast<size_t>(i)] = made_by(all.rank, i);
  }
  tell_predictions(mine, makers, 3);
  for (int64_t i = 0; i < 6; ++i) {
    const Prediction expected = made_by(makers[static_cast<size_t>(i)], i);
    const Prediction& got = mine[static_cast<size_t>(i)];
    if (got.token != expected.token || got.logits != expected.logits) return false;
  }
  return true;
}

// Two steps of three tokens: each rank knows its own token's ids alone.
bool ids() {
  const World& all = world();
  const std::vector<int32_t> makers = {all.size - 1, 0, all.size - 1};
  std::vector<int64_t> known(6, -1);
  for (size_t at = 0; at < known.size(); ++at) {
    if (makers[at % 3] == all.rank) known[at] = static_cast<int64_t>(at) + 7;
  }
  tell_ids(known, makers);
  return known == std::vector<int64_t>{7, 8, 9, 10, 11, 12};
}

// More bytes than an int counts in one piece of a broadcast, and not a whole number of pieces.
bool many_bytes() {
  std::vector<char> bytes((size_t{1} << 30) + 5, world().rank == 1 ? 'x' : 'o');
  broadcast(bytes.data(), static_cast<int64_t>(bytes.size()), 1);
  return bytes.front() == 'x' && bytes[(size_t{1} << 30) - 1] == 'x' && bytes.back() == 'x';
}

// The last leaves with a failure while the others wait to hear from it: they must not wait for
// ever.
bool failure() {
  const World& all = world();
  if (all.rank == all.size - 1) leave_world(3);
  char word = 0;
  broadcast(&word, sizeof word, all.size - 1);
  return true;
}

}  // namespace
}  // namespace orthros::cuda

int main(int argc, char** argv) {
  namespace cuda = orthros::cuda;
  const std::string scenario = argc == 2 ? argv[1] : "";
  if (cuda::join_world().size < 2) {
    std::fprintf(stderr, "world_process: expected mpirun to start several\n");
    return 2;
  }
  bool well = false;
  if (scenario == "predictions") well = cuda::predictions();
  if (scenario == "ids") well = cuda::ids();
  if (scenario == "many_bytes") well = cuda::many_bytes();
  if (scenario == "failure") well = cuda::failure();
  if (well) std::printf("well\n");
  std::fflush(stdout);
  cuda::leave_world(0);
  return well ? 0 : 1;
}
