// Bounds on what is loaded.
#include "reference/cli/loaded_model.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "reference/spec/input_error.hpp"

namespace orthros::cli {

void require_memory(const ModelSpec& spec, int64_t scalar_bytes) {
  const double numbers =
      static_cast<double>(parameter_count(spec)) +
      (spec.tied_embeddings ? static_cast<double>(spec.vocab) * static_cast<double>(spec.hidden)
                            : 0.0);
  const double needed = numbers * static_cast<double>(scalar_bytes);
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed <= memory) return;
  throw InputError("--scalar", "",
                   fmt::format("expected weights that fit {:.1f} GB of memory, got {:.1f} GB; "
                               "float takes half of double, bf16 and hopper a quarter",
                               memory / 1e9, needed / 1e9));
}

int64_t layer_rows(const ModelSpec& spec, int64_t tokens, int64_t outputs) {
  const auto layers = static_cast<int64_t>(spec.layers.size());
  const int64_t copies = spec.streams == Streams::dual ? outputs : 0;
  return spec.self_layers() * (tokens + copies) + (layers - spec.self_layers()) * outputs;
}

}  // namespace orthros::cli
