// Many dot products at once on the CPU, with the bits of dot_chain.
#pragma once

#include <cstdint>
#include <vector>

namespace orthros::hopper {

// Outputs of a panel, which advance together as vector lanes.
inline constexpr int64_t panel_lanes = 32;

// The factors of up to panel_lanes outputs, k-major: value k of output o at k * panel_lanes + o.
// Lanes past the last output hold zeros.
class Panel {
 public:
  Panel() = default;
  explicit Panel(int64_t length) { resize(length); }

  // Empties the panel to `length` zeros an output.
  void resize(int64_t length);
  int64_t length() const { return static_cast<int64_t>(values_.size()) / panel_lanes; }

  // Sets output o's `length` values, read `stride` apart.
  void set_output(int64_t o, const uint16_t* values, int64_t stride = 1);
  // Sets value k of the first `outputs` outputs.
  void set_value(int64_t k, const uint16_t* values, int64_t outputs);

  const uint16_t* values() const { return values_.data(); }
  // Whether no infinity and no NaN was ever set.
  bool finite() const { return finite_; }

 private:
  std::vector<uint16_t> values_;
  bool finite_ = true;
};

// Rows to multiply with panels, made ready once for all of them.
class PanelRows {
 public:
  // rows x length bf16 bit patterns, row r at bits + r * stride, which must outlive this.
  PanelRows(const uint16_t* bits, int64_t rows, int64_t length, int64_t stride);

  int64_t rows() const { return rows_; }
  int64_t length() const { return length_; }

  // out[r * out_stride + o] = dot_chain(row r, output o's values from `from` on) for every row and
  // o < outputs.
  void multiply(const Panel& panel, int64_t from, int64_t outputs, float* out,
                int64_t out_stride) const;

  // Rows that share each load of a panel.
  static constexpr int64_t block = 4;

 private:
  int64_t rows_;
  int64_t length_;
  int64_t steps_;
  int64_t stride_;
  const uint16_t* bits_;
  std::vector<float> values_;       // rows x length
  std::vector<int32_t> exponents_;  // rows x length: unbiased, twice in a word as 16 bits
  std::vector<uint32_t>
      not_zero_;               // rows x steps: all ones, or 0 where all values of a step are zero
  std::vector<char> regular_;  // rows: whether the vector kernels may take the row
};

// The widest vectors that this machine's kernels use, in floats: 4, 8 or 16.
int64_t panel_vector_width();
// Holds the kernels to at most `width` floats; for tests and benchmarks.
void limit_panel_vectors(int64_t width);

}  // namespace orthros::hopper
