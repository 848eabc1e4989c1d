// orthros-cuda: the model on a Hopper GPU, by verb.
#include "cuda/cli/verbs.hpp"

namespace {

namespace cli = orthros::cli;
namespace cuda = orthros::cuda;

constexpr cli::Verb verbs[] = {
    {"run", "logits, keys and values of token sequences", cuda::run_run},
    {"generate", "greedy continuation of prompts", cuda::run_generate},
    {"check", "the engine against the reference, bit for bit", cuda::run_check},
    {"bench", "how long prefill, decode steps and each operation take", cuda::run_bench},
};

constexpr const char* examples = R"(examples
  orthros-cuda check --suite quick
  orthros-cuda run --random qwen3-8b --arch orthros --seed 1 --tokens 5,7,9 --json
  orthros-cuda generate --model DIR --tokens 5,7,9 --max-tokens 20
)";

}  // namespace

int main(int argc, char** argv) {
  return cli::run_program({"orthros-cuda", "Orthros on one Hopper GPU.", verbs, examples}, argc,
                          argv);
}
