// orthros-cuda check: the engine against the reference.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "cuda/check/golden_cases.hpp"
#include "cuda/check/report.hpp"
#include "cuda/check/suite.hpp"
#include "cuda/cli/device_info.hpp"
#include "cuda/cli/device_runner.hpp"
#include "cuda/cli/kv_options.hpp"
#include "cuda/cli/verbs.hpp"
#include "cuda/group/world.hpp"
#include "reference/cli_support/options.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

namespace po = cli::po;

constexpr const char* usage = "orthros-cuda check [--suite quick|full] [options]";

constexpr const char* notes = R"(examples
  orthros-cuda check
  orthros-cuda check --suite full --json > check.json
  orthros-cuda check --only random-7 --seed 3
  orthros-cuda check --gpus 2

Runs models with the same weights on the device and in the reference. Every cache entry and logit must
have the bits of the reference's hopper scalar, and the same bits in every way that the engine can run
them; errors against double must be within twice the bf16 reference's own and rounding slack. quick
takes under a minute; full is far longer and wants 40 GB of device memory and 40 GB of the machine's.
--gpus N runs other cases: one GPU's caches and logits against those of N ranks, bit for bit; one GPU
is what the check without it holds against the reference. N may exceed the GPUs there are.
--fault, in a build with -DORTHROS_CUDA_FAULTS=ON, runs the engine with a fault, which the check must
find: window_off_by_one, copy_writes_cache, index_as_position, dropped_split, stale_graph_length, and
with --kv fp8 neighbour_scale.
--kv fp8 checks the same over caches of e4m3 entries, the reference rounding likewise, and states how
far the logits are from those over bf16 caches in place of the errors against double.
Exit status: 0 all holds, 1 something differs (the first element is named by case, layer, stream,
position and head), 2 bad input or no device.
--json: {suite, gpu, driver, cuda, commit, seed, only, fault, kv, compared, equal, failed,
first_difference, failures, promises: [{name, compared, equal}], cases: [{name, what, compared, equal,
failed, seconds}], errors: [{case, part, max, mean, holds}], fp8_against_bf16: [{case, logits,
max, mean, max_logit, mean_logit}], left_out, seconds}.
)";

struct NamedFault {
  const char* name;
  EngineFault fault;
};
constexpr NamedFault faults[] = {
    {"window_off_by_one", EngineFault::window_off_by_one},
    {"copy_writes_cache", EngineFault::copy_writes_cache},
    {"index_as_position", EngineFault::index_as_position},
    {"dropped_split", EngineFault::dropped_split},
    {"stale_graph_length", EngineFault::stale_graph_length},
    {"neighbour_scale", EngineFault::neighbour_scale},
};

EngineFault fault_option(const po::variables_map& given) {
  if (!cli::has_option(given, "fault")) return EngineFault::none;
  std::vector<std::string> names;
  for (const NamedFault& each : faults) names.emplace_back(each.name);
  const std::string name = cli::choice_option(given, "fault", names);
#ifndef ORTHROS_CHECK_FAULTS
  throw InputError("--fault", "", "expected a build with -DORTHROS_CUDA_FAULTS=ON, this is none");
#endif
  for (const NamedFault& each : faults) {
    if (name == each.name) return each.fault;
  }
  return EngineFault::none;
}

CheckRequest read_request(const po::variables_map& given) {
  CheckRequest request;
  const bool full = cli::choice_option(given, "suite", {"quick", "full"}) == "full";
  request.suite = full ? Suite::full : Suite::quick;
  request.fault = fault_option(given);
  request.kv = kv_format(given);
  if (request.fault == EngineFault::neighbour_scale && request.kv != KvFormat::e4m3) {
    throw InputError("--fault", "", "expected --kv fp8 beside neighbour_scale");
  }
  request.only = cli::optional_text(given, "only").value_or("");
  const int64_t seed = cli::size_option(given, "seed");
  request.seed = static_cast<uint64_t>(seed);
  if (const auto folder = cli::optional_text(given, "goldens")) {
    request.goldens = *folder;
  } else {
    request.goldens = goldens_folder();
  }
  return request;
}

}  // namespace

int run_check(const cli::Arguments& arguments) {
  po::options_description options("options");
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  options.add_options()("suite", text("S")->default_value("quick"), "quick or full")(
      "seed", text("N")->default_value("1"), "of specs, weights and tokens")(
      "only", text("NAME"), "the case of this name, or those whose names begin so")(
      "goldens", text("DIR"), "golden checkpoints; default: the source tree's")(
      "fault", text("NAME"), "run the engine with a fault")("json", "print JSON");
  add_kv_options(options, false);
  add_gpu_options(options);
  const auto given = cli::parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  CheckRequest request = read_request(*given);
  const DeviceInfo device = require_device();
  const GpuRequest gpus = read_gpu_request(*given);
  if (gpus.ranks > 1) request.group = gpus.group;

  CheckSetting setting;
  setting.suite = cli::text_option(*given, "suite");
  setting.gpu = device.gpu;
  setting.driver = device.driver;
  setting.cuda = device.cuda;
  setting.commit = build_commit();
  setting.seed = request.seed;
  setting.kv = format_name(request.kv);
  setting.only = request.only;
  setting.gpus = gpus.ranks;
  if (gpus.ranks > 1) {
    setting.transport = gpus.group.transport == Transport::nccl ? "nccl" : "host";
  }
  setting.fault = cli::optional_text(*given, "fault").value_or("");
  const auto start = std::chrono::steady_clock::now();
  const Findings findings = run_suite(request);
  setting.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (cli::has_option(*given, "json")) {
    cli::print_json(check_json(setting, findings));
  } else {
    print_check(setting, findings);
  }
  std::fflush(stdout);
  char heard = 0;
  broadcast(&heard, sizeof heard);  // whoever fails takes all down: not before the first has spoken
  return passed(findings) ? 0 : 1;
}

}  // namespace orthros::cuda
