// Enumerates plans.
#include "sim/plan.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace orthros {

std::vector<Plan> plans_for(const std::string& arch, const CountModel& model,
                            const Profile& profile, const Hardware& hardware,
                            const Traffic& traffic, const PlanTargets& targets) {
  std::vector<Plan> plans;
  const int64_t steps = std::max<int64_t>(traffic.output - 1, 0);
  const int64_t reach = traffic.input + steps;
  constexpr int64_t largest_tensor_group = 8;
  constexpr int64_t most_batch = 1024;
  for (int64_t tp = 1; tp <= std::min(largest_tensor_group, hardware.largest_group); tp *= 2) {
    Deployment to;
    to.tensor_parallel = tp;
    const StepCost cost(model, to, profile, hardware);
    const PrefillChunk prompt{1, 0, traffic.input, true};
    const double prefill = cost.seconds({&prompt, 1}, {});
    const int64_t reserved = activation_bytes(model, to, traffic.input, 1);
    const int64_t room =
        std::min(most_batch, largest_batch(model, to, reach, hardware.memory_bytes, reserved));
    for (int64_t batch = 1; batch <= room; batch *= 2) {
      Plan plan;
      plan.arch = arch;
      plan.hardware = hardware.name;
      plan.tensor_parallel = tp;
      plan.batch = batch;
      const int64_t middle = traffic.input + std::max<int64_t>(traffic.output / 2, 1);
      const double step = cost.decode_seconds(uniform_decode(model, batch, middle), 1);
      const auto b = static_cast<double>(batch);
      const auto decode_steps = static_cast<double>(steps);
      plan.ttft_s = prefill + (batch > 1 ? step : 0.0);
      plan.tpot_s = steps > 0 ? step + (b - 1.0) * prefill / decode_steps : 0.0;
      plan.requests_per_s = b / (b * prefill + decode_steps * step);
      plan.replicas = static_cast<int64_t>(
          std::ceil(traffic.requests_per_s / (targets.utilisation * plan.requests_per_s)));
      plan.gpus = plan.replicas * tp;
      plan.dollars_per_hour = static_cast<double>(plan.gpus) * hardware.dollars_per_hour;
      plan.meets = plan.ttft_s <= targets.ttft_s && plan.tpot_s <= targets.tpot_s;
      plans.push_back(plan);
    }
  }
  return plans;
}

void rank_plans(std::vector<Plan>& plans) {
  const auto key = [](const Plan& p) { return std::tie(p.dollars_per_hour, p.tpot_s, p.ttft_s); };
  std::sort(plans.begin(), plans.end(),
            [&](const Plan& a, const Plan& b) { return key(a) < key(b); });
  for (size_t i = 0; i < plans.size(); ++i) {
    plans[i].pareto = true;
    for (size_t j = 0; j < i && plans[i].pareto; ++j) {  // earlier ones cost no more
      const bool as_good = plans[j].tpot_s <= plans[i].tpot_s && plans[j].ttft_s <= plans[i].ttft_s;
      if (as_good && key(plans[j]) != key(plans[i])) plans[i].pareto = false;
    }
  }
}

}  // namespace orthros
