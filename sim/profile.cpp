// Resolves profiles on hardware.
#include "sim/profile.hpp"

namespace orthros {

std::optional<OpKind> op_kind_of(std::string_view name) {
  for (int i = 0; i < op_kinds; ++i) {
    if (name_of(static_cast<OpKind>(i)) == name) return static_cast<OpKind>(i);
  }
  return std::nullopt;
}

namespace {

Law law_on(Law law, OpKind kind, const Hardware& hardware, int64_t weight_bytes) {
  const bool fp8 = kind == OpKind::gemm && weight_bytes == 1;
  const double bandwidth =
      kind == OpKind::communication ? hardware.link_bandwidth : hardware.memory_bandwidth;
  law.rate *= fp8 ? hardware.fp8_rate : hardware.bf16_rate;
  law.bandwidth *= bandwidth;
  for (MemoryTier& tier : law.tiers) tier.bandwidth *= bandwidth;
  return law;
}

}  // namespace

namespace {

// Software gets as large a part of the network's bandwidth as of the link's.
Law over_network(Law link, const Hardware& hardware) {
  link.bandwidth *= hardware.network_bandwidth / hardware.link_bandwidth;
  link.latency_s += hardware.network_latency_s;
  return link;
}

}  // namespace

Timing timing_on(const Profile& profile, const Hardware& hardware, int64_t weight_bytes) {
  Timing timing;
  timing.step = profile.step;
  timing.largest_group = hardware.largest_group;
  timing.pass_tokens = profile.pass_tokens;
  for (const SpecialLaw& one : profile.special) {
    timing.special.push_back(one);
    timing.special.back().law = law_on(one.law, one.kind, hardware, weight_bytes);
  }
  std::optional<Law> between_shards;
  for (SpecialLaw& one : timing.special) {
    if (one.kind != OpKind::communication) continue;
    if (one.between_shards) between_shards = one.law;
    one.law.latency_s += hardware.link_latency_s;
  }
  for (int i = 0; i < op_kinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    if (!profile.law(kind)) continue;
    Law law = law_on(*profile.law(kind), kind, hardware, weight_bytes);
    if (kind == OpKind::communication) {
      timing.network = over_network(between_shards.value_or(law), hardware);
      law.latency_s += hardware.link_latency_s;
    }
    timing.laws[static_cast<size_t>(i)] = law;
  }
  return timing;
}

}  // namespace orthros
