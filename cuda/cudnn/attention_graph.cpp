// Builds the graph, operation by operation.
#include "cuda/cudnn/attention_graph.hpp"

namespace orthros::cuda {
namespace {

constexpr cudnnDataType_t wide = CUDNN_DATA_FLOAT;
constexpr int64_t row_axis = 2;
constexpr int64_t column_axis = 3;

}  // namespace

AttentionGraph::AttentionGraph(const CudnnLibrary& library, cudnnHandle_t handle,
                               const AttentionProblem& problem)
    : library_(library),
      problem_(problem),
      graph_(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  const AttentionShape& shape = problem.shape;
  const int64_t rows = problem.queries * problem.row_stride;
  const int64_t cached = shape.kv_heads * problem.head_stride;
  const auto bf16 = CUDNN_DATA_BFLOAT16;
  const Descriptor& q = tensor(tensor_q, {1, shape.query_heads, problem.queries, shape.width},
                               {rows, shape.width, problem.row_stride, 1}, bf16);
  const Descriptor& keys = tensor(tensor_keys, {1, shape.kv_heads, shape.width, problem.keys},
                                  {cached, problem.head_stride, 1, shape.width}, bf16);
  const Descriptor& values = tensor(tensor_values, {1, shape.kv_heads, problem.keys, shape.width},
                                    {cached, problem.head_stride, shape.width, 1}, bf16);
  const Descriptor& out = tensor(tensor_out, {1, shape.query_heads, problem.queries, shape.width},
                                 {rows, shape.width, problem.row_stride, 1}, bf16);
  const Descriptor& products = whole(wide);
  multiply(q, keys, products);
  const Descriptor& scale = scalar(tensor_scale, wide);
  const Descriptor& scores = pointwise(CUDNN_POINTWISE_MUL, wide, whole(wide), products, &scale);
  multiply(softmax(masked(scores)), values, out);
  if (handle != nullptr) graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph_.refer(CUDNN_ATTR_OPERATIONGRAPH_OPS,
               std::span<const cudnnBackendDescriptor_t>(operations_));
  graph_.finalize("cuDNN's graph of attention");
}

Descriptor& AttentionGraph::make(cudnnBackendDescriptorType_t type) {
  return made_.emplace_back(library_, type);
}

const Descriptor& AttentionGraph::tensor(int64_t id, std::initializer_list<int64_t> sizes,
                                         std::initializer_list<int64_t> strides,
                                         cudnnDataType_t type, bool by_value) {
  constexpr int64_t alignment = 16;
  Descriptor& result = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  result.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  result.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  result.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
  result.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  result.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  result.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, id >= tensor_first_virtual);
  result.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, by_value);
  result.finalize("cuDNN's tensor of attention");
  return result;
}

const Descriptor& AttentionGraph::scalar(int64_t id, cudnnDataType_t type) {
  return tensor(id, {1, 1, 1, 1}, {1, 1, 1, 1}, type, true);
}

// 1 x Hq x queries x columns, nowhere in memory.
const Descriptor& AttentionGraph::virtual_tensor(int64_t columns, cudnnDataType_t type) {
  const int64_t heads = problem_.shape.query_heads;
  const int64_t head = problem_.queries * columns;
  return tensor(next_virtual_++, {1, heads, problem_.queries, columns},
                {heads * head, head, columns, 1}, type);
}

// One for each score.
const Descriptor& AttentionGraph::whole(cudnnDataType_t type) {
  return virtual_tensor(problem_.keys, type);
}

// One for each row of scores.
const Descriptor& AttentionGraph::statistic() {
  return virtual_tensor(1, wide);
}

