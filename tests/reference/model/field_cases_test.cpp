// Faults that people reported of other engines, as inputs with the right answer.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "reference/model/load_model.hpp"
#include "tests/reference/model/fixed_model.hpp"
#include "tests/reference/spec/refusal.hpp"
#include "tests/support/attention_by_hand.hpp"
#include "tests/support/patched_weights.hpp"
#include "tests/support/runs.hpp"

namespace orthros {
namespace {

std::unique_ptr<AnyModel> fixed_model(const std::string& architecture, int64_t window) {
  const ModelSpec spec = fixed_spec(architecture, window);
  return double_subject().load(spec, fixed_weights(spec));
}

std::vector<int64_t> up_to(int64_t last) {
  std::vector<int64_t> all(static_cast<size_t>(last));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

TEST(case_01, a_window_keeps_exactly_w_keys_self_included) {
  Row query;
  query.entry = 5;
  query.position = 5;
  const KeyRange seen = visible_keys<configured_fault>(query, 4, 6);
  EXPECT_EQ(seen.begin, 2);
  EXPECT_EQ(seen.end, 6);
}

TEST(case_03, chunked_prefill_equals_one_shot) {
  const std::vector<std::vector<int64_t>> splits = {
      {11}, {4, 4, 3}, {8, 3}, {5, 6}, std::vector<int64_t>(11, 1)};
  for (const std::string& name : architecture_names()) {
    const auto model = fixed_model(name, 4);
    const auto tokens = fixed_tokens(11);
    const auto whole = model->new_cache();
    const Matrix<double> expected = run(*model, *whole, tokens, up_to(11));
    for (const auto& split : splits) {
      const auto cache = model->new_cache();
      EXPECT_TRUE(same_bits(run_in_pieces(*model, *cache, tokens, split, up_to(11)), expected))
          << name;
      EXPECT_TRUE(same_bits(cache->memory(), whole->memory())) << name;
    }
  }
}

TEST(case_04, row_0_of_a_chunk_does_not_change_with_the_rows_after_it) {
  for (const std::string& name : architecture_names()) {
    const auto model = fixed_model(name, 4);
    for (const int64_t cached : {63, 64, 65}) {
      const auto before = fixed_tokens(cached);
      const auto chunk = fixed_tokens(5, 4);
      const auto alone = model->new_cache();
      run(*model, *alone, before, {});
      const auto together = alone->fork();
      const Matrix<double> one = run(*model, *alone, {chunk[0]}, {cached + 1});
      const Matrix<double> five = run(*model, *together, chunk, {cached + 1, cached + 5});
      EXPECT_TRUE(same_bits(five.topRows(1), one)) << name << " " << cached;
    }
  }
}

// The rows' attention in the first layer when `fresh` tokens meet `cached` ones, which is checked
// to be over keys 1..t for every t, base row by base row.
TEST(case_05, fewer_queries_than_keys_align_at_the_end) {
  const auto model = fixed_model("transformer", 1);
  const auto& mixer = std::get<SoftmaxAttention>(model->spec().layers[0].mixer);
  const auto cache = model->new_cache();
  run(*model, *cache, fixed_tokens(3), {});
  Observed observed;
  run(*model, *cache, fixed_tokens(2, 4), {}, observed.options());
  const LayerMemory kv = cache->memory()[0];
  for (int64_t row = 0; row < 2; ++row) {
    const auto by_hand = [&](int64_t last) {
      return attention_by_hand(observed.at("q", 0).row(row), kv.keys, kv.values, mixer.query_heads,
                               mixer.kv_heads, 1, last);
    };
    const Matrix<double> o = observed.at("attention", 0).row(row);
    // 1e-12: as in attention_is_equations_4_and_5, heads are narrower and keys fewer.
    EXPECT_LT(relative_error(o, by_hand(4 + row)), 1e-12);
    EXPECT_GT(relative_error(o, by_hand(1 + row)), 1e-3);  // aligned at the top left
  }
}

TEST(case_06, an_empty_key_range_gives_zero) {
  const double q[] = {1.0, 2.0};
  const double kv[] = {3.0, 4.0};
  double o[] = {5.0, 6.0, 7.0};
  attend(q, kv, kv, 2, 2, {1, 1}, o);
  EXPECT_EQ(o[0], 0.0);
  EXPECT_EQ(o[1], 0.0);
  EXPECT_EQ(o[2], 7.0);
}

TEST(case_06, empty_rows_of_a_batch_leave_their_neighbours_alone) {
  for (const std::string& name : architecture_names()) {
    const auto model = fixed_model(name, 4);
    std::vector<std::unique_ptr<AnyCache>> caches;
    std::vector<Part> parts;
    for (int64_t i = 0; i < 64; ++i) {
      const int64_t length = i == 1 || i == 10 ? 0 : 1 + i % 7;
      caches.push_back(model->new_cache());
      parts.push_back({caches.back().get(), fixed_tokens(length, static_cast<uint64_t>(i)), {}});
      if (length > 0) parts.back().outputs = {length};
    }
    const auto logits = model->forward(parts, {});
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto alone = model->new_cache();
      EXPECT_TRUE(same_bits(run(*model, *alone, parts[i].tokens, parts[i].outputs), logits[i]));
      EXPECT_TRUE(same_bits(alone->memory(), caches[i]->memory())) << name << " " << i;
    }
  }
}

// Query heads whose attention changes when KV head g's values do.
std::set<int64_t> readers_of(int64_t g, int64_t query_heads, int64_t kv_heads) {
  ModelSpec spec = fixed_spec("transformer", 1);
  spec.layers.resize(1);
  auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  mixer.query_heads = query_heads;
  mixer.kv_heads = kv_heads;
  validate(spec);
  const RandomWeights weights = fixed_weights(spec);
  const int64_t rows = g * mixer.head_width;
  const PatchedWeights changed(weights, ends_with({"v_proj.weight"}),
                               [&](const TensorInfo& tensor, int64_t first, std::span<double> out) {
                                 weights.read(tensor, first, out);
                                 for (size_t i = 0; i < out.size(); ++i) {
                                   const int64_t row =
                                       (first + static_cast<int64_t>(i)) / tensor.shape[1];
                                   if (row >= rows && row < rows + mixer.head_width)
                                     out[i] = -out[i];
                                 }
                               });
  const auto attention = [&](const WeightSource& source) {
    const auto model = double_subject().load(spec, source);
    const auto cache = model->new_cache();
    Observed observed;
    run(*model, *cache, fixed_tokens(2), {}, observed.options());
    return observed.at("attention", 0);
  };
  const Matrix<double> one = attention(weights);
  const Matrix<double> other = attention(changed);
  std::set<int64_t> readers;
  for (int64_t h = 0; h < query_heads; ++h) {
    const int64_t at = h * mixer.head_width;
    if (!same_bits(one.middleCols(at, mixer.head_width), other.middleCols(at, mixer.head_width))) {
      readers.insert(h);
    }
  }
  return readers;
}

TEST(case_07, query_head_h_reads_kv_head_h_over_the_group) {
  const std::vector<std::pair<int64_t, int64_t>> shapes = {
      {32, 4}, {32, 8}, {28, 4}, {12, 2}, {24, 1}};
  for (const auto& [query_heads, kv_heads] : shapes) {
    for (int64_t g = 0; g < kv_heads; ++g) {
      std::set<int64_t> expected;
      for (int64_t h = 0; h < query_heads; ++h) {
        if (h / (query_heads / kv_heads) == g) expected.insert(h);
      }
      EXPECT_EQ(readers_of(g, query_heads, kv_heads), expected) << query_heads << "/" << kv_heads;
    }
  }
  EXPECT_TRUE(readers_of(1, 32, 4).contains(9));
}

TEST(case_07, heads_that_do_not_divide_are_refused) {
  for (const auto& [query_heads, kv_heads] : {std::pair<int64_t, int64_t>{33, 2}, {3, 2}}) {
    EXPECT_NE(refusal_of([&, q = query_heads, kv = kv_heads] {
                return readers_of(0, q, kv);
              }).find("num_key_value_heads: expected a divisor of the"),
              std::string::npos);
  }
}

TEST(case_08, a_decode_step_sees_its_own_key) {
  const auto model = fixed_model("orthros", 4);
  const auto& mixer = std::get<SoftmaxAttention>(model->spec().layers[0].mixer);
  const auto cache = model->new_cache();
  run(*model, *cache, {5}, {1});
  Observed observed;
  run(*model, *cache, {11}, {2}, observed.options());
  const LayerMemory kv = cache->memory()[0];
  const auto by_hand = [&](int64_t row, int64_t first, int64_t last) {
    return attention_by_hand(observed.at("q", 0).row(row), kv.keys, kv.values, mixer.query_heads,
                             mixer.kv_heads, first, last);
  };
  for (const int64_t row : {0, 1}) {  // base, output
    const Matrix<double> o = observed.at("attention", 0).row(row);
    EXPECT_LT(relative_error(o, by_hand(row, 1, 2)), 1e-12);  // as in case 5
    EXPECT_GT(relative_error(o, by_hand(row, 1, 1)), 1e-3);
    EXPECT_GT(relative_error(o, by_hand(row, 2, 2)), 1e-3);
  }
}

TEST(case_10, a_prompt_longer_than_the_window_loses_nothing) {
  ModelSpec spec = fixed_spec("orthros", 128);
  spec.layers.resize(1);
  const auto model = double_subject().load(spec, fixed_weights(spec));
  auto tokens = fixed_tokens(300);
  const auto last_states = [&] {
    const auto cache = model->new_cache();
    Observed observed;
    run(*model, *cache, tokens, {300}, observed.options());
    return Matrix<double>(observed.at("residual", 0).bottomRows(2));
  };
  const Matrix<double> before = last_states();
  tokens[0] = (tokens[0] + 1) % spec.vocab;
  const Matrix<double> after = last_states();
  EXPECT_TRUE(same_bits(before.topRows(1), after.topRows(1)));         // base row 300
  EXPECT_FALSE(same_bits(before.bottomRows(1), after.bottomRows(1)));  // its copy
}

TEST(case_11, each_row_of_a_ragged_batch_equals_its_own_run_and_starts_at_position_0) {
  for (const std::string& name : architecture_names()) {
    const auto model = fixed_model(name, 4);
    std::vector<std::unique_ptr<AnyCache>> caches;
    std::vector<Part> parts;
    for (const int64_t length : {1, 5, 10, 129}) {
      auto tokens = fixed_tokens(length, static_cast<uint64_t>(length));
      tokens[0] = 6;
      caches.push_back(model->new_cache());
      parts.push_back({caches.back().get(), tokens, {length}});
    }
    const auto logits = model->forward(parts, {});
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto alone = model->new_cache();
      EXPECT_TRUE(same_bits(run(*model, *alone, parts[i].tokens, parts[i].outputs), logits[i]));
      const Memory memory = caches[i]->memory();
      EXPECT_TRUE(same_bits(alone->memory(), memory)) << name;
      if (memory[0].keys.cols() == 0) continue;
      EXPECT_TRUE(same_bits(memory[0].keys.topRows(1), caches[0]->memory()[0].keys)) << name;
    }
  }
}

TEST(case_14, ragged_last_token_gather_and_prompt_log_probabilities) {
  for (const std::string& name : architecture_names()) {
    const auto model = fixed_model(name, 4);
    // Logits of the batch's sequences one under another, and rows that reached the head.
    const auto run_ragged = [&](bool every) {
      std::vector<std::unique_ptr<AnyCache>> caches;
      std::vector<Part> parts;
      for (const int64_t length : {3, 1, 4}) {
        caches.push_back(model->new_cache());
        parts.push_back({caches.back().get(), fixed_tokens(length, static_cast<uint64_t>(length)),
                         every ? up_to(length) : std::vector<int64_t>{length}});
      }
      Observed observed;
      const auto logits = model->forward(parts, observed.options());
      Matrix<double> rows(observed.at("final_normed", -1).rows(), model->spec().vocab);
      int64_t row = 0;
      for (const Matrix<double>& each : logits) {
        rows.middleRows(row, each.rows()) = each;
        row += each.rows();
      }
      EXPECT_EQ(row, rows.rows());
      return rows;
    };
    const Matrix<double> last = run_ragged(false);
    const Matrix<double> all = run_ragged(true);
    EXPECT_EQ(last.rows(), 3);
    EXPECT_EQ(all.rows(), 8);
    EXPECT_TRUE(same_bits(last, rows_at(all, {2 + 1, 3 + 1, 7 + 1}))) << name;
  }
}

TEST(case_15, r_generated_tokens_are_one_prefill_and_r_minus_1_decode_steps) {
  const ModelSpec spec = fixed_spec("orthros", 4);
  const auto model = load_model<double>(spec, fixed_weights(spec));
  std::vector<int64_t> rows_of_calls;
  int64_t outputs = 0;
  ForwardOptions<double> options;
  options.observer = [&](std::string_view name, int64_t, const Matrix<double>& rows) {
    if (name == "embedding") rows_of_calls.push_back(rows.rows());
    if (name == "final_normed") outputs += rows.rows();
  };
  Cache<double> cache(spec);
  const auto prompt = fixed_tokens(9);
  const auto generated = generate<double>(model, cache, prompt, 12, 0, options);
  EXPECT_EQ(generated.size(), 12u);
  std::vector<int64_t> expected(12, 2);  // a decode step: one token in both streams
  expected[0] = 9 + 1;                   // prefill: the prompt, and its last position's copy
  EXPECT_EQ(rows_of_calls, expected);
  EXPECT_EQ(outputs, 12);             // T_out
  EXPECT_EQ(cache.length(), 9 + 11);  // the last token never enters
}

}  // namespace
}  // namespace orthros
