// Moves requests between arrivals, replicas and KV transfers in order of time.
#include "sim/serve/serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "reference/spec/input_error.hpp"
#include "sim/memory.hpp"
#include "sim/serve/replica.hpp"

namespace orthros {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

struct Transfer {
  double end_s;
  int64_t request;
  int64_t from;
  int64_t to;
  bool operator>(const Transfer& other) const {
    return end_s != other.end_s ? end_s > other.end_s : request > other.request;
  }
};

class Cluster {
 public:
  explicit Cluster(ServeContext& context);
  void run();

 private:
  double next_time() const;
  void arrive(double now);
  void issue(int64_t request, double now);
  void commit_all(double now);
  void hand_on(int64_t from, int64_t request, double now);
  void end_transfers(double now);
  int64_t route(int64_t first, int64_t count, int64_t& turn) const;
  void count_in_flight(double now, int64_t change);
  bool fits(const Request& request) const;

  ServeContext& context_;
  std::vector<Replica> replicas_;
  std::priority_queue<Transfer, std::vector<Transfer>, std::greater<>> transfers_;
  int64_t next_ = 0;          // request to issue
  int64_t to_issue_now_ = 0;  // closed loop: places that are free
  int64_t turn_ = 0, decode_turn_ = 0;
  int64_t in_flight_ = 0;
  double in_flight_since_ = 0.0;
};

Cluster::Cluster(ServeContext& context)
    : context_(context), to_issue_now_(context.workload.concurrency) {
  const ServeConfig& config = context.config;
  replicas_.reserve(static_cast<size_t>(config.engines()));
  for (int64_t i = 0; i < config.engines(); ++i) {
    Role role = Role::both;
    if (config.disaggregated()) role = i < config.prefill_replicas ? Role::prefill : Role::decode;
    replicas_.emplace_back(context, i, role);
  }
}

double Cluster::next_time() const {
  double time = never;
  for (const Replica& replica : replicas_) {
    if (replica.stepping()) time = std::min(time, replica.end());
  }
  if (!transfers_.empty()) time = std::min(time, transfers_.top().end_s);
  const auto& requests = context_.workload.requests;
  if (context_.workload.concurrency == 0 && next_ < static_cast<int64_t>(requests.size())) {
    time = std::min(time, requests[static_cast<size_t>(next_)].arrival_s);
  }
  return time;
}

// At one moment: what arrives is queued before steps that end then make way for others, so that it
// can join the next step; places that completions free in a closed loop are taken at once.
void Cluster::run() {
  double now = 0.0;
  arrive(now);
  while (true) {
    for (Replica& replica : replicas_) {
      if (!replica.stepping()) replica.plan(now);
    }
    now = next_time();
    if (now == never) break;
    arrive(now);
    end_transfers(now);
    commit_all(now);
    if (context_.workload.concurrency > 0) arrive(now);
  }
  ServeResult& result = context_.result;
  count_in_flight(result.end_s, 0);
  TimeSeries waiting, running, kv_bytes;
  for (Replica& replica : replicas_) {
    replica.close(result.end_s);
    waiting.add(replica.waiting_series());
    running.add(replica.running_series());
    kv_bytes.add(replica.kv_series());
  }
  result.timeline = timeline_of(std::move(waiting), std::move(running), std::move(kv_bytes));
}

void Cluster::arrive(double now) {
  const auto& requests = context_.workload.requests;
  const bool closed = context_.workload.concurrency > 0;
  while (next_ < static_cast<int64_t>(requests.size())) {
    if (closed ? to_issue_now_ == 0 : requests[static_cast<size_t>(next_)].arrival_s > now) return;
    if (closed) --to_issue_now_;
    issue(next_, now);
    ++next_;
  }
}

bool Cluster::fits(const Request& request) const {
  // The last token is never fed back, so nothing of it is cached.
  const int64_t tokens = request.input + std::max<int64_t>(request.output - 1, 0);
  return context_.layout.bytes(tokens) <= context_.config.kv_budget;
}

void Cluster::issue(int64_t request, double now) {
  const Request& asked = context_.workload.requests[static_cast<size_t>(request)];
  RequestRecord& record = context_.result.requests[static_cast<size_t>(request)];
  record.input = asked.input;
  record.output = asked.output;
  record.arrival_s = record.admitted_s = record.first_token_s = record.finish_s = now;
  if (!fits(asked)) {
    if (context_.workload.concurrency > 0) ++to_issue_now_;
    return;
  }
  count_in_flight(now, 1);
  const ServeConfig& config = context_.config;
  const int64_t engines = config.disaggregated() ? config.prefill_replicas : config.replicas;
  replicas_[static_cast<size_t>(route(0, engines, turn_))].push({request, 0, false, 0.0}, now);
}

int64_t Cluster::route(int64_t first, int64_t count, int64_t& turn) const {
  if (context_.config.routing == Routing::round_robin) return first + turn++ % count;
  int64_t best = first;
  for (int64_t i = first + 1; i < first + count; ++i) {
    const auto load = [&](int64_t at) { return replicas_[static_cast<size_t>(at)].load(); };
    if (load(i) < load(best)) best = i;
  }
  return best;
}

void Cluster::commit_all(double now) {
  for (Replica& replica : replicas_) {
    if (!replica.stepping() || replica.end() > now) continue;
    replica.commit();
    const auto ended = static_cast<int64_t>(replica.finished.size());
    if (ended > 0) {
      context_.result.end_s = now;
      count_in_flight(now, -ended);
      to_issue_now_ += ended;
      replica.finished.clear();
    }
    const int64_t from = &replica - replicas_.data();
    for (const int64_t request : replica.handed_on) hand_on(from, request, now);
    replica.handed_on.clear();
  }
}

void Cluster::hand_on(int64_t from, int64_t request, double now) {
  const ServeConfig& config = context_.config;
  const Request& asked = context_.workload.requests[static_cast<size_t>(request)];
  const int64_t bytes = context_.layout.bytes(asked.input);
  const double moving =
      config.link_bandwidth > 0.0 ? static_cast<double>(bytes) / config.link_bandwidth : 0.0;
  context_.result.transferred_bytes += bytes;
  const int64_t to = route(config.prefill_replicas, config.decode_replicas, decode_turn_);
  transfers_.push({now + config.link_latency_s + moving, request, from, to});
}

void Cluster::end_transfers(double now) {
  while (!transfers_.empty() && transfers_.top().end_s <= now) {
    const Transfer done = transfers_.top();
    transfers_.pop();
    replicas_[static_cast<size_t>(done.from)].release(done.request);
    const RequestRecord& record = context_.result.requests[static_cast<size_t>(done.request)];
    replicas_[static_cast<size_t>(done.to)].push({done.request, 1, true, record.first_token_s},
                                                 now);
  }
}

void Cluster::count_in_flight(double now, int64_t change) {
  context_.result.in_flight_s += (now - in_flight_since_) * static_cast<double>(in_flight_);
  in_flight_since_ = now;
  in_flight_ += change;
}

void in_range(std::string_view field, int64_t least, int64_t most, int64_t value) {
  if (value < least || value > most) {
    throw InputError(field, "", fmt::format("expected {} to {}, got {}", least, most, value));
  }
}

void check(const ServeConfig& config, const Workload& workload) {
  constexpr int64_t most_engines = 4096;
  constexpr int64_t most_bytes = int64_t{1} << 50;
  in_range("token budget", 1, longest_sequence, config.token_budget);
  in_range("max batch", 1, longest_sequence, config.max_batch);
  in_range("block size", 1, int64_t{1} << 16, config.block_size);
  in_range("KV budget", 1, most_bytes, config.kv_budget);
  in_range("replicas", 1, most_engines, config.replicas);
  in_range("prefill replicas", 0, most_engines, config.prefill_replicas);
  in_range("decode replicas", config.disaggregated() ? 1 : 0,
           config.disaggregated() ? most_engines : 0, config.decode_replicas);
  in_range("concurrency", 0, longest_sequence, workload.concurrency);
  if (config.prefix_cache && hash_block_tokens % config.block_size != 0) {
    throw InputError("block size", "",
                     fmt::format("expected a divisor of {}, the tokens of a hash id, got {}",
                                 hash_block_tokens, config.block_size));
  }
  double last = 0.0;
  for (size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    const auto name = [&] { return fmt::format("request {}", i + 1); };
    if (request.input < 1 || request.output < 0 ||
        request.input > longest_sequence - request.output) {
      throw InputError("workload", name(), "expected lengths that can be counted");
    }
    if (request.hashes < 0 || request.first_hash < 0 ||
        request.first_hash + request.hashes > static_cast<int64_t>(workload.hash_ids.size())) {
      throw InputError("workload", name(), "expected its hash ids among those given");
    }
    if (workload.concurrency > 0) continue;
    if (!std::isfinite(request.arrival_s) || request.arrival_s < last) {
      throw InputError("workload", name(), "expected arrivals in order of time");
    }
    last = request.arrival_s;
  }
}

}  // namespace

ServeResult serve(const StepCost& cost, const ServeConfig& config, const Workload& workload,
                  ServeObserver* observer) {
  check(config, workload);
  ServeContext context{cost,     config,
                       workload, kv_layout(cost.model(), cost.deployment(), config.block_size),
                       observer, {}};
  ServeResult& result = context.result;
  result.requests.resize(workload.requests.size());
  result.engines = config.engines();
  result.gpus = config.engines() * cost.deployment().gpus();
  result.kv_capacity_bytes = config.kv_budget;
  result.prefix_cache = config.prefix_cache && context.layout.resident();
  if (workload.concurrency == 0 && !workload.requests.empty()) {
    result.start_s = workload.requests.front().arrival_s;
  }
  result.end_s = result.start_s;
  Cluster(context).run();
  return std::move(context.result);
}

int64_t default_kv_budget(const StepCost& cost, const ServeConfig& config, int64_t memory_bytes) {
  const int64_t weights = memory_of(cost.model(), cost.deployment(), 1, 1).weights;
  const int64_t activations = activation_bytes(cost.model(), cost.deployment(), config.token_budget,
                                               std::min(config.max_batch, config.token_budget));
  return std::max<int64_t>(0, memory_bytes - weights - activations);
}

}  // namespace orthros
