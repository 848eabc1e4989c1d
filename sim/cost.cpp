// Puts counts, memory and step times together.
#include "sim/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "reference/spec/input_error.hpp"
#include "sim/prefill_steps.hpp"

namespace orthros {
namespace {

void at_least(std::string_view field, int64_t least, int64_t value) {
  if (value < least) {
    throw InputError(field, "", fmt::format("expected at least {}, got {}", least, value));
  }
}

int64_t total_of(int128 total) {
  if (total > std::numeric_limits<int64_t>::max()) {
    throw InputError("ops", "", "expected FLOPs and bytes within 64 bits; shorten the sequences");
  }
  return static_cast<int64_t>(total);
}

// Sum over i < steps of first + i growth.
int128 series(int64_t first, int64_t growth, int64_t steps) {
  return int128{steps} * first + int128{steps} * (steps - 1) / 2 * growth;
}

}  // namespace

void check_request(const CostRequest& request) {
  at_least("input", 1, request.input);
  at_least("output", 0, request.output);
  at_least("batch", 1, request.batch);
  if (request.batch > longest_sequence) {
    throw InputError("batch", "",
                     fmt::format("expected at most {}, got {}", longest_sequence, request.batch));
  }
  const int64_t length = checked_sum(request.input, request.output, "input + output");
  if (length > longest_sequence) {
    throw InputError("input + output", "",
                     fmt::format("expected at most {}, got {}", longest_sequence, length));
  }
}

CostFlops cost_flops(const CountModel& model, const CostRequest& request, RecurrentForm form,
                     int64_t chunk) {
  CostFlops flops;
  flops.prefill = flops_from_macs(prefill_macs(model, request.input, form, chunk), request.batch,
                                  "flops.prefill");
  flops.decode = flops_from_macs(decode_macs(model, request.input, request.output), request.batch,
                                 "flops.decode");
  flops.total = checked_sum(flops.prefill, flops.decode, "flops.total");
  return flops;
}

CostPoint cost_point(const StepCost& cost, const Hardware& hardware, const CostRequest& request) {
  const Deployment& to = cost.deployment();
  CostPoint point;
  point.flops = cost_flops(cost.model(), request, to.prefill_form, to.recurrent_chunk);
  // The last token is never fed back, so nothing of it is cached.
  const int64_t steps = std::max<int64_t>(request.output - 1, 0);
  point.memory = memory_of(cost.model(), to, request.batch, request.input + steps);
  point.fits = point.memory.total <= hardware.memory_bytes;
  CostLatency& latency = point.latency;
  latency.ttft_s = cost.prefill_seconds(request.batch, request.input);
  const double decode_s = cost.uniform_decode_seconds(request.batch, request.input + 1, steps);
  latency.e2e_s = latency.ttft_s + decode_s;
  const auto batch = static_cast<double>(request.batch);
  if (steps > 0) {
    latency.decode_step_s = decode_s / static_cast<double>(steps);
    latency.tpot_s = latency.decode_step_s;
    if (decode_s > 0.0) latency.decode_tokens_per_s = batch / *latency.decode_step_s;
  }
  if (request.output > 0 && latency.e2e_s > 0.0) {
    latency.output_tokens_per_s = batch * static_cast<double>(request.output) / latency.e2e_s;
  }
  return point;
}

namespace {

CostOp software(Stage stage, int64_t steps, double seconds) {
  CostOp line;
  line.stage = stage;
  line.op.name = "software";
  line.op.kind = OpKind::elementwise;
  line.count = steps;
  line.seconds = seconds;
  line.bound = "software";
  return line;
}

// Adds the ops of `times` equal passes to the lines that those before left, in their order; their
// seconds.
double add_passes(const StepCost& cost, std::span<const Op> ops, int64_t times,
                  std::vector<CostOp>& lines) {
  const double stretch = cost.stretch(ops);
  const auto known = static_cast<std::ptrdiff_t>(lines.size());
  std::ptrdiff_t next = 0;
  double kernels = 0.0;
  for (const Op& op : ops) {
    const auto same = [&](const CostOp& line) {
      return line.op.name == op.name && line.op.kind == op.kind && line.op.count == op.count &&
             line.op.n == op.n && line.op.k == op.k;
    };
    auto line = std::find_if(lines.begin() + next, lines.begin() + known, same);
    if (line != lines.begin() + known) {
      next = line - lines.begin() + 1;
    } else {
      lines.push_back({Stage::prefill, op, 0, 0, 0, 0.0,
                       cost.timing().law(op, cost.deployment().gpus()).bound(op)});
      line = lines.end() - 1;
    }
    const double seconds = static_cast<double>(times) * cost.op_seconds(op) * stretch;
    const int128 launches = int128{op.count} * times;
    line->count = total_of(line->count + launches);
    line->flops = total_of(line->flops + launches * op.flops);
    line->bytes = total_of(line->bytes + launches * op.bytes());
    line->seconds += seconds;
    kernels += seconds;
  }
  return kernels;
}

}  // namespace

std::vector<CostOp> cost_ops(const StepCost& cost, const CostRequest& request) {
  std::vector<CostOp> lines;
  std::vector<Op> ops;
  double kernels = 0.0;
  double prefill_s = 0.0;
  int64_t passes = 0;
  for_each_prefill_step(
      cost, request.batch, request.input,
      [&](const Deployment& to, std::span<const PrefillChunk> pass, int64_t times) {
        ops.clear();
        append_ops(cost.model(), to, pass, DecodeLoad{}, ops);
        kernels += add_passes(cost, ops, times, lines);
        prefill_s += static_cast<double>(times) * cost.seconds(to, pass, DecodeLoad{});
        passes += times;
      });
  if (prefill_s > kernels) lines.push_back(software(Stage::prefill, passes, prefill_s - kernels));

  // Decode ops keep their order from one stretch (between windows filling) to the next.
  const size_t first = lines.size();
  int64_t n = request.input + 1;
  int64_t left = std::max<int64_t>(request.output - 1, 0);
  const int64_t steps = left;
  kernels = 0.0;
  while (left > 0) {
    const DecodeLoad load = uniform_decode(cost.model(), request.batch, n);
    const int64_t run = std::min(left, load.steady_steps);
    ops.clear();
    append_ops(cost.model(), cost.deployment(), {}, load, ops);
    if (lines.size() == first) {
      for (const Op& op : ops) {
        lines.push_back({Stage::decode, op, 0, 0, 0, 0.0,
                         cost.timing().law(op, cost.deployment().gpus()).bound(op)});
      }
    }
    for (size_t i = 0; i < ops.size(); ++i) {
      const Op& op = ops[i];
      CostOp& line = lines[first + i];
      line.count += op.count * run;
      line.flops = total_of(line.flops + op.count * series(op.flops, op.flops_growth, run));
      line.bytes = total_of(line.bytes + op.count * series(op.bytes(), op.bytes_growth, run));
      const double seconds = cost.op_sum_seconds(op, run);
      line.seconds += seconds;
      kernels += seconds;
    }
    n += run;
    left -= run;
  }
  const double idle =
      cost.uniform_decode_seconds(request.batch, request.input + 1, steps) - kernels;
  constexpr double rounding = 1e-9;  // of sums taken in another order
  if (idle > rounding * kernels) lines.push_back(software(Stage::decode, steps, idle));
  return lines;
}

}  // namespace orthros
