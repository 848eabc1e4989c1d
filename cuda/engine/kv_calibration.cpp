// Runs the tokens over bf16 caches.
#include "cuda/engine/kv_calibration.hpp"

#include <algorithm>
#include <vector>

#include "cuda/engine/engine.hpp"

namespace orthros::cuda {

hopper::KvScales calibrated_scales(const DeviceModel& model, std::span<const int64_t> tokens) {
  EngineLimits limits;
  limits.context = static_cast<int64_t>(tokens.size());
  limits.chunk = std::min(limits.chunk, limits.context);
  limits.outputs = 1;
  Engine engine(model, limits);
  const Prompt prompt{0, {tokens.begin(), tokens.end()}, {}};
  engine.prefill(std::span(&prompt, 1));
  std::vector<std::vector<bf16_bits>> keys;
  std::vector<std::vector<bf16_bits>> values;
  for (int64_t layer = 0; layer < static_cast<int64_t>(model.spec.layers.size()); ++layer) {
    keys.push_back(engine.keys(layer, 0));
    values.push_back(engine.values(layer, 0));
  }
  return hopper::fitted_scales(model.spec, keys, values);
}

}  // namespace orthros::cuda
