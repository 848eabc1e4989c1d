// Whole runs of the engine: how prompts are cut into passes, the laws that this asks for, and the
// profile that is fitted to runs and predicts others.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>

#include "cuda/layout/step_plan.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/spec/scenario_files.hpp"
#include "sim/fit_kernels.hpp"
#include "sim/fit_runs.hpp"
#include "sim/prefill_passes.hpp"
#include "sim/roofline.hpp"
#include "sim/validation.hpp"
#include "tests/sim/specs.hpp"

namespace orthros {
namespace {

std::filesystem::path measured(const char* file) {
  return scenarios_folder() / "measured" / file;
}

struct Sweep {
  std::vector<MeasuredRun> runs = measured_runs(CsvTable::read(measured("h200-runs.csv")));
  std::vector<MeasuredOps> ops = measured_ops(CsvTable::read(measured("h200-ops.csv")));
  ModelSpec spec = load_model_spec("qwen3-8b");
  Hardware hardware = load_hardware("h200");
};

double largest(const std::vector<double>& errors) {
  double most = 0.0;
  for (const double error : errors) most = std::max(most, std::abs(error));
  return most;
}

// (tokens before, tokens, ends here) of each prompt in each pass, as the simulator cuts them;
// sorted, since it counts equal passes.
using Cut = std::vector<std::tuple<int64_t, int64_t, bool>>;

std::vector<Cut> simulated_passes(int64_t batch, int64_t input, int64_t pass_tokens) {
  std::vector<Cut> passes;
  for_each_pass(batch, input, pass_tokens,
                [&](std::span<const PrefillChunk> pieces, int64_t times) {
                  Cut cut;
                  for (const PrefillChunk& piece : pieces) {
                    for (int64_t s = 0; s < piece.sequences; ++s) {
                      cut.push_back({piece.prefix, piece.tokens, piece.logits});
                    }
                  }
                  passes.insert(passes.end(), static_cast<size_t>(times), cut);
                });
  std::sort(passes.begin(), passes.end());
  return passes;
}

RC_GTEST_PROP(sim_runs, passes_are_those_of_the_engine, ()) {
  const auto batch = *rc::gen::inRange<int64_t>(1, 40);
  const auto input = *rc::gen::inRange<int64_t>(1, 30);
  const auto pass_tokens = *rc::gen::inRange<int64_t>(1, 80);
  std::vector<int64_t> tokens(static_cast<size_t>(input));
  const std::vector<int64_t> outputs{input};
  std::vector<cuda::Request> requests;
  for (int32_t s = 0; s < batch; ++s) requests.push_back({s, 0, tokens, outputs});
  std::vector<Cut> engine;
  for (const auto& parts : cuda::plan_passes(requests, {pass_tokens, batch, 0, true})) {
    Cut cut;
    for (const cuda::PassPart& part : parts) {
      cut.push_back({part.begin, part.end - part.begin, !part.outputs.empty()});
    }
    engine.push_back(std::move(cut));
  }
  std::sort(engine.begin(), engine.end());
  RC_ASSERT(simulated_passes(batch, input, pass_tokens) == engine);
}

TEST(sim_runs, special_laws_go_before_their_kinds) {
  Profile profile = load_profile("ideal");
  SpecialLaw few;
  few.up_to_rows = 32;
  few.law.launch_s = 1.0;
  SpecialLaw windowed;
  windowed.kind = OpKind::prefill_attention;
  windowed.windowed = true;
  windowed.law.launch_s = 2.0;
  profile.special = {few, windowed};
  const Timing timing = timing_on(profile, load_hardware("h200"), 2);
  Op op;
  op.m = 32;
  EXPECT_EQ(timing.law(op, 1).launch_s, 1.0);
  op.m = 33;
  EXPECT_EQ(timing.law(op, 1).launch_s, profile.law(OpKind::gemm)->launch_s);
  op.kind = OpKind::prefill_attention;
  EXPECT_EQ(timing.law(op, 1).launch_s, profile.law(OpKind::prefill_attention)->launch_s);
  op.windowed = true;
  EXPECT_EQ(timing.law(op, 1).launch_s, 2.0);
}

TEST(sim_runs, a_pass_that_draws_too_much_power_is_stretched_and_a_decode_step_is_not) {
  Profile profile = load_profile("ideal");
  const Hardware hardware = load_hardware("h200");
  const CountModel model = count_model(test::preset("qwen3-8b", "transformer"));
  const PrefillChunk prompt{1, 0, 8192, true};
  const auto seconds = [&] {
    const StepCost cost(model, {}, profile, hardware);
    return std::pair(cost.seconds({&prompt, 1}, {}), cost.uniform_decode_seconds(1, 8192, 1));
  };
  const auto plain = seconds();
  for (int i = 0; i < op_kinds; ++i) {
    if (auto& law = profile.law(static_cast<OpKind>(i))) law->power = 1.25;
  }
  const auto hungry = seconds();
  constexpr double rounding = 1e-12;  // sums of some ten ops, taken in another order
  EXPECT_NEAR(hungry.first / plain.first, 1.25, rounding);
  EXPECT_EQ(hungry.second, plain.second);
}

TEST(sim_runs, ops_of_all_passes_and_the_software_between_sum_to_the_ttft) {
  const Hardware hardware = load_hardware("h200");
  const StepCost cost(run_model(load_model_spec("qwen3-8b"), "orthros"), {},
                      load_profile("orthros-h200"), hardware);
  for (const CostRequest& request : {CostRequest{20000, 1, 1}, CostRequest{3000, 1, 12}}) {
    double sum = 0.0;
    for (const CostOp& line : cost_ops(cost, request)) sum += line.seconds;
    constexpr double rounding = 1e-12;  // a hundred terms
    EXPECT_NEAR(sum / cost_point(cost, hardware, request).latency.ttft_s, 1.0, rounding);
  }
}

TEST(sim_runs, the_shipped_profile_is_what_its_fit_gives) {
  const Sweep sweep;
  const Profile fitted = fit_runs(sweep.runs, sweep.ops, sweep.spec, sweep.hardware).profile;
  const Profile shipped = load_profile("orthros-h200");
  const auto a = predict_runs(sweep.runs, sweep.spec, fitted, sweep.hardware);
  const auto b = predict_runs(sweep.runs, sweep.spec, shipped, sweep.hardware);
  for (size_t i = 0; i < a.size(); ++i) {
    // The fit stops when a step changes its cost by 1e-13: parameters to about its square root.
    EXPECT_NEAR(a[i].latency.e2e_s / b[i].latency.e2e_s, 1.0, 1e-5);
  }
}

TEST(sim_runs, a_sweep_that_a_profile_made_is_predicted_by_its_fit) {
  Sweep sweep;
  Profile other = load_profile("orthros-h200");
  other.law(OpKind::gemm)->rate *= 0.9;
  other.law(OpKind::decode_attention)->bandwidth *= 0.8;
  other.special.front().law.launch_s *= 1.5;
  for (const RunPrediction& one : predict_runs(sweep.runs, sweep.spec, other, sweep.hardware)) {
    MeasuredRun& run = sweep.runs[static_cast<size_t>(one.run - sweep.runs.data())];
    if (run.ttft_s) run.ttft_s = one.latency.ttft_s;
    if (run.decode_step_s) run.decode_step_s = one.latency.decode_step_s;
    if (run.e2e_s) run.e2e_s = one.latency.e2e_s;
  }
  // Without times of ops a product's rate and its power would be one number.
  constexpr double event_s = 1e-6;
  for (MeasuredOps& ops : sweep.ops) {
    const StepCost cost(run_model(sweep.spec, ops.arch), {}, other, sweep.hardware);
    std::map<std::string, double> seconds;
    for (const CostOp& line : cost_ops(cost, ops.request)) {
      if (line.stage == ops.stage) seconds[op_group(line.op.name)] += line.seconds;
    }
    for (auto& [group, time] : ops.groups) {
      time.seconds = seconds[group] + event_s * static_cast<double>(time.launches);
    }
  }
  const RunFit fit = fit_runs(sweep.runs, sweep.ops, sweep.spec, sweep.hardware);
  const auto predictions = predict_runs(sweep.runs, sweep.spec, fit.profile, sweep.hardware);
  // Within the family: what the pull to the start leaves, a hundredth as above.
  EXPECT_LT(largest(run_errors(predictions, true).whole), 0.01);
}

TEST(sim_runs, runs_held_out_are_predicted_and_without_the_power_limit_they_are_not) {
  const Sweep sweep;
  const auto whole = [&](const Profile& profile) {
    return run_errors(predict_runs(sweep.runs, sweep.spec, profile, sweep.hardware), true).whole;
  };
  Profile profile = load_profile("orthros-h200");
  // The bounds that the project asks: scenarios/measured/runs.json.
  EXPECT_LE(absolute_summary(whole(profile)).median, 0.03);
  EXPECT_LE(largest(whole(profile)), 0.08);
  profile.law(OpKind::gemm)->power = 0.0;
  EXPECT_GT(largest(whole(profile)), 0.08);
}

TEST(sim_runs, validation_shows_each_run_held_out_and_no_other) {
  const Sweep sweep;
  const auto held_out = std::count_if(sweep.runs.begin(), sweep.runs.end(),
                                      [](const MeasuredRun& run) { return run.held_out; });
  const std::vector<Figure> figures = run_figures();
  const auto shown = std::count_if(figures.begin(), figures.end(), [](const Figure& figure) {
    return figure.reported.has_value();
  });
  EXPECT_EQ(shown, held_out);
}

class TempFile {
 public:
  explicit TempFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("orthros_runs_test_" + std::to_string(getpid()) + ".csv")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(sim_runs, malformed_sweeps_are_refused) {
  const std::string header =
      "arch,input,output,batch,chunk,use,method,repeats,ttft_s,decode_step_s,end_to_end_s\n";
  const auto read = [&](const std::string& row) {
    const TempFile file(header + row);
    return measured_runs(CsvTable::read(file.path()));
  };
  EXPECT_EQ(read("orthros,8,2,1,8,fit,run,1,1,1,2\n").size(), 1u);
  for (const char* row :
       {"orthros,0,2,1,8,fit,run,1,1,1,2\n", "orthros,8,2,1,0,fit,run,1,1,1,2\n",
        "orthros,8,2,1,8,test,run,1,1,1,2\n", "orthros,8,2,1,8,fit,walk,1,1,1,2\n",
        "orthros,8,2,1,8,fit,run,1,-1,1,2\n", "orthros,8,2,1,8,fit,run,1,,1,2\n",
        "orthros,8,2,1,8,fit,run,1,1,,2\n", "orthros,8,2,1,8,fit,decode,1,1,1,2\n",
        "orthros,8,1,1,8,fit,run,1,1,1,2\n", "orthros,8,2,1,8,fit,run,1,nan,1,2\n"}) {
    EXPECT_THROW(read(row), InputError) << row;
  }
  const TempFile ops(
      "arch,input,batch,chunk,use,stage,op,launches,seconds\n"
      "orthros,8,1,8,fit,sideways,o_proj,1,1\n");
  EXPECT_THROW(measured_ops(CsvTable::read(ops.path())), InputError);
}

TEST(sim_runs, a_roofline_holds_each_measured_op_against_its_own_flops_and_bytes) {
  const Sweep sweep;
  const auto rows = roofline(sweep.ops, sweep.spec, load_profile("ideal"), sweep.hardware);
  // down_proj of one decode step at batch 1, by hand: 36 layers of 12288 x 4096, base and copy but
  // for the last layer's base row; weights once, two bytes an element, rows in and out likewise.
  const auto found = std::find_if(rows.begin(), rows.end(), [](const RooflineRow& row) {
    return row.arch == "orthros" && row.request.input == 8192 && row.request.batch == 1 &&
           row.stage == Stage::decode && row.group == "down_proj";
  });
  ASSERT_NE(found, rows.end());
  const int64_t weights = int64_t{36} * 12288 * 4096;
  const int64_t products = 2 * 36 - 1;
  EXPECT_EQ(found->flops, products * 2 * 12288 * 4096);
  EXPECT_EQ(found->bytes, 2 * weights + products * 2 * (12288 + 4096));
  EXPECT_DOUBLE_EQ(found->floor_s,
                   static_cast<double>(found->bytes) / sweep.hardware.memory_bandwidth);
  EXPECT_EQ(found->bound, "memory");
  EXPECT_EQ(found->launches, 36);
  for (const RooflineRow& row : rows) {
    SCOPED_TRACE(row.group);
    EXPECT_GT(row.ratio(), 0.0);
    EXPECT_LT(row.ratio(), 1.0);
  }
}

}  // namespace
}  // namespace orthros
