// Builds and runs cases for several GPUs.
#include "cuda/check/shard_cases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/check/kv_rounding_error.hpp"
#include "cuda/check/promises.hpp"
#include "cuda/group/rendezvous.hpp"
#include "cuda/group/world.hpp"
#include "cuda/support/cuda_error.hpp"
#include "reference/spec/architecture.hpp"

namespace orthros::cuda {
namespace {

struct ShardShape {
  std::string name;
  int64_t head_width;
  int64_t kv_heads;
  int64_t group;
  int64_t layers;
  int64_t window;
  std::vector<int64_t> prompts;
  int64_t steps;
  int64_t chunk;
  std::string architecture = "orthros";
};

CheckCase made(const ShardShape& shape, uint64_t seed) {
  SoftmaxAttention mixer;
  mixer.query_heads = shape.kv_heads * shape.group;
  mixer.kv_heads = shape.kv_heads;
  mixer.head_width = shape.head_width;
  mixer.qk_norm = true;
  mixer.rope = Rope{};
  mixer.rope->theta = 1e6;
  mixer.rope->width = shape.head_width;
  ModelSpec spec;
  spec.vocab = 307;
  spec.hidden = 64;
  spec.layers.assign(static_cast<size_t>(shape.layers), Layer{mixer, SwiGlu{96}});
  ArchitectureRequest request;
  request.name = shape.architecture;
  if (shape.window > 0) request.window = shape.window;
  CheckCase result;
  result.name = shape.name;
  result.spec = to_architecture(spec, request);
  result.seed = seed;
  for (const int64_t prompt : shape.prompts) {
    const auto sequence = static_cast<int64_t>(result.sequences.size());
    result.sequences.push_back(plan_sequence(result.spec, seed, sequence, prompt, shape.steps, 24));
  }
  if (shape.chunk > 0) result.chunks.push_back(shape.chunk);
  const auto longest = std::max_element(shape.prompts.begin(), shape.prompts.end());
  result.token_by_token = *longest + shape.steps <= 700;
  return result;
}

ShardShape random_shape(const Dealer& deal, const std::string& name) {
  ShardShape shape{name, 0, 0, 0, 0, 0, {}, 0, 0};
  shape.head_width = deal.of<int64_t>("head width", {64, 128, 256, 64, 128, 40});
  shape.kv_heads = deal.of<int64_t>("KV heads", {1, 2, 3});
  shape.group = deal.of<int64_t>("group", {1, 2, 3, 4, 5, 8, 16});
  shape.layers = deal.of<int64_t>("layers", {1, 2, 3, 4});
  shape.window = deal.of<int64_t>("window", {1, 2, 17, 64, 127, 128, 129, 500, 513, 1000});
  shape.prompts = deal.of<std::vector<int64_t>>(
      "prompts", {{1}, {511}, {512, 513}, {700, 3}, {1024}, {1500, 90}, {2047}, {2600}, {3073}});
  shape.steps = deal.of<int64_t>("steps", {2, 5, 40});
  shape.chunk = deal.of<int64_t>("chunk", {0, 100, 128, 500});
  shape.architecture = deal.of<std::string>(
      "architecture", {"orthros", "orthros", "orthros-noso", "transformer", "swa"});
  return shape;
}

// A group one of whose ranks throws must fail with that rank's words, and soon, and leave the
// devices well.
void rank_failure(const CheckCase& check_case, const ModelMaker& make_model,
                  const EngineLimits& limits, GroupOptions group, Findings& findings) {
  group.failing_rank = static_cast<int64_t>(group.devices.size()) - 1;
  group.patience_ms = 60'000;
  const std::string expected = fmt::format("rank {}: told to fail", group.failing_rank);
  std::string heard = "nothing";
  {
    ShardedEngine engine(check_case.spec, make_model, limits, group);
    EngineDriver driver(engine, check_case.sequences);
    try {
      driver.prefill(prompt_lengths(check_case.sequences));
    } catch (const GroupFailure& failure) {
      heard = failure.what();
    }
  }
  for (const int device : group.devices) {  // what still ran has done no harm
    ORTHROS_CUDA(cudaSetDevice(device));
    ORTHROS_CUDA(cudaDeviceSynchronize());
  }
  ORTHROS_CUDA(cudaSetDevice(group.devices.front()));
  Tally tally;
  tally.count(heard == expected, {});
  findings.add("a rank that fails ends the run everywhere", tally);
  if (heard != expected) {
    findings.add_failure(fmt::format("expected '{}', got '{}'", expected, heard));
  }
}

}  // namespace

std::vector<CheckCase> shard_cases(Suite suite, uint64_t seed) {
  std::vector<CheckCase> cases;
  const std::vector<ShardShape> shapes = {
      {"shards-inside-window", 128, 2, 4, 3, 100, {2100}, 3, 500},
      {"shards-ragged", 128, 2, 4, 3, 128, {4000, 700, 40}, 30, 128},
      {"shards-new-splits", 64, 2, 2, 2, 128, {1500, 300}, 1100, 0},
      {"shards-wide-window", 64, 1, 4, 3, 1000, {5000}, 600, 700},
      {"shards-short", 128, 1, 2, 3, 128, {1, 7, 130}, 5, 1},
      {"shards-width-256", 256, 1, 16, 2, 17, {1300}, 20, 256},
      {"shards-plain-width", 24, 2, 2, 2, 40, {1300}, 5, 100},
      {"shards-swa", 64, 2, 2, 3, 100, {1500, 40}, 20, 128, "swa"},
      {"shards-swa-new-splits", 128, 2, 4, 2, 128, {1000, 500}, 1100, 0, "swa"},
      {"rounds-transformer", 128, 2, 4, 2, 0, {2100, 700, 1}, 20, 300, "transformer"},
      {"rounds-new-splits", 128, 2, 4, 2, 0, {1500, 300}, 1100, 512, "transformer"},
      {"rounds-plain-width", 24, 2, 2, 2, 0, {1300}, 5, 100, "transformer"},
  };
  for (const ShardShape& shape : shapes) cases.push_back(made(shape, seed));
  const int64_t random = suite == Suite::quick ? 6 : 30;
  for (int64_t i = 0; i < random; ++i) {
    const std::string name = fmt::format("shards-random-{}", i);
    cases.push_back(
        made(random_shape(Dealer(seed, i), name), seed * 1000 + static_cast<uint64_t>(i)));
  }
  return cases;
}

void run_shard_case(const CheckCase& check_case, const GroupOptions& group, KvFormat kv,
                    Findings& findings) {
  const ModelMaker make_model = [&] { return DeviceModel(check_case.spec, check_case.seed); };
  ORTHROS_CUDA(cudaSetDevice(group.devices.front()));
  EngineLimits as_one = limits_of(check_case);
  RunRecord single;
  {
    const DeviceModel model = make_model();
    const auto run_alone = [&] {
      Engine engine(model, as_one);
      single = PromiseRun(check_case, engine, findings).main_run();
    };
    run_alone();
    if (kv == KvFormat::e4m3) {
      as_one.kv = kv;
      as_one.kv_scales = case_scales(check_case.spec, single);
      run_alone();
    }
  }
  const auto runs_as_one = [&](Runner& engine) {
    PromiseRun run(check_case, engine, findings);
    findings.add("several GPUs = one GPU",
                 compare_runs(single, run.main_run(), head_shape(check_case.spec)));
    run.run_every_way();
    run.greedy_plans();
  };
  const bool rounds = spreading_of(check_case.spec) == Spreading::rounds;
  for (const bool balanced : {true, false}) {
    if (rounds && balanced) continue;  // splits are dealt in one way
    GroupOptions options = group;
    options.balanced = balanced;
    EngineLimits limits = as_one;
    // Halves are appended again after a truncation, all to one rank, which balanced shards leave no
    // room for: there a context with that room.
    if (balanced) limits.context *= static_cast<int64_t>(options.devices.size());
    ShardedEngine engine(check_case.spec, make_model, limits, options);
    runs_as_one(engine);
  }
  // Where a rank is a process, its failure takes all of them down.
  if (world().size == 1) rank_failure(check_case, make_model, as_one, group, findings);
}

}  // namespace orthros::cuda
