// Engine: sequences, passes and graphs.
#include "cuda/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cuda/engine/decode_graph.hpp"
#include "cuda/engine/layers.hpp"
#include "cuda/engine/limits.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {

class Engine::State {
 public:
  State(const DeviceModel& device_model, const EngineLimits& engine_limits,
        EngineFault engine_fault, const RankHooks& rank_hooks)
      : model((check_fault(engine_fault), require_runnable(device_model.spec),
               check_limits(device_model.spec, engine_limits), device_model)),
        limits(engine_limits),
        fault(engine_fault),
        hooks(rank_hooks),
        layers(device_model, engine_limits, engine_fault, rank_hooks),
        graph(layers, fault),
        tokens(static_cast<size_t>(engine_limits.sequences)) {
    ORTHROS_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ORTHROS_CUDA(cudaDeviceSynchronize());
  }
  ~State() { cudaStreamDestroy(stream); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int64_t length(int64_t sequence) const {
    return static_cast<int64_t>(tokens[static_cast<size_t>(sequence)].size());
  }
  bool two_streams() const { return model.spec.streams == Streams::dual; }

  void check_sequence(int64_t sequence) const {
    if (sequence >= 0 && sequence < limits.sequences) return;
    throw InputError("sequence", "",
                     fmt::format("expected 0 to {}, got {}", limits.sequences - 1, sequence));
  }
  void check_tokens(int64_t sequence, std::span<const int64_t> added) const {
    for (const int64_t token : added) {
      if (token >= 0 && token < model.spec.vocab) continue;
      throw InputError(
          "tokens", "",
          fmt::format("expected ids from 0 to {}, got {}", model.spec.vocab - 1, token));
    }
    const int64_t after = length(sequence) + static_cast<int64_t>(added.size());
    if (after > limits.context) {
      throw InputError(
          "tokens", "",
          fmt::format("expected a sequence of at most {} tokens, got {}", limits.context, after));
    }
  }
  void check(std::span<const Prompt> prompts) const {
    std::vector<bool> seen(static_cast<size_t>(limits.sequences));
    for (const Prompt& prompt : prompts) {
      check_sequence(prompt.sequence);
      if (seen[static_cast<size_t>(prompt.sequence)]) {
        throw InputError("sequence", "",
                         fmt::format("expected each once, got {} twice", prompt.sequence));
      }
      seen[static_cast<size_t>(prompt.sequence)] = true;
      check_tokens(prompt.sequence, prompt.tokens);
      const int64_t past = length(prompt.sequence);
      const int64_t first = two_streams() ? 1 : past + 1;
      const int64_t last = past + static_cast<int64_t>(prompt.tokens.size());
      for (const int64_t position : prompt.outputs) {
        if (position >= first && position <= last) continue;
        throw InputError(
            "outputs", "",
            fmt::format("expected positions from {} to {}, got {}", first, last, position));
      }
    }
  }

  // The lengths that a pass leaves behind, and everything the device is told of it.
  Pass send(std::span<const Request> requests, std::span<const PassPart> parts,
            const StepPlan& plan) {
    Buffers& to = layers.buffers;
    std::vector<int64_t> written;
    for (const auto& sequence : tokens) written.push_back(static_cast<int64_t>(sequence.size()));
    int64_t longest = 0;
    for (const PassPart& part : parts) {
      const Request& request = requests[part.request];
      written[static_cast<size_t>(request.sequence)] = request.past + part.end;
      longest = std::max(longest, part.end - part.begin);
    }
    to.tokens.send(plan.tokens, stream);
    to.rows.send(plan.rows, stream);
    std::vector<Row> seen = seen_by_attention(plan.rows, fault);
    std::vector<QueryRun> runs = plan.runs;
    std::vector<RowTile> tiles = plan.base_tiles;
    layers.to_scratch(runs, seen, tiles);
    to.attention_rows.send(seen, stream);
    to.runs.send(runs, stream);
    to.base_tiles.send(tiles, stream);
    to.live_rows.send(plan.live_rows, stream);
    to.live_sources.send(plan.live_sources, stream);
    to.live_tiles.send(plan.live_tiles, stream);
    to.written.send(written, stream);
    const auto count = [](const auto& list) { return static_cast<int64_t>(list.size()); };
    Pass pass;
    pass.rows = count(plan.rows);
    pass.base_rows = plan.base_rows;
    pass.live = count(plan.live_rows);
    pass.gathers = !two_streams();
    pass.runs = count(plan.runs);
    pass.prompt_runs = plan.runs;
    pass.longest_run = longest;
    pass.base_tiles = count(plan.base_tiles);
    pass.live_tiles = count(plan.live_tiles);
    return pass;
  }

  // The predictions of the pass just run: rows [0, count).
  std::vector<Prediction> receive(int64_t count, Want want) {
    const Buffers& buffers = layers.buffers;
    std::vector<int32_t> ids(static_cast<size_t>(count));
    std::vector<float> logits;
    ORTHROS_CUDA(cudaMemcpyAsync(ids.data(), buffers.predicted.data(), ids.size() * sizeof(int32_t),
                                 cudaMemcpyDeviceToHost, stream));
    const int64_t stride = buffers.widths.logits;
    if (want == Want::logits) {
      logits.resize(static_cast<size_t>(count * stride));
      ORTHROS_CUDA(cudaMemcpyAsync(logits.data(), buffers.logits.data(),
                                   logits.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
    }
    ORTHROS_CUDA(cudaStreamSynchronize(stream));
    std::vector<Prediction> result;
    for (int64_t i = 0; i < count; ++i) {
      Prediction prediction{ids[static_cast<size_t>(i)], {}};
      if (want == Want::logits) {
        const auto first = logits.begin() + i * stride;
        prediction.logits.assign(first, first + model.spec.vocab);
      }
      result.push_back(std::move(prediction));
    }
    return result;
  }

  void check_next(std::span<const NextToken> next, int64_t steps) const {
    std::vector<bool> seen(static_cast<size_t>(limits.sequences));
    for (const NextToken& one : next) {
      check_sequence(one.sequence);
      if (seen[static_cast<size_t>(one.sequence)]) {
        throw InputError("sequence", "",
                         fmt::format("expected each once, got {} twice", one.sequence));
      }
      seen[static_cast<size_t>(one.sequence)] = true;
      check_tokens(one.sequence, std::span(&one.token, 1));
      if (length(one.sequence) + steps > limits.context) {
        throw InputError("tokens", "",
                         fmt::format("expected a sequence of at most {} tokens, got {}",
                                     limits.context, length(one.sequence) + steps));
      }
    }
  }

  // What a decode step starts from; the lengths are those behind its tokens.
  DecodeStart start(std::span<const NextToken> next) const {
    DecodeStart result;
    for (const NextToken& one : next) {
      result.tokens.push_back(static_cast<int32_t>(one.token));
      result.rows.push_back({length(one.sequence), static_cast<int32_t>(one.sequence), 0});
      result.enters.push_back(one.enters || !two_streams());
    }
    for (const auto& sequence : tokens) {
      result.written.push_back(static_cast<int64_t>(sequence.size()));
    }
    for (const Row& row : result.rows) ++result.written[static_cast<size_t>(row.sequence)];
    result.two_streams = two_streams();
    return result;
  }

  void steps(std::span<const NextToken> next, int64_t count, bool by_graph) {
    const bool captures = by_graph && (hooks.outputs == nullptr || hooks.outputs->captures());
    graph.start(start(next), captures, stream);
    for (int64_t i = 0; i < count; ++i) {
      if (captures) {
        graph.replay(stream);
      } else {
        graph.run_eagerly(stream);
      }
    }
  }

  const DeviceModel& model;
  EngineLimits limits;
  EngineFault fault;
  RankHooks hooks;
  cudaStream_t stream = nullptr;
  Layers layers;
  DecodeGraph graph;
  std::vector<std::vector<int64_t>> tokens;  // by sequence: all that have entered
};

Engine::Engine(const DeviceModel& model, const EngineLimits& limits, EngineFault fault,
               const RankHooks& hooks)
    : state_(std::make_unique<State>(model, limits, fault, hooks)) {}
Engine::~Engine() = default;

std::vector<Prediction> Engine::prefill(std::span<const Prompt> prompts, Want want, int64_t chunk) {
  State& state = *state_;
  state.check(prompts);
  std::vector<std::vector<int64_t>> all;  // each sequence with its new tokens
  for (const Prompt& prompt : prompts) {
    all.push_back(state.tokens[static_cast<size_t>(prompt.sequence)]);
    all.back().insert(all.back().end(), prompt.tokens.begin(), prompt.tokens.end());
  }
  std::vector<Request> requests;
  int64_t predictions = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const Prompt& prompt = prompts[i];
    requests.push_back({static_cast<int32_t>(prompt.sequence), state.length(prompt.sequence),
                        all[i], prompt.outputs});
    predictions += static_cast<int64_t>(prompt.outputs.size());
  }
  const auto passes = plan_passes(requests, {state.limits.chunk, state.layers.buffers.capacity.live,
                                             chunk, state.two_streams()});
  const bool nothing = std::all_of(requests.begin(), requests.end(), [](const Request& request) {
    return request.new_tokens() == 0 && request.outputs.empty();
  });
  if (passes.empty() && !nothing) {
    throw InputError(
        "outputs", "",
        fmt::format("expected at most {} at one position", state.layers.buffers.capacity.live));
  }
  std::vector<Prediction> result(static_cast<size_t>(predictions));
  for (const std::vector<PassPart>& parts : passes) {
    const StepPlan plan = plan_step(requests, parts, state.two_streams(), state.layers.tile_rows(),
                                    state.fault == EngineFault::index_as_position);
    const Pass pass = state.send(requests, parts, plan);
    state.layers.run(pass, state.stream);
    for (const PassPart& part : parts) {
      const Request& request = requests[part.request];
      state.tokens[static_cast<size_t>(request.sequence)].assign(
          request.tokens.begin(), request.tokens.begin() + request.past + part.end);
    }
    std::vector<Prediction> here = state.receive(pass.live, want);
    for (size_t i = 0; i < here.size(); ++i) {
      result[static_cast<size_t>(plan.predictions[i])] = std::move(here[i]);
    }
  }
  return result;
}

std::vector<Prediction> Engine::decode(std::span<const NextToken> tokens, Want want,
                                       Launch launch) {
  State& state = *state_;
  if (tokens.empty()) return {};
  state.check_next(tokens, 1);
  state.steps(tokens, 1, launch == Launch::graph);
  for (const NextToken& one : tokens) {
    state.tokens[static_cast<size_t>(one.sequence)].push_back(one.token);
  }
  return state.receive(static_cast<int64_t>(tokens.size()), want);
}

std::vector<int64_t> Engine::decode_greedily(std::span<const NextToken> tokens, int64_t steps) {
  State& state = *state_;
  if (tokens.empty() || steps <= 0) return {};
  const auto count = static_cast<int64_t>(tokens.size());
  state.check_next(tokens, steps);
  const Buffers& buffers = state.layers.buffers;
  if (steps > buffers.history.size() / count) {
    throw InputError(
        "steps", "",
        fmt::format("expected at most {}, got {}", buffers.history.size() / count, steps));
  }
  state.steps(tokens, steps, true);
  std::vector<int32_t> ids(static_cast<size_t>(steps * count));
  ORTHROS_CUDA(cudaMemcpyAsync(ids.data(), buffers.history.data(), ids.size() * sizeof(int32_t),
                               cudaMemcpyDeviceToHost, state.stream));
  ORTHROS_CUDA(cudaStreamSynchronize(state.stream));
  for (int64_t r = 0; r < count; ++r) {
    auto& sequence = state.tokens[static_cast<size_t>(tokens[static_cast<size_t>(r)].sequence)];
    sequence.push_back(tokens[static_cast<size_t>(r)].token);
    for (int64_t i = 0; i + 1 < steps; ++i) {
      sequence.push_back(ids[static_cast<size_t>(i * count + r)]);
    }
  }
  return {ids.begin(), ids.end()};
}

int64_t Engine::length(int64_t sequence) const {
  state_->check_sequence(sequence);
  return state_->length(sequence);
}

void Engine::truncate(int64_t sequence, int64_t length) {
  state_->check_sequence(sequence);
  if (length < 0 || length > state_->length(sequence)) {
    throw InputError("truncate", "length",
                     fmt::format("expected 0 to {}, got {}", state_->length(sequence), length));
  }
  state_->tokens[static_cast<size_t>(sequence)].resize(static_cast<size_t>(length));
}

void Engine::reset() {
  for (auto& sequence : state_->tokens) sequence.clear();
}

std::vector<bf16_bits> Engine::keys(int64_t layer, int64_t sequence) const {
  return state_->layers.cache.keys(layer, sequence, {0, length(sequence)});
}
std::vector<bf16_bits> Engine::values(int64_t layer, int64_t sequence) const {
  return state_->layers.cache.values(layer, sequence, {0, length(sequence)});
}

void Engine::fill_randomly(int64_t length) {
  if (length < 0 || length > state_->limits.context) {
    throw InputError("length", "",
                     fmt::format("expected 0 to {}, got {}", state_->limits.context, length));
  }
  for (auto& sequence : state_->tokens) sequence.assign(static_cast<size_t>(length), 0);
  state_->layers.cache.draw(state_->stream);
  synchronise();
}

void Engine::assume(int64_t sequence, std::span<const int64_t> tokens) {
  state_->check_sequence(sequence);
  state_->tokens[static_cast<size_t>(sequence)].assign(tokens.begin(), tokens.end());
}

void Engine::append(int64_t sequence, int64_t token) {
  state_->check_sequence(sequence);
  state_->tokens[static_cast<size_t>(sequence)].push_back(token);
}

const std::vector<int64_t>& Engine::tokens(int64_t sequence) const {
  state_->check_sequence(sequence);
  return state_->tokens[static_cast<size_t>(sequence)];
}

void Engine::require(std::span<const Prompt> prompts) const {
  state_->check(prompts);
}

void Engine::require(std::span<const NextToken> tokens, int64_t steps) const {
  state_->check_next(tokens, steps);
}

void Engine::share_keys() {
  State& state = *state_;
  const auto layers = static_cast<int64_t>(spec().layers.size());
  for (int64_t i = 0; state.hooks.keys != nullptr && i < layers; ++i) {
    state.hooks.keys->share(state.layers.cache, i, state.stream);
  }
  synchronise();
}

KvStore& Engine::cache() {
  return state_->layers.cache;
}

void Engine::observe(OpObserver observer) {
  state_->layers.observer = std::move(observer);
}

void Engine::poison() {
  state_->layers.buffers.poison(spec(), state_->stream);
  for (int64_t s = 0; s < state_->limits.sequences; ++s) {
    state_->layers.cache.poison(s, length(s), state_->stream);
  }
  synchronise();
}

const ModelSpec& Engine::spec() const {
  return state_->model.spec;
}
const EngineLimits& Engine::limits() const {
  return state_->limits;
}
int64_t Engine::bytes() const {
  return state_->layers.buffers.bytes() + state_->layers.cache.bytes();
}
cudaStream_t Engine::stream() const {
  return state_->stream;
}
void Engine::synchronise() const {
  ORTHROS_CUDA(cudaStreamSynchronize(state_->stream));
}

void Engine::attend_prompts_by(PromptAttention* attention) {
  state_->layers.prompt_attention = attention;
}

}  // namespace orthros::cuda
