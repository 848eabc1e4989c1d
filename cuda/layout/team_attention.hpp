// Attention of one row and head by a team of threads that share memory: attention_row.hpp's bits,
// phase by phase. A Team is `size` threads; team.each(phase) runs phase(thread) for all of them and
// lets none go on before all are done. A host may run a phase thread after thread.
#pragma once

#include "cuda/layout/e4m3_keys.hpp"

namespace orthros::cuda {

// Keys whose weights are held at once, a multiple of 16.
inline constexpr int64_t team_keys = 512;

struct TeamMemory {
  float* most;        // [threads]
  float* exact;       // [team_keys] weights of a chunk of keys
  uint16_t* weights;  // [team_keys] these in bf16
  float* chains;      // [8]
  float* part;        // [width] a range's sums
  float* total;       // [width] those of all splits so far
};

// One query, its keys (hopper::VisibleKeys or E4m3Keys) and scale, and the team that works on it.
template <class Team, class Keys>
struct TeamAttention {
  Team team;
  TeamMemory memory;
  const uint16_t* q;
  Keys seen;
  float scale;

  ORTHROS_HOST_DEVICE float score(int64_t key) const { return score_with(q, seen, key); }

  // The largest score of [begin, end), times the scale; -inf without keys.
  ORTHROS_HOST_DEVICE float most_scaled(int64_t begin, int64_t end) const {
    const float none = hopper::from_bits(0xff800000u);
    team.each([&](int64_t thread) {
      float most = none;
      for (int64_t j = begin + thread; j < end; j += team.size()) {
        most = hopper::larger(most, score(j));
      }
      memory.most[thread] = most;
    });
    float most = none;
    for (int64_t t = 0; t < team.size(); ++t) most = hopper::larger(most, memory.most[t]);
    return begin < end ? hopper::scaled_most(most, scale) : none;
  }

  // Softmax over [begin, end) before it is divided; o in memory.part.
  ORTHROS_HOST_DEVICE hopper::PartialSoftmax range(int64_t begin, int64_t end) const {
    const float most = most_scaled(begin, end);
    team.each([&](int64_t thread) {
      for (int64_t i = thread; i < hopper::sum_chains; i += team.size()) memory.chains[i] = 0.0f;
      for (int64_t c = thread; c < seen.width; c += team.size()) memory.part[c] = 0.0f;
    });
    const auto visible = [&](int64_t key) { return key >= begin && key < end; };
    for (int64_t chunk = begin / hopper::block_keys * hopper::block_keys; chunk < end;
         chunk += team_keys) {
      team.each([&](int64_t thread) {
        for (int64_t i = thread; i < team_keys; i += team.size()) {
          const bool counts = visible(chunk + i);
          const float weight = counts ? hopper::weight_of(score(chunk + i), scale, most) : 0.0f;
          memory.exact[i] = weight;
          memory.weights[i] = counts ? hopper::round_bf16(weight) : uint16_t{0};
        }
      });
      team.each([&](int64_t thread) {
        for (int64_t chain = thread; chain < hopper::sum_chains; chain += team.size()) {
          for (int64_t i = chain; i < team_keys; i += hopper::sum_chains) {
            if (!visible(chunk + i)) continue;
            memory.chains[chain] = hopper::add(memory.chains[chain], memory.exact[i]);
          }
        }
        for (int64_t c = thread; c < seen.width; c += team.size()) {
          for (int64_t block = 0; block < team_keys && chunk + block < end;
               block += hopper::block_keys) {
            uint16_t values[hopper::block_keys];
            for (int64_t i = 0; i < hopper::block_keys; ++i) {
              const int64_t key = chunk + block + i;
              values[i] = visible(key) ? value_of(seen, key, c) : uint16_t{0};
            }
            memory.part[c] = hopper::dot_step(memory.part[c], memory.weights + block, values,
                                              hopper::block_keys);
          }
        }
      });
    }
    return {most, begin < end ? hopper::sum_of(memory.chains) : 0.0f};
  }

  // As attend_base has it: one range.
  ORTHROS_HOST_DEVICE void base(uint16_t* out) const {
    const hopper::PartialSoftmax all = range(seen.begin, seen.end);
    finish(memory.part, all.sum, out);
  }

  // As attend_output has it: splits, folded under their largest maximum.
  ORTHROS_HOST_DEVICE void output(uint16_t* out) const {
    const int64_t start = seen.begin / hopper::split_keys * hopper::split_keys;
    const auto first_of = [&](int64_t split) { return split > seen.begin ? split : seen.begin; };
    const auto end_of = [&](int64_t split) {
      return split + hopper::split_keys < seen.end ? split + hopper::split_keys : seen.end;
    };
    float largest = hopper::from_bits(0xff800000u);
    for (int64_t split = start; split < seen.end; split += hopper::split_keys) {
      largest = hopper::larger(largest, most_scaled(first_of(split), end_of(split)));
      team.each([](int64_t) {});  // all have read the maxima before the next are written
    }
    float sum = 0.0f;
    for (int64_t split = start; split < seen.end; split += hopper::split_keys) {
      const hopper::PartialSoftmax here = range(first_of(split), end_of(split));
      const float factor = hopper::merge_factor(here.most_scaled, largest);
      const bool first = split == start;
      sum = first ? hopper::multiply(factor, here.sum) : hopper::fold(sum, factor, here.sum);
      team.each([&](int64_t thread) {
        for (int64_t c = thread; c < seen.width; c += team.size()) {
          memory.total[c] = first ? hopper::multiply(factor, memory.part[c])
                                  : hopper::fold(memory.total[c], factor, memory.part[c]);
        }
      });
    }
    finish(memory.total, sum, out);
  }

 private:
  ORTHROS_HOST_DEVICE void finish(const float* o, float sum, uint16_t* out) const {
    const float inverse = hopper::reciprocal(sum);
    team.each([&](int64_t thread) {
      for (int64_t c = thread; c < seen.width; c += team.size()) {
        out[c] = seen.begin < seen.end ? hopper::round_bf16(hopper::multiply(o[c], inverse))
                                       : uint16_t{0};
      }
    });
  }
};

}  // namespace orthros::cuda
