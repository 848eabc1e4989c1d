// Replica: one engine's queue, batch and cache, advanced from event to event.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <span>
#include <vector>

#include "sim/serve/kv_memory.hpp"
#include "sim/serve/prefix_cache.hpp"
#include "sim/serve/serve.hpp"

namespace orthros {

// What the replicas of one simulation share. `result` gathers what they do.
struct ServeContext {
  const StepCost& cost;
  const ServeConfig& config;
  const Workload& workload;
  KvLayout layout;
  ServeObserver* observer = nullptr;
  ServeResult result;
};

// Which part of a request's life a replica serves; `prefill` hands it on after its first token.
enum class Role { both, prefill, decode };

// A request that waits for admission.
struct Pending {
  int64_t request = 0;
  int64_t generated = 0;     // tokens it was given before
  bool transferred = false;  // its cache comes with it
  double last_token_s = 0.0;
};

class Replica {
 public:
  Replica(ServeContext& context, int64_t id, Role role);

  // Queues a request; a run of decode steps in progress is cut at the first step's end from `now`
  // on where that lets the request join. `now` is not past end().
  void push(const Pending& pending, double now);
  // Frees the cache of a request that was handed on.
  void release(int64_t request);

  bool stepping() const { return stepping_; }
  double end() const { return end_; }  // of the run in progress
  void commit();                       // ends it
  void plan(double now);               // starts the next, if there is work

  // Requests that commit() ended or handed on, for the caller to read and clear.
  std::vector<int64_t> finished, handed_on;

  int64_t load() const { return static_cast<int64_t>(waiting_.size()) + batch(); }
  void close(double now);  // accounts for the queue up to `now`
  const TimeSeries& waiting_series() const { return waiting_series_; }
  const TimeSeries& running_series() const { return running_series_; }
  const TimeSeries& kv_series() const { return kv_series_; }

 private:
  struct Sequence {
    int64_t request = 0;
    int64_t context = 0;    // tokens cached when it decodes first; what its prefill computes
    int64_t done = 0;       // of them, cached now
    int64_t generated = 0;  // tokens given until then
    int64_t joined = -1;    // decode clock when it began to decode; -1: not yet
    int64_t shared = 0;     // hash blocks it refers to
    double last_token_s = 0.0;
  };
  using Place = std::list<Sequence>::iterator;
  struct Finish {
    int64_t clock;
    Place place;
  };

  int64_t batch() const { return static_cast<int64_t>(running_.size()); }
  std::span<const int64_t> hash_ids(int64_t request) const;
  int64_t held_tokens(const Sequence& sequence) const {
    return sequence.context + clock_ - sequence.joined;
  }

  // Memory.
  int64_t used_bytes() const;  // by sequences; blocks that they share once
  int64_t kv_room() const;     // what KvMemory, which counts shared blocks each time, may reach
  void drop_idle_blocks();
  void make_room();
  bool admissible(const Pending& pending) const;

  // Parts of plan().
  void admit(double now);
  void fill_step(double now);
  void add_chunk(Place place, int64_t& budget);
  int64_t steps_to_event() const;
  void cut_run(double now);

  // Parts of commit().
  void record_run();
  void advance_decode();
  void end_prefill(Place place);
  void end_decode();
  void rebuild_growth();

  void start_decoding(Place place);
  void stop_decoding(Sequence& sequence);
  void preempt_newest();
  void finish(Place place);
  void account_waiting(double now);
  static bool later(const Finish& a, const Finish& b);

  ServeContext& context_;
  const int64_t id_;
  const Role role_;
  const int64_t hash_block_bytes_;
  const int64_t max_batch_;

  std::deque<Pending> waiting_;
  std::list<Sequence> running_;  // in order of admission
  std::deque<Place> prefilling_;
  std::list<Sequence> handed_;    // their cache is being read by another replica
  std::vector<Finish> finishes_;  // heap, earliest first
  int64_t decoding_ = 0;
  int64_t clock_ = 0;  // decode steps
  DecodeLoad load_;    // of the next decode step
  KvMemory memory_;
  PrefixCache cache_;

  bool stepping_ = false;
  double start_ = 0.0, end_ = 0.0;
  int64_t steps_ = 0;
  std::vector<PrefillChunk> chunks_;
  std::vector<Place> chunk_owners_;
  std::vector<double> late_;  // last tokens, before start_, of sequences that join in this run
  int64_t kv_at_start_ = 0;

  double waiting_since_ = 0.0;
  TimeSeries waiting_series_, running_series_, kv_series_;
};

}  // namespace orthros
