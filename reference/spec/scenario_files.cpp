// Looks up scenario files.
#include "reference/spec/scenario_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "reference/spec/input_error.hpp"

namespace orthros {
namespace fs = std::filesystem;

fs::path scenarios_folder() {
  if (const char* set = std::getenv("ORTHROS_SCENARIOS"); set != nullptr && *set != '\0') {
    if (fs::is_directory(set)) return set;
    throw InputError("ORTHROS_SCENARIOS", "", fmt::format("expected a folder, got '{}'", set));
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::path at = program.parent_path(); !error && at.has_relative_path();
       at = at.parent_path()) {
    if (fs::is_directory(at / "scenarios" / "models")) return at / "scenarios";
  }
  if (fs::is_directory(ORTHROS_SOURCE_SCENARIOS)) return ORTHROS_SOURCE_SCENARIOS;
  throw InputError("scenarios", "",
                   "expected the folder beside the program; set ORTHROS_SCENARIOS to where it is");
}

std::vector<std::string> scenario_names(std::string_view kind) {
  std::vector<std::string> names;
  const fs::path folder = scenarios_folder() / kind;
  if (!fs::is_directory(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

// A name too long for the system, say, does not exist either.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace

fs::path scenario_path(std::string_view kind, std::string_view name_or_path) {
  const bool is_path =
      name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".json");
  const fs::path given(name_or_path);
  if (!is_path) {
    const fs::path named = scenarios_folder() / kind / (std::string(name_or_path) + ".json");
    if (is_there(named)) return named;
    if (name_or_path.empty() || !is_there(given)) {
      throw InputError(kind, "",
                       fmt::format("expected a file or one of {}, got '{}'",
                                   fmt::join(scenario_names(kind), ", "), name_or_path));
    }
  }
  if (!is_there(given)) {
    throw InputError(name_or_path, "", "expected a file, found none");
  }
  return given;
}

}  // namespace orthros
