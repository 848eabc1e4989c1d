// orthros-sim: what Orthros and the systems beside it cost, by verb.
#include <fmt/format.h>

#include <boost/program_options/errors.hpp>
#include <cstdio>
#include <exception>
#include <string_view>

#include "reference/spec/input_error.hpp"
#include "sim/cli/verb.hpp"

namespace {

using orthros::cli::Verb;

constexpr Verb verbs[] = {
    {"cost", "FLOPs, memory and latency of a batch, by architecture", orthros::cli::run_cost},
    {"fit", "a profile from measured tables or from the paper's figures", orthros::cli::run_fit},
    {"validate", "predictions beside reported and measured figures", orthros::cli::run_validate},
};

void print_usage(std::FILE* out) {
  fmt::print(out, "usage: orthros-sim VERB [options]\n\n");
  for (const Verb& verb : verbs) fmt::print(out, "  {:<10} {}\n", verb.name, verb.summary);
  fmt::print(out, "\n'orthros-sim VERB --help' explains a verb, its laws and their limits.\n");
}

int fail(std::string_view message) {
  std::string line(message);
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  fmt::print(stderr, "orthros-sim: {}\n", line);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    print_usage(stderr);
    return 2;
  }
  const std::string_view name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") {
    print_usage(stdout);
    return 0;
  }
  try {
    for (const Verb& verb : verbs) {
      if (name == verb.name) return verb.run({argv + 2, argv + argc});
    }
    return fail(fmt::format("verb: expected one of those that --help lists, got '{}'", name));
  } catch (const orthros::InputError& error) {
    return fail(error.what());
  } catch (const boost::program_options::error& error) {
    return fail(error.what());
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
