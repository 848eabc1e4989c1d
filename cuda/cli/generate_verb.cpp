// orthros-cuda generate: greedy continuation of prompts.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cuda/cli/device_info.hpp"
#include "cuda/cli/device_input.hpp"
#include "cuda/cli/device_runner.hpp"
#include "cuda/cli/verbs.hpp"
#include "reference/cli/generate_report.hpp"
#include "reference/cli/sequence_options.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

namespace po = cli::po;
using Ids = std::vector<int64_t>;

constexpr const char* usage =
    "orthros-cuda generate (--model DIR | --random SPEC --seed N) --tokens 5,7,9|@FILE [options]";

constexpr const char* notes = R"(examples
  orthros-cuda generate --model DIR --tokens 5,7,9 --max-tokens 20
  orthros-cuda generate --model DIR --tokens @prompt.txt --chunk 512 --ignore-eos --json
  orthros-cuda generate --random qwen3-8b --seed 1 --tokens 5,7,9 --tokens 11,2 --json
  orthros-cuda generate --model DIR --tokens @book.txt --gpus 2

R tokens are one prefill and R - 1 decode steps, each one CUDA graph for all prompts together. The
largest logit wins, the lowest id among equals. An eos id ends generation and is the last of the
tokens generated; eos ids are those of config.json and generation_config.json.
--json: {model, arch, window, scalar, seed, tokens, max_tokens, eos, generated, finish_reason},
finish_reason "stop" (an eos id) or "length"; with several --tokens, "sequences": a list of {tokens,
max_tokens, eos, generated, finish_reason} in their place.
)";

constexpr int64_t pass_tokens = 8192;

EngineLimits limits_for(const std::vector<Ids>& prompts, const cli::GenerateRequest& request) {
  const int64_t most = request.most;
  EngineLimits limits;
  limits.sequences = static_cast<int64_t>(prompts.size());
  limits.outputs = limits.sequences;
  int64_t tokens = 0;
  int64_t longest = 0;
  for (const Ids& prompt : prompts) {
    longest = std::max(longest, static_cast<int64_t>(prompt.size()));
    tokens += static_cast<int64_t>(prompt.size());
  }
  if (most > max_size) {
    throw InputError("--max-tokens", "",
                     fmt::format("expected at most {}, got {}", max_size, most));
  }
  limits.context = longest + std::max<int64_t>(most - 1, 0);  // the last is never appended
  int64_t pass = pass_tokens;
  if (request.chunk > 0 && request.chunk < pass) {
    pass = std::min(pass, request.chunk * limits.sequences);
  }
  limits.chunk = std::clamp(tokens, limits.sequences, std::max(limits.sequences, pass));
  return limits;
}

// Each prompt's continuation; `on_token` hears of each id as it comes, with its prompt's index.
template <class OnToken>
std::vector<Ids> continue_prompts(Runner& engine, const std::vector<Ids>& prompts,
                                  const cli::GenerateRequest& request, const OnToken& on_token) {
  std::vector<Ids> generated(prompts.size());
  if (request.most == 0) return generated;
  std::vector<Prompt> whole;
  for (const Ids& prompt : prompts) {
    whole.push_back(
        {static_cast<int64_t>(whole.size()), prompt, {static_cast<int64_t>(prompt.size())}});
  }
  std::vector<size_t> going(prompts.size());
  for (size_t i = 0; i < going.size(); ++i) going[i] = i;
  std::vector<Prediction> predictions = engine.prefill(whole, Want::tokens, request.chunk);
  const auto& eos = engine.spec().eos;
  while (true) {
    std::vector<size_t> still;
    std::vector<NextToken> next;
    for (size_t i = 0; i < going.size(); ++i) {
      const size_t s = going[i];
      const int64_t token = predictions.at(i).token;
      generated[s].push_back(token);
      on_token(s, token);
      const bool ended = std::find(eos.begin(), eos.end(), token) != eos.end();
      if (ended || static_cast<int64_t>(generated[s].size()) >= request.most) continue;
      still.push_back(s);
      next.push_back({static_cast<int64_t>(s), token});
    }
    if (still.empty()) return generated;
    going = std::move(still);
    predictions = engine.decode(next);
  }
}

void print_all(const ModelSpec& spec, const std::vector<Ids>& prompts,
               const std::vector<Ids>& generated) {
  for (size_t s = 0; s < prompts.size(); ++s) {
    fmt::print("\nsequence {}\n", s);
    cli::print_prompt(spec, prompts[s]);
    for (const int64_t id : generated[s]) fmt::print(" {}", id);
    cli::print_finish(spec, generated[s]);
  }
}

void print_json(const cli::ModelInput& input, const std::vector<Ids>& prompts, int64_t most,
                const std::vector<Ids>& generated) {
  cli::Json json = cli::model_json(input, engine_compute());
  if (prompts.size() == 1) {
    cli::print_json(
        cli::generated_json(input.spec, prompts[0], most, generated[0], std::move(json)));
    return;
  }
  for (size_t s = 0; s < prompts.size(); ++s) {
    json["sequences"].push_back(
        cli::generated_json(input.spec, prompts[s], most, generated[s], {}));
  }
  cli::print_json(json);
}

}  // namespace

int run_generate(const cli::Arguments& arguments) {
  po::options_description options("options");
  cli::add_model_options(options);
  cli::add_prompts_option(options);
  cli::add_generate_options(options);
  add_gpu_options(options);
  const auto given = cli::parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const cli::GenerateRequest request = cli::read_generate_request(*given);
  cli::ModelInput input = cli::open_model(*given);
  std::vector<Ids> prompts;
  for (cli::SequenceInput& sequence : cli::read_sequences(*given, input.spec)) {
    prompts.push_back(std::move(sequence.tokens));
    cli::warn_past_end("orthros-cuda", input.spec, static_cast<int64_t>(prompts.back().size()),
                       request.most);
  }
  input.spec.eos = cli::eos_ids(*given, input.spec);
  require_runnable(input.spec);
  const EngineLimits limits = limits_for(prompts, request);
  require_device();
  const DeviceRunner engine(input, limits, read_gpu_request(*given));

  // A lone prompt's ids are shown as they come.
  const bool lone = prompts.size() == 1;
  if (!request.json) {
    cli::print_model(input, engine_compute());
    if (lone) cli::print_prompt(input.spec, prompts[0]);
  }
  const std::vector<Ids> generated =
      continue_prompts(*engine, prompts, request, [&](size_t, int64_t token) {
        if (request.json || !lone) return;
        fmt::print(" {}", token);
        std::fflush(stdout);
      });
  if (request.json) {
    print_json(input, prompts, request.most, generated);
  } else if (lone) {
    cli::print_finish(input.spec, generated[0]);
  } else {
    print_all(input.spec, prompts, generated);
  }
  return 0;
}

}  // namespace orthros::cuda
