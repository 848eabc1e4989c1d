// Windowed attention of prompts: wgmma over nine key blocks, all scores of a tile in registers.
//
// A persistent block walks tiles of consecutive positions of one KV head. Copying warps fill a ring
// of 16-key blocks, and two places for tiles of queries for each of three warpgroups; a warpgroup
// works on its own tile of 64 rows x 144 keys:
//   scores (64 x 144) = q k^T -> maximum -> weights (bf16, in registers) -> o (64 x 128) += p v.
// The tile's output goes out through the place its queries came in.
#include <array>
#include <bit>

#include "cuda/kernels/attention.hpp"
#include "cuda/kernels/tensor_map.hpp"
#include "cuda/kernels/wgmma.hpp"
#include "cuda/kernels/window_copy.hpp"
#include "cuda/kernels/window_softmax.hpp"
#include "cuda/support/cuda_error.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {

namespace {

using namespace window;

constexpr int32_t threads = (warpgroups + 1) * 128;  // the last warpgroup copies
// Of 128 registers a thread at the start, the last warpgroup gives most to the others.
constexpr int32_t copying_registers = 56;
constexpr int32_t working_registers = 152;

// A value that all lanes have alike, in a uniform register: addresses made of it cost no more than
// one instruction a warp.
__device__ __forceinline__ int32_t uniform(int32_t value) {
  return static_cast<int32_t>(__reduce_or_sync(0xffffffffu, static_cast<uint32_t>(value)));
}

// q k^T for the nine blocks from `slot` on.
__device__ __forceinline__ void multiply_keys(float (&scores)[score_count],
                                              const uint32_t (&queries)[width / 16][4],
                                              Descriptor keys, int32_t slot) {
  constexpr int products = window_blocks / blocks_at_once;
  Descriptor first[products];
#pragma unroll
  for (int i = 0; i < products; ++i) {
    first[i] = advanced(keys, slot_after(slot, i * blocks_at_once) * block_bytes);
  }
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < width / 16; ++k) {
    const uint32_t offset = k / 4 * key_slots * block_bytes + k % 4 * 32;
#pragma unroll
    for (int i = 0; i < products; ++i) {
      wgmma_rows_48(scores + 8 * blocks_at_once * i, queries[k], advanced(first[i], offset), k > 0);
    }
  }
  wgmma_commit();
}

