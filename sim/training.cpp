// Training counts over the forward's closed form.
#include "sim/training.hpp"

namespace orthros {

int128 pretrain_forward_macs(const CountModel& model, int64_t length, RecurrentForm form) {
  return forward_macs(model, 0, length, OutputSet{length, causal_pairs(0, length, no_window)},
                      form);
}

int128 finetune_forward_macs(const CountModel& model, int64_t prompt, int64_t answer,
                             RecurrentForm form) {
  // Positions prompt .. prompt + answer.
  const int128 positions = causal_pairs(prompt - 1, answer + 1, no_window);
  return forward_macs(model, 0, prompt + answer, OutputSet{answer + 1, positions}, form);
}

double pretrain_flops_per_token(const CountModel& model, int64_t length) {
  return 2.0 * static_cast<double>(training_passes) *
         static_cast<double>(pretrain_forward_macs(model, length)) / static_cast<double>(length);
}

}  // namespace orthros
