// Names intermediates and says what they are.
#include "reference/cli/golden_capture.hpp"

#include <fmt/format.h>

#include <utility>

namespace orthros::cli {
namespace {

constexpr std::pair<std::string_view, const char*> meanings[] = {
    {"embedding", "the token's embedding, where each stream starts"},
    {"normed", "RMSNorm(x) at the layer's entry"},
    {"q",
     "queries; of softmax layers after qk-norm, scale-offset and RoPE, of linear layers after the "
     "convolution and SiLU (or what an output copy has in their place), before L2 norm, RoPE "
     "and scale"},
    {"k", "keys; of softmax layers after qk-norm and RoPE, of linear layers as q"},
    {"v", "values; of linear layers after the convolution and SiLU"},
    {"log_gate", "log of the state's decay, per value head or key channel"},
    {"write", "beta, the delta rule's write strength, per value head"},
    {"attention", "what meets W_O: attention's result, or the normed and gated read of the state"},
    {"residual", "x behind the layer's mixer and FFN"},
    {"final_normed", "RMSNorm(x) before the head"},
    {"logits", "a row for each output position"},
    {"keys", "the KV cache at the end: every position's keys, as k"},
    {"values", "the KV cache at the end: every position's values"},
    {"states", "the state S behind the last token: Hv x K x V"},
    {"conv_inputs", "inputs that the convolution still needs, oldest first: (taps - 1) x channels"},
};

}  // namespace

void GoldenCapture::observe(std::string_view name, int64_t layer, const Matrix<double>& rows) {
  // Behind a single stream's self layers only the output positions go on.
  const bool dual = spec_.streams == Streams::dual;
  const bool behind = name == "final_normed" || (layer >= spec_.self_layers() && !dual);
  const bool shared = behind && (name == "k" || name == "v");
  const int64_t base_rows = behind && !shared ? 0 : tokens_;
  const std::string at = layer < 0 ? "" : fmt::format("layers.{}.", layer);
  if (shared) {
    tensors_.push_back(named_tensor(fmt::format("shared_kv.{}", name), rows));
    return;
  }
  if (base_rows > 0) {
    const Matrix<double> base = rows.topRows(base_rows);
    tensors_.push_back(named_tensor(fmt::format("{}base.{}", at, name), base));
  }
  const Matrix<double> output = rows.bottomRows(rows.rows() - base_rows);
  if (behind || output.rows() > 0) {
    tensors_.push_back(named_tensor(fmt::format("{}output.{}", at, name), output));
  }
}

std::string meaning_of(std::string_view tensor_name) {
  for (const auto& [name, meaning] : meanings) {
    if (tensor_name == name || tensor_name.ends_with(fmt::format(".{}", name)) ||
        tensor_name.starts_with(fmt::format("{}.", name))) {
      return meaning;
    }
  }
  return "";
}

}  // namespace orthros::cli
