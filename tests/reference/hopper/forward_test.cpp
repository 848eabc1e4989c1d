// forward in the engine's arithmetic: against the specification written out, and against goldens.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reference/hopper/forward.hpp"
#include "reference/spec/architecture.hpp"
#include "reference/spec/config.hpp"
#include "reference/spec/input_error.hpp"
#include "tests/reference/hopper/plain_model.hpp"
#include "tests/support/runs.hpp"
#include "tests/support/subject_model.hpp"

namespace orthros {
namespace {

ModelSpec small_transformer(bool qk_norm, NormKind norm) {
  SoftmaxAttention mixer;
  mixer.query_heads = 6;
  mixer.kv_heads = 2;
  mixer.head_width = 24;
  mixer.qk_norm = qk_norm;
  mixer.rope = Rope{};
  mixer.rope->width = 16;
  ModelSpec spec;
  spec.vocab = 37;
  spec.hidden = 40;
  spec.norm = norm;
  spec.layers.assign(2, Layer{mixer, SwiGlu{52}});
  validate(spec);
  return spec;
}

std::vector<int64_t> some_tokens(const ModelSpec& spec, int64_t length) {
  std::vector<int64_t> tokens;
  for (int64_t t = 0; t < length; ++t) tokens.push_back((t * t * 5 + 3 * t + 1) % spec.vocab);
  return tokens;
}

void expect_the_specification(const ModelSpec& spec, int64_t length) {
  const RandomWeights weights(11, spec.norm);
  const auto tokens = some_tokens(spec, length);
  std::vector<int64_t> outputs;
  for (int64_t t = 1; t <= length; ++t) outputs.push_back(t);
  const auto model = load_model<Hopper>(spec, weights);
  Cache<Hopper> cache(spec);
  const Logits<Hopper> logits = forward<Hopper>(model, cache, tokens, outputs);
  const auto expected = hopper::PlainModel(spec, weights).run(tokens);
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t i = 0; i < spec.vocab; ++i) {
      ASSERT_EQ(logits(t, i), expected.logits[static_cast<size_t>(t)][static_cast<size_t>(i)])
          << "position " << t + 1 << ", id " << i;
    }
  }
  for (size_t layer = 0; layer < spec.layers.size(); ++layer) {
    const auto& kv = std::get<KvCache<Hopper>>(cache.layers[layer]);
    const auto same = [](const Matrix<Hopper>& got, const hopper::Bits& bits) {
      return got.size() == static_cast<int64_t>(bits.size()) &&
             std::equal(bits.begin(), bits.end(), bits_of(got.data()));
    };
    EXPECT_TRUE(same(kv.keys, expected.keys[layer][0])) << "keys of layer " << layer;
    EXPECT_TRUE(same(kv.values, expected.values[layer][0])) << "values of layer " << layer;
  }
}

TEST(hopper_forward, orthros_is_its_specification) {
  expect_the_specification(
      orthros(small_transformer(true, NormKind::plain), 20, ScaleOffset::after_qk_norm), 45);
}

TEST(hopper_forward, orthros_across_splits_is_its_specification) {
  ModelSpec spec = small_transformer(true, NormKind::plain);
  auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  mixer.query_heads = mixer.kv_heads = 1;
  mixer.head_width = 8;
  mixer.rope->width = 8;
  spec.hidden = 8;
  spec.layers = {Layer{mixer, SwiGlu{8}}};
  expect_the_specification(orthros(spec, 100, ScaleOffset::none), 514);
}

TEST(hopper_forward, a_transformer_is_its_specification) {
  expect_the_specification(small_transformer(false, NormKind::plain), 33);
}

TEST(hopper_forward, swa_with_zero_centred_norms_is_its_specification) {
  expect_the_specification(swa(small_transformer(true, NormKind::zero_centred), 7), 33);
}

TEST(hopper_forward, recurrent_layers_are_refused_and_leave_the_cache_alone) {
  const ModelSpec spec =
      all_linear(small_transformer(false, NormKind::plain), Recurrence::gated_delta);
  const auto model = load_model<Hopper>(spec, RandomWeights(1, spec.norm));
  Cache<Hopper> cache(spec);
  const std::vector<int64_t> tokens = {1, 2};
  try {
    forward<Hopper>(model, cache, tokens, {});
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "scalar: expected a model of softmax layers for hopper, got a recurrent layer 0");
  }
  EXPECT_EQ(cache.length(), 0);
}

// Error of logits: the largest and the mean, with the largest and the mean logit.
struct Errors {
  double most = 0.0, mean = 0.0;
};

Errors errors_of(const Matrix<double>& got, const Matrix<double>& exact) {
  EXPECT_TRUE(got.allFinite());
  const auto off = (got - exact).cwiseAbs();
  return {off.maxCoeff(), off.mean()};
}

// The rule that the engine answers to: error <= 2 x the bf16 reference's own, in max and in mean,
// plus rounding slack: both round the last norm to bf16 on their own, which alone moves a logit by
// up to 2^-9 of itself.
TEST(hopper_forward, error_is_within_twice_the_bf16_references_own) {
  for (const std::string name :
       {"qwen3_tiny", "llama3_tiny", "mistral_swa4_tiny", "orthros_tiny"}) {
    const std::filesystem::path folder = std::filesystem::path(ORTHROS_TEST_DATA) / "goldens";
    std::ifstream file(folder / (name + ".json"));
    const auto golden = nlohmann::json::parse(file);
    const ModelSpec spec = spec_from_config(golden.at("config"), name);
    const TensorSource tensors(folder / (name + ".safetensors"));
    // The goldens' weights are wider than bf16; the rule is about the same bf16 weights.
    struct Rounded : CheckpointWeights {
      using CheckpointWeights::CheckpointWeights;
      void read(const TensorInfo& tensor, int64_t first, std::span<double> out) const override {
        CheckpointWeights::read(tensor, first, out);
        for (double& value : out) value = static_cast<double>(bfloat16(value));
      }
    };
    const Rounded weights(tensors);
    const auto exact_model = SubjectModel<double, configured_fault>::load(spec, weights);
    const auto bf16_model = SubjectModel<bfloat16, configured_fault>::load(spec, weights);
    const auto hopper_model = SubjectModel<Hopper, configured_fault>::load(spec, weights);
    for (const auto& each : golden.at("cases")) {
      const auto tokens = each.at("tokens").get<std::vector<int64_t>>();
      std::vector<int64_t> outputs;
      for (size_t t = 1; t <= tokens.size(); ++t) outputs.push_back(static_cast<int64_t>(t));
      const auto logits_of = [&](const AnyModel& model) {
        return run(model, *model.new_cache(), tokens, outputs);
      };
      const Matrix<double> exact = logits_of(*exact_model);
      const Errors bf16 = errors_of(logits_of(*bf16_model), exact);
      const Errors hopper = errors_of(logits_of(*hopper_model), exact);
      const double slack = 0x1p-9;
      EXPECT_LE(hopper.most, 2 * bf16.most + slack * exact.cwiseAbs().maxCoeff()) << name;
      EXPECT_LE(hopper.mean, 2 * bf16.mean + slack * exact.cwiseAbs().mean()) << name;
      EXPECT_GT(hopper.most, 0.0) << name << ": no rounding at all";
      std::printf("%s, %zu tokens: largest error %.3g (bf16 reference %.3g), mean %.3g (%.3g)\n",
                  name.c_str(), tokens.size(), hopper.most, bf16.most, hopper.mean, bf16.mean);
    }
  }
}

}  // namespace
}  // namespace orthros
