// Plans: hardware, parallelism and batch for a traffic and its targets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cost.hpp"

namespace orthros {

struct Traffic {
  int64_t input = 0;
  int64_t output = 0;
  double requests_per_s = 1.0;
};

// What a plan must keep, in seconds.
struct PlanTargets {
  double ttft_s = 0.0;
  double tpot_s = 0.0;
  double utilisation = 0.8;  // of a replica's throughput that is planned to be used
};

struct Plan {
  std::string arch;
  std::string hardware;
  int64_t tensor_parallel = 1;
  int64_t batch = 1;  // sequences that decode together
  int64_t replicas = 1;
  int64_t gpus = 1;
  double ttft_s = 0.0;
  double tpot_s = 0.0;
  double requests_per_s = 0.0;  // of one replica, at most
  double dollars_per_hour = 0.0;
  bool meets = false;   // both targets
  bool pareto = false;  // no other plan is as good in cost, TTFT and TPOT and better in one
};

// Plans that fit in memory, for tensor groups of 1, 2, 4, 8 GPUs within the hardware's largest and
// batches of powers of two to 1024. Laws: a replica serves b sequences; each of them decodes
// output - 1 steps at input + output/2 keys and waits for the prefills of the other b - 1:
// TPOT = step + (b-1) T_prefill / (output - 1); TTFT = T_prefill + one step, without queueing, so
// trust it less as utilisation nears 1.
std::vector<Plan> plans_for(const std::string& arch, const CountModel& model,
                            const Profile& profile, const Hardware& hardware,
                            const Traffic& traffic, const PlanTargets& targets);

// Marks the Pareto front over all plans and orders by cost, then TPOT.
void rank_plans(std::vector<Plan>& plans);

}  // namespace orthros
