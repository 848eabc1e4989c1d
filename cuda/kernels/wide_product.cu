// wide_product: a persistent block's two warpgroups take tiles of 128 rows by 192 outputs in turn.
//
// One thread fills a ring of stages, 64 of k of the block's rows of x and of the tile's rows of W,
// which the blocks of a cluster share: each copies a part of W's rows for all. A warpgroup adds up
// k in ascending steps of 16 in one accumulator an output, which is the dot_chain. While it sends
// its results off, the other one's products keep the tensor cores busy.
#include <algorithm>
#include <array>

#include "cuda/kernels/async_copy.hpp"
#include "cuda/kernels/tensor_map.hpp"
#include "cuda/kernels/wgmma.hpp"
#include "cuda/kernels/wide_product.hpp"
#include "cuda/layout/wide_tiles.hpp"
#include "cuda/support/cuda_error.hpp"
#include "reference/hopper/pointwise.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

constexpr int32_t warpgroups = 2;
constexpr int32_t warps = 4 * warpgroups;            // that multiply
constexpr int32_t threads = (warpgroups + 1) * 128;  // the last warpgroup copies
constexpr int32_t stages = 5;
constexpr int32_t atom_bytes = 1024;
constexpr int32_t part_outputs = wide_outputs / wide_cluster;  // that a block copies for all
constexpr int32_t halves = wide_rows / 64;                     // of a tile: rows that wgmma takes
constexpr int32_t warp_rows = 16;                              // of these 64
constexpr int32_t sent_columns = 32;                           // at a time
constexpr int32_t copying_registers = 24;
constexpr int32_t working_registers = 240;
constexpr uint16_t whole_cluster = (1 << wide_cluster) - 1;

struct alignas(1024) Shared {
  bf16_bits x[stages][wide_rows][wide_depth];
  bf16_bits w[stages][wide_outputs][wide_depth];
  bf16_bits y[warps][2][warp_rows][sent_columns];
  uint64_t full[stages];
  uint64_t empty[stages];
  uint64_t turn[warpgroups];  // the other warpgroup has seen its tile's last stage arrive
};
constexpr uint32_t stage_bytes = (wide_rows + wide_outputs) * wide_depth * sizeof(bf16_bits);

struct Maps {
  CUtensorMap x;  // boxes of 128 rows
  CUtensorMap w;  // of part_outputs rows
  CUtensorMap y;  // of warp_rows rows, sent_columns wide
};

// Where the ring goes on: the next stage, and its phase's parity.
struct RingPlace {
  int32_t stage = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ void advance(int32_t boxes) {
    const int32_t sum = stage + boxes;
    stage = sum % stages;
    parity ^= sum / stages & 1;
  }
};

// One thread: every tile's operands into the ring.
__device__ __forceinline__ void copy_operands(Shared& shared, const Maps& maps,
                                              const WideTiles& tiles, int32_t boxes,
                                              int32_t cluster, int32_t clusters, int32_t rank) {
  RingPlace place;
  for (int32_t index = cluster; index < tiles.count(); index += clusters) {
    const WideTile tile = tiles.at(index);
    const int32_t row = (tile.row * wide_cluster + rank) * wide_rows;
    const int32_t output = tile.output * wide_outputs + rank * part_outputs;
#pragma unroll 1
    for (int32_t box = 0; box < boxes; ++box) {
      barrier_wait(&shared.empty[place.stage], place.parity ^ 1);
      uint64_t* full = &shared.full[place.stage];
      barrier_arrive_expect(full, stage_bytes);
      load_box(shared.x[place.stage], maps.x, full, box * wide_depth, row);
      load_box_for(whole_cluster, shared.w[place.stage][rank * part_outputs], maps.w, full,
                   box * wide_depth, output);
      place.advance();
    }
  }
}

// One warp of a warpgroup. In an accumulator of 64 rows a thread holds rows lane / 4 and
// lane / 4 + 8 of the warp's 16 and, of every 8 columns, 2 (lane % 4) and the next: element
// 4 j + 2 h + e is column 8 j + 2 (lane % 4) + e of row h.
template <WideResult result>
class Consumer {
 public:
  __device__ __forceinline__ Consumer(Shared& shared, const Maps& maps, int32_t warp, int32_t lane)
      : shared_(shared), maps_(maps), warpgroup_(warp / 4), warp_(warp), lane_(lane) {}

