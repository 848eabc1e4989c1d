// Instantiates the reference for the tracing scalar, faults included.
#include "tests/proofs/traced_forward.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "reference/model/forward.hpp"
#include "reference/model/load_model.hpp"
#include "reference/model/tracing.hpp"

namespace orthros {
namespace {

void unite(Dependencies& all, const Tracing& value) {
  all.base |= value.dependencies().base;
  all.output |= value.dependencies().output;
}

template <class Derived>
Dependencies dependencies_of(const Eigen::MatrixBase<Derived>& values) {
  Dependencies all;
  for (int64_t i = 0; i < values.rows(); ++i) {
    for (int64_t j = 0; j < values.cols(); ++j) unite(all, values(i, j));
  }
  return all;
}

std::string set_text(const Dependencies& set) {
  std::string text;
  for (int leaf = 0; leaf < 64; ++leaf) {
    if (set.base >> leaf & 1) text += fmt::format(" b{}", leaf + 1);
  }
  for (int leaf = 0; leaf < 64; ++leaf) {
    if (set.output >> leaf & 1) text += fmt::format(" o{}", leaf + 1);
  }
  return text;
}

// A cache entry is its key and its value; both must depend on the same.
std::string kv_line(size_t layer, const KvCache<Tracing>& kv, int64_t entry) {
  const Dependencies keys = dependencies_of(kv.keys.row(entry));
  const Dependencies values = dependencies_of(kv.values.row(entry));
  if (!(keys == values)) {
    return fmt::format("cache {} {} : keys{} but values{}", layer, entry + 1, set_text(keys),
                       set_text(values));
  }
  return fmt::format("cache {} {} :{}", layer, entry + 1, set_text(keys));
}

void state_lines(size_t layer, const RecurrentState<Tracing>& recurrent, int64_t position,
                 std::vector<std::string>& lines) {
  lines.push_back(
      fmt::format("state {} {} :{}", layer, position, set_text(dependencies_of(recurrent.state))));
  if (recurrent.conv_inputs.rows() > 0) {
    lines.push_back(fmt::format("conv {} {} :{}", layer, position,
                                set_text(dependencies_of(recurrent.conv_inputs))));
  }
}

template <Fault F>
std::vector<std::string> run(const TraceCase& shape) {
  const auto model = load_model<Tracing>(shape.spec, RandomWeights(1, shape.spec.norm));
  Cache<Tracing> cache(shape.spec);
  std::vector<std::string> lines;
  int64_t before = 0;
  for (const int64_t size : shape.chunks) {
    const std::vector<int64_t> tokens(static_cast<size_t>(size), 0);
    std::vector<int64_t> asked;
    for (const int64_t position : shape.outputs) {
      if (position > before && position <= before + size) asked.push_back(position);
    }
    const auto logits = forward<Tracing, F>(model, cache, tokens, asked);
    before += size;
    for (size_t i = 0; i < asked.size(); ++i) {
      lines.push_back(fmt::format("logit {} :{}", asked[i],
                                  set_text(dependencies_of(logits.row(static_cast<int64_t>(i))))));
    }
    for (size_t l = 0; l < cache.layers.size(); ++l) {
      if (const auto* state = std::get_if<RecurrentState<Tracing>>(&cache.layers[l])) {
        state_lines(l, *state, before, lines);
      }
    }
  }
  for (size_t l = 0; l < cache.layers.size(); ++l) {
    const auto* kv = std::get_if<KvCache<Tracing>>(&cache.layers[l]);
    for (int64_t entry = 0; kv != nullptr && entry < before; ++entry) {
      lines.push_back(kv_line(l, *kv, entry));
    }
  }
  return lines;
}

}  // namespace

int64_t TraceCase::tokens() const {
  return std::accumulate(chunks.begin(), chunks.end(), int64_t{0});
}

std::string oracle_request(const TraceCase& shape) {
  std::vector<std::string> layers;
  for (const Layer& layer : shape.spec.layers) {
    if (const auto* linear = std::get_if<LinearMixer>(&layer.mixer)) {
      layers.push_back(fmt::format("linear:{}", std::max<int64_t>(linear->conv_width, 1)));
    } else {
      const auto& window = std::get<SoftmaxAttention>(layer.mixer).window;
      layers.push_back(window ? fmt::format("window:{}", *window) : "full");
    }
  }
  return fmt::format("case arch={} layers={} tokens={} chunks={} outputs={}",
                     shape.spec.streams == Streams::dual ? "dual" : "single",
                     fmt::join(layers, ","), shape.tokens(), fmt::join(shape.chunks, ","),
                     fmt::join(shape.outputs, ","));
}

std::vector<std::string> traced_lines(const TraceCase& shape, Fault fault) {
  switch (fault) {
    case Fault::none:
      return run<Fault::none>(shape);
    case Fault::window_off_by_one:
      return run<Fault::window_off_by_one>(shape);
    case Fault::copy_writes_cache:
      return run<Fault::copy_writes_cache>(shape);
    case Fault::index_as_position:
      return run<Fault::index_as_position>(shape);
    case Fault::output_reads_window:
      return run<Fault::output_reads_window>(shape);
    case Fault::scale_offset_swapped:
      return run<Fault::scale_offset_swapped>(shape);
  }
  throw std::logic_error("no such fault");
}

}  // namespace orthros
