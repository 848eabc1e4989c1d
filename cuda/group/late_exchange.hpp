// LateExchange: another exchange, some of whose calls begin late, for tests of what waits for them.
#pragma once

#include <chrono>
#include <thread>

#include "cuda/group/exchange.hpp"
#include "cuda/support/cuda_error.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros::cuda {

class LateExchange : public Exchange {
 public:
  explicit LateExchange(std::unique_ptr<Exchange> on_time) : on_time_(std::move(on_time)) {}

  void exchange(const std::vector<Transfer>& sends, const std::vector<Transfer>& receives,
                cudaStream_t stream) override {
    if (chance_.bits(calls_++) % 2 == 0) ORTHROS_CUDA(cudaLaunchHostFunc(stream, dawdle, nullptr));
    on_time_->exchange(sends, receives, stream);
  }
  bool captures() const override { return on_time_->captures(); }
  void require_health() override { on_time_->require_health(); }
  void abort() override { on_time_->abort(); }

 private:
  static void CUDART_CB dawdle(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

  std::unique_ptr<Exchange> on_time_;
  CounterRandom chance_{1, "late exchanges"};
  uint64_t calls_ = 0;
};

}  // namespace orthros::cuda
