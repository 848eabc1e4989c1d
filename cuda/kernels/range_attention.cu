// Attention of many rows: a block works on neighbouring rows of one sequence, all query heads of
// one KV head, and reads every key that one of them sees, twice.
#include <stdexcept>

#include "cuda/kernels/attention.hpp"
#include "cuda/kernels/range_products.hpp"
#include "cuda/layout/key_ranges.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

constexpr int block_rows = 64;  // rows of the product: pairs of a row and a query head
constexpr int tile_keys = 64;   // keys in a tile of shared memory
constexpr int key_tiles = tile_keys / 8;
constexpr int slots = 3;          // tiles of shared memory
constexpr int kept_splits = 128;  // whose maxima stay in shared memory
constexpr int split_tiles = static_cast<int>(hopper::split_keys) / tile_keys;
constexpr uint32_t all_lanes = 0xffffffffu;

// Each warp has 16 of the rows and up to 128 columns of the output; of wider ones another warp has
// the same rows and the other columns, and computes the same weights.
template <int width>
struct Shape {
  static constexpr int columns = width < 128 ? width : 128;
  static constexpr int column_tiles = columns / 8;
  static constexpr int warps = block_rows / 16 * (width / columns);
  static constexpr int threads = 32 * warps;
  static constexpr int resident = width == 64    ? 3
                                  : width == 128 ? 2
                                                 : 1;  // blocks of a multiprocessor
  static constexpr int tile_bytes = tile_keys * width * 2;
  // Behind the tiles: maxima [split][row], and the folded output [column tile][element][thread],
  // which would otherwise fill a quarter of the registers and is used once a split.
  static constexpr int maxima_bytes = block_rows * kept_splits * 4;
  static constexpr int folded_bytes = column_tiles * 4 * threads * 4;
  static constexpr int shared_bytes = slots * tile_bytes + maxima_bytes + folded_bytes;
};

// Tiles from global memory, two ahead of the one in use.
template <int width>
struct Stream {
  TileSchedule schedule;
  const bf16_bits* keys;  // entry of key 0
  const bf16_bits* values;
  int end;  // entries from here on come as zeros
  uint32_t shared;
  int step = 0;

  __device__ void load(int ahead) const {
    constexpr int row_chunks = width / 8;
    if (ahead < schedule.steps()) {
      const TileStep what = schedule.at(ahead);
      const bf16_bits* from = what.values ? values : keys;
      const uint32_t slot = shared + ahead % slots * Shape<width>::tile_bytes;
#pragma unroll 8
      for (int i = threadIdx.x; i < tile_keys * row_chunks; i += Shape<width>::threads) {
        const int key = what.tile * tile_keys + i / row_chunks;
        copy_or_zero(slot + tile_offset(i / row_chunks, i % row_chunks, tile_keys),
                     from + int64_t{key} * width + i % row_chunks * 8, key < end);
      }
    }
    close_copy_group();
  }
  __device__ void start() const {
    load(0);
    load(1);
  }
  // The next tile, once all threads have left the one before.
  __device__ uint32_t next() {
    wait_for_copy_groups<1>();
    publish_copies();
    __syncthreads();
    load(step + 2);
    return shared + step++ % slots * Shape<width>::tile_bytes;
  }
};

// One of the lane's two rows of the product. Keys count from the block's first.
struct Line {
  const bf16_bits* q;
  bf16_bits* out;  // null: a row that only fills the product up
  int first;       // keys seen: [first, last)
  int last;

  __device__ bool sees(int begin, int end) const { return begin < last && end > first; }
};

// Scores of a tile's keys: four for each 8-key tile, 0 and 1 of the first line, 2 and 3 of the
// second, for keys 2 t and 2 t + 1 of lane 4 g + t.
using Scores = float[4 * key_tiles];

template <int width>
__device__ void score_tile(uint32_t tile, uint32_t (&q)[width / 16][4], Scores& scores) {
#pragma unroll
  for (int i = 0; i < 4 * key_tiles; ++i) scores[i] = 0.0f;
  open_products(scores, q);
#pragma unroll
  for (int k = 0; k < width / 16; ++k) {
    step_by_rows(scores, q[k], tile_descriptor(tile, tile_keys, 0, 16 * k));
  }
  finish_products(scores);
}

// -inf for what a line does not see of the tile that begins at key `begin`.
__device__ void mask_tile(const Line (&lines)[2], int begin, Scores& scores) {
#pragma unroll
  for (int n = 0; n < key_tiles; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int key = begin + 8 * n + threadIdx.x % 4 * 2 + e % 2;
      if (!lines[e / 2].sees(key, key + 1)) scores[4 * n + e] = hopper::from_bits(0xff800000u);
    }
  }
}

