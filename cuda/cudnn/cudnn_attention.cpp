// Keeps cuDNN's handle, and a plan for each shape that came.
#include "cuda/cudnn/cudnn_attention.hpp"

#include <chrono>
#include <map>
#include <tuple>

#include "cuda/cudnn/attention_plan.hpp"
#include "cuda/support/device_buffer.hpp"

namespace orthros::cuda {

class CudnnAttention::State {
 public:
  State() : version(library.version()) {
    library.require_success(library.create(&handle_), "cudnnCreate");
  }
  ~State() {
    plans_.clear();
    library.destroy(handle_);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void attend(const Attention& call, const QueryRun& run) {
    const AttentionProblem problem{call.shape, run.count, run.position + run.count, call.row_stride,
                                   call.kv.head_stride};
    AttentionPlan& plan = plan_for(problem);
    if (plan.workspace_bytes() > workspace_.size()) {
      workspace_ = DeviceBuffer<uint8_t>(plan.workspace_bytes());
    }
    const int64_t sequence = run.sequence * call.kv.sequence_stride;
    const int64_t rows = run.row * call.row_stride;
    library.require_success(library.set_stream(handle_, call.stream), "cudnnSetStream");
    plan.execute(
        handle_,
        {call.q + rows, call.kv.keys + sequence, call.kv.values + sequence, call.out + rows},
        workspace_.data());
  }

  double compiling_seconds() const { return compiling_.count(); }

  const CudnnLibrary library;
  const std::string version;

 private:
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>;

  AttentionPlan& plan_for(const AttentionProblem& problem) {
    const AttentionShape& shape = problem.shape;
    const Key key{shape.query_heads, shape.kv_heads,     shape.width,        problem.queries,
                  problem.keys,      problem.row_stride, problem.head_stride};
    const auto found = plans_.find(key);
    if (found != plans_.end()) return found->second;
    const auto start = std::chrono::steady_clock::now();
    AttentionPlan& made = plans_.try_emplace(key, library, handle_, problem).first->second;
    compiling_ += std::chrono::steady_clock::now() - start;
    return made;
  }

  cudnnHandle_t handle_ = nullptr;
  std::map<Key, AttentionPlan> plans_;
  DeviceBuffer<uint8_t> workspace_;
  std::chrono::duration<double> compiling_{0};
};

CudnnAttention::CudnnAttention() : state_(std::make_unique<State>()) {}
CudnnAttention::~CudnnAttention() = default;

void CudnnAttention::attend(const Attention& call, std::span<const QueryRun> runs) {
  for (const QueryRun& run : runs) state_->attend(call, run);
}

double CudnnAttention::compiling_seconds() const {
  return state_->compiling_seconds();
}

const std::string& CudnnAttention::version() const {
  return state_->version;
}

}  // namespace orthros::cuda
