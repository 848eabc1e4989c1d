// Transforms between the paper's systems.
#include "reference/spec/architecture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

const SoftmaxAttention* softmax_of(const Layer& layer) {
  return std::get_if<SoftmaxAttention>(&layer.mixer);
}

std::string where(const ModelSpec& spec) {
  return spec.source.empty() ? spec.name : spec.source;
}

// A copy with one stream, unwindowed own-KV softmax layers and no scale-offset; linear layers stay.
ModelSpec plain_layers(const ModelSpec& spec) {
  ModelSpec plain = spec;
  plain.streams = Streams::single;
  for (Layer& layer : plain.layers) {
    if (auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer)) {
      softmax->window.reset();
      softmax->scale_offset = ScaleOffset::none;
      softmax->kv = KvSource::own;
    }
  }
  return plain;
}

bool has_linear(const ModelSpec& spec) {
  return std::any_of(spec.layers.begin(), spec.layers.end(),
                     [](const Layer& layer) { return softmax_of(layer) == nullptr; });
}

// GDN and softmax layers both, or as few GDN layers as a hybrid has before its first full one.
void require_hybrid(const ModelSpec& spec) {
  size_t softmax = 0;
  for (const Layer& layer : spec.layers) {
    const auto* linear = std::get_if<LinearMixer>(&layer.mixer);
    if (linear == nullptr) {
      ++softmax;
    } else if (linear->kind != Recurrence::gated_delta) {
      throw InputError(where(spec), "layers", "expected GDN and softmax layers to start from");
    }
  }
  if (softmax == 0 && spec.layers.size() >= 4) {
    throw InputError(where(spec), "layers",
                     "expected softmax layers beside the linear ones to start from");
  }
}

}  // namespace

ModelSpec transformer(const ModelSpec& spec) {
  if (has_linear(spec)) {
    throw InputError(where(spec), "layers",
                     "expected only softmax layers to start from; a linear layer holds no "
                     "attention weights");
  }
  return plain_layers(spec);
}

ModelSpec swa(const ModelSpec& spec, int64_t w) {
  ModelSpec windowed = transformer(spec);
  for (Layer& layer : windowed.layers) std::get<SoftmaxAttention>(layer.mixer).window = w;
  return windowed;
}

ModelSpec phase_aware(const ModelSpec& spec, int64_t w, ScaleOffset scale_offset) {
  ModelSpec dual = plain_layers(spec);
  dual.streams = Streams::dual;
  for (Layer& layer : dual.layers) {
    if (auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer)) {
      softmax->window = w;
      softmax->scale_offset = scale_offset;
    }
  }
  return dual;
}

ModelSpec orthros(const ModelSpec& spec, int64_t w, ScaleOffset scale_offset) {
  return phase_aware(transformer(spec), w, scale_offset);
}

LinearMixer linear_mixer(Recurrence kind, const SoftmaxAttention& source, int64_t hidden,
                         const LinearSizes& sizes) {
  LinearMixer mixer;
  mixer.kind = kind;
  const int64_t heads = source.query_heads;
  if (kind == Recurrence::gated_delta) {
    mixer.value_heads = sizes.value_heads.value_or(heads);
    mixer.key_heads = sizes.key_heads.value_or(mixer.value_heads % 2 == 0 ? mixer.value_heads / 2
                                                                          : mixer.value_heads);
    mixer.key_width = sizes.key_width.value_or(source.head_width);
    mixer.value_width = sizes.value_width.value_or(source.head_width);
    mixer.conv_width = sizes.conv_width.value_or(4);
  } else if (kind == Recurrence::gated_linear) {
    mixer.key_heads = sizes.key_heads.value_or(4);
    mixer.value_heads = sizes.value_heads.value_or(mixer.key_heads);
    mixer.key_width = sizes.key_width.value_or(hidden / 8);
    mixer.value_width = sizes.value_width.value_or(hidden / 4);
    mixer.gate_rank = sizes.gate_rank.value_or(16);
  } else {
    mixer.key_heads = sizes.key_heads.value_or(heads);
    mixer.value_heads = sizes.value_heads.value_or(mixer.key_heads);
    mixer.key_width = sizes.key_width.value_or(hidden / std::max<int64_t>(mixer.key_heads, 1));
    // A given key width is anybody's number until validate has seen it.
    const int64_t twice = 2 * std::clamp<int64_t>(mixer.key_width, 0, max_size);
    mixer.value_width = sizes.value_width.value_or(twice);
    Rope rope;
    rope.theta = 10000.0;
    rope.width = mixer.key_width;
    mixer.rope = rope;
  }
  return mixer;
}

ModelSpec all_linear(const ModelSpec& spec, Recurrence kind, const LinearSizes& sizes) {
  ModelSpec linear = transformer(spec);
  for (Layer& layer : linear.layers) {
    layer.mixer = linear_mixer(kind, std::get<SoftmaxAttention>(layer.mixer), linear.hidden, sizes);
  }
  return linear;
}

ModelSpec linear_hybrid(const ModelSpec& spec, const LinearSizes& sizes) {
  ModelSpec hybrid = plain_layers(spec);
  if (has_linear(spec)) {
    require_hybrid(spec);
    return hybrid;
  }
  for (size_t i = 0; i < hybrid.layers.size(); ++i) {
    if ((i + 1) % 4 == 0) continue;
    Layer& layer = hybrid.layers[i];
    layer.mixer = linear_mixer(Recurrence::gated_delta, std::get<SoftmaxAttention>(layer.mixer),
                               hybrid.hidden, sizes);
  }
  return hybrid;
}

