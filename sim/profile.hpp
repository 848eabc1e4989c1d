// Profile: how far software gets on a GPU; turns ops into seconds.
#pragma once

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/hardware.hpp"
#include "sim/law.hpp"

namespace orthros {

// What a step costs outside its kernels: the scheduler, sampling, the step's launch.
struct StepSoftware {
  double per_step_s = 0.0;
  double per_sequence_s = 0.0;  // of each sequence that gives a token
  double per_token_s = 0.0;     // of each prefilled token
  double per_prompt_s = 0.0;    // of each piece of a prompt
  // The same, times log2 of the tensor-parallel group: prompts are handed to ranks as in a tree.
  double per_prompt_group_s = 0.0;
};

// What a server and its clients add around the steps, under closed-loop load.
struct ServingSoftware {
  double per_request_s = 0.0;   // between a client's request and the engine's queue
  double stream_token_s = 0.0;  // the front end hands out one token of one client at a time
  int64_t idle_slots = 0;       // c clients are served on c - idle_slots slots
  int64_t token_budget = 8192;  // rows of a step: whole prompts and decode tokens
  double burst_share = 0.0;     // of measured requests that stood in the first synchronous burst
};

// A law for some ops of a kind, where software has another kernel for them.
struct SpecialLaw {
  OpKind kind = OpKind::gemm;
  int64_t up_to_rows = 0;  // gemm: m up to this
  bool windowed = false;   // prefill attention: through a window
  Law law;
  bool between_shards = false;  // communication: of a sequence's shards, or not

  bool holds_for(const Op& op) const {
    if (op.kind != kind) return false;
    if (kind == OpKind::gemm) return op.m <= up_to_rows;
    if (kind == OpKind::communication) return op.between_shards == between_shards;
    return op.windowed == windowed;
  }
};

// Laws hold rates as fractions of the hardware's dense peak and bandwidths as fractions of its
// memory's (communication: of its link's). A kind without a law takes no time.
struct Profile {
  std::string name;  // of the file
  std::string description;
  std::string caveat;     // one line, printed with every result
  std::string fitted_on;  // hardware; empty: none
  std::array<std::optional<Law>, op_kinds> laws;
  std::vector<SpecialLaw> special;  // the first that holds goes before its kind's law
  // Prompts that are prefilled together take as many passes as they need, each with this many rows
  // of theirs on a GPU; 0: one.
  int64_t pass_tokens = 0;
  StepSoftware step;
  ServingSoftware serving;
  nlohmann::ordered_json provenance;  // where each number came from

  const std::optional<Law>& law(OpKind kind) const { return laws[static_cast<size_t>(kind)]; }
  std::optional<Law>& law(OpKind kind) { return laws[static_cast<size_t>(kind)]; }
};

// By name or path among scenarios/profiles/. Throws InputError naming file and field.
Profile load_profile(std::string_view name_or_path);
nlohmann::ordered_json to_json(const Profile& profile);
nlohmann::ordered_json to_json(const Law& law);
// Whole or not at all.
void save_profile(const Profile& profile, const std::filesystem::path& path);

// A profile's laws in FLOP/s and bytes/s of one GPU. weight_bytes 1 (fp8) takes the fp8 peak for
// linear layers.
struct Timing {
  std::array<Law, op_kinds> laws;
  std::vector<SpecialLaw> special;
  int64_t pass_tokens = 0;
  Law network;                // communication between shards on different hosts
  int64_t largest_group = 1;  // GPUs of a host
  StepSoftware step;

  const Law& law(OpKind kind) const { return laws[static_cast<size_t>(kind)]; }
  // On `gpus` GPUs in all: past a host's, shards speak over the network.
  const Law& law(const Op& op, int64_t gpus) const {
    if (op.between_shards && gpus > largest_group) return network;
    for (const SpecialLaw& one : special) {
      if (one.holds_for(op)) return one.law;
    }
    return law(op.kind);
  }
};
Timing timing_on(const Profile& profile, const Hardware& hardware, int64_t weight_bytes);

// Kinds as profiles and command lines write them: gemm, prefill-attention, decode-attention,
// recurrence, elementwise, communication.
std::optional<OpKind> op_kind_of(std::string_view name);

}  // namespace orthros
