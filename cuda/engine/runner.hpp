// Runner: prompts in, predictions out, whatever runs them: one device or several.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cuda/layout/rows.hpp"
#include "reference/hopper/kv_scales.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros::cuda {

// What a cache's entries are: bf16, or e4m3 times a power of two, half the bytes (ARITHMETIC.md).
enum class KvFormat { bf16, e4m3 };

// What an engine must have room for; all of it is allocated once.
struct EngineLimits {
  int64_t sequences = 1;   // cache slots
  int64_t context = 4096;  // tokens of a sequence, generated ones included
  int64_t chunk = 8192;    // tokens of all sequences together in one pass through the layers
  int64_t outputs = 64;    // positions predicted in one such pass, at most; at least `sequences`
  // Elements between the caches of two sequences, heads following each other inside; 0: packed.
  // Larger only to place entries past 2^31 elements in a test.
  int64_t sequence_stride = 0;
  // One rank of several: tokens of each sequence whose entries this device has memory for at most.
  // 0: all of the context.
  int64_t held = 0;
  Deal deal{};  // one rank of several: memory for the splits that are dealt to it, and no others
  KvFormat kv = KvFormat::bf16;
  std::optional<hopper::KvScales> kv_scales;  // of e4m3 entries; none: all 1
};

// Tokens to append to a sequence, and where to predict.
struct Prompt {
  int64_t sequence = 0;  // slot
  std::vector<int64_t> tokens;
  // Positions in the sequence from 1, cached tokens counted, in any order and any number of times.
  // With one stream they must lie among `tokens`; with two they may lie before them.
  std::vector<int64_t> outputs;
};

struct NextToken {
  int64_t sequence = 0;
  int64_t token = 0;
  bool enters = true;  // its base row runs here; else, with two streams, only what predicts
};

// What was predicted at one position.
struct Prediction {
  int64_t token = 0;          // the largest logit's id, the lowest among equals
  std::vector<float> logits;  // vocab of them where asked for, else empty
};

// Called behind the launches of each op, by the simulator's name for it.
using OpObserver = std::function<void(const char* op)>;

enum class Want { tokens, logits };
enum class Launch { graph, eager };

class Runner {
 public:
  virtual ~Runner() = default;

  // Appends each prompt's tokens, in passes of at most limits.chunk tokens over all sequences and
  // at most `chunk` of each (0: no such bound); one prompt a sequence. An output copy runs in
  // the pass that holds its token. A prediction for each output, prompts in order. Bad tokens,
  // positions or lengths: InputError, with no cache changed.
  virtual std::vector<Prediction> prefill(std::span<const Prompt> prompts, Want want = Want::tokens,
                                          int64_t chunk = 0) = 0;

  // One token each, which enters and predicts. A prediction for each, in order.
  virtual std::vector<Prediction> decode(std::span<const NextToken> tokens,
                                         Want want = Want::tokens,
                                         Launch launch = Launch::graph) = 0;

  // Greedy decoding without the host in between: `steps` graph replays that feed themselves, from
  // `tokens` on. Result: steps x tokens.size() ids, step by step; ends at nothing.
  virtual std::vector<int64_t> decode_greedily(std::span<const NextToken> tokens,
                                               int64_t steps) = 0;

  virtual int64_t length(int64_t sequence) const = 0;
  // Forgets a sequence's tokens from `length` on; reset forgets all of every sequence.
  virtual void truncate(int64_t sequence, int64_t length) = 0;
  virtual void reset() = 0;

  // A layer's cached keys (after RoPE) or values of one sequence: length x Hkv d, bf16 bits; of
  // e4m3 entries those times their scales.
  virtual std::vector<bf16_bits> keys(int64_t layer, int64_t sequence) const = 0;
  virtual std::vector<bf16_bits> values(int64_t layer, int64_t sequence) const = 0;

  // Gives every sequence `length` tokens with random cache entries in place of what it held, so
  // that decode steps can be timed without a prefill.
  virtual void fill_randomly(int64_t length) = 0;

  // Who hears of ops as they are launched, from now on; graphs that are replayed tell nothing.
  virtual void observe(OpObserver observer) = 0;

  // Fills every buffer and every cache entry past the written lengths with NaN, e4m3 entries with
  // 0x7f, for tests.
  virtual void poison() = 0;

  virtual const ModelSpec& spec() const = 0;
  virtual const EngineLimits& limits() const = 0;
  virtual int64_t bytes() const = 0;        // device memory taken, weights not counted
  virtual cudaStream_t stream() const = 0;  // on which everything runs
  virtual void synchronise() const = 0;
};

}  // namespace orthros::cuda
