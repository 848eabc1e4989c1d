// The table of ops of one engine step: what runs, how large it is, what it moves.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/counts.hpp"
#include "sim/op.hpp"

namespace orthros {

// What shards do for the keys and values of what stands left of them. recompute, as this project's
// engine does: each shard of two windowed streams runs its left context again, and full attention
// hands every pass's keys to all ranks, which keep them all. receive: a shard gets a window's of
// each layer, and full attention circulates all keys in every pass, so that each rank keeps its own
// alone. One windowed stream's shards receive, whatever is asked.
enum class LeftContext { recompute, receive };

// How a model is laid out over GPUs and stored. Sizes of ops are per GPU.
struct Deployment {
  int64_t tensor_parallel = 1;    // heads and FFN split; KV heads fewer than ranks are replicated
  int64_t sequence_parallel = 1;  // positions of a sequence split into shards
  LeftContext left_context = LeftContext::recompute;
  // Whether ranks that run in rounds take a pass's rows in order, so that the last one's see most
  // keys; else rows are dealt out so that all see equally many.
  bool rows_in_order = false;
  int64_t weight_bytes = 2;  // per element: 2 bf16, 1 fp8
  int64_t kv_bytes = 2;
  int64_t activation_bytes = 2;
  int64_t state_bytes = 4;  // fp32 recurrent state
  RecurrentForm prefill_form = RecurrentForm::chunkwise;
  int64_t recurrent_chunk = default_chunk;

  int64_t gpus() const { return tensor_parallel * sequence_parallel; }
};

// `sequences` equal pieces of prompts: `tokens` appended after `prefix` cached ones each.
struct PrefillChunk {
  int64_t sequences = 1;
  int64_t prefix = 0;
  int64_t tokens = 0;
  bool logits = true;  // the prompt ends here, so its last position gives a token
};

// The sequences that decode one token each in a step. n of a sequence: the keys its new token sees,
// itself included.
struct DecodeLoad {
  int64_t sequences = 0;
  int64_t keys = 0;                                   // sum of n
  std::array<int64_t, most_windows> window_keys{};    // sum of min(n, w), by CountModel::windows
  std::array<int64_t, most_windows> window_growth{};  // sequences with n < w
  int64_t steady_steps = longest_sequence;            // steps until window_growth changes

  void add(const CountModel& model, int64_t n, int64_t sequences_at_n = 1);
  // The load `steps` steps later, steps <= steady_steps. Only steady_steps must be found anew
  // (next_change) where a window has just filled.
  DecodeLoad after(int64_t steps) const;
};

DecodeLoad uniform_decode(const CountModel& model, int64_t batch, int64_t n);
DecodeLoad decode_load(const CountModel& model, std::span<const int64_t> contexts);

// Appends the ops of a step that runs these prefill pieces and decodes this load together; linear
// layers see all their rows at once and read their weights once. Under dual streams base and output
// rows share weights, and decode's two reads of the cache are fused (KV moves once).
// Shards: base rows of the pieces are shared out equally and receive their left context; whoever
// runs it again asks for a rank's rows alone (prefill_steps.hpp). Output rows run on every rank,
// each over the keys that it holds, and base rows of a decode step on the rank that holds most: the
// ops are that rank's. A decode step over shards that is not costed (require_decode_over_shards),
// and sizes past 64 bits, are an InputError.
void append_ops(const CountModel& model, const Deployment& deployment,
                std::span<const PrefillChunk> prefill, const DecodeLoad& decode,
                std::vector<Op>& ops);

}  // namespace orthros
