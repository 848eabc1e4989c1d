// What --arch and --window make of a model's spec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reference/spec/model_spec.hpp"

namespace orthros::cli {

// The spec in the architecture asked for, or as it is where none is; `window` then takes the place
// of every window that the result has, and means nothing where it has none. Throws InputError for
// an unknown name, a transform that the spec does not allow, or a window that it cannot have.
ModelSpec spec_in_architecture(const ModelSpec& spec, const std::optional<std::string>& arch,
                               std::optional<int64_t> window);

}  // namespace orthros::cli
