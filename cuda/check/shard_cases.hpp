// Cases for several GPUs, and how one is run: against one GPU, bit for bit.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/check/check_case.hpp"
#include "cuda/check/findings.hpp"
#include "cuda/check/random_case.hpp"
#include "cuda/group/sharded_engine.hpp"

namespace orthros::cuda {

// Boundaries inside windows, windows wider than a split, unequal shards, prompts shorter than the
// ranks' windows, answers that enter new splits; and random ones.
std::vector<CheckCase> shard_cases(Suite suite, uint64_t seed);

// One GPU's caches and logits, of this format, then the group's, with shards of equal work and of
// equal length, in every way that the case is run; then a rank that fails, which must end the run
// everywhere.
void run_shard_case(const CheckCase& check_case, const GroupOptions& group, KvFormat kv,
                    Findings& findings);

}  // namespace orthros::cuda
