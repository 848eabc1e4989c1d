// Applies --arch, then --window.
#include "reference/cli_support/architecture_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reference/spec/architecture.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cli {

ModelSpec spec_in_architecture(const ModelSpec& spec, const std::optional<std::string>& arch,
                               std::optional<int64_t> window) {
  ModelSpec result = spec;
  if (arch) {
    const auto& names = architecture_names();
    if (std::find(names.begin(), names.end(), *arch) == names.end()) {
      throw InputError("--arch", "",
                       fmt::format("expected one of {}, got '{}'", fmt::join(names, ", "), *arch));
    }
    ArchitectureRequest request;
    request.name = *arch;
    result = to_architecture(spec, request);
  }
  if (!window) return result;
  if (*window < 1 || *window > max_size) {
    throw InputError("--window", "", fmt::format("expected 1 to {}, got {}", max_size, *window));
  }
  for (Layer& layer : result.layers) {
    auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer);
    if (softmax != nullptr && softmax->window) softmax->window = *window;
  }
  return result;
}

}  // namespace orthros::cli
