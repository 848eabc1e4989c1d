// Windowed attention of prompts: wgmma over nine key blocks, all scores of a tile in registers.
//
// A persistent block walks tiles of consecutive positions of one KV head. One producer thread
// copies keys and values into a ring of 16-key blocks, and queries into two places for each of
// three warpgroups; each warpgroup works on its own tile of 64 rows x 144 keys:
//   scores (64 x 144) = q k^T -> maximum -> weights (bf16, in registers) -> o (64 x 128) += p v.
// The tile's output goes out through the place its queries came in.
#include "cuda/kernels/async_copy.hpp"
#include "cuda/kernels/attention.hpp"
#include "cuda/kernels/tensor_map.hpp"
#include "cuda/kernels/wgmma.hpp"
#include "cuda/layout/window_tiles.hpp"
#include "cuda/support/cuda_error.hpp"
#include "reference/hopper/rounding.hpp"
#include "reference/hopper/softmax_order.hpp"

namespace orthros::cuda {

namespace {

constexpr int32_t width = 128;
constexpr int32_t half_width = 64;  // columns of a swizzled row
constexpr int32_t row_bytes = 128;
constexpr int32_t atom_bytes = 1024;
constexpr int32_t warpgroups = 3;
constexpr int32_t threads = (warpgroups + 1) * 128;  // the last warpgroup copies
// Of 128 registers a thread at the start, the last warpgroup gives most to the others.
constexpr int32_t copying_registers = 32;
constexpr int32_t working_registers = 160;
constexpr int32_t ring_blocks = 15;
// Keys of the ring's first blocks stand behind its last as well, so that any three blocks in a row
// lie side by side: one product takes them.
constexpr int32_t blocks_at_once = 3;
constexpr int32_t repeated_blocks = blocks_at_once - 1;
constexpr int32_t key_slots = ring_blocks + repeated_blocks;
constexpr int32_t block_bytes = window_key_block * row_bytes;  // half a key block's width
constexpr int32_t score_count = window_blocks * 8;             // a thread's
constexpr int32_t stages = 2;

// What a warpgroup does next.
struct TileTask {
  int32_t position;  // of the tile's first row
  int32_t row;       // packed row of that position, whether or not it is in the run
  int32_t head;      // KV head; -1: no more tasks
  int32_t first;     // positions [first, end) of the tile are in the run; none: nothing to do
  int32_t end;
  int32_t window;      // ring index of the first of the nine key blocks
  int32_t release_to;  // ring index up to which this warpgroup needs no block any more afterwards
  int32_t written;     // rows of the last key block that are written
};

struct alignas(1024) Shared {
  bf16_bits keys[2][key_slots][window_key_block][half_width];  // by halves of the width
  bf16_bits values[2][ring_blocks][window_key_block][half_width];
  bf16_bits queries[warpgroups][stages][2][window_tile_rows][half_width];
  TileTask tasks[warpgroups][stages];
  uint64_t block_full[ring_blocks];
  uint64_t block_empty[ring_blocks];
  uint64_t tile_full[warpgroups][stages];
  uint64_t tile_empty[warpgroups][stages];
};

struct Maps {
  CUtensorMap keys;
  CUtensorMap values;
  CUtensorMap q;      // boxes of a tile
  CUtensorMap q_row;  // boxes of one position's query heads
  CUtensorMap out;    // boxes of 16 rows of a tile
  CUtensorMap out_row;
};

struct Arguments {
  const QueryRun* runs;
  int64_t run_count;
  int32_t kv_heads;
  int32_t group;
  int32_t positions;  // of a tile
  int32_t window;
  float scale;
};

// A warp's 32 threads together: the share of this block, and the run it begins in.
__device__ SegmentWalk share_of_block(const Arguments& arguments, int32_t lane) {
  const auto tiles = [&](int64_t run) {
    return run < arguments.run_count
               ? tiles_of(arguments.runs[run], arguments.positions).size() * arguments.kv_heads
               : int64_t{0};
  };
  int64_t all = 0;
  for (int64_t run = lane; run < arguments.run_count; run += 32) all += tiles(run);
  for (int distance = 16; distance > 0; distance /= 2) {
    all += __shfl_xor_sync(0xffffffffu, all, distance);
  }
  const TileRange share = share_of(all, blockIdx.x, gridDim.x);
  int64_t start = 0;
  int64_t first = 0;
  for (; first + 32 < arguments.run_count; first += 32) {
    int64_t here = tiles(first + lane);
    for (int distance = 16; distance > 0; distance /= 2) {
      here += __shfl_xor_sync(0xffffffffu, here, distance);
    }
    if (start + here > share.first) break;
    start += here;
  }
  return {arguments.runs, arguments.kv_heads, arguments.positions, share, first, start};
}

// The producer: one thread.
class Producer {
 public:
  __device__ Producer(Shared& shared, const Maps& maps, const Arguments& arguments)
      : shared_(shared), maps_(maps), arguments_(arguments) {}

