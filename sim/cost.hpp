// Cost of serving one batch: FLOPs, memory and latency of a prefill and its decode steps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/memory.hpp"
#include "sim/step_cost.hpp"

namespace orthros {

// `batch` sequences of `input` tokens that are prefilled together, then give `output` tokens each:
// one from the prefill, the others from output - 1 decode steps.
struct CostRequest {
  int64_t input = 0;
  int64_t output = 0;
  int64_t batch = 1;
};

// Exact FLOPs of the whole batch over all GPUs.
struct CostFlops {
  int64_t prefill = 0;
  int64_t decode = 0;
  int64_t total = 0;
};

// Seconds; what does not exist is absent.
struct CostLatency {
  double ttft_s = 0.0;                  // until the whole batch has its first token
  std::optional<double> decode_step_s;  // mean; absent below two output tokens
  std::optional<double> tpot_s;         // (end to end - TTFT) / (output - 1)
  double e2e_s = 0.0;
  std::optional<double> output_tokens_per_s;  // batch x output / end to end; absent at output 0
  std::optional<double> decode_tokens_per_s;  // batch / decode_step_s
};

struct CostPoint {
  CostFlops flops;
  Memory memory;
  bool fits = false;
  CostLatency latency;
};

// One line of the table of ops: an op over its whole stage, all layers and steps.
struct CostOp {
  Stage stage = Stage::prefill;
  Op op;              // of the stage's first step
  int64_t count = 0;  // launches
  int64_t flops = 0;  // of all launches on one GPU
  int64_t bytes = 0;
  double seconds = 0.0;
  const char* bound = "";
};

// Checks a request: input from 1, output from 0, batch from 1, lengths countable. Throws
// InputError.
void check_request(const CostRequest& request);

CostFlops cost_flops(const CountModel& model, const CostRequest& request,
                     RecurrentForm prefill_form = RecurrentForm::chunkwise,
                     int64_t chunk = default_chunk);

// A point: about a microsecond, no allocation. The request must have passed check_request.
CostPoint cost_point(const StepCost& cost, const Hardware& hardware, const CostRequest& request);

// Where the time goes; the software cost of steps is a line of its own.
std::vector<CostOp> cost_ops(const StepCost& cost, const CostRequest& request);

}  // namespace orthros
