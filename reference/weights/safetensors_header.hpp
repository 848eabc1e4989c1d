// The JSON header of a safetensors file, checked as text; the byte layout is checked by its user.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/weights/tensor_dtype.hpp"

namespace orthros {

// One tensor as the header states it. Dimensions and offsets are at least 0; nothing else about
// them is known yet.
struct TensorEntry {
  std::string name;
  TensorDtype dtype = TensorDtype::f32;
  std::vector<int64_t> shape;
  int64_t begin = 0;  // offsets into the data that follows the header
  int64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the header's order; names may repeat
  std::map<std::string, std::string, std::less<>> metadata;
};

// Parses `{name: {"dtype", "shape", "data_offsets"}, ..., "__metadata__": {text: text}}`. The
// schema drives the parser, so no nesting beyond it is ever followed and memory stays within a
// small multiple of the text. A repeated, missing or unknown field, a number that is no
// non-negative 64-bit integer, an unknown dtype, invalid UTF-8 and anything but white space after
// the object throw InputError.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::string_view file);

}  // namespace orthros
