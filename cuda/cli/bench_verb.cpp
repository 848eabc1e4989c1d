// orthros-cuda bench: what prompts and answers take on this device.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cuda/bench/ceilings.hpp"
#include "cuda/bench/measure.hpp"
#include "cuda/bench/record.hpp"
#include "cuda/bench/sweep.hpp"
#include "cuda/bench/targets.hpp"
#include "cuda/cli/device_info.hpp"
#include "cuda/cli/device_input.hpp"
#include "cuda/cli/device_runner.hpp"
#include "cuda/cli/kv_options.hpp"
#include "cuda/cli/verbs.hpp"
#include "cuda/cudnn/cudnn_attention.hpp"
#include "cuda/layout/sizes.hpp"
#include "reference/cli/model_options.hpp"
#include "reference/spec/architecture.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

using cli::po::value;

constexpr const char* usage =
    "orthros-cuda bench (--model DIR | --random SPEC --seed N) [--arch LIST] [options]";

constexpr const char* notes = R"(examples
  orthros-cuda bench --random qwen3-8b --arch orthros --input 32K --output 128
  orthros-cuda bench --random qwen3-8b --arch transformer,orthros --input 8K --output 64 --batch 16
  orthros-cuda bench --random qwen3-8b --input 128K --output 128 --batch 2 --ceilings --ops --json
  orthros-cuda bench --random qwen3-8b --targets --json
  orthros-cuda bench --random qwen3-8b --sweep h200-loads --out scenarios/measured/h200
  orthros-cuda bench --random qwen3-8b --arch orthros --input 256K --output 16 --gpus 2 --ops

Prompts are random tokens. Times are medians of CUDA events after a warm-up.
--ceilings: beside them, in the same process, the bandwidth of a large copy and each linear layer of
  a pass alone for a second, and how near the prefill and the decode step come to these.
--order: each linear layer of a decode step beside the fastest of cuBLASLt's, free to split k and to
  add up in any order, and what the step would save.
--ops: each op's time, launched one by one, by the simulator's names; gate_up_proj has SwiGLU in it.
  With --repeats 1 they are those of the one run that is timed: for prompts that take minutes.
--sweep: every load of a list in scenarios/measured/, in one process; writes OUT-runs.csv,
  OUT-ops.csv and OUT-sweep.json (cuda/bench/sweep.hpp), which 'orthros-sim fit --runs' reads.
--gpus N: --ops shows rank 0's, exchanges between the ranks among them.
--attention cudnn: a Transformer's prompts attend through cuDNN 9, where it is installed: a baseline
  of time, whose outputs are not the engine's bits; how far from them is printed. The first of the
  repeats compiles its kernels.
--targets: single kernels and whole runs beside the bounds that the project sets itself.
)";

std::vector<std::string> architectures(const cli::po::variables_map& given) {
  const auto list = cli::optional_text(given, "arch");
  return list ? cli::split_list("--arch", *list) : std::vector<std::string>{};
}

// The options with one architecture of the list in place of it.
cli::po::variables_map with_architecture(cli::po::variables_map given, const std::string& arch) {
  if (!arch.empty()) given.at("arch").value() = arch;
  return given;
}

// Only full attention has another way: a window's is not offered.
void require_full_attention(const cli::ModelInput& input) {
  for (const Layer& layer : input.spec.layers) {
    const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer);
    if (softmax != nullptr && !softmax->window) continue;
    throw InputError(
        "--attention", "",
        fmt::format("expected an architecture of full attention beside cudnn, got {}", input.arch));
  }
}

