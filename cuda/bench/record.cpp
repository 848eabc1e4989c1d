// Prints a bench's record.
#include "cuda/bench/record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/cli/kv_options.hpp"
#include "reference/cli/model_report.hpp"

namespace orthros::cuda {
namespace {

using cli::Json;

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json clocks_json(const Clocks& clocks) {
  return {{"sm_mhz", number(clocks.sm_mhz)}, {"power_w", number(clocks.power_w)}};
}

Json ops_json(const std::vector<OpTime>& ops) {
  Json list = Json::array();
  for (const OpTime& op : ops) {
    list.push_back({{"name", op.name}, {"launches", op.launches}, {"seconds", op.seconds}});
  }
  return list;
}

Json floors_json(const Floors& floors) {
  Json gemms = Json::array();
  for (const GemmCeiling& gemm : floors.gemms) {
    gemms.push_back({{"name", gemm.name},
                     {"m", gemm.rows},
                     {"n", gemm.out},
                     {"k", gemm.in},
                     {"seconds", gemm.seconds},
                     {"flops_per_s", gemm.flops_per_second()}});
  }
  return {{"copy_bytes_per_s", floors.copy_bytes_per_second},
          {"gemms", gemms},
          {"prefill_gemms_s", floors.prefill_gemms_s},
          {"decode_bytes", floors.decode_bytes},
          {"decode_step_s", floors.decode_step_s}};
}

Json difference_json(const AttentionDifference& d) {
  return {{"queries", d.queries},       {"keys", d.keys},
          {"largest", d.largest},       {"rms", d.rms},
          {"output_rms", d.output_rms}, {"engine_s", d.engine_s},
          {"other_s", d.other_s}};
}

Json order_json(const BenchResult& result) {
  Json products = Json::array();
  for (const OrderCost& cost : result.order) {
    products.push_back({{"name", cost.name},
                        {"rows", cost.rows},
                        {"chain_s", cost.chain_s},
                        {"any_s", cost.any_s},
                        {"algorithm", cost.algorithm},
                        {"splits", cost.splits}});
  }
  return {{"products", products}, {"saving_s", result.order_saving_s}};
}

// Tokens over seconds, null without seconds.
Json rate(double tokens, double seconds) {
  return seconds > 0.0 ? Json(tokens / seconds) : Json();
}

Json result_json(const BenchResult& result) {
  const Load& load = result.load;
  const Measured& m = result.measured;
  const auto batch = static_cast<double>(load.batch);
  Json json{{"model", result.model},
            {"arch", result.arch},
            {"input", load.input},
            {"output", load.output},
            {"batch", load.batch},
            {"chunk", load.chunk},
            {"kv", format_name(result.kv)},
            {"gpus", result.gpus},
            {"repeats", m.repeats},
            {"prefills", load.prefills},
            {"attention", result.attention},
            {"attention_compiling_s", result.compiling_s > 0.0 ? Json(result.compiling_s) : Json()},
            {"ttft_s", load.prefills ? Json(m.ttft) : Json()},
            {"prefill_tokens_per_s", rate(batch * static_cast<double>(load.input), m.ttft)},
            {"decode_step_s", load.output > 1 ? Json(m.decode_step) : Json()},
            {"decode_tokens_per_s", rate(load.output > 1 ? batch : 0.0, m.decode_step)},
            {"e2e_s", load.prefills ? Json(m.end_to_end) : Json()},
            {"output_tokens_per_s", rate(batch * static_cast<double>(load.output), m.end_to_end)},
            {"weight_bytes", result.weight_bytes},
            {"engine_bytes", result.engine_bytes},
            {"clocks", clocks_json(result.clocks)}};
  if (result.difference) json["attention_difference"] = difference_json(*result.difference);
  if (result.ops) {
    json["ops"] = {{"prefill", ops_json(result.ops->prefill)},
                   {"decode", ops_json(result.ops->decode)}};
  }
  if (!result.order.empty()) json["order"] = order_json(result);
  if (result.floors) json["ceilings"] = floors_json(*result.floors);
  return json;
}

void print_ops(const char* stage, const std::vector<OpTime>& ops) {
  for (const OpTime& op : ops) {
    fmt::print("  {:<8} {:<18} {:>6} {:>12.3f} ms\n", stage, op.name, op.launches,
               1e3 * op.seconds);
  }
}

void print_order(const BenchResult& result) {
  for (const OrderCost& cost : result.order) {
    fmt::print(
        "  {:<13} {:>12.2f} us in one order, {:.2f} in any (cuBLASLt {}, k in {}), {} rows\n",
        cost.name, 1e6 * cost.chain_s, 1e6 * cost.any_s, cost.algorithm, cost.splits, cost.rows);
  }
  const double free_s = result.measured.decode_step - result.order_saving_s;
  fmt::print("  the decode step is {:.3f} of one with these in any order\n",
             result.measured.decode_step / free_s);
}

void print_result(const BenchResult& result) {
  const Load& load = result.load;
  const Measured& m = result.measured;
  const auto batch = static_cast<double>(load.batch);
  fmt::print("{} {}: input {}, output {}, batch {}, chunk {}, KV {}{}; median of {}\n",
             result.model, result.arch, load.input, load.output, load.batch, load.chunk,
             format_name(result.kv), result.gpus == 1 ? "" : fmt::format(", {} GPUs", result.gpus),
             m.repeats);
  if (load.prefills) {
    fmt::print("  TTFT          {:>12.3f} ms  {:>12.0f} tokens/s\n", 1e3 * m.ttft,
               batch * static_cast<double>(load.input) / m.ttft);
  }
  if (load.output > 1) {
    fmt::print("  decode step   {:>12.3f} ms  {:>12.1f} tokens/s\n", 1e3 * m.decode_step,
               batch / m.decode_step);
  }
  if (load.prefills) {
    fmt::print("  end to end    {:>12.3f} ms  {:>12.1f} output tokens/s\n", 1e3 * m.end_to_end,
               batch * static_cast<double>(load.output) / m.end_to_end);
  }
  fmt::print("  memory        weights {:.2f} GB, caches and buffers {:.2f} GB\n",
             1e-9 * static_cast<double>(result.weight_bytes),
             1e-9 * static_cast<double>(result.engine_bytes));
  if (result.difference) {
    const AttentionDifference& d = *result.difference;
    fmt::print(
        "  attention     by {}: {} positions over {} keys in {:.3f} ms, by the engine's kernel "
        "{:.3f};\n                outputs differ by {:.2g} at most, {:.2g} of {:.2g} in the "
        "mean square\n",
        result.attention, d.queries, d.keys, 1e3 * d.other_s, 1e3 * d.engine_s, d.largest, d.rms,
        d.output_rms);
  }
  if (result.clocks.sm_mhz && result.clocks.power_w) {
    fmt::print("  clocks        SM {:.0f} MHz, {:.0f} W\n", *result.clocks.sm_mhz,
               *result.clocks.power_w);
  }
  if (result.floors) {
    const Floors& floors = *result.floors;
    fmt::print("  copy          {:>12.3f} TB/s\n", 1e-12 * floors.copy_bytes_per_second);
    for (const GemmCeiling& gemm : floors.gemms) {
      fmt::print("  {:<13} {:>12.1f} TFLOP/s alone, {} x {} x {}\n", gemm.name,
                 1e-12 * gemm.flops_per_second(), gemm.rows, gemm.out, gemm.in);
    }
    if (load.prefills) {
      fmt::print("  TTFT is {:.3f} of its linear layers' {:.3f} ms\n",
                 m.ttft / floors.prefill_gemms_s, 1e3 * floors.prefill_gemms_s);
    }
    if (load.output > 1) {
      fmt::print("  the bytes of a decode step take {:.3f} ms, {:.3f} of it\n",
                 1e3 * floors.decode_step_s, floors.decode_step_s / m.decode_step);
    }
  }
  if (!result.order.empty() && load.output > 1) print_order(result);
  if (result.ops) {
    print_ops("prefill", result.ops->prefill);
    print_ops("decode", result.ops->decode);
  }
}

}  // namespace

Floors measure_floors(const DeviceModel& model, const Load& load, KvFormat kv) {
  Floors floors;
  floors.copy_bytes_per_second = copy_bytes_per_second(nullptr);
  floors.gemms = gemm_ceilings(model, std::min(load.chunk, load.batch * load.input), nullptr);
  floors.prefill_gemms_s = gemm_floor_seconds(model, floors.gemms, load.batch * load.input);
  const double keys = static_cast<double>(load.input) + 0.5 * static_cast<double>(load.output);
  floors.decode_bytes = decode_bytes(model.spec, load.batch, keys, kv);
  floors.decode_step_s = floors.decode_bytes / floors.copy_bytes_per_second;
  return floors;
}

void print_json(const BenchRecord& record) {
  Json json{{"gpu", record.device.gpu},
            {"driver", record.device.driver},
            {"cuda", record.device.cuda},
            {"commit", build_commit()},
            {"flags", record.flags}};
  for (const BenchResult& result : record.results) {
    json["results"].push_back(result_json(result));
  }
  for (const Target& target : record.targets) {
    json["targets"].push_back({{"name", target.name},
                               {"unit", target.unit},
                               {"floor", target.floor},
                               {"measured", target.measured},
                               {"ratio", target.ratio},
                               {"bound", target.bound},
                               {"met", target.met},
                               {"clocks", clocks_json(target.clocks)}});
  }
  cli::print_json(json);
}

void print_table(const BenchRecord& record) {
  fmt::print("{}, driver {}, CUDA {}, commit {}\n", record.device.gpu, record.device.driver,
             record.device.cuda, build_commit());
  for (const BenchResult& result : record.results) print_result(result);
  if (record.targets.empty()) return;
  fmt::print("{:<64} {:>12} {:>12} {:>7} {:>7}\n", "target", "floor", "measured", "ratio", "bound");
  for (const Target& target : record.targets) {
    fmt::print("{:<64} {:>9.4g} {:<2} {:>9.4g} {:<2} {:>7.3f} {:>7.3f} {}\n", target.name,
               target.floor, target.unit, target.measured, target.unit, target.ratio, target.bound,
               target.met ? "met" : "missed");
  }
}

}  // namespace orthros::cuda
