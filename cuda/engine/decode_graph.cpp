// Captures and replays decode steps.
#include "cuda/engine/decode_graph.hpp"

#include <algorithm>

#include "reference/hopper/softmax_order.hpp"

namespace orthros::cuda {
std::vector<Row> seen_by_attention(std::vector<Row> rows, EngineFault fault) {
  if (fault != EngineFault::dropped_split) return rows;
  for (Row& row : rows) {
    const int64_t last_split = row.position / hopper::split_keys * hopper::split_keys;
    if (row.stream == 1 && last_split > 0) row.position = last_split - 1;
  }
  return rows;
}

DecodeGraph::~DecodeGraph() {
  for (const auto& [rows, graph] : graphs_) cudaGraphExecDestroy(graph);
}

void DecodeGraph::start(const DecodeStart& from, bool captures, cudaStream_t stream) {
  Buffers& to = layers_.buffers;
  const auto count = static_cast<int64_t>(from.tokens.size());
  std::vector<int32_t> tokens;
  std::vector<Row> rows;
  std::vector<int32_t> entering_rows;
  for (size_t i = 0; i < from.tokens.size(); ++i) {
    entering_rows.push_back(from.enters[i] ? static_cast<int32_t>(rows.size()) : -1);
    if (!from.enters[i]) continue;
    tokens.push_back(from.tokens[i]);
    rows.push_back(from.rows[i]);
  }
  pass_ = {};
  pass_.decodes = true;
  pass_.base_rows = static_cast<int64_t>(rows.size());
  pass_.rows = pass_.base_rows + (from.two_streams ? count : 0);
  pass_.live = count;
  if (from.two_streams) {
    tokens.insert(tokens.end(), from.tokens.begin(), from.tokens.end());
    for (Row row : from.rows) {
      row.stream = 1;
      if (fault_ == EngineFault::index_as_position) {
        row.position = std::min(row.position, static_cast<int64_t>(rows.size()));
      }
      rows.push_back(row);
    }
  }
  const bool known = graphs_.contains({count, pass_.base_rows});
  to.tokens.send(tokens, stream);
  to.entering_rows.send(entering_rows, stream);
  if (!(fault_ == EngineFault::stale_graph_length && known && captures)) {
    to.rows.send(rows, stream);
    to.attention_rows.send(seen_by_attention(rows, fault_), stream);
    to.written.send(from.written, stream);
  }
  ORTHROS_CUDA(cudaMemsetAsync(to.step.data(), 0, sizeof(int32_t), stream));
  if (known || !captures) return;
  cudaGraph_t graph = nullptr;
  ORTHROS_CUDA(cudaStreamSynchronize(stream));
  ORTHROS_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  launch_step(stream);
  ORTHROS_CUDA(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable = nullptr;
  ORTHROS_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  ORTHROS_CUDA(cudaGraphDestroy(graph));
  graphs_[{count, pass_.base_rows}] = executable;
}

void DecodeGraph::launch_step(cudaStream_t stream) {
  Buffers& buffers = layers_.buffers;
  layers_.run(pass_, stream);
  launch_advance(buffers.rows.data(), buffers.attention_rows.data(), pass_.rows, pass_.base_rows,
                 buffers.written.data(), buffers.step.data(), stream);
}

void DecodeGraph::replay(cudaStream_t stream) {
  ORTHROS_CUDA(cudaGraphLaunch(graphs_.at({pass_.live, pass_.base_rows}), stream));
}

void DecodeGraph::run_eagerly(cudaStream_t stream) {
  launch_step(stream);
}

}  // namespace orthros::cuda
