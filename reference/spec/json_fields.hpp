// Checked reading of a JSON object's fields: a wrong type or range is an InputError that names the
// file and the field.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace orthros {

// Parses JSON text of at most 64 levels (deeper text could exhaust the stack of whoever walks it).
// Malformed: InputError naming `file`.
nlohmann::json parse_json(std::string_view text, const std::string& file);

// Parses a JSON file of at most 64 MiB. Absent, unreadable or malformed: InputError with the path.
nlohmann::json read_json_file(const std::filesystem::path& path);

// A view of one object. null counts as absent everywhere.
class JsonFields {
 public:
  // `prefix` names the object inside its file ("rope_parameters."), empty for the whole file.
  // Throws if `object` is not a JSON object. Both arguments outlive the view.
  JsonFields(const nlohmann::json& object, std::string file, std::string prefix = "");

  bool has(const char* name) const;  // present and not null
  std::optional<int64_t> integer(const char* name) const;
  std::optional<double> number(const char* name) const;  // finite
  std::optional<bool> boolean(const char* name) const;
  std::optional<std::string> text(const char* name) const;
  // A nested object or array as it stands; nullptr where absent.
  const nlohmann::json* raw(const char* name) const;
  std::optional<JsonFields> object(const char* name) const;

  int64_t required_integer(const char* name) const;
  double required_number(const char* name) const;
  std::string required_text(const char* name) const;

  // Refuses a field that is present and different from what we support.
  void require_text(const char* name, std::string_view supported) const;
  void require_false(const char* name) const;
  void require_absent(const char* name, std::string_view why) const;
  // Refuses any field but these: for objects that are ours, where another name is a misspelling.
  void require_known(std::initializer_list<std::string_view> names) const;

  [[noreturn]] void fail(std::string_view name, std::string_view detail) const;
  const std::string& file() const { return file_; }

 private:
  const nlohmann::json* object_;
  std::string file_;
  std::string prefix_;
};

// An integer within 64 bits; nothing for any other value, numbers with a fraction included.
std::optional<int64_t> whole_number(const nlohmann::json& value);

// A value for an error message: its JSON text, cut to a readable length.
std::string shown(const nlohmann::json& value);

}  // namespace orthros
