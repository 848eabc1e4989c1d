// Tests of orthros-cuda that need no device: help, refusals, and what it says without one.
#include <gtest/gtest.h>

#include "tests/cuda/cuda_run.hpp"
#include "tests/reference/cli/checkpoints.hpp"

namespace orthros::cuda {
namespace {

void expect_refused(const Words& words, const std::string& part) {
  const std::string line = cuda_refusal(words);
  EXPECT_NE(line.find(part), std::string::npos) << line;
}

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(cuda_program, help_lists_the_verbs_and_explains_each) {
  const ProgramRun help = run_cuda({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* verb : {"run", "generate", "check", "bench"}) {
    EXPECT_NE(help.out.find(std::string("\n  ") + verb + " "), std::string::npos) << help.out;
    const ProgramRun explained = run_cuda({verb, "--help"});
    EXPECT_EQ(explained.status, 0) << verb;
    EXPECT_TRUE(explained.out.starts_with("usage: orthros-cuda ")) << explained.out;
    EXPECT_EQ(explained.err, "");
  }
}

TEST(cuda_program, bad_options_are_refused_before_a_device_is_asked_for) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  const Words run = {"run", "--model", checkpoint.path()};
  expect_refused({}, "verb: expected");
  expect_refused({"frobnicate"}, "expected one of run, generate, check, bench, got 'frobnicate'");
  expect_refused({"run", "--frobnicate"}, "--frobnicate: expected an option");
  expect_refused({"run", "--tokens", "1"}, "expected one of --model and --random");
  expect_refused(run, "--tokens: expected a value");
  expect_refused(joined(run, {"--tokens", "1,500"}), "--tokens: expected token ids from 0 to 100");
  expect_refused(joined(run, {"--tokens", "1", "--scalar", "double"}),
                 "--scalar: expected an option");
  expect_refused(joined(run, {"--tokens", "1", "--outputs", "2"}), "--outputs: expected positions");
  expect_refused(joined(run, {"--tokens", "1", "--chunk", "0"}), "--chunk: expected at least 1");
  expect_refused(joined(run, {"--tokens", "1", "--dump", "/no/such/folder/file"}),
                 "expected a file's name in a folder that exists");
  expect_refused(joined(run, {"--tokens", "1", "--kv", "int8"}),
                 "--kv: expected one of bf16, fp8, got 'int8'");
  expect_refused(joined(run, {"--tokens", "1", "--kv-calibration", "1"}),
                 "--kv-calibration: expected --kv fp8 beside it");
  expect_refused(joined(run, {"--tokens", "1", "--kv", "fp8", "--kv-calibration", "1,500"}),
                 "--kv-calibration: expected token ids from 0 to 100");
  expect_refused({"bench", "--random", "qwen3-8b", "--kv", "fp4"}, "--kv: expected one of");
  expect_refused({"bench", "--random", "qwen3-8b", "--kv", "fp8", "--targets"},
                 "--kv: expected bf16 beside --targets");
  expect_refused({"check", "--kv", "e4m3"}, "--kv: expected one of");
  expect_refused({"generate", "--model", checkpoint.path()}, "--tokens: expected a value");
  expect_refused(
      {"generate", "--model", checkpoint.path(), "--tokens", "1", "--eos", "3", "--ignore-eos"},
      "expected one of --eos and --ignore-eos");
  expect_refused({"bench", "--random", "qwen3-8b", "--attention", "fast"},
                 "--attention: expected one of engine, cudnn, got 'fast'");
  expect_refused({"check", "--suite", "slow"}, "--suite: expected one of quick, full, got 'slow'");
  expect_refused({"check", "--fault", "none"}, "--fault: expected one of window_off_by_one");
  expect_refused({"check", "--seed", "-1"}, "--seed");
}

TEST(cuda_program, models_that_the_engine_does_not_run_are_refused_by_name) {
  const GoldenCheckpoint recurrent("qwen3_5_text_tiny");
  expect_refused({"run", "--model", recurrent.path(), "--tokens", "1"}, "layer");
  expect_refused({"generate", "--random", "gdn-1.3b", "--tokens", "1"}, "softmax");
}

TEST(cuda_program, faults_need_a_build_that_has_them) {
  if (ORTHROS_HAS_FAULTS) GTEST_SKIP() << "this build has them";
  expect_refused({"check", "--fault", "dropped_split"}, "ORTHROS_CUDA_FAULTS");
}

TEST(cuda_program, the_fault_of_a_scale_needs_caches_that_have_scales) {
  if (!ORTHROS_HAS_FAULTS) GTEST_SKIP() << "this build has no faults";
  expect_refused({"check", "--fault", "neighbour_scale"}, "expected --kv fp8 beside");
}

// With no visible device there is none, whatever the machine has.
TEST(cuda_program, without_a_device_each_verb_says_so_in_one_line) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  ASSERT_EQ(::setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
  const std::string part = "expected a CUDA device of compute capability 9.0, found none";
  expect_refused({"run", "--model", checkpoint.path(), "--tokens", "1"}, part);
  expect_refused({"generate", "--model", checkpoint.path(), "--tokens", "1"}, part);
  expect_refused({"check"}, part);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace orthros::cuda
