// orthros-sim: what Orthros and the systems beside it cost, by verb.
#include "sim/cli/verbs.hpp"

namespace {

namespace cli = orthros::cli;

constexpr cli::Verb verbs[] = {
    {"cost", "FLOPs, memory and latency of a batch, by architecture", cli::run_cost},
    {"sweep", "cost over lists and ranges, streamed as CSV", cli::run_sweep},
    {"memory", "what fits: largest batch, longest context", cli::run_memory},
    {"breakeven", "where an architecture stops paying off", cli::run_breakeven},
    {"plan", "cheapest hardware, parallelism and batch for a traffic", cli::run_plan},
    {"compare", "what a training budget buys each architecture", cli::run_compare},
    {"fit", "a profile from measured tables or from the paper's figures", cli::run_fit},
    {"roofline", "measured ops of the engine beside their floors", cli::run_roofline},
    {"serve", "a server under traffic: latency, throughput, memory", cli::run_serve},
    {"validate", "predictions beside reported and measured figures", cli::run_validate},
};

constexpr const char* examples = R"(examples
  orthros-sim cost --model qwen3-8b --arch transformer,orthros --input 128K --output 128 --batch 2
  orthros-sim validate
)";

}  // namespace

int main(int argc, char** argv) {
  return cli::run_program(
      {"orthros-sim", "The simulator of Orthros: what the model costs.", verbs, examples}, argc,
      argv);
}
