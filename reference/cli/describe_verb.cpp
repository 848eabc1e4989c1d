// orthros-ref describe: layers, sizes and tensors of a model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>

#include "reference/cli/model_report.hpp"
#include "reference/cli/model_shape.hpp"
#include "reference/cli/tensor_listing.hpp"
#include "reference/cli/verbs.hpp"
#include "reference/cli_support/architecture_option.hpp"
#include "reference/spec/config.hpp"
#include "reference/spec/tensor_table.hpp"

namespace orthros::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* usage =
    "orthros-ref describe --model DIR|FILE|PRESET [--arch A] [--window W]";

constexpr const char* notes = R"(examples
  orthros-ref describe --model DIR
  orthros-ref describe --model qwen3-8b --arch orthros --window 128 --json

MODEL is a checkpoint's folder, a config.json, a *.safetensors beside one, or a preset of
scenarios/models/. Weights are looked at by name and shape only, never read. KV and conv inputs are
counted in the model's dtype, recurrent states in F32.
)";

struct Described {
  ModelSpec spec;
  std::string arch;
  std::string name;
  std::optional<TensorListing> tensors;  // where there is a checkpoint
};

// Whether a checkpoint's weights stand there, whole or not.
bool has_weights(const fs::path& path) {
  std::error_code error;
  if (path.extension() == ".safetensors") return true;
  if (fs::exists(path / "model.safetensors.index.json", error)) return true;
  fs::directory_iterator entries(path, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (entries->path().extension() == ".safetensors") return true;
  }
  return false;
}

Described open_described(const po::variables_map& given) {
  const std::string model = text_option(given, "model");
  const auto arch = optional_text(given, "arch");
  const auto window = optional_size(given, "window");
  std::error_code error;
  Described described;
  // A folder or file of that name comes before a preset: it is what `run` would open.
  if (fs::exists(model, error)) {
    const CheckpointPaths paths = checkpoint_paths(model);
    described.spec = spec_in_architecture(load_spec(paths.config), arch, window);
    if (has_weights(paths.weights)) {
      described.tensors = list_tensors(described.spec, TensorSource(paths.weights));
    }
  } else {
    described.spec = spec_in_architecture(load_model_spec(model), arch, window);
  }
  described.arch = architecture_name(given, described.spec);
  described.name = described.spec.name.empty() ? model : described.spec.name;
  return described;
}

const char* streams_text(const ModelSpec& spec) {
  return spec.streams == Streams::dual ? "dual" : "single";
}
const char* norm_text(const ModelSpec& spec) {
  return spec.norm == NormKind::zero_centred ? "zero_centred" : "plain";
}

Json describe_json(const Described& described) {
  const ModelSpec& spec = described.spec;
  Json json;
  json["model"] = described.name;
  json["source"] = spec.source;
  json["model_type"] = spec.model_type;
  json["arch"] = described.arch;
  const auto window = window_of(spec);
  json["window"] = window ? Json(*window) : Json();
  json["streams"] = streams_text(spec);
  json["dtype"] = name_of(spec.dtype);
  json["vocab"] = spec.vocab;
  json["hidden"] = spec.hidden;
  json["tied_embeddings"] = spec.tied_embeddings;
  json["norm"] = {{"kind", norm_text(spec)}, {"eps", spec.norm_eps}};
  json["max_positions"] = spec.max_positions > 0 ? Json(spec.max_positions) : Json();
  json["eos"] = spec.eos;
  json["layers"] = spec.layers.size();
  json["layer_kinds"] = Json::array();
  for (const LayerKind& kind : layer_kinds(spec)) {
    json["layer_kinds"].push_back({{"layers", kind.indices},
                                   {"mixer", mixer_text(spec, kind.layer)},
                                   {"ffn", kind.layer.ffn.width}});
  }
  const MemorySizes memory = memory_sizes(spec);
  json["parameters"] = parameter_count(spec);
  json["weights_bytes"] = memory.weights_bytes;
  json["kv_bytes_per_token"] = memory.kv_bytes_per_token;
  json["state_bytes"] = memory.state_bytes;
  json["conv_bytes"] = memory.conv_bytes;
  json["tensors"] = nullptr;
  if (const auto& tensors = described.tensors) {
    json["tensors"] = {{"file", tensors->file},       {"expected", tensors->expected},
                       {"present", tensors->present}, {"missing", tensors->missing},
                       {"unfit", tensors->unfit},     {"unexpected", tensors->unexpected},
                       {"bytes", tensors->bytes},     {"dtypes", tensors->dtypes}};
  }
  return json;
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr size_t most = 4;
  if (names.empty()) return "";
  if (names.size() <= most) return fmt::format(": {}", fmt::join(names, ", "));
  return fmt::format(": {}, ...",
                     fmt::join(names.begin(), names.begin() + static_cast<int64_t>(most), ", "));
}