// One warp of a warpgroup. In an accumulator a thread holds rows lane / 4 and lane / 4 + 8 of the
// warp's 16 and, of every 8 columns, 2 (lane % 4) and the next: element 4 j + 2 h + e is column
// 8 j + 2 (lane % 4) + e of row h.
template <bool widest>
class Consumer {
 public:
  __device__ __forceinline__ Consumer(Shared& shared, const Arguments& arguments, int32_t warp,
                                      int32_t lane)
      : shared_(shared),
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
      if (task_.first < task_.end) work();
      __syncwarp();
      if (lane_ == 0) barrier_arrive(&shared_.tile_done[warpgroup_][stage_]);
      if (taken_ < task_.release_to) take_blocks(task_.release_to);
      release_blocks(task_.release_to);
    }
  }

 private:
  // Each lane sees to one block.
  __device__ __forceinline__ void take_blocks(int32_t end) {
    const int32_t block = taken_ + lane_;
    if (block < end) {
      barrier_wait(&shared_.block_full[block % block_barriers], block / block_barriers & 1);
    }
    __syncwarp();
    taken_ = end;
  }
  __device__ __forceinline__ void release_blocks(int32_t end) {
    const int32_t block = released_ + lane_;
    if (block < end) barrier_arrive(&shared_.block_empty[block % block_barriers]);
    released_ = end;
  }

  __device__ __forceinline__ void work() {
    take_blocks(task_.window + window_blocks);
    if (task_.written < window_key_block) [[unlikely]]
      clear_unwritten();
    float scores[score_count];
    const int32_t slot = uniform(task_.slot);
    uint32_t queries[width / 16][4];
    load_queries(queries);
    const Descriptor keys = swizzled_descriptor(shared_address(shared_.keys), atom_bytes, 16);
    multiply_keys(scores, queries, keys, slot);
    wgmma_wait<0>();
    pin(scores);
    float o[64];
    float inverse[2];
    weigh_values(scores, slot, o, inverse);
    send(o, inverse);
  }

  // Where this lane reads or writes its 16 bytes of columns 16 k .. 16 k + 15 of the warp's rows,
  // of row lane % 16. Rows are swizzled as copies leave them.
  __device__ __forceinline__ uint32_t operand_address(int k) const {
    const int32_t row = warp_ * 16 + lane_ % 16;
    const uint32_t chunk = (k % 4 * 2 + lane_ / 16) ^ (row % 8);
    return shared_address(shared_.queries[warpgroup_][stage_][k / 4][row]) + chunk * 16;
  }
  __device__ __forceinline__ void load_queries(uint32_t (&queries)[width / 16][4]) const {
#pragma unroll
    for (int k = 0; k < width / 16; ++k) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(queries[k][0]), "=r"(queries[k][1]), "=r"(queries[k][2]),
                     "=r"(queries[k][3])
                   : "r"(operand_address(k))
                   : "memory");
    }
  }

  // Values past the written length count as zeros, whatever is there.
  __device__ __forceinline__ void clear_unwritten() {
    const int32_t slot = slot_after(task_.slot, window_blocks - 1);
    const int32_t chunks = (window_key_block - task_.written) * row_bytes / 16;
    for (int32_t half = 0; half < 2; ++half) {
      auto* rows = reinterpret_cast<uint4*>(shared_.values[slot][half][task_.written]);
#pragma unroll 1
      for (int32_t i = warp_ * 32 + lane_; i < chunks; i += 128) rows[i] = make_uint4(0, 0, 0, 0);
    }
    async_proxy_fence();
    named_barrier(1 + warpgroup_, 128);
  }

  // Position of this thread's row h, counted from the first of the nine key blocks.
  __device__ __forceinline__ int32_t position_of_row(int h) const {
    const int32_t row = warp_ * 16 + lane_ / 4 + 8 * h;
    return task_.position % window_key_block + (window_blocks - 1) * window_key_block +
           (row >> arguments_.group_log);
  }

  // Scores of keys that a row does not see become -inf, whose weight is exactly +0.
  __device__ __forceinline__ void hide_keys(float (&scores)[score_count]) const {
    const float hidden = hopper::from_bits(0xff800000u);
    const int32_t column = 2 * (lane_ % 4);
    // The sequence's first key, counted likewise.
    const int32_t start = most_window - task_.position / window_key_block * window_key_block;
    if constexpr (widest) {
      // Keys before the window are left to the caller; these blocks are before the sequence.
      if (start <= 0) [[likely]]
        return;
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

  __device__ __forceinline__ void weigh_values(float (&scores)[score_count], int32_t first_slot,
                                               float (&o)[64], float (&inverse)[2]) {
    constexpr int last = 8 * (window_blocks - 1);
    constexpr int weighed = widest ? last : score_count;
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
    const ScoreRange range = range_of<weighed>(scores);
    float most_scaled[2];
    bool near = widest;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      most_scaled[h] = hopper::scaled_most(range.most[h], arguments_.scale);
      near = near && weights_are_normal(range.least[h], arguments_.scale, most_scaled[h]);
    }
    if (__all_sync(0xffffffffu, near)) {
#pragma unroll
      for (int i = 0; i < weighed; ++i) {
        scores[i] = normal_weight(scores[i], arguments_.scale, most_scaled[i / 2 % 2]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < weighed; ++i) {
        scores[i] = hopper::weight_of(scores[i], arguments_.scale, most_scaled[i / 2 % 2]);
      }
    }
    if constexpr (widest) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        scores[last + i] = own[i] ? scores[i] : 0.0f;
        scores[i] = own[i] ? 0.0f : scores[i];
      }
    }
    float chains[4] = {};  // of row h and of columns 2 (lane % 4) + e: 2 h + e
#pragma unroll
    for (int i = 0; i < score_count; ++i) chains[i % 4] = hopper::add(chains[i % 4], scores[i]);
    uint32_t weights[window_blocks][4];
#pragma unroll
    for (int i = 0; i < score_count / 2; ++i) {
      weights[i / 4][i % 4] = rounded_pair(scores[2 * i], scores[2 * i + 1]);
    }

    const Descriptor values =
        swizzled_descriptor(shared_address(shared_.values), atom_bytes, block_bytes);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < window_blocks; ++i) {
      const int32_t slot = slot_after(first_slot, i);
      wgmma_columns_128(o, weights[i], advanced(values, 2 * slot * block_bytes), i > 0);
    }
    wgmma_commit();
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

  // Writes the output over the warp's queries, from where the copying warp takes it.
  __device__ __forceinline__ void send(const float (&o)[64], const float (&inverse)[2]) {
#pragma unroll
    for (int k = 0; k < width / 16; ++k) {
      uint32_t pairs[4];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        pairs[n] = rounded_pair(hopper::multiply(o[8 * k + 2 * n], inverse[n % 2]),
                                hopper::multiply(o[8 * k + 2 * n + 1], inverse[n % 2]));
      }
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                       operand_address(k)),
                   "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
                   : "memory");
    }
    async_proxy_fence();
  }

  Shared& shared_;
  const Arguments& arguments_;
  int32_t warpgroup_;
  int32_t warp_;
  int32_t lane_;
  TileTask task_;
  int32_t stage_ = 0;
  int32_t taken_ = 0;  // key blocks waited for
  int32_t released_ = 0;
};

