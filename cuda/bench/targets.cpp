// Runs the table of targets.
#include "cuda/bench/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cuda/bench/kernel_targets.hpp"
#include "cuda/bench/order.hpp"
#include "cuda/cli/device_input.hpp"
#include "cuda/cudnn/cudnn_attention.hpp"
#include "reference/cli/model_options.hpp"
#include "reference/spec/architecture.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/spec/scenario_files.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t chunk = 8192;
constexpr int64_t long_prompt = 131072;

// Seconds that compiled PyTorch took, from scenarios/measured.
class Peer {
 public:
  Peer() : path_(scenario_path("measured", "pytorch-h200")) {
    std::ifstream file(path_);
    runs_ = nlohmann::json::parse(file).at("runs");
  }
  double seconds(const char* arch, int64_t batch, int64_t tokens, const char* field) const {
    for (const auto& run : runs_) {
      if (run.at("arch") == arch && run.at("batch") == batch && run.at("tokens") == tokens &&
          run.contains(field)) {
        return run.at(field).get<double>();
      }
    }
    throw InputError(path_.string(), field,
                     fmt::format("expected a run of {}, batch {}, {} tokens", arch, batch, tokens));
  }

 private:
  std::filesystem::path path_;
  nlohmann::json runs_;
};

EngineLimits limits_for(int64_t batch, int64_t context) {
  EngineLimits limits;
  limits.sequences = batch;
  limits.context = context;
  limits.chunk = chunk;
  limits.outputs = batch;
  return limits;
}

Load prompt_of(int64_t batch, int64_t input, int64_t output) {
  Load load;
  load.batch = batch;
  load.input = input;
  load.output = output;
  load.chunk = chunk;
  return load;
}

// A decode step at `keys` keys for each batch, on one engine.
std::vector<Timed> time_steps(const DeviceModel& model, const std::vector<int64_t>& batches,
                              int64_t keys) {
  constexpr int64_t steps = 16;
  Engine engine(model, limits_for(*std::max_element(batches.begin(), batches.end()), keys));
  std::vector<Timed> times;
  for (const int64_t batch : batches) {
    times.push_back(just_timed(decode_step_seconds(engine, batch, keys, steps)));
  }
  return times;
}

void add_prefill(const DeviceModel& model, std::vector<Target>& targets) {
  const Peer peer;
  const auto gemms = gemm_ceilings(model, chunk, nullptr);
  double per_token = 0.0;
  for (const int64_t input : {int64_t{32768}, long_prompt}) {
    Timed time;
    {
      Engine engine(model, limits_for(1, input));
      time = just_timed(measure(engine, prompt_of(1, input, 1), 3).ttft);
    }
    per_token = time.seconds / static_cast<double>(input);
    const std::string name = fmt::format("prefill of {}", input);
    targets.push_back(excess_target(name + " over its linear layers alone",
                                    gemm_floor_seconds(model, gemms, input), time, 1.10));
    targets.push_back(share_target("compiled PyTorch's Orthros over " + name,
                                   peer.seconds("orthros", 1, input, "prefill_s"), time, 1.17));
    targets.push_back(share_target("compiled PyTorch's Transformer over " + name,
                                   peer.seconds("transformer", 1, input, "prefill_s"), time,
                                   input == long_prompt ? 4.5 : 1.95));
  }
  {
    Engine engine(model, limits_for(2, long_prompt + 128));
    const Measured whole = measure(engine, prompt_of(2, long_prompt, 128), 1);
    targets.push_back(excess_target("end to end, 2 x (131072 in, 128 out), over 7.1 s", 7.1,
                                    just_timed(whole.end_to_end), 1.0));
  }
  constexpr int64_t longest = 850000;
  Engine engine(model, limits_for(1, longest));
  const double seconds =
      measure(engine, prompt_of(1, longest, 1), 1).ttft / static_cast<double>(longest);
  targets.push_back(excess_target("prefill of 850000, a token over one of 131072's", per_token,
                                  just_timed(seconds), 1.05));
}

// The Transformer's prefill through cuDNN, beside that of compiled PyTorch, which uses it too.
void add_transformer_prefill(const DeviceModel& transformer, std::vector<Target>& targets) {
  std::optional<CudnnAttention> attention;
  try {
    attention.emplace();
  } catch (const InputError& error) {
    fmt::print(stderr, "{}; the Transformer's prefill is left out\n", error.what());
    return;
  }
  constexpr double honest = 1.05;
  const Peer peer;
  for (const int64_t input : {int64_t{8192}, int64_t{32768}}) {  // 128K takes 45 s: --attention
    Engine engine(transformer, limits_for(1, input));
    engine.attend_prompts_by(&*attention);
    targets.push_back(excess_target(
        fmt::format("Transformer's prefill of {}, cuDNN, over compiled PyTorch's", input),
        peer.seconds("transformer", 1, input, "prefill_s"),
        just_timed(measure(engine, prompt_of(1, input, 1), 3).ttft), honest));
  }
}

// Decode steps of both models, beside their bytes, each other (where doubled rows are free) and
// products in any order.
void add_steps(const DeviceModel& model, const DeviceModel& transformer, double copy,
               std::vector<Target>& targets) {
  struct Bound {
    int64_t batch;
    int64_t keys;
    double share;  // of the bytes' floor
  };
  constexpr Bound bounds[] = {{2, long_prompt, 0.95}, {1, 8192, 0.85}, {16, 8192, 0.88}};
  constexpr double free_rows = 1.03;
  constexpr double one_order = 1.03;
  const Peer peer;
  const auto add = [&](const std::vector<int64_t>& batches, int64_t keys) {
    const std::vector<Timed> both = time_steps(model, batches, keys);
    const std::vector<Timed> single = time_steps(transformer, batches, keys);
    for (size_t i = 0; i < batches.size(); ++i) {
      const int64_t batch = batches[i];
      const std::string name = fmt::format("decode step, batch {}, {} keys", batch, keys);
      for (const Bound& bound : bounds) {
        if (bound.batch != batch || bound.keys != keys) continue;
        const double bytes = decode_bytes(model.spec, batch, static_cast<double>(keys));
        targets.push_back(
            share_target(name + ", of its bytes", bytes / copy, both[i], bound.share));
        targets.push_back(share_target("compiled PyTorch's Orthros over " + name,
                                       peer.seconds("orthros", batch, keys, "decode_step_s"),
                                       both[i], 1.0));
      }
      targets.push_back(
          excess_target(name + ", over the Transformer's", single[i].seconds, both[i], free_rows));
      const double saving = order_saving(model, order_costs(model, 2 * batch));
      targets.push_back(excess_target(name + ", over one with its products in any order",
                                      both[i].seconds - saving, both[i], one_order));
    }
  };
  add({2}, long_prompt);
  add({1, 2, 4, 8, 16, 32}, 8192);
}

}  // namespace

std::vector<Target> measure_targets(const cli::po::variables_map& given) {
  const cli::ModelInput input = cli::open_model(given);
  if (!input.seed) throw InputError("--targets", "", "expected --random beside it");
  const double copy = copy_bytes_per_second(nullptr);
  std::vector<Target> targets;
  const DeviceModel model(orthros(input.spec, default_window, ScaleOffset::after_qk_norm),
                          *input.seed);
  for (Target& target : kernel_targets(model, copy)) targets.push_back(std::move(target));
  {
    const DeviceModel plain(transformer(input.spec), *input.seed);
    add_steps(model, plain, copy, targets);
    add_transformer_prefill(plain, targets);
  }
  add_prefill(model, targets);
  return targets;
}

}  // namespace orthros::cuda
