// Checks a safetensors file's layout and makes its views.
#include "reference/weights/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "reference/spec/input_error.hpp"
#include "reference/weights/quoted_text.hpp"
#include "reference/weights/safetensors_header.hpp"

namespace orthros {
namespace {

constexpr uint64_t length_bytes = 8;

// The header's text, its length checked against the file's.
std::string_view header_text(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < length_bytes) {
    throw InputError(file, "header length",
                     fmt::format("expected 8 bytes, got a file of {}", bytes.size()));
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), length_bytes);
  const uint64_t limit = std::min(bytes.size() - length_bytes, max_safetensors_header);
  if (length > limit) {
    throw InputError(file, "header length",
                     fmt::format("expected at most {} in a file of {} bytes, got {}", limit,
                                 bytes.size(), length));
  }
  return {reinterpret_cast<const char*>(bytes.data()) + length_bytes, static_cast<size_t>(length)};
}

// "[2, 3]", the first eight dimensions only.
std::string shape_text(std::span<const int64_t> shape) {
  const size_t shown = std::min<size_t>(shape.size(), 8);
  return fmt::format("[{}{}]", fmt::join(shape.first(shown), ", "),
                     shown < shape.size() ? ", ..." : "");
}

// One tensor's byte range against its dtype and shape; neighbours are not looked at.
void check_range(const TensorEntry& entry, int64_t data_size, const std::string& file) {
  const std::string name = quoted_text(entry.name);
  const auto size = tensor_byte_size(entry.dtype, entry.shape);
  if (!size) {
    throw InputError(file, name + ".shape",
                     fmt::format("expected a whole number of bytes within 64 bits, got {} x {}",
                                 shape_text(entry.shape), name_of(entry.dtype)));
  }
  if (entry.begin > entry.end || entry.end > data_size) {
    throw InputError(file, name + ".data_offsets",
                     fmt::format("expected begin <= end <= {} (the data's size), got [{}, {}]",
                                 data_size, entry.begin, entry.end));
  }
  if (entry.end - entry.begin != *size) {
    throw InputError(file, name + ".data_offsets",
                     fmt::format("expected {} bytes for its dtype and shape, got {}", *size,
                                 entry.end - entry.begin));
  }
}

// In order of their offsets each tensor begins where the one before it ends.
void check_cover(const std::vector<TensorEntry>& entries, int64_t data_size,
                 const std::string& file) {
  std::vector<const TensorEntry*> order;
  order.reserve(entries.size());
  for (const TensorEntry& entry : entries) order.push_back(&entry);
  std::ranges::sort(order, {}, [](const TensorEntry* e) { return std::tuple(e->begin, e->end); });
  int64_t covered = 0;
  for (const TensorEntry* entry : order) {
    if (entry->begin != covered) {
      throw InputError(file, quoted_text(entry->name) + ".data_offsets",
                       fmt::format("expected to begin at {}, where the tensors before it end "
                                   "(no hole, no overlap), got {}",
                                   covered, entry->begin));
    }
    covered = entry->end;
  }
  if (covered != data_size) {
    throw InputError(
        file, "data",
        fmt::format("expected {} bytes, the sum of its tensors, got {}", covered, data_size));
  }
}

}  // namespace

Safetensors::Safetensors(const std::filesystem::path& path)
    : mapping_(path), file_(std::make_unique<const std::string>(path.string())) {
  read(mapping_->bytes());
}

Safetensors::Safetensors(std::span<const std::byte> bytes, std::string_view file)
    : file_(std::make_unique<const std::string>(file)) {
  read(bytes);
}

void Safetensors::read(std::span<const std::byte> bytes) {
  const std::string_view text = header_text(bytes, *file_);
  SafetensorsHeader header = parse_safetensors_header(text, *file_);
  const auto data = bytes.subspan(length_bytes + text.size());
  const auto data_size = static_cast<int64_t>(data.size());
  for (const TensorEntry& entry : header.tensors) check_range(entry, data_size, *file_);
  check_cover(header.tensors, data_size, *file_);

  tensors_.reserve(header.tensors.size());
  for (TensorEntry& entry : header.tensors) {
    tensors_.push_back({.name = std::move(entry.name),
                        .dtype = entry.dtype,
                        .shape = std::move(entry.shape),
                        .bytes = data.subspan(static_cast<size_t>(entry.begin),
                                              static_cast<size_t>(entry.end - entry.begin)),
                        .file = *file_});
  }
  metadata_ = std::move(header.metadata);
  index_names();
}

void Safetensors::index_names() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), size_t{0});
  const auto name_at = [this](size_t i) -> std::string_view { return tensors_[i].name; };
  std::ranges::sort(by_name_, {}, name_at);
  const auto twice = std::ranges::adjacent_find(by_name_, {}, name_at);
  if (twice != by_name_.end()) {
    throw InputError(*file_, quoted_text(tensors_[*twice].name), "expected one, got a second");
  }
}

const TensorView* Safetensors::find(std::string_view name) const {
  const auto name_at = [this](size_t i) -> std::string_view { return tensors_[i].name; };
  const auto found = std::ranges::lower_bound(by_name_, name, {}, name_at);
  if (found == by_name_.end() || tensors_[*found].name != name) return nullptr;
  return &tensors_[*found];
}

}  // namespace orthros
