// Rounds of chunks, and keys that go round in each layer of them.
#include "cuda/group/striped_engine.hpp"

#include <algorithm>

#include "cuda/engine/kv_store.hpp"
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

}  // namespace

struct StripedEngine::Rank {
  Rank(const DeviceModel& model, const EngineLimits& limits, Exchange& exchange, int32_t rank)
      : sharing(exchange, rank), engine(model, limits, EngineFault::none, {nullptr, &sharing}) {}

  StripeSharing sharing;
  Engine engine;
};

StripedEngine::StripedEngine(const ModelSpec& spec, const ModelMaker& make_model,
                             const EngineLimits& limits, const GroupOptions& options)
    : spec_((require_runnable(spec), spec)),
      limits_(limits),
      group_(options, make_model),
      ranks_(options.devices.size()) {
  group_.run_in_turn([&](int32_t r) {
    ranks_[static_cast<size_t>(r)] =
        std::make_unique<Rank>(group_.model(r), limits_, group_.exchange(r), r);
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
  engine(0).require(prompts);
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
      std::vector<Prediction> here = own.prefill(std::span(&part, 1), want);
      for (size_t i = 0; i < asked.size(); ++i) predictions[asked[i]] = std::move(here[i]);
    }
    own.assume(prompt.sequence, until(round.back().end));
  }
}

std::vector<Prediction> StripedEngine::decode(std::span<const NextToken> tokens, Want want,
                                              Launch launch) {
  engine(0).require(tokens, 1);
  std::vector<Prediction> predictions;
  group_.run([&](int32_t r) {
    std::vector<Prediction> here = engine(r).decode(tokens, want, launch);
    if (r == 0) predictions = std::move(here);
  });
  return predictions;
}

std::vector<int64_t> StripedEngine::decode_greedily(std::span<const NextToken> tokens,
                                                    int64_t steps) {
  engine(0).require(tokens, steps);
  std::vector<int64_t> ids;
  group_.run([&](int32_t r) {
    std::vector<int64_t> here = engine(r).decode_greedily(tokens, steps);
    if (r == 0) ids = std::move(here);
  });
  return ids;
}

int64_t StripedEngine::length(int64_t sequence) const {
  return engine(0).length(sequence);
}

void StripedEngine::truncate(int64_t sequence, int64_t length) {
  for (const auto& each : ranks_) each->engine.truncate(sequence, length);
}

void StripedEngine::reset() {
  for (const auto& each : ranks_) each->engine.reset();
}

std::vector<bf16_bits> StripedEngine::keys(int64_t layer, int64_t sequence) const {
  return engine(group_.ranks() - 1).keys(layer, sequence);
}
std::vector<bf16_bits> StripedEngine::values(int64_t layer, int64_t sequence) const {
  return engine(0).values(layer, sequence);
}

void StripedEngine::fill_randomly(int64_t length) {
  group_.run([&](int32_t r) { engine(r).fill_randomly(length); });
}

void StripedEngine::observe(OpObserver observer) {
  engine(0).observe(std::move(observer));
}

void StripedEngine::poison() {
  group_.run([&](int32_t r) { engine(r).poison(); });
}

int64_t StripedEngine::bytes() const {
  int64_t all = 0;
  for (const auto& each : ranks_) all += each->engine.bytes();
  return all;
}

cudaStream_t StripedEngine::stream() const {
  return engine(0).stream();
}

void StripedEngine::synchronise() const {
  group_.run([&](int32_t r) { engine(r).synchronise(); });
}

}  // namespace orthros::cuda
