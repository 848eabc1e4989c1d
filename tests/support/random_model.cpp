// Draws small models and schedules with RapidCheck.
#include "tests/support/random_model.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "reference/weights/counter_random.hpp"

namespace orthros {
namespace {

// RapidCheck's ranges widen from case to case; the models are small enough to use the whole range
// from the first.
template <class T>
rc::Gen<T> range(T least, T most) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(least, most + 1));
}

int64_t draw(const char* what, int64_t least, int64_t most) {
  return *range(least, most).as(what);
}

template <class T>
T draw_one(const char* what, std::initializer_list<T> choices) {
  return *rc::gen::elementOf(std::vector<T>(choices)).as(what);
}

std::optional<Rope> draw_rope(int64_t head_width) {
  const int64_t kind = draw("rope: none, whole, partial, linear, llama3, yarn", 0, 5);
  if (kind == 0) return std::nullopt;
  Rope rope;
  rope.theta = draw_one("theta", {1e4, 5e5, 1e6});
  rope.width = kind == 2 ? 2 : head_width;
  rope.factor = 8.0;
  rope.original_max_position = 64;
  if (kind == 3) rope.scaling = RopeScaling::linear;
  if (kind == 4) rope.scaling = RopeScaling::llama3;
  if (kind == 5) {
    rope.scaling = RopeScaling::yarn;
    rope.attention_factor = 1.2;
  }
  if (kind < 3) rope.factor = 1.0;
  return rope;
}

// The Transformer that the architectures are made from.
ModelSpec draw_transformer() {
  SoftmaxAttention mixer;
  mixer.kv_heads = draw("KV heads", 1, 2);
  mixer.query_heads = mixer.kv_heads * draw("queries a KV head", 1, 3);
  mixer.head_width = 2 * draw("half head width", 1, 3);
  mixer.qk_norm = *rc::gen::arbitrary<bool>().as("qk-norm");
  mixer.gated = draw("gated attention where 0", 0, 3) == 0;
  mixer.rope = draw_rope(mixer.head_width);
  ModelSpec spec;
  spec.name = "random";
  spec.vocab = draw("vocabulary", 2, 19);
  spec.hidden = draw("hidden", 1, 12);
  spec.norm = draw_one("zero-centred norms", {NormKind::plain, NormKind::zero_centred});
  spec.norm_eps = draw_one("norm eps", {1e-5, 1e-6});
  spec.tied_embeddings = *rc::gen::arbitrary<bool>().as("tied");
  const int64_t layers = draw("layers", 1, 4);
  const int64_t ffn = draw("FFN width", 1, 13);
  spec.layers.assign(static_cast<size_t>(layers), Layer{mixer, SwiGlu{ffn}});
  return spec;
}

LinearSizes draw_linear_sizes() {
  LinearSizes sizes;
  sizes.key_heads = draw("linear key heads", 1, 2);
  sizes.value_heads = *sizes.key_heads * draw("value heads a key head", 1, 2);
  sizes.key_width = 2 * draw("half linear key width", 1, 3);
  sizes.value_width = draw("linear value width", 1, 6);
  sizes.conv_width = draw("conv width", 1, 4);
  sizes.gate_rank = draw("gate rank", 1, 3);
  return sizes;
}

}  // namespace

RandomModel draw_model(const std::vector<std::string>& architectures) {
  const std::string name = *rc::gen::elementOf(architectures).as("architecture");
  ModelSpec source = draw_transformer();
  const bool hybrid = name == "linear-hybrid" || name == "orthros-h";
  const bool decoder_decoder = name.starts_with("yoco");
  if (decoder_decoder && source.layers.size() < 2) source.layers.resize(2, source.layers[0]);
  if (hybrid && *rc::gen::arbitrary<bool>().as("a full layer")) {
    source.layers.resize(4, source.layers[0]);
  }
  ArchitectureRequest request;
  request.name = name;
  request.window = draw("window", 1, 6);
  if (name == "orthros" || name == "orthros-h") {
    request.scale_offset = draw_one("scale-offset before qk-norm",
                                    {ScaleOffset::after_qk_norm, ScaleOffset::before_qk_norm});
  }
  request.linear = draw_linear_sizes();
  RandomModel model{to_architecture(source, request), draw_seed()};
  if (hybrid) {
    const int64_t turn = draw("layers rotated by", 0, 3);
    auto& layers = model.spec.layers;
    const auto by = turn % static_cast<int64_t>(layers.size());
    std::rotate(layers.begin(), layers.begin() + by, layers.end());
    const auto query =
        draw_one("copy query", {CopyQuery::silu, CopyQuery::none, CopyQuery::last_tap});
    for (Layer& layer : layers) {
      if (auto* linear = std::get_if<LinearMixer>(&layer.mixer)) linear->copy_query = query;
    }
  }
  validate(model.spec);
  return model;
}

const std::vector<std::string>& dual_softmax() {
  static const std::vector<std::string> names = {"orthros", "orthros-noso"};
  return names;
}

const std::vector<std::string>& own_kv_softmax() {
  static const std::vector<std::string> names = {"orthros", "orthros-noso", "transformer", "swa"};
  return names;
}

const std::vector<std::string>& recurrent_architectures() {
  static const std::vector<std::string> names = {"retnet",         "gla",           "gdn",
                                                 "yoco-retention", "linear-hybrid", "orthros-h"};
  return names;
}

int64_t edge_of(const ModelSpec& spec) {
  constexpr int64_t any = 3;
  return window_of(spec).value_or(any);
}

int64_t draw_length(int64_t edge, int64_t least, int64_t most) {
  if (*rc::gen::arbitrary<bool>().as("length at an edge")) {
    const std::vector<int64_t> edges = {1, edge - 1, edge, edge + 1, 2 * edge};
    return std::clamp(*rc::gen::elementOf(edges).as("length"), least, most);
  }
  return draw("length", least, most);
}

uint64_t draw_seed() {
  return *range<uint64_t>(0, 1 << 20).as("seed");
}

std::vector<int64_t> draw_tokens(const ModelSpec& spec, int64_t length) {
  const CounterRandom random(draw_seed(), "tokens");
  std::vector<int64_t> tokens(static_cast<size_t>(length));
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<int64_t>(random.bits(i) % static_cast<uint64_t>(spec.vocab));
  }
  return tokens;
}

std::vector<int64_t> with_others(const ModelSpec& spec, std::vector<int64_t> tokens, int64_t first,
                                 int64_t last) {
  for (int64_t position = std::max<int64_t>(first, 1); position <= last; ++position) {
    int64_t& token = tokens[static_cast<size_t>(position - 1)];
    token = (token + 1) % spec.vocab;
  }
  return tokens;
}

std::vector<int64_t> draw_outputs(int64_t first, int64_t last) {
  if (first > last) return {};
  switch (draw("outputs: none, last, all, any", 0, 3)) {
    case 0:
      return {};
    case 1:
      return {last};
    case 2:
      return positions(first, last);
    default:
      return *rc::gen::resize(6, rc::gen::container<std::vector<int64_t>>(range(first, last)))
                  .as("outputs");
  }
}

std::vector<int64_t> positions(int64_t first, int64_t last) {
  std::vector<int64_t> all(static_cast<size_t>(std::max<int64_t>(last - first + 1, 0)));
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::vector<int64_t> draw_pieces(int64_t edge, int64_t length) {
  std::vector<int64_t> pieces;
  while (length > 0) {
    pieces.push_back(draw_length(edge, 1, length));
    length -= pieces.back();
  }
  return pieces;
}

}  // namespace orthros
