// Finds the data files under scenarios/ by name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orthros {

// The scenarios/ folder: $ORTHROS_SCENARIOS, or beside or above the running program, or where the
// project was built. Throws InputError if none of them is there.
std::filesystem::path scenarios_folder();

// A file by path, or by name among scenarios/KIND/NAME.json (kind: models, hardware, profiles,
// paper). A text with a '/' or ending in ".json" is a path; otherwise a name, unless no such name
// exists and a file or folder of that name does. Throws InputError that lists the known names.
std::filesystem::path scenario_path(std::string_view kind, std::string_view name_or_path);

// Names of the kind, sorted, without ".json".
std::vector<std::string> scenario_names(std::string_view kind);

}  // namespace orthros
