// Ends a run of steps: tokens, finished requests, statistics.
#include "sim/serve/replica.hpp"

#include <algorithm>

namespace orthros {

Replica::Replica(ServeContext& context, int64_t id, Role role)
    : context_(context),
      id_(id),
      role_(role),
      hash_block_bytes_(context.layout.bytes(hash_block_tokens)),
      max_batch_(std::min(context.config.max_batch, context.config.token_budget)),
      memory_(context.layout) {}

std::span<const int64_t> Replica::hash_ids(int64_t request) const {
  if (!context_.result.prefix_cache) return {};
  const Request& asked = context_.workload.requests[static_cast<size_t>(request)];
  const int64_t whole = std::min(asked.hashes, asked.input / hash_block_tokens);
  return std::span(context_.workload.hash_ids)
      .subspan(static_cast<size_t>(asked.first_hash), static_cast<size_t>(whole));
}

bool Replica::later(const Finish& a, const Finish& b) {
  if (a.clock != b.clock) return a.clock > b.clock;
  return a.place->request > b.place->request;
}

void Replica::account_waiting(double now) {
  const auto waiting = static_cast<double>(waiting_.size());
  waiting_series_.add(waiting_since_, now, waiting);
  context_.result.waiting_s += (now - waiting_since_) * waiting;
  if (!waiting_.empty()) context_.result.queued_s += now - waiting_since_;
  waiting_since_ = now;
}

void Replica::close(double now) {
  account_waiting(std::max(now, waiting_since_));
}

void Replica::commit() {
  stepping_ = false;
  record_run();
  if (decoding_ > 0) advance_decode();
  for (size_t i = 0; i < chunks_.size(); ++i) {
    Sequence& sequence = *chunk_owners_[i];
    sequence.done += chunks_[i].tokens;
    context_.result.prefill_tokens += chunks_[i].tokens;
  }
  while (!prefilling_.empty() && prefilling_.front()->done == prefilling_.front()->context) {
    const Place place = prefilling_.front();
    prefilling_.pop_front();
    end_prefill(place);
  }
  end_decode();
  late_.clear();
}

void Replica::advance_decode() {
  clock_ += steps_;
  load_ = load_.after(steps_);
  memory_.advance(steps_);
  if (load_.steady_steps == 0 || memory_.steady_steps() == 0) rebuild_growth();
}

void Replica::rebuild_growth() {
  load_ = DecodeLoad{};
  memory_.clear_growing();
  for (const Sequence& sequence : running_) {
    if (sequence.joined < 0) continue;
    load_.add(context_.cost.model(), held_tokens(sequence) + 1);
    memory_.start_growing(held_tokens(sequence));
  }
}

void Replica::record_run() {
  ServeResult& result = context_.result;
  const double seconds = end_ - start_;
  result.busy_s += seconds;
  ++result.runs;
  result.steps += steps_;
  if (chunks_.empty()) {
    result.gaps.add_run(context_.cost, load_, steps_, seconds,
                        decoding_ - static_cast<int64_t>(late_.size()));
  } else if (decoding_ > 0) {
    result.gaps.add(seconds, decoding_ - static_cast<int64_t>(late_.size()));
  }
  for (double last_token_s : late_) result.gaps.add(end_ - last_token_s);

  const int64_t grown = decoding_ > 0 ? memory_.used_after(steps_) - memory_.used() : 0;
  const int64_t kv_bytes = kv_at_start_ + grown;
  result.kv_peak_bytes = std::max(result.kv_peak_bytes, kv_bytes);
  running_series_.add(start_, end_, static_cast<double>(batch()));
  kv_series_.add(start_, end_,
                 (static_cast<double>(kv_at_start_) + static_cast<double>(kv_bytes)) / 2.0);
  const int64_t over =
      kv_bytes + cache_.idle_blocks() * hash_block_bytes_ - context_.config.kv_budget;
  for (int64_t freed = 0; freed < over; freed += hash_block_bytes_) cache_.drop_oldest();
  if (context_.observer == nullptr) return;
  RunRecord run;
  run.replica = id_;
  run.start_s = start_;
  run.end_s = end_;
  run.steps = steps_;
  run.decoding = decoding_;
  run.prefilling = static_cast<int64_t>(chunks_.size());
  for (const PrefillChunk& chunk : chunks_) run.prefill_tokens += chunk.tokens;
  run.waiting = static_cast<int64_t>(waiting_.size());
  run.kv_bytes = kv_bytes;
  run.cached_bytes = cache_.idle_blocks() * hash_block_bytes_;
  context_.observer->run_ended(run);
}

void Replica::end_prefill(Place place) {
  Sequence& sequence = *place;
  const auto ids = hash_ids(sequence.request);
  cache_.acquire(ids.subspan(static_cast<size_t>(sequence.shared)));
  sequence.shared = static_cast<int64_t>(ids.size());
  RequestRecord& record = context_.result.requests[static_cast<size_t>(sequence.request)];
  if (sequence.generated == 0) {
    record.first_token_s = end_;
  } else {
    context_.result.gaps.add(end_ - sequence.last_token_s);
  }
  sequence.last_token_s = end_;
  if (++sequence.generated >= record.output) {
    memory_.let_go(sequence.context);
    finish(place);
  } else if (role_ == Role::prefill) {
    handed_.splice(handed_.end(), running_, place);
    handed_on.push_back(sequence.request);
  } else {
    start_decoding(place);
  }
}

void Replica::end_decode() {
  while (!finishes_.empty() && finishes_.front().clock == clock_) {
    std::pop_heap(finishes_.begin(), finishes_.end(), later);
    const Place place = finishes_.back().place;
    finishes_.pop_back();
    stop_decoding(*place);
    memory_.let_go(place->context);
    finish(place);
  }
}

void Replica::start_decoding(Place place) {
  Sequence& sequence = *place;
  if (decoding_++ == 0) load_ = DecodeLoad{};
  sequence.joined = clock_;
  load_.add(context_.cost.model(), sequence.context + 1);
  memory_.let_go(sequence.context);
  memory_.start_growing(sequence.context);
  const RequestRecord& record = context_.result.requests[static_cast<size_t>(sequence.request)];
  finishes_.push_back({clock_ + record.output - sequence.generated, place});
  std::push_heap(finishes_.begin(), finishes_.end(), later);
}

// Leaves the sequence holding what it had grown to.
void Replica::stop_decoding(Sequence& sequence) {
  const int64_t held = held_tokens(sequence);
  const CountModel& model = context_.cost.model();
  --load_.sequences;
  load_.keys -= held + 1;
  for (size_t i = 0; i < model.windows.size(); ++i) {
    load_.window_keys[i] -= std::min(held + 1, model.windows[i]);
    if (held + 1 < model.windows[i]) --load_.window_growth[i];
  }
  memory_.stop_growing(held);
  memory_.hold(held);
  sequence.generated += clock_ - sequence.joined;
  sequence.context = held;
  sequence.joined = -1;
  --decoding_;
}

void Replica::finish(Place place) {
  const Sequence& sequence = *place;
  RequestRecord& record = context_.result.requests[static_cast<size_t>(sequence.request)];
  record.status = RequestRecord::Status::completed;
  record.finish_s = end_;
  record.replica = static_cast<int32_t>(id_);
  ++context_.result.completed;
  cache_.release(hash_ids(sequence.request).first(static_cast<size_t>(sequence.shared)));
  finished.push_back(sequence.request);
  running_.erase(place);
}

void Replica::release(int64_t request) {
  const auto place = std::find_if(handed_.begin(), handed_.end(), [&](const Sequence& sequence) {
    return sequence.request == request;
  });
  memory_.let_go(place->context);
  cache_.release(hash_ids(request).first(static_cast<size_t>(place->shared)));
  handed_.erase(place);
}

}  // namespace orthros
