// Writes what was understood.
#include "reference/cli/model_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reference/spec/architecture.hpp"

namespace orthros::cli {

Json model_json(const ModelInput& input, const ComputeOptions& compute) {
  Json json;
  json["model"] = input.name;
  json["arch"] = architecture_of(input.spec);
  const auto window = window_of(input.spec);
  json["window"] = window ? Json(*window) : Json();
  json["scalar"] = compute.scalar;
  json["seed"] = input.seed ? Json(*input.seed) : Json();
  return json;
}

void print_json(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string architecture_text(const ModelSpec& spec) {
  const auto window = window_of(spec);
  return architecture_of(spec) + (window ? fmt::format(", window {}", *window) : "");
}

void print_model(const ModelInput& input, const ComputeOptions& compute) {
  const std::string weights =
      input.seed ? fmt::format("random weights, seed {}", *input.seed) : input.files->file();
  fmt::print("model   {} ({}; {})\n", input.name, input.source, weights);
  fmt::print("arch    {}; {}\n", architecture_text(input.spec), compute.scalar);
}

std::string ids_text(std::span<const int64_t> ids) {
  constexpr size_t most = 16;
  constexpr size_t edge = 6;
  if (ids.size() <= most) return fmt::format("{}", fmt::join(ids, " "));
  return fmt::format("{} ... {}", fmt::join(ids.first(edge), " "), fmt::join(ids.last(edge), " "));
}

}  // namespace orthros::cli
