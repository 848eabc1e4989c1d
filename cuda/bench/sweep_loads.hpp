// The list of loads of a sweep, as scenarios/measured/ holds it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace orthros::cuda {

// One batch of prompts and what is asked of it.
struct SweepLoad {
  int64_t batch = 1;
  int64_t input = 0;             // tokens of each sequence
  std::vector<int64_t> outputs;  // lengths of answers, each timed as a whole run
  std::vector<int64_t> sampled;  // lengths of answers whose steps are timed at three lengths only
  bool prefills = true;          // else the prompt is not timed: random cache entries
  bool ops = false;              // each op is timed too
  std::string use;               // "fit" or "held_out"
};

// Loads that share one engine.
struct SweepEngine {
  std::string arch;
  int64_t sequences = 1;
  int64_t context = 0;
  std::vector<SweepLoad> loads;
};

struct Sweep {
  std::string source;  // the file
  int64_t chunk = 0;   // rows of a pass
  std::vector<SweepEngine> engines;
};

// By name among scenarios/measured/ or by path. Throws InputError naming file and field, also where
// a load does not fit its engine.
Sweep load_sweep(const std::string& name_or_path);

}  // namespace orthros::cuda
