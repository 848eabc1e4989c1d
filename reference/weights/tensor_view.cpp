// Decodes a tensor's bytes into numbers.
#include "reference/weights/tensor_view.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "reference/spec/input_error.hpp"
#include "reference/weights/bfloat16.hpp"
#include "reference/weights/float16.hpp"

namespace orthros {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are little-endian and copied as they are");

template <typename Stored, typename Scalar>
Scalar convert(Stored value) {
  if constexpr (std::is_same_v<Stored, double> || std::is_same_v<Stored, float> ||
                std::is_same_v<Stored, Scalar>) {
    return static_cast<Scalar>(value);
  } else {
    return static_cast<Scalar>(static_cast<float>(value));  // exact, and then one rounding at most
  }
}

// memcpy of each element: the format promises no alignment.
template <typename Stored, typename Scalar>
void decode(std::span<const std::byte> bytes, std::span<Scalar> out) {
  const std::byte* from = bytes.data();
  for (Scalar& value : out) {
    Stored stored;
    std::memcpy(&stored, from, sizeof stored);
    value = convert<Stored, Scalar>(stored);
    from += sizeof stored;
  }
}

}  // namespace

template <typename Scalar>
void read_as(const TensorView& view, std::span<Scalar> out) {
  if (static_cast<int64_t>(out.size()) != view.elements()) {
    throw std::invalid_argument(fmt::format("read_as: {} has {} elements, the output has {}",
                                            view.name, view.elements(), out.size()));
  }
  switch (view.dtype) {
    case TensorDtype::f64:
      return decode<double>(view.bytes, out);
    case TensorDtype::f32:
      return decode<float>(view.bytes, out);
    case TensorDtype::f16:
      return decode<float16>(view.bytes, out);
    case TensorDtype::bf16:
      return decode<bfloat16>(view.bytes, out);
    default:
      throw InputError(
          view.file, view.name,
          fmt::format("expected weights in F64, F32, F16 or BF16, got {}", name_of(view.dtype)));
  }
}

template void read_as<double>(const TensorView&, std::span<double>);
template void read_as<float>(const TensorView&, std::span<float>);
template void read_as<bfloat16>(const TensorView&, std::span<bfloat16>);

}  // namespace orthros
