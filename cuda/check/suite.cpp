// Runs cases.
#include "cuda/check/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cuda/check/golden_cases.hpp"
#include "cuda/check/kv_rounding_error.hpp"
#include "cuda/check/promises.hpp"
#include "cuda/check/shard_cases.hpp"
#include "cuda/support/cuda_error.hpp"
#include "reference/cli/loaded_model.hpp"
#include "reference/cli_support/progress.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

DeviceModel device_model(const CheckCase& check_case) {
  if (check_case.weights) return {check_case.spec, *check_case.weights};
  if (check_case.origin == WeightOrigin::uploaded) {
    return {check_case.spec, RandomWeights(check_case.seed, check_case.spec.norm)};
  }
  return {check_case.spec, check_case.seed};
}

// What the reference reads: the same weights as the device holds.
std::shared_ptr<const WeightSource> host_weights(const CheckCase& check_case,
                                                 const DeviceModel& device) {
  if (check_case.weights) return check_case.weights;
  if (check_case.origin == WeightOrigin::read_back) return std::make_shared<DeviceWeights>(device);
  return std::make_shared<RandomWeights>(check_case.seed, check_case.spec.norm);
}

// Why this machine cannot run the case; empty where it can.
std::string too_large(const CheckCase& check_case, KvFormat kv) {
  size_t free_bytes = 0;
  size_t all_bytes = 0;
  ORTHROS_CUDA(cudaMemGetInfo(&free_bytes, &all_bytes));
  EngineLimits limits = limits_of(check_case);
  limits.kv = kv;
  constexpr double slack = 1e9;  // context, workspaces, what is not given back at once
  const double needed = 2.0 * static_cast<double>(parameter_count(check_case.spec)) +
                        static_cast<double>(engine_bytes(check_case.spec, limits)) + slack;
  if (needed > static_cast<double>(free_bytes)) {
    return fmt::format("needs {:.1f} GB of device memory, {:.1f} GB are free", needed / 1e9,
                       static_cast<double>(free_bytes) / 1e9);
  }
  try {
    cli::require_memory(check_case.spec, sizeof(Hopper));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

// Elements of a tensor from `first` on, as bf16.
void round_weights(const WeightSource& source, const TensorInfo& tensor, int64_t first,
                   std::span<bf16_bits> to) {
  std::vector<double> values(to.size());
  source.read(tensor, first, values);
  std::transform(values.begin(), values.end(), to.begin(),
                 [](double value) { return bfloat16(value).bits(); });
}

// The device's weights as they were meant to be; of a large model its first layer's.
void check_weights(const CheckCase& check_case, const DeviceModel& device, Findings& findings) {
  const RandomWeights drawn(check_case.seed, check_case.spec.norm);
  const WeightSource& source = check_case.weights ? *check_case.weights : drawn;
  const bool large = check_case.origin == WeightOrigin::read_back;
  Tally tally;
  for (const TensorInfo& tensor : tensor_table(check_case.spec)) {
    if (large && !tensor.name.starts_with(layer_prefix(0))) continue;
    std::vector<bf16_bits> expected(static_cast<size_t>(tensor.elements()));
    if (check_case.weights) {
      round_weights(source, tensor, 0, expected);
    } else {
      // Drawing is slow, and any part of a tensor can be drawn alone.
      constexpr int64_t piece = 1 << 20;
#pragma omp parallel for schedule(dynamic)
      for (int64_t first = 0; first < tensor.elements(); first += piece) {
        const int64_t count = std::min(piece, tensor.elements() - first);
        round_weights(
            source, tensor, first,
            std::span(expected).subspan(static_cast<size_t>(first), static_cast<size_t>(count)));
      }
    }
    tally.add(compare_weights(tensor.name, expected, device.tensor(tensor.name)));
  }
  findings.add("weights on the device = the source's", tally);
}

// Over e4m3 entries: the reference rounds likewise, and how far that takes the logits from bf16
// caches is stated.
void run_e4m3_case(const CheckCase& check_case, const DeviceModel& device, EngineFault fault,
                   const Model<Hopper>& reference, Findings& findings) {
  const RunRecord bf16 = hopper_run(reference, check_case.sequences);
  EngineLimits limits = limits_of(check_case);
  limits.kv = KvFormat::e4m3;
  limits.kv_scales = case_scales(check_case.spec, bf16);
  Engine engine(device, limits, fault);
  PromiseRun run(check_case, engine, findings);
  run.main_run();
  const RunRecord rounded = hopper_run(reference, check_case.sequences, &*limits.kv_scales);
  run.against(rounded);
  run.run_every_way();
  if (check_case.first_token_matters) run.first_token_matters();
  run.greedy_plans();
  findings.add(rounding_of(real_run(rounded).logits, real_run(bf16).logits));
}

void run_case(const CheckCase& check_case, EngineFault fault, KvFormat kv, HopperModels& models,
              Findings& findings) {
  const DeviceModel device = device_model(check_case);
  check_weights(check_case, device, findings);
  const auto weights = host_weights(check_case, device);
  if (check_case.origin != WeightOrigin::read_back) models.forget();
  const Model<Hopper>& reference = models.load(check_case.spec, check_case.seed, *weights);
  if (kv == KvFormat::e4m3) {
    return run_e4m3_case(check_case, device, fault, reference, findings);
  }
  Engine engine(device, limits_of(check_case), fault);
  PromiseRun run(check_case, engine, findings);
  const RunRecord& main_run = run.main_run();
  run.against(hopper_run(reference, check_case.sequences));
  run.run_every_way();
  if (check_case.first_token_matters) run.first_token_matters();
  const std::vector<SequencePlan> greedy = run.greedy_plans();
  if (check_case.errors) check_errors(check_case, *weights, main_run, greedy, findings);
}

constexpr double worth_saying = 5.0;  // seconds of a case

void show_failures(const Findings& findings, size_t from) {
  for (size_t i = from; i < findings.failures().size(); ++i) {
    fmt::print(stderr, "check: FAILED {}\n", findings.failures()[i]);
  }
  std::fflush(stderr);
}

}  // namespace

std::vector<CheckCase> suite_cases(const CheckRequest& request) {
  std::vector<CheckCase> cases;
  const auto append = [&](std::vector<CheckCase> more) {
    for (CheckCase& each : more) {
      if (each.name.starts_with(request.only)) cases.push_back(std::move(each));
    }
  };
  if (request.group) {
    append(shard_cases(request.suite, request.seed));
  } else {
    append(field_cases(request.seed));
    if (request.goldens) append(golden_cases(*request.goldens));
    for (int64_t i = 0; i < random_cases(request.suite); ++i) {
      append({random_case(request.suite, request.seed, i)});
    }
    append(edge_cases(request.suite, request.seed));
    if (request.suite == Suite::full) append(large_cases(request.seed));
  }
  const auto exact = [&](const CheckCase& each) { return each.name == request.only; };
  if (std::any_of(cases.begin(), cases.end(), exact)) {
    std::erase_if(cases, [&](const CheckCase& each) { return !exact(each); });
  }
  if (cases.empty()) {
    throw InputError(
        "--only", "",
        fmt::format("expected the beginning of a case's name, got '{}'; names are like "
                    "case-13, golden-qwen3_tiny, random-5, steps-swa",
                    request.only));
  }
  return cases;
}

Findings run_suite(const CheckRequest& request) {
  using Clock = std::chrono::steady_clock;
  const std::vector<CheckCase> cases = suite_cases(request);
  Findings findings;
  if (!request.goldens && !request.group)
    findings.leave_out("goldens", "no folder that holds them");
  HopperModels models;
  cli::Progress progress("checking", static_cast<int64_t>(cases.size()));
  for (const CheckCase& each : cases) {
    const size_t known = findings.failures().size();
    const auto start = Clock::now();
    if (const std::string why = too_large(each, request.kv); !why.empty()) {
      findings.leave_out(each.name, why);
      continue;
    }
    findings.begin_case(each.name, description(each));
    bool device_works = true;
    try {
      if (request.group) {
        run_shard_case(each, *request.group, request.kv, findings);
      } else {
        run_case(each, request.fault, request.kv, models, findings);
      }
    } catch (const DeviceError& error) {
      findings.add_failure(fmt::format("{}; the cases behind it were not run", error.what()));
      device_works = false;
    } catch (const std::exception& error) {
      findings.add_failure(error.what());
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    findings.end_case(seconds);
    if (seconds > worth_saying) fmt::print(stderr, "check: {} took {:.0f} s\n", each.name, seconds);
    show_failures(findings, known);
    if (!device_works) break;
    if (request.fault != EngineFault::none && findings.failed() > 0) break;
    progress.add(1);
  }
  return findings;
}

}  // namespace orthros::cuda
