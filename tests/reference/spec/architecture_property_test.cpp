// Properties of the transforms over random specs.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "reference/spec/config_extension.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/spec/tensor_table.hpp"
#include "reference/spec/wide_int.hpp"
#include "tests/reference/spec/spec_generator.hpp"

namespace orthros {
namespace {

ArchitectureRequest named(const std::string& name) {
  return {.name = name, .window = {}, .scale_offset = {}, .linear = {}};
}

bool all_linear_layers(const ModelSpec& spec) {
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (!is_linear(spec, i)) return false;
  }
  return true;
}

// The name a request's result goes by. A hybrid of fewer than 4 layers has no full one yet: it is
// plain GDN. Orthros without its scale-offset is called so.
std::string expected_name(const ArchitectureRequest& request, const ModelSpec& result) {
  if (request.name == "linear-hybrid" && all_linear_layers(result)) return "gdn";
  if (request.name == "orthros" && request.scale_offset == ScaleOffset::none) return "orthros-noso";
  return request.name;
}

RC_GTEST_PROP(architecture, of_a_transform_is_what_was_asked_for, ()) {
  const ModelSpec spec = read(any_transformer_config());
  const ArchitectureRequest request = any_request();
  const ModelSpec result = to_architecture(spec, request);
  RC_ASSERT(architecture_of(result) == expected_name(request, result));
}

RC_GTEST_PROP(architecture, transforming_again_changes_nothing, ()) {
  const ArchitectureRequest request = any_request();
  const ModelSpec once = to_architecture(read(any_transformer_config()), request);
  RC_ASSERT(same_model(to_architecture(once, named(architecture_of(once))), once));
  RC_ASSERT(same_model(to_architecture(once, named(request.name)), once) ||
            (request.name == "orthros" && request.scale_offset == ScaleOffset::none));
}

RC_GTEST_PROP(architecture, softmax_systems_transform_back, ()) {
  const ModelSpec spec = transformer(read(any_transformer_config()));
  for (const char* name : {"swa", "orthros", "orthros-noso", "yoco", "transformer"}) {
    const ModelSpec there = to_architecture(spec, named(name));
    RC_ASSERT(same_model(to_architecture(there, named("transformer")), spec));
  }
}

RC_GTEST_PROP(architecture, phase_aware_adds_a_stream_and_takes_none_of_the_rest, ()) {
  const ModelSpec spec = to_architecture(read(any_transformer_config()),
                                         named(*rc::gen::element("transformer", "linear-hybrid")));
  const auto w = *rc::gen::inRange<int64_t>(1, 300);
  const ModelSpec dual = phase_aware(spec, w, ScaleOffset::after_qk_norm);
  RC_ASSERT(dual.streams == Streams::dual);
  const bool orthros = architecture_of(spec) == "transformer";
  RC_ASSERT(architecture_of(dual) == (orthros ? "orthros" : "orthros-h"));
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    Layer layer = dual.layers[i];
    if (auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer)) {
      RC_ASSERT(softmax->window == w);
      softmax->window.reset();
      softmax->scale_offset = ScaleOffset::none;
    }
    RC_ASSERT(layer == spec.layers[i]);
  }
}

RC_GTEST_PROP(architecture, tensors_have_one_name_each_and_sum_to_the_count, ()) {
  const ModelSpec spec = to_architecture(read(any_transformer_config()), any_request());
  std::set<std::string> seen;
  int128 total = 0;
  for (const TensorInfo& tensor : tensor_table(spec)) {
    RC_ASSERT(seen.insert(tensor.name).second);
    RC_ASSERT(tensor.elements() >= 1);
    total += tensor.elements();
  }
  RC_ASSERT(total == parameter_count(spec));
}

// A config written for a spec reads back as that spec, from any base and for any system; and again
// after a second transform, since a checkpoint may be converted twice.
void expect_round_trip(const Json& config, const ModelSpec& spec) {
  const Json written = config_for(config, spec);
  const ModelSpec back = read(Json::parse(written.dump()));
  RC_LOG() << written.dump() << '\n';
  RC_ASSERT(same_model(back, spec));
  RC_ASSERT(architecture_of(back) == architecture_of(spec));
}

RC_GTEST_PROP(config_for, reads_back_as_the_spec, ()) {
  const Json config = any_transformer_config();
  const ModelSpec spec = to_architecture(read(config), any_request());
  expect_round_trip(config, spec);
}

RC_GTEST_PROP(config_for, reads_back_as_the_spec_that_was_never_transformed, ()) {
  const Json config = *rc::gen::arbitrary<bool>() ? any_transformer_config() : any_hybrid_config();
  expect_round_trip(config, read(config));
}

RC_GTEST_PROP(config_for, reads_back_after_a_second_transform, ()) {
  const Json config = *rc::gen::arbitrary<bool>() ? any_transformer_config() : any_hybrid_config();
  Json written = config;
  for (int step = 0; step < 2; ++step) {
    try {
      const ModelSpec spec = to_architecture(read(written), any_request());
      expect_round_trip(written, spec);
      written = config_for(written, spec);
    } catch (const InputError&) {
      RC_DISCARD("not every system comes from every other");
    }
  }
}

RC_GTEST_PROP(config_for, keeps_what_else_the_config_holds, ()) {
  Json config = any_transformer_config();
  config["transformers_version"] = "4.51.0";
  config["bos_token_id"] = 3;
  const Json written = config_for(config, to_architecture(read(config), any_request()));
  for (const auto& [name, value] : config.items()) {
    const bool ours = name == "model_type" || name == "sliding_window" || name == "scale_offset" ||
                      name == "scale_offset_placement" || name == "qk_norm";
    if (!ours) RC_ASSERT(written.at(name) == value);
  }
}

}  // namespace
}  // namespace orthros
