// Runs Chromium and reads what it prints.
#include "tests/sim/report/browser.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace orthros::test {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

std::optional<std::filesystem::path> find_browser() {
  if (const char* given = std::getenv("ORTHROS_BROWSER")) return given;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      const auto program = std::filesystem::path(folder) / name;
      if (std::filesystem::exists(program)) return program;
    }
  }
  return std::nullopt;
}

LoadedPage load_page(const std::filesystem::path& browser, const std::filesystem::path& file) {
  std::string profile =
      (std::filesystem::temp_directory_path() / "orthros_browser_XXXXXX").string();
  LoadedPage page;
  if (mkdtemp(profile.data()) == nullptr) return page;
  const std::filesystem::path folder = profile;
  const std::string line =
      "HOME=" + profile + " timeout 240 '" + browser.string() +
      "' --headless --no-sandbox --disable-gpu --disable-quic --no-first-run"
      " --disable-background-networking --disable-component-update --disable-sync"
      " --disable-dev-shm-usage --window-size=1400,2400 --virtual-time-budget=10000"
      " --enable-logging=stderr --user-data-dir=" +
      profile + " --dump-dom 'file://" + std::filesystem::absolute(file).string() + "' >" +
      profile + "/dom 2>" + profile + "/log";
  const int status = std::system(line.c_str());
  page.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  page.dom = read(folder / "dom");
  std::istringstream log(read(folder / "log"));
  for (std::string message; std::getline(log, message);) {
    if (message.find("CONSOLE") != std::string::npos) page.console.push_back(message);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return page;
}

std::string attribute_of(const std::string& dom, const std::string& element,
                         const std::string& attribute) {
  const size_t at = dom.find(element);
  if (at == std::string::npos) return "";
  const std::string tag = dom.substr(at, dom.find('>', at) - at);
  const std::string name = " " + attribute + "=\"";
  const size_t value = tag.find(name);
  if (value == std::string::npos) return "";
  const size_t first = value + name.size();
  return tag.substr(first, tag.find('"', first) - first);
}

}  // namespace orthros::test
