// Runs orthros-ref and keeps what it said.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/reference/weights/file_bytes.hpp"

namespace orthros {

struct ProgramRun {
  int status = -1;  // -1: ended by a signal
  std::string out;
  std::string err;
};

inline std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += "'\\'";
    quoted += c;
  }
  return quoted += "'";
}

inline ProgramRun run_ref(const std::vector<std::string>& arguments) {
  const TempFolder folder;
  std::string command = shell_quoted(ORTHROS_REF);
  for (const std::string& argument : arguments) command.append(" ").append(shell_quoted(argument));
  command.append(" </dev/null 2>").append(shell_quoted((folder / "err").string()));
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  ProgramRun run;
  char block[4096];
  for (size_t got = 0; (got = std::fread(block, 1, sizeof block, pipe)) > 0;) {
    run.out.append(block, got);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) run.status = WEXITSTATUS(status);
  run.err = read_file(folder / "err");
  return run;
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
