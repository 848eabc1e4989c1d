// Counts training and rollouts for `cost --mode`.
#include "sim/cli/training_mode.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reference/spec/config.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/cost.hpp"
#include "sim/training.hpp"

namespace orthros::cli {

int run_training_mode(const po::variables_map& given, const std::string& mode) {
  const Format format = format_of(given);
  const bool pretrain = mode == "pretrain";
  const CostRequest request{size_option(given, "input", 1),
                            pretrain ? 0 : size_option(given, "output", 0),
                            size_option(given, "batch", 1)};
  check_request(request);
  const ModelSpec spec = load_model_spec(text_option(given, "model"));
  const std::string model = model_name(given, spec);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  TextTable table({"arch", "forward_flops", "training_flops", "rollout_flops", "total_flops"});
  for (const ArchitectureModel& a : architectures_of(given, spec)) {
    const CountModel counts = count_model(a.spec);
    const int128 macs = pretrain ? pretrain_forward_macs(counts, request.input)
                                 : finetune_forward_macs(counts, request.input, request.output);
    const int64_t forward = flops_from_macs(macs, request.batch, "flops.forward");
    const int64_t training = checked_product(training_passes, forward, "flops.training");
    const int64_t rollout = mode == "rl" ? cost_flops(counts, request).total : 0;
    const int64_t total = checked_sum(training, rollout, "flops.total");
    list.push_back(
        {{"model", model},
         {"arch", a.name},
         {"mode", mode},
         {"input", request.input},
         {"output", request.output},
         {"batch", request.batch},
         {"flops",
          {{"forward", forward}, {"training", training}, {"rollout", rollout}, {"total", total}}}});
    table.add({a.name, std::to_string(forward), std::to_string(training), std::to_string(rollout),
               std::to_string(total)});
  }
  if (format == Format::json) {
    fmt::print("{}\n", list.dump(2));
  } else if (format == Format::csv) {
    fmt::print("{}", table.csv());
  } else {
    fmt::print("{}, {}: input {}, output {}, batch {}\n\n{}", model, mode, request.input,
               request.output, request.batch, table.text());
  }
  return 0;
}

}  // namespace orthros::cli
