// What a sequence does not notice: its companions, their order, padding, packing and threads.
#include <gtest/gtest.h>
#include <omp.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "tests/support/property.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/runs.hpp"

namespace orthros {
namespace {

// A sequence of a batch: tokens already in memory, new ones, and where to predict.
struct Member {
  std::vector<int64_t> before;
  std::vector<int64_t> tokens;
  std::vector<int64_t> outputs;
};

Member draw_member(const ModelSpec& spec) {
  const int64_t edge = edge_of(spec);
  Member member;
  member.before = draw_tokens(spec, draw_length(edge, 0, 6));
  member.tokens = draw_tokens(spec, draw_length(edge, 0, 9));
  const auto before = static_cast<int64_t>(member.before.size());
  member.outputs = draw_outputs(before + 1, before + static_cast<int64_t>(member.tokens.size()));
  return member;
}

struct Result {
  Matrix<double> logits;
  Memory memory;
};

std::vector<Result> run_batch(const AnyModel& model, const std::vector<Member>& members) {
  std::vector<std::unique_ptr<AnyCache>> caches;
  std::vector<Part> parts;
  for (const Member& member : members) {
    caches.push_back(model.new_cache());
    run(model, *caches.back(), member.before, {});
    parts.push_back({caches.back().get(), member.tokens, member.outputs});
  }
  const auto logits = model.forward(parts, {});
  std::vector<Result> results;
  for (size_t i = 0; i < members.size(); ++i) {
    results.push_back({logits[i], caches[i]->memory()});
  }
  return results;
}

bool same_bits(const Result& a, const Result& b) {
  return orthros::same_bits(a.logits, b.logits) && orthros::same_bits(a.memory, b.memory);
}

std::vector<Member> draw_members(const ModelSpec& spec) {
  std::vector<Member> members(static_cast<size_t>(*rc::gen::inRange(1, 5).as("batch")));
  for (Member& member : members) member = draw_member(spec);
  return members;
}

ORTHROS_PROPERTY(a_sequence_ignores_its_batch_companions, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto members = draw_members(drawn.spec);
  const auto together = run_batch(*model, members);
  for (size_t i = 0; i < members.size(); ++i) {
    RC_ASSERT(same_bits(run_batch(*model, {members[i]})[0], together[i]));
  }
}

ORTHROS_PROPERTY(a_sequence_ignores_the_padding_behind_it, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  auto members = draw_members(drawn.spec);
  const auto ragged = run_batch(*model, members);
  std::vector<size_t> lengths;
  size_t longest = 0;
  for (const Member& member : members) {
    lengths.push_back(member.before.size() + member.tokens.size());
    longest = std::max(longest, member.tokens.size());
  }
  const int64_t pad = *rc::gen::inRange<int64_t>(0, drawn.spec.vocab).as("padding token");
  for (Member& member : members) member.tokens.resize(longest, pad);
  const auto padded = run_batch(*model, members);
  for (size_t i = 0; i < members.size(); ++i) {
    RC_ASSERT(orthros::same_bits(padded[i].logits, ragged[i].logits));
    const auto length = static_cast<int64_t>(lengths[i]);
    for (size_t l = 0; l < ragged[i].memory.size(); ++l) {
      const LayerMemory& kept = ragged[i].memory[l];
      if (kept.keys.cols() == 0) continue;
      RC_ASSERT(orthros::same_bits(padded[i].memory[l].keys.topRows(length), kept.keys));
      RC_ASSERT(orthros::same_bits(padded[i].memory[l].values.topRows(length), kept.values));
    }
  }
}

ORTHROS_PROPERTY(batch_order_changes_nothing, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto members = draw_members(drawn.spec);
  const auto straight = run_batch(*model, members);
  const auto backwards = run_batch(*model, {members.rbegin(), members.rend()});
  for (size_t i = 0; i < members.size(); ++i) {
    RC_ASSERT(same_bits(backwards[members.size() - 1 - i], straight[i]));
  }
}

// Threads share the work only where it is worth it, so these are the widest models here.
void thread_count(const Subject& subject) {
  RandomModel drawn = draw_model(architecture_names());
  drawn.spec.hidden = 49;
  for (Layer& layer : drawn.spec.layers) layer.ffn.width = 97;
  const auto model = subject.load(drawn.spec, drawn.weights());
  std::vector<Member> members(2);
  for (Member& member : members) {
    member.before = draw_tokens(drawn.spec, 3);
    member.tokens = draw_tokens(drawn.spec, 40);
    member.outputs = draw_outputs(4, 43);
  }
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto alone = run_batch(*model, members);
  std::vector<std::vector<Result>> shared;
  for (const int threads : {2, 3}) {
    omp_set_num_threads(threads);
    shared.push_back(run_batch(*model, members));
  }
  omp_set_num_threads(before);
  for (size_t i = 0; i < members.size(); ++i) {
    RC_ASSERT(same_bits(shared[0][i], alone[i]));
    RC_ASSERT(same_bits(shared[1][i], alone[i]));
  }
}

TEST(property, thread_count_changes_nothing) {
  constexpr int cases = 20;
  expect_property({"thread_count_changes_nothing", thread_count, Scalars::every}, cases);
}

ORTHROS_PROPERTY(a_packed_sequence_equals_its_documents_run_alone, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const int64_t edge = edge_of(drawn.spec);
  std::vector<std::vector<int64_t>> documents(
      static_cast<size_t>(*rc::gen::inRange(1, 5).as("documents")));
  std::vector<int64_t> tokens;
  std::vector<int64_t> ids;
  for (size_t d = 0; d < documents.size(); ++d) {
    documents[d] = draw_tokens(drawn.spec, draw_length(edge, 1, 8));
    tokens.insert(tokens.end(), documents[d].begin(), documents[d].end());
    ids.insert(ids.end(), documents[d].size(), static_cast<int64_t>(7 * d % 5));
  }
  const auto length = static_cast<int64_t>(tokens.size());
  const auto packed = model->new_cache();
  const Matrix<double> logits = run_in_pieces(*model, *packed, tokens, draw_pieces(edge, length),
                                              positions(1, length), {}, ids);
  const Memory memory = packed->memory();
  int64_t at = 0;
  for (const auto& document : documents) {
    const auto size = static_cast<int64_t>(document.size());
    const auto alone = model->new_cache();
    const Matrix<double> expected = run(*model, *alone, document, positions(1, size));
    RC_ASSERT(orthros::same_bits(logits.middleRows(at, size), expected));
    const Memory own = alone->memory();
    for (size_t l = 0; l < own.size(); ++l) {
      if (own[l].keys.cols() == 0) {
        const bool last = at + size == length;
        if (last) RC_ASSERT(orthros::same_bits(memory[l].state, own[l].state));
      } else {
        RC_ASSERT(orthros::same_bits(memory[l].keys.middleRows(at, size), own[l].keys));
        RC_ASSERT(orthros::same_bits(memory[l].values.middleRows(at, size), own[l].values));
      }
    }
    at += size;
  }
}

}  // namespace
}  // namespace orthros
