// Runs orthros-cuda and keeps what it said.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program_run.hpp"

namespace orthros::cuda {

using Words = std::vector<std::string>;

inline ProgramRun run_cuda(const Words& arguments) {
  return run_program(ORTHROS_CUDA_PROGRAM, arguments);
}

// The one line of a refusal: status 2, nothing on standard output.
inline std::string cuda_refusal(const Words& arguments) {
  const ProgramRun run = run_cuda(arguments);
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_TRUE(run.err.starts_with("orthros-cuda: ") && run.err.ends_with('\n')) << run.err;
  return run.err;
}

// With --json, parsed: standard output must hold JSON and nothing else.
inline nlohmann::json cuda_json(Words arguments, int status = 0) {
  arguments.emplace_back("--json");
  const ProgramRun run = run_cuda(arguments);
  EXPECT_EQ(run.status, status) << run.err;
  nlohmann::json json = nlohmann::json::parse(run.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << run.out.substr(0, 400);
  return json;
}

}  // namespace orthros::cuda
