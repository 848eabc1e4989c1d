// Turns rows of measured tables into ops.
#include "sim/kernel_table.hpp"

#include <fmt/format.h>

#include "reference/spec/input_error.hpp"
#include "reference/spec/size_text.hpp"
#include "sim/ops.hpp"

namespace orthros {
namespace {

int64_t cell(const CsvTable& table, size_t row, const char* column, int64_t least) {
  const int64_t value = table.integer(row, column);
  constexpr int64_t most = int64_t{1} << 24;
  if (value < least || value > most) {
    throw InputError(table.file(), column,
                     fmt::format("expected {} to {}, got {}", least, most, value));
  }
  return value;
}

Op gemm_op(const CsvTable& table, size_t row) {
  Op op;
  op.kind = OpKind::gemm;
  op.m = cell(table, row, "m", 1);
  op.n = cell(table, row, "n", 1);
  op.k = cell(table, row, "k", 1);
  constexpr int64_t bf16 = 2;
  op.flops = checked_product(checked_product(2 * op.m, op.n, "m n"), op.k, "m n k");
  op.bytes_read = bf16 * (op.m * op.k + op.n * op.k);
  op.bytes_written = bf16 * op.m * op.n;
  return op;
}

// One attention layer of a model with these heads, so that the ops are those of append_ops.
CountModel attention_layer(const HeadShape& heads, int64_t window) {
  LayerGroup group;
  group.layers = 1;
  group.query_heads = heads.query_heads;
  group.kv_heads = heads.kv_heads;
  group.query_width = heads.query_heads * heads.head_width;
  group.kv_width = heads.kv_heads * heads.head_width;
  CountModel model;
  if (window > 0) {
    group.window = window;
    group.window_index = 0;
    model.windows = {window};
  }
  model.groups.push_back(group);
  model.hidden = 1;
  model.vocab = 1;
  return model;
}

Op attention_op(const CsvTable& table, size_t row, OpKind kind, const HeadShape& heads) {
  const int64_t batch = cell(table, row, "batch", 1);
  const int64_t tokens = cell(table, row, "isl", 1);
  const int64_t step = cell(table, row, "step", 0);
  const CountModel model = attention_layer(heads, cell(table, row, "window", 0));
  std::vector<Op> ops;
  if (kind == OpKind::prefill_attention) {
    const PrefillChunk chunk{batch, step, tokens, false};
    append_ops(model, {}, {&chunk, 1}, {}, ops);
  } else {
    append_ops(model, {}, {}, uniform_decode(model, batch, tokens + step), ops);
  }
  for (const Op& op : ops) {
    if (op.kind == kind) return op;
  }
  throw InputError(table.file(), "batch", "expected a row with attention to compute");
}

}  // namespace

HeadShape parse_heads(std::string_view text) {
  const size_t slash = text.find('/');
  const size_t cross = text.find('x');
  if (slash == std::string_view::npos || cross == std::string_view::npos || cross < slash) {
    throw InputError("--heads", "",
                     fmt::format("expected QUERY/KVxWIDTH such as 32/8x128, got "
                                 "'{}'",
                                 text));
  }
  HeadShape heads{parse_size("--heads", text.substr(0, slash)),
                  parse_size("--heads", text.substr(slash + 1, cross - slash - 1)),
                  parse_size("--heads", text.substr(cross + 1))};
  constexpr int64_t most = 1 << 16;
  const bool sane = heads.query_heads >= 1 && heads.query_heads <= most && heads.kv_heads >= 1 &&
                    heads.head_width >= 1 && heads.head_width <= most &&
                    heads.kv_heads <= heads.query_heads && heads.query_heads % heads.kv_heads == 0;
  if (!sane) {
    throw InputError("--heads", "",
                     fmt::format("expected KV heads that divide the query heads, "
                                 "got '{}'",
                                 text));
  }
  return heads;
}

std::vector<MeasuredKernel> measured_kernels(const CsvTable& table, OpKind kind,
                                             const HeadShape& heads) {
  std::vector<MeasuredKernel> rows;
  rows.reserve(table.rows());
  for (size_t row = 0; row < table.rows(); ++row) {
    const double milliseconds = table.number(row, "latency_ms");
    if (milliseconds <= 0.0) {
      throw InputError(table.file(), "latency_ms",
                       fmt::format("expected a positive time, got {}", milliseconds));
    }
    rows.push_back(
        {kind == OpKind::gemm ? gemm_op(table, row) : attention_op(table, row, kind, heads),
         milliseconds * 1e-3});
  }
  return rows;
}

}  // namespace orthros
