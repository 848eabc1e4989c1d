// libFuzzer target: any bytes as a safetensors file are refused or give sound, readable tensors.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "reference/spec/input_error.hpp"
#include "reference/weights/bfloat16.hpp"
#include "reference/weights/safetensors.hpp"

namespace orthros {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// Reading touches every byte, so that a span past the file is seen by the sanitizer.
template <typename Scalar>
void read_whole(const TensorView& tensor) {
  std::vector<Scalar> values(static_cast<size_t>(tensor.elements()));
  read_as<Scalar>(tensor, values);
}

void check(std::span<const std::byte> bytes) {
  const Safetensors file(bytes, "fuzz");
  size_t covered = 0;
  for (const TensorView& tensor : file.tensors()) {
    require(file.find(tensor.name) == &tensor);
    require(tensor_byte_size(tensor.dtype, tensor.shape) ==
            static_cast<int64_t>(tensor.bytes.size()));
    covered += tensor.bytes.size();
    try {
      read_whole<double>(tensor);
      read_whole<float>(tensor);
      read_whole<bfloat16>(tensor);
    } catch (const InputError&) {  // of a type that is no weight
    }
  }
  require(covered < bytes.size());
}

void check_or_refuse(std::span<const std::byte> bytes) {
  try {
    check(bytes);
  } catch (const InputError&) {
  }
}

// The same bytes with a length field that ends the header at its last brace: mutations that insert
// or remove text then reach the checks behind the first one.
std::vector<std::byte> with_matching_length(std::span<const std::byte> bytes) {
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  const auto brace = std::find(file.rbegin(), file.rend(), std::byte{'}'});
  const auto end = static_cast<uint64_t>(file.rend() - brace);
  if (end >= 8) {
    const uint64_t length = end - 8;
    std::memcpy(file.data(), &length, sizeof length);
  }
  return file;
}

}  // namespace
}  // namespace orthros

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  orthros::check_or_refuse(bytes);
  orthros::check_or_refuse(orthros::with_matching_length(bytes));
  return 0;
}
