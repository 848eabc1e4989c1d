// Counts: closed forms against explicit loops, and against values known from elsewhere.
#include "sim/counts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

#include "reference/spec/input_error.hpp"
#include "reference/spec/tensor_table.hpp"
#include "tests/sim/specs.hpp"

namespace orthros {
namespace {

using test::preset;

double flops(int128 macs) {
  return 2.0 * static_cast<double>(macs);
}

double prefill_flops(const char* model, const char* architecture, int64_t input,
                     std::optional<int64_t> window = std::nullopt) {
  return flops(prefill_macs(count_model(preset(model, architecture, window)), input,
                            RecurrentForm::chunkwise));
}

// MACs of one forward by loops over layers, rows and keys, straight from the spec.
class LoopCount {
 public:
  LoopCount(const ModelSpec& spec, int64_t prefix, int64_t tokens,
            const std::vector<int64_t>& outputs, RecurrentForm form, int64_t chunk)
      : spec_(spec),
        prefix_(prefix),
        tokens_(tokens),
        outputs_(outputs),
        form_(form),
        chunk_(chunk) {}

  int64_t count() {
    bool shared_kv = false;
    for (const Layer& layer : spec_.layers) {
      const bool dual = spec_.streams == Streams::dual;
      int64_t ffn_rows = tokens_ + (dual ? outputs() : 0);
      if (const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer)) {
        if (softmax->kv == KvSource::shared) {
          ffn_rows = outputs();
          if (!shared_kv) linear(tokens_, spec_.hidden, 2 * softmax->kv_width());
          shared_kv = true;
          read_rows(*softmax);
        } else {
          linear(tokens_, spec_.hidden, 2 * softmax->kv_width());
          for (int64_t t = prefix_ + 1; t <= prefix_ + tokens_; ++t) {
            query_row(*softmax, std::min(t, softmax->window.value_or(t)));
          }
          if (dual) read_rows(*softmax);
        }
      } else {
        linear_layer(std::get<LinearMixer>(layer.mixer), dual);
      }
      linear(ffn_rows, spec_.hidden, 3 * layer.ffn.width);
    }
    linear(outputs(), spec_.hidden, spec_.vocab);
    return macs_;
  }

 private:
  int64_t outputs() const { return static_cast<int64_t>(outputs_.size()); }
  void linear(int64_t rows, int64_t in, int64_t out) { macs_ += rows * in * out; }

  // One row's q (and gate), its attention over `keys` keys, its output projection.
  void query_row(const SoftmaxAttention& mixer, int64_t keys) {
    linear(1, spec_.hidden, mixer.query_width() * (mixer.gated ? 2 : 1));
    for (int64_t key = 0; key < keys; ++key) macs_ += 2 * mixer.query_width();
    linear(1, mixer.query_width(), spec_.hidden);
  }
  void read_rows(const SoftmaxAttention& mixer) {
    for (int64_t position : outputs_) query_row(mixer, position);
  }

  void linear_layer(const LinearMixer& mixer, bool dual) {
    const int64_t keys = mixer.keys_width();
    const int64_t values = mixer.values_width();
    const bool delta = mixer.kind == Recurrence::gated_delta;
    for (int64_t t = 0; t < tokens_; ++t) {
      linear(1, spec_.hidden, 2 * keys + 2 * values);
      linear(1, values, spec_.hidden);
      if (delta) linear(1, spec_.hidden, 2 * mixer.value_heads);
      if (mixer.kind == Recurrence::gated_retention) linear(1, spec_.hidden, mixer.value_heads);
      if (mixer.kind == Recurrence::gated_linear) {
        linear(1, spec_.hidden, mixer.gate_rank);
        linear(1, mixer.gate_rank, keys);
      }
      if (delta) macs_ += mixer.conv_width * (2 * keys + values);
      if (form_ == RecurrentForm::recurrent) {
        macs_ += (delta ? 3 : 2) * mixer.value_heads * mixer.key_width * mixer.value_width;
      }
    }
    if (form_ == RecurrentForm::chunkwise) {
      // A chunk ends when it is full, with the tokens, and where a copy reads the state behind it.
      int64_t length = 0;
      for (int64_t t = prefix_ + 1; t <= prefix_ + tokens_; ++t) {
        ++length;
        const bool read = dual && std::find(outputs_.begin(), outputs_.end(), t) != outputs_.end();
        if (length < chunk_ && t < prefix_ + tokens_ && !read) continue;
        macs_ += mixer.value_heads * chunk(mixer, length);
        length = 0;
      }
    }
    if (!dual) return;
    linear(outputs(), spec_.hidden, keys + values);
    linear(outputs(), values, spec_.hidden);
    macs_ += outputs() * mixer.value_heads * mixer.key_width * mixer.value_width;
  }

  // FLOPs of DESIGN's table, halved, token by token; the inverse row by row: row i of a unit lower
  // triangular c x c inverse takes i (i - 1) / 2 multiply-adds.
  static int64_t chunk(const LinearMixer& mixer, int64_t c) {
    const int64_t k = mixer.key_width;
    const int64_t v = mixer.value_width;
    int64_t macs = 0;
    for (int64_t i = 0; i < c; ++i) {
      if (mixer.kind == Recurrence::gated_delta) {
        macs += (c * (6 * k + 4 * v) + 6 * k * v) / 2 + i * (i - 1) / 2;
      } else {
        macs += (2 * c * (k + v) + 4 * k * v) / 2;
      }
    }
    return macs;
  }

