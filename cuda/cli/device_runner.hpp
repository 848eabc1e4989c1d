// The options that say on how many GPUs a model runs, and what runs it.
#pragma once

#include <memory>
#include <span>

#include "cuda/engine/prompt_attention.hpp"
#include "cuda/engine/runner.hpp"
#include "cuda/group/group.hpp"
#include "reference/cli/model_options.hpp"

namespace orthros::cuda {

// --gpus, --transport, --timeout.
void add_gpu_options(cli::po::options_description& options);

struct GpuRequest {
  int64_t ranks = 1;
  GroupOptions group;  // of more than one rank
};
// InputError for values that make no sense here. Call it behind require_device.
GpuRequest read_gpu_request(const cli::po::variables_map& given);

// A model's weights where it runs, and the engine, or engines, over them.
class DeviceRunner {
 public:
  // `make_attention`, unless empty: see Engine::attend_prompts_by; of models with one stream, over
  // bf16 caches. calibration: token ids that set the scales of e4m3 caches; without them all are 1.
  // Throws InputError.
  DeviceRunner(const cli::ModelInput& input, const EngineLimits& limits, const GpuRequest& gpus,
               const PromptAttentionMaker& make_attention = {},
               std::span<const int64_t> calibration = {});

  Runner& operator*() const { return *runner_; }
  Runner* operator->() const { return runner_.get(); }
  int64_t weight_bytes() const;  // of all devices

 private:
  std::unique_ptr<DeviceModel> model_;  // of one GPU
  std::unique_ptr<PromptAttention> attention_;
  std::unique_ptr<Runner> runner_;
  int64_t group_weight_bytes_ = 0;  // of several GPUs
};

}  // namespace orthros::cuda
