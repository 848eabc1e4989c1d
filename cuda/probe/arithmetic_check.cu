// Compares a device with the shared headers of reference/hopper, bit for bit: pointwise operations,
// norm trees shared among threads, attention rows, and cuBLASLt's algorithms with the dot chain.
//
//   nvcc -std=c++20 -O2 -gencode arch=compute_90a,code=sm_90a -I. -lcublasLt \
//        -Xcompiler -O2,-fopenmp,-ffp-contract=off cuda/probe/arithmetic_check.cu -o
//        arithmetic_check
//
// Prints one line a comparison: what, compared, differing. Exit 1 where anything differs, or no
// algorithm of a product equals the chain.
#include <cublasLt.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "cuda/probe/cuda_check.hpp"
#include "reference/hopper/attention_row.hpp"
#include "reference/hopper/norm_order.hpp"
#include "reference/hopper/pointwise.hpp"

using namespace orthros::hopper;

namespace {

int64_t all_differing = 0;

void report(const std::string& what, int64_t compared, int64_t differing) {
  std::printf("%-58s %12lld compared %8lld differ\n", what.c_str(),
              static_cast<long long>(compared), static_cast<long long>(differing));
  std::fflush(stdout);
  all_differing += differing;
}

template <class T>
T* allocate(int64_t count) {
  T* device = nullptr;
  ORTHROS_PROBE_CHECK(cudaMalloc(&device, count * sizeof(T)));
  return device;
}
template <class T>
T* on_device(const std::vector<T>& values) {
  T* device = allocate<T>(values.size());
  ORTHROS_PROBE_CHECK(
      cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}
template <class T>
std::vector<T> from_device(const T* device, int64_t count) {
  std::vector<T> values(count);
  ORTHROS_PROBE_CHECK(cudaMemcpy(values.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

__host__ __device__ uint64_t random_bits(uint64_t seed, uint64_t index) {
  uint64_t z = seed * 0xd1342543de82ef95ull + index * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
__host__ __device__ float uniform(uint64_t bits, float low, float high) {
  return add(
      low, multiply(subtract(high, low), multiply(static_cast<float>(bits & 0xffffff), 0x1p-24f)));
}
// About normal times scale.
__host__ __device__ uint16_t random_bf16(uint64_t bits, float scale) {
  const float sum =
      add(add(uniform(bits, -1, 1), uniform(bits >> 20, -1, 1)), uniform(bits >> 40, -1, 1));
  return round_bf16(multiply(sum, scale));
}

constexpr const char* operations[] = {"exp2 of -140..127",
                                      "exp2 of any bits up to 127",
                                      "silu of -200..200",
                                      "silu of any bits",
                                      "sigmoid of any bits",
                                      "rounding any bits to bf16",
                                      "softmax weight",
                                      "merge",
                                      "rotation, first",
                                      "rotation, second",
                                      "scale-offset",
                                      "norm",
                                      "inverse root",
                                      "division of any bits",
                                      "square root of any bits",
                                      "gated product"};

__host__ __device__ float operation(int which, uint64_t index) {
  const uint64_t r = random_bits(which + 1, index);
  const uint64_t r2 = random_bits(which + 101, index);
  const float x = from_bits(static_cast<uint32_t>(r));
  const float y = from_bits(static_cast<uint32_t>(r >> 32));
  const float a = uniform(r, -8, 8);
  const float b = uniform(r >> 32, -8, 8);
  const float c = uniform(r2, -1, 1);
  const float d = uniform(r2 >> 32, -1, 1);
  switch (which) {
    case 0:
      return power_of_two(uniform(r, -140, 127));
    case 1:
      return power_of_two(smaller(x, exp2_most));
    case 2:
      return silu(uniform(r, -200, 200));
    case 3:
      return silu(x);
    case 4:
      return sigmoid(x);
    case 5:
      return widen_bf16(round_bf16(x));
    case 6:
      return weight_of(multiply(a, 64.0f), 0.1275f, multiply(512.0f, 0.1275f));
    case 7:
      return fold(a, merge_factor(multiply(b, 9.0f), multiply(8.0f, 9.0f)), c);
    case 8:
      return rotated_first(a, b, c, d);
    case 9:
      return rotated_second(a, b, c, d);
    case 10:
      return scale_offset(a, b, c);
    case 11:
      return normed(a, uniform(r >> 40, 0.01f, 9.0f), c);
    case 12:
      return inverse_root(uniform(r, 0, 1e6f), 1 + (r2 & 0x3fff), 1e-6f);
    case 13:
      return divide(x, y);
    case 14:
      return square_root(x);
    default:
      return gated(a, b);
  }
}
__global__ void run_operation(int which, int64_t count, float* out) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    out[i] = operation(which, i);
  }
}

bool same(float x, float y) {
  return bits_of(x) == bits_of(y) || (x != x && y != y);
}

void compare_operations(int64_t count) {
  auto* device = allocate<float>(count);
  for (int which = 0; which < 16; ++which) {
    run_operation<<<1024, 256>>>(which, count, device);
    ORTHROS_PROBE_CHECK(cudaGetLastError());
    const std::vector<float> got = from_device(device, count);
    int64_t differing = 0;
#pragma omp parallel for reduction(+ : differing)
    for (int64_t i = 0; i < count; ++i) differing += !same(got[i], operation(which, i));
    report(operations[which], count, differing);
  }
  ORTHROS_PROBE_CHECK(cudaFree(device));
}

// The norm's tree with groups dealt out to the block's threads.
__global__ void norm_tree(const uint16_t* x, int64_t width, float* out) {
  __shared__ float shared[1024];
  const int64_t padded = padded_groups(width);
  const int64_t threads = blockDim.x;
  const uint16_t* row = x + blockIdx.x * width;
  float held[32];  // groups t, t + threads, ..: halved in registers
  int64_t count = padded > threads ? padded / threads : 1;
  for (int64_t j = 0; j < count; ++j) {
    held[j] = group_sum(row, threadIdx.x + j * threads, width);
  }
  for (; count > 1; count /= 2) {
    for (int64_t j = 0; j < count / 2; ++j) held[j] = add(held[j], held[j + count / 2]);
  }
  shared[threadIdx.x] = held[0];
  __syncthreads();
  for (int64_t h = threads / 2; h >= 32; h /= 2) {
    if (threadIdx.x < h) shared[threadIdx.x] = add(shared[threadIdx.x], shared[threadIdx.x + h]);
    __syncthreads();
  }
  if (threadIdx.x >= 32) return;
  float sum = shared[threadIdx.x];
  for (int offset = 16; offset >= 1; offset /= 2) {
    sum = add(sum, __shfl_xor_sync(0xffffffff, sum, offset));
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

void compare_norms() {
  for (const int64_t width : {8, 40, 64, 100, 128, 256, 2048, 4096, 5120, 12288, 12296}) {
    const int64_t rows = 4096;
    std::vector<uint16_t> x(rows * width);
    for (size_t i = 0; i < x.size(); ++i) x[i] = random_bf16(random_bits(width, i), 2.0f);
    auto* device = on_device(x);
    auto* sums = allocate<float>(rows);
    int64_t differing = 0;
    int64_t compared = 0;
    for (const int threads : {64, 128, 512}) {
      norm_tree<<<rows, threads>>>(device, width, sums);
      ORTHROS_PROBE_CHECK(cudaGetLastError());
      const std::vector<float> got = from_device(sums, rows);
      for (int64_t r = 0; r < rows; ++r) {
        differing += !same(got[r], sum_of_squares(&x[r * width], width));
        ++compared;
      }
    }
    report("norm tree of 64, 128 and 512 threads, width " + std::to_string(width), compared,
           differing);
    ORTHROS_PROBE_CHECK(cudaFree(device));
    ORTHROS_PROBE_CHECK(cudaFree(sums));
  }
}

// Attention of one row a thread, through the plain definition.
__host__ __device__ void attend_row(const uint16_t* q, const uint16_t* kv, int64_t keys,
                                    int64_t row, uint16_t* out) {
  constexpr int64_t width = 24;
  float scratch[2 * width];
  const uint64_t r = random_bits(77, row);
  const int64_t end = 1 + r % keys;
  const int64_t begin = row % 2 ? 0 : end - 1 - (r >> 32) % (end < 200 ? end : 200);
  const VisibleKeys seen{kv, kv + keys * width, width, width, begin, end};
  const float scale = 0x1.2p-2f;
  if (row % 2) {
    attend_output(q + row * width, seen, scale, scratch, out + row * width);
  } else {
    attend_base(q + row * width, seen, scale, scratch, out + row * width);
  }
}
__global__ void attend_rows(const uint16_t* q, const uint16_t* kv, int64_t keys, int64_t rows,
                            uint16_t* out) {
  const int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row < rows) attend_row(q, kv, keys, row, out);
}

void compare_attention() {
  constexpr int64_t keys = 2100;
  constexpr int64_t rows = 2048;
  constexpr int64_t width = 24;
  std::vector<uint16_t> q(rows * width);
  std::vector<uint16_t> kv(2 * keys * width);
  for (size_t i = 0; i < q.size(); ++i) q[i] = random_bf16(random_bits(5, i), 3.0f);
  for (size_t i = 0; i < kv.size(); ++i) kv[i] = random_bf16(random_bits(6, i), 2.0f);
  auto* out = allocate<uint16_t>(rows * width);
  attend_rows<<<rows / 32, 32>>>(on_device(q), on_device(kv), keys, rows, out);
  ORTHROS_PROBE_CHECK(cudaGetLastError());
  const std::vector<uint16_t> got = from_device(out, rows * width);
  std::vector<uint16_t> expected(rows * width);
#pragma omp parallel for schedule(dynamic)
  for (int64_t row = 0; row < rows; ++row) {
    attend_row(q.data(), kv.data(), keys, row, expected.data());
  }
  int64_t differing = 0;
  for (int64_t i = 0; i < rows * width; ++i) differing += got[i] != expected[i];
  report("attention rows, windowed and in splits", rows * width, differing);
}

// y = x W^T by the chain, one thread an output. x: m x k, w: n x k.
__global__ void chain_product(const uint16_t* x, const uint16_t* w, int64_t m, int64_t n, int64_t k,
                              float* y) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= m * n) return;
  y[i] = dot_chain(x + i / n * k, 1, w + i % n * k, 1, k);
}
__global__ void fill(uint64_t seed, float scale, int special, int64_t count, uint16_t* out) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    const uint64_t r = random_bits(seed, i);
    out[i] = random_bf16(r, scale);
    if (special && (r >> 48) % 64 == 0) {  // zeros, subnormals, wild exponents; rarely inf and NaN
      out[i] = (r >> 40) % 256 == 0
                   ? (r & 0x8000) | 0x7f80 | ((r >> 3) & 1)
                   : static_cast<uint16_t>((r >> 16) & ((r & 7) ? 0xffff : 0x807f));
    }
  }
}
__global__ void count_differing(const float* chain, const void* got, bool bf16, int64_t count,
                                unsigned long long* differing) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    const bool equal = bf16 ? static_cast<const uint16_t*>(got)[i] == round_bf16(chain[i])
                            : bits_of(static_cast<const float*>(got)[i]) == bits_of(chain[i]);
    if (!equal) atomicAdd(differing, 1ull);
  }
}

