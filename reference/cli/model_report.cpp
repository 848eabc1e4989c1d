// Writes what was understood.
#include "reference/cli/model_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orthros::cli {

Json model_json(const ModelInput& input, const ComputeOptions& compute) {
  Json json;
  json["model"] = input.name;
  json["arch"] = input.arch;
  const auto window = window_of(input.spec);
  json["window"] = window ? Json(*window) : Json();
  json["scalar"] = compute.scalar;
  json["seed"] = input.seed ? Json(*input.seed) : Json();
  return json;
}

void print_json(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string architecture_text(const std::string& arch, const ModelSpec& spec) {
  const auto window = window_of(spec);
  return arch + (window ? fmt::format(", window {}", *window) : "");
}

void print_model(const ModelInput& input, const ComputeOptions& compute) {
  const std::string weights =
      input.seed ? fmt::format("random weights, seed {}", *input.seed) : input.files->file();
  fmt::print("model   {} ({}; {})\n", input.name, input.source, weights);
  fmt::print("arch    {}; {}\n", architecture_text(input.arch, input.spec), compute.scalar);
}

std::string ids_text(std::span<const int64_t> ids) {
  constexpr size_t most = 16;
  constexpr size_t edge = 6;
  if (ids.size() <= most) return fmt::format("{}", fmt::join(ids, " "));
  return fmt::format("{} ... {}", fmt::join(ids.first(edge), " "), fmt::join(ids.last(edge), " "));
}

}  // namespace orthros::cli
