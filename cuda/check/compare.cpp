// Element by element, with counts.
#include "cuda/check/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

using Cache = std::vector<std::vector<bf16_bits>>;

// Where element `i` of a layer's cache stands.
Difference cache_place(Part part, int64_t sequence, int64_t layer, int64_t i,
                       const HeadShape& shape) {
  const int64_t row = shape.kv_heads * shape.width;
  Difference place;
  place.part = part;
  place.sequence = sequence;
  place.layer = layer;
  place.position = i / row + 1;
  place.head = i % row / shape.width;
  place.element = i % shape.width;
  return place;
}

void compare_layer(Part part, int64_t sequence, int64_t layer,
                   const std::vector<bf16_bits>& expected, const std::vector<bf16_bits>& actual,
                   const HeadShape& shape, Tally& tally) {
  const int64_t row = shape.kv_heads * shape.width;
  const size_t count = std::min(expected.size(), actual.size());
  int64_t differing = 0;
  for (size_t i = 0; i < count; ++i) {
    if (expected[i] == actual[i]) continue;
    ++differing;
    if (tally.first) continue;
    tally.first = cache_place(part, sequence, layer, static_cast<int64_t>(i), shape);
    tally.first->expected = expected[i];
    tally.first->actual = actual[i];
  }
  tally.compared += static_cast<int64_t>(count);
  tally.equal += static_cast<int64_t>(count) - differing;
  if (expected.size() == actual.size()) return;
  Difference lengths;
  lengths.part = Part::length;
  lengths.sequence = sequence;
  lengths.layer = layer;
  lengths.expected = static_cast<uint32_t>(static_cast<int64_t>(expected.size()) / row);
  lengths.actual = static_cast<uint32_t>(static_cast<int64_t>(actual.size()) / row);
  tally.count(false, lengths);
}

void compare_row(int64_t sequence, int64_t position, const std::vector<float>& expected,
                 const std::vector<float>& actual, Tally& tally) {
  Difference place;
  place.part = Part::logits;
  place.sequence = sequence;
  place.position = position;
  if (expected.size() != actual.size()) {
    place.part = Part::length;
    place.expected = static_cast<uint32_t>(expected.size());
    place.actual = static_cast<uint32_t>(actual.size());
    tally.count(false, place);
    return;
  }
  int64_t differing = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    place.expected = std::bit_cast<uint32_t>(expected[i]);
    place.actual = std::bit_cast<uint32_t>(actual[i]);
    if (place.expected == place.actual) continue;
    ++differing;
    place.element = static_cast<int64_t>(i);
    if (!tally.first) tally.first = place;
  }
  tally.compared += static_cast<int64_t>(expected.size());
  tally.equal += static_cast<int64_t>(expected.size()) - differing;
}

}  // namespace

const char* stream_of(const Difference& difference) {
  return difference.part == Part::logits || difference.part == Part::predicted ? "output" : "base";
}

std::string text_of(const Difference& d) {
  const auto number = [](float value, uint32_t bits, int digits) {
    return fmt::format("{:#0{}x} ({:.9g})", bits, digits + 2, value);
  };
  const auto entry = [&](uint32_t bits) {
    return number(hopper::widen_bf16(static_cast<uint16_t>(bits)), bits, 4);
  };
  const auto logit = [&](uint32_t bits) { return number(std::bit_cast<float>(bits), bits, 8); };
  switch (d.part) {
    case Part::keys:
    case Part::values:
      return fmt::format(
          "{} of layer {}, {} stream, sequence {}, position {}, head {}, channel {}: expected {}, "
          "got {}",
          d.part == Part::keys ? "keys" : "values", d.layer, stream_of(d), d.sequence, d.position,
          d.head, d.element, entry(d.expected), entry(d.actual));
    case Part::logits:
      return fmt::format("logits, {} stream, sequence {}, position {}, id {}: expected {}, got {}",
                         stream_of(d), d.sequence, d.position, d.element, logit(d.expected),
                         logit(d.actual));
    case Part::predicted:
      return fmt::format("predicted id, {} stream, sequence {}, position {}: expected {}, got {}",
                         stream_of(d), d.sequence, d.position, d.expected, d.actual);
    case Part::weights:
      return fmt::format("weights, {}, element {}: expected {}, got {}", d.tensor, d.element,
                         entry(d.expected), entry(d.actual));
    case Part::length:
      break;
  }
  return fmt::format("length, sequence {}, {}: expected {}, got {}", d.sequence,
                     d.layer >= 0 ? fmt::format("cache of layer {}", d.layer)
                                  : fmt::format("position {}", d.position),
                     d.expected, d.actual);
}

void Tally::add(const Tally& other) {
  compared += other.compared;
  equal += other.equal;
  if (!first) first = other.first;
}

