// The attention kernels: what each computes, from what, into what.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// Memory that the launch behind reads and none writes.
struct FetchAhead {
  const bf16_bits* data = nullptr;
  int64_t count = 0;  // a multiple of 8
};

// What all attention launches share. Every row's own entry is in the cache already. Bits are those
// of reference/hopper/attention_row.hpp: attend_base for a windowed row, attend_output otherwise.
// Entries from a sequence's written length on may hold anything, NaN among it. Split and plain
// attention read bf16 or e4m3 entries, window and range attention bf16 ones.
struct Attention {
  AttentionShape shape;
  KvView kv;
  const bf16_bits* q;      // packed rows of query_heads x width, row r at q + r * row_stride
  bf16_bits* out;          // likewise
  int64_t row_stride;      // elements, at least query_heads * width, a multiple of 8
  const Row* rows;         // device; a place for each packed row
  const int64_t* written;  // device; entries written, by sequence slot
  int64_t window;          // keys a base row sees, itself included; 0: all
  cudaStream_t stream;
  // Split attention brings it towards L2, each block a share once it has asked for its last keys.
  FetchAhead ahead{};
  // Split attention's count of claimed items: device, zero, and zero again behind each launch.
  uint32_t* claims = nullptr;
  // As many rows follow the base rows, the other stream of the same tokens in the same order.
  bool pairs = false;
};

// Base rows of prompts in a layer with a window of up to 128, width 128, groups 1, 2, 4, 8, 16, on
// wgmma. `runs`: device, `run_count` of them, the longest of `longest` positions. A run's keys
// [0, position + count) are written; rows and written of `call` are not read.
bool window_attention_fits(const AttentionShape& shape, int64_t window);
void launch_window_attention(const Attention& call, const QueryRun* runs, int64_t run_count,
                             int64_t longest);

// Any rows, every block one tile of up to range_tile_rows(shape) rows of one sequence: a windowed
// row's one range, or all splits of a row without (call.window 0). Widths 64, 128 and 256, groups 1
// to 16, any window. `tiles`: device. Scores are computed twice: for the maxima, then for weights.
bool range_attention_fits(const AttentionShape& shape);
int64_t range_tile_rows(const AttentionShape& shape);
void launch_range_attention(const Attention& call, const RowTile* tiles, int64_t tile_count);

// Few rows, spread over the whole device: decode's, and a prefill's output copies. Rows
// [0, base_rows) are windowed where call.window is not 0; all others, and those, read every key in
// splits whose partial softmaxes are merged. One launch reads, each key once for both rows of a
// pair where streams_fit says so; a second merges. Lengths come from device memory
// (rows[r].position + 1 keys, at most `most_keys`), so that a graph may hold it; the launch ahead
// may not write rows. Widths 64, 128 and 256, groups 1 to 16. `workspace`: device,
// split_workspace_bytes.
bool split_attention_fits(const AttentionShape& shape);
int64_t split_workspace_bytes(const AttentionShape& shape, int64_t rows, int64_t most_keys);
void launch_split_attention(const Attention& call, int64_t base_rows, int64_t rows,
                            int64_t most_keys, void* workspace);

// Any rows, any width up to 512, a block a row and head, in plain code: rows with stream 0 are
// windowed where call.window is not 0.
void launch_plain_attention(const Attention& call, int64_t rows);

}  // namespace orthros::cuda
