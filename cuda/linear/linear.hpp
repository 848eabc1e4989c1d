// Linear layers on the device: y = x W^T, every output a dot_chain (reference/hopper/dot_step.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// W: out x in, row-major. Rows are `stride` elements apart, a multiple of 16, with zeros from `in`
// on; rows of zeros follow up to a multiple of 16 rows. 16-byte aligned.
struct Weight {
  const bf16_bits* data = nullptr;
  int64_t out = 0;
  int64_t in = 0;
  int64_t stride = 0;
};

// Rounds up to a multiple of 16: a dot_chain's step, the pad of rows and columns.
inline constexpr int64_t padded16(int64_t n) {
  return (n + 15) / 16 * 16;
}

// x: `rows` rows of `in` values, `stride` apart (a multiple of 16, zeros from `in` on). 16-byte
// aligned.
struct Input {
  const bf16_bits* data;
  int64_t rows;
  int64_t stride;
};

// How products of one shape run at `rows` rows and those before it down to the next size
// (cuda/layout/product_sizes.hpp).
struct LinearReport {
  int64_t out;
  int64_t in;
  int64_t rows;
  int algorithm;        // cuBLASLt's id, or row_product_algorithm
  double microseconds;  // measured at `rows` rows
  int offered;          // by cuBLASLt, ids known to differ left out
  int equal;            // of these, how many gave row_product's bits
};
inline constexpr int row_product_algorithm = -1;

class Linears {
 public:
  // Device memory that it keeps.
  static constexpr int64_t workspace_bytes = int64_t{64} << 20;

  // For calls of up to `most_rows` rows.
  explicit Linears(int64_t most_rows);
  ~Linears();

  // Chooses how to run products of this weight's shape: times row_product and those cuBLASLt
  // algorithms whose results on random rows are the chain's, bit for bit. Once a shape, before the
  // first call; a shape that is not prepared goes through row_product. Weights that only give
  // floats need none. gated: its products are those of gated(). While it runs it takes memory for
  // a product of `most_rows` rows and, since L2 must not hold them, for 300 MiB of weights.
  void prepare(const Weight& w, bool gated = false);

  // Whether launches may start before the kernel ahead of them has ended, reading W alone until
  // then. True at first; the kernel ahead need not know.
  void set_overlap(bool overlap);

  // y: rows x out, rows y_stride apart, columns from `out` on untouched. Rounded to bf16.
  void multiply(const Weight& w, const Input& x, bf16_bits* y, int64_t y_stride,
                cudaStream_t stream);
  // Not rounded: the logits. By row_product, for any number of rows.
  void multiply(const Weight& w, const Input& x, float* y, int64_t y_stride, cudaStream_t stream);

  // y = SwiGLU(gate, up), rows x out / 2. `w` holds gate and up interleaved: rows
  // [16 i, 16 i + 8) are gate 8 i .. 8 i + 7, rows [16 i + 8, 16 i + 16) up 8 i .. 8 i + 7.
  // scratch: rows x out.
  void gated(const Weight& w, const Input& x, bf16_bits* y, int64_t y_stride, bf16_bits* scratch,
             cudaStream_t stream);

  // Every shape prepared, by rows.
  std::vector<LinearReport> report() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace orthros::cuda
