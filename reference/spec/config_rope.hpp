// The rotary part of a Hugging Face config.
#pragma once

#include "reference/spec/json_fields.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros {

// Reads rope_theta, rope_scaling, rope_parameters and partial_rotary_factor, wherever they stand,
// for heads of `head_width` channels of which `default_fraction` turn. `type` and `rope_type` name
// the same thing; types: default, llama3, linear, yarn. A theta that is nowhere is an error.
Rope rope_from_config(const JsonFields& config, int64_t head_width, double default_fraction);

}  // namespace orthros