ModelSpec yoco(const ModelSpec& spec, int64_t w, SelfDecoder self, const LinearSizes& sizes) {
  ModelSpec decoder = transformer(spec);
  const size_t self_layers = decoder.layers.size() / 2;
  if (self_layers == 0) {
    throw InputError(where(spec), "num_hidden_layers",
                     "expected at least 2 layers for a decoder-decoder, got 1");
  }
  for (size_t i = 0; i < decoder.layers.size(); ++i) {
    auto& softmax = std::get<SoftmaxAttention>(decoder.layers[i].mixer);
    if (i >= self_layers) {
      softmax.kv = KvSource::shared;
    } else if (self == SelfDecoder::windowed) {
      softmax.window = w;
    } else {
      decoder.layers[i].mixer =
          linear_mixer(Recurrence::gated_retention, softmax, decoder.hidden, sizes);
    }
  }
  return decoder;
}

const std::vector<std::string>& architecture_names() {
  static const std::vector<std::string> names = {
      "transformer", "swa",  "orthros",        "orthros-noso",  "retnet",   "gla",
      "gdn",         "yoco", "yoco-retention", "linear-hybrid", "orthros-h"};
  return names;
}

namespace {

// The scale-offset of the source's first dual-stream softmax layer, if it has any.
ScaleOffset scale_offset_of(const ModelSpec& spec) {
  for (const Layer& layer : spec.layers) {
    const SoftmaxAttention* softmax = softmax_of(layer);
    if (softmax != nullptr && softmax->scale_offset != ScaleOffset::none) {
      return softmax->scale_offset;
    }
  }
  return ScaleOffset::after_qk_norm;
}

ModelSpec apply(const ModelSpec& spec, const ArchitectureRequest& request) {
  const std::string& name = request.name;
  const auto window = [&](int64_t otherwise) {
    return request.window ? *request.window : window_of(spec).value_or(otherwise);
  };
  const auto scale_offset = [&] { return request.scale_offset.value_or(scale_offset_of(spec)); };
  if (name == "transformer") return transformer(spec);
  if (name == "swa") return swa(spec, window(default_swa_window));
  if (name == "orthros") return orthros(spec, window(default_window), scale_offset());
  if (name == "orthros-noso") return orthros(spec, window(default_window), ScaleOffset::none);
  if (name == "retnet") return all_linear(spec, Recurrence::retention, request.linear);
  if (name == "gla") return all_linear(spec, Recurrence::gated_linear, request.linear);
  if (name == "gdn") return all_linear(spec, Recurrence::gated_delta, request.linear);
  if (name == "yoco") return yoco(spec, window(default_window));
  if (name == "yoco-retention") {
    return yoco(spec, window(default_window), SelfDecoder::gated_retention, request.linear);
  }
  if (name == "linear-hybrid") return linear_hybrid(spec, request.linear);
  if (name == "orthros-h") {
    return phase_aware(linear_hybrid(spec, request.linear), window(default_window), scale_offset());
  }
  throw InputError(
      "architecture", "",
      fmt::format("expected one of {}, got '{}'", fmt::join(architecture_names(), ", "), name));
}

}  // namespace

ModelSpec to_architecture(const ModelSpec& spec, const ArchitectureRequest& request) {
  // What a spec already is, it stays, sizes included; only a given window or scale-offset changes.
  const bool already = architecture_of(spec) == request.name && !request.window &&
                       !request.scale_offset && request.linear == LinearSizes{};
  ModelSpec result = already ? spec : apply(spec, request);
  validate(result);
  return result;
}

std::string architecture_of(const ModelSpec& spec) {
  const size_t layers = spec.layers.size();
  size_t linear = 0;
  size_t windowed = 0;
  size_t scaled = 0;
  std::optional<Recurrence> kind;
  bool one_kind = true;
  for (const Layer& layer : spec.layers) {
    if (const SoftmaxAttention* softmax = softmax_of(layer)) {
      if (softmax->window) ++windowed;
      if (softmax->scale_offset != ScaleOffset::none) ++scaled;
    } else {
      const Recurrence this_kind = std::get<LinearMixer>(layer.mixer).kind;
      one_kind = one_kind && (!kind || *kind == this_kind);
      kind = this_kind;
      ++linear;
    }
  }
  const size_t softmax = layers - linear;
  if (!one_kind) return "mixed";
  if (spec.streams == Streams::dual) {
    const bool whole = windowed == softmax && (scaled == 0 || scaled == softmax);
    if (!whole || (linear > 0 && *kind != Recurrence::gated_delta)) return "mixed";
    if (linear > 0) return "orthros-h";
    return scaled == 0 ? "orthros-noso" : "orthros";
  }
  if (spec.has_shared_kv()) {
    const auto self = static_cast<size_t>(spec.self_layers());
    if (windowed == self) return "yoco";
    return linear == self && *kind == Recurrence::gated_retention ? "yoco-retention" : "mixed";
  }
  if (linear == 0) return windowed == 0 ? "transformer" : windowed == layers ? "swa" : "mixed";
  if (windowed > 0) return "mixed";
  if (softmax > 0) return *kind == Recurrence::gated_delta ? "linear-hybrid" : "mixed";
  switch (*kind) {
    case Recurrence::retention:
      return "retnet";
    case Recurrence::gated_linear:
      return "gla";
    case Recurrence::gated_delta:
      return "gdn";
    case Recurrence::gated_retention:
      break;
  }
  return "mixed";
}

}  // namespace orthros
