// Reads and writes our own config fields.
#include "reference/spec/config_extension.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "reference/spec/config.hpp"

namespace orthros {
namespace {

constexpr const char* placement = "scale_offset_placement";
constexpr const char* query = "copy_query";
constexpr const char* after = "after_qk_norm";
constexpr const char* before = "before_qk_norm";

// The linear mixer's sizes under their names in the "linear" object.
struct SizeField {
  const char* name;
  std::optional<int64_t> LinearSizes::*size;
  int64_t LinearMixer::*mixer_size;
};
constexpr std::array<SizeField, 6> size_fields = {{
    {"key_heads", &LinearSizes::key_heads, &LinearMixer::key_heads},
    {"value_heads", &LinearSizes::value_heads, &LinearMixer::value_heads},
    {"key_width", &LinearSizes::key_width, &LinearMixer::key_width},
    {"value_width", &LinearSizes::value_width, &LinearMixer::value_width},
    {"conv_width", &LinearSizes::conv_width, &LinearMixer::conv_width},
    {"gate_rank", &LinearSizes::gate_rank, &LinearMixer::gate_rank},
}};

// The copy queries of linear layers, Orthros-H's open choice.
CopyQuery copy_query_from(const JsonFields& fields) {
  const std::string name = fields.text(query).value_or("silu");
  if (name == "silu") return CopyQuery::silu;
  if (name == "none") return CopyQuery::none;
  if (name == "last_tap") return CopyQuery::last_tap;
  fields.fail(query, fmt::format("expected silu, none or last_tap, got \"{}\"", name));
}

const char* name_of(CopyQuery copy_query) {
  switch (copy_query) {
    case CopyQuery::silu:
      return "silu";
    case CopyQuery::none:
      return "none";
    case CopyQuery::last_tap:
      break;
  }
  return "last_tap";
}

// First linear and first dual softmax mixer of a spec, for writing their fields.
const LinearMixer* first_linear(const ModelSpec& spec) {
  for (const Layer& layer : spec.layers) {
    if (const auto* linear = std::get_if<LinearMixer>(&layer.mixer)) return linear;
  }
  return nullptr;
}
const SoftmaxAttention* first_softmax(const ModelSpec& spec) {
  for (const Layer& layer : spec.layers) {
    if (const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer)) return softmax;
  }
  return nullptr;
}

void write_orthros(nlohmann::json& config, const SoftmaxAttention& softmax) {
  config["model_type"] = "orthros";
  config["architectures"] = {"OrthrosForCausalLM"};
  config["sliding_window"] = *softmax.window;
  config["scale_offset"] = softmax.scale_offset != ScaleOffset::none;
  for (const char* stale : {placement, "qk_norm"}) config.erase(stale);
  if (softmax.scale_offset == ScaleOffset::before_qk_norm) config[placement] = before;
  if (!softmax.qk_norm) config["qk_norm"] = false;
}

// Whether model_type orthros can say it: one window, the plain norm, no gates, a flat config.
bool is_plain_orthros(const nlohmann::json& config, const ModelSpec& spec) {
  const auto* first = std::get_if<SoftmaxAttention>(&spec.layers.front().mixer);
  return spec.streams == Streams::dual && spec.norm == NormKind::plain && first != nullptr &&
         !first->gated && first->rope.has_value() && !config.contains("text_config") &&
         std::all_of(spec.layers.begin(), spec.layers.end(),
                     [&](const Layer& layer) { return layer.mixer == spec.layers.front().mixer; });
}

}  // namespace

ScaleOffset scale_offset_placement(const JsonFields& config) {
  const std::string name = config.text(placement).value_or(after);
  if (name == after) return ScaleOffset::after_qk_norm;
  if (name == before) return ScaleOffset::before_qk_norm;
  config.fail(placement, fmt::format("expected {} or {}, got \"{}\"", after, before, name));
}

ModelSpec with_extension(const ModelSpec& spec, const JsonFields& config) {
  const auto extension = config.object("orthros");
  if (!extension) return spec;
  extension->require_known({"architecture", "window", "scale_offset", placement, "linear", query});
  ArchitectureRequest request;
  request.name = extension->required_text("architecture");
  const auto& names = architecture_names();
  if (std::find(names.begin(), names.end(), request.name) == names.end()) {
    extension->fail("architecture", fmt::format("expected one of {}, got \"{}\"",
                                                fmt::join(names, ", "), request.name));
  }
  request.window = extension->integer("window");
  const auto scaled = extension->boolean("scale_offset");
  if (scaled || extension->has(placement)) {
    const ScaleOffset place = scale_offset_placement(*extension);
    request.scale_offset = scaled.value_or(true) ? place : ScaleOffset::none;
  }
  if (const auto linear = extension->object("linear")) {
    linear->require_known(
        {"key_heads", "value_heads", "key_width", "value_width", "conv_width", "gate_rank"});
    for (const SizeField& field : size_fields) {
      request.linear.*field.size = linear->integer(field.name);
    }
  }
  ModelSpec result = to_architecture(spec, request);
  const CopyQuery copy_query = copy_query_from(*extension);
  for (Layer& layer : result.layers) {
    if (auto* linear = std::get_if<LinearMixer>(&layer.mixer)) linear->copy_query = copy_query;
  }
  return result;
}

nlohmann::json config_for(const nlohmann::json& config, const ModelSpec& spec) {
  nlohmann::json result = config;
  result.erase("orthros");
  const ModelSpec base = spec_from_config(result, spec.source);
  if (base.layers == spec.layers && base.streams == spec.streams) return result;
  const std::string name = architecture_of(spec);
  const SoftmaxAttention* softmax = first_softmax(spec);
  const LinearMixer* linear = first_linear(spec);
  if (is_plain_orthros(config, spec)) {
    write_orthros(result, *softmax);
    return result;
  }
  nlohmann::json extension = {{"architecture", name}};
  if (const auto window = window_of(spec)) extension["window"] = *window;
  if (spec.streams == Streams::dual && softmax != nullptr) {
    extension["scale_offset"] = softmax->scale_offset != ScaleOffset::none;
    if (softmax->scale_offset == ScaleOffset::before_qk_norm) {
      extension[placement] = before;
    }
  }
  if (linear != nullptr) {
    for (const SizeField& field : size_fields) {
      if (const int64_t size = linear->*field.mixer_size; size > 0) {
        extension["linear"][field.name] = size;
      }
    }
    extension[query] = name_of(linear->copy_query);
  }
  result["orthros"] = extension;
  return result;
}

}  // namespace orthros
