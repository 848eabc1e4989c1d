// Attention of few rows, every split of their keys a work item of its own.
#include <algorithm>
#include <stdexcept>

#include "cuda/kernels/split_carry.hpp"
#include "cuda/kernels/split_values.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

// The worker's key of a chunk's owned block i in a score's element e.
__device__ int key_of(int chunk, int i, int e) {
  const int block = threadIdx.x / 32 + workers * i;
  return chunk * chunk_keys + block * 16 + threadIdx.x % 32 / 4 + e / 2 * 8;
}

// Where one stream's columns begin to count behind the other's. Items of both have one tile.
__device__ inline LaterColumns later_columns(const Item& item, int group) {
  LaterColumns columns;
  if (!item.splits() || !item.windows()) return columns;
  const int split = item.split_first / 16;
  const int window = item.window_first / 16;
  if (split == window) return columns;
  columns.block = max(split, window);
  for (int e = 0; e < 2; ++e) {
    const bool of_split = static_cast<int>(threadIdx.x) % 4 * 2 + e < group;
    columns.later[e] = of_split == (split > window);
  }
  return columns;
}

template <int width, int tiles, class Entry>
__device__ void work_on(const Attention& call, const SplitWork& work, const SplitPartials& partials,
                        ItemWalk& walk, unsigned char* memory, uint32_t barriers) {
  using S = SplitShape<width, tiles, Entry>;
  Ring<S::slots> ring{barriers};
  const uint32_t shared = shared_address(memory);
  auto* exact = reinterpret_cast<float*>(memory + S::slots * S::slot_bytes);
  auto* weights = reinterpret_cast<uint32_t*>(exact + S::exact_bytes / 4);
  auto* maxima = reinterpret_cast<float*>(weights + S::weight_bytes / 4);
  float* sums = maxima + S::most_bytes / 4;
  const int lane = threadIdx.x % 32;
  const int worker = threadIdx.x / 32;
  const int pair = lane % 4 * 2;  // the first of the lane's two columns in a tile
  const int group = static_cast<int>(call.shape.query_heads / call.shape.kv_heads);
  const float scale = call.shape.scale;
  const float none = hopper::from_bits(0xff800000u);
  // The worker that sums weights of columns 4 quad .. 4 quad + 3, from the last one down.
  const int quad = workers - 1 - worker;

  for (; !walk.ended; walk.next()) {
    const Item& item = walk.item;
    const int chunks = item.chunks();
    const int columns = item.columns(group);
    const int split_columns = item.split_columns(group);
    const bool sums_quad = 4 * quad < columns;
    int first[tiles][2];  // that each of the lane's columns sees
    for (int n = 0; n < tiles; ++n) {
      for (int e = 0; e < 2; ++e) first[n][e] = item.first(8 * n + pair + e, group);
    }
    const uint32_t key_factor = factor_of<Entry>(call, item.kv_head);
    const uint32_t value_factor = factor_of<Entry>(call, call.shape.kv_heads + item.kv_head);
    uint32_t q[tiles][width / 16][2];
    float scores[owned_blocks][tiles][4];
    float most[tiles][2];  // of the lane's columns
    for (int n = 0; n < tiles; ++n) most[n][0] = most[n][1] = none;
    const auto take_most = [&](int chunk) {
#pragma unroll
      for (int i = 0; i < owned_blocks; ++i) {
        if (worker + workers * i >= item.blocks(chunk)) break;
#pragma unroll
        for (int n = 0; n < tiles; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int key = key_of(chunk, i, e);
            const bool seen = key >= first[n][e % 2] && key < item.last;
            most[n][e % 2] = hopper::larger(most[n][e % 2], seen ? scores[i][n][e] : none);
          }
        }
      }
    };

    float o[S::row_tiles][tiles][4] = {};
    float sum = 0.0f;  // of chain lane / 4, column 4 quad + lane % 4
    const int scans = item.scans();
    for (int pass = 0; pass < scans + chunks; ++pass) {
      const int chunk = pass < scans ? pass : pass - scans;
      score_chunk<width, tiles, Entry>(ring, shared, item, chunk, key_factor, q, pass == 0, scores);
      if (pass < scans || scans == 0) take_most(chunk);
      if (pass < scans) continue;
      if (chunk == 0) {
#pragma unroll
        for (int n = 0; n < tiles; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            for (int apart = 4; apart < 32; apart *= 2) {
              most[n][e] =
                  hopper::larger(most[n][e], __shfl_xor_sync(0xffffffffu, most[n][e], apart));
            }
            if (lane < 4) maxima[worker * S::heads + 8 * n + pair + e] = most[n][e];
          }
        }
      }
      meet<1, worker_threads>();  // the chunk before is done with the weights
      if (chunk == 0) {
#pragma unroll
        for (int n = 0; n < tiles; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            for (int w = 0; w < workers; ++w) {
              most[n][e] = hopper::larger(most[n][e], maxima[w * S::heads + 8 * n + pair + e]);
            }
            most[n][e] = hopper::scaled_most(most[n][e], scale);
          }
        }
      }
      const int blocks = item.blocks(chunk);
