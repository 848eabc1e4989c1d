// The style sheet and the script of every page, from the files in page/.
#pragma once

#include <string_view>

namespace orthros::report {

extern const std::string_view page_style;
extern const std::string_view page_script;  // its files one after another

}  // namespace orthros::report
