// The promises of one arithmetic, one by one.
#include "cuda/check/promises.hpp"

#include <algorithm>

namespace orthros::cuda {

EngineLimits limits_of(const CheckCase& check_case) {
  EngineLimits limits;
  limits.sequences = static_cast<int64_t>(check_case.sequences.size());
  limits.context = 0;
  limits.chunk = 0;
  limits.outputs = limits.sequences;
  int64_t outputs = 0;
  for (const SequencePlan& plan : check_case.sequences) {
    limits.context = std::max(limits.context, plan.length());
    limits.chunk += plan.length();
    outputs += 2 * static_cast<int64_t>(plan.outputs.size());  // some runs ask twice
  }
  limits.outputs = std::max(limits.outputs, outputs);
  if (check_case.pass_tokens > 0) {
    limits.chunk = std::max(limits.sequences, std::min(limits.chunk, check_case.pass_tokens));
  }
  limits.sequence_stride = check_case.sequence_stride;
  return limits;
}

PromiseRun::PromiseRun(const CheckCase& check_case, Runner& engine, Findings& findings)
    : case_(check_case),
      engine_(engine),
      findings_(findings),
      shape_(head_shape(check_case.spec)),
      plans_(check_case.sequences),
      prompts_(prompt_lengths(plans_)),
      whole_(whole_lengths(plans_)) {}

void PromiseRun::add(const char* promise, const RunRecord& expected, const RunRecord& actual) {
  findings_.add(promise, compare_runs(expected, actual, shape_));
}

const RunRecord& PromiseRun::main_run() {
  EngineDriver driver(engine_, plans_);
  driver.prefill(prompts_);
  engine_.poison();  // buffers that decode does not write must not matter to it
  driver.decode(whole_, Launch::graph);
  main_ = driver.record();
  return main_;
}

void PromiseRun::against(const RunRecord& reference) {
  add("hopper scalar = GPU", reference, main_);
  findings_.add("no NaN from what was not written", count_finite(main_, shape_));
  findings_.add("token = largest logit", compare_predicted(main_));
}

void PromiseRun::run_every_way() {
  training_forward();
  chunks();
  if (case_.token_by_token) token_by_token();
  copies();
  companions();
  eager();
  truncation();
}

// All tokens at once, predicting at every output.
void PromiseRun::training_forward() {
  EngineDriver driver(engine_, plans_);
  driver.prefill(whole_);
  const RunRecord record = driver.record();
  add("decode = prefill = training forward", main_, record);
  findings_.add("token = largest logit", compare_predicted(record));
}

void PromiseRun::chunks() {
  for (const int64_t chunk : case_.chunks) {
    EngineDriver driver(engine_, plans_);
    driver.prefill(whole_, chunk);
    add("any chunking", main_, driver.record());
  }
}

void PromiseRun::token_by_token() {
  EngineDriver driver(engine_, plans_);
  driver.prefill(Lengths(plans_.size(), 1));
  driver.decode(whole_, Launch::graph);
  add("decode = prefill = training forward", main_, driver.record());
}

// No copy, one, each twice and backwards; and, with two streams, all of them late.
void PromiseRun::copies() {
  const char* promise = "with or without copies";
  const std::vector<Positions> none(plans_.size());
  EngineDriver without(engine_, plans_);
  without.prefill(whole_, none);
  add(promise, main_, without.record());

  std::vector<Positions> last, twice, all;
  for (const SequencePlan& plan : plans_) {
    last.push_back({plan.length()});
    all.push_back(plan.outputs);
    twice.emplace_back(plan.outputs.rbegin(), plan.outputs.rend());
    twice.back().insert(twice.back().end(), plan.outputs.begin(), plan.outputs.end());
  }
  EngineDriver one(engine_, plans_);
  one.prefill(whole_, last);
  add(promise, main_, one.record());
  EngineDriver many(engine_, plans_);
  many.prefill(whole_, twice);
  add(promise, main_, many.record());
  if (case_.spec.streams != Streams::dual) return;

  EngineDriver late(engine_, plans_);
  Lengths all_but_last = whole_;
  for (int64_t& length : all_but_last) --length;
  late.prefill(all_but_last, none);
  late.prefill(whole_, all);
  add(promise, main_, late.record());
}

// Each sequence alone, in the first slot and in the last.
void PromiseRun::companions() {
  if (plans_.size() < 2) return;
  for (size_t s = 0; s < plans_.size(); ++s) {
    const auto alone = plans_.subspan(s, 1);
    const int64_t slot = s % 2 == 0 ? static_cast<int64_t>(plans_.size()) - 1 : 0;
    EngineDriver driver(engine_, alone, slot);
    driver.prefill(prompt_lengths(alone));
    driver.decode(whole_lengths(alone), Launch::graph);
    findings_.add("any batch companions",
                  compare_runs({main_[s]}, driver.record(), shape_, static_cast<int64_t>(s)));
  }
}

void PromiseRun::eager() {
  EngineDriver driver(engine_, plans_);
  driver.prefill(prompts_);
  driver.decode(whole_, Launch::eager);
  add("graph = eager", driver.record(), main_);
}

// Half of each sequence forgotten and appended again, then all of it.
void PromiseRun::truncation() {
  const char* promise = "truncate, reset and run again";
  EngineDriver driver(engine_, plans_);
  driver.prefill(whole_, std::vector<Positions>(plans_.size()));
  Lengths halves = whole_;
  for (int64_t& length : halves) length /= 2;
  driver.truncate(halves);
  driver.prefill(whole_);
  add(promise, main_, driver.record());
  EngineDriver again(engine_, plans_);
  again.prefill(prompts_);
  again.decode(whole_, Launch::graph);
  add(promise, main_, again.record());
}

std::vector<SequencePlan> PromiseRun::greedy_plans() {
  // By steps of the graph that feed themselves.
  EngineDriver driver(engine_, plans_);
  std::vector<Positions> last;
  int64_t steps = plans_[0].length() - plans_[0].prompt;
  for (const SequencePlan& plan : plans_) {
    last.push_back({plan.prompt});
    steps = std::min(steps, plan.length() - plan.prompt);
  }
  driver.prefill(prompts_, last);
  const RunRecord prefilled = driver.record();
  std::vector<NextToken> next;
  std::vector<SequencePlan> greedy;
  for (size_t s = 0; s < plans_.size(); ++s) {
    const SequencePlan& plan = plans_[s];
    const int64_t token = prefilled[s].predicted[0];
    next.push_back({driver.slot(s), token});
    SequencePlan& made = greedy.emplace_back();
    made.prompt = plan.prompt;
    made.tokens.assign(plan.tokens.begin(), plan.tokens.begin() + plan.prompt);
    made.tokens.push_back(token);
  }
  const std::vector<int64_t> ids = engine_.decode_greedily(next, steps);
  for (size_t i = 0; i < ids.size(); ++i) greedy[i % greedy.size()].tokens.push_back(ids[i]);
  for (SequencePlan& plan : greedy) {
    for (int64_t t = plan.prompt; t < plan.length(); ++t) plan.outputs.push_back(t);
  }

  // Step by step through the host.
  Tally tally;
  EngineDriver stepped(engine_, greedy);
  stepped.prefill(prompts_);
  Lengths until = whole_lengths(greedy);
  for (int64_t& length : until) --length;
  stepped.decode(until, Launch::graph);
  const RunRecord record = stepped.record();
  for (size_t s = 0; s < greedy.size(); ++s) {
    for (size_t i = 0; i < greedy[s].outputs.size(); ++i) {
      Difference place;
      place.part = Part::predicted;
      place.sequence = static_cast<int64_t>(s);
      place.position = greedy[s].outputs[i];
      const bool there = i < record[s].predicted.size();
      place.expected = there ? static_cast<uint32_t>(record[s].predicted[i]) : ~0u;
      place.actual = static_cast<uint32_t>(greedy[s].tokens[static_cast<size_t>(place.position)]);
      tally.count(place.expected == place.actual, place);
    }
  }
  findings_.add("greedy steps without the host = step by step", tally);
  return greedy;
}

void PromiseRun::first_token_matters() {
  std::vector<SequencePlan> changed(plans_.begin(), plans_.end());
  Tally tally;
  for (SequencePlan& plan : changed) {
    plan.tokens[0] = (plan.tokens[0] + 1) % case_.spec.vocab;
  }
  EngineDriver driver(engine_, changed);
  driver.prefill(whole_);
  const RunRecord record = driver.record();
  for (size_t s = 0; s < changed.size(); ++s) {
    Difference place;
    place.part = Part::logits;
    place.sequence = static_cast<int64_t>(s);
    place.position = whole_[s];
    tally.count(record[s].logits.back() != main_[s].logits.back(), place);
  }
  findings_.add("the output query reads position 1", tally);
}

}  // namespace orthros::cuda
