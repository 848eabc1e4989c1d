// A headless Chromium for tests.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace orthros::test {

// The browser that ORTHROS_BROWSER names, else chromium, chromium-browser or google-chrome of PATH.
std::optional<std::filesystem::path> find_browser();

struct LoadedPage {
  int status = -1;
  std::string dom;                   // after scripts ran
  std::vector<std::string> console;  // what the page wrote to the console, errors included
};

// Loads the file in a fresh profile without any network use of the browser's own.
LoadedPage load_page(const std::filesystem::path& browser, const std::filesystem::path& file);

// The attribute's value in the first tag that begins with `element` ("<html"); empty where there is
// none.
std::string attribute_of(const std::string& dom, const std::string& element,
                         const std::string& attribute);

}  // namespace orthros::test