// `attention`: null for the engine's own.
BenchResult bench_architecture(const cli::po::variables_map& given, const BenchOptions& options,
                               const GpuRequest& gpus, CudnnAttention* attention) {
  const cli::ModelInput input = cli::open_model(given);
  if (attention != nullptr) require_full_attention(input);
  const Load& load = options.load;
  EngineLimits limits;
  limits.sequences = load.batch;
  limits.context = load.input + load.output;
  limits.chunk = load.chunk;
  limits.outputs = load.batch;
  limits.kv = options.kv;
  BenchResult result;
  result.model = input.name;
  result.arch = input.arch;
  result.load = load;
  result.kv = limits.kv;
  result.gpus = gpus.ranks;
  {
    std::vector<const CudnnAttention*> made;  // by rank; they live as long as the engine
    const PromptAttentionMaker make_attention = [&] {
      auto own = std::make_unique<CudnnAttention>();
      made.push_back(own.get());
      return own;
    };
    const DeviceRunner engine(input, limits, gpus,
                              attention == nullptr ? PromptAttentionMaker{} : make_attention);
    const bool at_once = options.ops && options.repeats == 1 && load.prefills;
    if (!at_once) result.measured = measure(*engine, load, options.repeats);
    if (options.ops) result.ops = time_ops(*engine, load, at_once ? &result.measured : nullptr);
    for (const CudnnAttention* rank : made) {
      result.compiling_s = std::max(result.compiling_s, rank->compiling_seconds());
    }
    result.engine_bytes = engine->bytes();
    result.weight_bytes = engine.weight_bytes();
  }
  result.clocks = read_clocks();
  if (attention != nullptr) {
    result.attention = "cuDNN " + attention->version();
    if (range_attention_fits(attention_shape(input.spec))) {
      result.difference =
          compare_attention(input.spec, *attention, std::min(load.chunk, load.input), load.input);
    }
  }
  if (options.order) {
    const DeviceModel model = load_on_device(input);
    const int64_t streams = model.spec.streams == Streams::dual ? 2 : 1;
    result.order = order_costs(model, streams * load.batch);
    result.order_saving_s = order_saving(model, result.order);
  }
  if (options.ceilings) result.floors = measure_floors(load_on_device(input), load, limits.kv);
  return result;
}

}  // namespace

int run_bench(const cli::Arguments& arguments) {
  cli::po::options_description options("options");
  cli::add_model_options(options);
  const auto text = [](const char* name) { return value<std::string>()->value_name(name); };
  options.add_options()("input", text("N")->default_value("8K"), "tokens of each prompt")(
      "output", text("N")->default_value("32"), "tokens of each answer")(
      "batch", text("N")->default_value("1"), "sequences")("chunk", text("N")->default_value("8K"),
                                                           "tokens of all sequences in one pass")(
      "repeats", text("N")->default_value("3"), "runs, of which the median counts")(
      "attention", text("A")->default_value("engine"),
      "of a Transformer's prompts: engine or cudnn")(
      "no-prefill", "start the answer over a cache of random entries")(
      "ceilings", "measure ceilings in the same process")("ops", "time each op")(
      "order", "what one order of summation costs a decode step")(
      "targets", "the table of targets")("sweep", text("LOADS"), "run a list of loads")(
      "out", text("PREFIX"), "where a sweep's files go")("json", "print JSON");
  add_kv_options(options, false);
  add_gpu_options(options);
  const auto given = cli::parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  BenchOptions bench;
  bench.load.input = cli::size_option(*given, "input", 1);
  bench.load.output = cli::size_option(*given, "output", 1);
  bench.load.batch = cli::size_option(*given, "batch", 1);
  bench.load.chunk = cli::size_option(*given, "chunk", 1);
  bench.load.prefills = !cli::has_option(*given, "no-prefill");
  bench.repeats = static_cast<int>(std::min<int64_t>(cli::size_option(*given, "repeats", 1), 1000));
  bench.kv = kv_format(*given);
  bench.ceilings = cli::has_option(*given, "ceilings");
  bench.ops = cli::has_option(*given, "ops");
  const bool cudnn = cli::choice_option(*given, "attention", {"engine", "cudnn"}) == "cudnn";
  bench.order = cli::has_option(*given, "order");
  const bool json = cli::has_option(*given, "json");
  for (const char* other : {"sweep", "targets"}) {
    if (given->count(other) > 0 && bench.kv != KvFormat::bf16) {
      throw InputError("--kv", "", fmt::format("expected bf16 beside --{}", other));
    }
  }
  if (const auto loads = cli::optional_text(*given, "sweep")) {
    const Sweep sweep = load_sweep(*loads);
    const std::string out = cli::text_option(*given, "out");
    run_sweep(*given, sweep, require_device(), arguments, out);
    return 0;
  }
  const DeviceInfo device = require_device();
  const GpuRequest gpus = read_gpu_request(*given);
  BenchRecord record{device, arguments, {}, {}};
  if (cli::has_option(*given, "targets")) {
    record.targets = measure_targets(*given);
  } else {
    std::optional<CudnnAttention> attention;
    if (cudnn) attention.emplace();
    std::vector<std::string> names = architectures(*given);
    if (names.empty()) names.emplace_back();
    for (const std::string& arch : names) {
      record.results.push_back(bench_architecture(with_architecture(*given, arch), bench, gpus,
                                                  attention ? &*attention : nullptr));
    }
  }
  if (json) {
    print_json(record);
  } else {
    print_table(record);
  }
  return 0;
}

}  // namespace orthros::cuda
