// Begins and ends a group.
#include "cuda/group/group.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "cuda/group/world.hpp"
#include "cuda/support/cuda_error.hpp"

namespace orthros::cuda {

namespace {

std::vector<int32_t> ranks_here(int32_t ranks) {
  if (world().size > 1) return {world().rank};
  std::vector<int32_t> all;
  for (int32_t r = 0; r < ranks; ++r) all.push_back(r);
  return all;
}

}  // namespace

std::vector<int> devices_for(int64_t ranks) {
  int there = 0;
  ORTHROS_CUDA(cudaGetDeviceCount(&there));
  std::vector<int> devices;
  for (int64_t r = 0; r < ranks; ++r) {
    const int64_t of_process = world().size > 1 ? world().on_host : r;
    devices.push_back(static_cast<int>(of_process % there));
  }
  return devices;
}

Group::Group(const GroupOptions& options, const ModelMaker& make_model)
    : options_(options),
      here_(ranks_here(ranks())),
      exchanges_(make_exchanges(options.transport, options.devices, options.patience_ms)),
      models_(options.devices.size()),
      crew_(std::make_unique<Crew>(here_, watch())) {
  // One thread a device makes its weights.
  std::map<int, int32_t> first_of;
  for (auto r = here_.rbegin(); r != here_.rend(); ++r) first_of[device(*r)] = *r;
  run([&](int32_t r) {
    ORTHROS_CUDA(cudaSetDevice(device(r)));
    if (first_of.at(device(r)) == r) {
      models_[static_cast<size_t>(r)] = std::make_shared<const DeviceModel>(make_model());
    }
  });
  for (const int32_t r : here_) {
    models_[static_cast<size_t>(r)] = models_[static_cast<size_t>(first_of.at(device(r)))];
  }
}

Crew::Watch Group::watch() const {
  return {[this] {
            for (const int32_t r : here_) exchange(r).require_health();
          },
          [this] {
            for (const int32_t r : here_) exchange(r).abort();
          },
          std::chrono::milliseconds(options_.patience_ms)};
}

Group::~Group() {
  try {
    run([&](int32_t r) { models_[static_cast<size_t>(r)].reset(); });
  } catch (const std::exception&) {
    // What failed has been reported where it did.
  }
}

void Group::run_in_turn(const std::function<void(int32_t)>& work) const {
  std::mutex turn;
  run([&](int32_t r) {
    const std::lock_guard lock(turn);
    work(r);
  });
}

int64_t Group::weight_bytes() const {
  int64_t all = 0;
  for (auto model = models_.begin(); model != models_.end(); ++model) {
    if (*model && std::find(models_.begin(), model, *model) == model) all += (*model)->bytes();
  }
  return all;
}

}  // namespace orthros::cuda
