// Builds the named cases.
#include "cuda/check/named_cases.hpp"

#include "reference/spec/architecture.hpp"
#include "reference/spec/config.hpp"

namespace orthros::cuda {
namespace {

ModelSpec small_spec(const char* architecture, int64_t window, int64_t head_width = 64) {
  SoftmaxAttention mixer;
  mixer.query_heads = 4;
  mixer.kv_heads = 2;
  mixer.head_width = head_width;
  mixer.qk_norm = true;
  mixer.rope = Rope{};
  mixer.rope->theta = 1e6;
  mixer.rope->width = head_width;
  ModelSpec spec;
  spec.vocab = 307;
  spec.hidden = 64;
  spec.layers.assign(2, Layer{mixer, SwiGlu{96}});
  ArchitectureRequest request;
  request.name = architecture;
  request.window = window;
  return to_architecture(spec, request);
}

CheckCase made(std::string name, ModelSpec spec, uint64_t seed, const std::vector<int64_t>& prompts,
               int64_t steps, std::vector<int64_t> chunks) {
  CheckCase result;
  result.name = std::move(name);
  result.spec = std::move(spec);
  result.seed = seed;
  for (const int64_t prompt : prompts) {
    const auto sequence = static_cast<int64_t>(result.sequences.size());
    result.sequences.push_back(plan_sequence(result.spec, seed, sequence, prompt, steps));
  }
  result.chunks = std::move(chunks);
  return result;
}

}  // namespace

std::vector<CheckCase> field_cases(uint64_t seed) {
  std::vector<CheckCase> cases;
  cases.push_back(made("case-10", small_spec("orthros", 128), seed, {300}, 2, {128}));
  cases.back().first_token_matters = true;
  cases.push_back(made("case-11", small_spec("orthros", 128), seed, {1, 5, 10, 129}, 4, {64}));
  // Captured at 120, the graph is replayed across 127, 128, 129 and, 900 steps on, across 1024.
  cases.push_back(made("case-13", small_spec("orthros", 128), seed, {120}, 910, {}));
  cases.push_back(made("case-14", small_spec("orthros", 2), seed, {3, 1, 4}, 3, {1, 2}));
  cases.back().token_by_token = true;
  cases.push_back(made("case-15", small_spec("orthros", 16), seed, {20}, 11, {7}));
  cases.back().token_by_token = true;
  return cases;
}

std::vector<CheckCase> edge_cases(Suite suite, uint64_t seed) {
  std::vector<CheckCase> cases;
  const bool full = suite == Suite::full;
  const int64_t steps = full ? 200 : 40;
  // Steps across a window's edge and a split's.
  cases.push_back(
      made("steps-orthros", small_spec("orthros", 505), seed, {490, 500}, steps, {128}));
  // The widest window that shares a copy's last split with it, before and behind the split's start.
  cases.push_back(
      made("steps-pairs", small_spec("orthros", 497, 128), seed, {480, 510, 1000}, steps, {128}));
  cases.push_back(made("steps-swa", small_spec("swa", 505, 128), seed, {490}, steps, {128}));
  cases.push_back(
      made("steps-transformer", small_spec("transformer", 1), seed, {500}, steps, {64}));
  if (full) {
    cases.push_back(made("steps-wide-heads", small_spec("orthros", 500, 256), seed, {480, 1000},
                         200, {100, 512}));
    cases.push_back(made("steps-plain-heads", small_spec("orthros", 500, 40), seed, {480, 1000},
                         200, {100, 512}));
    cases.push_back(made("window-4096", small_spec("orthros", 4096, 128), seed, {4000, 4096}, 200,
                         {1000, 4095}));
  }
  // Field case 12: entries of the second sequence lie past 2^31 elements of each layer's cache.
  cases.push_back(made("case-12", small_spec("orthros", 16), seed, {33, 40}, 4, {16}));
  cases.back().sequence_stride = (int64_t{1} << 31) + 4096;
  return cases;
}

std::vector<CheckCase> large_cases(uint64_t seed) {
  std::vector<CheckCase> cases;
  const ModelSpec qwen = load_model_spec("qwen3-8b");
  ArchitectureRequest request;
  request.name = "orthros";
  request.window = 128;
  ModelSpec two_layers = to_architecture(qwen, request);
  two_layers.layers.resize(2);
  two_layers.vocab = 20000;
  two_layers.eos.clear();
  constexpr int64_t most_outputs = 16;
  const auto large = [&](std::string name, const ModelSpec& spec,
                         const std::vector<int64_t>& prompts, int64_t steps,
                         std::vector<int64_t> chunks) {
    CheckCase result = made(std::move(name), spec, seed, {}, 0, std::move(chunks));
    for (const int64_t prompt : prompts) {
      const auto sequence = static_cast<int64_t>(result.sequences.size());
      result.sequences.push_back(plan_sequence(spec, seed, sequence, prompt, steps, most_outputs));
    }
    result.origin = WeightOrigin::read_back;
    cases.push_back(std::move(result));
  };
  large("8b-2-layers", two_layers, {530, 40}, 8, {128, 512});
  large("8b-whole", to_architecture(qwen, request), {150}, 6, {64});
  cases.back().errors = false;  // 65 GB in double
  return cases;
}

}  // namespace orthros::cuda
