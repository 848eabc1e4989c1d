// Reads the options and makes the engine.
#include "cuda/cli/device_runner.hpp"

#include <fmt/format.h>

#include <mutex>

#include "cuda/cli/device_input.hpp"
#include "cuda/engine/engine.hpp"
#include "cuda/engine/kv_calibration.hpp"
#include "cuda/group/sharded_engine.hpp"
#include "cuda/group/world.hpp"
#include "reference/cli_support/options.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {

void add_gpu_options(cli::po::options_description& options) {
  const auto text = [](const char* name) {
    return cli::po::value<std::string>()->value_name(name);
  };
  options.add_options()("gpus", text("N")->default_value("1"),
                        "shard the sequences over N ranks, one a GPU; where there are fewer GPUs, "
                        "several ranks on each")(
      "transport", text("T"),
      "between ranks: nccl, or host (threads that copy from each other's memory); default: nccl "
      "where it is there and each rank has its GPU")(
      "timeout", text("S")->default_value("600"),
      "seconds that a call may take on several GPUs before a rank counts as failed");
}

GpuRequest read_gpu_request(const cli::po::variables_map& given) {
  GpuRequest request;
  request.ranks = cli::size_option(given, "gpus", 1);
  if (world().size > 1 && request.ranks != world().size) {
    throw InputError("--gpus", "",
                     fmt::format("expected {}, as many as mpirun started processes, got {}",
                                 world().size, request.ranks));
  }
  constexpr int64_t most = 64;
  if (request.ranks > most) {
    throw InputError("--gpus", "", fmt::format("expected 1 to {}, got {}", most, request.ranks));
  }
  int there = 0;
  ORTHROS_CUDA(cudaGetDeviceCount(&there));
  request.group.devices = devices_for(request.ranks);
  request.group.patience_ms = 1000 * cli::size_option(given, "timeout", 1);
  const bool own_gpus = world().size > 1 || request.ranks <= there;
  request.group.transport = own_gpus && has_nccl() ? Transport::nccl : Transport::host;
  if (const auto name = cli::optional_text(given, "transport")) {
    const bool nccl = cli::choice_option(given, "transport", {"nccl", "host"}) == "nccl";
    request.group.transport = nccl ? Transport::nccl : Transport::host;
    if (!nccl && world().size > 1) {
      throw InputError("--transport", "", "expected nccl between processes");
    }
    if (nccl && !own_gpus) {
      throw InputError("--transport", "",
                       fmt::format("expected host for {} ranks on {} GPUs: NCCL wants a GPU a rank",
                                   request.ranks, there));
    }
  }
  return request;
}

DeviceRunner::DeviceRunner(const cli::ModelInput& input, const EngineLimits& limits,
                           const GpuRequest& gpus, const PromptAttentionMaker& make_attention,
                           std::span<const int64_t> calibration) {
  const bool e4m3 = limits.kv == KvFormat::e4m3;
  if (e4m3 && make_attention) throw InputError("--kv", "", "expected bf16 beside cudnn");
  EngineLimits own = limits;
  if (gpus.ranks == 1) {
    model_ = std::make_unique<DeviceModel>(load_on_device(input));
    if (!calibration.empty()) own.kv_scales = calibrated_scales(*model_, calibration);
    auto engine = std::make_unique<Engine>(*model_, own);
    if (make_attention) attention_ = make_attention();
    engine->attend_prompts_by(attention_.get());
    runner_ = std::move(engine);
    return;
  }
  spreading_of(input.spec);  // what cannot run ends here
  if (!calibration.empty()) {
    own.kv_scales = calibrated_scales(load_on_device(input), calibration);
  }
  std::mutex reading;  // a checkpoint's files serve one reader at a time
  const ModelMaker make_model = [&] {
    if (input.seed) return load_on_device(input);
    const std::lock_guard lock(reading);
    return load_on_device(input);
  };
  auto engine =
      std::make_unique<ShardedEngine>(input.spec, make_model, own, gpus.group, make_attention);
  group_weight_bytes_ = engine->weight_bytes();
  runner_ = std::move(engine);
}

int64_t DeviceRunner::weight_bytes() const {
  return model_ ? model_->bytes() : group_weight_bytes_;
}

}  // namespace orthros::cuda
