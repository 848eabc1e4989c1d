// orthros-cuda: the model on a Hopper GPU, by verb.
#include <cstdio>
#include <exception>

#include "cuda/cli/verbs.hpp"
#include "cuda/group/world.hpp"

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
  try {
    // All processes of a world say and do the same; one of them is heard.
    if (cuda::join_world().rank > 0 && std::freopen("/dev/null", "w", stdout) == nullptr) return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orthros-cuda: %s\n", error.what());
    return 2;
  }
  const int status =
      cli::run_program({"orthros-cuda", "Orthros on Hopper GPUs.", verbs, examples}, argc, argv);
  cuda::leave_world(status);
  return status;
}
