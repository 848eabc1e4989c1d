// Reads JSON files and their fields with checks.
#include "reference/spec/json_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "reference/spec/input_error.hpp"

namespace orthros {

std::string shown(const nlohmann::json& value) {
  constexpr auto replace = nlohmann::json::error_handler_t::replace;
  // Printing recurses, and a stranger decides how deep.
  const bool nested = value.is_structured() &&
                      std::any_of(value.begin(), value.end(), [](const nlohmann::json& child) {
                        return child.is_structured();
                      });
  if (nested || (value.is_structured() && value.size() > 16)) {
    return value.is_array() ? "a long list" : "a large object";
  }
  return shortened(value.dump(-1, ' ', false, replace), 60);
}

std::optional<int64_t> whole_number(const nlohmann::json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  constexpr auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (value.is_number_unsigned() && value.get<uint64_t>() > most) return std::nullopt;
  return value.get<int64_t>();
}

nlohmann::json parse_json(std::string_view text, const std::string& file) {
  constexpr int deepest = 64;
  const auto bounded = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    if (depth > deepest) {
      throw InputError(file, "", fmt::format("expected JSON at most {} levels deep", deepest));
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text, bounded);
  } catch (const nlohmann::json::exception& failure) {
    throw InputError(file, "", fmt::format("expected valid JSON: {}", failure.what()));
  }
}

nlohmann::json read_json_file(const std::filesystem::path& path) {
  const std::string file = path.string();
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw InputError(file, "", "expected a file, found none");
  if (!std::filesystem::is_regular_file(status)) {
    throw InputError(file, "", "expected a JSON file, found something else");
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  constexpr uintmax_t most = uintmax_t{64} << 20;
  if (error || size > most) throw InputError(file, "", "expected a JSON file of at most 64 MiB");
  std::ifstream stream(path, std::ios::binary);
  std::string text(size, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(size));
  if (!stream) throw InputError(file, "", "expected a readable file");
  return parse_json(text, file);
}

JsonFields::JsonFields(const nlohmann::json& object, std::string file, std::string prefix)
    : object_(&object), file_(std::move(file)), prefix_(std::move(prefix)) {
  if (!object.is_object()) {
    const std::string name = prefix_.empty() ? "" : prefix_.substr(0, prefix_.size() - 1);
    throw InputError(file_, name, fmt::format("expected an object, got {}", shown(object)));
  }
}

const nlohmann::json* JsonFields::raw(const char* name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool JsonFields::has(const char* name) const {
  return raw(name) != nullptr;
}

std::optional<int64_t> JsonFields::integer(const char* name) const {
  const nlohmann::json* value = raw(name);
  if (value == nullptr) return std::nullopt;
  const auto whole = whole_number(*value);
  if (!whole)
    fail(name, fmt::format("expected a whole number within 64 bits, got {}", shown(*value)));
  return whole;
}

std::optional<double> JsonFields::number(const char* name) const {
  const nlohmann::json* value = raw(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>())) {
    fail(name, fmt::format("expected a number, got {}", shown(*value)));
  }
  return value->get<double>();
}

std::optional<bool> JsonFields::boolean(const char* name) const {
  const nlohmann::json* value = raw(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) {
    fail(name, fmt::format("expected true or false, got {}", shown(*value)));
  }
  return value->get<bool>();
}

std::optional<std::string> JsonFields::text(const char* name) const {
  const nlohmann::json* value = raw(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail(name, fmt::format("expected a string, got {}", shown(*value)));
  return value->get<std::string>();
}

std::optional<JsonFields> JsonFields::object(const char* name) const {
  const nlohmann::json* value = raw(name);
  if (value == nullptr) return std::nullopt;
  return JsonFields(*value, file_, prefix_ + name + ".");
}

int64_t JsonFields::required_integer(const char* name) const {
  const auto value = integer(name);
  if (!value) fail(name, "expected a whole number, found nothing");
  return *value;
}

double JsonFields::required_number(const char* name) const {
  const auto value = number(name);
  if (!value) fail(name, "expected a number, found nothing");
  return *value;
}

std::string JsonFields::required_text(const char* name) const {
  const auto value = text(name);
  if (!value) fail(name, "expected a string, found nothing");
  return *value;
}

void JsonFields::require_text(const char* name, std::string_view supported) const {
  const auto value = text(name);
  if (value && *value != supported) {
    fail(name, fmt::format("expected \"{}\", got \"{}\"", supported, *value));
  }
}

void JsonFields::require_false(const char* name) const {
  if (boolean(name).value_or(false)) fail(name, "expected false: true is not supported");
}

void JsonFields::require_absent(const char* name, std::string_view why) const {
  if (has(name)) fail(name, fmt::format("expected nothing: {}", why));
}

void JsonFields::require_known(std::initializer_list<std::string_view> names) const {
  for (const auto& [name, value] : object_->items()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      fail(name, fmt::format("expected one of {}", fmt::join(names, ", ")));
    }
  }
}

void JsonFields::fail(std::string_view name, std::string_view detail) const {
  throw InputError(file_, prefix_ + std::string(name), detail);
}

}  // namespace orthros
