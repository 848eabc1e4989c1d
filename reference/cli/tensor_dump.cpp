// Writes named tensors.
#include "reference/cli/tensor_dump.hpp"

#include <system_error>

#include "reference/spec/input_error.hpp"
#include "reference/weights/safetensors_writer.hpp"

namespace orthros::cli {

namespace fs = std::filesystem;

void require_writable(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!path.has_filename() || fs::is_directory(path, error) || !fs::is_directory(folder, error)) {
    throw InputError(path.string(), "", "expected a file's name in a folder that exists");
  }
}

void write_tensors(const fs::path& path, std::span<const NamedTensor> tensors,
                   const std::map<std::string, std::string>& metadata) {
  std::vector<TensorToWrite> to_write;
  for (const NamedTensor& tensor : tensors) {
    to_write.push_back(tensor_of(tensor.name, tensor.shape, tensor.values));
  }
  write_safetensors(path, to_write, metadata);
}

}  // namespace orthros::cli