  __device__ __forceinline__ void run(const WideTiles& tiles, int32_t boxes, int32_t cluster,
                                      int32_t clusters, int32_t rank) {
    place_.advance(warpgroup_ * boxes);
    uint32_t parity = warpgroup_ == 0;  // the first tile's turn is there at once
    for (int32_t index = cluster + warpgroup_ * clusters; index < tiles.count();
         index += warpgroups * clusters) {
      const WideTile tile = tiles.at(index);
      // A barrier tells this phase from the one before, not from others.
      barrier_wait(&shared_.turn[warpgroup_], parity);
      parity ^= 1;
      float sums[halves][wide_outputs / 2];
      multiply(sums, boxes);
      send(sums, (tile.row * wide_cluster + rank) * wide_rows, tile.output * wide_outputs);
      place_.advance((warpgroups - 1) * boxes);
    }
    if (lane_ == 0) store_wait_read();
  }

 private:
  __device__ __forceinline__ void release(int32_t stage) const {
    if (lane_ < wide_cluster) barrier_arrive_at(&shared_.empty[stage], lane_);
  }

  __device__ __forceinline__ void multiply(float (&sums)[halves][wide_outputs / 2], int32_t boxes) {
    const Descriptor x = swizzled_descriptor(shared_address(shared_.x), atom_bytes, 16);
    const Descriptor w = swizzled_descriptor(shared_address(shared_.w), atom_bytes, 16);
    int32_t before = 0;
#pragma unroll 1
    for (int32_t box = 0; box < boxes; ++box) {
      barrier_wait(&shared_.full[place_.stage], place_.parity);
      if (box == boxes - 1 && lane_ == 0) barrier_arrive(&shared_.turn[1 - warpgroup_]);
      const Descriptor xs = advanced(x, place_.stage * static_cast<uint32_t>(sizeof shared_.x[0]));
      const Descriptor ws = advanced(w, place_.stage * static_cast<uint32_t>(sizeof shared_.w[0]));
      wgmma_fence();
#pragma unroll
      for (int32_t k = 0; k < wide_depth / 16; ++k) {
#pragma unroll
        for (int32_t half = 0; half < halves; ++half) {
          wgmma_rows_192(sums[half], advanced(xs, half * 8 * atom_bytes + k * 32),
                         advanced(ws, k * 32), box + k > 0);
        }
      }
      wgmma_commit();
      wgmma_wait<1>();
      if (box > 0) release(before);
      before = place_.stage;
      place_.advance();
    }
    wgmma_wait<0>();
    release(before);
#pragma unroll
    for (int32_t half = 0; half < halves; ++half) pin(sums[half]);
  }

  // The warp's results of the tile whose results begin at `row` and `output`, by its own copies
  // through two places in turn.
  __device__ __forceinline__ void send(const float (&sums)[halves][wide_outputs / 2], int32_t row,
                                       int32_t output) {
    constexpr int32_t columns = result == WideResult::gated ? wide_outputs / 2 : wide_outputs;
    constexpr int32_t parts = columns / sent_columns;
    const int32_t first = result == WideResult::gated ? output / 2 : output;
#pragma unroll
    for (int32_t half = 0; half < halves; ++half) {
#pragma unroll
      for (int32_t part = 0; part < parts; ++part) {
        bf16_bits(*to)[sent_columns] = shared_.y[warp_][(half * parts + part) % 2];
        if (lane_ == 0) store_wait_read<1>();
        __syncwarp();
#pragma unroll
        for (int32_t k = 0; k < sent_columns / 16; ++k) {
          uint32_t pairs[4];
#pragma unroll
          for (int32_t n = 0; n < 4; ++n) {
            const int32_t eight = part * sent_columns / 8 + 2 * k + n / 2;  // columns of the result
            pairs[n] = pair(sums[half], eight, n % 2);
          }
          // Rows of 64 bytes, swizzled as copies expect them.
          const int32_t r = lane_ % 16;
          const int32_t chunk = (k * 2 + lane_ / 16) ^ (r / 2 % 4);
          asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                           shared_address(to[r]) + chunk * 16),
                       "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
                       : "memory");
        }
        async_proxy_fence();
        __syncwarp();
        if (lane_ == 0) {
          store_box(maps_.y, to, first + part * sent_columns,
                    row + half * 64 + warp_ % 4 * warp_rows);
          store_commit();
        }
      }
    }
  }

  // This thread's two columns of the result's columns 8 eight .. 8 eight + 7, of row h.
  __device__ __forceinline__ static uint32_t pair(const float (&sums)[wide_outputs / 2],
                                                  int32_t eight, int32_t h) {
    if constexpr (result == WideResult::gated) {
      const float* gate = sums + 8 * eight + 2 * h;
      return gated_pair(gate[0], gate[1], gate[4], gate[5]);
    } else {
      return rounded_pair(sums[4 * eight + 2 * h], sums[4 * eight + 2 * h + 1]);
    }
  }

  // Two outputs of SwiGLU, gate and up rounded as the projection's results are.
  __device__ __forceinline__ static uint32_t gated_pair(float gate0, float gate1, float up0,
                                                        float up1) {
    const auto rounded = [](float x) { return hopper::widen_bf16(hopper::round_bf16(x)); };
    return rounded_pair(hopper::gated(rounded(gate0), rounded(up0)),
                        hopper::gated(rounded(gate1), rounded(up1)));
  }

  Shared& shared_;
  const Maps& maps_;
  int32_t warpgroup_;
  int32_t warp_;
  int32_t lane_;
  RingPlace place_;
};

