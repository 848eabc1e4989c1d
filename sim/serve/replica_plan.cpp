// Starts a run of steps: room, prompts, admissions, and how long nothing changes.
#include <algorithm>

#include "sim/serve/replica.hpp"

namespace orthros {

int64_t Replica::used_bytes() const {
  const int64_t once = cache_.blocks() - cache_.idle_blocks();
  return memory_.used() - (cache_.references() - once) * hash_block_bytes_;
}

int64_t Replica::kv_room() const {
  const int64_t once = cache_.blocks() - cache_.idle_blocks();
  return context_.config.kv_budget + (cache_.references() - once) * hash_block_bytes_;
}

void Replica::drop_idle_blocks() {
  const int64_t over =
      used_bytes() + cache_.idle_blocks() * hash_block_bytes_ - context_.config.kv_budget;
  for (int64_t freed = 0; freed < over; freed += hash_block_bytes_) cache_.drop_oldest();
}

// The newest leave until every decoding sequence can store its next token. One alone always can:
// requests that never fit are not let in.
void Replica::make_room() {
  while (decoding_ > 0 && running_.size() > 1 && memory_.used_after(1) > kv_room()) {
    preempt_newest();
  }
}

void Replica::preempt_newest() {
  account_waiting(end_);
  const Place place = std::prev(running_.end());
  Sequence& sequence = *place;
  if (sequence.joined >= 0) {
    const auto at = std::find_if(finishes_.begin(), finishes_.end(),
                                 [&](const Finish& entry) { return entry.place == place; });
    *at = finishes_.back();
    finishes_.pop_back();
    std::make_heap(finishes_.begin(), finishes_.end(), later);
    sequence.last_token_s = end_;
    stop_decoding(sequence);
  } else {
    prefilling_.pop_back();
  }
  memory_.let_go(sequence.context);
  cache_.release(hash_ids(sequence.request).first(static_cast<size_t>(sequence.shared)));
  ++context_.result.requests[static_cast<size_t>(sequence.request)].preemptions;
  ++context_.result.preemptions;
  waiting_.push_front({sequence.request, sequence.generated, false, sequence.last_token_s});
  running_.erase(place);
}

// Whether the whole prompt fits and, beside others, a block more for every sequence: what has just
// been let in should not have to leave at once.
bool Replica::admissible(const Pending& pending) const {
  const Request& asked = context_.workload.requests[static_cast<size_t>(pending.request)];
  const int64_t tokens = asked.input + pending.generated;
  int128 need = context_.layout.bytes(tokens);
  if (!pending.transferred) {
    const auto found = hash_ids(pending.request);
    const int64_t most =
        std::min(static_cast<int64_t>(found.size()), (tokens - 1) / hash_block_tokens);
    const auto hits =
        found.first(static_cast<size_t>(cache_.match(found.first(static_cast<size_t>(most)))));
    need -= int128{static_cast<int64_t>(hits.size()) - cache_.idle_among(hits)} * hash_block_bytes_;
  }
  if (!running_.empty()) need += int128{batch() + 1} * context_.layout.next_token_bytes();
  return used_bytes() + need <= context_.config.kv_budget;
}

void Replica::admit(double now) {
  account_waiting(now);
  const Pending pending = waiting_.front();
  waiting_.pop_front();
  const Request& asked = context_.workload.requests[static_cast<size_t>(pending.request)];
  RequestRecord& record = context_.result.requests[static_cast<size_t>(pending.request)];
  running_.emplace_back();
  const Place place = std::prev(running_.end());
  Sequence& sequence = *place;
  sequence.request = pending.request;
  sequence.generated = pending.generated;
  sequence.last_token_s = pending.last_token_s;
  if (pending.transferred) {  // the token it was given is not cached yet
    sequence.context = asked.input + pending.generated - 1;
    memory_.hold(sequence.context);
    late_.push_back(sequence.last_token_s);
    start_decoding(place);
    drop_idle_blocks();
    return;
  }
  sequence.context = asked.input + pending.generated;
  // At least one token is computed, for its logits.
  const auto ids = hash_ids(pending.request);
  const auto usable = ids.first(static_cast<size_t>(
      std::min(static_cast<int64_t>(ids.size()), (sequence.context - 1) / hash_block_tokens)));
  sequence.shared = cache_.match(usable);
  cache_.acquire(ids.first(static_cast<size_t>(sequence.shared)));
  sequence.done = sequence.shared * hash_block_tokens;
  context_.result.cached_tokens += sequence.done;
  if (pending.generated == 0 && record.preemptions == 0) {
    record.admitted_s = now;
    record.cached_tokens = sequence.done;
  }
  memory_.hold(sequence.context);
  drop_idle_blocks();
  prefilling_.push_back(place);
}

void Replica::add_chunk(Place place, int64_t& budget) {
  const int64_t tokens = std::min(budget, place->context - place->done);
  chunks_.push_back({1, place->done, tokens, place->done + tokens == place->context});
  chunk_owners_.push_back(place);
  budget -= tokens;
}

void Replica::fill_step(double now) {
  chunks_.clear();
  chunk_owners_.clear();
  int64_t budget = context_.config.token_budget - decoding_;
  for (const Place place : prefilling_) {
    if (budget == 0) break;
    add_chunk(place, budget);
  }
  while (budget > 0 && !waiting_.empty() && batch() < max_batch_ && admissible(waiting_.front())) {
    const int64_t decoding = decoding_;
    admit(now);
    if (decoding_ > decoding) {
      --budget;
    } else {
      add_chunk(prefilling_.back(), budget);
    }
  }
}

// Decode steps until a sequence ends, a window fills or memory runs out.
int64_t Replica::steps_to_event() const {
  if (context_.config.stepwise || !late_.empty()) return 1;
  const int64_t limit =
      std::min({finishes_.front().clock - clock_, load_.steady_steps, memory_.steady_steps()});
  return std::max<int64_t>(1, memory_.steps_within(kv_room(), limit));
}

void Replica::plan(double now) {
  make_room();
  fill_step(now);
  if (chunks_.empty() && decoding_ == 0) return;
  stepping_ = true;
  start_ = now;
  kv_at_start_ = used_bytes();
  steps_ = chunks_.empty() ? steps_to_event() : 1;
  end_ = now + (steps_ > 1 ? context_.cost.decode_seconds(load_, steps_)
                           : context_.cost.seconds(chunks_, load_));
}

void Replica::push(const Pending& pending, double now) {
  account_waiting(now);
  waiting_.push_back(pending);
  if (stepping_ && steps_ > 1 && waiting_.size() == 1 && batch() < max_batch_ &&
      admissible(pending)) {
    cut_run(now);
  }
}

// The fewest steps (at least 1) that end at `now` or later. Their number is guessed in proportion
// to time and corrected, for steps take nearly equally long.
void Replica::cut_run(double now) {
  int64_t before = 0;  // ends before now
  int64_t after = steps_;
  double before_end = start_;
  double after_end = end_;
  while (after - before > 1) {
    const double share =
        after_end > before_end ? (now - before_end) / (after_end - before_end) : 0.0;
    const auto guess = before + static_cast<int64_t>(share * static_cast<double>(after - before));
    // Steps only grow longer: the guess is never too high but for rounding; one more, and it is
    // most often the answer.
    const int64_t step = std::clamp(guess + 1, before + 1, after - 1);
    const double step_end = start_ + context_.cost.decode_seconds(load_, step);
    if (step_end >= now) {
      after = step;
      after_end = step_end;
      if (step - 1 > before) {
        const double previous = start_ + context_.cost.decode_seconds(load_, step - 1);
        (previous >= now ? after : before) = step - 1;
        (previous >= now ? after_end : before_end) = previous;
      }
    } else {
      before = step;
      before_end = step_end;
    }
  }
  steps_ = after;
  end_ = after_end;
}

}  // namespace orthros
