// TensorDtype: the element types a safetensors file may hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace orthros {

// Every type of the format. Weights are read from F64, F32, F16 and BF16; a file may hold tensors
// of the others, which are refused when they are read as numbers.
enum class TensorDtype {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  f6_e2m3,
  f6_e3m2,
  f4,
  c64
};

// The name in a file's header: "F64", "BF16", "BOOL", ...
std::string_view name_of(TensorDtype dtype);

// The type of a header's name, absent when the format knows no such type.
std::optional<TensorDtype> parse_tensor_dtype(std::string_view name);

// All names, comma-separated, for messages.
std::string tensor_dtype_names();

// Width of an element in bits: 64 for F64, 4 for F4.
int64_t bits_of(TensorDtype dtype);

// Bytes of a tensor of this shape (dimensions >= 0). Absent when the count overflows 64 bits, in
// elements or in bits, or when sub-byte elements do not fill whole bytes.
std::optional<int64_t> tensor_byte_size(TensorDtype dtype, std::span<const int64_t> shape);

}  // namespace orthros
