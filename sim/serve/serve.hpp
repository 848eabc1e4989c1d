// serve: an event simulation of a server under traffic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/serve/gap_histogram.hpp"
#include "sim/serve/timeline.hpp"
#include "sim/step_cost.hpp"
#include "sim/trace/trace.hpp"

namespace orthros {

enum class Routing { round_robin, least_loaded };

// How the engine batches. Bytes are of one GPU; a replica is one deployment (tensor- or
// sequence-parallel group) with its own queue and cache.
struct ServeConfig {
  int64_t token_budget = 8192;  // of a step: a decoding sequence takes 1, prefill what is left
  int64_t max_batch = 256;      // sequences in prefill and decode; no more than the token budget
  int64_t block_size = 16;      // tokens of a KV block
  int64_t kv_budget = 0;        // bytes for KV blocks and recurrent states
  bool prefix_cache = false;    // by hash ids; models whose layers all keep every token
  int64_t replicas = 1;
  Routing routing = Routing::round_robin;  // least_loaded: fewest requests waiting and running
  // Both above 0: so many replicas that only prefill and so many that decode; `replicas` is unused.
  int64_t prefill_replicas = 0;
  int64_t decode_replicas = 0;
  double link_bandwidth = 0.0;  // bytes/s of one GPU's share of a KV transfer
  double link_latency_s = 0.0;
  bool stepwise = false;  // one event a step, to check that closed forms give the same

  bool disaggregated() const { return prefill_replicas > 0; }
  int64_t engines() const {
    return disaggregated() ? prefill_replicas + decode_replicas : replicas;
  }
};

// Open loop: requests arrive when they say. Closed loop (concurrency > 0): that many are in flight,
// the next is issued as soon as one ends, and arrival_s means nothing.
struct Workload {
  std::vector<Request> requests;
  std::vector<int64_t> hash_ids;
  int64_t concurrency = 0;
};

// What became of one request, in the workload's order. Times in seconds since time 0.
struct RequestRecord {
  enum class Status { completed, rejected };
  Status status = Status::rejected;
  int32_t replica = 0;  // that gave its last token
  int32_t preemptions = 0;
  int64_t input = 0;
  int64_t output = 0;
  int64_t cached_tokens = 0;  // of its prompt, found in the prefix cache when first admitted
  double arrival_s = 0.0;
  double admitted_s = 0.0;     // its prefill began
  double first_token_s = 0.0;  // its prefill ended
  double finish_s = 0.0;       // a rejected request has its arrival in all of these
};

// A run of equal steps of one replica, told when it has ended and before what it frees is freed.
struct RunRecord {
  int64_t replica = 0;
  double start_s = 0.0;
  double end_s = 0.0;
  int64_t steps = 1;
  int64_t decoding = 0;        // sequences given a token by every step
  int64_t prefilling = 0;      // pieces of prompts
  int64_t prefill_tokens = 0;  // in all of them
  int64_t waiting = 0;
  int64_t kv_bytes = 0;      // held by sequences
  int64_t cached_bytes = 0;  // kept for later prompts, given up when memory is needed
};

class ServeObserver {
 public:
  virtual ~ServeObserver() = default;
  virtual void run_ended(const RunRecord& run) = 0;
};

struct ServeResult {
  std::vector<RequestRecord> requests;
  GapHistogram gaps;  // between consecutive tokens of a request
  Timeline timeline;
  double start_s = 0.0;      // first arrival
  double end_s = 0.0;        // last completion; start_s where none completed
  double busy_s = 0.0;       // seconds in steps, of all engines together
  double in_flight_s = 0.0;  // integral over time of the requests in the system
  double waiting_s = 0.0;    // of those that wait for admission
  double queued_s = 0.0;     // seconds in which some request waits, of all engines together
  int64_t engines = 1;
  int64_t gpus = 1;  // of all engines
  int64_t completed = 0;
  int64_t preemptions = 0;
  int64_t prefill_tokens = 0;     // computed, recomputed ones included
  int64_t cached_tokens = 0;      // found instead
  int64_t transferred_bytes = 0;  // of KV, of one GPU of each pair
  int64_t kv_capacity_bytes = 0;
  int64_t kv_peak_bytes = 0;  // the most that sequences of one replica held, of one GPU
  int64_t runs = 0;           // events: runs of steps
  int64_t steps = 0;
  bool prefix_cache = false;  // asked for, and possible for this model

  double duration_s() const { return end_s - start_s; }
};

// Serves the workload. Microseconds a request; nothing random, so equal arguments give equal
// results. Requests that can never fit are rejected and counted; the others all complete. Throws
// InputError for a config out of range or a KV budget of nothing.
//
// Continuous batching with chunked prefill: every step gives each decoding sequence a token; the
// rest of the token budget goes to prompts, first come first served. A request is admitted when its
// whole prompt and, for each sequence then running, one more block fit. Where decode would run out
// of blocks the newest sequence is preempted: its cache is dropped, it waits at the head of the
// queue, and its prompt and tokens are computed anew. Steps between events are summed in closed
// form.
ServeResult serve(const StepCost& cost, const ServeConfig& config, const Workload& workload,
                  ServeObserver* observer = nullptr);

// KV bytes left on one GPU beside weights and the activations of a step that fills the budget; at
// least 0.
int64_t default_kv_budget(const StepCost& cost, const ServeConfig& config, int64_t memory_bytes);

}  // namespace orthros