  const ModelSpec& spec_;
  int64_t prefix_, tokens_;
  std::vector<int64_t> outputs_;
  RecurrentForm form_;
  int64_t chunk_;
  int64_t macs_ = 0;
};

RC_GTEST_PROP(sim_counts, forward_equals_explicit_loops, ()) {
  const ModelSpec spec = test::random_spec();
  const auto prefix = *rc::gen::inRange<int64_t>(0, 30);
  const auto tokens = *rc::gen::inRange<int64_t>(0, 30);
  const auto outputs = *rc::gen::container<std::vector<int64_t>>(
      rc::gen::inRange<int64_t>(1, prefix + tokens + 1 > 1 ? prefix + tokens + 1 : 2));
  const auto form = *rc::gen::element(RecurrentForm::recurrent, RecurrentForm::chunkwise);
  const auto chunk = *rc::gen::inRange<int64_t>(1, 20);
  const int64_t loops = LoopCount(spec, prefix, tokens, outputs, form, chunk).count();
  RC_ASSERT(static_cast<int64_t>(
                forward_macs(count_model(spec), prefix, tokens, outputs, form, chunk)) == loops);
}

RC_GTEST_PROP(sim_counts, decode_sum_equals_its_steps, ()) {
  const ModelSpec spec = test::random_spec();
  const CountModel model = count_model(spec);
  const auto input = *rc::gen::inRange<int64_t>(1, 30);
  const auto output = *rc::gen::inRange<int64_t>(0, 30);
  int64_t steps = 0;
  for (int64_t n = input + 1; n <= input + output - 1; ++n) {
    steps += LoopCount(spec, n - 1, 1, {n}, RecurrentForm::recurrent, 1).count();
  }
  RC_ASSERT(static_cast<int64_t>(decode_macs(model, input, output)) == steps);
}

RC_GTEST_PROP(sim_counts, chunked_prefill_costs_what_one_shot_costs_but_for_chunk_edges, ()) {
  const CountModel model = count_model(test::random_spec());
  const auto first = *rc::gen::inRange<int64_t>(0, 40);
  const auto second = *rc::gen::inRange<int64_t>(1, 40);
  const OutputSet none;
  const OutputSet last{1, first + second};
  const auto macs = [&](int64_t prefix, int64_t tokens, const OutputSet& outputs) {
    return forward_macs(model, prefix, tokens, outputs, RecurrentForm::recurrent);
  };
  RC_ASSERT(macs(0, first, none) + macs(first, second, last) == macs(0, first + second, last));
}

RC_GTEST_PROP(sim_counts, row_matrices_and_head_are_the_linear_weights, ()) {
  const ModelSpec spec = test::random_spec();
  const CountModel model = count_model(spec);
  int64_t weights = 0;
  for (const TensorInfo& tensor : tensor_table(spec)) {
    if (tensor.role == TensorRole::linear) weights += tensor.elements();
  }
  int64_t counted = model.hidden * model.vocab + 2 * model.hidden * model.shared_kv_width;
  for (const LayerGroup& group : model.groups) {
    const bool cross = group.kind == LayerGroup::Kind::shared_kv;
    counted += group.layers * (cross ? group.copy_row_macs : group.base_row_macs);
  }
  RC_ASSERT(counted == weights);
}

// Case 27.
TEST(sim_counts, causal_pairs_of_131072_tokens) {
  EXPECT_EQ(static_cast<int64_t>(causal_pairs(0, 131072, no_window)), 8'590'000'128);
  EXPECT_EQ(static_cast<int64_t>(causal_pairs(0, 131072, 128)), 16'769'088);
}

// Case 29.
TEST(sim_counts, a_chunk_after_a_prefix_sees_the_prefix) {
  EXPECT_EQ(static_cast<int64_t>(causal_pairs(0, 8192, no_window)), 33'558'528);
  EXPECT_EQ(static_cast<int64_t>(causal_pairs(131072, 8192, no_window)), 1'107'300'352);
}

// Case 28: three FFN matrices.
TEST(sim_counts, llama_linear_layers_per_token) {
  const CountModel model = count_model(preset("llama-3.1-8b", "transformer"));
  ASSERT_EQ(model.groups.size(), 1u);
  EXPECT_EQ(2 * 32 * model.groups[0].base_row_macs, 13'958'643'712);
  EXPECT_EQ(2 * model.hidden * model.vocab, 1'050'673'152);
}

// The stated figures have three or four significant digits: half a unit of the last one.
TEST(sim_counts, known_prefill_ratios_of_qwen3_8b) {
  const auto ratio = [](int64_t input) {
    return prefill_flops("qwen3-8b", "transformer", input) /
           prefill_flops("qwen3-8b", "orthros", input, 128);
  };
  EXPECT_NEAR(ratio(131072), 3.76, 0.005);
  EXPECT_NEAR(ratio(1048576), 23.1, 0.05);
}

TEST(sim_counts, known_prefill_flops_of_llama_3_1_8b) {
  EXPECT_NEAR(prefill_flops("llama-3.1-8b", "transformer", 131072), 6.333e15, 0.0005e15);
  EXPECT_NEAR(prefill_flops("llama-3.1-8b", "orthros", 131072, 128), 1.838e15, 0.0005e15);
}

TEST(sim_counts, known_training_ratios) {
  const auto ratio = [](const char* name, int64_t length) {
    const OutputSet all{length, causal_pairs(0, length, no_window)};
    const auto macs = [&](const char* architecture) {
      return flops(forward_macs(count_model(preset(name, architecture)), 0, length, all,
                                RecurrentForm::chunkwise));
    };
    return macs("orthros") / macs("transformer");
  };
  EXPECT_NEAR(ratio("transformer-1.3b", 2048), 1.746, 0.0005);
  EXPECT_NEAR(ratio("qwen3-8b", 32768), 1.539, 0.0005);
}

TEST(sim_counts, the_delta_rules_inverse_takes_83328_flops_for_64_tokens) {
  LayerGroup group;
  group.kind = LayerGroup::Kind::linear;
  group.value_heads = 1;
  group.key_width = 1;
  group.value_width = 1;
  const auto macs = [&](Recurrence kind) {
    group.recurrence = kind;
    return static_cast<int64_t>(recurrence_macs(group, 64, RecurrentForm::chunkwise, 64));
  };
  // Both without the inverse, at K = V = 1: 64 (64 x 10 + 6) and 64 (64 x 4 + 4) FLOPs.
  EXPECT_EQ(2 * macs(Recurrence::gated_delta) - 64 * (64 * 10 + 6), 83'328);
  EXPECT_EQ(2 * macs(Recurrence::retention), 64 * (64 * 4 + 4));
}

TEST(sim_counts, skipping_dead_work_leaves_only_keys_and_values_of_the_last_base_layer) {
  const ModelSpec spec = preset("qwen3-8b", "orthros", 128);
  const int64_t input = 1000;
  const auto macs = [&](bool skip) {
    return prefill_macs(count_model(spec, {skip}), input, RecurrentForm::chunkwise);
  };
  // a = 4096, F = 12288, D = 4096: W_Q, W_O, the FFN and the windowed attention of one layer.
  const int128 dead = input * (int128{2} * 4096 * 4096 + int128{3} * 4096 * 12288) +
                      2 * int128{4096} * causal_pairs(0, input, 128);
  EXPECT_TRUE(macs(false) - macs(true) == dead);
}

TEST(sim_counts, one_streams_dead_work_is_all_but_keys_and_values_of_what_predicts_nothing) {
  const int64_t input = 1000;
  const auto macs = [&](const char* architecture, bool skip) {
    const CountModel model = count_model(preset("qwen3-8b", architecture), {skip});
    return std::pair(prefill_macs(model, input, RecurrentForm::chunkwise),
                     decode_macs(model, input, 50));
  };
  const auto whole = macs("transformer", false);
  const auto skipping = macs("transformer", true);
  // The last layer's W_Q, W_O and FFN of all rows but one, and the pairs of those rows.
  const int128 dead = (input - 1) * (int128{2} * 4096 * 4096 + int128{3} * 4096 * 12288) +
                      2 * int128{4096} * causal_pairs(0, input - 1, no_window);
  EXPECT_TRUE(whole.first - skipping.first == dead);
  EXPECT_TRUE(whole.second == skipping.second);  // every row of a decode step predicts
  EXPECT_TRUE(macs("swa", false) == macs("swa", true));
}

TEST(sim_counts, overflow_is_refused_by_name) {
  const CountModel model = count_model(preset("qwen3-8b", "transformer"));
  const int64_t longest = longest_sequence;
  const int128 macs = prefill_macs(model, longest, RecurrentForm::chunkwise);
  EXPECT_THROW(flops_from_macs(macs, 1, "flops.prefill"), InputError);
  EXPECT_THROW(prefill_macs(model, longest + 1, RecurrentForm::chunkwise), InputError);
  EXPECT_THROW(prefill_macs(model, -1, RecurrentForm::chunkwise), InputError);
  EXPECT_THROW(flops_from_macs(1, std::numeric_limits<int64_t>::max(), "flops"), InputError);
  EXPECT_EQ(flops_from_macs(std::numeric_limits<int64_t>::max() / 2, 1, "flops"),
            std::numeric_limits<int64_t>::max() - 1);
  try {
    flops_from_macs(macs, 1, "flops.prefill");
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("flops.prefill"), std::string::npos);
  }
}

TEST(sim_counts, more_than_four_different_windows_are_refused) {
  ModelSpec spec = preset("qwen3-8b", "transformer");
  for (int64_t i = 0; i < 5; ++i) {
    std::get<SoftmaxAttention>(spec.layers[static_cast<size_t>(i)].mixer).window = 100 + i;
  }
  EXPECT_THROW(count_model(spec), InputError);
}

}  // namespace
}  // namespace orthros
