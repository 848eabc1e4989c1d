// Reads the header with nlohmann's event parser: a DOM would drop repeated keys silently.
#include "reference/weights/safetensors_header.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "reference/spec/input_error.hpp"
#include "reference/weights/quoted_text.hpp"

namespace orthros {
namespace {

constexpr std::string_view metadata_key = "__metadata__";

class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(std::string_view file) : file_(file) {}
  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool value) override { unexpected(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { unexpected(fmt::format("{}", value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { unexpected(text); }
  bool binary(binary_t& /*value*/) override { unexpected("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= std::numeric_limits<int64_t>::max();
    if (!fits || (place_ != Place::shape && place_ != Place::offsets)) {
      unexpected(fmt::format("{}", value));
    }
    const auto number = static_cast<int64_t>(value);
    if (place_ == Place::shape) {
      entry().shape.push_back(number);
    } else {
      if (offsets_seen_ == 2) unexpected("a third");
      (offsets_seen_ == 0 ? entry().begin : entry().end) = number;
      ++offsets_seen_;
    }
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::metadata) {
      header_.metadata[metadata_name_] = std::move(value);
    } else if (place_ == Place::entry && field_ == "dtype") {
      const auto dtype = parse_tensor_dtype(value);
      if (!dtype) unexpected(quoted_text(value));
      entry().dtype = *dtype;
    } else {
      unexpected(quoted_text(value));
    }
    return true;
  }

  bool key(string_t& name) override {
    if (place_ == Place::names) {
      if (name == metadata_key) {
        if (metadata_seen_) refuse(metadata_key, "expected one, got a second");
        metadata_seen_ = true;
        metadata_next_ = true;
      } else {
        metadata_next_ = false;
        header_.tensors.emplace_back().name = std::move(name);
      }
    } else if (place_ == Place::metadata) {
      metadata_name_ = std::move(name);
      if (!header_.metadata.emplace(metadata_name_, "").second) {
        refuse(metadata_key,
               fmt::format("expected each key once, got {} twice", quoted_text(metadata_name_)));
      }
    } else {
      open_field(name);
    }
    return true;
  }

  bool start_object(size_t /*unknown*/) override {
    if (place_ == Place::before) {
      place_ = Place::names;
    } else if (place_ == Place::names && metadata_next_) {
      place_ = Place::metadata;
    } else if (place_ == Place::names) {
      place_ = Place::entry;
      fields_seen_.clear();
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::entry) {
      for (const std::string_view field : {"dtype", "shape", "data_offsets"}) {
        if (!fields_seen_.contains(field)) refuse_tensor(field, "expected a value, got none");
      }
    }
    place_ = place_ == Place::names ? Place::after : Place::names;
    return true;
  }

  bool start_array(size_t /*unknown*/) override {
    if (place_ == Place::entry && field_ == "shape") {
      place_ = Place::shape;
    } else if (place_ == Place::entry && field_ == "data_offsets") {
      place_ = Place::offsets;
      offsets_seen_ = 0;
    } else {
      unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_seen_ != 2) {
      unexpected(fmt::format("{} of them", offsets_seen_));
    }
    place_ = Place::entry;
    return true;
  }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    refuse("header", fmt::format("expected JSON, got a syntax error at byte {} of it", position));
  }

 private:
  enum class Place { before, names, metadata, entry, shape, offsets, after };

  TensorEntry& entry() { return header_.tensors.back(); }

  void open_field(std::string& name) {
    if (name != "dtype" && name != "shape" && name != "data_offsets") {
      refuse_tensor(
          "", fmt::format("expected dtype, shape and data_offsets, got {}", quoted_text(name)));
    }
    field_ = std::move(name);
    if (!fields_seen_.insert(field_).second) refuse_tensor(field_, "expected one, got a second");
  }

  std::string expected() const {
    switch (place_) {
      case Place::before:
        return "an object of tensors";
      case Place::names:
        return "an object";
      case Place::metadata:
        return "a string for each key";
      case Place::shape:
        return "integers from 0 to 2^63-1";
      case Place::offsets:
        return "two integers from 0 to 2^63-1";
      case Place::entry:
      case Place::after:
        break;
    }
    if (field_ == "dtype") return "one of " + tensor_dtype_names();
    return field_ == "shape" ? "an array of dimensions" : "an array of two offsets";
  }

  [[noreturn]] void unexpected(std::string_view got) const {
    const std::string what =
        fmt::format("expected {}, got {}", expected(), got.substr(0, longest_value));
    switch (place_) {
      case Place::before:
        refuse("header", what);
      case Place::metadata:
        refuse(metadata_key, what);
      case Place::names:
        if (metadata_next_) refuse(metadata_key, what);
        refuse_tensor("", what);
      default:
        refuse_tensor(field_, what);
    }
  }

  [[noreturn]] void refuse_tensor(std::string_view field, std::string_view what) const {
    const std::string name = quoted_text(header_.tensors.back().name);
    refuse(field.empty() ? name : fmt::format("{}.{}", name, field), what);
  }

  [[noreturn]] void refuse(std::string_view field, std::string_view what) const {
    throw InputError(file_, field, what);
  }

  static constexpr size_t longest_value = 100;

  std::string_view file_;
  SafetensorsHeader header_;
  Place place_ = Place::before;
  bool metadata_seen_ = false;
  bool metadata_next_ = false;  // the name just read is __metadata__
  std::string metadata_name_;
  std::string field_;  // of the tensor being read
  std::set<std::string, std::less<>> fields_seen_;
  int64_t offsets_seen_ = 0;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::string_view file) {
  if (json.empty() || json.front() != '{') {
    throw InputError(file, "header", "expected JSON that begins with {, got something else");
  }
  // The parser takes a NUL for the end of its input and would leave what follows unread.
  if (const size_t nul = json.find('\0'); nul != std::string_view::npos) {
    throw InputError(file, "header",
                     fmt::format("expected JSON, got a NUL at byte {} of it", nul + 1));
  }
  HeaderReader reader(file);
  nlohmann::json::sax_parse(json, &reader);
  return reader.take();
}

}  // namespace orthros
