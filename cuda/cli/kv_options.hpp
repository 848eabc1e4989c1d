// The options that say what a cache's entries are.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/engine/runner.hpp"
#include "reference/cli_support/options.hpp"

namespace orthros::cuda {

// Adds --kv and, where a verb has prompts of its own, --kv-calibration.
void add_kv_options(cli::po::options_description& options, bool calibration);

KvFormat kv_format(const cli::po::variables_map& given);
// "bf16" or "fp8", as --kv has it.
const char* format_name(KvFormat format);

struct KvRequest {
  KvFormat format = KvFormat::bf16;
  std::vector<int64_t> calibration;  // token ids; none: every scale is 1
};
// Throws InputError, where a calibration is given without --kv fp8 too.
KvRequest read_kv_request(const cli::po::variables_map& given, const ModelSpec& spec);

}  // namespace orthros::cuda
