// Validation of a ModelSpec and its small derived facts.
#include "reference/spec/model_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/spec/input_error.hpp"
#include "reference/spec/tensor_table.hpp"
#include "reference/spec/wide_int.hpp"

namespace orthros {

int64_t bytes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return 8;
    case Dtype::f32:
      return 4;
    case Dtype::f16:
    case Dtype::bf16:
      break;
  }
  return 2;
}

std::string_view name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return "F64";
    case Dtype::f32:
      return "F32";
    case Dtype::f16:
      return "F16";
    case Dtype::bf16:
      break;
  }
  return "BF16";
}

int64_t ModelSpec::self_layers() const {
  const auto shared = [](const Layer& layer) {
    const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer);
    return softmax != nullptr && softmax->kv == KvSource::shared;
  };
  return std::find_if(layers.begin(), layers.end(), shared) - layers.begin();
}

std::optional<int64_t> window_of(const ModelSpec& spec) {
  for (const Layer& layer : spec.layers) {
    const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer);
    if (softmax != nullptr && softmax->window) return softmax->window;
  }
  return std::nullopt;
}

namespace {

// Collects the checks of one spec; every failure names the spec's file and the field.
class Checker {
 public:
  explicit Checker(const ModelSpec& spec)
      : where_(!spec.source.empty() ? spec.source : (spec.name.empty() ? "model" : spec.name)) {}

