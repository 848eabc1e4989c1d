// Reads the rotary part of a config.
#include "reference/spec/config_rope.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reference/spec/rope.hpp"

namespace orthros {
namespace {

// A figure that may stand at the top, in the rope object, or in both alike.
std::optional<double> either(const JsonFields& config, const std::optional<JsonFields>& rope,
                             const char* name) {
  const auto outer = config.number(name);
  const auto inner = rope ? rope->number(name) : std::nullopt;
  if (outer && inner && *outer != *inner) {
    rope->fail(name, fmt::format("expected the top level's {}, got {}", *outer, *inner));
  }
  return inner ? inner : outer;
}

RopeScaling scaling_of(const JsonFields& rope) {
  const auto type = rope.text("type");
  const auto rope_type = rope.text("rope_type");
  if (type && rope_type && *type != *rope_type) {
    rope.fail("type", fmt::format("expected rope_type's \"{}\", got \"{}\"", *rope_type, *type));
  }
  const std::string name = rope_type ? *rope_type : type.value_or("default");
  if (name == "default" || name == "mrope") {  // on text, mrope's three axes coincide
    return RopeScaling::none;
  }
  if (name == "linear") return RopeScaling::linear;
  if (name == "llama3") return RopeScaling::llama3;
  if (name == "yarn") return RopeScaling::yarn;
  rope.fail(rope_type ? "rope_type" : "type",
            fmt::format("expected default, linear, llama3 or yarn, got \"{}\"", name));
}

double yarn_attention_factor(const JsonFields& rope, double factor) {
  if (const auto given = rope.number("attention_factor")) return *given;
  const auto mscale = rope.number("mscale");
  const auto all_dim = rope.number("mscale_all_dim");
  if (mscale && all_dim && *mscale != 0.0 && *all_dim != 0.0) {
    const auto scaled = [&](double m) {
      return factor <= 1.0 ? 1.0 : 0.1 * m * std::log(factor) + 1.0;
    };
    return scaled(*mscale) / scaled(*all_dim);
  }
  return default_yarn_attention_factor(factor);
}

int64_t original_length(const JsonFields& config, const JsonFields& rope) {
  if (const auto given = rope.integer("original_max_position_embeddings")) return *given;
  if (const auto given = config.integer("original_max_position_embeddings")) return *given;
  return config.required_integer("max_position_embeddings");
}

// yarn's factor may be left to the two lengths, as in transformers.
double factor_of(const JsonFields& config, const JsonFields& rope, RopeScaling scaling) {
  if (scaling != RopeScaling::yarn || rope.has("factor")) return rope.required_number("factor");
  return static_cast<double>(config.required_integer("max_position_embeddings")) /
         static_cast<double>(original_length(config, rope));
}

void read_scaling(const JsonFields& config, const JsonFields& fields, Rope& rope) {
  rope.scaling = scaling_of(fields);
  if (rope.scaling == RopeScaling::none) return;
  rope.factor = factor_of(config, fields, rope.scaling);
  if (rope.scaling == RopeScaling::llama3) {
    rope.low_freq_factor = fields.required_number("low_freq_factor");
    rope.high_freq_factor = fields.required_number("high_freq_factor");
    rope.original_max_position = original_length(config, fields);
  } else if (rope.scaling == RopeScaling::yarn) {
    rope.original_max_position = original_length(config, fields);
    rope.beta_fast = fields.number("beta_fast").value_or(rope.beta_fast);
    rope.beta_slow = fields.number("beta_slow").value_or(rope.beta_slow);
    rope.truncate = fields.boolean("truncate").value_or(true);
    rope.attention_factor = yarn_attention_factor(fields, rope.factor);
  }
}

}  // namespace

Rope rope_from_config(const JsonFields& config, int64_t head_width, double default_fraction) {
  const auto parameters = config.object("rope_parameters");
  const auto scaling = config.object("rope_scaling");
  for (const char* nested : {"full_attention", "sliding_attention"}) {
    if (parameters) {
      parameters->require_absent(nested,
                                 "one set of rotary parameters for all layers is supported");
    }
  }
  const auto& rope_object = parameters ? parameters : scaling;
  Rope rope;
  const auto theta = either(config, rope_object, "rope_theta");
  if (!theta) {
    config.fail("rope_theta",
                "expected a number here or in rope_parameters (the first Llama models mean 10000)");
  }
  rope.theta = *theta;
  const double fraction =
      either(config, rope_object, "partial_rotary_factor").value_or(default_fraction);
  if (!(fraction > 0.0 && fraction <= 1.0)) {
    config.fail("partial_rotary_factor",
                fmt::format("expected a number above 0 and at most 1, got {}", fraction));
  }
  rope.width = static_cast<int64_t>(static_cast<double>(head_width) * fraction);
  const Rope unscaled = rope;
  if (parameters) read_scaling(config, *parameters, rope);
  if (scaling) {
    Rope other = unscaled;
    read_scaling(config, *scaling, other);
    if (parameters && !(other == rope)) {
      config.fail("rope_scaling", "expected the same as rope_parameters, or one of the two");
    }
    rope = other;
  }
  return rope;
}

}  // namespace orthros
