// Compares runs bit for bit and names the first element that differs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cuda/check/record.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros::cuda {

enum class Part { keys, values, logits, predicted, length, weights };

// The first of the elements in which two runs differ.
struct Difference {
  std::string check_case, promise;  // filled in by who reports it
  Part part = Part::keys;
  int64_t sequence = 0;
  int64_t layer = -1;                 // of a cache entry
  int64_t position = 0;               // from 1
  int64_t head = -1;                  // KV head of a cache entry
  int64_t element = 0;                // channel of a cache entry, id of a logit, index of a weight
  std::string tensor;                 // of a weight
  uint32_t expected = 0, actual = 0;  // bits: bf16 or fp32; ids, lengths
};

// "keys of layer 1, base stream, sequence 0, position 18, head 2, channel 3: expected ..., got ..."
std::string text_of(const Difference& difference);
const char* stream_of(const Difference& difference);

// Elements compared and equal, and the first that is not.
struct Tally {
  int64_t compared = 0;
  int64_t equal = 0;
  std::optional<Difference> first;

  bool holds() const { return compared == equal; }
  void add(const Tally& other);
  void count(bool same, const Difference& difference);
};

// How a record's cache rows are cut into heads.
struct HeadShape {
  int64_t kv_heads = 1;
  int64_t width = 1;
};
HeadShape head_shape(const ModelSpec& spec);

// Every cache entry, layer by layer, then every logit at positions that both runs predicted at. Of
// caches of unlike lengths the shorter part is compared, and the lengths count as one difference.
// `sequence`: what the record's first sequence is called.
Tally compare_runs(const RunRecord& expected, const RunRecord& actual, const HeadShape& shape,
                   int64_t sequence = 0);

// The same of caches alone.
Tally compare_caches(const RunRecord& expected, const RunRecord& actual, const HeadShape& shape);

// Values that are no NaN and no infinity, of all.
Tally count_finite(const RunRecord& run, const HeadShape& shape);

// A tensor's weights in row-major order.
Tally compare_weights(const std::string& tensor, const std::vector<bf16_bits>& expected,
                      const std::vector<bf16_bits>& actual);

// Whether each predicted id is that of the largest logit, the lowest among equals.
Tally compare_predicted(const RunRecord& run);

}  // namespace orthros::cuda
