// ModelSpec: the architecture as data, a list of layers, each with its mixer and FFN.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace orthros {

// How rotary frequencies are stretched past the trained length; names as in rope_scaling.
enum class RopeScaling { none, linear, llama3, yarn };

// Rotary position embedding on half-split pairs (i, i + width/2) of the first `width` channels.
struct Rope {
  double theta = 10000.0;
  int64_t width = 0;  // rotated channels of a head: even, at most the head's width
  RopeScaling scaling = RopeScaling::none;
  double factor = 1.0;
  double low_freq_factor = 1.0;       // llama3
  double high_freq_factor = 4.0;      // llama3
  int64_t original_max_position = 0;  // llama3, yarn
  double beta_fast = 32.0;            // yarn
  double beta_slow = 1.0;             // yarn
  double attention_factor = 1.0;      // yarn: multiplies cosines and sines
  bool truncate = true;               // yarn: whole-numbered correction range

  bool operator==(const Rope&) const = default;
};

// Where the query's scale-offset (alpha, beta; Hq x d each, a pair per stream) stands.
enum class ScaleOffset { none, after_qk_norm, before_qk_norm };

// Whose keys and values a softmax layer reads: its own, or the model's one shared pair (the
// decoder-decoder's cross layers, which have W_q and W_o only).
enum class KvSource { own, shared };

// Softmax attention, Eqs. 4 and 5. Query head h reads KV head h / (query_heads / kv_heads).
struct SoftmaxAttention {
  int64_t query_heads = 0;        // Hq
  int64_t kv_heads = 0;           // Hkv, divides Hq
  int64_t head_width = 0;         // d
  std::optional<int64_t> window;  // w: keys a base row sees, itself included; absent: all
  bool qk_norm = false;           // RMSNorm per head on q and k, before RoPE
  bool gated = false;             // q_proj gives [q | gate] per head; attention * sigmoid(gate)
  ScaleOffset scale_offset = ScaleOffset::none;
  KvSource kv = KvSource::own;
  std::optional<Rope> rope;

  int64_t query_width() const { return query_heads * head_width; }  // a = Hq d
  int64_t kv_width() const { return kv_heads * head_width; }        // b = Hkv d
  bool operator==(const SoftmaxAttention&) const = default;
};

// retention: S = gamma_h S + k^T v. gated_retention: gamma_h = sigmoid(x w_h)^(1/16),
// data-dependent. gated_linear (GLA): one log-gate per key channel. gated_delta (GDN): decay and
// delta rule.
enum class Recurrence { retention, gated_retention, gated_linear, gated_delta };

// What a linear layer's output copy does in place of the convolution it bypasses (Orthros-H):
// q' = l2norm(f(x' W_q)) K^-1/2 with f = SiLU, the identity, or SiLU of the conv's last tap.
enum class CopyQuery { silu, none, last_tap };

// Every recurrent mixer: a state S of key_width x value_width per value head, an update per token,
// a read per query. Value head h reads key head floor(h key_heads / value_heads).
struct LinearMixer {
  Recurrence kind = Recurrence::gated_delta;
  int64_t key_heads = 0;                   // Hk
  int64_t value_heads = 0;                 // Hv
  int64_t key_width = 0;                   // K
  int64_t value_width = 0;                 // V
  int64_t conv_width = 0;                  // gated_delta: taps of the causal depthwise convolution
  int64_t gate_rank = 0;                   // gated_linear: rank of the log-gate's projection
  CopyQuery copy_query = CopyQuery::silu;  // gated_delta under dual streams
  std::optional<Rope> rope;                // retention

  int64_t keys_width() const { return key_heads * key_width; }
  int64_t values_width() const { return value_heads * value_width; }
  int64_t conv_channels() const { return conv_width > 0 ? 2 * keys_width() + values_width() : 0; }
  bool operator==(const LinearMixer&) const = default;
};

using Mixer = std::variant<SoftmaxAttention, LinearMixer>;

// x + SwiGLU(RMSNorm(x)): three matrices of hidden x width.
struct SwiGlu {
  int64_t width = 0;  // F
  bool operator==(const SwiGlu&) const = default;
};

struct Layer {
  Mixer mixer;
  SwiGlu ffn;
  bool operator==(const Layer&) const = default;
};

// single: one stream, logits from it. dual: a base stream at every position that writes the cache,
// an output stream at predicting positions that reads it (DESIGN: "The model").
enum class Streams { single, dual };

// plain: x / rms(x) * g. zero_centred: x / rms(x) * (1 + g), for block, q and k norms.
enum class NormKind { plain, zero_centred };

enum class Dtype { f64, f32, f16, bf16 };
int64_t bytes_of(Dtype dtype);
std::string_view name_of(Dtype dtype);  // "F64", as safetensors writes it

struct ModelSpec {
  std::string name;                   // for people: "qwen3-8b"; empty when the source has none
  std::vector<std::string> hf_names;  // the model's names on the Hugging Face hub
  std::string source;                 // the file it came from, for error messages
  int64_t vocab = 0;
  int64_t hidden = 0;  // D
  std::vector<Layer> layers;
  Streams streams = Streams::single;
  NormKind norm = NormKind::plain;
  double norm_eps = 1e-6;
  bool tied_embeddings = false;
  int64_t max_positions = 0;  // max_position_embeddings; 0: not stated
  std::vector<int64_t> eos;   // ids that end generation
  Dtype dtype = Dtype::bf16;  // of the weights as published
  std::string model_type;     // of the config it came from

  // Layers before this index run at every position; from it on (the decoder-decoder's cross
  // layers) only at output positions. Equals layers.size() for every other architecture.
  int64_t self_layers() const;
  bool has_shared_kv() const { return self_layers() < static_cast<int64_t>(layers.size()); }
};

// The first windowed layer's window, absent where no layer has one.
std::optional<int64_t> window_of(const ModelSpec& spec);

// Bounds of a valid spec. Within them every product of two sizes fits 64 bits, and so do the bytes
// of all weights together.
constexpr int64_t max_size = int64_t{1} << 31;  // widths, heads, windows, the vocabulary
constexpr int64_t max_layers = int64_t{1} << 14;
constexpr int64_t max_parameters = int64_t{1} << 59;

// Checks every field against the others: sizes positive and within the bounds above, Hkv divides
// Hq, RoPE widths even and thetas at least 1, shared-KV layers form the tail and agree on their KV
// shape, two streams only over softmax and GDN layers, eos ids within the vocabulary. Throws
// InputError naming spec.source and the field.
void validate(const ModelSpec& spec);

}  // namespace orthros
