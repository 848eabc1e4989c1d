// The options that say what a cache's entries are.
#pragma once

#include "cuda/engine/device_model.hpp"
#include "cuda/engine/engine.hpp"
#include "reference/cli_support/options.hpp"

namespace orthros::cuda {

// Adds --kv and, where a verb has prompts of its own, --kv-calibration.
void add_kv_options(cli::po::options_description& options, bool calibration);

KvFormat kv_format(const cli::po::variables_map& given);

// "bf16" or "fp8", as --kv has it.
const char* format_name(KvFormat format);

// Sets what the options say of the cache; runs the calibration's tokens where they are given.
// Throws InputError, where they are given without --kv fp8 too.
void set_kv(const cli::po::variables_map& given, const DeviceModel& model, EngineLimits& limits);

}  // namespace orthros::cuda