// `boxes`: of wide_depth columns of k.
template <WideResult result>
__global__ void __launch_bounds__(threads, 1)
    wide_product_kernel(const __grid_constant__ Maps maps, const WideTiles tiles, int32_t boxes) {
  extern __shared__ Shared shared_memory[];
  Shared& shared = shared_memory[0];
  const int32_t warp = uniform(threadIdx.x / 32);
  const int32_t lane = threadIdx.x % 32;
  const auto rank = static_cast<int32_t>(cluster_rank());
  const int32_t cluster = blockIdx.x / wide_cluster;
  const int32_t clusters = gridDim.x / wide_cluster;
  if (threadIdx.x == 0) {
    for (int32_t i = 0; i < stages; ++i) {
      barrier_init(&shared.full[i], 1);
      barrier_init(&shared.empty[i], warps / warpgroups * wide_cluster);
    }
    for (int32_t i = 0; i < warpgroups; ++i) barrier_init(&shared.turn[i], warps / warpgroups);
    barrier_init_fence();
    prefetch_map(maps.x);
    prefetch_map(maps.w);
    prefetch_map(maps.y);
  }
  cluster_sync();
  wait_for_previous_launch();
  if (warp >= warps) {
    fewer_registers<copying_registers>();
    if (warp == warps && lane == 0) {
      copy_operands(shared, maps, tiles, boxes, cluster, clusters, rank);
    }
    __syncwarp();
  } else {
    more_registers<working_registers>();
    Consumer<result>(shared, maps, warp, lane).run(tiles, boxes, cluster, clusters, rank);
    __syncwarp();
  }
  // No block ends while others may still copy into it or arrive at its barriers.
  cluster_sync();
}

// Clusters that the device holds at a time: where a part of it has an odd number of free
// multiprocessors, fewer than there would be room for in sum.
template <WideResult result>
int64_t clusters_at_once(cudaLaunchConfig_t config) {
  static const int64_t count = [&] {
    int found = 0;
    config.gridDim = dim3(wide_cluster);
    ORTHROS_CUDA(cudaOccupancyMaxActiveClusters(&found, wide_product_kernel<result>, &config));
    return found;
  }();
  return count;
}

template <WideResult result>
void launch(const WideProduct& product) {
  const auto kernel = wide_product_kernel<result>;
  ORTHROS_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(sizeof(Shared))));
  const Weight& w = product.w;
  const Input& x = product.x;
  const int64_t columns = result == WideResult::gated ? w.out / 2 : w.out;
  const auto map = [](const bf16_bits* data, int64_t rows, int64_t columns, int64_t stride,
                      int32_t box, int32_t width) {
    return bf16_map(data, columns, std::array{MapDimension{stride, rows, box}}, width);
  };
  const Maps maps = {map(x.data, x.rows, w.in, x.stride, wide_rows, wide_depth),
                     map(w.data, w.out, w.in, w.stride, part_outputs, wide_depth),
                     map(product.y, x.rows, columns, product.y_stride, warp_rows, sent_columns)};
  const WideTiles tiles = wide_tiles(x.rows, w.out, wide_band);
  const auto boxes = static_cast<int32_t>((w.in + wide_depth - 1) / wide_depth);
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {wide_cluster, 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = sizeof(Shared);
  config.stream = product.stream;
  config.attrs = attributes;
  config.numAttrs = product.overlap ? 2 : 1;
  const auto clusters = std::min<int64_t>(tiles.count(), clusters_at_once<result>(config));
  config.gridDim = dim3(static_cast<unsigned>(clusters * wide_cluster));
  ORTHROS_CUDA(cudaLaunchKernelEx(&config, kernel, maps, tiles, boxes));
}

}  // namespace

void launch_wide_product(const WideProduct& product) {
  if (product.x.rows == 0) return;
  if (product.result == WideResult::gated) {
    launch<WideResult::gated>(product);
  } else {
    launch<WideResult::rounded>(product);
  }
}

}  // namespace orthros::cuda
