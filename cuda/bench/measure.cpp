// Runs loads and times them.
#include "cuda/bench/measure.hpp"

#include <algorithm>
#include <deque>

#include "cuda/bench/timing.hpp"
#include "cuda/group/world.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros::cuda {
namespace {

// Seconds by the first process's clock, for all to decide by whether they run once more: one that
// ran alone would wait for the others for ever.
double agreed(double seconds) {
  broadcast(&seconds, sizeof seconds);
  return seconds;
}

// Events between ops, read when all have happened.
class OpClock {
 public:
  explicit OpClock(Runner& engine) : engine_(engine) {
    engine_.observe([this](const char* op) {
      names_.push_back(op);
      events_.emplace_back();
      events_.back().record(engine_.stream());
    });
  }
  ~OpClock() { engine_.observe({}); }
  OpClock(const OpClock&) = delete;
  OpClock& operator=(const OpClock&) = delete;

  // Seconds by op since the last call or the beginning, in order of appearance.
  std::vector<OpTime> take() {
    std::vector<OpTime> times;
    for (size_t i = 1; i < names_.size(); ++i) {
      auto found = std::find_if(times.begin(), times.end(),
                                [&](const OpTime& time) { return time.name == names_[i]; });
      if (found == times.end()) found = times.insert(found, {names_[i], 0, 0.0});
      ++found->launches;
      found->seconds += events_[i].since(events_[i - 1]);
    }
    names_.clear();
    events_.clear();
    return times;
  }

 private:
  Runner& engine_;
  std::vector<std::string> names_;
  std::deque<Event> events_;
};

}  // namespace

std::vector<NextToken> next_tokens(const std::vector<Prediction>& predictions) {
  std::vector<NextToken> next;
  for (size_t i = 0; i < predictions.size(); ++i) {
    next.push_back({static_cast<int64_t>(i), predictions[i].token});
  }
  return next;
}

void warm_up(Runner& engine, const Load& load) {
  Load brief = load;
  brief.input = std::min(load.input, std::max<int64_t>(1, load.chunk / load.batch));
  engine.reset();
  const auto predictions = engine.prefill(random_prompts(engine.spec(), brief));
  if (load.output > 1) engine.decode_greedily(next_tokens(predictions), 1);
  engine.reset();
}

std::vector<Prompt> random_prompts(const ModelSpec& spec, const Load& load) {
  const CounterRandom random(20261130, "prompts");
  std::vector<Prompt> prompts;
  uint64_t drawn = 0;
  for (int64_t s = 0; s < load.batch; ++s) {
    Prompt prompt;
    prompt.sequence = s;
    for (int64_t t = 0; t < load.input; ++t) {
      prompt.tokens.push_back(
          static_cast<int64_t>(random.bits(drawn++) % static_cast<uint64_t>(spec.vocab)));
    }
    prompt.outputs = {load.input};
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

Measured measure(Runner& engine, const Load& load, int repeats) {
  if (!load.prefills) {
    const int64_t steps = load.output - 1;
    Measured result;
    if (steps > 0) {
      result.decode_step = decode_step_seconds(engine, load.batch, load.input + steps, steps);
    }
    result.repeats = repeats;
    return result;
  }
  constexpr double long_run = 20.0;
  warm_up(engine, load);
  const std::vector<Prompt> prompts = random_prompts(engine.spec(), load);
  std::vector<double> ttft;
  std::vector<double> step;
  std::vector<double> whole;
  for (int i = 0; i < repeats; ++i) {
    engine.reset();
    std::vector<Prediction> predictions;
    ttft.push_back(seconds_of([&] { predictions = engine.prefill(prompts); }, engine.stream()));
    double decoding = 0.0;
    if (load.output > 1) {
      const std::vector<NextToken> next = next_tokens(predictions);
      decoding =
          seconds_of([&] { engine.decode_greedily(next, load.output - 1); }, engine.stream());
      step.push_back(decoding / static_cast<double>(load.output - 1));
    }
    whole.push_back(ttft.back() + decoding);
    if (agreed(whole.back()) > long_run) break;
  }
  Measured result;
  result.ttft = median(ttft);
  result.decode_step = step.empty() ? 0.0 : median(step);
  result.end_to_end = median(whole);
  result.repeats = static_cast<int>(ttft.size());
  return result;
}

double decode_step_seconds(Runner& engine, int64_t batch, int64_t n, int64_t steps) {
  engine.fill_randomly(n - steps);
  std::vector<NextToken> next;
  for (int64_t s = 0; s < batch; ++s) next.push_back({s, 1});
  std::vector<double> all;
  constexpr int most_runs = 6;
  constexpr double enough_seconds = 0.3;  // long steps vary little
  double spent = 0.0;
  for (int i = 0; i < most_runs && (i < 3 || spent < enough_seconds); ++i) {
    const double seconds =
        seconds_of([&] { engine.decode_greedily(next, steps); }, engine.stream());
    if (i > 0) all.push_back(seconds / static_cast<double>(steps));
    spent += agreed(seconds);
    for (int64_t s = 0; s < batch; ++s) engine.truncate(s, n - steps);
  }
  return median(all);
}

OpTimes time_ops(Runner& engine, const Load& load, Measured* whole) {
  OpTimes times;
  std::vector<NextToken> next;
  if (load.prefills) {
    warm_up(engine, load);
    const std::vector<Prompt> prompts = random_prompts(engine.spec(), load);
    Measured measured;
    measured.repeats = 1;
    {
      OpClock clock(engine);
      std::vector<Prediction> predictions;
      measured.ttft = seconds_of([&] { predictions = engine.prefill(prompts); }, engine.stream());
      times.prefill = clock.take();
      next = next_tokens(predictions);
    }
    measured.end_to_end = measured.ttft;
    if (whole != nullptr && load.output > 1) {
      const int64_t steps = load.output - 1;
      const double decoding =
          seconds_of([&] { engine.decode_greedily(next, steps); }, engine.stream());
      measured.decode_step = decoding / static_cast<double>(steps);
      measured.end_to_end += decoding;
    }
    if (whole != nullptr) *whole = measured;
  } else {
    engine.fill_randomly(load.input);
    for (int64_t s = 0; s < load.batch; ++s) next.push_back({s, 1});
  }
  if (load.output > 1) {
    OpClock clock(engine);
    engine.decode(next, Want::tokens, Launch::eager);
    times.decode = clock.take();
  }
  engine.reset();
  return times;
}

}  // namespace orthros::cuda
