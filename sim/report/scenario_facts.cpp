// Words for hardware, software and comparisons.
#include "sim/report/scenario_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/spec/size_text.hpp"

namespace orthros::report {

std::vector<Page::Fact> deployment_facts(const Hardware& hardware, const Deployment& deployment,
                                         const Profile& profile) {
  std::string gpus = hardware.description;
  if (deployment.gpus() > 1) {
    gpus = fmt::format("{} x {} (tensor {}, sequence {})", deployment.gpus(), gpus,
                       deployment.tensor_parallel, deployment.sequence_parallel);
  }
  const auto format = [](int64_t bytes) { return bytes == 1 ? "fp8" : "bf16"; };
  return {{"Hardware", gpus},
          {"Precision", fmt::format("weights {}, KV {}", format(deployment.weight_bytes),
                                    format(deployment.kv_bytes))},
          {"Profile", profile.name}};
}

std::string size_fact(int64_t value) {
  const std::string digits = std::to_string(value);
  const std::string text = size_text(value);
  return text == digits ? digits : fmt::format("{} ({})", text, digits);
}

size_t base_of(const std::vector<std::string>& architectures) {
  const auto found = std::find(architectures.begin(), architectures.end(), "transformer");
  return found == architectures.end() ? 0 : static_cast<size_t>(found - architectures.begin());
}

std::string faster_than(double gain, const std::string& base) {
  constexpr double noticeable = 1.005;
  if (gain >= noticeable) return fmt::format("{:.2f}× faster than {}", gain, base);
  if (gain <= 1.0 / noticeable) return fmt::format("{:.2f}× slower than {}", 1.0 / gain, base);
  return "as fast as " + base;
}

}  // namespace orthros::report
