// row_product: a warp multiplies 16 outputs' weights, streamed in k order through a ring of boxes.
#include <cuda.h>
#include <cuda_runtime.h>

#include <string>

#include "cuda/kernels/row_product.hpp"
#include "cuda/linear/bulk_copy.hpp"
#include "cuda/support/cuda_error.hpp"
#include "reference/hopper/pointwise.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t block_threads_most = 32 * (row_warps_most + 1);

struct Destination {
  void* y;
  int64_t y_stride;
  int64_t rows;
  int64_t out;
  RowResult result;
};

// Four 8 x 8 matrices of bf16; lane l gives the row l % 8 of matrix l / 8.
__device__ inline void load_matrices(uint32_t (&to)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
// One step of 16 outputs' chains for 8 rows.
__device__ inline void step(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Half a box, 32 of k: two steps' operands.
template <int Tiles>
struct Half {
  uint32_t w[2][4];
  uint32_t x[Tiles][4];

  // Lanes' addresses within the box's first half. Rows are 128 bytes; their 16-byte pieces are
  // permuted by xor with the row's number, so pieces 4..7 lie at the address xor 64.
  __device__ void load(uint32_t w_address, uint32_t x_address, uint32_t half) {
    load_matrices(w[0], w_address ^ (half << 6));
    load_matrices(w[1], w_address ^ (half << 6) ^ 32);
    for (int tile = 0; tile < Tiles; ++tile) {
      load_matrices(x[tile], (x_address + tile * row_tile_bytes) ^ (half << 6));
    }
  }
  __device__ void multiply(float (&sums)[Tiles][4]) const {
    for (int tile = 0; tile < Tiles; ++tile) step(sums[tile], w[0], x[tile][0], x[tile][1]);
    for (int tile = 0; tile < Tiles; ++tile) step(sums[tile], w[1], x[tile][2], x[tile][3]);
  }
};

// A warp's 16 outputs from `first` on, for 8 rows from `row` on: lane l has outputs l / 4 (sums 0
// and 1) and l / 4 + 8 (sums 2 and 3) of rows 2 (l % 4) and 2 (l % 4) + 1.
__device__ void store(const Destination& to, const float (&sums)[4], int64_t first, int64_t row) {
  const int64_t lane = threadIdx.x % 32;
  const int64_t output = first + lane / 4;
  for (int i = 0; i < 2; ++i) {
    const int64_t r = row + 2 * (lane % 4) + i;
    if (r >= to.rows) continue;
    if (to.result == RowResult::gated) {
      const int64_t column = first / 2 + lane / 4;
      const float gate = hopper::widen_bf16(hopper::round_bf16(sums[i]));
      const float up = hopper::widen_bf16(hopper::round_bf16(sums[i + 2]));
      if (column < to.out / 2) {
        static_cast<bf16_bits*>(to.y)[r * to.y_stride + column] =
            hopper::round_bf16(hopper::gated(gate, up));
      }
    } else if (to.result == RowResult::rounded) {
      bf16_bits* y = static_cast<bf16_bits*>(to.y) + r * to.y_stride;
      if (output < to.out) y[output] = hopper::round_bf16(sums[i]);
      if (output + 8 < to.out) y[output + 8] = hopper::round_bf16(sums[i + 2]);
    } else {
      float* y = static_cast<float*>(to.y) + r * to.y_stride;
      if (output < to.out) y[output] = sums[i];
      if (output + 8 < to.out) y[output + 8] = sums[i + 2];
    }
  }
}

// Block (b, r): outputs from 16 warps b on, rows from 8 Tiles r on. The last warp copies; a stage
// of the ring holds one box of W (16 warps outputs x 64) and one of x (8 Tiles rows x 64).
template <int Tiles>
__global__ void __launch_bounds__(block_threads_most, Tiles <= 4 ? 2 : 1)
    row_product_kernel(const __grid_constant__ CUtensorMap w_map,
                       const __grid_constant__ CUtensorMap x_map, Destination to, int32_t boxes,
                       int32_t depth) {
  extern __shared__ uint8_t dynamic[];
  __shared__ uint64_t barriers[2 * row_depth_most];
  const int32_t warps = blockDim.x / 32 - 1;
  const int32_t warp = threadIdx.x / 32;
  const int32_t lane = threadIdx.x % 32;
  const uint32_t w_bytes = warps * row_box_bytes;
  const uint32_t stage_bytes = w_bytes + Tiles * row_tile_bytes;
  const uint32_t ring = (shared_address(dynamic) + row_ring_alignment - 1) / row_ring_alignment *
                        static_cast<uint32_t>(row_ring_alignment);
  const uint32_t full = shared_address(barriers);
  const uint32_t empty = full + 8 * depth;
  const int32_t first_output = blockIdx.x * warps * 16;
  const int32_t first_row = blockIdx.y * Tiles * 8;
  if (threadIdx.x == 0) {
    for (int32_t i = 0; i < depth; ++i) {
      barrier_init(full + 8 * i, 1);
      barrier_init(empty + 8 * i, warps);
    }
    barrier_init_fence();
  }
  __syncthreads();

  if (warp == warps) {
    if (lane != 0) return;
    start_next();
    prefetch_map(&w_map);
    prefetch_map(&x_map);
    const int32_t ahead = boxes < depth ? boxes : depth;
    for (int32_t box = 0; box < ahead; ++box) {
      barrier_expect(full + 8 * box, stage_bytes);
      copy_box_once(ring + box * stage_bytes, &w_map, box * row_box_columns, first_output,
                    full + 8 * box);
    }
    wait_for_previous();
    for (int32_t box = 0; box < ahead; ++box) {
      copy_box(ring + box * stage_bytes + w_bytes, &x_map, box * row_box_columns, first_row,
               full + 8 * box);
    }
    int32_t stage = 0;
    uint32_t parity = 0;
    for (int32_t box = depth; box < boxes; ++box) {
      const uint32_t at = ring + stage * stage_bytes;
      barrier_wait(empty + 8 * stage, parity);
      barrier_expect(full + 8 * stage, stage_bytes);
      copy_box_once(at, &w_map, box * row_box_columns, first_output, full + 8 * stage);
      copy_box(at + w_bytes, &x_map, box * row_box_columns, first_row, full + 8 * stage);
      if (++stage == depth) {
        stage = 0;
        parity ^= 1;
      }
    }
    return;
  }

  const uint32_t w_lane = warp * row_box_bytes + lane % 16 * 128 + ((lane / 16 ^ lane % 8) << 4);
  const uint32_t x_lane = w_bytes + lane % 8 * 128 + ((lane / 8 ^ lane % 8) << 4);
  float sums[Tiles][4] = {};
  Half<Tiles> half0;
  Half<Tiles> half1;
  uint32_t at = ring;
  int32_t stage = 0;
  uint32_t parity = 0;
  barrier_wait(full, 0);
  half0.load(at + w_lane, at + x_lane, 0);
  for (int32_t box = 0; box < boxes; ++box) {
    // The next operands are on their way while this half's steps wait for one another.
    half1.load(at + w_lane, at + x_lane, 1);
    half0.multiply(sums);
    const uint32_t done = empty + 8 * stage;
    at += stage_bytes;
    if (++stage == depth) {
      stage = 0;
      parity ^= 1;
      at = ring;
    }
    if (box + 1 < boxes) {
      barrier_wait(full + 8 * stage, parity);
      half0.load(at + w_lane, at + x_lane, 0);
    }
    half1.multiply(sums);
    __syncwarp();
    if (lane == 0) barrier_arrive(done);
  }
  wait_for_previous();
  for (int tile = 0; tile < Tiles; ++tile) {
    store(to, sums[tile], first_output + warp * 16, first_row + tile * 8);
  }
}

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

// The driver's function, found through the runtime so that nothing links against the driver.
EncodeTiled encode_tiled() {
  static const EncodeTiled function = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    ORTHROS_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                                  cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess) {
      throw DeviceError("the driver has no cuTensorMapEncodeTiled");
    }
    return reinterpret_cast<EncodeTiled>(entry);
  }();
  return function;
}

