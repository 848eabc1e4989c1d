// Runs orthros-ref and keeps what it said.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program_run.hpp"

namespace orthros {

inline ProgramRun run_ref(const std::vector<std::string>& arguments) {
  return run_program(ORTHROS_REF, arguments);
}

// Standard output of a run that must go well.
inline std::string ref_text(const std::vector<std::string>& arguments) {
  const ProgramRun run = run_ref(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  return run.out;
}

// The same with --json, parsed: standard output must hold JSON and nothing else.
inline nlohmann::json ref_json(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const std::string text = ref_text(arguments);
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << text.substr(0, 400);
  return json;
}

// The one line of a refusal: status 2, nothing on standard output.
inline std::string ref_refusal(const std::vector<std::string>& arguments) {
  const ProgramRun run = run_ref(arguments);
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_TRUE(run.err.starts_with("orthros-ref: ") && run.err.ends_with('\n')) << run.err;
  return run.err;
}

}  // namespace orthros
