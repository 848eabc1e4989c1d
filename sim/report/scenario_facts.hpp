// What every page says about the hardware, the software and the sizes it was asked for.
#pragma once

#include <string>
#include <vector>

#include "sim/hardware.hpp"
#include "sim/ops.hpp"
#include "sim/profile.hpp"
#include "sim/report/page.hpp"

namespace orthros::report {

// Hardware, GPUs, precision, profile.
std::vector<Page::Fact> deployment_facts(const Hardware& hardware, const Deployment& deployment,
                                         const Profile& profile);

// "128K (131072)"; "300" where no suffix is shorter.
std::string size_fact(int64_t value);

// What times are compared with: the Transformer, else the first.
size_t base_of(const std::vector<std::string>& architectures);

// "3.46× faster than transformer", "1.20× slower than ...", "as fast as ...".
std::string faster_than(double gain, const std::string& base);

}  // namespace orthros::report
