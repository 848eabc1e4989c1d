// orthros-cuda run: logits, keys and values of token sequences.
#include <algorithm>

#include "cuda/cli/device_info.hpp"
#include "cuda/cli/device_input.hpp"
#include "cuda/cli/device_runner.hpp"
#include "cuda/cli/documents.hpp"
#include "cuda/cli/kv_options.hpp"
#include "cuda/cli/verbs.hpp"
#include "cuda/group/world.hpp"
#include "reference/cli/run_report.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

namespace po = cli::po;

constexpr const char* usage =
    "orthros-cuda run (--model DIR | --random SPEC --seed N) --tokens 5,7,9|@FILE [options]";

constexpr const char* notes = R"(examples
  orthros-cuda run --model DIR --tokens 5,7,9
  orthros-cuda run --random qwen3-8b --arch orthros --seed 1 --tokens @prompt.txt --chunk 512 --json
  orthros-cuda run --model DIR --tokens 5,7,9 --tokens 3,1 --outputs all --dump out.safetensors
  orthros-cuda run --model DIR --tokens @book.txt --gpus 2

Options, --json and --dump as of 'orthros-ref run', whose --scalar hopper gives the same numbers bit
for bit. Weights are bf16 and so are caches unless --kv fp8 is given; dumped keys and values are then
the entries times their scales. Random weights are drawn on the device. The documents of a packed
sequence run as sequences of their own.
)";

// Tokens in one pass through the layers, at most; fewer where many predict, since each has a row of
// logits.
constexpr int64_t pass_tokens = 8192;
constexpr int64_t pass_tokens_of_many_outputs = 1024;

EngineLimits limits_for(const std::vector<Document>& documents, int64_t chunk) {
  EngineLimits limits;
  limits.sequences = static_cast<int64_t>(documents.size());
  limits.context = 0;
  int64_t tokens = 0;
  int64_t outputs = 0;
  for (const Document& document : documents) {
    const auto length = static_cast<int64_t>(document.tokens.size());
    limits.context = std::max(limits.context, length);
    tokens += length;
    outputs += static_cast<int64_t>(document.outputs.size());
  }
  int64_t most = outputs > pass_tokens_of_many_outputs ? pass_tokens_of_many_outputs : pass_tokens;
  if (chunk > 0 && chunk < most) most = std::min(most, chunk * limits.sequences);
  limits.chunk = std::clamp(tokens, limits.sequences, std::max(limits.sequences, most));
  // The most that a pass may have to predict: the outputs of any `chunk` positions in a row, which
  // may be asked for repeatedly.
  limits.outputs = limits.sequences;
  std::vector<int64_t> asked;  // outputs at each position, documents one behind the other
  for (const Document& document : documents) {
    const size_t first = asked.size();
    asked.resize(first + document.tokens.size(), 0);
    for (const int64_t position : document.outputs)
      ++asked[first + static_cast<size_t>(position - 1)];
  }
  std::sort(asked.begin(), asked.end(), std::greater<>());
  int64_t most_asked = 0;
  for (size_t i = 0; i < asked.size() && i < static_cast<size_t>(limits.chunk); ++i) {
    most_asked += asked[i];
  }
  limits.outputs = std::max(limits.outputs, most_asked);
  return limits;
}

Matrix<double> cached(const Runner& engine, const std::vector<Document>& documents, size_t sequence,
                      int64_t layer, bool keys) {
  std::vector<bf16_bits> bits;
  for (size_t d = 0; d < documents.size(); ++d) {
    if (documents[d].sequence != sequence) continue;
    const auto slot = static_cast<int64_t>(d);
    const auto part = keys ? engine.keys(layer, slot) : engine.values(layer, slot);
    bits.insert(bits.end(), part.begin(), part.end());
  }
  const auto& mixer = std::get<SoftmaxAttention>(engine.spec().layers.front().mixer);
  const int64_t width = mixer.kv_width();
  Matrix<double> matrix(static_cast<int64_t>(bits.size()) / width, width);
  std::transform(bits.begin(), bits.end(), matrix.data(),
                 [](bf16_bits b) { return static_cast<double>(hopper::widen_bf16(b)); });
  return matrix;
}

void add_dump(const Runner& engine, const std::vector<Document>& documents, size_t sequence,
              const std::string& prefix, std::vector<cli::NamedTensor>& dump) {
  for (size_t i = 0; i < engine.spec().layers.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    const std::string name = std::to_string(i);
    dump.push_back(cli::named_tensor(prefix + "keys." + name,
                                     cached(engine, documents, sequence, layer, true)));
    dump.push_back(cli::named_tensor(prefix + "values." + name,
                                     cached(engine, documents, sequence, layer, false)));
  }
}

cli::RunResult run_engine(Runner& engine, const std::vector<cli::SequenceInput>& sequences,
                          const std::vector<Document>& documents, const cli::RunRequest& request) {
  std::vector<Prompt> prompts;
  for (const Document& document : documents) {
    prompts.push_back({static_cast<int64_t>(prompts.size()), document.tokens, document.outputs});
  }
  const std::vector<Prediction> predictions = engine.prefill(prompts, Want::logits, request.chunk);
  cli::RunResult result;
  for (const cli::SequenceInput& sequence : sequences) {
    result.logits.emplace_back(static_cast<int64_t>(sequence.outputs.size()), engine.spec().vocab);
  }
  size_t next = 0;
  for (const Document& document : documents) {
    for (const size_t row : document.rows) {
      const std::vector<float>& logits = predictions.at(next++).logits;
      std::copy(logits.begin(), logits.end(),
                &result.logits[document.sequence](static_cast<int64_t>(row), 0));
    }
  }
  for (size_t s = 0; request.dump && s < sequences.size(); ++s) {
    const std::string prefix = cli::dump_prefix(s, sequences.size());
    result.dump.push_back(cli::named_tensor(prefix + "logits", result.logits[s]));
    add_dump(engine, documents, s, prefix, result.dump);
  }
  return result;
}

}  // namespace

int run_run(const cli::Arguments& arguments) {
  po::options_description options("options");
  cli::add_model_options(options);
  cli::add_sequence_options(options);
  cli::add_run_options(options);
  add_kv_options(options, true);
  add_gpu_options(options);
  const auto given = cli::parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  cli::RunRequest request = cli::read_run_request(*given);
  const cli::ModelInput input = cli::open_model(*given);
  const std::vector<cli::SequenceInput> sequences = cli::read_sequences(*given, input.spec);
  const KvRequest kv = read_kv_request(*given, input.spec);
  require_runnable(input.spec);
  for (const cli::SequenceInput& sequence : sequences) {
    cli::warn_past_max_positions("orthros-cuda", input.spec,
                                 static_cast<int64_t>(sequence.tokens.size()));
  }
  require_device();
  const std::vector<Document> documents = documents_of(sequences);
  EngineLimits limits = limits_for(documents, request.chunk);
  limits.kv = kv.format;
  const DeviceRunner engine(input, limits, read_gpu_request(*given), {}, kv.calibration);
  const cli::RunResult result = run_engine(*engine, sequences, documents, request);
  if (world().rank > 0) request.dump.reset();  // all have the same, one writes it
  cli::report_run(input, engine_compute(limits.kv), request, sequences, result);
  return 0;
}

}  // namespace orthros::cuda
