// cost --mode pretrain|finetune|rl: FLOPs of training and rollouts instead of serving.
#pragma once

#include "sim/cli/scenario_options.hpp"

namespace orthros::cli {

// Reads the model, --input, --output (not for pretrain) and --batch, and prints per architecture
// {forward, training, rollout, total} FLOPs of the whole batch.
int run_training_mode(const po::variables_map& given, const std::string& mode);

}  // namespace orthros::cli
