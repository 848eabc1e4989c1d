// The paper's systems as transforms of a Transformer's (or a hybrid's) ModelSpec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/spec/model_spec.hpp"

namespace orthros {

// Windows where neither the caller nor the source spec gives one: Table 1's SWA baseline has 512,
// every other window is 128.
constexpr int64_t default_swa_window = 512;
constexpr int64_t default_window = 128;

// Full causal attention in every layer, one stream. Refuses a spec with linear layers.
ModelSpec transformer(const ModelSpec& spec);

// One stream, every softmax layer windowed to w keys.
ModelSpec swa(const ModelSpec& spec, int64_t w);

// Phase-aware attention: softmax layers get window w in the base stream, the output stream reads
// the whole history; linear layers get an output copy. Of a Transformer this is Orthros, of a
// linear hybrid Orthros-H.
ModelSpec phase_aware(const ModelSpec& spec, int64_t w, ScaleOffset scale_offset);

// Orthros: phase_aware of the spec's Transformer.
ModelSpec orthros(const ModelSpec& spec, int64_t w, ScaleOffset scale_offset);

// Sizes of linear layers that a transform makes; absent ones follow DESIGN's rules.
struct LinearSizes {
  std::optional<int64_t> key_heads, value_heads, key_width, value_width, conv_width, gate_rank;
  bool operator==(const LinearSizes&) const = default;
};

// The linear mixer that takes the place of `source` in a model of width `hidden`. Defaults: GDN
// Hv = Hq, Hk = Hq/2 (Hq if odd), K = V = d, conv 4; GLA 4 heads, K = D/8, V = D/4, rank 16;
// retention Hq heads, K = D/Hq, V = 2K, RoPE theta 1e4.
LinearMixer linear_mixer(Recurrence kind, const SoftmaxAttention& source, int64_t hidden,
                         const LinearSizes& sizes);

// Every layer linear (RetNet, GLA, GDN).
ModelSpec all_linear(const ModelSpec& spec, Recurrence kind, const LinearSizes& sizes = {});

// GDN : full = 3 : 1; layer i (0-based) keeps its attention iff (i + 1) mod 4 = 0. A spec that is
// already a hybrid stays as it is, with one stream.
ModelSpec linear_hybrid(const ModelSpec& spec, const LinearSizes& sizes = {});

// Decoder-decoder: the first floor(L/2) layers windowed to w, or gated retention; the rest read one
// shared KV projected from RMSNorm(X^{L/2}).
enum class SelfDecoder { windowed, gated_retention };
ModelSpec yoco(const ModelSpec& spec, int64_t w, SelfDecoder self = SelfDecoder::windowed,
               const LinearSizes& sizes = {});

// What a name on the command line or in a config asks for.
struct ArchitectureRequest {
  std::string name;                         // one of architecture_names()
  std::optional<int64_t> window;            // absent: the source's own window, else the default
  std::optional<ScaleOffset> scale_offset;  // absent: the source's, else after_qk_norm
  LinearSizes linear;
};

// transformer, swa, orthros, orthros-noso, retnet, gla, gdn, yoco, yoco-retention, linear-hybrid,
// orthros-h.
const std::vector<std::string>& architecture_names();

// Applies the request's transform and validates the result. An unknown name or a transform that
// the spec does not allow is an InputError.
ModelSpec to_architecture(const ModelSpec& spec, const ArchitectureRequest& request);

// The name of what a spec is, for reports; one of architecture_names(), or "mixed" for a
// combination that no transform makes (some layers windowed, say).
std::string architecture_of(const ModelSpec& spec);

}  // namespace orthros
