// TensorView: a named tensor's shape and bytes, where they lie in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/weights/tensor_dtype.hpp"

namespace orthros {

// Row-major, little-endian, at any alignment. `bytes` and `file` live as long as the file object
// that made the view.
struct TensorView {
  std::string name;
  TensorDtype dtype = TensorDtype::f32;
  std::vector<int64_t> shape;        // {} is a scalar; a dimension may be 0
  std::span<const std::byte> bytes;  // exactly tensor_byte_size(dtype, shape)
  std::string_view file;             // for messages

  int64_t elements() const { return static_cast<int64_t>(bytes.size()) * 8 / bits_of(dtype); }
};

// Decodes all elements into `out` (view.elements() values; another count throws
// std::invalid_argument), rounding to nearest even where Scalar is narrower than the file's type.
// Scalar is double, float or bfloat16. Throws InputError naming the tensor and its type when that
// is none of F64, F32, F16, BF16.
template <typename Scalar>
void read_as(const TensorView& view, std::span<Scalar> out);

}  // namespace orthros
