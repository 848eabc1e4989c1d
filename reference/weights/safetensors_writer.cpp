// Streams a header and the tensors' bytes to an OutputFile.
#include "reference/weights/safetensors_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "reference/spec/output_file.hpp"
#include "reference/weights/safetensors.hpp"

namespace orthros {
namespace {

int64_t byte_size(const TensorToWrite& tensor) {
  for (const int64_t extent : tensor.shape) {
    if (extent < 0) throw std::invalid_argument(tensor.name + ": a negative dimension");
  }
  const auto size = tensor_byte_size(tensor.dtype, tensor.shape);
  if (!size) throw std::invalid_argument(tensor.name + ": its shape has no size in bytes");
  return *size;
}

std::string json_text(const nlohmann::json& value) {
  try {
    return value.dump();
  } catch (const nlohmann::json::type_error&) {  // the one reason: text that is not UTF-8
    throw std::invalid_argument("a tensor's name or the metadata is not UTF-8");
  }
}

// The JSON text, padded with spaces so that the data begins at a multiple of 8. Written member by
// member, because the order of the keys is the order of the tensors.
std::string header_of(std::span<const TensorToWrite> tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> members;
  if (!metadata.empty()) members.push_back("\"__metadata__\":" + json_text(metadata));
  std::set<std::string_view> names{"__metadata__"};
  int64_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      throw std::invalid_argument(tensor.name + ": a repeated or reserved name");
    }
    int64_t end = 0;
    if (__builtin_add_overflow(offset, byte_size(tensor), &end)) {
      throw std::invalid_argument(tensor.name + ": the file's size overflows");
    }
    members.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  json_text(tensor.name), name_of(tensor.dtype),
                                  fmt::join(tensor.shape, ","), offset, end));
    offset = end;
  }
  std::string header = fmt::format("{{{}}}", fmt::join(members, ","));
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (header.size() > max_safetensors_header) {
    throw std::invalid_argument("the header passes the format's bound");
  }
  return header;
}

}  // namespace

TensorToWrite tensor_of(std::string name, std::vector<int64_t> shape,
                        std::span<const double> values) {
  return {std::move(name), TensorDtype::f64, std::move(shape),
          [values](const ByteSink& sink) { sink(std::as_bytes(values)); }};
}

TensorToWrite copy_of(const TensorView& view) {
  return {view.name, view.dtype, view.shape,
          [bytes = view.bytes](const ByteSink& sink) { sink(bytes); }};
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_of(tensors, metadata);
  const uint64_t length = header.size();
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const TensorToWrite& tensor : tensors) {
    int64_t left = byte_size(tensor);
    tensor.produce([&](std::span<const std::byte> bytes) {
      left -= static_cast<int64_t>(bytes.size());
      if (left < 0) throw std::invalid_argument(tensor.name + ": more bytes than its shape holds");
      file.write(bytes);
    });
    if (left != 0) throw std::invalid_argument(tensor.name + ": fewer bytes than its shape holds");
  }
  file.commit();
}

}  // namespace orthros