// Boxes of `box_rows` rows x 64 columns of a matrix of bf16.
CUtensorMap matrix_map(const bf16_bits* data, int64_t rows, int64_t columns, int64_t stride,
                       int64_t box_rows) {
  CUtensorMap map;
  const cuuint64_t extents[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(stride) * sizeof(bf16_bits)};
  const cuuint32_t box[2] = {row_box_columns, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[2] = {1, 1};
  const CUresult result = encode_tiled()(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<bf16_bits*>(data), extents, strides,
      box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw DeviceError("cuTensorMapEncodeTiled: error " + std::to_string(result) + " for " +
                      std::to_string(rows) + " x " + std::to_string(columns) + ", stride " +
                      std::to_string(stride));
  }
  return map;
}

template <int Tiles>
void launch(const RowProduct& product, const RowTiling& tiling) {
  const auto kernel = row_product_kernel<Tiles>;
  const auto bytes = static_cast<int>(tiling.depth * tiling.stage_bytes() + row_ring_alignment);
  // Always the most: threads that launch for other engines on the device set it too.
  ORTHROS_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(row_lone_bytes)));
  const Weight& w = product.w;
  const Input& x = product.x;
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(tiling.output_blocks(w.out)),
                        static_cast<unsigned>(tiling.row_blocks(x.rows)));
  config.blockDim = dim3(static_cast<unsigned>(32 * (tiling.warps + 1)));
  config.dynamicSmemBytes = static_cast<size_t>(bytes);
  config.stream = product.stream;
  config.attrs = &overlap;
  config.numAttrs = product.overlap ? 1 : 0;
  const Destination to{product.y, product.y_stride, x.rows, w.out, product.result};
  const auto boxes = static_cast<int32_t>((w.in + row_box_columns - 1) / row_box_columns);
  ORTHROS_CUDA(cudaLaunchKernelEx(&config, kernel,
                                  matrix_map(w.data, w.out, w.in, w.stride, 16 * tiling.warps),
                                  matrix_map(x.data, x.rows, w.in, x.stride, 8 * tiling.tiles), to,
                                  boxes, static_cast<int32_t>(tiling.depth)));
}

int64_t processors() {
  static const int64_t count = [] {
    int device = 0;
    int found = 0;
    ORTHROS_CUDA(cudaGetDevice(&device));
    ORTHROS_CUDA(cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, device));
    return found;
  }();
  return count;
}

}  // namespace

void launch_row_product(const RowProduct& product, const RowTiling& tiling) {
  if (product.x.rows == 0) return;
  switch (tiling.tiles) {
    case 1:
      return launch<1>(product, tiling);
    case 2:
      return launch<2>(product, tiling);
    case 4:
      return launch<4>(product, tiling);
    default:
      return launch<row_tiles_most>(product, tiling);
  }
}

void launch_row_product(const RowProduct& product) {
  launch_row_product(product,
                     row_tiling(product.w.out, product.w.in, product.x.rows, processors()));
}

}  // namespace orthros::cuda