// Weights times values of a tile that some line sees in part, onto `part`. A line without a key in
// a block takes no part in its step: values there may be infinite.
template <int width>
__device__ void weigh_edge(uint32_t tile, const Line (&lines)[2], int begin, int column,
                           const uint32_t (&weights)[tile_keys / 16][4],
                           float (&part)[4 * Shape<width>::column_tiles]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int block = 0; block < tile_keys / 16; ++block) {
    const int key = begin + block * 16;
    const bool takes[2] = {lines[0].sees(key, key + 16), lines[1].sees(key, key + 16)};
#pragma unroll
    for (int n = 0; n < Shape<width>::column_tiles; n += 2) {
      uint32_t values[4];
      load_matrices_transposed(values, tile + tile_offset(block * 16 + lane % 16,
                                                          column / 8 + n + lane / 16, tile_keys));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float* onto = part + 4 * (n + half);
        float next[4] = {onto[0], onto[1], onto[2], onto[3]};
        step_16x8(next, weights[block], values[2 * half], values[2 * half + 1]);
#pragma unroll
        for (int e = 0; e < 4; ++e) onto[e] = takes[e / 2] ? next[e] : onto[e];
      }
    }
  }
}

template <int width>
__global__ void __launch_bounds__(Shape<width>::threads, Shape<width>::resident)
    range_attention(Attention call, const RowTile* tiles) {
  using S = Shape<width>;
  extern __shared__ __align__(1024) unsigned char memory[];
  auto* maxima = reinterpret_cast<float*>(memory + slots * S::tile_bytes);
  float* folded = maxima + S::maxima_bytes / 4 + threadIdx.x;
  wait_for_launches_before();
  const int lane = threadIdx.x % 32;
  const int own = threadIdx.x / 32 % (block_rows / 16) * 16 + lane / 4;  // the first line's row
  const int column = threadIdx.x / 32 / (block_rows / 16) * S::columns;
  const float scale = call.shape.scale;
  const float none = hopper::from_bits(0xff800000u);
  const RowTile tile = tiles[gridDim.x - 1 - blockIdx.x];  // the longest are likely the last
  const int64_t kv_head = blockIdx.y;
  const int group = static_cast<int>(call.shape.query_heads / call.shape.kv_heads);
  const bool windowed = call.window != 0;

  const int64_t base = block_start(first_visible(call.rows[tile.row].position, call.window));
  const int64_t start = entry_offset(tile.sequence, call.kv.sequence_stride, kv_head,
                                     call.kv.head_stride, base, width);
  Line lines[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int place = min(own + 8 * i, tile.count * group - 1);
    const int64_t row = tile.row + place / group;
    const int64_t at = row * call.row_stride + (kv_head * group + place % group) * width;
    const KeyRange range = window_range(call.rows[row].position, call.window);
    lines[i] = {call.q + at, place == own + 8 * i ? call.out + at : nullptr,
                static_cast<int>(range.begin - base), static_cast<int>(range.end - base)};
  }
  // Keys that all of the block's rows see: [common_first, first_end).
  const int64_t last_position = call.rows[tile.row + tile.count - 1].position;
  const auto end = static_cast<int>(last_position + 1 - base);
  const auto first_end = static_cast<int>(call.rows[tile.row].position + 1 - base);
  const auto common_first = static_cast<int>(first_visible(last_position, call.window) - base);
  const auto common = [&](int begin) {
    return begin >= common_first && begin + tile_keys <= first_end;
  };

  TileSchedule schedule;
  schedule.tiles = (end + tile_keys - 1) / tile_keys;
  schedule.segment_tiles = windowed ? schedule.tiles : split_tiles;
  schedule.kept_tiles = windowed ? schedule.tiles : min(schedule.tiles, kept_splits * split_tiles);
  Stream<width> stream{schedule, call.kv.keys + start, call.kv.values + start, end,
                       shared_address(memory)};
  stream.start();

  uint32_t q[width / 16][4];
#pragma unroll
  for (int k = 0; k < width / 16; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      q[k][i] =
          *reinterpret_cast<const uint32_t*>(lines[i % 2].q + 16 * k + lane % 4 * 2 + i / 2 * 8);
    }
  }

  Scores scores;
  const auto scores_of = [&](int at) {
    score_tile<width>(stream.next(), q, scores);
    if (!common(at * tile_keys)) mask_tile(lines, at * tile_keys, scores);
  };
  // The largest score of tiles [from, to) for each line.
  const auto scan = [&](int from, int to, float(&most)[2]) {
    most[0] = most[1] = none;
    for (int at = from; at < to; ++at) {
      scores_of(at);
#pragma unroll
      for (int n = 0; n < key_tiles; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) most[e / 2] = hopper::larger(most[e / 2], scores[4 * n + e]);
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      most[i] = hopper::larger(most[i], __shfl_xor_sync(all_lanes, most[i], 1));
      most[i] = hopper::larger(most[i], __shfl_xor_sync(all_lanes, most[i], 2));
      most[i] = hopper::scaled_most(most[i], scale);
    }
  };

  const int segments = (schedule.tiles + schedule.segment_tiles - 1) / schedule.segment_tiles;
  const auto segment_end = [&](int segment) {
    return min(schedule.tiles, (segment + 1) * schedule.segment_tiles);
  };
  float largest[2] = {none, none};
  for (int segment = 0; segment < segments; ++segment) {
    float most[2];
    scan(segment * schedule.segment_tiles, segment_end(segment), most);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      largest[i] = hopper::larger(largest[i], most[i]);
      if (segment < kept_splits && column == 0 && lane % 4 == 0) {
        maxima[segment * block_rows + own + 8 * i] = most[i];
      }
    }
  }
  __syncthreads();

  float sum[2] = {0.0f, 0.0f};
  for (int segment = 0; segment < segments; ++segment) {
    const int from = segment * schedule.segment_tiles;
    const int to = segment_end(segment);
    float most[2];
    if (segment < kept_splits) {
      for (int i = 0; i < 2; ++i) most[i] = maxima[segment * block_rows + own + 8 * i];
    } else {
      scan(from, to, most);
    }
    bool seen[2];
    for (int i = 0; i < 2; ++i) seen[i] = lines[i].sees(from * tile_keys, to * tile_keys);
    // What a line does not see has the score -inf and must get the weight 0 in any case.
    const float shift[2] = {seen[0] ? most[0] : 0.0f, seen[1] ? most[1] : 0.0f};
    float chains[2][2] = {};
    float part[4 * S::column_tiles] = {};
    for (int at = from; at < to; ++at) {
      scores_of(at);
      uint32_t weights[tile_keys / 16][4];  // as first operands
#pragma unroll
      for (int n = 0; n < key_tiles; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float p0 = hopper::weight_of(scores[4 * n + 2 * i], scale, shift[i]);
          const float p1 = hopper::weight_of(scores[4 * n + 2 * i + 1], scale, shift[i]);
          chains[i][0] = hopper::add(chains[i][0], p0);
          chains[i][1] = hopper::add(chains[i][1], p1);
          weights[n / 2][n % 2 * 2 + i] = round_pair(p0, p1);
        }
      }
      const uint32_t slot = stream.next();
      if (common(at * tile_keys)) {
        open_products(part, weights);
#pragma unroll
        for (int block = 0; block < tile_keys / 16; ++block) {
          step_by_columns(part, weights[block],
                          tile_descriptor(slot, tile_keys, 16 * block, column));
        }
        finish_products(part);
      } else {
        weigh_edge<width>(slot, lines, at * tile_keys, column, weights, part);
      }
    }

