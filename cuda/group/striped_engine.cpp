// Rounds of chunks, and keys that go round in each layer of them.
#include "cuda/group/striped_engine.hpp"

#include <algorithm>

#include "cuda/engine/kv_store.hpp"
#include "cuda/group/world.hpp"
#include "cuda/layout/stripes.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

// One rank's part in handing a round's keys and values to everyone.
class StripeSharing : public KeySharing {
 public:
  StripeSharing(Exchange& exchange, int32_t rank) : exchange_(exchange), rank_(rank) {}

  void begin_round(int64_t sequence, std::vector<KeyRange> round) {
    sequence_ = sequence;
    round_ = std::move(round);
  }

  void share(KvStore& cache, int64_t layer, cudaStream_t stream) override {
    constexpr auto size = static_cast<int64_t>(sizeof(bf16_bits));
    int64_t needed = 0;
    for (const KeyRange& range : round_) needed += cache.packed_values(range);
    if (packed_.size() < needed) packed_ = DeviceBuffer<bf16_bits>(needed);
    std::vector<bf16_bits*> parts;
    bf16_bits* next = packed_.data();
    for (const KeyRange& range : round_) {
      parts.push_back(next);
      next += cache.packed_values(range);
    }
    const KeyRange own = round_[static_cast<size_t>(rank_)];
    cache.pack(layer, sequence_, own, parts[static_cast<size_t>(rank_)], stream);
    std::vector<Transfer> sends;
    std::vector<Transfer> receives;
    for (int32_t r = 0; r < static_cast<int32_t>(round_.size()); ++r) {
      if (r == rank_) continue;
      const auto i = static_cast<size_t>(r);
      sends.push_back({r, parts[static_cast<size_t>(rank_)], cache.packed_values(own) * size});
      receives.push_back({r, parts[i], cache.packed_values(round_[i]) * size});
    }
    exchange_.exchange(sends, receives, stream);
    for (size_t i = 0; i < round_.size(); ++i) {
      if (static_cast<int32_t>(i) == rank_) continue;
      cache.unpack(layer, sequence_, round_[i], parts[i], stream);
    }
  }

 private:
  Exchange& exchange_;
  int32_t rank_;
  int64_t sequence_ = 0;
  std::vector<KeyRange> round_;
  DeviceBuffer<bf16_bits> packed_;
};

// What a rank predicts in its chunks is told to the others in memory.
void require_one_process(const ModelSpec& spec) {
  if (world().size == 1) return;
  throw InputError(spec.source, "--gpus",
                   "expected an Orthros model where mpirun starts a process for each GPU");
}

}  // namespace

struct StripedEngine::Rank {
  Rank(const DeviceModel& model, const EngineLimits& limits, Exchange& exchange, int32_t rank,
       const PromptAttentionMaker& make_attention)
      : sharing(exchange, rank),
        attention(make_attention ? make_attention() : nullptr),
        engine(model, limits, EngineFault::none, {nullptr, &sharing}) {
    engine.attend_prompts_by(attention.get());
  }

  StripeSharing sharing;
  std::unique_ptr<PromptAttention> attention;
  Engine engine;
};

StripedEngine::StripedEngine(const ModelSpec& spec, const ModelMaker& make_model,
                             const EngineLimits& limits, const GroupOptions& options,
                             const PromptAttentionMaker& make_attention)
    : spec_((require_runnable(spec), require_one_process(spec), spec)),
      limits_(limits),
      group_(options, make_model),
      ranks_(options.devices.size()) {
  group_.run_in_turn([&](int32_t r) {
    ranks_[static_cast<size_t>(r)] =
        std::make_unique<Rank>(group_.model(r), limits_, group_.exchange(r), r, make_attention);
  });
}

StripedEngine::~StripedEngine() {
  try {
    group_.run([&](int32_t r) { ranks_[static_cast<size_t>(r)].reset(); });
  } catch (const std::exception&) {
    // What failed has been reported where it did.
  }
}

Engine& StripedEngine::engine(int32_t r) const {
  return ranks_[static_cast<size_t>(r)]->engine;
}

std::vector<Prediction> StripedEngine::prefill(std::span<const Prompt> prompts, Want want,
                                               int64_t chunk) {
  first().require(prompts);
  std::vector<std::vector<Prediction>> predictions;
  for (const Prompt& prompt : prompts) predictions.emplace_back(prompt.outputs.size());
  group_.run([&](int32_t r) {
    if (r == group_.options().failing_rank) throw std::runtime_error("told to fail");
    for (size_t p = 0; p < prompts.size(); ++p) {
      run_prompt(r, prompts[p], chunk, want, predictions[p]);
    }
  });
  std::vector<Prediction> all;
  for (auto& each : predictions) {
    std::move(each.begin(), each.end(), std::back_inserter(all));
  }
  return all;
}

