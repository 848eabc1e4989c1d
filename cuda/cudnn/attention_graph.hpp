// AttentionGraph: causal attention as cuDNN is told of it.
#pragma once

#include <deque>
#include <vector>

#include "cuda/cudnn/descriptor.hpp"
#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// One sequence's last `queries` positions over all of its `keys`, at least as many.
struct AttentionProblem {
  AttentionShape shape;
  int64_t queries;
  int64_t keys;
  int64_t row_stride;   // elements from a row of q and out to the next
  int64_t head_stride;  // elements from a head of keys and values to the next
};

// The tensors that an execution is told of; scalars come by value from the host.
enum AttentionTensor : int64_t {
  tensor_q = 1,  // bf16, 1 x Hq x queries x d
  tensor_keys,   // bf16, 1 x Hkv x d x keys
  tensor_values,
  tensor_out,
  tensor_scale,           // float
  tensor_minus_infinity,  // float
  tensor_query_count,     // int32
  tensor_key_count,       // int32
  tensor_first_virtual
};

// out = softmax(mask(scale q k^T)) v, where row i of the queries sees the keys j with
// i + keys - queries >= j: operations with virtual tensors in between, which cuDNN recognises and
// fuses. Of fixed shape: for one of dynamic shape, whose plans share compiled kernels, cuDNN 9.19
// ran a later plan with the first one's lengths and strides.
class AttentionGraph {
 public:
  // DeviceError where cuDNN refuses it. `handle`: whose device will run it; null where only its
  // form is in question.
  AttentionGraph(const CudnnLibrary& library, cudnnHandle_t handle,
                 const AttentionProblem& problem);

  const Descriptor& operations() const { return graph_; }

 private:
  const Descriptor& tensor(int64_t id, std::initializer_list<int64_t> sizes,
                           std::initializer_list<int64_t> strides, cudnnDataType_t type,
                           bool by_value = false);
  const Descriptor& scalar(int64_t id, cudnnDataType_t type);
  const Descriptor& virtual_tensor(int64_t columns, cudnnDataType_t type);
  const Descriptor& whole(cudnnDataType_t type);
  const Descriptor& statistic();
  const Descriptor& pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute,
                              const Descriptor& result, const Descriptor& x,
                              const Descriptor* b = nullptr, const Descriptor* t = nullptr);
  const Descriptor& apply(Descriptor& pointwise, cudnnPointwiseMode_t mode, cudnnDataType_t compute,
                          const Descriptor& result, const Descriptor& x,
                          const Descriptor* b = nullptr, const Descriptor* t = nullptr);
  const Descriptor& index(const Descriptor& scores, int64_t axis);
  const Descriptor& reduce(cudnnReduceTensorOp_t operation, const Descriptor& x);
  void multiply(const Descriptor& a, const Descriptor& b, const Descriptor& c);
  const Descriptor& masked(const Descriptor& scores);
  const Descriptor& softmax(const Descriptor& scores);
  Descriptor& make(cudnnBackendDescriptorType_t type);

  const CudnnLibrary& library_;
  AttentionProblem problem_;
  int64_t next_virtual_ = tensor_first_virtual;
  std::deque<Descriptor> made_;  // stay where they are: the graph refers to them
  std::vector<cudnnBackendDescriptor_t> operations_;
  Descriptor graph_;
};

}  // namespace orthros::cuda
