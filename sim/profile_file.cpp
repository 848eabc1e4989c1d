// Reads and writes scenarios/profiles/*.json.
#include <fmt/format.h>

#include <fstream>

#include "reference/spec/input_error.hpp"
#include "reference/spec/json_fields.hpp"
#include "reference/spec/output_file.hpp"
#include "reference/spec/scenario_files.hpp"
#include "sim/profile.hpp"

namespace orthros {
namespace {

double non_negative(const JsonFields& fields, const char* name) {
  const double value = fields.number(name).value_or(0.0);
  if (value < 0.0) fields.fail(name, fmt::format("expected a number from 0, got {}", value));
  return value;
}

ShapeFactor read_shape(const JsonFields& fields) {
  ShapeFactor shape;
  const auto range = [&](const char* name, std::array<double, 3>& out) {
    const nlohmann::json* values = fields.raw(name);
    if (values == nullptr || !values->is_array() || values->size() != 3) {
      fields.fail(name, "expected three numbers");
    }
    for (size_t i = 0; i < 3; ++i) {
      if (!(*values)[i].is_number()) fields.fail(name, "expected three numbers");
      out[i] = (*values)[i].get<double>();
    }
  };
  range("lowest_log2", shape.lowest);
  range("highest_log2", shape.highest);
  const nlohmann::json* terms = fields.raw("terms");
  if (terms == nullptr || !terms->is_array()) fields.fail("terms", "expected an array");
  for (const nlohmann::json& entry : *terms) {
    const bool well_formed = entry.is_array() && entry.size() == 4 &&
                             entry[0].is_number_unsigned() && entry[1].is_number_unsigned() &&
                             entry[2].is_number_unsigned() && entry[3].is_number();
    if (!well_formed) fields.fail("terms", "expected [power, power, power, coefficient]");
    ShapeFactor::Term term;
    constexpr unsigned most_power = 8;
    for (size_t i = 0; i < 3; ++i) {
      const auto power = entry[i].get<unsigned>();
      if (power > most_power) fields.fail("terms", "expected powers up to 8");
      term.powers[i] = static_cast<int>(power);
    }
    term.coefficient = entry[3].get<double>();
    shape.terms.push_back(term);
  }
  return shape;
}

Law read_law(const JsonFields& fields) {
  Law law;
  law.launch_s = non_negative(fields, "launch_s");
  law.rate = non_negative(fields, "rate");
  law.bandwidth = non_negative(fields, "bandwidth");
  law.overlap_loss = non_negative(fields, "overlap_loss");
  law.per_sequence_s = non_negative(fields, "per_sequence_s");
  law.free_sequences = non_negative(fields, "free_sequences");
  law.window_overread = non_negative(fields, "window_overread");
  law.latency_s = non_negative(fields, "latency_s");
  law.power = non_negative(fields, "power");
  if (law.overlap_loss > 1.0) fields.fail("overlap_loss", "expected 0 to 1");
  if (const nlohmann::json* tiers = fields.raw("tiers")) {
    if (!tiers->is_array()) fields.fail("tiers", "expected an array");
    double floor = 0.0;
    for (const nlohmann::json& tier : *tiers) {
      const JsonFields entry(tier, fields.file(), "tiers[].");
      MemoryTier read{entry.required_number("up_to_bytes"), entry.required_number("bandwidth")};
      if (read.up_to_bytes <= floor || read.bandwidth <= 0.0) {
        entry.fail("up_to_bytes", "expected ascending sizes and positive bandwidths");
      }
      floor = read.up_to_bytes;
      law.tiers.push_back(read);
    }
  }
  if (const auto shape = fields.object("shape")) law.shape = read_shape(*shape);
  return law;
}

std::vector<SpecialLaw> read_special(const JsonFields& fields) {
  std::vector<SpecialLaw> special;
  const nlohmann::json* list = fields.raw("special_laws");
  if (list == nullptr) return special;
  if (!list->is_array()) fields.fail("special_laws", "expected an array");
  for (const nlohmann::json& entry : *list) {
    const JsonFields one(entry, fields.file(), "special_laws[].");
    const auto kind = op_kind_of(one.required_text("kind"));
    if (!kind || (*kind != OpKind::gemm && *kind != OpKind::prefill_attention &&
                  *kind != OpKind::communication)) {
      one.fail("kind", "expected gemm, prefill-attention or communication");
    }
    const auto law = one.object("law");
    if (!law) one.fail("law", "expected an object");
    special.push_back({*kind, one.integer("up_to_rows").value_or(0),
                       one.boolean("windowed").value_or(false), read_law(*law),
                       one.boolean("between_shards").value_or(false)});
    if (*kind == OpKind::gemm && special.back().up_to_rows < 1) {
      one.fail("up_to_rows", "expected at least 1");
    }
  }
  return special;
}

}  // namespace

Profile load_profile(std::string_view name_or_path) {
  const std::filesystem::path path = scenario_path("profiles", name_or_path);
  const nlohmann::json json = read_json_file(path);
  const JsonFields fields(json, path.string());
  Profile profile;
  profile.name = path.stem().string();
  profile.description = fields.required_text("description");
  profile.caveat = fields.required_text("caveat");
  profile.fitted_on = fields.text("fitted_on").value_or("");
  const nlohmann::json* laws = fields.raw("laws");
  if (laws == nullptr || !laws->is_object()) fields.fail("laws", "expected an object");
  for (const auto& [name, law] : laws->items()) {
    const auto kind = op_kind_of(name);
    if (!kind) fields.fail("laws." + name, "expected a kind of op such as gemm");
    profile.law(*kind) = read_law(JsonFields(law, path.string(), "laws." + name + "."));
  }
  profile.special = read_special(fields);
  profile.pass_tokens = fields.integer("pass_tokens").value_or(0);
  constexpr int64_t least_pass = 256;  // a point costs time for each pass
  constexpr int64_t most_pass = int64_t{1} << 31;
  if (profile.pass_tokens != 0 &&
      (profile.pass_tokens < least_pass || profile.pass_tokens > most_pass)) {
    fields.fail("pass_tokens", fmt::format("expected 0 or {} to {}", least_pass, most_pass));
  }
  if (const auto step = fields.object("step")) {
    profile.step = {non_negative(*step, "per_step_s"), non_negative(*step, "per_sequence_s"),
                    non_negative(*step, "per_token_s"), non_negative(*step, "per_prompt_s"),
                    non_negative(*step, "per_prompt_group_s")};
  }
  if (const auto serving = fields.object("serving")) {
    ServingSoftware& to = profile.serving;
    to.per_request_s = non_negative(*serving, "per_request_s");
    to.stream_token_s = non_negative(*serving, "stream_token_s");
    to.idle_slots = serving->integer("idle_slots").value_or(to.idle_slots);
    to.token_budget = serving->integer("token_budget").value_or(to.token_budget);
    to.burst_share = non_negative(*serving, "burst_share");
    if (to.idle_slots < 0 || to.token_budget < 1 || to.burst_share > 1.0) {
      serving->fail("idle_slots", "expected idle_slots >= 0, token_budget >= 1, burst_share <= 1");
    }
  }
  if (const nlohmann::json* provenance = fields.raw("provenance")) {
    profile.provenance = nlohmann::ordered_json::parse(provenance->dump());
  }
  return profile;
}

nlohmann::ordered_json to_json(const Law& law) {
  nlohmann::ordered_json json;
  const auto put = [&](const char* name, double value) {
    if (value != 0.0) json[name] = value;
  };
  put("launch_s", law.launch_s);
  put("rate", law.rate);
  put("bandwidth", law.bandwidth);
  for (const MemoryTier& tier : law.tiers) {
    json["tiers"].push_back({{"up_to_bytes", tier.up_to_bytes}, {"bandwidth", tier.bandwidth}});
  }
  put("overlap_loss", law.overlap_loss);
  put("per_sequence_s", law.per_sequence_s);
  put("free_sequences", law.free_sequences);
  put("window_overread", law.window_overread);
  put("latency_s", law.latency_s);
  put("power", law.power);
  if (!law.shape.terms.empty()) {
    auto& shape = json["shape"];
    shape["lowest_log2"] = law.shape.lowest;
    shape["highest_log2"] = law.shape.highest;
    for (const ShapeFactor::Term& term : law.shape.terms) {
      shape["terms"].push_back({term.powers[0], term.powers[1], term.powers[2], term.coefficient});
    }
  }
  return json;
}

nlohmann::ordered_json to_json(const Profile& profile) {
  nlohmann::ordered_json json;
  json["description"] = profile.description;
  json["caveat"] = profile.caveat;
  if (!profile.fitted_on.empty()) json["fitted_on"] = profile.fitted_on;
  json["laws"] = nlohmann::ordered_json::object();
  for (int i = 0; i < op_kinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    if (profile.law(kind)) json["laws"][std::string(name_of(kind))] = to_json(*profile.law(kind));
  }
  for (const SpecialLaw& one : profile.special) {
    nlohmann::ordered_json entry = {{"kind", std::string(name_of(one.kind))}};
    if (one.kind == OpKind::gemm) entry["up_to_rows"] = one.up_to_rows;
    if (one.kind == OpKind::prefill_attention) entry["windowed"] = one.windowed;
    if (one.kind == OpKind::communication) entry["between_shards"] = one.between_shards;
    entry["law"] = to_json(one.law);
    json["special_laws"].push_back(std::move(entry));
  }
  if (profile.pass_tokens > 0) json["pass_tokens"] = profile.pass_tokens;
  const StepSoftware& step = profile.step;
  json["step"] = {{"per_step_s", step.per_step_s},
                  {"per_sequence_s", step.per_sequence_s},
                  {"per_token_s", step.per_token_s},
                  {"per_prompt_s", step.per_prompt_s},
                  {"per_prompt_group_s", step.per_prompt_group_s}};
  const ServingSoftware& serving = profile.serving;
  json["serving"] = {{"per_request_s", serving.per_request_s},
                     {"stream_token_s", serving.stream_token_s},
                     {"idle_slots", serving.idle_slots},
                     {"token_budget", serving.token_budget},
                     {"burst_share", serving.burst_share}};
  json["provenance"] = profile.provenance;
  return json;
}

void save_profile(const Profile& profile, const std::filesystem::path& path) {
  write_text_file(path, to_json(profile).dump(2) + "\n");
}

}  // namespace orthros
