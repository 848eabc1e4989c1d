// Runs a closed loop from event to event.
#include "sim/closed_loop.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

struct Request {
  double asked_s = 0.0;   // by the client
  double queued_s = 0.0;  // at the engine
  double first_s = 0.0;   // first token at the client
  int64_t context = 0;    // keys that its next decode step sees
  int64_t left = 0;       // decode steps to go
  int64_t index = 0;      // in order of asking
};

class Loop {
 public:
  Loop(const StepCost& cost, const ServingSoftware& serving, const ClosedLoop& load)
      : cost_(cost),
        serving_(serving),
        load_(load),
        slots_(std::max<int64_t>(load.clients - serving.idle_slots, 1)) {}

  ClosedLoopTimes run() {
    for (int64_t i = 0; i < load_.clients; ++i) ask(0.0);
    const int64_t wanted = rounds * load_.clients;
    while (done_ < wanted) {
      if (!prefill_step()) decode_run();
    }
    ClosedLoopTimes times;
    const double burst = serving_.burst_share;
    const auto mean = [&](double first, double later) {
      return burst * first / static_cast<double>(counted_[0]) +
             (1.0 - burst) * later / static_cast<double>(counted_[1]);
    };
    times.ttft_s = mean(ttft_[0], ttft_[1]);
    times.e2e_s = mean(e2e_[0], e2e_[1]);
    if (load_.output > 1) {
      times.tpot_s = (times.e2e_s - times.ttft_s) / static_cast<double>(load_.output - 1);
    }
    return times;
  }

 private:
  static constexpr int64_t rounds = 3;

  void ask(double at) {
    Request request;
    request.asked_s = at;
    request.queued_s = at + serving_.per_request_s;
    request.index = asked_++;
    waiting_.push_back(request);
  }

  // Tokens of `steps` steps of `count` each, the first made at first_s, the last now.
  void stream(double first_s, int64_t steps, int64_t count) {
    const double each = serving_.stream_token_s * static_cast<double>(count);
    const double all = each * static_cast<double>(steps);
    streamed_s_ = std::max({streamed_s_ + all, first_s + all, now_s_ + each});
  }

  // A step that takes waiting prompts into free slots; false where there is nothing to take.
  bool prefill_step() {
    int64_t rows = static_cast<int64_t>(active_.size());
    std::vector<Request> taken;
    while (!waiting_.empty() && waiting_.front().queued_s <= now_s_ &&
           static_cast<int64_t>(active_.size() + taken.size()) < slots_) {
      rows += load_.input;
      if (!taken.empty() && rows > serving_.token_budget) break;
      taken.push_back(waiting_.front());
      waiting_.pop_front();
    }
    if (taken.empty()) return false;
    const PrefillChunk chunk{static_cast<int64_t>(taken.size()), 0, load_.input, true};
    now_s_ += cost_.seconds({&chunk, 1}, decoding());
    stream(now_s_, 1, static_cast<int64_t>(active_.size() + taken.size()));
    advance(1);
    for (Request& request : taken) {
      request.first_s = streamed_s_;
      request.context = load_.input + 1;
      request.left = load_.output - 1;
      active_.push_back(request);
    }
    finish();
    return true;
  }

  // Decode steps until a sequence ends or a prompt can be taken.
  void decode_run() {
    if (active_.empty()) {  // nothing to do before the next request
      now_s_ = std::max(now_s_, waiting_.front().queued_s);
      return;
    }
    const DecodeLoad load = decoding();
    int64_t steps = std::min(active_.front().left, load.steady_steps);
    const bool free = static_cast<int64_t>(active_.size()) < slots_;
    if (free && !waiting_.empty() && waiting_.front().queued_s > now_s_) {
      // The step that the request falls into ends first.
      steps = std::min(
          steps, 1 + cost_.decode_steps_within(load, steps, waiting_.front().queued_s - now_s_));
    }
    const double seconds = cost_.decode_seconds(load, steps);
    const double first_s = now_s_ + seconds / static_cast<double>(steps);
    now_s_ += seconds;
    stream(first_s, steps, load.sequences);
    advance(steps);
    finish();
  }

  DecodeLoad decoding() const {
    DecodeLoad load;
    for (const Request& request : active_) load.add(cost_.model(), request.context);
    return load;
  }

  void advance(int64_t steps) {
    for (Request& request : active_) {
      request.context += steps;
      request.left -= steps;
    }
  }

  // All have the same length, so they end in the order in which they began.
  void finish() {
    while (!active_.empty() && active_.front().left == 0) {
      const Request& request = active_.front();
      const size_t round = request.index < load_.clients ? 0 : 1;
      ttft_[round] += request.first_s - request.asked_s;
      e2e_[round] += streamed_s_ - request.asked_s;
      ++counted_[round];
      ++done_;
      ask(streamed_s_);
      active_.pop_front();
    }
  }

  const StepCost& cost_;
  const ServingSoftware& serving_;
  const ClosedLoop load_;
  int64_t slots_;
  double now_s_ = 0.0;
  double streamed_s_ = 0.0;  // when the front end has handed out all made so far
  int64_t asked_ = 0;
  int64_t done_ = 0;
  std::deque<Request> waiting_, active_;
  double ttft_[2] = {}, e2e_[2] = {};
  int64_t counted_[2] = {};
};

}  // namespace

ClosedLoopTimes closed_loop(const StepCost& cost, const ServingSoftware& serving,
                            const ClosedLoop& load) {
  if (load.clients < 1 || load.input < 1 || load.output < 1) {
    throw InputError("closed loop", "", "expected at least 1 client, input and output token");
  }
  return Loop(cost, serving, load).run();
}

}  // namespace orthros
