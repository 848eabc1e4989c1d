// orthros-ref generate: greedy continuation of a prompt.
#include <fmt/format.h>

#include <cstdio>

#include "reference/cli/generate_report.hpp"
#include "reference/cli/loaded_model.hpp"
#include "reference/cli/sequence_options.hpp"
#include "reference/cli/verbs.hpp"
#include "reference/model/modes.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage =
    "orthros-ref generate (--model DIR | --random SPEC --seed N) --tokens 5,7,9|@FILE [options]";

constexpr const char* notes = R"(examples
  orthros-ref generate --model DIR --tokens 5,7,9 --max-tokens 20
  orthros-ref generate --model DIR --tokens @prompt.txt --chunk 512 --ignore-eos --json

R tokens are one prefill and R - 1 decode steps. The largest logit wins, the lowest id among equals.
An eos id ends generation and is the last of the tokens generated; eos ids are those of config.json
and generation_config.json.
--json: {model, arch, window, scalar, seed, tokens, max_tokens, eos, generated, finish_reason},
finish_reason "stop" (an eos id) or "length".
)";

}  // namespace

int run_generate(const Arguments& arguments) {
  po::options_description options("options");
  add_model_options(options);
  add_tokens_option(options);
  add_compute_options(options);
  add_generate_options(options);
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const ComputeOptions compute = read_compute_options(*given);
  const GenerateRequest request = read_generate_request(*given);
  ModelInput input = open_model(*given);
  const std::vector<int64_t> tokens = read_tokens(*given, input.spec);
  input.spec.eos = eos_ids(*given, input.spec);
  const auto prompt = static_cast<int64_t>(tokens.size());
  warn_past_end("orthros-ref", input.spec, prompt, request.most);

  const auto show = [&request](int64_t token) {
    if (request.json) return;
    fmt::print(" {}", token);
    std::fflush(stdout);
  };
  const auto generated = with_model(input, compute, [&]<class S>(const Model<S>& model) {
    if (!request.json) {
      print_model(input, compute);
      print_prompt(input.spec, tokens);
    }
    Progress progress("prefill", layer_rows(model.spec, prompt, 1));
    Cache<S> cache(model.spec);
    return generate<S>(model, cache, tokens, request.most, request.chunk,
                       forward_options<S>(compute, progress), show);
  });
  if (!request.json) {
    print_finish(input.spec, generated);
    return 0;
  }
  print_json(
      generated_json(input.spec, tokens, request.most, generated, model_json(input, compute)));
  return 0;
}

}  // namespace orthros::cli
