// Whole runs of this project's engine, and the ops in them, as `orthros-cuda bench --sweep` writes
// them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost.hpp"
#include "sim/csv.hpp"

namespace orthros {

// One load and length of answer; seconds.
struct MeasuredRun {
  std::string arch;
  CostRequest request;
  int64_t chunk = 0;      // rows of a pass
  bool held_out = false;  // else a profile may be fitted on it
  std::string method;     // run, sampled or decode: cuda/bench/sweep.hpp
  std::optional<double> ttft_s;
  std::optional<double> decode_step_s;
  std::optional<double> e2e_s;
};

// The ops of one load's prefill or of one decode step behind it, each launched alone.
struct MeasuredOps {
  std::string arch;
  CostRequest request;  // output 2
  bool held_out = false;
  Stage stage = Stage::prefill;
  struct Time {
    int64_t launches = 0;
    double seconds = 0.0;
  };
  // By op_group: what the engine runs together or names otherwise counts as one.
  std::map<std::string, Time> groups;
};

// The group of an op's name, empty for what is not compared: SwiGLU belongs to the elementwise ops
// here and to gate_up_proj there; attention's names differ in the last layer.
std::string op_group(std::string_view op);

// Columns as cuda/bench/sweep.hpp gives them. Malformed or non-positive cells, and lengths that
// cannot be counted, are an InputError.
std::vector<MeasuredRun> measured_runs(const CsvTable& table);
std::vector<MeasuredOps> measured_ops(const CsvTable& table);

// The model of a run as the engine executes it: the last layer's dead work left out.
CountModel run_model(const ModelSpec& spec, const std::string& arch);

}  // namespace orthros
