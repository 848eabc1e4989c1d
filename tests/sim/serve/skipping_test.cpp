// Properties of serve() over random servers and workloads.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "sim/serve/summary.hpp"
#include "sim/serve/traffic.hpp"
#include "tests/sim/serve/servers.hpp"

namespace orthros {
namespace {

// What is promised of time-skipping.
constexpr double promised = 1e-9;

void assert_close(double a, double b) {
  RC_ASSERT(std::abs(a - b) <= promised * std::max(std::abs(a), std::abs(b)));
}

void assert_close(const Distribution& a, const Distribution& b) {
  for (const auto member : {&Distribution::mean, &Distribution::p50, &Distribution::p90,
                            &Distribution::p95, &Distribution::p99}) {
    RC_ASSERT((a.*member).has_value() == (b.*member).has_value());
    if (a.*member) assert_close(*(a.*member), *(b.*member));
  }
}

struct Scene {
  StepCost cost;
  ServeConfig config;
  Workload workload;
};

// Small servers under loads that make them queue, preempt, reject and fill windows.
Scene random_scene() {
  Deployment deployment;
  deployment.tensor_parallel = *rc::gen::element<int64_t>(1, 2, 16);
  const auto* architecture = *rc::gen::element("transformer", "swa", "orthros", "yoco", "gdn",
                                               "linear-hybrid", "orthros-h");
  const auto* profile = *rc::gen::element("ideal", "sglang-triton-h100");
  const auto window = *rc::gen::element<int64_t>(5, 128, 700);
  StepCost cost(
      count_model(test::preset(
          "qwen3-8b", architecture,
          std::string_view(architecture) == "gdn" ? std::nullopt : std::optional<int64_t>(window))),
      deployment, load_profile(profile), load_hardware("h100-sxm"));
  Traffic traffic;
  traffic.seed = *rc::gen::arbitrary<uint64_t>();
  traffic.rate = *rc::gen::element(0.5, 5.0, 1e3);
  traffic.variation = *rc::gen::element(0.5, 1.0, 3.0);
  traffic.requests = *rc::gen::element<int64_t>(1, 7, 40, 40);
  traffic.input = {*rc::gen::element(3.0, 100.0, 1500.0), 0.5};
  traffic.output = {*rc::gen::element(3.0, 60.0, 300.0), 0.5};
  traffic.concurrency = *rc::gen::arbitrary<bool>() ? 0 : *rc::gen::element<int64_t>(1, 3, 16);
  // Around what one request of mean lengths needs: some are rejected, and some do not fit beside
  // others, now or as they grow.
  const auto tokens = static_cast<int64_t>(traffic.input.mean + traffic.output.mean);
  ServeConfig config = test::config_for(cost, tokens * *rc::gen::element<int64_t>(1, 2, 3, 4, 50),
                                        *rc::gen::element<int64_t>(1, 2, 16, 16, 256));
  config.token_budget = *rc::gen::element<int64_t>(1, 40, 512, 8192, 8192);
  config.max_batch = *rc::gen::element<int64_t>(1, 2, 6, 64, 64);
  config.routing = *rc::gen::element(Routing::round_robin, Routing::least_loaded);
  if (*rc::gen::inRange(0, 3) == 0) {
    config.prefill_replicas = *rc::gen::inRange<int64_t>(1, 3);
    config.decode_replicas = *rc::gen::inRange<int64_t>(1, 3);
    config.link_bandwidth = 20e9;
    config.link_latency_s = 1e-5;
  } else {
    config.replicas = *rc::gen::inRange<int64_t>(1, 4);
  }
  Workload workload = generate(traffic);
  // Prompts that begin alike, so that the cache finds, shares and drops blocks.
  config.prefix_cache = *rc::gen::arbitrary<bool>();
  for (Request& request : workload.requests) {
    request.first_hash = static_cast<int64_t>(workload.hash_ids.size());
    request.hashes = (request.input + hash_block_tokens - 1) / hash_block_tokens;
    const auto family = static_cast<int64_t>(request.input % 3);
    for (int64_t i = 0; i < request.hashes; ++i) workload.hash_ids.push_back(100 * family + i);
  }
  return {std::move(cost), config, std::move(workload)};
}

// Memory for a few requests that all come at once and give many tokens each.
Scene crowded_scene() {
  Scene scene = random_scene();
  scene.config.token_budget = 8192;
  scene.config.max_batch = 64;
  scene.config.kv_budget = test::config_for(scene.cost, *rc::gen::element<int64_t>(450, 700, 1200),
                                            scene.config.block_size)
                               .kv_budget;
  for (Request& request : scene.workload.requests) {
    request = {request.arrival_s * 1e-3, request.input % 200 + 1, 20 * request.output % 230, 0, 0};
  }
  scene.workload.concurrency *= 5;
  return scene;
}

void assert_skipping_equals_stepping(const Scene& scene) {
  ServeConfig stepwise = scene.config;
  stepwise.stepwise = true;
  const ServeResult skipped = serve(scene.cost, scene.config, scene.workload);
  const ServeResult stepped = serve(scene.cost, stepwise, scene.workload);
  RC_CLASSIFY(skipped.preemptions > 0, "preempts");
  RC_CLASSIFY(skipped.completed < static_cast<int64_t>(skipped.requests.size()), "rejects");
  RC_CLASSIFY(skipped.cached_tokens > 0, "finds prefixes");
  RC_ASSERT(skipped.runs <= stepped.runs);
  RC_ASSERT(skipped.steps == stepped.steps);
  for (size_t i = 0; i < skipped.requests.size(); ++i) {
    const RequestRecord& a = skipped.requests[i];
    const RequestRecord& b = stepped.requests[i];
    RC_ASSERT(a.status == b.status);
    RC_ASSERT(a.preemptions == b.preemptions);
    RC_ASSERT(a.replica == b.replica);
    RC_ASSERT(a.cached_tokens == b.cached_tokens);
    assert_close(a.arrival_s, b.arrival_s);
    assert_close(a.admitted_s, b.admitted_s);
    assert_close(a.first_token_s, b.first_token_s);
    assert_close(a.finish_s, b.finish_s);
  }
  RC_ASSERT(skipped.kv_peak_bytes == stepped.kv_peak_bytes);
  RC_ASSERT(skipped.prefill_tokens == stepped.prefill_tokens);
  const ServeSummary a = summary_of(skipped, {}, 1.0);
  const ServeSummary b = summary_of(stepped, {}, 1.0);
  assert_close(a.itl_s, b.itl_s);
  assert_close(a.utilisation, b.utilisation);
  assert_close(skipped.in_flight_s, stepped.in_flight_s);
}

RC_GTEST_PROP(sim_serve_property, skipping_time_equals_stepping_token_by_token, ()) {
  assert_skipping_equals_stepping(random_scene());
}

RC_GTEST_PROP(sim_serve_property, skipping_time_equals_stepping_where_memory_is_short, ()) {
  assert_skipping_equals_stepping(crowded_scene());
}

RC_GTEST_PROP(sim_serve_property, every_request_is_accounted_for_within_memory, ()) {
  const Scene scene = *rc::gen::arbitrary<bool>() ? crowded_scene() : random_scene();
  test::Watch watch(scene.config);
  const ServeResult result = serve(scene.cost, scene.config, scene.workload, &watch);
  test::expect_sound(result, scene.workload);
  RC_ASSERT(!testing::Test::HasFailure());
  const KvLayout layout =
      kv_layout(scene.cost.model(), scene.cost.deployment(), scene.config.block_size);
  for (const RequestRecord& record : result.requests) {
    const bool fits = layout.bytes(record.input + std::max<int64_t>(record.output - 1, 0)) <=
                      scene.config.kv_budget;
    RC_ASSERT((record.status == RequestRecord::Status::completed) == fits);
  }
  int64_t peak = 0;
  for (const RunRecord& run : watch.runs) peak = std::max(peak, run.kv_bytes);
  RC_ASSERT(result.kv_peak_bytes == peak);
}

RC_GTEST_PROP(sim_serve_property, serving_again_gives_the_same_bits, ()) {
  const Scene scene = random_scene();
  const ServeResult a = serve(scene.cost, scene.config, scene.workload);
  const ServeResult b = serve(scene.cost, scene.config, scene.workload);
  for (size_t i = 0; i < a.requests.size(); ++i) {
    RC_ASSERT(a.requests[i].first_token_s == b.requests[i].first_token_s);
    RC_ASSERT(a.requests[i].finish_s == b.requests[i].finish_s);
  }
  RC_ASSERT(a.gaps.mean() == b.gaps.mean());
}

RC_GTEST_PROP(sim_serve_property, a_prefix_cache_saves_prefill_and_changes_no_output, ()) {
  Scene scene = random_scene();
  scene.config.kv_budget *= 20;  // preemption recomputes, which is no saving
  scene.config.prefix_cache = true;
  ServeConfig without = scene.config;
  without.prefix_cache = false;
  const ServeResult cached = serve(scene.cost, scene.config, scene.workload);
  const ServeResult plain = serve(scene.cost, without, scene.workload);
  RC_ASSERT(cached.completed == plain.completed);
  RC_ASSERT(cached.gaps.count() == plain.gaps.count());
  RC_ASSERT(plain.cached_tokens == 0);
  RC_PRE(cached.preemptions == 0 && plain.preemptions == 0);
  RC_ASSERT(cached.prefill_tokens + cached.cached_tokens == plain.prefill_tokens);
}

}  // namespace
}  // namespace orthros