#define LT_CHECK(call)                                                    \
  do {                                                                    \
    const cublasStatus_t status = (call);                                 \
    if (status != CUBLAS_STATUS_SUCCESS) {                                \
      std::fprintf(stderr, "%s: cuBLAS status %d\n", #call, (int)status); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (false)

// Every algorithm that cuBLASLt offers for m rows with reduction schemes forbidden.
void compare_products(cublasLtHandle_t lt, int64_t m, int64_t n, int64_t k, int special) {
  auto* x = allocate<uint16_t>(m * k);
  auto* w = allocate<uint16_t>(n * k);
  auto* chain = allocate<float>(m * n);
  auto* y = allocate<float>(m * n);
  auto* differing = allocate<unsigned long long>(1);
  constexpr size_t workspace_bytes = size_t{64} << 20;
  auto* workspace = allocate<uint8_t>(workspace_bytes);
  fill<<<1024, 256>>>(m + 3 * n + 7 * k, 1.0f, special, m * k, x);
  fill<<<1024, 256>>>(m + 3 * n + 7 * k + 1, 0.05f, special, n * k, w);
  chain_product<<<(m * n + 127) / 128, 128>>>(x, w, m, n, k, chain);
  ORTHROS_PROBE_CHECK(cudaDeviceSynchronize());
  for (const bool bf16 : {false, true}) {
    cublasLtMatmulDesc_t product;
    LT_CHECK(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t transpose = CUBLAS_OP_T;
    LT_CHECK(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                            sizeof transpose));
    cublasLtMatrixLayout_t w_layout, x_layout, y_layout;  // column major: y^T = w x^T
    LT_CHECK(cublasLtMatrixLayoutCreate(&w_layout, CUDA_R_16BF, k, n, k));
    LT_CHECK(cublasLtMatrixLayoutCreate(&x_layout, CUDA_R_16BF, k, m, k));
    LT_CHECK(cublasLtMatrixLayoutCreate(&y_layout, bf16 ? CUDA_R_16BF : CUDA_R_32F, n, m, n));
    cublasLtMatmulPreference_t preference;
    LT_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    const uint32_t no_reduction = 0;
    LT_CHECK(cublasLtMatmulPreferenceSetAttribute(preference,
                                                  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                  &no_reduction, sizeof no_reduction));
    LT_CHECK(cublasLtMatmulPreferenceSetAttribute(preference,
                                                  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &workspace_bytes, sizeof workspace_bytes));
    cublasLtMatmulHeuristicResult_t found[24];
    int count = 0;
    LT_CHECK(cublasLtMatmulAlgoGetHeuristic(lt, product, w_layout, x_layout, y_layout, y_layout,
                                            preference, 24, found, &count));
    int equal = 0;
    std::string others;
    for (int i = 0; i < count; ++i) {
      const float one = 1.0f;
      const float zero = 0.0f;
      ORTHROS_PROBE_CHECK(cudaMemset(y, 0xff, m * n * 4));
      ORTHROS_PROBE_CHECK(cudaMemset(differing, 0, 8));
      LT_CHECK(cublasLtMatmul(lt, product, &one, w, w_layout, x, x_layout, &zero, y, y_layout, y,
                              y_layout, &found[i].algo, workspace, workspace_bytes, nullptr));
      count_differing<<<1024, 256>>>(chain, y, bf16, m * n, differing);
      ORTHROS_PROBE_CHECK(cudaGetLastError());
      const uint64_t here = from_device(differing, 1)[0];
      if (here == 0) {
        ++equal;
        continue;
      }
      int id = -1;
      LT_CHECK(cublasLtMatmulAlgoConfigGetAttribute(&found[i].algo, CUBLASLT_ALGO_CONFIG_ID, &id,
                                                    sizeof id, nullptr));
      others += "; rank " + std::to_string(i) + " (id " + std::to_string(id) + ") differs in " +
                std::to_string(here);
    }
    std::printf("%lld x %lld x %lld to %s%s: %d of %d algorithms equal the chain%s\n",
                static_cast<long long>(m), static_cast<long long>(k), static_cast<long long>(n),
                bf16 ? "bf16" : "fp32", special ? ", special values" : "", equal, count,
                others.c_str());
    std::fflush(stdout);
    all_differing += equal == 0;
    LT_CHECK(cublasLtMatmulPreferenceDestroy(preference));
    for (const auto layout : {w_layout, x_layout, y_layout}) {
      LT_CHECK(cublasLtMatrixLayoutDestroy(layout));
    }
    LT_CHECK(cublasLtMatmulDescDestroy(product));
  }
  for (void* p : {(void*)x, (void*)w, (void*)chain, (void*)y, (void*)differing, (void*)workspace}) {
    ORTHROS_PROBE_CHECK(cudaFree(p));
  }
}

}  // namespace

int main() {
  compare_operations(int64_t{16} << 20);
  compare_norms();
  compare_attention();
  cublasLtHandle_t lt;
  LT_CHECK(cublasLtCreate(&lt));
  for (const int64_t m : {1, 2, 3, 8, 17, 64, 128, 1000, 8192}) {
    compare_products(lt, m, 1024, 4096, 0);
    compare_products(lt, m, 1024, 4096, 1);
    compare_products(lt, m, 4096, 128, 0);
  }
  for (const int64_t m : {1, 2, 4, 8, 16, 32, 256, 2048}) {
    compare_products(lt, m, 6144, 4096, 0);   // QKV of Qwen3-8B
    compare_products(lt, m, 4096, 4096, 0);   // O
    compare_products(lt, m, 24576, 4096, 0);  // gate and up
    compare_products(lt, m, 4096, 12288, 0);  // down
    compare_products(lt, m, 1024, 1040, 0);
    compare_products(lt, m, 1536, 16, 1);
    compare_products(lt, m, 512, 4096, 0);
    compare_products(lt, m, 1024, 4104, 0);
  }
  return all_differing == 0 ? 0 : 1;
}
