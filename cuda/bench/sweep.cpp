// Measures and records a sweep.
#include "cuda/bench/sweep.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cuda/bench/measure.hpp"
#include "cuda/bench/timing.hpp"
#include "cuda/cli/device_input.hpp"
#include "reference/cli/model_options.hpp"
#include "reference/spec/output_file.hpp"

namespace orthros::cuda {
namespace {

// Prefills are repeated until they have kept the device busy this long, so that clocks are those of
// sustained work, and answers as well; a longer one runs once.
constexpr double least_seconds = 0.6;
constexpr int64_t sampled_steps = 8;

std::string seconds_text(double seconds) {
  return seconds > 0.0 ? fmt::format("{:.6g}", seconds) : "";
}

class Recorder {
 public:
  Recorder(const Sweep& sweep, const DeviceInfo& device, const cli::Arguments& flags,
           std::filesystem::path out)
      : out_(std::move(out)),
        facts_{{"gpu", device.gpu},        {"driver", device.driver}, {"cuda", device.cuda},
               {"commit", build_commit()}, {"loads", sweep.source},   {"flags", flags}},
        runs_(
            "arch,input,output,batch,chunk,use,method,repeats,ttft_s,decode_step_s,"
            "end_to_end_s\n"),
        ops_("arch,input,batch,chunk,use,stage,op,launches,seconds\n"),
        chunk_(sweep.chunk) {}

  void run(const std::string& arch, const SweepLoad& load, int64_t output, const char* method,
           const Measured& m) {
    add(runs_, fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", arch, load.input, output,
                           load.batch, chunk_, load.use, method, m.repeats, seconds_text(m.ttft),
                           seconds_text(m.decode_step), seconds_text(m.end_to_end)));
  }
  void ops(const std::string& arch, const SweepLoad& load, const char* stage,
           const std::vector<OpTime>& times) {
    for (const OpTime& time : times) {
      add(ops_, fmt::format("{},{},{},{},{},{},{},{},{}\n", arch, load.input, load.batch, chunk_,
                            load.use, stage, time.name, time.launches, seconds_text(time.seconds)));
    }
  }
  void finish_engine(const SweepEngine& engine, int64_t bytes) {
    const Clocks clocks = read_clocks();
    const auto or_null = [](const std::optional<double>& value) {
      return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
    };
    facts_["engines"].push_back({{"arch", engine.arch},
                                 {"sequences", engine.sequences},
                                 {"context", engine.context},
                                 {"engine_bytes", bytes},
                                 {"sm_mhz", or_null(clocks.sm_mhz)},
                                 {"power_w", or_null(clocks.power_w)}});
    write_text_file(out_.string() + "-runs.csv", runs_);
    write_text_file(out_.string() + "-ops.csv", ops_);
    write_text_file(out_.string() + "-sweep.json", facts_.dump(2) + "\n");
  }

 private:
  static void add(std::string& table, const std::string& row) {
    table += row;
    fmt::print(stderr, "{}", row);
  }

