// FLOPs of training and of rollouts: what changes where every position predicts.
#pragma once

#include <cstdint>

#include "sim/counts.hpp"

namespace orthros {

// Training is 3 x forward: the backward pass takes two multiply-adds for each of the forward's.
constexpr int64_t training_passes = 3;

// MACs of a forward over `length` tokens that predicts at every position.
int128 pretrain_forward_macs(const CountModel& model, int64_t length,
                             RecurrentForm form = RecurrentForm::chunkwise);

// Over prompt and answer, predicting at the answer's positions alone: the prompt's last and every
// answer token, the end token with it (answer + 1 outputs).
int128 finetune_forward_macs(const CountModel& model, int64_t prompt, int64_t answer,
                             RecurrentForm form = RecurrentForm::chunkwise);

// FLOPs as floating-point numbers, for budgets past 64 bits.
double pretrain_flops_per_token(const CountModel& model, int64_t length);

}  // namespace orthros
