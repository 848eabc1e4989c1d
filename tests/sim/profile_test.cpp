// Profiles and hardware: every shipped file loads, and figures are what their sources say.
#include "sim/profile.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "reference/spec/input_error.hpp"
#include "reference/spec/json_fields.hpp"
#include "reference/spec/scenario_files.hpp"
#include "sim/fit_paper.hpp"
#include "tests/sim/specs.hpp"

namespace orthros {
namespace {

// Case 30: dense peaks, never the sparse ones.
TEST(sim_profile, dense_bf16_peaks) {
  EXPECT_EQ(load_hardware("h100-sxm").bf16_rate, 989e12);
  EXPECT_EQ(load_hardware("h200").bf16_rate, 989e12);
  EXPECT_EQ(load_hardware("h100-pcie").bf16_rate, 756e12);
}

TEST(sim_profile, every_shipped_hardware_and_profile_loads) {
  for (const std::string& name : scenario_names("hardware")) {
    SCOPED_TRACE(name);
    const Hardware hardware = load_hardware(name);
    EXPECT_GE(hardware.fp8_rate, hardware.bf16_rate);
    EXPECT_GE(hardware.largest_group, 1);
  }
  for (const std::string& name : scenario_names("profiles")) {
    SCOPED_TRACE(name);
    const Profile profile = load_profile(name);
    EXPECT_FALSE(profile.caveat.empty());
    EXPECT_FALSE(profile.provenance.empty());
    // No linear layer or attention runs faster than the dense peak, however large.
    const Hardware hardware = load_hardware("h100-sxm");
    const StepCost cost(count_model(test::preset("qwen3-8b", "transformer")), {}, profile,
                        hardware);
    for (int64_t input : {128, 4096, 131072, 1048576}) {
      const CostPoint point = cost_point(cost, hardware, {input, 1, 1});
      EXPECT_GE(point.latency.ttft_s,
                static_cast<double>(point.flops.prefill) / hardware.bf16_rate);
    }
  }
}

TEST(sim_profile, saving_and_loading_gives_the_same_profile) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("orthros_profile_test_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (const std::string& name : scenario_names("profiles")) {
    const Profile profile = load_profile(name);
    save_profile(profile, folder / "copy.json");
    EXPECT_EQ(to_json(load_profile((folder / "copy.json").string())), to_json(profile));
  }
  std::filesystem::remove_all(folder);
}

TEST(sim_profile, the_papers_profile_is_what_its_fit_gives) {
  const Profile fitted = fit_paper_profile(load_paper_table());
  const Profile shipped = load_profile("sglang-triton-h100");
  const auto close = [](double a, double b) {
    // The fit stops when a step changes its cost by 1e-13: parameters to about its square root.
    EXPECT_NEAR(a, b, 1e-5 * std::abs(b));
  };
  for (OpKind kind : {OpKind::gemm, OpKind::prefill_attention, OpKind::decode_attention}) {
    close(fitted.law(kind)->rate, shipped.law(kind)->rate);
    close(fitted.law(kind)->bandwidth, shipped.law(kind)->bandwidth);
    close(fitted.law(kind)->window_overread, shipped.law(kind)->window_overread);
  }
  close(fitted.step.per_step_s, shipped.step.per_step_s);
}

TEST(sim_profile, a_fitted_profile_moves_to_other_hardware_by_peak_and_bandwidth) {
  const Profile profile = load_profile("sglang-triton-h100");
  const Hardware h100 = load_hardware("h100-sxm");
  const Hardware a100 = load_hardware("a100");
  const double here = timing_on(profile, h100, 2).law(OpKind::gemm).rate;
  const double there = timing_on(profile, a100, 2).law(OpKind::gemm).rate;
  EXPECT_DOUBLE_EQ(there / here, a100.bf16_rate / h100.bf16_rate);
}

TEST(sim_profile, a_bad_profile_names_file_and_field) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("orthros_bad_profile_" + std::to_string(getpid()) + ".json");
  const auto error_of = [&](const std::string& laws) -> std::string {
    std::ofstream(path) << R"({"description": "d", "caveat": "c", "laws": )" << laws << "}";
    try {
      load_profile(path.string());
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(error_of(R"({"gem": {}})").find("laws.gem"), std::string::npos);
  EXPECT_NE(error_of(R"({"gemm": {"rate": -1}})").find("laws.gemm.rate"), std::string::npos);
  EXPECT_NE(error_of(R"({"gemm": {"overlap_loss": 2}})").find("overlap_loss"), std::string::npos);
  EXPECT_NE(error_of(R"({"gemm": {"tiers": [{"up_to_bytes": 0, "bandwidth": 1}]}})").find("tiers"),
            std::string::npos);
  EXPECT_EQ(error_of(R"({"gemm": {"rate": 0.5}})"), "");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace orthros
