// CudnnAttention in a build that was configured without cuDNN's headers.
#include "cuda/cudnn/cudnn_attention.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {

class CudnnAttention::State {};

CudnnAttention::CudnnAttention() {
  throw InputError("cuDNN", "",
                   "expected a build with cuDNN 9's headers; this one was configured without");
}
CudnnAttention::~CudnnAttention() = default;
void CudnnAttention::attend(const Attention&, std::span<const QueryRun>) {}
double CudnnAttention::compiling_seconds() const {
  return 0.0;
}
const std::string& CudnnAttention::version() const {
  static const std::string none;
  return none;
}

}  // namespace orthros::cuda
