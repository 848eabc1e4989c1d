// Orthros and the Transformer written out row by row from ARITHMETIC.md, as slowly as they read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reference/hopper/attention_row.hpp"
#include "reference/hopper/norm_order.hpp"
#include "reference/hopper/pointwise.hpp"
#include "reference/hopper/rotary_table.hpp"
#include "reference/model/weight_source.hpp"

namespace orthros::hopper {

using Bits = std::vector<uint16_t>;  // bf16 values

// A sequence run through all layers of a model without recurrent layers, with qk-norm and RoPE as
// its spec has them: every position predicts. No code is shared with reference/model.
class PlainModel {
 public:
  PlainModel(const ModelSpec& spec, const WeightSource& source) : spec_(spec) {
    for (const TensorInfo& tensor : tensor_table(spec)) {
      std::vector<double> values(static_cast<size_t>(tensor.elements()));
      source.read(tensor, 0, values);
      Bits& bits = tensors_[tensor.name];
      for (const double value : values) bits.push_back(round_bf16(static_cast<float>(value)));
    }
  }

  struct Result {
    std::vector<std::vector<float>> logits;  // one a position
    std::vector<std::vector<Bits>> keys;     // by layer and position: Hkv d
    std::vector<std::vector<Bits>> values;
  };

  Result run(const std::vector<int64_t>& tokens) const {
    const bool dual = spec_.streams == Streams::dual;
    Result result;
    std::vector<Bits> x, copies;
    for (const int64_t token : tokens) x.push_back(row("model.embed_tokens.weight", token));
    if (dual) copies = x;
    for (size_t i = 0; i < spec_.layers.size(); ++i) {
      const std::string at = layer_prefix(static_cast<int64_t>(i));
      const auto& mixer = std::get<SoftmaxAttention>(spec_.layers[i].mixer);
      Bits& keys = result.keys.emplace_back().emplace_back();
      Bits& values = result.values.emplace_back().emplace_back();
      for (size_t t = 0; t < x.size(); ++t) {
        const Bits n = norm(x[t], at + "input_layernorm.weight");
        for (uint16_t v : rounded(linear(n, at + "self_attn.v_proj.weight"))) values.push_back(v);
        const Bits projected = rounded(linear(n, at + "self_attn.k_proj.weight"));
        for (int64_t h = 0; h < mixer.kv_heads; ++h) {
          for (uint16_t k : head(projected, h, at, mixer, t, "k", "")) keys.push_back(k);
        }
      }
      for (size_t t = 0; t < x.size(); ++t) {
        layer(x[t], t, at, mixer, keys, values, mixer.window, "");
        if (dual) layer(copies[t], t, at, mixer, keys, values, {}, "_output");
      }
    }
    for (const Bits& last : dual ? copies : x) {
      result.logits.push_back(
          linear(norm(last, "model.norm.weight"),
                 spec_.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight"));
    }
    return result;
  }

 private:
  // x = x + o W_O; x = x + SwiGLU(RMSNorm(x)), for one row of one stream.
  void layer(Bits& x, size_t t, const std::string& at, const SoftmaxAttention& mixer,
             const Bits& keys, const Bits& values, std::optional<int64_t> window,
             const std::string& stream) const {
    const int64_t d = mixer.head_width;
    const Bits n = norm(x, at + "input_layernorm.weight");
    const Bits projected = rounded(linear(n, at + "self_attn.q_proj.weight"));
    const auto end = static_cast<int64_t>(t) + 1;
    Bits o(static_cast<size_t>(mixer.query_width()));
    for (int64_t h = 0; h < mixer.query_heads; ++h) {
      const Bits q = head(projected, h, at, mixer, t, "q", stream);
      const int64_t kv = h / (mixer.query_heads / mixer.kv_heads) * d;
      const VisibleKeys seen{&keys[static_cast<size_t>(kv)],
                             &values[static_cast<size_t>(kv)],
                             mixer.kv_width(),
                             d,
                             window && *window < end ? end - *window : 0,
                             end};
      std::vector<float> scratch(static_cast<size_t>(2 * d));
      (window ? attend_base : attend_output)(q.data(), seen, score_scale(d), scratch.data(),
                                             &o[static_cast<size_t>(h * d)]);
    }
    x = sum(x, rounded(linear(o, at + "self_attn.o_proj.weight")));
    const Bits m = norm(x, at + "post_attention_layernorm.weight");
    Bits gate = rounded(linear(m, at + "mlp.gate_proj.weight"));
    const Bits up = rounded(linear(m, at + "mlp.up_proj.weight"));
    for (size_t i = 0; i < gate.size(); ++i) {
      gate[i] = round_bf16(gated(widen_bf16(gate[i]), widen_bf16(up[i])));
    }
    x = sum(x, rounded(linear(gate, at + "mlp.down_proj.weight")));
  }

  // Head h of a projected row after qk-norm, scale-offset (of queries) and RoPE, rounded once.
  Bits head(const Bits& projected, int64_t h, const std::string& at, const SoftmaxAttention& mixer,
            size_t t, const std::string& kind, const std::string& stream) const {
    const int64_t d = mixer.head_width;
    const uint16_t* bits = &projected[static_cast<size_t>(h * d)];
    std::vector<float> x;
    for (int64_t i = 0; i < d; ++i) x.push_back(widen_bf16(bits[i]));
    if (mixer.qk_norm) {
      const float inverse =
          inverse_root(sum_of_squares(bits, d), d, static_cast<float>(spec_.norm_eps));
      const Bits& gain = tensors_.at(at + "self_attn." + kind + "_norm.weight");
      for (size_t i = 0; i < x.size(); ++i) x[i] = normed(x[i], inverse, factor(gain[i]));
    }
    if (kind == "q" && mixer.scale_offset == ScaleOffset::after_qk_norm) {
      const Bits alpha = row(at + "self_attn.q_scale" + stream, h);
      const Bits beta = row(at + "self_attn.q_offset" + stream, h);
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = scale_offset(widen_bf16(alpha[i]), x[i], widen_bf16(beta[i]));
      }
    }
    if (mixer.rope) {
      const std::vector<float> table = rotary_table(*mixer.rope, static_cast<int64_t>(t), 1);
      const size_t half = table.size() / 2;
      for (size_t i = 0; i < half; ++i) {
        const float first = rotated_first(x[i], x[i + half], table[2 * i], table[2 * i + 1]);
        x[i + half] = rotated_second(x[i], x[i + half], table[2 * i], table[2 * i + 1]);
        x[i] = first;
      }
    }
    return rounded(x);
  }

  float factor(uint16_t gain) const {
    return spec_.norm == NormKind::zero_centred ? add(1.0f, widen_bf16(gain)) : widen_bf16(gain);
  }

  Bits norm(const Bits& x, const std::string& name) const {
    const auto width = static_cast<int64_t>(x.size());
    const float inverse =
        inverse_root(sum_of_squares(x.data(), width), width, static_cast<float>(spec_.norm_eps));
    Bits n;
    for (size_t i = 0; i < x.size(); ++i) {
      n.push_back(round_bf16(normed(widen_bf16(x[i]), inverse, factor(tensors_.at(name)[i]))));
    }
    return n;
  }

  std::vector<float> linear(const Bits& x, const std::string& name) const {
    const Bits& weights = tensors_.at(name);
    const auto in = static_cast<int64_t>(x.size());
    std::vector<float> y;
    for (size_t at = 0; at < weights.size(); at += x.size()) {
      y.push_back(dot_chain(x.data(), 1, &weights[at], 1, in));
    }
    return y;
  }

  Bits row(const std::string& name, int64_t r) const {
    const Bits& tensor = tensors_.at(name);
    const bool per_head = name.find("self_attn.q_") != std::string::npos;
    const auto& mixer = std::get<SoftmaxAttention>(spec_.layers[0].mixer);
    const auto width = per_head ? mixer.head_width : spec_.hidden;
    return {tensor.begin() + r * width, tensor.begin() + (r + 1) * width};
  }

  static Bits rounded(const std::vector<float>& values) {
    Bits bits;
    for (const float value : values) bits.push_back(round_bf16(value));
    return bits;
  }

  static Bits sum(const Bits& x, const Bits& y) {
    Bits bits;
    for (size_t i = 0; i < x.size(); ++i) {
      bits.push_back(round_bf16(add(widen_bf16(x[i]), widen_bf16(y[i]))));
    }
    return bits;
  }

  ModelSpec spec_;
  std::map<std::string, Bits> tensors_;
};

}  // namespace orthros::hopper
