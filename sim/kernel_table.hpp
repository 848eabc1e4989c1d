// Measured kernels: rows of a table as ops with their seconds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/csv.hpp"
#include "sim/op.hpp"

namespace orthros {

struct MeasuredKernel {
  Op op;
  double seconds = 0.0;
};

// Attention heads that a table was measured with: "32/8x128" is 32 query and 8 KV heads of 128.
struct HeadShape {
  int64_t query_heads = 32, kv_heads = 8, head_width = 128;
};
HeadShape parse_heads(std::string_view text);

// bf16 ops as the table of ops writes them. Columns: gemm m n k; attention batch, isl, step and
// window (0: full); prefill of isl tokens after step cached ones, decode at isl + step keys; all
// latency_ms. Other kinds and malformed or non-positive cells are an InputError.
std::vector<MeasuredKernel> measured_kernels(const CsvTable& table, OpKind kind,
                                             const HeadShape& heads);

}  // namespace orthros
