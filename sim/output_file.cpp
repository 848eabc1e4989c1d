// Writes to a temporary name in the same folder, then renames.
#include "sim/output_file.hpp"

#include <unistd.h>

#include <fstream>
#include <system_error>

#include "reference/spec/input_error.hpp"

namespace orthros {

void write_whole_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path part = path;
  part += ".part" + std::to_string(getpid());
  std::ofstream file(part, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(part, path, error);
  if (!file || error) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    throw InputError(path.string(), "", "expected a file that can be written");
  }
}

}  // namespace orthros
