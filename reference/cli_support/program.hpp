// A program of ours: verbs after its name, bad input as one line on stderr and exit status 2.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace orthros::cli {

// Arguments after the verb.
using Arguments = std::vector<std::string>;

// `run` returns the exit status: 0 done, 1 a check failed. Bad input throws InputError.
struct Verb {
  const char* name;
  const char* summary;
  int (*run)(const Arguments&);
};

struct Program {
  const char* name;
  const char* about;  // one line
  std::span<const Verb> verbs;
  const char* examples;  // under the list of verbs, ending in a newline
};

// Answers --help, --version and `help VERB`, or runs the verb. Whatever is thrown becomes one line
// on stderr, "name: what was wrong", and status 2; so does output that could not be written.
int run_program(const Program& program, int argc, char** argv);

}  // namespace orthros::cli