#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float here = hopper::add(chains[i][0], chains[i][1]);
      here = hopper::add(here, __shfl_xor_sync(all_lanes, here, 1));
      here = hopper::add(here, __shfl_xor_sync(all_lanes, here, 2));
      if (!seen[i]) continue;
      const float factor = hopper::merge_factor(most[i], largest[i]);
      sum[i] = segment == 0 ? hopper::multiply(factor, here) : hopper::fold(sum[i], factor, here);
#pragma unroll
      for (int n = 0; n < S::column_tiles; ++n) {
#pragma unroll
        for (int e = 2 * i; e < 2 * i + 2; ++e) {
          float& o = folded[(4 * n + e) * S::threads];
          o = segment == 0 ? hopper::multiply(factor, part[4 * n + e])
                           : hopper::fold(o, factor, part[4 * n + e]);
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (lines[i].out == nullptr) continue;
    const float inverse = hopper::reciprocal(sum[i]);
    bf16_bits* out = lines[i].out + column + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < S::column_tiles; ++n) {
      const float* o = folded + (4 * n + 2 * i) * S::threads;
      *reinterpret_cast<uint32_t*>(out + 8 * n) =
          round_pair(hopper::multiply(o[0], inverse), hopper::multiply(o[S::threads], inverse));
    }
  }
}

template <int width>
void launch(const Attention& call, const RowTile* tiles, int64_t tile_count) {
  using S = Shape<width>;
  ORTHROS_CUDA(cudaFuncSetAttribute(range_attention<width>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes));
  const dim3 grid(static_cast<unsigned>(tile_count), static_cast<unsigned>(call.shape.kv_heads));
  launch(range_attention<width>, {grid, dim3(S::threads), S::shared_bytes}, call.stream, call,
         tiles);
}

}  // namespace

bool range_attention_fits(const AttentionShape& shape) {
  return (shape.width == 64 || shape.width == 128 || shape.width == 256) && shape.group() <= 16;
}

int64_t range_tile_rows(const AttentionShape& shape) {
  return block_rows / shape.group();
}

void launch_range_attention(const Attention& call, const RowTile* tiles, int64_t tile_count) {
  if (tile_count == 0) return;
  switch (call.shape.width) {
    case 64:
      launch<64>(call, tiles, tile_count);
      break;
    case 128:
      launch<128>(call, tiles, tile_count);
      break;
    case 256:
      launch<256>(call, tiles, tile_count);
      break;
    default:
      throw std::invalid_argument("range attention has widths 64, 128 and 256");
  }
}

}  // namespace orthros::cuda
