// Deals specs and schedules.
#include "cuda/check/random_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "reference/spec/architecture.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros::cuda {
namespace {

// Prompt lengths for a window of w.
struct LengthKind {
  bool longest;  // thousands of tokens: in small models only
  std::vector<int64_t> (*prompts)(int64_t w);
};

using Lengths = std::vector<int64_t>;
const std::vector<LengthKind> quick_lengths = {
    {false, [](int64_t) { return Lengths{1}; }},
    {false, [](int64_t w) { return Lengths{w - 1}; }},
    {false, [](int64_t w) { return Lengths{w}; }},
    {false, [](int64_t w) { return Lengths{w + 1}; }},
    {false,
     [](int64_t w) {
       return Lengths{w - 1, w, w + 1};
     }},
    {false, [](int64_t) { return Lengths{127}; }},
    {false, [](int64_t) { return Lengths{128}; }},
    {false, [](int64_t) { return Lengths{129}; }},
    {false, [](int64_t) { return Lengths{511}; }},
    {false, [](int64_t) { return Lengths{512}; }},
    {false, [](int64_t) { return Lengths{513}; }},
    {false,
     [](int64_t) {
       return Lengths{1, 5, 10, 129};
     }},
    {false,
     [](int64_t) {
       return Lengths{3, 1, 4};
     }},
};
const std::vector<LengthKind> long_lengths = {
    {true, [](int64_t) { return Lengths{4095}; }},
    {true, [](int64_t) { return Lengths{4096}; }},
    {true, [](int64_t) { return Lengths{4097}; }},
};

std::vector<LengthKind> length_kinds(Suite suite) {
  std::vector<LengthKind> kinds = quick_lengths;
  if (suite == Suite::full) kinds.insert(kinds.end(), long_lengths.begin(), long_lengths.end());
  return kinds;
}

Rope dealt_rope(const Dealer& deal, int64_t head_width) {
  Rope rope;
  rope.width = head_width;
  switch (deal.of<int>("rope", {0, 1, 2})) {
    case 0:
      rope.theta = 1e4;
      break;
    case 1:
      rope.theta = 1e6;
      break;
    default:
      rope.theta = 5e5;
      rope.scaling = RopeScaling::llama3;
      rope.factor = 8.0;
      rope.original_max_position = 64;
  }
  return rope;
}

// `narrow`: for thousands of tokens, so that the CPU follows.
ModelSpec dealt_spec(const Dealer& deal, bool narrow) {
  SoftmaxAttention mixer;
  mixer.head_width = deal.of<int64_t>("head width", {8, 16, 24, 40, 64, 128, 256});
  const int64_t group = deal.of<int64_t>("group", {1, 2, 3, 4, 5, 7, 8, 12, 16});
  mixer.kv_heads = deal.of<int64_t>("KV heads", {1, 2, 3});
  const int64_t widest = narrow ? 512 : 4096;
  while (mixer.kv_heads > 1 && mixer.kv_heads * group * mixer.head_width > widest) {
    --mixer.kv_heads;
  }
  mixer.query_heads =
      mixer.kv_heads *
      (narrow ? std::min(group, std::max<int64_t>(widest / mixer.head_width, 1)) : group);
  mixer.qk_norm = deal.of<int>("qk-norm", {0, 1}) == 1;
  mixer.rope = dealt_rope(deal, mixer.head_width);
  ModelSpec spec;
  spec.vocab = deal.of<int64_t>("vocab", {2, 17, 50, 101, 255, 256, 1000});
  spec.hidden = deal.of<int64_t>("hidden", {8, 24, 40, 48, 64, 72, 96, 128, 136});
  spec.norm_eps = deal.of<double>("eps", {1e-5, 1e-6});
  spec.tied_embeddings = deal.of<int>("tied", {0, 1}) == 1;
  const auto layers = deal.of<size_t>("layers", {1, 2, 2, 3});
  const auto ffn = deal.of<int64_t>("ffn", {8, 24, 40, 64, 88, 96, 128, 176, 264});
  spec.layers.assign(layers, Layer{mixer, SwiGlu{ffn}});

  ArchitectureRequest request;
  request.name = deal.of<std::string>(
      "architecture", {"orthros", "orthros-noso", "swa", "transformer", "orthros before"});
  request.window =
      deal.of<int64_t>("window", {1, 2, 5, 16, 17, 33, 64, 100, 127, 128, 129, 512, 4096});
  if (request.name == "orthros before") {
    request.name = "orthros";
    request.scale_offset = ScaleOffset::before_qk_norm;
  }
  return to_architecture(spec, request);
}

}  // namespace

size_t Dealer::place(std::string_view what, size_t size) const {
  const auto round = index_ / static_cast<int64_t>(size);
  const CounterRandom random(seed_, fmt::format("{}.{}", what, round));
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.bits(i) % i]);
  return order[static_cast<size_t>(index_) % size];
}

int64_t random_cases(Suite suite) {
  return suite == Suite::quick ? 26 : 80;
}

CheckCase random_case(Suite suite, uint64_t seed, int64_t index) {
  const Dealer deal(seed, index);
  const LengthKind kind = deal.of("lengths", length_kinds(suite));
  CheckCase made;
  made.name = fmt::format("random-{}", index);
  made.spec = dealt_spec(deal, kind.longest);
  made.seed = seed * 1000 + static_cast<uint64_t>(index);
  made.origin = index % 2 == 0 ? WeightOrigin::drawn : WeightOrigin::uploaded;
  const int64_t w = window_of(made.spec).value_or(64);
  const int64_t most = suite == Suite::quick ? 600 : 4097;
  const auto steps = suite == Suite::quick ? deal.of<int64_t>("steps", {2, 5, 20})
                                           : deal.of<int64_t>("steps", {3, 20, 200});
  int64_t longest = 0;
  for (const int64_t prompt : kind.prompts(w)) {
    const auto sequence = static_cast<int64_t>(made.sequences.size());
    made.sequences.push_back(
        plan_sequence(made.spec, made.seed, sequence, std::clamp<int64_t>(prompt, 1, most), steps));
    longest = std::max(longest, made.sequences.back().length());
  }
  const std::vector<int64_t> chunks = {
      longest <= 150 ? 1 : 0, w, deal.of<int64_t>("small chunk", {3, 5, 15, 16, 17}),
      deal.of<int64_t>("large chunk", {64, 100, 127, 128, 129, 500})};
  for (const int64_t chunk : chunks) {
    const bool known =
        std::find(made.chunks.begin(), made.chunks.end(), chunk) != made.chunks.end();
    // Many short passes are slow and say no more than some.
    if (chunk > 0 && chunk < longest && longest <= chunk * 200 && !known) {
      made.chunks.push_back(chunk);
    }
  }
  made.pass_tokens = deal.of<int64_t>("pass", {0, 0, 40, 150});
  made.token_by_token = longest <= (suite == Suite::quick ? 150 : 600);
  return made;
}

}  // namespace orthros::cuda
