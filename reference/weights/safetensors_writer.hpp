// Writes safetensors files: dumps, and checkpoints copied from other files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/weights/tensor_dtype.hpp"
#include "reference/weights/tensor_view.hpp"

namespace orthros {

// Takes the next bytes of the tensor being written.
using ByteSink = std::function<void(std::span<const std::byte>)>;

// A tensor to be written. `produce` is called once, when its turn comes, and hands the sink
// tensor_byte_size(dtype, shape) bytes in all, in row-major, little-endian order.
struct TensorToWrite {
  std::string name;
  TensorDtype dtype = TensorDtype::f64;
  std::vector<int64_t> shape;
  std::function<void(const ByteSink&)> produce;
};

// F64 from memory that outlives the write.
TensorToWrite tensor_of(std::string name, std::vector<int64_t> shape,
                        std::span<const double> values);

// A copy of another file's tensor, byte for byte; the view's bytes outlive the write.
TensorToWrite copy_of(const TensorView& view);

// Writes header and tensors in the given order, tensor after tensor without gaps, the data at a
// multiple of 8 bytes. The file appears whole or not at all. Throws InputError when it cannot be
// written, std::invalid_argument (a caller's mistake) for a repeated or reserved name, a name or
// metadata that is not UTF-8, a shape without a size, a header past the format's bound, or a
// producer of too few or too many bytes.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace orthros
