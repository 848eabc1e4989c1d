// Reads scenarios/measured/*-loads.json.
#include "cuda/bench/sweep_loads.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/spec/json_fields.hpp"
#include "reference/spec/scenario_files.hpp"

namespace orthros::cuda {
namespace {

std::vector<int64_t> lengths(const JsonFields& fields, const char* name) {
  std::vector<int64_t> all;
  const nlohmann::json* list = fields.raw(name);
  if (list == nullptr) return all;
  if (!list->is_array()) fields.fail(name, "expected an array of lengths");
  for (const nlohmann::json& entry : *list) {
    const auto length = whole_number(entry);
    if (!length || *length < 1) fields.fail(name, "expected lengths from 1");
    all.push_back(*length);
  }
  return all;
}

const nlohmann::json& array_of(const JsonFields& fields, const char* name) {
  const nlohmann::json* list = fields.raw(name);
  if (list == nullptr || !list->is_array() || list->empty()) {
    fields.fail(name, "expected an array that is not empty");
  }
  return *list;
}

SweepLoad read_load(const JsonFields& fields, const SweepEngine& engine) {
  fields.require_known({"batch", "input", "outputs", "sampled", "prefills", "ops", "use"});
  SweepLoad load;
  load.batch = fields.integer("batch").value_or(1);
  load.input = fields.required_integer("input");
  load.outputs = lengths(fields, "outputs");
  load.sampled = lengths(fields, "sampled");
  load.prefills = fields.boolean("prefills").value_or(true);
  load.ops = fields.boolean("ops").value_or(false);
  load.use = fields.required_text("use");
  if (load.use != "fit" && load.use != "held_out") {
    fields.fail("use", "expected fit or held_out");
  }
  if (load.batch < 1 || load.batch > engine.sequences) {
    fields.fail("batch", fmt::format("expected 1 to {}", engine.sequences));
  }
  if (load.input < 1) fields.fail("input", "expected at least 1");
  if (!load.prefills && (!load.outputs.empty() || load.ops)) {
    fields.fail("prefills", "expected sampled outputs alone without a prefill");
  }
  constexpr int64_t least_sampled = 32;  // three places of a few steps each
  for (const auto* list : {&load.outputs, &load.sampled}) {
    for (const int64_t output : *list) {
      if (load.input + output > engine.context) {
        fields.fail("input", fmt::format("expected input + output up to {}", engine.context));
      }
      if (list == &load.sampled && output < least_sampled) {
        fields.fail("sampled", fmt::format("expected lengths from {}", least_sampled));
      }
    }
  }
  return load;
}

}  // namespace

Sweep load_sweep(const std::string& name_or_path) {
  const std::filesystem::path path = scenario_path("measured", name_or_path);
  const nlohmann::json json = read_json_file(path);
  const JsonFields fields(json, path.string());
  Sweep sweep;
  sweep.source = path.stem().string();
  sweep.chunk = fields.required_integer("chunk");
  if (sweep.chunk < 1) fields.fail("chunk", "expected at least 1");
  for (const nlohmann::json& entry : array_of(fields, "engines")) {
    const JsonFields one(entry, path.string(), "engines[].");
    SweepEngine engine;
    engine.arch = one.required_text("arch");
    engine.sequences = one.required_integer("sequences");
    engine.context = one.required_integer("context");
    for (const nlohmann::json& load : array_of(one, "loads")) {
      engine.loads.push_back(
          read_load(JsonFields(load, path.string(), "engines[].loads[]."), engine));
    }
    sweep.engines.push_back(std::move(engine));
  }
  return sweep;
}

}  // namespace orthros::cuda
