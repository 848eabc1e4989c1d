// Finds the verb, runs it, and reports what it throws.
#include "reference/cli_support/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "reference/spec/input_error.hpp"

namespace orthros::cli {
namespace {

void print_usage(const Program& program) {
  fmt::print("{}\n\nusage: {} VERB [options]\n\n", program.about, program.name);
  for (const Verb& verb : program.verbs) fmt::print("  {:<10} {}\n", verb.name, verb.summary);
  fmt::print("\n'{} VERB --help' explains a verb. --version prints the version.\n\n{}",
             program.name, program.examples);
}

int dispatch(const Program& program, Arguments arguments) {
  if (arguments.empty()) throw InputError("verb", "", "expected one; --help lists them");
  std::string name = arguments.front();
  arguments.erase(arguments.begin());
  if (name == "--version") {
    fmt::print("{} {}\n", program.name, ORTHROS_VERSION);
    return 0;
  }
  const bool help = name == "--help" || name == "-h" || name == "help";
  if (help && arguments.empty()) {
    print_usage(program);
    return 0;
  }
  if (help) {
    name = arguments.front();
    arguments = {"--help"};
  }
  for (const Verb& verb : program.verbs) {
    if (name == verb.name) return verb.run(arguments);
  }
  std::string names;
  for (const Verb& verb : program.verbs)
    names += std::string(names.empty() ? "" : ", ") + verb.name;
  throw InputError("verb", "", fmt::format("expected one of {}, got '{}'", names, name));
}

int fail(const Program& program, std::string_view message) {
  std::string line(message);
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  fmt::print(stderr, "{}: {}\n", program.name, line);
  return 2;
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  try {
    const int status = dispatch(program, {argv + std::min(argc, 1), argv + argc});
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return fail(program, "stdout: expected to write all output, could not");
    }
    return status;
  } catch (const std::bad_alloc&) {
    return fail(program, "memory: expected enough for this request, got less");
  } catch (const std::exception& error) {
    return fail(program, error.what());
  }
}

}  // namespace orthros::cli