#pragma unroll
      for (int i = 0; i < owned_blocks; ++i) {
        if (worker + workers * i >= blocks) break;
#pragma unroll
        for (int n = 0; n < tiles; ++n) {
#pragma unroll
          for (int e = 0; e < 4; e += 2) {
            const int key = key_of(chunk, i, e);
            const auto weight = [&](int column) {
              const bool seen = key >= first[n][column] && key < item.last;
              return seen ? hopper::weight_of(scores[i][n][e + column], scale, most[n][column])
                          : 0.0f;
            };
            const float p0 = weight(0);
            const float p1 = weight(1);
            const int place = n * chunk_keys + key - chunk * chunk_keys;
            *reinterpret_cast<float2*>(exact + place * 8 + pair) = make_float2(p0, p1);
            weights[place * 4 + pair / 2] = round_pair(p0, p1);
          }
        }
      }
      meet<1, worker_threads>();
      if (sums_quad) {
        const float* p = exact + (quad / 2 * chunk_keys + lane / 4) * 8 + quad % 2 * 4 + lane % 4;
#pragma unroll 8
        for (int i = 0; i < 2 * blocks; ++i) sum = hopper::add(sum, p[i * 64]);
      }
      weigh_chunk<width, tiles, Entry>(ring, shared, shared_address(weights), value_factor, blocks,
                                       later_columns(item, group), o);
    }

    for (int apart = 4; apart < 32; apart *= 2) {  // chains 0 1, 2 3, ..; then those pairs; ..
      sum = hopper::add(sum, __shfl_xor_sync(0xffffffffu, sum, apart));
    }
    const auto each_output = [&](auto&& put) {
      if (worker * 16 >= width) return;
#pragma unroll
      for (int m = 0; m < S::row_tiles; ++m) {
#pragma unroll
        for (int n = 0; n < tiles; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int column = 8 * n + pair + e % 2;
            const int at = (worker * S::row_tiles + m) * 16 + S::channel(lane / 4, e / 2);
            if (column < columns) put(column, at, o[m][n][e]);
          }
        }
      }
    };
    const int64_t head = item.kv_head * group;
    const int64_t split_rows = work.rows - work.windowed_rows;
    const int64_t per_head = split_rows * partials.splits;
    const int64_t place = partial_offset(item.split_row - work.windowed_rows, split_rows, head,
                                         partials.splits, item.split);
    if (worker == 0 && lane < 4) {
#pragma unroll
      for (int n = 0; n < tiles; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int column = 8 * n + pair + e;
          if (column < split_columns) partials.most[place + column * per_head] = most[n][e];
        }
      }
    }
    if (sums_quad && lane < 4) {
      const int column = 4 * quad + lane;
      if (column < split_columns) partials.sum[place + column * per_head] = sum;
      sums[column] = sum;
    }
    if (item.windows()) meet<1, worker_threads>();  // they need all sums
    bf16_bits* out = call.out + item.window_row * call.row_stride + head * width;
    each_output([&](int column, int at, float value) {
      if (column < split_columns) {
        partials.values[(place + column * per_head) * width + at] = value;
      } else {
        out[(column - split_columns) * width + at] =
            hopper::round_bf16(hopper::multiply(value, hopper::reciprocal(sums[column])));
      }
    });
  }
}

// Brings keys and values of the block's first item towards L2 while the kernel ahead ends. What it
// writes of them, the newest entry, reaches L2 all the same.
template <int width, class Entry>
__device__ void fetch_item(const Attention& call, const Item& item) {
  const auto bytes = static_cast<uint32_t>(min(item.last, chunk_keys) * width * sizeof(Entry));
  for (const Entry* from :
       {keys_of<Entry>(call.kv) + item.start, values_of<Entry>(call.kv) + item.start}) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
  }
}