// widest: window is most_window.
template <bool widest>
__global__ void __launch_bounds__(threads, 1)
    window_attention_kernel(const __grid_constant__ Maps maps,
                            const __grid_constant__ Arguments arguments) {
  extern __shared__ Shared shared_memory[];
  Shared& shared = shared_memory[0];
  const int32_t warp = uniform(threadIdx.x / 32);
  // By way of a shuffle the lane stays in a register: else it is read anew for every use.
  const int32_t lane = __shfl_sync(0xffffffffu, threadIdx.x % 32, threadIdx.x % 32);
  if (threadIdx.x == 0) init_barriers(shared);
  __syncthreads();
  wait_for_previous_launch();
  if (warp >= 4 * warpgroups) {
    fewer_registers<copying_registers>();
    const SegmentWalk walk = share_of_block(arguments, lane);
    if (lane != 0) return;
    if (warp == 4 * warpgroups) {
      copy_blocks(shared, maps, arguments, walk);
    } else {
      TileCopier(shared, maps, arguments, warp - 4 * warpgroups - 1).run(walk);
    }
  } else {
    more_registers<working_registers>();
    Consumer<widest>(shared, arguments, warp, lane).run();
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
  const KvView& kv = call.kv;
  const MapDimension position = {width, kv.head_stride / width, window_key_block};
  const MapDimension kv_head = {kv.head_stride, shape.kv_heads, 1};
  const MapDimension sequence = {kv.sequence_stride, any, 1};
  const MapDimension halves = {half_width, 2, 2};
  const auto row_map = [&](const bf16_bits* base, int32_t rows, int32_t halves_at_once) {
    const MapDimension outer[] = {{width, shape.query_heads, group},
                                  {call.row_stride, any, rows},
                                  {half_width, 2, halves_at_once}};
    return bf16_map(base, half_width, outer);
  };
  const Maps maps = {
      bf16_map(kv.keys, width, std::array{position, kv_head, sequence}),
      bf16_map(kv.values, half_width, std::array{position, halves, kv_head, sequence}),
      row_map(call.q, positions, 1),
      row_map(call.q, 1, 1),
      row_map(call.out, positions, 1),
      row_map(call.out, 1, 1)};
  const Arguments arguments = {runs,
                               run_count,
                               static_cast<int32_t>(shape.kv_heads),
                               group,
                               std::countr_zero(static_cast<uint32_t>(group)),
                               positions,
                               static_cast<int32_t>(call.window),
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
