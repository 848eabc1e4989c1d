// Op: one kind of kernel launch of a step, by what it computes and moves.
#pragma once

#include <cstdint>
#include <string_view>

namespace orthros {

enum class Stage { prefill, decode };

enum class OpKind {
  gemm,               // linear layers
  prefill_attention,  // softmax attention of many query rows per sequence
  decode_attention,   // softmax attention of one position per sequence
  recurrence,         // convolution, state update and read of linear layers
  elementwise,        // norms, RoPE, activations, residuals: no FLOPs by definition
  communication,      // between GPUs
};
constexpr int op_kinds = 6;

std::string_view name_of(Stage stage);
std::string_view name_of(OpKind kind);  // "prefill-attention"

// `count` identical launches per step. Sizes are of one launch. Decode ops also say what each
// further step of the same batch adds, so that runs of steps are summed in closed form.
struct Op {
  std::string_view name;
  OpKind kind = OpKind::gemm;
  int64_t count = 1;
  int64_t m = 0, n = 0, k = 0;  // gemm
  int64_t sequences = 0;        // attention, recurrence
  int64_t rows = 0;             // attention: query positions
  int64_t pairs = 0;            // attention: visible (query, key) pairs
  bool windowed = false;        // attention: through a window
  int64_t flops = 0;
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  // Windowed attention: what a kernel that visits one key too many per row adds, and the most that
  // such visits can add (every key before the row).
  int64_t overread_flops = 0;
  int64_t overread_flops_most = 0;
  int64_t overread_bytes = 0;
  // Added by the next decode step.
  int64_t flops_growth = 0;
  int64_t bytes_growth = 0;
  // Communication between the shards of a sequence, which may stand on different hosts.
  bool between_shards = false;

  int64_t bytes() const { return bytes_read + bytes_written; }
};

}  // namespace orthros