void AttentionGraph::multiply(const Descriptor& a, const Descriptor& b, const Descriptor& c) {
  Descriptor& product = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  product.set(CUDNN_ATTR_MATMUL_COMP_TYPE, wide);
  product.finalize("cuDNN's product");
  Descriptor& operation = make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.refer(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
  operation.refer(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
  operation.refer(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  operation.refer(CUDNN_ATTR_OPERATION_MATMUL_DESC, product);
  operation.finalize("cuDNN's product");
  operations_.push_back(operation.get());
}

const Descriptor& AttentionGraph::pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute,
                                            const Descriptor& result, const Descriptor& x,
                                            const Descriptor* b, const Descriptor* t) {
  return apply(make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), mode, compute, result, x, b, t);
}

const Descriptor& AttentionGraph::apply(Descriptor& pointwise, cudnnPointwiseMode_t mode,
                                        cudnnDataType_t compute, const Descriptor& result,
                                        const Descriptor& x, const Descriptor* b,
                                        const Descriptor* t) {
  pointwise.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  pointwise.set(CUDNN_ATTR_POINTWISE_MATH_PREC, compute);
  pointwise.finalize("cuDNN's pointwise operation");
  Descriptor& operation = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b != nullptr) operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  if (t != nullptr) operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *t);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
  operation.finalize("cuDNN's pointwise operation");
  operations_.push_back(operation.get());
  return result;
}

// Each score's row or column.
const Descriptor& AttentionGraph::index(const Descriptor& scores, int64_t axis) {
  Descriptor& generate = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  generate.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  return apply(generate, CUDNN_POINTWISE_GEN_INDEX, wide, whole(CUDNN_DATA_INT32), scores);
}

const Descriptor& AttentionGraph::reduce(cudnnReduceTensorOp_t operation, const Descriptor& x) {
  Descriptor& reduction = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  reduction.set(CUDNN_ATTR_REDUCTION_OPERATOR, operation);
  reduction.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, wide);
  reduction.finalize("cuDNN's reduction");
  const Descriptor& result = statistic();
  Descriptor& reduces = make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  reduces.refer(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  reduces.refer(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result);
  reduces.refer(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction);
  reduces.finalize("cuDNN's reduction");
  operations_.push_back(reduces.get());
  return result;
}

// -inf where row + keys - queries < column.
const Descriptor& AttentionGraph::masked(const Descriptor& scores) {
  const Descriptor& row = index(scores, row_axis);
  const Descriptor& column = index(scores, column_axis);
  const Descriptor& keys = scalar(tensor_key_count, CUDNN_DATA_INT32);
  const Descriptor& queries = scalar(tensor_query_count, CUDNN_DATA_INT32);
  const Descriptor& below =
      pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_INT32, whole(CUDNN_DATA_INT32), row, &keys);
  const Descriptor& last =
      pointwise(CUDNN_POINTWISE_SUB, CUDNN_DATA_INT32, whole(CUDNN_DATA_INT32), below, &queries);
  const Descriptor& seen = pointwise(CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN,
                                     whole(CUDNN_DATA_BOOLEAN), last, &column);
  const Descriptor& minus_infinity = scalar(tensor_minus_infinity, wide);
  return pointwise(CUDNN_POINTWISE_BINARY_SELECT, wide, whole(wide), scores, &minus_infinity,
                   &seen);
}

// bf16 weights. The row's statistic, log of the sum and maximum, is part of the pattern that cuDNN
// knows though nothing reads it.
const Descriptor& AttentionGraph::softmax(const Descriptor& scores) {
  const Descriptor& most = reduce(CUDNN_REDUCE_TENSOR_MAX, scores);
  const Descriptor& below = pointwise(CUDNN_POINTWISE_SUB, wide, whole(wide), scores, &most);
  const Descriptor& weights = pointwise(CUDNN_POINTWISE_EXP, wide, whole(wide), below);
  const Descriptor& sum = reduce(CUDNN_REDUCE_TENSOR_ADD, weights);
  const Descriptor& log = pointwise(CUDNN_POINTWISE_LOG, wide, statistic(), sum);
  pointwise(CUDNN_POINTWISE_ADD, wide, statistic(), most, &log);
  return pointwise(CUDNN_POINTWISE_DIV, wide, whole(CUDNN_DATA_BFLOAT16), weights, &sum);
}

}  // namespace orthros::cuda
