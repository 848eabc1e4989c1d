// Plans sequences and describes cases.
#include "cuda/check/check_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <set>

#include "reference/spec/architecture.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros::cuda {

std::string description(const CheckCase& check_case) {
  const ModelSpec& spec = check_case.spec;
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers.front().mixer);
  const auto window = window_of(spec);
  std::string text = fmt::format(
      "{}{}, {} layers, D {}, {}/{} heads x {}, F {}, vocab {}{}{}{}", architecture_of(spec),
      window ? fmt::format(", window {}", *window) : "", spec.layers.size(), spec.hidden,
      mixer.query_heads, mixer.kv_heads, mixer.head_width, spec.layers.front().ffn.width,
      spec.vocab, mixer.qk_norm ? ", qk-norm" : "", spec.tied_embeddings ? ", tied" : "",
      mixer.rope && mixer.rope->scaling == RopeScaling::llama3 ? ", llama3 RoPE" : "");
  if (mixer.scale_offset == ScaleOffset::before_qk_norm) text += ", scale-offset before qk-norm";
  std::vector<int64_t> prompts;
  for (const SequencePlan& plan : check_case.sequences) prompts.push_back(plan.prompt);
  const SequencePlan& first = check_case.sequences.front();
  return text + fmt::format("; prompts of {}, {} steps", fmt::join(prompts, " "),
                            first.length() - first.prompt);
}

std::vector<int64_t> random_tokens(const ModelSpec& spec, uint64_t seed, int64_t sequence,
                                   int64_t length) {
  const CounterRandom random(seed, fmt::format("tokens.{}", sequence));
  std::vector<int64_t> tokens(static_cast<size_t>(length));
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<int64_t>(random.bits(i) % static_cast<uint64_t>(spec.vocab));
  }
  return tokens;
}

SequencePlan plan_sequence(const ModelSpec& spec, uint64_t seed, int64_t sequence, int64_t prompt,
                           int64_t steps, int64_t most_outputs) {
  SequencePlan plan{random_tokens(spec, seed, sequence, prompt + steps), prompt, {}};
  std::set<int64_t> outputs;
  const int64_t length = plan.length();
  if (length <= most_outputs) {
    for (int64_t t = 1; t <= length; ++t) outputs.insert(t);
  } else {
    const int64_t w = window_of(spec).value_or(128);
    for (const int64_t edge : {int64_t{1}, int64_t{16}, w, int64_t{128}, int64_t{512},
                               int64_t{1024}, int64_t{4096}, length / 2}) {
      for (int64_t t = edge - 1; t <= edge + 1; ++t) {
        if (t >= 1 && t <= length) outputs.insert(t);
      }
    }
    for (int64_t t = prompt; t <= length; ++t) outputs.insert(t);
  }
  plan.outputs.assign(outputs.begin(), outputs.end());
  return plan;
}

}  // namespace orthros::cuda