void print_described(const Described& described) {
  const ModelSpec& spec = described.spec;
  fmt::print("model    {} ({})\n", described.name, spec.source);
  fmt::print("arch     {}; {} stream{}, from model_type {}\n",
             architecture_text(described.arch, spec), streams_text(spec),
             spec.streams == Streams::dual ? "s" : "", spec.model_type);
  fmt::print("sizes    hidden {}, vocab {}{}, {} norm eps {:g}, positions {}\n", spec.hidden,
             spec.vocab, spec.tied_embeddings ? " (tied)" : "", norm_text(spec), spec.norm_eps,
             spec.max_positions > 0 ? std::to_string(spec.max_positions) : "not stated");
  fmt::print("layers   {}\n", spec.layers.size());
  for (const LayerKind& kind : layer_kinds(spec)) {
    fmt::print("  {} x {}; SwiGLU {}; layers {}\n", kind.indices.size(),
               mixer_text(spec, kind.layer), kind.layer.ffn.width, ranges_text(kind.indices));
  }
  const MemorySizes memory = memory_sizes(spec);
  fmt::print("weights  {} parameters, {} in {}\n", parameter_count(spec),
             bytes_text(memory.weights_bytes), name_of(spec.dtype));
  fmt::print("KV       {} a token\n", bytes_text(memory.kv_bytes_per_token));
  fmt::print("state    {} a sequence, conv inputs {}\n", bytes_text(memory.state_bytes),
             bytes_text(memory.conv_bytes));
  fmt::print("eos      {}\n", spec.eos.empty() ? "none" : ids_text(spec.eos));
  if (!described.tensors) {
    fmt::print("tensors  no checkpoint here\n");
    return;
  }
  const TensorListing& tensors = *described.tensors;
  fmt::print("tensors  {} of {} present, {} in {} ({})\n", tensors.present, tensors.expected,
             bytes_text(tensors.bytes), fmt::join(tensors.dtypes, ", "), tensors.file);
  if (!tensors.missing.empty()) {
    fmt::print("  missing {}{}\n", tensors.missing.size(), names_text(tensors.missing));
  }
  if (!tensors.unfit.empty()) {
    fmt::print("  unfit {}{}\n", tensors.unfit.size(), names_text(tensors.unfit));
  }
  if (!tensors.unexpected.empty()) {
    fmt::print("  unused {}{}\n", tensors.unexpected.size(), names_text(tensors.unexpected));
  }
}

}  // namespace

int run_describe(const Arguments& arguments) {
  po::options_description options("options");
  options.add_options()("model", po::value<std::string>()->value_name("MODEL"),
                        "a checkpoint, a config.json or a preset");
  add_architecture_options(options);
  options.add_options()("json", "print JSON");
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const Described described = open_described(*given);
  if (has_option(*given, "json")) {
    print_json(describe_json(described));
  } else {
    print_described(described);
  }
  return 0;
}

}  // namespace orthros::cli
