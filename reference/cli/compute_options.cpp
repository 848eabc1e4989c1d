// Reads how to compute.
#include "reference/cli/compute_options.hpp"

#include <fmt/format.h>
#include <omp.h>

#include "reference/spec/input_error.hpp"

namespace orthros::cli {

void add_compute_options(po::options_description& options) {
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("scalar", text()->default_value("double"),
                        "double, float, bf16 (which rounds where the engine rounds) or hopper (the "
                        "engine's arithmetic, "
                        "bit for bit)")("threads", text()->value_name("N"),
                                        "default: all processors; changes no result")(
      "form", text()->default_value("recurrent"), "of recurrent layers: recurrent or chunkwise")(
      "recurrent-chunk", text()->value_name("N")->default_value("64"),
      "tokens in a chunk of the chunkwise form");
}

ComputeOptions read_compute_options(const po::variables_map& given) {
  ComputeOptions compute;
  compute.scalar = choice_option(given, "scalar", {"double", "float", "bf16", "hopper"});
  if (choice_option(given, "form", {"recurrent", "chunkwise"}) == "chunkwise") {
    compute.form = RecurrentForm::chunkwise;
  }
  compute.recurrent_chunk = size_option(given, "recurrent-chunk", 1);
  if (const auto threads = optional_size(given, "threads", 1)) {
    constexpr int64_t most = 1024;
    if (*threads > most) {
      throw InputError("--threads", "", fmt::format("expected 1 to {}, got {}", most, *threads));
    }
    omp_set_num_threads(static_cast<int>(*threads));
  }
  return compute;
}

}  // namespace orthros::cli
