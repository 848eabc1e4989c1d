// Runs a program and keeps what it said.
#pragma once

#include <sys/wait.h>

#include <cstdio>
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

inline ProgramRun run_program(const std::string& program,
                              const std::vector<std::string>& arguments) {
  const TempFolder folder;
  std::string command = shell_quoted(program);
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

}  // namespace orthros
