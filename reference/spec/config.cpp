// Reads a Hugging Face config.json into a ModelSpec.
#include "reference/spec/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reference/spec/architecture.hpp"
#include "reference/spec/config_extension.hpp"
#include "reference/spec/config_rope.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/spec/json_fields.hpp"
#include "reference/spec/scenario_files.hpp"

namespace orthros {
namespace {

enum class Family { llama, mistral, qwen3, qwen3_5, orthros };

struct KnownType {
  const char* name;
  Family family;
};
constexpr KnownType known_types[] = {
    {"llama", Family::llama}, {"mistral", Family::mistral}, {"orthros", Family::orthros},
    {"qwen3", Family::qwen3}, {"qwen3_5", Family::qwen3_5}, {"qwen3_5_text", Family::qwen3_5},
};

Family family_of(const JsonFields& config) {
  const std::string type = config.required_text("model_type");
  std::vector<std::string> names;
  for (const KnownType& known : known_types) {
    if (type == known.name) return known.family;
    names.emplace_back(known.name);
  }
  config.fail("model_type",
              fmt::format("expected one of {}, got \"{}\"", fmt::join(names, ", "), type));
}

void refuse_unsupported(const JsonFields& config) {
  config.require_text("hidden_act", "silu");
  for (const char* name : {"attention_bias", "mlp_bias", "use_qk_l2_norm", "add_cross_attention"}) {
    config.require_false(name);
  }
  for (const char* name : {"quantization_config", "compression_config"}) {
    config.require_absent(name, "quantised checkpoints are not supported");
  }
  for (const char* name : {"num_experts", "num_local_experts", "n_routed_experts"}) {
    if (config.integer(name).value_or(0) > 0) {
      config.fail(name, "expected nothing: mixtures of experts are not supported");
    }
  }
}

// The count of layers, bounded before anything is made from it.
size_t layer_count(const JsonFields& config) {
  const int64_t layers = config.required_integer("num_hidden_layers");
  if (layers < 1 || layers > max_layers) {
    config.fail("num_hidden_layers", fmt::format("expected 1 to {}, got {}", max_layers, layers));
  }
  return static_cast<size_t>(layers);
}

enum class LayerType { full, sliding, linear };

std::optional<std::vector<LayerType>> layer_types(const JsonFields& config, size_t layers) {
  const nlohmann::json* types = config.raw("layer_types");
  if (types == nullptr) return std::nullopt;
  if (!types->is_array() || types->size() != layers) {
    config.fail("layer_types",
                fmt::format("expected a list of {} layer types, got {}", layers, shown(*types)));
  }
  std::vector<LayerType> result;
  for (const nlohmann::json& type : *types) {
    if (type == "full_attention") {
      result.push_back(LayerType::full);
    } else if (type == "sliding_attention") {
      result.push_back(LayerType::sliding);
    } else if (type == "linear_attention") {
      result.push_back(LayerType::linear);
    } else {
      config.fail("layer_types",
                  fmt::format("expected full_attention, sliding_attention or linear_attention, "
                              "got {}",
                              shown(type)));
    }
  }
  return result;
}

using Windows = std::vector<std::optional<int64_t>>;

// sliding_window as one number, a list with one entry (or null) a layer, or null.
Windows listed_windows(const JsonFields& config, size_t layers) {
  Windows windows(layers);
  const nlohmann::json* value = config.raw("sliding_window");
  if (value == nullptr) return windows;
  if (!value->is_array()) {
    std::fill(windows.begin(), windows.end(), config.integer("sliding_window"));
    return windows;
  }
  if (value->size() != layers) {
    config.fail("sliding_window",
                fmt::format("expected a number or a list of {}, got {}", layers, shown(*value)));
  }
  for (size_t i = 0; i < layers; ++i) {
    const nlohmann::json& entry = (*value)[i];
    if (entry.is_null()) continue;
    windows[i] = whole_number(entry);
    if (!windows[i]) {
      config.fail("sliding_window",
                  fmt::format("expected whole numbers or null, got {}", shown(entry)));
    }
  }
  return windows;
}

// Each layer's window under the family's rules.
Windows layer_windows(const JsonFields& config, Family family, size_t layers) {
  Windows windows = listed_windows(config, layers);
  if (family == Family::orthros) {  // sliding_window alone sets w
    for (const auto& window : windows) {
      if (!window || window != windows.front()) {
        config.fail("sliding_window", "expected the base stream's one window");
      }
    }
    return windows;
  }
  const auto types = layer_types(config, layers);
  const auto use = config.boolean("use_sliding_window");
  if (family == Family::llama || family == Family::qwen3_5) {
    const bool sliding = types && std::count(types->begin(), types->end(), LayerType::sliding) > 0;
    if (sliding || (config.has("sliding_window") && use.value_or(true))) {
      config.fail(sliding ? "layer_types" : "sliding_window",
                  fmt::format("expected no sliding window for model_type {}",
                              config.required_text("model_type")));
    }
    return Windows(layers);
  }
  // Qwen3 turns windows on by use_sliding_window (off by default), Mistral by the number alone.
  if (!use.value_or(family == Family::mistral)) return Windows(layers);
  const int64_t first =
      family == Family::qwen3 ? config.integer("max_window_layers").value_or(28) : int64_t{0};
  for (size_t i = 0; i < layers; ++i) {
    const bool sliding =
        types ? (*types)[i] == LayerType::sliding : static_cast<int64_t>(i) >= first;
    if (types && sliding && !windows[i]) {
      config.fail("sliding_window", "expected a number beside sliding_attention layers");
    }
    if (!sliding) windows[i].reset();
  }
  return windows;
}

SoftmaxAttention softmax_from(const JsonFields& config, Family family, int64_t hidden) {
  SoftmaxAttention softmax;
  softmax.query_heads = config.required_integer("num_attention_heads");
  softmax.kv_heads = config.integer("num_key_value_heads").value_or(softmax.query_heads);
  if (const auto width = config.integer("head_dim")) {
    softmax.head_width = *width;
  } else {
    if (softmax.query_heads < 1 || hidden % softmax.query_heads != 0) {
      config.fail("head_dim", fmt::format("expected a number where hidden_size {} is no multiple "
                                          "of num_attention_heads {}",
                                          hidden, softmax.query_heads));
    }
    softmax.head_width = hidden / softmax.query_heads;
  }
  if (softmax.head_width < 1 || softmax.head_width > max_size) {
    config.fail("head_dim", fmt::format("expected 1 to {}, got {}", max_size, softmax.head_width));
  }
  softmax.gated = family == Family::qwen3_5;
  softmax.qk_norm = family == Family::qwen3 || family == Family::qwen3_5;
  if (family == Family::orthros) softmax.qk_norm = config.boolean("qk_norm").value_or(true);
  softmax.rope =
      rope_from_config(config, softmax.head_width, family == Family::qwen3_5 ? 0.25 : 1.0);
  return softmax;
}

LinearMixer gated_delta_from(const JsonFields& config) {
  LinearMixer mixer;
  mixer.kind = Recurrence::gated_delta;
  mixer.key_heads = config.required_integer("linear_num_key_heads");
  mixer.value_heads = config.required_integer("linear_num_value_heads");
  mixer.key_width = config.required_integer("linear_key_head_dim");
  mixer.value_width = config.required_integer("linear_value_head_dim");
  mixer.conv_width = config.required_integer("linear_conv_kernel_dim");
  return mixer;
}

// Which of Qwen3.5's layers are linear: as listed, or all but every full_attention_interval-th.
std::vector<bool> linear_layers(const JsonFields& config, Family family, size_t layers) {
  std::vector<bool> linear(layers, false);
  if (family == Family::orthros) return linear;
  if (const auto types = layer_types(config, layers)) {
    for (size_t i = 0; i < layers; ++i) linear[i] = (*types)[i] == LayerType::linear;
    const bool any = std::find(linear.begin(), linear.end(), true) != linear.end();
    if (any && family != Family::qwen3_5) {
      config.fail("layer_types", "expected linear_attention only in model_type qwen3_5");
    }
    return linear;
  }
  if (family != Family::qwen3_5) return linear;
  const int64_t interval = config.integer("full_attention_interval").value_or(4);
  if (interval < 1) {
    config.fail("full_attention_interval", fmt::format("expected at least 1, got {}", interval));
  }
  for (size_t i = 0; i < layers; ++i) {
    linear[i] = (static_cast<int64_t>(i) + 1) % interval != 0;
  }
  return linear;
}

std::vector<Layer> layers_from(const JsonFields& config, Family family, int64_t hidden) {
  const size_t count = layer_count(config);
  const Windows windows = layer_windows(config, family, count);
  const std::vector<bool> linear = linear_layers(config, family, count);
  SoftmaxAttention softmax = softmax_from(config, family, hidden);
  if (family == Family::orthros && config.boolean("scale_offset").value_or(true)) {
    softmax.scale_offset = scale_offset_placement(config);
  }
  const SwiGlu ffn{config.required_integer("intermediate_size")};
  std::vector<Layer> layers;
  for (size_t i = 0; i < count; ++i) {
    if (linear[i]) {
      layers.push_back({gated_delta_from(config), ffn});
    } else {
      softmax.window = windows[i];
      layers.push_back({softmax, ffn});
    }
  }
  return layers;
}

// dtype, or torch_dtype as it was called before; nothing where the config has neither.
std::optional<Dtype> dtype_from(const JsonFields& config) {
  const auto dtype = config.text("dtype");
  const auto torch_dtype = config.text("torch_dtype");
  if (!dtype && !torch_dtype) return std::nullopt;
  const std::string name = dtype ? *dtype : *torch_dtype;
  if (name == "bfloat16") return Dtype::bf16;
  if (name == "float16") return Dtype::f16;
  if (name == "float32") return Dtype::f32;
  if (name == "float64") return Dtype::f64;
  config.fail(dtype ? "dtype" : "torch_dtype",
              fmt::format("expected bfloat16, float16, float32 or float64, got \"{}\"", name));
}

// A number, a list of numbers, or nothing.
std::vector<int64_t> eos_from(const JsonFields& config) {
  const nlohmann::json* value = config.raw("eos_token_id");
  if (value == nullptr) return {};
  if (!value->is_array()) return {config.required_integer("eos_token_id")};
  std::vector<int64_t> ids;
  for (const nlohmann::json& id : *value) {
    const auto whole = whole_number(id);
    if (!whole) config.fail("eos_token_id", fmt::format("expected ids, got {}", shown(id)));
    ids.push_back(*whole);
  }
  return ids;
}

void add_eos(ModelSpec& spec, const JsonFields& config) {
  const std::vector<int64_t> ids = eos_from(config);
  for (int64_t id : ids) {
    if (id < 0 || id >= spec.vocab) {
      config.fail("eos_token_id",
                  fmt::format("expected an id below vocab_size {}, got {}", spec.vocab, id));
    }
  }
  spec.eos.insert(spec.eos.end(), ids.begin(), ids.end());
  std::sort(spec.eos.begin(), spec.eos.end());
  spec.eos.erase(std::unique(spec.eos.begin(), spec.eos.end()), spec.eos.end());
}

// The fields of the text model, from the config itself or its nested text_config.
ModelSpec spec_from_fields(const JsonFields& config, Family family) {
  refuse_unsupported(config);
  ModelSpec spec;
  spec.source = config.file();
  spec.vocab = config.required_integer("vocab_size");
  spec.hidden = config.required_integer("hidden_size");
  if (family == Family::qwen3_5 && !config.boolean("attn_output_gate").value_or(true)) {
    config.fail("attn_output_gate", "expected true: ungated full layers are not supported");
  }
  spec.layers = layers_from(config, family, spec.hidden);
  spec.streams = family == Family::orthros ? Streams::dual : Streams::single;
  spec.norm = family == Family::qwen3_5 ? NormKind::zero_centred : NormKind::plain;
  spec.norm_eps = config.required_number("rms_norm_eps");
  spec.tied_embeddings = config.boolean("tie_word_embeddings").value_or(false);
  if (const auto length = config.integer("max_position_embeddings")) {
    if (*length < 1) {
      config.fail("max_position_embeddings",
                  fmt::format("expected a positive length, got {}", *length));
    }
    spec.max_positions = *length;
  }
  return spec;
}

// qwen3_5 nests its text model beside a vision model; nobody else does.
std::optional<JsonFields> nested_text(const JsonFields& top) {
  const auto text = top.object("text_config");
  if (!text) return std::nullopt;
  if (top.required_text("model_type") != "qwen3_5") {
    top.fail("text_config", "expected nothing: only model_type qwen3_5 nests its text model");
  }
  text->require_text("model_type", "qwen3_5_text");
  return text;
}

}  // namespace

ModelSpec spec_from_config(const nlohmann::json& config, const std::string& file) {
  const JsonFields top(config, file);
  const Family family = family_of(top);
  const auto text = nested_text(top);
  ModelSpec spec = spec_from_fields(text ? *text : top, family);
  spec.model_type = (text && text->has("model_type") ? *text : top).required_text("model_type");
  spec.dtype =
      (text ? dtype_from(*text) : std::nullopt).value_or(dtype_from(top).value_or(Dtype::bf16));
  if (text) {
    refuse_unsupported(top);
    spec.tied_embeddings = top.boolean("tie_word_embeddings").value_or(spec.tied_embeddings);
  }
  spec.name = top.text("name").value_or("");
  if (const nlohmann::json* names = top.raw("hf_names")) {
    if (!names->is_array()) top.fail("hf_names", "expected a list of strings");
    for (const nlohmann::json& name : *names) {
      if (!name.is_string()) top.fail("hf_names", "expected a list of strings");
      spec.hf_names.push_back(name.get<std::string>());
    }
  }
  validate(spec);
  if (text) add_eos(spec, *text);
  add_eos(spec, top);
  return with_extension(spec, top);
}

ModelSpec load_spec(const std::filesystem::path& path) {
  std::error_code error;
  const bool folder = std::filesystem::is_directory(path, error);
  const auto file = folder ? path / "config.json" : path;
  ModelSpec spec = spec_from_config(read_json_file(file), file.string());
  if (spec.name.empty()) {
    const auto named = file.filename() == "config.json" ? file.parent_path() : file.stem();
    spec.name = named.filename().string();
  }
  const auto generation = file.parent_path() / "generation_config.json";
  if (file.filename() == "config.json" && std::filesystem::exists(generation, error)) {
    const nlohmann::json json = read_json_file(generation);
    add_eos(spec, JsonFields(json, generation.string()));
  }
  return spec;
}

ModelSpec load_model_spec(std::string_view file_or_preset) {
  return load_spec(scenario_path("models", file_or_preset));
}

}  // namespace orthros
