// Fits the profile of the paper's software to Table 4's fitted rows.
#pragma once

#include "sim/paper.hpp"
#include "sim/profile.hpp"

namespace orthros {

// Five numbers, by least squares on the relative errors of every figure of the rows marked fitted
// (TTFT, end to end, decode-only rate) and of nothing else: the rates of linear layers and of full
// prefill attention, the keys that windowed prefill visits beyond its window, the bandwidth of
// decode attention, and the software cost of a step. The linear layers' scans move at the memory's
// bandwidth: a number for them is not determined by these rows.
Profile fit_paper_profile(const PaperTable& table);

// What a profile predicts for a row.
CostPoint predict(const PaperRow& row, const Profile& profile, const Hardware& hardware);

}  // namespace orthros
