// orthros-ref generate: greedy continuation of a prompt.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "reference/cli/loaded_model.hpp"
#include "reference/cli/model_report.hpp"
#include "reference/cli/number_list.hpp"
#include "reference/cli/sequence_options.hpp"
#include "reference/cli/verbs.hpp"
#include "reference/model/modes.hpp"
#include "reference/spec/input_error.hpp"

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

// The ids that end generation, as the options have it.
std::vector<int64_t> eos_ids(const po::variables_map& given, const ModelSpec& spec) {
  const auto eos = optional_text(given, "eos");
  const bool ignore = has_option(given, "ignore-eos");
  if (eos && ignore) {
    throw InputError("--eos", "", "expected one of --eos and --ignore-eos, got both");
  }
  if (eos) return read_numbers("--eos", *eos, {"token ids", 0, spec.vocab - 1});
  return ignore ? std::vector<int64_t>{} : spec.eos;
}

void print_prompt(const ModelInput& input, const ComputeOptions& compute,
                  const std::vector<int64_t>& tokens) {
  print_model(input, compute);
  fmt::print("tokens  {}: {}\n", tokens.size(), ids_text(tokens));
  fmt::print("eos     {}\nthen   ", input.spec.eos.empty() ? "none" : ids_text(input.spec.eos));
  std::fflush(stdout);
}

}  // namespace

int run_generate(const Arguments& arguments) {
  po::options_description options("options");
  add_model_options(options);
  add_tokens_option(options);
  add_compute_options(options);
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  options.add_options()("max-tokens", text("N")->default_value("32"), "tokens to generate at most")(
      "eos", text("1,2"), "ids that end generation, in place of the model's")(
      "ignore-eos", "no id ends generation")("chunk", text("N"), "prompt tokens in one call")(
      "json", "print JSON at the end");
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const ComputeOptions compute = read_compute_options(*given);
  const int64_t chunk = optional_size(*given, "chunk", 1).value_or(0);
  const int64_t most = size_option(*given, "max-tokens");
  ModelInput input = open_model(*given);
  const std::vector<int64_t> tokens = read_tokens(*given, input.spec);
  input.spec.eos = eos_ids(*given, input.spec);
  const bool json = has_option(*given, "json");
  const auto prompt = static_cast<int64_t>(tokens.size());
  if (input.spec.max_positions > 0 && most > input.spec.max_positions - prompt) {
    warn_past_max_positions(input.spec, prompt > INT64_MAX - most ? INT64_MAX : prompt + most);
  }

  const auto show = [json](int64_t token) {
    if (json) return;
    fmt::print(" {}", token);
    std::fflush(stdout);
  };
  const auto generated = with_model(input, compute, [&]<class S>(const Model<S>& model) {
    if (!json) print_prompt(input, compute, tokens);
    Progress progress("prefill", layer_rows(model.spec, prompt, 1));
    Cache<S> cache(model.spec);
    return generate<S>(model, cache, tokens, most, chunk, forward_options<S>(compute, progress),
                       show);
  });
  const auto& eos = input.spec.eos;
  const bool stopped =
      !generated.empty() && std::find(eos.begin(), eos.end(), generated.back()) != eos.end();
  const char* reason = stopped ? "stop" : "length";
  if (!json) {
    fmt::print("\nfinish  {}, after {} tokens\n", reason, generated.size());
    return 0;
  }
  Json result = model_json(input, compute);
  result["tokens"] = tokens;
  result["max_tokens"] = most;
  result["eos"] = eos;
  result["generated"] = generated;
  result["finish_reason"] = reason;
  print_json(result);
  return 0;
}

}  // namespace orthros::cli
