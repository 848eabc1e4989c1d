// DecodeGraph: a decode step captured once for each number of sequences, replayed for ever after.
#pragma once

#include <map>
#include <vector>

#include "cuda/engine/layers.hpp"

namespace orthros::cuda {

// What a step starts from: the tokens that enter, their places, and every slot's written length
// with those tokens in it.
struct DecodeStart {
  std::vector<int32_t> tokens;
  std::vector<Row> rows;         // one a token
  std::vector<bool> enters;      // whether its base row runs here
  std::vector<int64_t> written;  // by sequence slot
  bool two_streams = false;
};

// Rows as attention is told of them: the same, but with the fault dropped_split, by which an
// output row ends before its last split.
std::vector<Row> seen_by_attention(std::vector<Row> rows, EngineFault fault);

class DecodeGraph {
 public:
  DecodeGraph(Layers& layers, EngineFault fault) : layers_(layers), fault_(fault) {}
  ~DecodeGraph();
  DecodeGraph(const DecodeGraph&) = delete;
  DecodeGraph& operator=(const DecodeGraph&) = delete;

  // Tells the device where decoding starts; a graph for so many sequences is captured if there is
  // none and `captures`. Lengths and tokens live in device memory and move on with each step.
  void start(const DecodeStart& from, bool captures, cudaStream_t stream);
  // One step; its tokens are the next step's.
  void replay(cudaStream_t stream);
  // The same launches without a graph.
  void run_eagerly(cudaStream_t stream);

 private:
  void launch_step(cudaStream_t stream);

  Layers& layers_;
  EngineFault fault_;
  Pass pass_;
  // By number of sequences and of those whose base rows run here.
  std::map<std::pair<int64_t, int64_t>, cudaGraphExec_t> graphs_;
};

}  // namespace orthros::cuda
