// Names and widths of the safetensors element types.
#include "reference/weights/tensor_dtype.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace orthros {
namespace {

struct DtypeRow {
  TensorDtype dtype;
  std::string_view name;
  int64_t bits;
};

constexpr std::array<DtypeRow, 22> dtype_rows{{
    {TensorDtype::f64, "F64", 64},
    {TensorDtype::f32, "F32", 32},
    {TensorDtype::f16, "F16", 16},
    {TensorDtype::bf16, "BF16", 16},
    {TensorDtype::i64, "I64", 64},
    {TensorDtype::i32, "I32", 32},
    {TensorDtype::i16, "I16", 16},
    {TensorDtype::i8, "I8", 8},
    {TensorDtype::u64, "U64", 64},
    {TensorDtype::u32, "U32", 32},
    {TensorDtype::u16, "U16", 16},
    {TensorDtype::u8, "U8", 8},
    {TensorDtype::boolean, "BOOL", 8},
    {TensorDtype::f8_e5m2, "F8_E5M2", 8},
    {TensorDtype::f8_e4m3, "F8_E4M3", 8},
    {TensorDtype::f8_e8m0, "F8_E8M0", 8},
    {TensorDtype::f8_e4m3fnuz, "F8_E4M3FNUZ", 8},
    {TensorDtype::f8_e5m2fnuz, "F8_E5M2FNUZ", 8},
    {TensorDtype::f6_e2m3, "F6_E2M3", 6},
    {TensorDtype::f6_e3m2, "F6_E3M2", 6},
    {TensorDtype::f4, "F4", 4},
    {TensorDtype::c64, "C64", 64},
}};

// Rows stand in the order of the enum, so that a lookup is an index.
constexpr bool rows_follow_enum() {
  for (size_t i = 0; i < dtype_rows.size(); ++i) {
    if (static_cast<size_t>(dtype_rows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_follow_enum());

const DtypeRow& row_of(TensorDtype dtype) {
  return dtype_rows.at(static_cast<size_t>(dtype));
}

}  // namespace

std::string_view name_of(TensorDtype dtype) {
  return row_of(dtype).name;
}

std::optional<TensorDtype> parse_tensor_dtype(std::string_view name) {
  const auto row = std::ranges::find(dtype_rows, name, &DtypeRow::name);
  if (row == dtype_rows.end()) return std::nullopt;
  return row->dtype;
}

std::string tensor_dtype_names() {
  std::vector<std::string_view> names;
  names.reserve(dtype_rows.size());
  for (const DtypeRow& row : dtype_rows) names.push_back(row.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

int64_t bits_of(TensorDtype dtype) {
  return row_of(dtype).bits;
}

std::optional<int64_t> tensor_byte_size(TensorDtype dtype, std::span<const int64_t> shape) {
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(elements, extent, &elements)) return std::nullopt;
  }
  int64_t bits = 0;
  if (__builtin_mul_overflow(elements, bits_of(dtype), &bits) || bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

}  // namespace orthros