// A block's share of what the launch behind reads.
__device__ void fetch_share(const FetchAhead& ahead) {
  const int64_t groups = ahead.count / 8;
  const int64_t first = groups * blockIdx.x / gridDim.x;
  const int64_t end = groups * (blockIdx.x + 1) / gridDim.x;
  if (first == end) return;
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(ahead.data + first * 8),
               "r"(static_cast<uint32_t>((end - first) * 16))
               : "memory");
}

template <int width, int tiles, class Entry>
__global__ void __launch_bounds__(SplitShape<width, tiles, Entry>::threads,
                                  SplitShape<width, tiles, Entry>::blocks)
    split_attention(Attention call, SplitWork work, SplitPartials partials) {
  using S = SplitShape<width, tiles, Entry>;
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t barriers = shared_address(memory) + S::shared_bytes - S::barrier_bytes;
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < S::slots; ++slot) {
      barrier_init(barriers + 16 * slot, S::carrier_threads);
      barrier_init(barriers + 16 * slot + 8, workers);
    }
  }
  const ItemQueue queue{barriers + S::barrier_bytes - ItemQueue::bytes};
  if (threadIdx.x == worker_threads) queue.open();
  ItemWalk walk(call, work, partials, queue);
  if (threadIdx.x == worker_threads && !walk.ended) fetch_item<width, Entry>(call, walk.item);
  __syncthreads();
  wait_for_launches_before();
  start_dependents();
  if (threadIdx.x >= worker_threads) {
    carry<width, tiles, Entry>(call, walk, shared_address(memory), barriers);
    if (threadIdx.x == worker_threads) fetch_share(call.ahead);
  } else {
    work_on<width, tiles, Entry>(call, work, partials, walk, memory, barriers);
  }
}

template <int width, int tiles, class Entry>
void launch_tiles(const Attention& call, const SplitWork& work, const SplitPartials& partials) {
  using S = SplitShape<width, tiles, Entry>;
  const auto kernel = split_attention<width, tiles, Entry>;
  int device = 0;
  int processors = 0;
  ORTHROS_CUDA(cudaGetDevice(&device));
  ORTHROS_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  ORTHROS_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes));
  const int64_t items =
      ((work.rows - work.windowed_rows) * partials.splits + work.windowed_rows) * work.kv_heads;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(items, S::blocks * processors));
  launch(kernel, {dim3(blocks), dim3(S::threads), S::shared_bytes}, call.stream, call, work,
         partials);
}

template <int width, class Entry>
void launch_entries(const Attention& call, const SplitWork& work, const SplitPartials& partials) {
  if (call.shape.group() <= 8) {
    launch_tiles<width, 1, Entry>(call, work, partials);
  } else {
    launch_tiles<width, 2, Entry>(call, work, partials);
  }
}

template <int width>
void launch_width(const Attention& call, const SplitWork& work, const SplitPartials& partials) {
  if (call.kv.keys8 != nullptr) {
    launch_entries<width, uint8_t>(call, work, partials);
  } else {
    launch_entries<width, bf16_bits>(call, work, partials);
  }
}

}  // namespace

bool split_attention_fits(const AttentionShape& shape) {
  return (shape.width == 64 || shape.width == 128 || shape.width == 256) && shape.group() <= 16;
}

int64_t split_workspace_bytes(const AttentionShape& shape, int64_t rows, int64_t most_keys) {
  return rows * shape.query_heads * split_count(most_keys) * (shape.width + 2) *
         static_cast<int64_t>(sizeof(float));
}

void launch_split_partials(const Attention& call, const SplitWork& work,
                           const SplitPartials& partials) {
  switch (call.shape.width) {
    case 64:
      launch_width<64>(call, work, partials);
      break;
    case 128:
      launch_width<128>(call, work, partials);
      break;
    case 256:
      launch_width<256>(call, work, partials);
      break;
    default:
      throw std::invalid_argument("split attention has widths 64, 128 and 256");
  }
}

void launch_split_attention(const Attention& call, int64_t base_rows, int64_t rows,
                            int64_t most_keys, void* workspace) {
  if (rows == 0) return;
  const bool paired = call.pairs && base_rows > 0 && streams_fit(call.window, call.shape.group());
  const SplitWork work{call.window == 0 ? 0 : base_rows, rows, call.shape.kv_heads, call.window,
                       paired};
  SplitPartials partials{
      static_cast<float*>(workspace), nullptr, nullptr, split_count(most_keys), {}};
  const int64_t places = (rows - work.windowed_rows) * call.shape.query_heads * partials.splits;
  partials.most = partials.values + places * call.shape.width;
  partials.sum = partials.most + places;
  launch_split_partials(call, work, partials);
  launch_merge_splits(call, work, {partials});
}

}  // namespace orthros::cuda
