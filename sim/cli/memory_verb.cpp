// orthros-sim memory: what a deployment holds, the largest batch and the longest context.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reference/spec/config.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/cli/verbs.hpp"
#include "sim/cost.hpp"
#include "sim/hardware.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage = "orthros-sim memory --model MODEL --arch A,B --context N [options]";

constexpr const char* notes =
    R"(Bytes of one GPU of the group. KV: resident in two-stream models, at most w tokens in windowed
layers of one stream, one state per head in linear layers; KV heads fewer than ranks are replicated.
Activations: the widest intermediate of a layer at --prefill-chunk rows, and fp32 logits of --batch
rows. --workspace is left free for the engine.
)";

}  // namespace

int run_memory(const Arguments& arguments) {
  po::options_description options("options");
  add_model_options(options);
  const auto text = [](const char* value) {
    return po::value<std::string>()->default_value(value);
  };
  options.add_options()("hardware", text("h100-sxm"), "a preset of scenarios/hardware/ or a file")(
      "tensor-parallel", text("1"), "GPUs that split heads and FFN")("sequence-parallel", text("1"),
                                                                     "GPUs that split positions")(
      "left-context", text("recompute"), left_context_help)("weights", text("bf16"), "bf16 or fp8")(
      "kv", text("bf16"), "bf16 or fp8")("context", text("128K"), "tokens of a sequence")(
      "batch", text("1"), "sequences")("prefill-chunk", text("8K"), "rows of a step")(
      "workspace", text("1G"), "bytes kept free");
  add_format_options(options);
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const Format format = format_of(*given);
  const ModelSpec spec = load_model_spec(text_option(*given, "model"));
  const Hardware hardware = load_hardware(text_option(*given, "hardware"));
  const Deployment to = deployment_of(*given);
  const int64_t context = size_option(*given, "context", 1);
  const int64_t batch = size_option(*given, "batch", 1);
  check_request({context, 0, batch});
  const int64_t chunk = size_option(*given, "prefill-chunk", 1);
  const int64_t workspace = size_option(*given, "workspace", 0);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  TextTable table({"arch", "weights", "KV", "state", "activations", "total", "fits",
                   "largest batch", "longest context"});
  for (const ArchitectureModel& a : architectures_of(*given, spec)) {
    const CountModel model = count_model(a.spec);
    const Memory memory = memory_of(model, to, batch, context);
    const int64_t activations = activation_bytes(model, to, chunk, batch);
    const int64_t reserved = checked_sum(activations, workspace, "workspace");
    const int64_t total = checked_sum(memory.total, reserved, "memory");
    const int64_t most = largest_batch(model, to, context, hardware.memory_bytes, reserved);
    const int64_t longest = largest_context(model, to, batch, hardware.memory_bytes, reserved);
    const bool fits = total <= hardware.memory_bytes;
    list.push_back({{"model", model_name(*given, spec)},
                    {"arch", a.name},
                    {"hardware", hardware.name},
                    {"gpus", to.gpus()},
                    {"context", context},
                    {"batch", batch},
                    {"weights_bytes", memory.weights},
                    {"kv_bytes_per_token", memory.kv_per_token},
                    {"kv_bytes", memory.kv},
                    {"state_bytes", memory.state},
                    {"activation_bytes", activations},
                    {"workspace_bytes", workspace},
                    {"total_bytes", total},
                    {"fits", fits},
                    {"largest_batch", most},
                    {"longest_context", longest}});
    const auto bytes = [](int64_t value) { return bytes_text(static_cast<double>(value)); };
    // A state does not grow: only the count of tokens bounds its context.
    table.add({a.name, bytes(memory.weights), bytes(memory.kv), bytes(memory.state),
               bytes(activations), bytes(total), fits ? "yes" : "NO", std::to_string(most),
               longest == longest_sequence ? "no limit" : std::to_string(longest)});
  }
  if (format == Format::json) {
    fmt::print("{}\n", list.dump(2));
  } else if (format == Format::csv) {
    fmt::print("{}", table.csv());
  } else {
    fmt::print("{} at {} tokens, batch {}, on each of {} {}\n\n{}", model_name(*given, spec),
               context, batch, to.gpus(), hardware.description, table.text());
  }
  return 0;
}

}  // namespace orthros::cli
