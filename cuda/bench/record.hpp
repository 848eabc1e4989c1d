// What `orthros-cuda bench` found, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cuda/bench/attention_difference.hpp"
#include "cuda/bench/ceilings.hpp"
#include "cuda/bench/measure.hpp"
#include "cuda/bench/order.hpp"
#include "cuda/bench/timing.hpp"
#include "cuda/cli/device_info.hpp"

namespace orthros::cuda {

struct BenchOptions {
  Load load;
  KvFormat kv = KvFormat::bf16;
  int repeats = 3;
  bool ceilings = false;
  bool ops = false;
  bool order = false;
};

// Ceilings, and what the load would take at them.
struct Floors {
  double copy_bytes_per_second = 0.0;
  std::vector<GemmCeiling> gemms;
  double prefill_gemms_s = 0.0;  // the prompt's linear layers alone
  double decode_bytes = 0.0;     // of the mean step
  double decode_step_s = 0.0;    // those at the copy's rate
};
Floors measure_floors(const DeviceModel& model, const Load& load, KvFormat kv);

struct BenchResult {
  std::string model;
  std::string arch;
  Load load;
  KvFormat kv = KvFormat::bf16;
  int64_t gpus = 1;
  Measured measured;
  int64_t weight_bytes = 0;
  int64_t engine_bytes = 0;
  Clocks clocks;                        // right behind the last run
  double compiling_s = 0.0;             // by the rank whose attention compiled longest, in all runs
  std::string attention = "one order";  // of prompts without a window
  std::optional<AttentionDifference> difference;
  std::optional<OpTimes> ops;
  std::optional<Floors> floors;
  std::vector<OrderCost> order;  // of a decode step's rows
  double order_saving_s = 0.0;   // of a decode step
};

// A figure beside what it is held against. `ratio` is measured / floor or floor / measured, as the
// name says; met where it is on the bound's right side.
struct Target {
  std::string name;
  std::string unit;  // of floor and measured
  double floor = 0.0;
  double measured = 0.0;
  double ratio = 0.0;
  double bound = 0.0;
  bool met = false;
  Clocks clocks;  // right behind what was measured
};

struct BenchRecord {
  DeviceInfo device;
  std::vector<std::string> flags;
  std::vector<BenchResult> results;
  std::vector<Target> targets;
};

// {gpu, driver, cuda, commit, flags, results: [..], targets: [..]}, clocks in each result and
// target.
void print_json(const BenchRecord& record);
void print_table(const BenchRecord& record);

}  // namespace orthros::cuda
