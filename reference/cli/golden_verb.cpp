// orthros-ref golden: a random checkpoint with every intermediate, to test kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reference/cli/golden_capture.hpp"
#include "reference/cli/loaded_model.hpp"
#include "reference/cli/model_report.hpp"
#include "reference/cli/sequence_options.hpp"
#include "reference/cli/verbs.hpp"
#include "reference/convert/random_checkpoint.hpp"
#include "reference/model/forward.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/spec/json_fields.hpp"
#include "reference/spec/output_file.hpp"
#include "reference/spec/output_folder.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage =
    "orthros-ref golden --random SPEC --seed N --out DIR [--arch A] [--tokens 5,7,9 | --length T]";

constexpr const char* notes = R"(examples
  orthros-ref golden --arch orthros --window 4 --random config.json --seed 1 --out golden
  orthros-ref golden --arch gdn --random config.json --seed 1 --length 130 --outputs last --out golden

DIR gets a checkpoint (config.json, model.safetensors in BF16) that 'orthros-ref run --model DIR'
takes, tokens.json, outputs.json, intermediates.safetensors in F64, and a README.md that names each
tensor with its shape. DIR appears whole or not at all.
)";

struct GoldenRequest {
  std::vector<int64_t> tokens;
  std::vector<int64_t> outputs;
};

GoldenRequest read_request(const po::variables_map& given, const ModelSpec& spec, uint64_t seed) {
  GoldenRequest request;
  if (has_option(given, "tokens")) {
    if (!given["length"].defaulted()) {
      throw InputError("--length", "", "expected one of --tokens and --length, got both");
    }
    request.tokens = read_tokens(given, spec);
  } else {
    constexpr int64_t most = 1 << 20;
    const int64_t length = size_option(given, "length", 1);
    if (length > most) {
      throw InputError("--length", "", fmt::format("expected 1 to {}, got {}", most, length));
    }
    const CounterRandom random(seed, "tokens");
    for (int64_t i = 0; i < length; ++i) {
      const uint64_t bits = random.bits(static_cast<uint64_t>(i));
      request.tokens.push_back(static_cast<int64_t>(bits % static_cast<uint64_t>(spec.vocab)));
    }
  }
  request.outputs =
      parse_outputs(text_option(given, "outputs"), static_cast<int64_t>(request.tokens.size()));
  return request;
}

std::vector<NamedTensor> intermediates(const ModelInput& input, const GoldenRequest& request) {
  const Model<double> model = load_input<double>(input);
  const auto length = static_cast<int64_t>(request.tokens.size());
  GoldenCapture capture(model.spec, length);
  Progress progress("running layers",
                    layer_rows(model.spec, length, static_cast<int64_t>(request.outputs.size())));
  ForwardOptions<double> options;
  options.observer = [&](std::string_view name, int64_t layer, const Matrix<double>& rows) {
    capture.observe(name, layer, rows);
    if (name == "residual") progress.add(rows.rows());
  };
  Cache<double> cache(model.spec);
  const Logits<double> logits =
      forward<double>(model, cache, request.tokens, request.outputs, options);
  std::vector<NamedTensor> tensors = capture.take();
  tensors.push_back(named_tensor("logits", logits));
  add_cache(model.spec, cache, "", tensors);
  return tensors;
}

std::string readme(const ModelInput& input, const GoldenRequest& request,
                   const std::vector<NamedTensor>& tensors) {
  std::string text = fmt::format(
      "# Golden vectors: {}\n\n"
      "Random weights of {}, seed {}, in BF16; all arithmetic in double. {} tokens (tokens.json), "
      "{} "
      "output positions, from 1 (outputs.json).\n\n"
      "    orthros-ref run --model . --tokens @tokens.json --outputs {} --json\n\n"
      "gives the same logits. `intermediates.safetensors`, F64, row-major: base tensors have a row "
      "for each token, output tensors a row for each output position in the order of outputs.json. "
      "Layers count from 0; a head's channels are contiguous in a row.\n\n"
      "| Tensor | Shape | What it is |\n|---|---|---|\n",
      architecture_text(input.arch, input.spec), input.name, *input.seed, request.tokens.size(),
      request.outputs.size(), request.outputs.empty() ? "none" : "@outputs.json");
  for (const NamedTensor& tensor : tensors) {
    text += fmt::format("| {} | {} | {} |\n", tensor.name, fmt::join(tensor.shape, " x "),
                        meaning_of(tensor.name));
  }
  return text;
}

}  // namespace

int run_golden(const Arguments& arguments) {
  po::options_description options("options");
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  add_random_options(options);
  options.add_options()("out", text("DIR"), "the folder to make; may exist if it is empty");
  add_tokens_option(options);
  options.add_options()("length", text("T")->default_value("16"),
                        "in place of --tokens: random tokens")(
      "outputs", text("all|last|none|1,3")->default_value("all"), "positions to predict at")(
      "json", "print JSON");
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const std::string out = text_option(*given, "out");
  if (!has_option(*given, "random")) {
    throw InputError("--random", "", "expected a config or a preset, got none");
  }
  const ModelInput input = open_model(*given);
  const GoldenRequest request = read_request(*given, input.spec, *input.seed);
  OutputFolder folder(out);
  const std::vector<NamedTensor> tensors = intermediates(input, request);
  write_random_checkpoint(read_json_file(input.source), input.spec, *input.seed, folder.path());
  write_text_file(folder.path() / "tokens.json", Json(request.tokens).dump() + "\n");
  write_text_file(folder.path() / "outputs.json", Json(request.outputs).dump() + "\n");
  write_text_file(folder.path() / "README.md", readme(input, request, tensors));
  write_tensors(folder.path() / "intermediates.safetensors", tensors,
                {{"arch", input.arch}, {"seed", std::to_string(*input.seed)}});
  folder.commit();
  if (has_option(*given, "json")) {
    Json json;
    json["model"] = input.name;
    json["arch"] = input.arch;
    json["seed"] = *input.seed;
    json["tokens"] = request.tokens;
    json["outputs"] = request.outputs;
    json["out"] = out;
    json["tensors"] = tensors.size();
    print_json(json);
    return 0;
  }
  fmt::print("model   {} ({}; random weights, seed {})\n", input.name, input.source, *input.seed);
  fmt::print("arch    {}\ntokens  {}: {}\n", architecture_text(input.arch, input.spec),
             request.tokens.size(), ids_text(request.tokens));
  fmt::print("wrote   {}: a checkpoint and {} tensors; README.md names them\n", out,
             tensors.size());
  return 0;
}

}  // namespace orthros::cli
