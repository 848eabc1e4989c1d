// orthros-ref: the reference on the command line, by verb.
#include "reference/cli/verbs.hpp"

namespace {

namespace cli = orthros::cli;

constexpr cli::Verb verbs[] = {
    {"describe", "layers, sizes and tensors of a model", cli::run_describe},
    {"run", "logits, keys and values of token sequences", cli::run_run},
    {"generate", "greedy continuation of a prompt", cli::run_generate},
    {"loss", "cross-entropy of a sequence, as in pretraining or fine-tuning", cli::run_loss},
    {"convert", "a checkpoint of another architecture with the same weights", cli::run_convert},
    {"golden", "a random checkpoint with every intermediate, to test kernels", cli::run_golden},
};

constexpr const char* examples = R"(examples
  orthros-ref describe --model qwen3-8b --arch orthros
  orthros-ref run --model DIR --tokens 5,7,9 --outputs all --json
  orthros-ref convert --model DIR --arch orthros --window 128 --out DIR2
)";

}  // namespace

int main(int argc, char** argv) {
  return cli::run_program(
      {"orthros-ref", "The reference of Orthros: what the model is, in double.", verbs, examples},
      argc, argv);
}
