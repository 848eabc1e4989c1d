// orthros-ref run: logits, keys and values of token sequences.
#include "reference/cli/loaded_model.hpp"
#include "reference/cli/run_report.hpp"
#include "reference/cli/verbs.hpp"
#include "reference/model/forward_chunked.hpp"
#include "reference/model/shards.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage =
    "orthros-ref run (--model DIR | --random SPEC --seed N) --tokens 5,7,9|@FILE [options]";

constexpr const char* notes = R"(examples
  orthros-ref run --model DIR --tokens 5,7,9
  orthros-ref run --model DIR --arch orthros-noso --window 128 --tokens @prompt.txt --chunk 512
  orthros-ref run --random qwen3-8b.json --seed 1 --tokens 1,2,3,4 --documents 0,0,1,1 --json
  orthros-ref run --model DIR --tokens 5,7,9 --tokens 3,1 --outputs all --dump out.safetensors
  orthros-ref run --model DIR --arch orthros --tokens @prompt.txt --shards 4 --scalar hopper --json

--shards N: what sequence parallelism computes. Each of N parts of a prompt, cut at multiples of 512
tokens, runs alone, with the tokens before it that its windows reach through all layers run again;
no result changes.

--json: {model, arch, window, scalar, seed, tokens, outputs, logits}, logits a row for each output;
with several --tokens, "sequences": a list of {tokens, outputs, logits} in their place.
--dump: a safetensors file, all F64, N the layer from 0:
  logits             outputs x vocab
  keys.N, values.N   T x Hkv d, keys after RoPE; yoco's one pair: keys.shared, values.shared
  states.N           Hv x K x V, of a recurrent layer after the last token
  conv_inputs.N      (taps - 1) x channels, what its convolution still needs, oldest first
With several --tokens each name begins with sequence.I., I from 0 in the order given.
)";

// Each sequence in shards, one after another.
template <class S>
std::vector<Logits<S>> run_shards(const Model<S>& model, std::vector<Cache<S>>& caches,
                                  const std::vector<SequenceInput>& inputs, int64_t shards,
                                  int64_t chunk, const ForwardOptions<S>& options) {
  std::vector<Logits<S>> logits;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].documents.empty()) {
      throw InputError("--shards", "", "expected no --documents beside it");
    }
    const auto plan = plan_shards(model.spec, std::ssize(inputs[i].tokens), shards);
    logits.push_back(prefill_shards<S>(model, caches[i], inputs[i].tokens, inputs[i].outputs, plan,
                                       chunk, options));
  }
  return logits;
}

template <class S>
RunResult run_model(const Model<S>& model, const std::vector<SequenceInput>& inputs, int64_t chunk,
                    int64_t shards, const ComputeOptions& compute, bool dump) {
  std::vector<Cache<S>> caches(inputs.size(), Cache<S>(model.spec));
  std::vector<Sequence<S>> batch;
  int64_t work = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SequenceInput& input = inputs[i];
    batch.push_back({&caches[i], input.tokens, input.outputs, input.documents});
    work += layer_rows(model.spec, static_cast<int64_t>(input.tokens.size()),
                       static_cast<int64_t>(input.outputs.size()));
  }
  Progress progress("running layers", work);
  const ForwardOptions<S> options = forward_options<S>(compute, progress);
  const std::vector<Logits<S>> logits =
      shards > 1 ? run_shards<S>(model, caches, inputs, shards, chunk, options)
                 : forward_chunked<S>(model, std::span<const Sequence<S>>(batch), chunk, options);
  RunResult result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    result.logits.push_back(logits[i].template cast<double>());
    if (!dump) continue;
    const std::string prefix = dump_prefix(i, inputs.size());
    result.dump.push_back(named_tensor(prefix + "logits", result.logits.back()));
    add_cache(model.spec, caches[i], prefix, result.dump);
  }
  return result;
}

}  // namespace

int run_run(const Arguments& arguments) {
  po::options_description options("options");
  add_model_options(options);
  add_sequence_options(options);
  add_compute_options(options);
  add_run_options(options);
  options.add_options()("shards", po::value<std::string>()->value_name("N")->default_value("1"),
                        "parts of a prompt that run apart; changes no result");
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const ComputeOptions compute = read_compute_options(*given);
  const RunRequest request = read_run_request(*given);
  const int64_t shards = size_option(*given, "shards", 1);
  const ModelInput input = open_model(*given);
  const std::vector<SequenceInput> sequences = read_sequences(*given, input.spec);
  for (const SequenceInput& sequence : sequences) {
    warn_past_max_positions("orthros-ref", input.spec,
                            static_cast<int64_t>(sequence.tokens.size()));
  }
  const RunResult result = with_model(input, compute, [&]<class S>(const Model<S>& model) {
    return run_model(model, sequences, request.chunk, shards, compute, request.dump.has_value());
  });
  report_run(input, compute, request, sequences, result);
  return 0;
}

}  // namespace orthros::cli