  std::filesystem::path out_;
  nlohmann::ordered_json facts_;
  std::string runs_;
  std::string ops_;
  int64_t chunk_;
};

// What the answers of one load took, by length.
struct Answers {
  std::vector<double> ttft;
  std::vector<std::vector<double>> decoding;  // of each output, repeats
};

Answers run_whole(Runner& engine, const SweepLoad& load, const Load& bench) {
  Answers answers;
  answers.decoding.resize(load.outputs.size());
  warm_up(engine, bench);
  const std::vector<Prompt> prompts = random_prompts(engine.spec(), bench);
  double prefilling = 0.0;
  double decoding = 0.0;
  constexpr size_t most_repeats = 24;
  while (prefilling < least_seconds && answers.ttft.size() < most_repeats) {
    engine.reset();
    std::vector<Prediction> predictions;
    answers.ttft.push_back(
        seconds_of([&] { predictions = engine.prefill(prompts); }, engine.stream()));
    prefilling += answers.ttft.back();
    if (decoding > least_seconds) continue;
    const std::vector<NextToken> next = next_tokens(predictions);
    for (size_t i = 0; i < load.outputs.size(); ++i) {
      const int64_t steps = load.outputs[i] - 1;
      if (steps == 0) continue;
      answers.decoding[i].push_back(
          seconds_of([&] { engine.decode_greedily(next, steps); }, engine.stream()));
      decoding += answers.decoding[i].back();
      for (int64_t s = 0; s < load.batch; ++s) engine.truncate(s, load.input);
    }
  }
  return answers;
}

// Mean of the answer's steps by Simpson's rule over the keys that its first, middle and last see.
double sampled_step(Runner& engine, const SweepLoad& load, int64_t output) {
  const int64_t first = load.input + sampled_steps;
  const int64_t last = load.input + output - 1;
  const auto at = [&](int64_t keys) {
    return decode_step_seconds(engine, load.batch, keys, sampled_steps);
  };
  return (at(first) + 4.0 * at(first + (last - first) / 2) + at(last)) / 6.0;
}

void measure_load(Runner& engine, const std::string& arch, const SweepLoad& load,
                  Recorder& recorder) {
  Load bench;
  bench.batch = load.batch;
  bench.input = load.input;
  bench.output = 2;  // a warm-up's and the timed ops' decode step
  bench.chunk = engine.limits().chunk;
  Measured m;
  if (load.prefills) {
    const Answers answers = run_whole(engine, load, bench);
    m.ttft = median(answers.ttft);
    for (size_t i = 0; i < load.outputs.size(); ++i) {
      const std::vector<double>& times = answers.decoding[i];
      Measured whole = m;
      whole.repeats = static_cast<int>(times.empty() ? answers.ttft.size() : times.size());
      const double decoding = times.empty() ? 0.0 : median(times);
      if (!times.empty()) {
        whole.decode_step = decoding / static_cast<double>(load.outputs[i] - 1);
      }
      whole.end_to_end = m.ttft + decoding;
      recorder.run(arch, load, load.outputs[i], "run", whole);
    }
    m.repeats = static_cast<int>(answers.ttft.size());
  }
  for (const int64_t output : load.sampled) {
    Measured whole = m;
    whole.decode_step = sampled_step(engine, load, output);
    if (load.prefills) {
      whole.end_to_end = m.ttft + static_cast<double>(output - 1) * whole.decode_step;
    }
    recorder.run(arch, load, output, load.prefills ? "sampled" : "decode", whole);
  }
  if (load.ops) {
    const OpTimes times = time_ops(engine, bench);
    recorder.ops(arch, load, "prefill", times.prefill);
    recorder.ops(arch, load, "decode", times.decode);
  }
}

// The options with this architecture in place of any that they name.
cli::po::variables_map in_architecture(cli::po::variables_map given, const std::string& arch) {
  given.insert_or_assign("arch", cli::po::variable_value(boost::any(arch), false));
  return given;
}

}  // namespace

void run_sweep(const cli::po::variables_map& given, const Sweep& sweep, const DeviceInfo& device,
               const cli::Arguments& flags, const std::filesystem::path& out) {
  Recorder recorder(sweep, device, flags, out);
  std::string arch;
  std::unique_ptr<DeviceModel> model;
  for (const SweepEngine& wanted : sweep.engines) {
    if (model == nullptr || wanted.arch != arch) {
      model.reset();
      arch = wanted.arch;
      model = std::make_unique<DeviceModel>(
          load_on_device(cli::open_model(in_architecture(given, arch))));
    }
    EngineLimits limits;
    limits.sequences = wanted.sequences;
    limits.context = wanted.context;
    limits.chunk = sweep.chunk;
    limits.outputs = wanted.sequences;
    Engine engine(*model, limits);
    for (const SweepLoad& load : wanted.loads) measure_load(engine, arch, load, recorder);
    recorder.finish_engine(wanted, engine.bytes());
  }
}

}  // namespace orthros::cuda
