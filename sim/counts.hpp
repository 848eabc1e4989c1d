// Exact closed-form counts of multiply-adds (1 MAC = 2 FLOPs) over a ModelSpec.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/spec/model_spec.hpp"
#include "reference/spec/recurrent_form.hpp"
#include "reference/spec/wide_int.hpp"

namespace orthros {

// C of the chunkwise form in the kernels that are used (flash-linear-attention).
constexpr int64_t default_chunk = 64;

// Longest sequence (prefix and tokens together) that is counted; keeps every sum within 128 bits.
constexpr int64_t longest_sequence = int64_t{1} << 31;

// Window of a layer without one: larger than any position.
constexpr int64_t no_window = longest_sequence;

// Different windows that one model may have, its reach among them.
constexpr size_t most_windows = 5;

// A run of layers with the same sizes. MACs are per layer.
struct LayerGroup {
  enum class Kind {
    softmax,    // own keys and values
    shared_kv,  // reads the model's one shared K and V; runs at output positions only
    linear,     // recurrent
  };
  Kind kind = Kind::softmax;
  int64_t layers = 0;
  int64_t ffn_width = 0;   // F
  bool dead_base = false;  // only K and V (or the state) of rows that predict nothing are computed

  // Softmax kinds.
  int64_t query_width = 0;  // a = Hq d
  int64_t kv_width = 0;     // b = Hkv d
  int64_t gate_width = 0;   // a where attention is gated, else 0
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t window = no_window;  // keys that a base row sees
  int window_index = -1;       // in CountModel::windows; -1: no window

  // Linear kind.
  Recurrence recurrence = Recurrence::gated_delta;
  int64_t key_heads = 0, value_heads = 0, key_width = 0, value_width = 0;  // Hk Hv K V
  int64_t conv_width = 0;                                                  // taps
  int64_t gate_rank = 0;                                                   // GLA

  // Derived: MACs of the matrices that a base row and that an output copy pass through.
  int64_t base_row_macs = 0;
  int64_t copy_row_macs = 0;

  int64_t conv_channels() const {
    return conv_width > 0 ? 2 * key_heads * key_width + value_heads * value_width : 0;
  }
  int64_t state_elements() const { return value_heads * key_width * value_width; }
};

// A ModelSpec reduced to what counting needs: a point then costs well under a microsecond and
// allocates nothing.
struct CountModel {
  std::string name;
  std::vector<LayerGroup> groups;
  bool dual = false;   // base and output streams
  int64_t hidden = 0;  // D
  int64_t vocab = 0;
  int64_t shared_kv_width = 0;     // b of the decoder-decoder's one K and V; 0: none
  int64_t parameters = 0;          // every tensor
  int64_t embedding_elements = 0;  // of the input table where the head is a matrix of its own
  int64_t max_positions = 0;       // 0: not stated
  std::vector<int64_t> windows;    // the different windows of its layers, and its reach
  // How far back a base row's state reaches through all layers, the sum of w - 1; windows[
  // reach_index]. Absent where a layer has no window or there is one stream: such models' sequences
  // are not decoded over shards.
  std::optional<int64_t> reach;
  int reach_index = -1;
};

struct CountOptions {
  // Leave out the last layer's dead work. Two streams: all of the base stream but K and V; for a
  // linear layer its q, z and out projections and FFN. One stream: all but K and V of positions
  // that predict nothing, where the layer sees every key. An engine may; the definition does not.
  bool skip_dead = false;
};

// The spec must be valid. A size whose products leave 64 bits is an InputError.
CountModel count_model(const ModelSpec& spec, CountOptions options = {});

// Where logits are asked for: how many output positions, and the sum of their 1-based positions.
struct OutputSet {
  int64_t count = 0;
  int128 position_sum = 0;
};

// Visible (query, key) pairs of `tokens` rows after `prefix` keys, each row seeing itself and at
// most `window` keys in all: sum over t = prefix+1 .. prefix+tokens of min(t, window).
int128 causal_pairs(int64_t prefix, int64_t tokens, int64_t window);

// MACs of forward(): `tokens` appended after `prefix`, logits at `outputs`. Counted: linear layers,
// convolutions (all taps), QK, PV, state update and read; nothing elementwise. Under one stream
// outputs add the head (and a decoder-decoder's cross layers); under two also the copies. Chunks
// are counted from the first of `tokens` on, as where the only output is at the end. Throws
// InputError if a length is negative or past longest_sequence.
int128 forward_macs(const CountModel& model, int64_t prefix, int64_t tokens,
                    const OutputSet& outputs, RecurrentForm form, int64_t chunk = default_chunk);

// The same with the output positions themselves (1-based, absolute): under two streams a copy reads
// the state right behind its token, so that a chunk ends there.
int128 forward_macs(const CountModel& model, int64_t prefix, int64_t tokens,
                    std::span<const int64_t> output_positions, RecurrentForm form,
                    int64_t chunk = default_chunk);

// One sequence's prefill: T tokens, logits at T.
int128 prefill_macs(const CountModel& model, int64_t input, RecurrentForm form,
                    int64_t chunk = default_chunk);

// One sequence's decode steps after the prefill that gave the first of `output` tokens: the sum of
// forward_macs(n - 1, 1, {n}) over n = input+1 .. input+output-1, in closed form.
int128 decode_macs(const CountModel& model, int64_t input, int64_t output);

// MACs of a linear layer's state for `tokens` tokens, all value heads.
int128 recurrence_macs(const LayerGroup& group, int64_t tokens, RecurrentForm form, int64_t chunk);

// 2 x macs x batch as a 64-bit count of FLOPs; InputError naming `field` where that overflows.
int64_t flops_from_macs(int128 macs, int64_t batch, std::string_view field);

// a x b within 64 bits, or InputError naming `field`. Both at least 0.
int64_t checked_product(int64_t a, int64_t b, std::string_view field);
int64_t checked_sum(int64_t a, int64_t b, std::string_view field);

}  // namespace orthros
