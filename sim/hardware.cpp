// Reads scenarios/hardware/*.json.
#include "sim/hardware.hpp"

#include <fmt/format.h>

#include "reference/spec/json_fields.hpp"
#include "reference/spec/scenario_files.hpp"

namespace orthros {
namespace {

double figure(const JsonFields& fields, const char* name) {
  const auto object = fields.object(name);
  if (!object) fields.fail(name, "expected {\"value\": number, \"source\": text}, got none");
  object->required_text("source");
  const double value = object->required_number("value");
  if (value <= 0.0) object->fail("value", fmt::format("expected a positive number, got {}", value));
  return value;
}

int64_t whole_figure(const JsonFields& fields, const char* name) {
  const double value = figure(fields, name);
  constexpr double most = 1e15;
  if (value < 1.0 || value > most) {
    fields.fail(name, fmt::format("expected 1 to {}, got {}", most, value));
  }
  return static_cast<int64_t>(value);
}

}  // namespace

Hardware load_hardware(std::string_view name_or_path) {
  const std::filesystem::path path = scenario_path("hardware", name_or_path);
  const nlohmann::json json = read_json_file(path);
  const JsonFields fields(json, path.string());
  Hardware hardware;
  hardware.name = path.stem().string();
  hardware.description = fields.required_text("description");
  hardware.bf16_rate = figure(fields, "bf16_flops");
  hardware.fp8_rate = fields.has("fp8_flops") ? figure(fields, "fp8_flops") : hardware.bf16_rate;
  hardware.memory_bytes = whole_figure(fields, "memory_bytes");
  hardware.memory_bandwidth = figure(fields, "memory_bandwidth");
  hardware.link_bandwidth = figure(fields, "link_bandwidth");
  hardware.link_latency_s = figure(fields, "link_latency");
  const bool network = fields.has("network_bandwidth");
  hardware.network_bandwidth =
      network ? figure(fields, "network_bandwidth") : hardware.link_bandwidth;
  hardware.network_latency_s =
      network ? figure(fields, "network_latency") : hardware.link_latency_s;
  hardware.largest_group = whole_figure(fields, "largest_group");
  hardware.dollars_per_hour = figure(fields, "dollars_per_hour");
  return hardware;
}

}  // namespace orthros
