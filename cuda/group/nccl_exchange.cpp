// Grouped sends and receives.
#include "cuda/group/nccl_exchange.hpp"

#include <dlfcn.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "cuda/group/rendezvous.hpp"
#include "cuda/group/world.hpp"
#include "cuda/support/cuda_error.hpp"

namespace orthros::cuda {
namespace {

// The library's functions that we call.
struct Nccl {
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclGetErrorString) error_text = nullptr;

  explicit Nccl(void* library) {
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) throw DeviceError(std::string("libnccl.so.2 has no ") + name);
    };
    find(get_unique_id, "ncclGetUniqueId");
    find(init, "ncclCommInitRankConfig");
    find(async_error, "ncclCommGetAsyncError");
    find(abort, "ncclCommAbort");
    find(destroy, "ncclCommDestroy");
    find(send, "ncclSend");
    find(receive, "ncclRecv");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    find(error_text, "ncclGetErrorString");
  }
};

void* nccl_library() {
  static void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  return library;
}

const Nccl& nccl() {
  if (nccl_library() == nullptr) {
    throw DeviceError(std::string("libnccl.so.2 cannot be loaded: ") + dlerror());
  }
  static const Nccl functions(nccl_library());
  return functions;
}

class NcclExchange : public Exchange {
 public:
  NcclExchange(const ncclUniqueId& id, int device, int rank, int ranks, int64_t patience_ms)
      : patience_(patience_ms) {
    ORTHROS_CUDA(cudaSetDevice(device));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // so that a rank that never comes is noticed
    require(nccl().init(&communicator_, ranks, id, rank, &config), "ncclCommInitRankConfig");
    settle("ncclCommInitRankConfig");
  }
  ~NcclExchange() override {
    if (!aborted_.exchange(true)) nccl().destroy(communicator_);
  }

  void exchange(const std::vector<Transfer>& sends, const std::vector<Transfer>& receives,
                cudaStream_t stream) override {
    require_health();
    require(nccl().group_start(), "ncclGroupStart");
    for (const Transfer& each : sends) {
      if (each.bytes == 0) continue;
      require(nccl().send(each.data, static_cast<size_t>(each.bytes), ncclInt8, each.peer,
                          communicator_, stream),
              "ncclSend");
    }
    for (const Transfer& each : receives) {
      if (each.bytes == 0) continue;
      require(nccl().receive(each.data, static_cast<size_t>(each.bytes), ncclInt8, each.peer,
                             communicator_, stream),
              "ncclRecv");
    }
    require(nccl().group_end(), "ncclGroupEnd");
    settle("ncclGroupEnd");
  }

  bool captures() const override { return true; }

  void require_health() override {
    if (aborted_) throw GroupFailure("NCCL was told to stop");
    ncclResult_t error = ncclSuccess;
    require(nccl().async_error(communicator_, &error), "ncclCommGetAsyncError");
    require(error, "NCCL");
  }

  void abort() override {
    if (!aborted_.exchange(true)) nccl().abort(communicator_);
  }

 private:
  static void require(ncclResult_t result, const char* what) {
    if (result == ncclSuccess || result == ncclInProgress) return;
    throw GroupFailure(std::string(what) + ": " + nccl().error_text(result));
  }

  // Until the call that was begun is under way.
  void settle(const char* what) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::milliseconds(patience_);
    ncclResult_t state = ncclInProgress;
    while (true) {
      if (aborted_) throw GroupFailure("NCCL was told to stop");
      require(nccl().async_error(communicator_, &state), what);
      if (state != ncclInProgress) break;
      if (Clock::now() > until) {
        throw GroupFailure(std::string(what) + " did not end within " + std::to_string(patience_) +
                           " ms");
      }
      std::this_thread::yield();
    }
    require(state, what);
  }

  int64_t patience_;
  ncclComm_t communicator_ = nullptr;
  std::atomic<bool> aborted_ = false;
};

}  // namespace

bool has_nccl() {
  return nccl_library() != nullptr;
}

std::vector<std::unique_ptr<Exchange>> make_nccl_exchanges(const std::vector<int>& devices,
                                                           int64_t patience_ms) {
  ncclUniqueId id{};
  if (world().rank == 0) {
    const ncclResult_t made = nccl().get_unique_id(&id);
    if (made != ncclSuccess) {
      throw DeviceError(std::string("ncclGetUniqueId: ") + nccl().error_text(made));
    }
  }
  broadcast(&id, sizeof id);
  const size_t ranks = devices.size();
  std::vector<std::unique_ptr<Exchange>> ends(ranks);
  std::vector<std::exception_ptr> errors(ranks);
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks; ++r) {
    if (world().size > 1 && static_cast<size_t>(world().rank) != r) continue;
    threads.emplace_back([&, r] {
      try {
        ends[r] = std::make_unique<NcclExchange>(id, devices[r], static_cast<int>(r),
                                                 static_cast<int>(ranks), patience_ms);
      } catch (...) {
        errors[r] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return ends;
}

}  // namespace orthros::cuda
