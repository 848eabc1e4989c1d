// Writes a file whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace orthros {

// Writes beside `path` and renames. Throws InputError naming the path where that fails.
void write_whole_file(const std::filesystem::path& path, std::string_view text);

}  // namespace orthros
