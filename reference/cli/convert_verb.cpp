// orthros-ref convert: a checkpoint of another architecture with the same weights.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reference/cli/model_options.hpp"
#include "reference/cli/model_report.hpp"
#include "reference/cli/verbs.hpp"
#include "reference/cli_support/architecture_option.hpp"
#include "reference/cli_support/progress.hpp"
#include "reference/convert/convert_checkpoint.hpp"
#include "reference/spec/architecture.hpp"
#include "reference/spec/config.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage = "orthros-ref convert --model DIR --out DIR2 [--arch A] [--window W]";

constexpr const char* notes = R"(examples
  orthros-ref convert --model qwen3 --out qwen3-orthros
  orthros-ref convert --model qwen3 --out qwen3-swa --arch swa --window 512

Weights are copied byte for byte, in the shards that they are in, with the generation config and the
tokenizer's files. A Transformer that becomes orthros gets an identity scale-offset (scale 1, offset
0): its logits are those of 'orthros-ref run --arch orthros-noso' on the source. Nothing else is made
up: an architecture that needs other weights is refused. DIR2 appears whole or not at all.
)";

Json conversion_json(const std::string& model, const std::string& arch, const ModelSpec& target,
                     const std::string& out, const Conversion& conversion) {
  Json json;
  json["model"] = model;
  json["out"] = out;
  json["arch"] = arch;
  const auto window = window_of(target);
  json["window"] = window ? Json(*window) : Json();
  json["copied"] = conversion.copied;
  json["added"] = conversion.added;
  json["left_out"] = conversion.left_out;
  json["files"] = conversion.files;
  return json;
}

}  // namespace

int run_convert(const Arguments& arguments) {
  po::options_description options("options");
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  options.add_options()("model", text("DIR"), "the checkpoint to start from")(
      "out", text("DIR2"), "the folder to make; may exist if it is empty");
  options.add_options()("arch", text("A")->default_value("orthros"),
                        "an architecture whose weights DIR holds: transformer, swa, orthros, "
                        "orthros-noso, of a hybrid linear-hybrid, orthros-h")(
      "window", text("W"), "keys that a windowed row sees, itself included")("json", "print JSON");
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const std::string model = text_option(*given, "model");
  const std::string out = text_option(*given, "out");
  const std::string arch = text_option(*given, "arch");
  const CheckpointPaths paths = checkpoint_paths(model);
  const ModelSpec source = load_spec(paths.config);
  const ModelSpec target = spec_in_architecture(source, arch, optional_size(*given, "window"));
  const TensorSource files(paths.weights);
  int64_t bytes = 0;
  for (const TensorView* view : files.tensors()) bytes += static_cast<int64_t>(view->bytes.size());
  Progress progress("copying weights", bytes);
  const Conversion conversion = convert_checkpoint(paths.config, files, target, out,
                                                   [&](int64_t copied) { progress.add(copied); });
  if (has_option(*given, "json")) {
    print_json(conversion_json(model, arch, target, out, conversion));
    return 0;
  }
  fmt::print("from    {} ({})\nto      {} ({})\n", model,
             architecture_text(architecture_of(source), source), out,
             architecture_text(arch, target));
  fmt::print("tensors {} copied, {} added as the identity, {} left out\n", conversion.copied,
             conversion.added.size(), conversion.left_out.size());
  fmt::print("files   {}\n", fmt::join(conversion.files, ", "));
  return 0;
}

}  // namespace orthros::cli
