// Our own fields in a config.json: scale-offset's place, and the "orthros" object that names one of
// the paper's systems.
#pragma once

#include <nlohmann/json.hpp>

#include "reference/spec/architecture.hpp"
#include "reference/spec/json_fields.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros {

// "scale_offset_placement": after_qk_norm (the default) or before_qk_norm.
ScaleOffset scale_offset_placement(const JsonFields& config);

// Applies the config's "orthros" object, if it has one, to the spec read from the rest.
ModelSpec with_extension(const ModelSpec& spec, const JsonFields& config);

// `config` changed so that reading it gives `spec`, which a transform made from it: nothing where
// it reads so without our fields, an Orthros of a plain Transformer by model_type, sliding_window
// and scale_offset (DESIGN, "Checkpoints"), anything else by the "orthros" object. What the config
// holds beyond that stays.
nlohmann::json config_for(const nlohmann::json& config, const ModelSpec& spec);

}  // namespace orthros
