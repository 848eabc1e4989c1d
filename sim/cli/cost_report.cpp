// Writes the results of `cost`.
#include "sim/cli/cost_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/spec/size_text.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/paper.hpp"

namespace orthros::cli {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string or_na(const std::optional<double>& value) {
  return value ? seconds_text(*value) : "n/a";
}

std::string rate_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "n/a";
}

Json ops_json(const std::vector<CostOp>& ops) {
  Json list = Json::array();
  for (const CostOp& line : ops) {
    list.push_back({{"stage", name_of(line.stage)},
                    {"name", line.op.name},
                    {"kind", line.op.name == "software" ? "software" : name_of(line.op.kind)},
                    {"count", line.count},
                    {"m", line.op.m},
                    {"n", line.op.n},
                    {"k", line.op.k},
                    {"pairs", line.op.pairs},
                    {"flops", line.flops},
                    {"bytes", line.bytes},
                    {"seconds", line.seconds},
                    {"bound", line.bound}});
  }
  return list;
}

const char* left_context_text(const CostResult& result) {
  if (result.left_context == "recompute") return "shards run their left context again";
  if (result.left_context == "deal") return "splits are dealt round the GPUs";
  return "shards receive their left context";
}

std::string understood(const CostScenario& s) {
  const auto size = [](int64_t value) {
    const std::string short_form = size_text(value);
    const std::string digits = std::to_string(value);
    return short_form == digits ? digits : fmt::format("{} ({})", short_form, digits);
  };
  std::string text =
      fmt::format("{}: input {}, output {}, batch {} on {}", s.model, size(s.request.input),
                  size(s.request.output), s.request.batch, s.hardware.description);
  if (s.deployment.gpus() > 1) {
    text += fmt::format(", {} GPUs (tensor {}, sequence {})", s.deployment.gpus(),
                        s.deployment.tensor_parallel, s.deployment.sequence_parallel);
    for (const CostResult& r : s.results) {
      if (!r.left_context.empty()) text += fmt::format(", {}: {}", r.arch, left_context_text(r));
    }
    if (s.deployment.gpus() > s.hardware.largest_group) {
      text += fmt::format(", hosts of {}", s.hardware.largest_group);
    }
  }
  return text + "\n";
}

// The five heaviest ops of each architecture.
std::string heaviest_ops(const CostScenario& s) {
  constexpr size_t shown = 5;
  TextTable table({"where the time goes", "op", "stage", "launches", "FLOPs", "seconds", "bound"});
  for (const CostResult& result : s.results) {
    std::vector<CostOp> ops = result.ops;
    std::stable_sort(ops.begin(), ops.end(),
                     [](const CostOp& a, const CostOp& b) { return a.seconds > b.seconds; });
    for (size_t i = 0; i < std::min(shown, ops.size()) && ops[i].seconds > 0.0; ++i) {
      const CostOp& op = ops[i];
      table.add({i == 0 ? result.arch : "", std::string(op.op.name), std::string(name_of(op.stage)),
                 std::to_string(op.count), flops_text(static_cast<double>(op.flops)),
                 seconds_text(op.seconds), op.bound});
    }
  }
  return table.text();
}

}  // namespace

std::string profile_line(const Profile& profile, const Hardware& hardware) {
  std::string line = fmt::format("profile {}: {}", profile.name, profile.caveat);
  if (!profile.fitted_on.empty() && profile.fitted_on != hardware.name) {
    line += fmt::format("; fitted on {}, scaled to {} by peak and bandwidth", profile.fitted_on,
                        hardware.name);
  }
  return line + "\n";
}

Json cost_json(const CostScenario& s) {
  Json list = Json::array();
  for (const CostResult& r : s.results) {
    const CostPoint& p = r.point;
    Json entry;
    entry["model"] = s.model;
    entry["arch"] = r.arch;
    entry["window"] = r.window ? Json(*r.window) : Json(nullptr);
    entry["hardware"] = s.hardware.name;
    entry["profile"] = s.profile.name;
    entry["gpus"] = s.deployment.gpus();
    entry["left_context"] = r.left_context.empty() ? Json(nullptr) : Json(r.left_context);
    entry["input"] = s.request.input;
    entry["output"] = s.request.output;
    entry["batch"] = s.request.batch;
    entry["flops"] = {
        {"prefill", p.flops.prefill}, {"decode", p.flops.decode}, {"total", p.flops.total}};
    entry["memory"] = {
        {"weights_bytes", p.memory.weights}, {"kv_bytes_per_token", p.memory.kv_per_token},
        {"kv_bytes", p.memory.kv},           {"state_bytes", p.memory.state},
        {"total_bytes", p.memory.total},     {"fits", p.fits}};
    entry["latency"] = {{"ttft_s", p.latency.ttft_s},
                        {"decode_step_s", or_null(p.latency.decode_step_s)},
                        {"tpot_s", or_null(p.latency.tpot_s)},
                        {"e2e_s", p.latency.e2e_s},
                        {"output_tokens_per_s", or_null(p.latency.output_tokens_per_s)},
                        {"decode_tokens_per_s", or_null(p.latency.decode_tokens_per_s)}};
    entry["ops"] = ops_json(r.ops);
    list.push_back(std::move(entry));
  }
  return list;
}