  __device__ void run(SegmentWalk walk) {
    TileSegment segment;
    while (walk.next(segment)) load_segment(segment);
    for (int32_t warpgroup = 0; warpgroup < warpgroups; ++warpgroup) {
      TileTask task{};
      task.head = -1;
      give(warpgroup, task, QueryRun{});
    }
  }

 private:
  // Each step gives a task to every warpgroup: consecutive tiles, past the end empty ones.
  __device__ void load_segment(const TileSegment& segment) {
    const QueryRun run = arguments_.runs[segment.run];
    const int32_t positions = arguments_.positions;
    const int32_t first_block = key_block_of(segment.tiles.first, positions) + 1 - window_blocks;
    const int32_t base = loaded_ - first_block;  // ring index of a key block: base + block
    const int32_t end = base + key_block_of(segment.tiles.end - 1, positions) + 1;
    for (int64_t step = segment.tiles.first; step < segment.tiles.end; step += warpgroups) {
      for (int32_t i = 0; i < warpgroups; ++i) {
        const int64_t tile = step + i;
        TileTask task{};
        task.release_to = end;
        if (tile + warpgroups < segment.tiles.end) {
          task.release_to = base + key_block_of(tile + warpgroups, positions) + 1 - window_blocks;
        }
        task.window = task.release_to;
        if (tile < segment.tiles.end) {
          const int32_t last = key_block_of(tile, positions);
          while (loaded_ <= base + last) load_block(run.sequence, segment.head, loaded_ - base);
          const TileRange part = written_part(tile, positions, run);
          task.position = static_cast<int32_t>(tile * positions);
          task.row = static_cast<int32_t>(run.row + task.position - run.position);
          task.head = segment.head;
          task.first = static_cast<int32_t>(part.first);
          task.end = static_cast<int32_t>(part.end);
          task.window = base + last + 1 - window_blocks;
          const int64_t written = run.position + run.count - int64_t{last} * window_key_block;
          task.written =
              static_cast<int32_t>(written < window_key_block ? written : window_key_block);
        }
        give((i + turn_) % warpgroups, task, run);
      }
      ++given_;
    }
    turn_ = static_cast<int32_t>((turn_ + segment.tiles.size()) % warpgroups);
  }

  __device__ void load_block(int32_t sequence, int32_t head, int32_t block) {
    const int32_t slot = loaded_ % ring_blocks;
    const bool repeated = slot < repeated_blocks;
    uint64_t* full = &shared_.block_full[slot];
    barrier_wait(&shared_.block_empty[slot], (loaded_ / ring_blocks & 1) ^ 1);
    barrier_arrive_expect(full, (repeated ? 6 : 4) * block_bytes);
    const int32_t position = block * window_key_block;  // below 0: zeros
    for (int32_t half = 0; half < 2; ++half) {
      const int32_t column = half * half_width;
      load_box(shared_.keys[half][slot], maps_.keys, full, column, position, head, sequence);
      if (repeated) {
        load_box(shared_.keys[half][ring_blocks + slot], maps_.keys, full, column, position, head,
                 sequence);
      }
    }
    for (int32_t half = 0; half < 2; ++half) {
      load_box(shared_.values[half][slot], maps_.values, full, half * half_width, position, head,
               sequence);
    }
    ++loaded_;
  }

