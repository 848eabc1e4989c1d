// Groups layers and sums sizes.
#include "reference/cli/model_shape.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/spec/input_error.hpp"
#include "reference/spec/tensor_table.hpp"

namespace orthros::cli {
namespace {

std::string rope_text(const Rope& rope) {
  static constexpr const char* scalings[] = {"", ", linear", ", llama3", ", yarn"};
  return fmt::format(", RoPE theta {:g} on {}{}", rope.theta, rope.width,
                     scalings[static_cast<size_t>(rope.scaling)]);
}

std::string softmax_text(const ModelSpec& spec, const SoftmaxAttention& mixer) {
  const bool dual = spec.streams == Streams::dual;
  std::string text = mixer.kv == KvSource::shared ? "cross attention on the shared KV"
                     : mixer.window ? fmt::format("windowed attention ({} keys)", *mixer.window)
                                    : "full attention";
  if (dual) text += ", output stream full";
  text += fmt::format(", {} query and {} KV heads x {}", mixer.query_heads, mixer.kv_heads,
                      mixer.head_width);
  if (mixer.qk_norm) text += ", qk-norm";
  if (mixer.gated) text += ", gated";
  if (dual && mixer.scale_offset != ScaleOffset::none) {
    text += mixer.scale_offset == ScaleOffset::before_qk_norm ? ", scale-offset before qk-norm"
                                                              : ", scale-offset";
  }
  return text + (mixer.rope ? rope_text(*mixer.rope) : "");
}

std::string linear_text(const ModelSpec& spec, const LinearMixer& mixer) {
  static constexpr const char* kinds[] = {"retention", "gated retention", "gated linear attention",
                                          "gated delta rule"};
  std::string text = fmt::format("{}, {} key heads x {}, {} value heads x {}",
                                 kinds[static_cast<size_t>(mixer.kind)], mixer.key_heads,
                                 mixer.key_width, mixer.value_heads, mixer.value_width);
  if (mixer.conv_width > 0) text += fmt::format(", conv {}", mixer.conv_width);
  if (mixer.gate_rank > 0) text += fmt::format(", gate rank {}", mixer.gate_rank);
  if (spec.streams == Streams::dual) text += ", read by output copies";
  return text + (mixer.rope ? rope_text(*mixer.rope) : "");
}

// Sums products that untrusted sizes may drive past 64 bits.
class Sum {
 public:
  explicit Sum(const ModelSpec& spec) : spec_(spec) {}
  void add(std::initializer_list<int64_t> factors) {
    int64_t product = 1;
    for (const int64_t factor : factors) {
      if (__builtin_mul_overflow(product, factor, &product)) fail();
    }
    if (__builtin_add_overflow(total_, product, &total_)) fail();
  }
  int64_t total() const { return total_; }

 private:
  [[noreturn]] void fail() const {
    throw InputError(spec_.source, "layers", "expected sizes in memory within 64 bits");
  }
  const ModelSpec& spec_;
  int64_t total_ = 0;
};

}  // namespace

std::vector<LayerKind> layer_kinds(const ModelSpec& spec) {
  std::vector<LayerKind> kinds;
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const auto same = [&](const LayerKind& kind) { return kind.layer == spec.layers[i]; };
    auto kind = std::find_if(kinds.begin(), kinds.end(), same);
    if (kind == kinds.end()) kind = kinds.insert(kind, {spec.layers[i], {}});
    kind->indices.push_back(static_cast<int64_t>(i));
  }
  return kinds;
}

std::string mixer_text(const ModelSpec& spec, const Layer& layer) {
  const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer);
  return softmax != nullptr ? softmax_text(spec, *softmax)
                            : linear_text(spec, std::get<LinearMixer>(layer.mixer));
}

std::string ranges_text(std::span<const int64_t> indices) {
  std::string text;
  for (size_t i = 0; i < indices.size();) {
    size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(indices[i]);
    if (end - i > 1) text += fmt::format("-{}", indices[end - 1]);
    i = end;
  }
  return text;
}

MemorySizes memory_sizes(const ModelSpec& spec) {
  const int64_t width = bytes_of(spec.dtype);
  Sum weights(spec), kv(spec), states(spec), conv(spec);
  weights.add({parameter_count(spec), width});
  bool shared = false;
  for (const Layer& layer : spec.layers) {
    if (const auto* linear = std::get_if<LinearMixer>(&layer.mixer)) {
      states.add({linear->value_heads, linear->key_width, linear->value_width, 4});
      if (linear->conv_width > 0)
        conv.add({linear->conv_width - 1, linear->conv_channels(), width});
      continue;
    }
    const auto& softmax = std::get<SoftmaxAttention>(layer.mixer);
    const bool own = softmax.kv == KvSource::own || !shared;
    shared = shared || softmax.kv == KvSource::shared;
    if (own) kv.add({2, softmax.kv_width(), width});
  }
  return {weights.total(), kv.total(), states.total(), conv.total()};
}

std::string bytes_text(int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  if (bytes < (int64_t{1} << 20)) return fmt::format("{} bytes ({:g} KiB)", bytes, value / 0x1p10);
  if (bytes < (int64_t{1} << 30))
    return fmt::format("{} bytes ({:.4g} MiB)", bytes, value / 0x1p20);
  return fmt::format("{} bytes ({:.2f} GiB, {:.2f} GB)", bytes, value / 0x1p30, value / 1e9);
}

}  // namespace orthros::cli
