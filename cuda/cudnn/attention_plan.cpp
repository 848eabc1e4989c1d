// Asks cuDNN for kernels, and runs them.
#include "cuda/cudnn/attention_plan.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace orthros::cuda {

AttentionPlan::AttentionPlan(const CudnnLibrary& library, cudnnHandle_t handle,
                             const AttentionProblem& problem)
    : library_(library),
      graph_(library, handle, problem),
      plan_(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR),
      scale_(static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem.shape.width)))),
      queries_(static_cast<int32_t>(problem.queries)),
      keys_(static_cast<int32_t>(problem.keys)) {
  choose(handle);
  int64_t count = 0;
  library.require_success(
      library.get_attribute(plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                            1, &count, &workspace_bytes_),
      "cuDNN's workspace");
}

void AttentionPlan::choose(cudnnHandle_t handle) {
  Descriptor heuristic(library_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.refer(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_.operations());
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
  heuristic.finalize("cuDNN's choice of a kernel for attention");
  Descriptor first(library_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  cudnnBackendDescriptor_t configuration = first.get();
  int64_t offered = 0;
  library_.require_success(
      library_.get_attribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &offered, &configuration),
      "cuDNN's choice of a kernel for attention");
  if (offered == 0) {
    throw DeviceError(fmt::format("cuDNN {} has no kernel for {} queries of attention over {} keys",
                                  library_.version(), queries_, keys_));
  }
  plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
  plan_.refer(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, first);
  plan_.finalize("cuDNN's plan of attention");
}

void AttentionPlan::execute(cudnnHandle_t handle, const AttentionMemory& memory, void* workspace) {
  float minus_infinity = -std::numeric_limits<float>::infinity();
  // cuDNN takes every pointer as one that it may write through; it writes to `out` alone.
  const auto data = [](const void* pointer) { return const_cast<void*>(pointer); };
  const int64_t ids[] = {tensor_q,     tensor_keys,           tensor_values,      tensor_out,
                         tensor_scale, tensor_minus_infinity, tensor_query_count, tensor_key_count};
  void* const pointers[] = {data(memory.q), data(memory.keys), data(memory.values), memory.out,
                            &scale_,        &minus_infinity,   &queries_,           &keys_};
  Descriptor pack(library_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const int64_t>(ids));
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(pointers));
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
  pack.finalize("cuDNN's pointers of attention");
  library_.require_success(library_.execute(handle, plan_.get(), pack.get()),
                           "cuDNN's launch of attention");
}

}  // namespace orthros::cuda