  __device__ void give(int32_t warpgroup, const TileTask& task, const QueryRun& run) {
    const int32_t stage = given_ % stages;
    uint64_t* full = &shared_.tile_full[warpgroup][stage];
    barrier_wait(&shared_.tile_empty[warpgroup][stage], (given_ / stages & 1) ^ 1);
    shared_.tasks[warpgroup][stage] = task;
    const int32_t group = arguments_.group;
    barrier_arrive_expect(full, (task.end - task.first) * group * 2 * row_bytes);
    const int32_t query_head = task.head * group;
    const bool whole = task.end - task.first == arguments_.positions;
    for (int32_t half = 0; half < 2; ++half) {
      bf16_bits(*rows)[half_width] = shared_.queries[warpgroup][stage][half];
      if (whole) {
        load_box(rows, maps_.q, full, half * half_width, query_head, task.row);
        continue;
      }
      for (int32_t i = task.first; i < task.end; ++i) {
        load_box(rows[i * group], maps_.q_row, full, half * half_width, query_head, task.row + i);
      }
    }
  }

  Shared& shared_;
  const Maps& maps_;
  const Arguments& arguments_;
  int32_t loaded_ = 0;  // key blocks
  int32_t given_ = 0;   // tasks of each warpgroup
  int32_t turn_ = 0;    // the warpgroup whose turn it is
};

// Slot of the ring `ahead` blocks after `slot`, at most once around.
__device__ __forceinline__ int32_t slot_after(int32_t slot, int32_t ahead) {
  const int32_t next = slot + ahead;
  return next < ring_blocks ? next : next - ring_blocks;
}

// q k^T for the nine blocks from `slot` on.
__device__ __forceinline__ void multiply_keys(float (&scores)[score_count], uint64_t queries,
                                              uint64_t keys, int32_t slot) {
  constexpr int products = window_blocks / blocks_at_once;
  uint64_t first[products];
#pragma unroll
  for (int i = 0; i < products; ++i) {
    first[i] = advanced(keys, slot_after(slot, i * blocks_at_once) * block_bytes);
  }
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < width / 16; ++k) {
    const uint32_t half = k / 4;
    const uint32_t inside = k % 4 * 32;
    const uint64_t a = advanced(queries, half * window_tile_rows * row_bytes + inside);
#pragma unroll
    for (int i = 0; i < products; ++i) {
      const uint64_t b = advanced(first[i], half * key_slots * block_bytes + inside);
      wgmma_rows<blocks_at_once * window_key_block>(scores + 8 * blocks_at_once * i, a, b, k > 0);
    }
  }
  wgmma_commit();
}

__device__ __forceinline__ uint32_t rounded_pair(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// One warp of a warpgroup. In an accumulator a thread holds rows lane / 4 and lane / 4 + 8 of the
// warp's 16 and, of every 8 columns, 2 (lane % 4) and the next: element 4 j + 2 h + e is column
// 8 j + 2 (lane % 4) + e of row h.
template <bool widest>
class Consumer {
 public:
  __device__ __forceinline__ Consumer(Shared& shared, const Maps& maps, const Arguments& arguments,
                                      int32_t warp, int32_t lane)
      : shared_(shared),
        maps_(maps),
        arguments_(arguments),
        warpgroup_(warp / 4),
        warp_(warp % 4),
        lane_(lane) {}

  __device__ __forceinline__ void run() {
    for (int32_t taken = 0;; ++taken) {
      stage_ = taken % stages;
      barrier_wait(&shared_.tile_full[warpgroup_][stage_], taken / stages & 1);
      task_ = shared_.tasks[warpgroup_][stage_];
      if (task_.head < 0) break;
      if (task_.first < task_.end) {
        work();
      } else {
        free_stage();
        sending_ = stage_;
      }
      take_blocks(task_.release_to);
      __syncwarp();
      for (; released_ < task_.release_to; ++released_) {
        if (lane_ == 0) barrier_arrive(&shared_.block_empty[released_ % ring_blocks]);
      }
    }
    if (lane_ == 0) store_wait_read();
  }

 private:
  __device__ __forceinline__ void take_blocks(int32_t end) {
    for (; taken_ < end; ++taken_) {
      barrier_wait(&shared_.block_full[taken_ % ring_blocks], taken_ / ring_blocks & 1);
    }
  }

  // The stage whose output is on its way is free once it has been read.
  __device__ __forceinline__ void free_stage() {
    if (sending_ < 0) return;
    __syncwarp();
    if (lane_ == 0) {
      store_wait_read();
      barrier_arrive(&shared_.tile_empty[warpgroup_][sending_]);
    }
    __syncwarp();
  }

  __device__ __forceinline__ void work() {
    take_blocks(task_.window + window_blocks);
    if (task_.written < window_key_block) clear_unwritten();
    float scores[score_count];
    const int32_t slot = task_.window % ring_blocks;
    const uint64_t queries =
        swizzled_descriptor(shared_address(shared_.queries[warpgroup_][stage_]), atom_bytes, 16);
    const uint64_t keys = swizzled_descriptor(shared_address(shared_.keys), atom_bytes, 16);
    multiply_keys(scores, queries, keys, slot);
    free_stage();
    wgmma_wait<0>();
    pin(scores);
    float o[64];
    float inverse[2];
    weigh_values(scores, o, inverse);
    send(o, inverse);
    sending_ = stage_;
  }

  // Values past the written length count as zeros, whatever is there.
  __device__ __forceinline__ void clear_unwritten() {
    const int32_t slot = (task_.window + window_blocks - 1) % ring_blocks;
    const int32_t chunks = (window_key_block - task_.written) * row_bytes / 16;
    for (int32_t i = warp_ * 32 + lane_; i < 2 * chunks; i += 128) {
      auto* rows = reinterpret_cast<uint4*>(shared_.values[i / chunks][slot][task_.written]);
      rows[i % chunks] = make_uint4(0, 0, 0, 0);
    }
    async_proxy_fence();
    named_barrier(1 + warpgroup_, 128);
  }

  // Position of this thread's row h, counted from the first of the nine key blocks.
  __device__ __forceinline__ int32_t position_of_row(int h) const {
    const int32_t row = warp_ * 16 + lane_ / 4 + 8 * h;
    return task_.position % window_key_block + (window_blocks - 1) * window_key_block +
           row / arguments_.group;
  }

  // Scores of keys that a row does not see become -inf, whose weight is exactly +0.
  __device__ __forceinline__ void hide_keys(float (&scores)[score_count]) const {
    const float hidden = hopper::from_bits(0xff800000u);
    const int32_t column = 2 * (lane_ % 4);
    // The sequence's first key, counted likewise.
    const int32_t start = most_window - task_.position / window_key_block * window_key_block;
    if constexpr (widest) {
      // Keys before the window are left to the caller; these blocks are before the sequence.
#pragma unroll
      for (int block = 0; block < window_blocks - 1; ++block) {
        if (block * window_key_block < start) {
#pragma unroll
          for (int i = 0; i < 8; ++i) scores[8 * block + i] = hidden;
        }
      }
    } else {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int32_t end = position_of_row(h);
        const int32_t first = max(end + 1 - arguments_.window, start);
#pragma unroll
        for (int i = 0; i < score_count / 4; ++i) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int32_t key = 8 * i + column + e;
            if (key < first || key > end) scores[4 * i + 2 * h + e] = hidden;
          }
        }
      }
    }
  }

  __device__ __forceinline__ void weigh_values(float (&scores)[score_count], float (&o)[64],
                                               float (&inverse)[2]) {
    constexpr int last = 8 * (window_blocks - 1);
    hide_keys(scores);
    // In the widest window a row sees as many keys of its own block as it misses of the first, each
    // in the other's place: both share one block of scores until the weights are known.
    bool own[8];
    if constexpr (widest) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int32_t key = most_window + 8 * (i / 4) + 2 * (lane_ % 4) + i % 2;
        own[i] = key <= position_of_row(i / 2 % 2);
        scores[i] = own[i] ? scores[last + i] : scores[i];
      }
    }
    constexpr int end = widest ? last : score_count;
    float most_scaled[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float even = scores[2 * h];
      float odd = scores[2 * h + 1];
#pragma unroll
      for (int i = 4; i < end; i += 4) {
        even = hopper::larger(even, scores[i + 2 * h]);
        odd = hopper::larger(odd, scores[i + 2 * h + 1]);
      }
      float most = hopper::larger(even, odd);
      most = hopper::larger(most, __shfl_xor_sync(0xffffffffu, most, 1));
      most = hopper::larger(most, __shfl_xor_sync(0xffffffffu, most, 2));
      most_scaled[h] = hopper::scaled_most(most, arguments_.scale);
    }

    const uint64_t values =
        swizzled_descriptor(shared_address(shared_.values), atom_bytes, ring_blocks * block_bytes);
    float chains[4] = {};  // of row h and of columns 2 (lane % 4) + e: 2 h + e
    constexpr int at_once = 3;
