// libFuzzer target: any bytes as a config.json are refused in one line or give a spec that is
// valid, survives every transform, and reads back as it was written.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "reference/spec/architecture.hpp"
#include "reference/spec/config.hpp"
#include "reference/spec/config_extension.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/spec/json_fields.hpp"
#include "reference/spec/rope.hpp"
#include "reference/spec/tensor_table.hpp"

namespace orthros {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// Specs up to these sizes are worked on; larger ones are legal and merely slow.
constexpr size_t few_layers = 64;
constexpr int64_t narrow = 1 << 16;

void check_rope(const Rope& rope) {
  if (rope.width > narrow) return;
  for (double frequency : inverse_frequencies(rope)) {
    require(std::isfinite(frequency) && frequency >= 0.0 && frequency <= 1.0);
  }
}

void check_spec(const nlohmann::json& config, const ModelSpec& spec) {
  validate(spec);
  const int64_t parameters = parameter_count(spec);
  require(parameters >= 1 && parameters <= max_parameters);
  for (const Layer& layer : spec.layers) {
    if (const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer)) {
      if (softmax->rope) check_rope(*softmax->rope);
    }
  }
  const ModelSpec back = spec_from_config(config_for(config, spec), "fuzz");
  require(back.layers == spec.layers && back.streams == spec.streams);
}

void check(std::string_view text) {
  const nlohmann::json config = parse_json(text, "fuzz");
  const ModelSpec spec = spec_from_config(config, "fuzz");
  if (spec.layers.size() > few_layers) return;
  check_spec(config, spec);
  for (const std::string& name : architecture_names()) {
    try {
      const ModelSpec other =
          to_architecture(spec, {.name = name, .window = {}, .scale_offset = {}, .linear = {}});
      check_spec(config, other);
    } catch (const InputError&) {  // no such system comes from this one
    }
  }
}

}  // namespace
}  // namespace orthros

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    orthros::check(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const orthros::InputError& refused) {
    orthros::require(std::string_view(refused.what()).find('\n') == std::string_view::npos);
  }
  return 0;
}