void Tally::count(bool same, const Difference& difference) {
  ++compared;
  equal += same ? 1 : 0;
  if (!same && !first) first = difference;
}

HeadShape head_shape(const ModelSpec& spec) {
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers.front().mixer);
  return {mixer.kv_heads, mixer.head_width};
}

Tally compare_runs(const RunRecord& expected, const RunRecord& actual, const HeadShape& shape,
                   int64_t sequence) {
  Tally tally;
  const size_t sequences = std::min(expected.size(), actual.size());
  const size_t layers =
      sequences == 0 ? 0 : std::min(expected[0].keys.size(), actual[0].keys.size());
  for (size_t layer = 0; layer < layers; ++layer) {
    for (size_t s = 0; s < sequences; ++s) {
      const int64_t name = sequence + static_cast<int64_t>(s);
      const auto index = static_cast<int64_t>(layer);
      compare_layer(Part::keys, name, index, expected[s].keys[layer], actual[s].keys[layer], shape,
                    tally);
      compare_layer(Part::values, name, index, expected[s].values[layer], actual[s].values[layer],
                    shape, tally);
    }
  }
  for (size_t s = 0; s < sequences; ++s) {
    for (size_t i = 0; i < actual[s].positions.size(); ++i) {
      const auto& known = expected[s].positions;
      const auto found = std::find(known.begin(), known.end(), actual[s].positions[i]);
      if (found == known.end()) continue;
      compare_row(sequence + static_cast<int64_t>(s), *found,
                  expected[s].logits[static_cast<size_t>(found - known.begin())],
                  actual[s].logits[i], tally);
    }
  }
  return tally;
}

Tally compare_caches(const RunRecord& expected, const RunRecord& actual, const HeadShape& shape) {
  RunRecord caches = expected;
  for (SequenceRecord& sequence : caches) sequence.positions.clear();
  return compare_runs(caches, actual, shape);
}

Tally count_finite(const RunRecord& run, const HeadShape& shape) {
  Tally tally;
  constexpr uint32_t fp32_exponent = 0x7f800000;
  constexpr bf16_bits bf16_exponent = 0x7f80;
  const auto entries = [&](Part part, int64_t s, int64_t layer, const std::vector<bf16_bits>& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      if ((row[i] & bf16_exponent) != bf16_exponent) {
        tally.count(true, {});
        continue;
      }
      Difference place = cache_place(part, s, layer, static_cast<int64_t>(i), shape);
      place.actual = row[i];
      tally.count(false, place);
    }
  };
  for (size_t s = 0; s < run.size(); ++s) {
    const auto name = static_cast<int64_t>(s);
    for (size_t layer = 0; layer < run[s].keys.size(); ++layer) {
      entries(Part::keys, name, static_cast<int64_t>(layer), run[s].keys[layer]);
      entries(Part::values, name, static_cast<int64_t>(layer), run[s].values[layer]);
    }
    for (size_t i = 0; i < run[s].logits.size(); ++i) {
      for (size_t id = 0; id < run[s].logits[i].size(); ++id) {
        Difference place;
        place.part = Part::logits;
        place.sequence = name;
        place.position = run[s].positions[i];
        place.element = static_cast<int64_t>(id);
        place.actual = std::bit_cast<uint32_t>(run[s].logits[i][id]);
        tally.count((place.actual & fp32_exponent) != fp32_exponent, place);
      }
    }
  }
  return tally;
}

Tally compare_weights(const std::string& tensor, const std::vector<bf16_bits>& expected,
                      const std::vector<bf16_bits>& actual) {
  Tally tally;
  Difference place;
  place.part = Part::weights;
  place.tensor = tensor;
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool there = i < actual.size();
    place.element = static_cast<int64_t>(i);
    place.expected = expected[i];
    place.actual = there ? actual[i] : 0U;
    const bool same = there && expected[i] == actual[i];
    ++tally.compared;
    tally.equal += same ? 1 : 0;
    if (!same && !tally.first) tally.first = place;
  }
  return tally;
}

Tally compare_predicted(const RunRecord& run) {
  Tally tally;
  for (size_t s = 0; s < run.size(); ++s) {
    for (size_t i = 0; i < run[s].logits.size(); ++i) {
      const auto& row = run[s].logits[i];
      Difference place;
      place.part = Part::predicted;
      place.sequence = static_cast<int64_t>(s);
      place.position = run[s].positions[i];
      place.expected =
          static_cast<uint32_t>(std::max_element(row.begin(), row.end()) - row.begin());
      place.actual = static_cast<uint32_t>(run[s].predicted[i]);
      tally.count(place.expected == place.actual, place);
    }
  }
  return tally;
}

}  // namespace orthros::cuda
