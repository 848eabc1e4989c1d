// orthros-ref loss: cross-entropy of a sequence, as in pretraining or fine-tuning.
#include <fmt/format.h>

#include <cmath>

#include "reference/cli/loaded_model.hpp"
#include "reference/cli/model_report.hpp"
#include "reference/cli/sequence_options.hpp"
#include "reference/cli/verbs.hpp"
#include "reference/model/modes.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage =
    "orthros-ref loss (--model DIR | --random SPEC --seed N) --tokens 5,7,9|@FILE [options]";

constexpr const char* notes = R"(examples
  orthros-ref loss --model DIR --tokens @text.txt
  orthros-ref loss --model DIR --tokens @dialogue.txt --mode finetune --prompt 120 --end 2 --json

pretrain: every position predicts the token behind it. finetune: the first --prompt tokens only build
memory; the answer behind them is predicted. With --end the last position predicts that id, so an
answer of R tokens has R + 1 predicting positions.
--json: {model, arch, window, scalar, seed, tokens, mode, prompt, end, loss, perplexity, each}: loss
the mean in nats, each a list of {position, target, loss}.
)";

struct LossRequest {
  std::vector<int64_t> tokens;
  std::optional<int64_t> prompt;  // fine-tuning
  std::optional<int64_t> end;

  // What a position, from 1, predicts.
  int64_t target(int64_t position) const {
    const auto next = static_cast<size_t>(position);
    return next < tokens.size() ? tokens[next] : end.value();
  }
};

LossRequest read_request(const po::variables_map& given, const ModelSpec& spec) {
  LossRequest request;
  const bool finetune = choice_option(given, "mode", {"pretrain", "finetune"}) == "finetune";
  request.prompt = optional_size(given, "prompt", 1);
  if (finetune != request.prompt.has_value()) {
    throw InputError("--prompt", "",
                     finetune ? "expected the prompt's length beside --mode finetune, got none"
                              : "expected only beside --mode finetune");
  }
  request.end = optional_size(given, "end");
  request.tokens = read_tokens(given, spec);
  const auto length = static_cast<int64_t>(request.tokens.size());
  if (request.prompt && *request.prompt > length) {
    throw InputError("--prompt", "",
                     fmt::format("expected 1 to {}, got {}", length, *request.prompt));
  }
  if (request.end && *request.end >= spec.vocab) {
    throw InputError(
        "--end", "",
        fmt::format("expected an id from 0 to {}, got {}", spec.vocab - 1, *request.end));
  }
  if (!request.end && request.prompt.value_or(1) >= length) {
    throw InputError("--tokens", "",
                     "expected a token to predict behind the first position or the prompt; --end "
                     "predicts one behind the last");
  }
  return request;
}

Json loss_json(const LossRequest& request, const Loss& loss, Json json) {
  const auto number = [](const auto& value) { return value ? Json(*value) : Json(); };
  json["tokens"] = request.tokens;
  json["mode"] = request.prompt ? "finetune" : "pretrain";
  json["prompt"] = number(request.prompt);
  json["end"] = number(request.end);
  json["loss"] = loss.mean();
  json["perplexity"] = std::exp(loss.mean());
  json["each"] = Json::array();
  for (size_t i = 0; i < loss.each.size(); ++i) {
    Json at;
    at["position"] = loss.positions[i];
    at["target"] = request.target(loss.positions[i]);
    at["loss"] = loss.each[i];
    json["each"].push_back(std::move(at));
  }
  return json;
}

}  // namespace

int run_loss(const Arguments& arguments) {
  po::options_description options("options");
  add_model_options(options);
  add_tokens_option(options);
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  options.add_options()("mode", po::value<std::string>()->default_value("pretrain"),
                        "pretrain or finetune")("prompt", text("N"),
                                                "tokens of the prompt; finetune")(
      "end", text("ID"), "the id that the last position predicts")("json", "print JSON");
  add_compute_options(options);
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const ComputeOptions compute = read_compute_options(*given);
  const ModelInput input = open_model(*given);
  const LossRequest request = read_request(*given, input.spec);
  const auto length = static_cast<int64_t>(request.tokens.size());
  warn_past_max_positions("orthros-ref", input.spec, length);

  const Loss loss = with_model(input, compute, [&]<class S>(const Model<S>& model) {
    const int64_t outputs = length - request.prompt.value_or(1) + 1;
    Progress progress("running layers", layer_rows(model.spec, length, outputs));
    const ForwardOptions<S> forward = forward_options<S>(compute, progress);
    return request.prompt
               ? fine_tune<S>(model, request.tokens, *request.prompt, request.end, forward)
               : pretrain<S>(model, request.tokens, request.end, forward);
  });
  if (has_option(*given, "json")) {
    print_json(loss_json(request, loss, model_json(input, compute)));
    return 0;
  }
  print_model(input, compute);
  fmt::print("tokens  {}: {}\n", length, ids_text(request.tokens));
  fmt::print("mode    {}, {} predicting positions from {} to {}\n",
             request.prompt ? "finetune" : "pretrain", loss.positions.size(),
             loss.positions.front(), loss.positions.back());
  fmt::print("loss    {:.9g} nats, perplexity {:.6g}\n", loss.mean(), std::exp(loss.mean()));
  return 0;
}

}  // namespace orthros::cli