#pragma unroll
    for (int first = 0; first < window_blocks; first += at_once) {
      uint32_t weights[at_once][4];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int block = first + i;
        float* here = scores + 8 * block;
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          if constexpr (widest) {
            if (block == window_blocks - 1) continue;  // done with the first block
          }
          here[n] = hopper::weight_of(here[n], arguments_.scale, most_scaled[n / 2 % 2]);
        }
        if constexpr (widest) {
          if (block == 0) {
#pragma unroll
            for (int n = 0; n < 8; ++n) {
              scores[last + n] = own[n] ? scores[n] : 0.0f;
              scores[n] = own[n] ? 0.0f : scores[n];
            }
          }
        }
#pragma unroll
        for (int n = 0; n < 8; ++n) chains[n % 4] = hopper::add(chains[n % 4], here[n]);
#pragma unroll
        for (int n = 0; n < 4; ++n) weights[i][n] = rounded_pair(here[2 * n], here[2 * n + 1]);
      }
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int32_t slot = slot_after(task_.window % ring_blocks, first + i);
        wgmma_columns_128(o, weights[i], advanced(values, slot * block_bytes), first + i > 0);
      }
      wgmma_commit();
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = hopper::add(chains[2 * h], chains[2 * h + 1]);
      sum = hopper::add(sum, __shfl_xor_sync(0xffffffffu, sum, 1));
      sum = hopper::add(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
      inverse[h] = hopper::reciprocal(sum);
    }
    wgmma_wait<0>();
    pin(o);
  }

  // Writes the output over the queries, and from there to memory: each warp its own 16 rows.
  __device__ __forceinline__ void send(const float (&o)[64], const float (&inverse)[2]) {
    named_barrier(1 + warpgroup_, 128);  // every warp's products have read the queries
    bf16_bits(*rows)[window_tile_rows][half_width] = shared_.queries[warpgroup_][stage_];
    const int32_t row = warp_ * 16 + lane_ % 16;
    const uint32_t target = shared_address(rows[0][row]);
#pragma unroll
    for (int j = 0; j < width / 8; j += 2) {
      uint32_t pairs[4];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        pairs[n] = rounded_pair(hopper::multiply(o[4 * j + 2 * n], inverse[n % 2]),
                                hopper::multiply(o[4 * j + 2 * n + 1], inverse[n % 2]));
      }
      const uint32_t chunk = (j % 8 + lane_ / 16) ^ (row % 8);  // of 16 bytes, swizzled
      const uint32_t address = target + j / 8 * window_tile_rows * row_bytes + chunk * 16;
      asm volatile(
          "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
          "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
          : "memory");
    }
    async_proxy_fence();
    __syncwarp();
    if (lane_ != 0) return;
    const int32_t group = arguments_.group;
    const int32_t per_warp = 16 / group;
    const int32_t first = max(warp_ * per_warp, task_.first);
    const int32_t end = min((warp_ + 1) * per_warp, task_.end);
    const int32_t query_head = task_.head * group;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (end - first == per_warp) {
        store_box(maps_.out, rows[half][first * group], half * half_width, query_head,
                  task_.row + first);
        continue;
      }
      for (int32_t i = first; i < end; ++i) {
        store_box(maps_.out_row, rows[half][i * group], half * half_width, query_head,
                  task_.row + i);
      }
    }
    store_commit();
  }

  Shared& shared_;
  const Maps& maps_;
  const Arguments& arguments_;
  int32_t warpgroup_;
  int32_t warp_;
  int32_t lane_;
  TileTask task_;
  int32_t stage_ = 0;
  int32_t sending_ = -1;  // stage whose output is on its way
  int32_t taken_ = 0;     // key blocks waited for
  int32_t released_ = 0;
};

