// Group: ranks with their threads, devices, weights and transport.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cuda/engine/device_model.hpp"
#include "cuda/group/crew.hpp"
#include "cuda/group/exchange.hpp"

namespace orthros::cuda {

// Makes the model of a rank on the current device.
using ModelMaker = std::function<DeviceModel()>;

struct GroupOptions {
  std::vector<int> devices = {0};  // rank r's; one may serve several ranks, which share its weights
  Transport transport = Transport::nccl;
  bool balanced = true;           // shards of equal work; else of equally many splits
  int64_t patience_ms = 600'000;  // for one call; a rank that does not come by then has failed
  int64_t failing_rank = -1;      // for tests: throws in its next prefill
};

// The devices of `ranks` ranks: one each, or, where there are fewer, in turn.
std::vector<int> devices_for(int64_t ranks);

class Group {
 public:
  // Throws what a rank throws: InputError, or GroupFailure.
  Group(const GroupOptions& options, const ModelMaker& make_model);
  ~Group();

  int32_t ranks() const { return static_cast<int32_t>(options_.devices.size()); }
  int device(int32_t rank) const { return options_.devices[static_cast<size_t>(rank)]; }
  Exchange& exchange(int32_t rank) const { return *exchanges_[static_cast<size_t>(rank)]; }
  const DeviceModel& model(int32_t rank) const { return *models_[static_cast<size_t>(rank)]; }
  // The ranks of this process: all, or, in a World of several processes, one.
  const std::vector<int32_t>& here() const { return here_; }
  int32_t first_here() const { return here_.front(); }
  const GroupOptions& options() const { return options_; }
  int64_t weight_bytes() const;  // of all devices here

  // work(rank) on the thread of every rank that is here, its device the current one; one after the
  // other `in_turn`.
  void run(const std::function<void(int32_t)>& work) const { crew_->run(work); }
  void run_in_turn(const std::function<void(int32_t)>& work) const;

 private:
  Crew::Watch watch() const;

  GroupOptions options_;
  std::vector<int32_t> here_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<std::shared_ptr<const DeviceModel>> models_;  // by rank
  std::unique_ptr<Crew> crew_;
};

}  // namespace orthros::cuda
