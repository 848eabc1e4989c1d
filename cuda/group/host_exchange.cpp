// Threads post what they send, meet, and copy from each other.
#include "cuda/group/host_exchange.hpp"

#include "cuda/group/rendezvous.hpp"
#include "cuda/support/stream.hpp"

namespace orthros::cuda {
namespace {

// What one rank lets the others see of it.
struct Posted {
  std::vector<Transfer> sends;
  std::unique_ptr<Mark> ready;  // what it sends has been written
  std::unique_ptr<Mark> taken;  // what it receives has been read
};

struct Board {
  Board(const std::vector<int>& all_devices, int64_t patience_ms)
      : devices(all_devices),
        posted(all_devices.size()),
        rendezvous(static_cast<int64_t>(all_devices.size()),
                   std::chrono::milliseconds(patience_ms)) {}

  std::vector<int> devices;
  std::vector<Posted> posted;
  Rendezvous rendezvous;
};

// Lets copies between two devices go straight. Without it the runtime goes through the host.
void allow_peer(int from, int to) {
  if (from == to) return;
  int possible = 0;
  ORTHROS_CUDA(cudaDeviceCanAccessPeer(&possible, from, to));
  if (possible == 0) return;
  const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
    return;
  }
  ORTHROS_CUDA(error);
}

class HostExchange : public Exchange {
 public:
  HostExchange(std::shared_ptr<Board> board, int32_t rank) : board_(std::move(board)), rank_(rank) {
    ORTHROS_CUDA(cudaSetDevice(device(rank_)));
    for (const int other : board_->devices) allow_peer(device(rank_), other);
    Posted& own = board_->posted[static_cast<size_t>(rank_)];
    own.ready = std::make_unique<Mark>();
    own.taken = std::make_unique<Mark>();
  }
  ~HostExchange() override {
    Posted& own = board_->posted[static_cast<size_t>(rank_)];
    own.ready.reset();
    own.taken.reset();
  }

  void exchange(const std::vector<Transfer>& sends, const std::vector<Transfer>& receives,
                cudaStream_t stream) override {
    Posted& own = board_->posted[static_cast<size_t>(rank_)];
    own.sends = sends;
    own.ready->set(stream);
    board_->rendezvous.meet();
    std::vector<size_t> next(board_->posted.size(), 0);  // in each rank's list of sends
    for (const Transfer& to : receives) {
      if (to.bytes == 0) continue;
      const Transfer& from = next_send(to.peer, next[static_cast<size_t>(to.peer)]);
      if (from.bytes != to.bytes) throw GroupFailure("ranks disagree about what they exchange");
      board_->posted[static_cast<size_t>(to.peer)].ready->hold_back(stream);
      ORTHROS_CUDA(cudaMemcpyPeerAsync(to.data, device(rank_), from.data, device(to.peer),
                                       static_cast<size_t>(to.bytes), stream));
    }
    own.taken->set(stream);
    board_->rendezvous.meet();
    for (const Posted& other : board_->posted) {
      other.taken->hold_back(stream);
    }
  }

  bool captures() const override { return false; }
  void require_health() override {
    if (board_->rendezvous.failed()) throw GroupFailure(board_->rendezvous.reason());
  }
  void abort() override { board_->rendezvous.fail("another rank failed"); }

 private:
  int device(int32_t rank) const { return board_->devices[static_cast<size_t>(rank)]; }

  // The next that `peer` sends to this rank.
  const Transfer& next_send(int32_t peer, size_t& next) const {
    const std::vector<Transfer>& list = board_->posted[static_cast<size_t>(peer)].sends;
    while (next < list.size() && (list[next].peer != rank_ || list[next].bytes == 0)) ++next;
    if (next == list.size()) throw GroupFailure("ranks disagree about what they exchange");
    return list[next++];
  }

  std::shared_ptr<Board> board_;
  int32_t rank_;
};

}  // namespace

std::vector<std::unique_ptr<Exchange>> make_host_exchanges(const std::vector<int>& devices,
                                                           int64_t patience_ms) {
  const auto board = std::make_shared<Board>(devices, patience_ms);
  std::vector<std::unique_ptr<Exchange>> ends;
  for (size_t r = 0; r < devices.size(); ++r) {
    ends.push_back(std::make_unique<HostExchange>(board, static_cast<int32_t>(r)));
  }
  if (!devices.empty()) ORTHROS_CUDA(cudaSetDevice(devices[0]));  // as the caller had it
  return ends;
}

}  // namespace orthros::cuda