// widest: window is most_window.
template <bool widest>
__global__ void __launch_bounds__(threads, 1)
    window_attention_kernel(const __grid_constant__ Maps maps,
                            const __grid_constant__ Arguments arguments) {
  extern __shared__ Shared shared_memory[];
  Shared& shared = shared_memory[0];
  const int32_t warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
  const int32_t lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int32_t i = 0; i < ring_blocks; ++i) {
      barrier_init(&shared.block_full[i], 1);
      barrier_init(&shared.block_empty[i], 4 * warpgroups);
    }
    for (int32_t i = 0; i < warpgroups * stages; ++i) {
      barrier_init(&shared.tile_full[0][i], 1);
      barrier_init(&shared.tile_empty[0][i], 4);
    }
    barrier_init_fence();
  }
  __syncthreads();
  wait_for_previous_launch();
  if (warp >= 4 * warpgroups) {
    fewer_registers<copying_registers>();
    if (warp > 4 * warpgroups) return;
    const SegmentWalk walk = share_of_block(arguments, lane);
    if (lane == 0) Producer(shared, maps, arguments).run(walk);
  } else {
    more_registers<working_registers>();
    Consumer<widest>(shared, maps, arguments, warp, lane).run();
  }
}

}  // namespace

bool window_attention_fits(const AttentionShape& shape, int64_t window) {
  const int64_t group = shape.group();
  return shape.width == width && window >= 1 && window <= most_window && group >= 1 &&
         group <= 16 && (group & (group - 1)) == 0;
}