  void size(const std::string& field, int64_t value) const {
    if (value < 1 || value > max_size) {
      fail(field, fmt::format("expected 1 to {}, got {}", max_size, value));
    }
  }
  void require(bool holds, const std::string& field, const std::string& detail) const {
    if (!holds) fail(field, detail);
  }
  void rope(const std::string& field, const Rope& rope, int64_t head_width) const {
    // Below 1 later channels would turn faster; yarn divides by ln theta.
    const bool above = rope.scaling == RopeScaling::yarn ? rope.theta > 1.0 : rope.theta >= 1.0;
    require(std::isfinite(rope.theta) && above, field + ".rope_theta",
            fmt::format("expected a base above 1, got {}", rope.theta));
    require(rope.width >= 2 && rope.width % 2 == 0 && rope.width <= head_width, field,
            fmt::format("expected an even number of rotated channels within the head's {}, got {}",
                        head_width, rope.width));
    if (rope.scaling == RopeScaling::none) return;
    require(std::isfinite(rope.factor) && rope.factor >= 1.0, field + ".factor",
            fmt::format("expected a number of at least 1, got {}", rope.factor));
    if (rope.scaling == RopeScaling::linear) return;
    require(rope.original_max_position >= 1, field + ".original_max_position_embeddings",
            fmt::format("expected a positive length, got {}", rope.original_max_position));
    if (rope.scaling == RopeScaling::llama3) {
      require(rope.low_freq_factor > 0.0 && rope.low_freq_factor < rope.high_freq_factor &&
                  std::isfinite(rope.high_freq_factor),
              field + ".high_freq_factor", "expected 0 < low_freq_factor < high_freq_factor");
    } else {
      require(
          rope.beta_slow > 0.0 && rope.beta_slow < rope.beta_fast && std::isfinite(rope.beta_fast),
          field + ".beta_fast", "expected 0 < beta_slow < beta_fast");
      require(std::isfinite(rope.attention_factor) && rope.attention_factor > 0.0,
              field + ".attention_factor", "expected a positive number");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& field, const std::string& detail) const {
    throw InputError(where_, field, detail);
  }
  std::string where_;
};

void check_softmax(const Checker& check, const std::string& at, const SoftmaxAttention& mixer) {
  check.size(at + "num_attention_heads", mixer.query_heads);
  check.size(at + "num_key_value_heads", mixer.kv_heads);
  check.size(at + "head_dim", mixer.head_width);
  check.size(at + "num_attention_heads x head_dim", mixer.query_width());
  check.require(mixer.query_heads % mixer.kv_heads == 0, at + "num_key_value_heads",
                fmt::format("expected a divisor of the {} query heads, got {}", mixer.query_heads,
                            mixer.kv_heads));
  if (mixer.window) check.size(at + "sliding_window", *mixer.window);
  if (mixer.rope) check.rope(at + "rope", *mixer.rope, mixer.head_width);
}

void check_linear(const Checker& check, const std::string& at, const LinearMixer& mixer) {
  check.size(at + "linear_num_key_heads", mixer.key_heads);
  check.size(at + "linear_num_value_heads", mixer.value_heads);
  check.size(at + "linear_key_head_dim", mixer.key_width);
  check.size(at + "linear_value_head_dim", mixer.value_width);
  check.size(at + "linear key heads x width", mixer.keys_width());
  check.size(at + "linear value heads x width", mixer.values_width());
  check.require(mixer.value_heads % mixer.key_heads == 0, at + "linear_num_value_heads",
                fmt::format("expected a multiple of the {} key heads, got {}", mixer.key_heads,
                            mixer.value_heads));
  if (mixer.kind == Recurrence::gated_delta) {
    check.size(at + "linear_conv_kernel_dim", mixer.conv_width);
  }
  if (mixer.kind == Recurrence::gated_linear) check.size(at + "gate_rank", mixer.gate_rank);
  if (mixer.rope) check.rope(at + "rope", *mixer.rope, mixer.key_width);
}

// Before the total is known to fit, one tensor's product of two sizes may not.
int128 elements_of(const TensorInfo& tensor) {
  int128 product = 1;
  for (int64_t extent : tensor.shape) product *= extent;
  return product;
}

void check_shared_tail(const Checker& check, const ModelSpec& spec) {
  if (!spec.has_shared_kv()) return;
  const auto first = static_cast<size_t>(spec.self_layers());
  check.require(first >= 1, "layers", "expected a self layer before the shared-KV layers");
  check.require(spec.streams == Streams::single, "streams",
                "expected a single stream beside shared-KV layers");
  const auto& head = std::get<SoftmaxAttention>(spec.layers[first].mixer);
  for (size_t i = first; i < spec.layers.size(); ++i) {
    const auto* mixer = std::get_if<SoftmaxAttention>(&spec.layers[i].mixer);
    const bool alike = mixer != nullptr && mixer->kv == KvSource::shared && !mixer->window &&
                       mixer->kv_heads == head.kv_heads && mixer->head_width == head.head_width &&
                       mixer->qk_norm == head.qk_norm && mixer->rope == head.rope;
    check.require(alike, fmt::format("layers[{}]", i),
                  "expected only unwindowed shared-KV layers of one KV shape at the end");
  }
}

}  // namespace

void validate(const ModelSpec& spec) {
  const Checker check(spec);
  check.size("vocab_size", spec.vocab);
  check.size("hidden_size", spec.hidden);
  check.require(!spec.layers.empty() && spec.layers.size() <= size_t{max_layers},
                "num_hidden_layers",
                fmt::format("expected 1 to {} layers, got {}", max_layers, spec.layers.size()));
  check.require(std::isfinite(spec.norm_eps) && spec.norm_eps >= 0.0, "rms_norm_eps",
                fmt::format("expected a number of at least 0, got {}", spec.norm_eps));
  check.require(spec.max_positions >= 0, "max_position_embeddings",
                fmt::format("expected a positive length, got {}", spec.max_positions));
  for (int64_t id : spec.eos) {
    check.require(id >= 0 && id < spec.vocab, "eos_token_id",
                  fmt::format("expected an id below vocab_size {}, got {}", spec.vocab, id));
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const std::string at = fmt::format("layers[{}].", i);
    const Layer& layer = spec.layers[i];
    check.size(at + "intermediate_size", layer.ffn.width);
    if (const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer)) {
      check_softmax(check, at, *softmax);
      check.require(spec.streams == Streams::dual || softmax->scale_offset == ScaleOffset::none,
                    at + "scale_offset", "expected scale-offset only with two streams");
    } else {
      const auto& linear = std::get<LinearMixer>(layer.mixer);
      check_linear(check, at, linear);
      check.require(
          spec.streams == Streams::single || linear.kind == Recurrence::gated_delta, at + "mixer",
          "expected softmax attention or GDN beside two streams: other mixers have no output copy");
    }
  }
  check_shared_tail(check, spec);
  int128 parameters = 0;
  for (const TensorInfo& tensor : tensor_table(spec)) parameters += elements_of(tensor);
  check.require(parameters <= max_parameters, "parameters",
                fmt::format("expected a model of at most {} weights in all", max_parameters));
}

}  // namespace orthros
