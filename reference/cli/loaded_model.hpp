// The weights of a ModelInput read into a Model of the scalar asked for.
#pragma once

#include <functional>
#include <string>

#include "reference/cli/compute_options.hpp"
#include "reference/cli/model_options.hpp"
#include "reference/cli_support/progress.hpp"
#include "reference/hopper/forward.hpp"
#include "reference/model/load_model.hpp"

namespace orthros::cli {

// Throws InputError where the weights alone, at `scalar_bytes` each, exceed the machine's memory.
void require_memory(const ModelSpec& spec, int64_t scalar_bytes);

// Rows that pass through layers when `tokens` are appended and `outputs` predicted, summed over
// layers: what progress counts.
int64_t layer_rows(const ModelSpec& spec, int64_t tokens, int64_t outputs);

// A source that tells how much of it has been read.
class WatchedWeights : public WeightSource {
 public:
  WatchedWeights(const WeightSource& source, const ModelSpec& spec)
      : source_(source), progress_("reading weights", parameter_count(spec)) {}
  void read(const TensorInfo& tensor, int64_t first, std::span<double> out) const override {
    source_.read(tensor, first, out);
    progress_.add(static_cast<int64_t>(out.size()));
  }
  bool has(const std::string& name) const override { return source_.has(name); }

 private:
  const WeightSource& source_;
  mutable Progress progress_;
};

template <class S>
Model<S> load_input(const ModelInput& input) {
  require_memory(input.spec, static_cast<int64_t>(sizeof(S)));
  return load_model<S>(input.spec, WatchedWeights(*input.weights, input.spec));
}

// body(model) with the model in the scalar asked for. Throws InputError for a model that the scalar
// does not run.
template <class Body>
auto with_model(const ModelInput& input, const ComputeOptions& compute, const Body& body) {
  if (compute.scalar == "float") return body(load_input<float>(input));
  if (compute.scalar == "bf16") return body(load_input<bfloat16>(input));
  if (compute.scalar == "hopper") {
    Operations<Hopper>::check(input.spec);
    return body(load_input<Hopper>(input));
  }
  return body(load_input<double>(input));
}

// Forward's options, `progress` hearing of each layer's rows.
template <class S>
ForwardOptions<S> forward_options(const ComputeOptions& compute, Progress& progress) {
  ForwardOptions<S> options;
  options.form = compute.form;
  options.chunk = compute.recurrent_chunk;
  options.observer = [&progress](std::string_view name, int64_t, const Matrix<S>& rows) {
    if (name == "residual") progress.add(rows.rows());
  };
  return options;
}

}  // namespace orthros::cli
