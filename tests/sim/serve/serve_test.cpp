// serve(): what becomes of requests, by hand-made cases.
#include "sim/serve/serve.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "reference/spec/input_error.hpp"
#include "sim/cost.hpp"
#include "sim/serve/summary.hpp"
#include "sim/serve/traffic.hpp"
#include "tests/sim/serve/servers.hpp"

namespace orthros {
namespace {

using test::config_for;
using test::equal_requests;
using test::expect_sound;
using test::step_cost;
using test::Watch;
using Status = RequestRecord::Status;

// Sums of a few thousand positive terms of 2^-53 relative error each, in another order.
constexpr double rounding = 1e-11;

TEST(sim_serve, a_single_request_costs_what_cost_says_when_the_budget_covers_its_input) {
  for (const char* architecture : {"transformer", "swa", "orthros", "gdn", "yoco", "orthros-h"}) {
    SCOPED_TRACE(architecture);
    const StepCost cost = step_cost(architecture);
    for (const int64_t output : {0, 1, 2, 700}) {
      for (const int64_t input : {1, 100, 5000}) {
        const ServeResult result =
            serve(cost, config_for(cost, 10000), equal_requests(1, input, output, 0.0));
        const CostPoint point = cost_point(cost, load_hardware("h100-sxm"), {input, output, 1});
        const RequestRecord& record = result.requests[0];
        ASSERT_EQ(record.status, Status::completed);
        EXPECT_NEAR(record.first_token_s, point.latency.ttft_s, rounding * point.latency.ttft_s);
        EXPECT_NEAR(record.finish_s, point.latency.e2e_s, rounding * point.latency.e2e_s);
        EXPECT_EQ(tpot_of(record).has_value(), output > 1);
        EXPECT_EQ(result.gaps.count(), std::max<int64_t>(output - 1, 0));
      }
    }
  }
}

TEST(sim_serve, a_prompt_past_the_token_budget_is_prefilled_in_pieces) {
  const StepCost cost = step_cost("orthros");
  ServeConfig config = config_for(cost, 10000);
  config.token_budget = 1000;
  Watch watch(config);
  const ServeResult result = serve(cost, config, equal_requests(1, 2500, 1, 0.0), &watch);
  ASSERT_EQ(watch.runs.size(), 3u);
  double seconds = 0.0;
  for (const PrefillChunk& chunk :
       {PrefillChunk{1, 0, 1000, false}, {1, 1000, 1000, false}, {1, 2000, 500, true}}) {
    seconds += cost.seconds({&chunk, 1}, {});
  }
  EXPECT_NEAR(result.requests[0].finish_s, seconds, rounding * seconds);
  EXPECT_EQ(result.prefill_tokens, 2500);
}

TEST(sim_serve, a_decoding_sequence_takes_one_token_of_the_budget) {
  const StepCost cost = step_cost("transformer");
  ServeConfig config = config_for(cost, 100000);
  config.token_budget = 100;
  Watch watch(config);
  // The first has its first token after one step; the second's prompt then shares the budget.
  const Workload workload = equal_requests(2, 100, 50, 0.0);
  expect_sound(serve(cost, config, workload, &watch), workload);
  ASSERT_GE(watch.runs.size(), 3u);
  EXPECT_EQ(watch.runs[1].decoding, 1);
  EXPECT_EQ(watch.runs[1].prefill_tokens, 99);
  EXPECT_EQ(watch.runs[2].decoding, 1);
  EXPECT_EQ(watch.runs[2].prefill_tokens, 1);
}

TEST(sim_serve, a_request_that_never_fits_is_rejected_and_the_rest_go_on) {
  const StepCost cost = step_cost("transformer");
  const ServeConfig config = config_for(cost, 4096);
  Workload workload = equal_requests(5, 1000, 10, 0.01);
  workload.requests[1].input = 4090;  // with 8 tokens fed back it would need 4098
  workload.requests[1].output = 9;
  workload.requests[3].input = 4090;
  workload.requests[3].output = 7;  // exactly 4096
  const ServeResult result = serve(cost, config, workload);
  expect_sound(result, workload);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(result.requests[i].status, i == 1 ? Status::rejected : Status::completed) << i;
  }
}

TEST(sim_serve, the_newest_is_preempted_when_memory_runs_out_and_is_computed_anew) {
  const StepCost cost = step_cost("transformer");
  // Two prompts of 100 and a block more for each fit; 2 x 200 tokens do not.
  ServeConfig config = config_for(cost, 300, 1);
  Watch watch(config);
  const Workload workload = equal_requests(2, 100, 101, 0.0);
  const ServeResult result = serve(cost, config, workload, &watch);
  expect_sound(result, workload);
  EXPECT_EQ(result.completed, 2);
  EXPECT_EQ(result.requests[0].preemptions, 0);
  EXPECT_EQ(result.requests[1].preemptions, 1);
  // Both hold 150 tokens after 50 decode steps; the 51st has no room. By then the second has been
  // given 51 tokens: those and its prompt are computed again.
  EXPECT_EQ(result.prefill_tokens, 100 + 100 + 151);
  EXPECT_EQ(result.kv_peak_bytes, config.kv_budget);
}

TEST(sim_serve, steps_cost_what_the_contexts_in_them_say) {
  for (const char* architecture : {"swa", "orthros", "yoco", "gdn"}) {
    SCOPED_TRACE(architecture);
    const StepCost cost = step_cost(architecture);
    Workload workload = equal_requests(3, 60, 5, 0.0);
    workload.requests[1].output = 400;  // windows of 128 and of 512 fill on the way, or do not
    workload.requests[2].output = 700;
    ServeConfig config = config_for(cost, 100000);
    config.kv_budget *= 4;  // a window or a state is all that a sequence may hold
    const ServeResult result = serve(cost, config, workload);
    // The three prompts share a step; then each step adds a key to whoever is still there.
    const PrefillChunk prompts{3, 0, 60, true};
    double time = cost.seconds({&prompts, 1}, {});
    for (int64_t step = 1; step < 700; ++step) {
      std::vector<int64_t> contexts;
      for (const Request& request : workload.requests) {
        if (step < request.output) contexts.push_back(60 + step);
      }
      time += cost.seconds({}, decode_load(cost.model(), contexts));
      for (size_t i = 0; i < 3; ++i) {
        if (step + 1 != workload.requests[i].output) continue;
        EXPECT_NEAR(result.requests[i].finish_s, time, rounding * time);
      }
    }
    EXPECT_NEAR(result.end_s, time, rounding * time);
  }
}

TEST(sim_serve, windowed_layers_let_more_in_and_two_streams_do_not) {
  const auto peak = [](const char* architecture) {
    const StepCost cost = step_cost(architecture);
    const ServeConfig config = config_for(step_cost("transformer"), 100000);
    return serve(cost, config, equal_requests(4, 8000, 100, 0.0)).kv_peak_bytes;
  };
  EXPECT_EQ(peak("orthros"), peak("transformer"));
  EXPECT_LT(peak("swa"), peak("transformer") / 10);
}

TEST(sim_serve, a_closed_loop_keeps_exactly_so_many_in_flight) {
  const StepCost cost = step_cost("orthros");
  ServeConfig config = config_for(cost, 200000);
  config.max_batch = 3;  // as many clients on fewer slots
  Traffic traffic;
  traffic.concurrency = 4;
  traffic.requests = 60;
  traffic.input = {500.0, 1.0};
  traffic.output = {30.0, 1.0};
  const Workload workload = generate(traffic);
  const ServeResult result = serve(cost, config, workload);
  expect_sound(result, workload);
  // In order of issue, request i + 4 starts when the (i + 1)-th completion comes.
  std::vector<double> ends;
  for (const RequestRecord& record : result.requests) ends.push_back(record.finish_s);
  std::sort(ends.begin(), ends.end());
  for (size_t i = 0; i < result.requests.size(); ++i) {
    EXPECT_EQ(result.requests[i].arrival_s, i < 4 ? 0.0 : ends[i - 4]) << i;
  }
}

TEST(sim_serve, rejected_requests_do_not_hold_up_a_closed_loop) {
  const StepCost cost = step_cost("transformer");
  Workload workload = equal_requests(6, 100, 10, 0.0);
  workload.concurrency = 2;
  for (const size_t i : {0u, 1u, 4u}) workload.requests[i].input = 5000;
  const ServeResult result = serve(cost, config_for(cost, 1000), workload);
  expect_sound(result, workload);
  EXPECT_EQ(result.completed, 3);
}

TEST(sim_serve, round_robin_takes_turns_and_least_loaded_avoids_the_busy) {
  const StepCost cost = step_cost("transformer");
  ServeConfig config = config_for(cost, 100000);
  config.replicas = 2;
  // One long request, then short ones far enough apart to find the other replica idle.
  Workload workload = equal_requests(6, 100, 2, 0.5);
  workload.requests[0].output = 2000;
  const auto replicas = [&](Routing routing) {
    config.routing = routing;
    std::vector<int> used;
    for (const RequestRecord& record : serve(cost, config, workload).requests) {
      used.push_back(record.replica);
    }
    return used;
  };
  ASSERT_GT(serve(cost, config, workload).requests[0].finish_s, 3.0);
  EXPECT_EQ(replicas(Routing::round_robin), (std::vector<int>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(replicas(Routing::least_loaded), (std::vector<int>{0, 1, 1, 1, 1, 1}));
}

TEST(sim_serve, disaggregation_adds_the_transfer_between_first_and_second_token) {
  const StepCost cost = step_cost("orthros");
  ServeConfig config = config_for(cost, 20000);
  config.prefill_replicas = 1;
  config.decode_replicas = 1;
  config.link_bandwidth = 50e9;
  config.link_latency_s = 3e-6;
  const Workload workload = equal_requests(1, 4000, 20, 0.0);
  const ServeResult result = serve(cost, config, workload);
  expect_sound(result, workload);
  const CostPoint point = cost_point(cost, load_hardware("h100-sxm"), {4000, 20, 1});
  const int64_t bytes = kv_layout(cost.model(), {}, 16).bytes(4000);
  EXPECT_EQ(result.transferred_bytes, bytes);
  const double seconds = point.latency.e2e_s + 3e-6 + static_cast<double>(bytes) / 50e9;
  EXPECT_NEAR(result.requests[0].first_token_s, point.latency.ttft_s,
              rounding * point.latency.ttft_s);
  EXPECT_NEAR(result.requests[0].finish_s, seconds, rounding * seconds);
  EXPECT_EQ(result.requests[0].replica, 1);
  EXPECT_EQ(result.gpus, 2);
}

TEST(sim_serve, disaggregation_keeps_prompts_out_of_decode_steps) {
  const StepCost cost = step_cost("transformer");
  ServeConfig config = config_for(cost, 30000);
  config.prefill_replicas = 1;
  config.decode_replicas = 1;
  Watch watch(config);
  const Workload workload = equal_requests(40, 2000, 40, 0.2);
  expect_sound(serve(cost, config, workload, &watch), workload);
  for (const RunRecord& run : watch.runs) {
    EXPECT_EQ(run.replica == 0 ? run.decoding : run.prefill_tokens, 0);
  }
}

TEST(sim_serve, littles_law_holds) {
  const StepCost cost = step_cost("orthros");
  ServeConfig config = config_for(cost, 40000);
  config.max_batch = 8;
  Traffic traffic;
  traffic.rate = 4.0;
  traffic.requests = 400;
  traffic.input = {2000.0, 1.0};
  traffic.output = {60.0, 1.0};
  const Workload workload = generate(traffic);
  const ServeResult result = serve(cost, config, workload);
  const ServeSummary summary = summary_of(result, {}, 1.0);
  ASSERT_GT(result.completed, 390);
  // L = lambda W. L and the queue's part of it are integrals that the simulation keeps as events
  // happen; lambda W comes from the records of the requests when all is over.
  const double lambda = static_cast<double>(result.completed) / summary.duration_s;
  const double in_flight = lambda * *summary.e2e_s.mean;
  EXPECT_NEAR(*summary.mean_in_flight, in_flight, rounding * in_flight);
  ASSERT_EQ(result.preemptions, 0);
  const double waiting = lambda * *summary.wait_s.mean;
  EXPECT_GT(waiting, 0.1);
  EXPECT_NEAR(*summary.mean_waiting, waiting, rounding * waiting);
  double integral = 0.0;
  for (const double mean : result.timeline.waiting) integral += mean * result.timeline.bucket_s;
  EXPECT_NEAR(integral, result.waiting_s, rounding * integral);
}

TEST(sim_serve, an_empty_workload_is_served_at_once) {
  const StepCost cost = step_cost("transformer");
  const ServeResult result = serve(cost, config_for(cost, 100), {});
  EXPECT_EQ(result.completed, 0);
  EXPECT_EQ(result.duration_s(), 0.0);
  const ServeSummary summary = summary_of(result, {}, 1.0);
  EXPECT_FALSE(summary.ttft_s.mean || summary.output_tokens_per_s || summary.goodput_rps);
}

TEST(sim_serve, what_is_out_of_range_is_refused) {
  const StepCost cost = step_cost("transformer");
  const ServeConfig good = config_for(cost, 1000);
  const auto refused = [&](auto change) {
    ServeConfig config = good;
    Workload workload = equal_requests(2, 10, 2, 1.0);
    change(config, workload);
    EXPECT_THROW(serve(cost, config, workload), InputError);
  };
  refused([](auto& config, auto&) { config.token_budget = 0; });
  refused([](auto& config, auto&) { config.max_batch = 0; });
  refused([](auto& config, auto&) { config.block_size = 0; });
  refused([](auto& config, auto&) { config.kv_budget = 0; });
  refused([](auto& config, auto&) { config.replicas = 0; });
  refused([](auto& config, auto&) { config.prefill_replicas = 1; });
  refused([](auto& config, auto&) { config.decode_replicas = 1; });
  refused([](auto& config, auto&) { config.prefix_cache = true, config.block_size = 24; });
  refused([](auto&, auto& workload) { workload.concurrency = -1; });
  refused([](auto&, auto& workload) { workload.requests[1].arrival_s = -1.0; });
  refused([](auto&, auto& workload) { workload.requests[0].arrival_s = 2.0; });
  refused([](auto&, auto& workload) { workload.requests[0].input = 0; });
  refused([](auto&, auto& workload) { workload.requests[0].output = longest_sequence; });
  refused([](auto&, auto& workload) { workload.requests[0].hashes = 1; });
}

}  // namespace
}  // namespace orthros