std::string cost_csv(const CostScenario& s) {
  TextTable table({"model",
                   "arch",
                   "hardware",
                   "profile",
                   "input",
                   "output",
                   "batch",
                   "flops_prefill",
                   "flops_decode",
                   "flops_total",
                   "weights_bytes",
                   "kv_bytes_per_token",
                   "kv_bytes",
                   "state_bytes",
                   "total_bytes",
                   "fits",
                   "ttft_s",
                   "decode_step_s",
                   "tpot_s",
                   "e2e_s",
                   "output_tokens_per_s",
                   "decode_tokens_per_s"});
  const auto cell = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  for (const CostResult& r : s.results) {
    const CostPoint& p = r.point;
    const auto whole = [](int64_t value) { return std::to_string(value); };
    table.add({s.model,
               r.arch,
               s.hardware.name,
               s.profile.name,
               whole(s.request.input),
               whole(s.request.output),
               whole(s.request.batch),
               whole(p.flops.prefill),
               whole(p.flops.decode),
               whole(p.flops.total),
               whole(p.memory.weights),
               whole(p.memory.kv_per_token),
               whole(p.memory.kv),
               whole(p.memory.state),
               whole(p.memory.total),
               p.fits ? "true" : "false",
               cell(p.latency.ttft_s),
               cell(p.latency.decode_step_s),
               cell(p.latency.tpot_s),
               cell(p.latency.e2e_s),
               cell(p.latency.output_tokens_per_s),
               cell(p.latency.decode_tokens_per_s)});
  }
  return table.csv();
}

std::string label_of(const CostResult& result) {
  return result.window ? fmt::format("{} (w={})", result.arch, *result.window) : result.arch;
}

TextTable cost_table(const CostScenario& s) {
  const PaperTable paper = load_paper_table();
  const auto reported = [&](const CostResult& r) {
    return paper.find(s.model, r.arch, s.hardware.name, s.request);
  };
  const bool beside = std::any_of(s.results.begin(), s.results.end(),
                                  [&](const CostResult& r) { return reported(r) != nullptr; });
  std::vector<std::string> header = {"architecture", "prefill FLOPs", "decode FLOPs", "KV",
                                     "state",        "total memory",  "fits",         "TTFT",
                                     "per token",    "end to end",    "output tok/s"};
  if (beside) header.insert(header.end(), {"Table 4 TTFT", "Table 4 end to end"});
  TextTable table(header);
  for (const CostResult& r : s.results) {
    const CostPoint& p = r.point;
    std::vector<std::string> row = {label_of(r),
                                    flops_text(static_cast<double>(p.flops.prefill)),
                                    flops_text(static_cast<double>(p.flops.decode)),
                                    bytes_text(static_cast<double>(p.memory.kv)),
                                    bytes_text(static_cast<double>(p.memory.state)),
                                    bytes_text(static_cast<double>(p.memory.total)),
                                    p.fits ? "yes" : "NO",
                                    seconds_text(p.latency.ttft_s),
                                    or_na(p.latency.tpot_s),
                                    seconds_text(p.latency.e2e_s),
                                    rate_text(p.latency.output_tokens_per_s)};
    if (beside) {
      const PaperRow* row4 = reported(r);
      row.push_back(row4 != nullptr ? or_na(row4->ttft_s) : "");
      row.push_back(row4 != nullptr ? seconds_text(row4->e2e_s) : "");
    }
    table.add(row);
  }
  return table;
}

std::string cost_text(const CostScenario& s) {
  return understood(s) + profile_line(s.profile, s.hardware) + "\n" + cost_table(s).text() + "\n" +
         heaviest_ops(s);
}

}  // namespace orthros::cli