// A rank's chunks of a prompt, and the predictions that fall into them.
void StripedEngine::run_prompt(int32_t r, const Prompt& prompt, int64_t chunk, Want want,
                               std::span<Prediction> predictions) {
  Engine& own = engine(r);
  std::vector<int64_t> tokens = own.tokens(prompt.sequence);
  const auto past = static_cast<int64_t>(tokens.size());
  tokens.insert(tokens.end(), prompt.tokens.begin(), prompt.tokens.end());
  const int64_t most = chunk > 0 ? std::min(chunk, limits_.chunk) : limits_.chunk;
  const auto until = [&](int64_t end) {
    return std::span(std::as_const(tokens)).first(static_cast<size_t>(end));
  };
  for (const auto& round :
       plan_stripes(past, static_cast<int64_t>(tokens.size()), group_.ranks(), most)) {
    const KeyRange range = round[static_cast<size_t>(r)];
    ranks_[static_cast<size_t>(r)]->sharing.begin_round(prompt.sequence, round);
    Prompt part{prompt.sequence, {tokens.begin() + range.begin, tokens.begin() + range.end}, {}};
    std::vector<size_t> asked;
    for (size_t i = 0; i < prompt.outputs.size(); ++i) {
      if (prompt.outputs[i] <= range.begin || prompt.outputs[i] > range.end) continue;
      asked.push_back(i);
      part.outputs.push_back(prompt.outputs[i]);
    }
    own.assume(prompt.sequence, until(range.begin));
    if (part.tokens.empty()) {
      own.share_keys();
    } else {
      if (static_cast<int64_t>(asked.size()) > std::max(limits_.outputs, limits_.sequences)) {
        throw InputError("outputs", "", "expected no more in a chunk than a pass may have");
      }
      std::vector<Prediction> here = own.prefill(std::span(&part, 1), want);
      for (size_t i = 0; i < asked.size(); ++i) predictions[asked[i]] = std::move(here[i]);
    }
    own.assume(prompt.sequence, until(round.back().end));
  }
}

std::vector<Prediction> StripedEngine::decode(std::span<const NextToken> tokens, Want want,
                                              Launch launch) {
  first().require(tokens, 1);
  std::vector<Prediction> predictions;
  group_.run([&](int32_t r) {
    std::vector<Prediction> here = engine(r).decode(tokens, want, launch);
    if (r == group_.first_here()) predictions = std::move(here);
  });
  return predictions;
}

std::vector<int64_t> StripedEngine::decode_greedily(std::span<const NextToken> tokens,
                                                    int64_t steps) {
  first().require(tokens, steps);
  std::vector<int64_t> ids;
  group_.run([&](int32_t r) {
    std::vector<int64_t> here = engine(r).decode_greedily(tokens, steps);
    if (r == group_.first_here()) ids = std::move(here);
  });
  return ids;
}

int64_t StripedEngine::length(int64_t sequence) const {
  return first().length(sequence);
}

void StripedEngine::truncate(int64_t sequence, int64_t length) {
  for (const int32_t r : group_.here()) engine(r).truncate(sequence, length);
}

void StripedEngine::reset() {
  for (const int32_t r : group_.here()) engine(r).reset();
}

std::vector<bf16_bits> StripedEngine::keys(int64_t layer, int64_t sequence) const {
  return engine(group_.here().back()).keys(layer, sequence);
}
std::vector<bf16_bits> StripedEngine::values(int64_t layer, int64_t sequence) const {
  return first().values(layer, sequence);
}

void StripedEngine::fill_randomly(int64_t length) {
  group_.run([&](int32_t r) { engine(r).fill_randomly(length); });
}

void StripedEngine::observe(OpObserver observer) {
  first().observe(std::move(observer));
}

void StripedEngine::poison() {
  group_.run([&](int32_t r) { engine(r).poison(); });
}

int64_t StripedEngine::bytes() const {
  int64_t all = 0;
  for (const int32_t r : group_.here()) all += engine(r).bytes();
  return all;
}

cudaStream_t StripedEngine::stream() const {
  return first().stream();
}

void StripedEngine::synchronise() const {
  group_.run([&](int32_t r) { engine(r).synchronise(); });
}

}  // namespace orthros::cuda
