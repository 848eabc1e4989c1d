// ChartLibrary: Chart.js as the distribution packages it, to be put into a page.
#pragma once

#include <string>

namespace orthros::report {

// The program text of Chart.js: the file that the environment variable ORTHROS_CHART_JS names, else
// the one that the build found, else the distributions' usual place. Throws InputError, one line
// that says which package to install, where there is none.
std::string chart_library();

}  // namespace orthros::report