void launch_window_attention(const Attention& call, const QueryRun* runs, int64_t run_count,
                             int64_t longest) {
  if (run_count <= 0 || longest <= 0) return;
  const AttentionShape& shape = call.shape;
  const auto group = static_cast<int32_t>(shape.group());
  const int32_t positions = window_tile_positions(group);
  // Rows and sequences are not counted here: copies name only those that are there.
  constexpr int64_t any = int64_t{1} << 31;
  const auto cache_map = [&](const bf16_bits* base) {
    const MapDimension outer[] = {{width, call.kv.head_stride / width, window_key_block},
                                  {call.kv.head_stride, shape.kv_heads, 1},
                                  {call.kv.sequence_stride, any, 1}};
    return bf16_map(base, width, outer);
  };
  const auto row_map = [&](const bf16_bits* base, int32_t box) {
    const MapDimension outer[] = {{width, shape.query_heads, group}, {call.row_stride, any, box}};
    return bf16_map(base, width, outer);
  };
  const Maps maps = {cache_map(call.kv.keys),       cache_map(call.kv.values),
                     row_map(call.q, positions),    row_map(call.q, 1),
                     row_map(call.out, 16 / group), row_map(call.out, 1)};
  const Arguments arguments = {runs,       run_count, static_cast<int32_t>(shape.kv_heads),
                               group,      positions, static_cast<int32_t>(call.window),
                               shape.scale};
  int device = 0;
  int multiprocessors = 0;
  ORTHROS_CUDA(cudaGetDevice(&device));
  ORTHROS_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const int64_t most_tiles = run_count * shape.kv_heads * (longest / positions + 2);
  const auto blocks =
      static_cast<unsigned>(most_tiles < multiprocessors ? most_tiles : multiprocessors);
  const auto kernel =
      call.window == most_window ? window_attention_kernel<true> : window_attention_kernel<false>;
  ORTHROS_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(sizeof(Shared))));
  kernel<<<blocks, threads, sizeof(Shared), call.stream>>>(maps, arguments);
  ORTHROS_CUDA_LAUNCHED("window attention");
}

}  // namespace orthros::cuda
