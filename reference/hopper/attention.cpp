// Hopper's attention: attention_row.hpp's bits from panels, all heads of a group at once.
#include <algorithm>

#include "reference/hopper/attention_row.hpp"
#include "reference/hopper/hopper.hpp"

namespace orthros {

using hopper::block_keys;
using hopper::panel_lanes;

HopperEntries::HopperEntries(const HeadEntries<Hopper>& head, KeyRange read)
    : head_(head), begin_(std::max<int64_t>(0, read.begin - (block_keys - 1))) {
  const int64_t count = read.end - begin_;
  keys_.assign(static_cast<size_t>((count + panel_lanes - 1) / panel_lanes),
               hopper::Panel(head.width));
  values_.assign(static_cast<size_t>((head.width + panel_lanes - 1) / panel_lanes),
                 hopper::Panel(count));
  for (int64_t j = 0; j < count; ++j) {
    const int64_t at = (begin_ + j) * head.stride;
    keys_[static_cast<size_t>(j / panel_lanes)].set_output(j % panel_lanes,
                                                           bits_of(head.keys + at));
    for (size_t i = 0; i < values_.size(); ++i) {
      const int64_t channel = static_cast<int64_t>(i) * panel_lanes;
      values_[i].set_value(j, bits_of(head.values + at + channel),
                           std::min(panel_lanes, head.width - channel));
    }
  }
}

// heads softmaxes before division: each one's maximum and sum, and o, heads x width.
struct HopperEntries::Rows {
  std::vector<hopper::PartialSoftmax> softmax;
  std::vector<float> o;
};

// Over entries [begin, end) of a document whose first entry is `first`.
HopperEntries::Rows HopperEntries::attend_part(const hopper::PanelRows& q, int64_t begin,
                                               int64_t end, int64_t first) const {
  const int64_t heads = q.rows();
  const int64_t width = head_.width;
  // Scores of whole panels; those outside [begin, end) are never looked at.
  const int64_t from = (begin - begin_) / panel_lanes * panel_lanes + begin_;
  const int64_t columns = (end - from + panel_lanes - 1) / panel_lanes * panel_lanes;
  std::vector<float> scores(static_cast<size_t>(heads * columns));
  for (int64_t j = 0; j < columns; j += panel_lanes) {
    const hopper::Panel& panel = keys_[static_cast<size_t>((from - begin_ + j) / panel_lanes)];
    q.multiply(panel, 0, panel_lanes, &scores[static_cast<size_t>(j)], columns);
  }
  // Weights from the start of begin's block, so that steps take absolute places.
  const int64_t block = first + (begin - first) / block_keys * block_keys;
  const int64_t length = end - block;
  std::vector<uint16_t> weights(static_cast<size_t>(heads * length), 0);
  Rows rows{{}, std::vector<float>(static_cast<size_t>(heads * width))};
  const float scale = hopper::score_scale(width);
  for (int64_t h = 0; h < heads; ++h) {
    const float* score = &scores[static_cast<size_t>(h * columns + begin - from)];
    uint16_t* weight = &weights[static_cast<size_t>(h * length + begin - block)];
    float most = score[0];
    for (int64_t j = 1; j < end - begin; ++j) most = hopper::larger(most, score[j]);
    const float most_scaled = hopper::scaled_most(most, scale);
    float chains[hopper::sum_chains] = {};
    for (int64_t j = 0; j < end - begin; ++j) {
      const float p = hopper::weight_of(score[j], scale, most_scaled);
      float& chain = chains[(begin + j - first) % hopper::sum_chains];
      chain = hopper::add(chain, p);
      weight[j] = hopper::round_bf16(p);
    }
    rows.softmax.push_back({most_scaled, hopper::sum_of(chains)});
  }
  const hopper::PanelRows ready(weights.data(), heads, length, length);
  for (int64_t i = 0; i < width; i += panel_lanes) {
    ready.multiply(values_[static_cast<size_t>(i / panel_lanes)], block - begin_,
                   std::min(panel_lanes, width - i), &rows.o[static_cast<size_t>(i)], width);
  }
  return rows;
}

void HopperEntries::attend(const Hopper* q, int64_t heads, KeyRange range, Hopper* o) const {
  const auto finite = [](const hopper::Panel& panel) { return panel.finite(); };
  if (range.begin >= range.end || !std::all_of(values_.begin(), values_.end(), finite)) {
    return attend_plainly(q, heads, range, o);
  }
  const int64_t width = head_.width;
  const hopper::PanelRows ready(bits_of(q), heads, width, width);
  std::vector<Rows> parts;
  if (range.windowed) {
    parts.push_back(attend_part(ready, range.begin, range.end, range.first));
  } else {
    const int64_t start =
        range.first + (range.begin - range.first) / hopper::split_keys * hopper::split_keys;
    for (int64_t split = start; split < range.end; split += hopper::split_keys) {
      parts.push_back(attend_part(ready, std::max(split, range.begin),
                                  std::min(split + hopper::split_keys, range.end), range.first));
    }
  }
  for (int64_t h = 0; h < heads; ++h) {
    const auto head = static_cast<size_t>(h);
    const float* first_o = &parts[0].o[static_cast<size_t>(h * width)];
    std::vector<float> sums(first_o, first_o + width);
    float sum = parts[0].softmax[head].sum;
    if (!range.windowed) {
      float largest = parts[0].softmax[head].most_scaled;
      for (const Rows& part : parts) {
        largest = hopper::larger(largest, part.softmax[head].most_scaled);
      }
      for (size_t s = 0; s < parts.size(); ++s) {
        const auto& [most_scaled, part_sum] = parts[s].softmax[head];
        const float factor = hopper::merge_factor(most_scaled, largest);
        const float* part_o = &parts[s].o[static_cast<size_t>(h * width)];
        sum = s == 0 ? hopper::multiply(factor, part_sum) : hopper::fold(sum, factor, part_sum);
        for (size_t i = 0; i < sums.size(); ++i) {
          sums[i] = s == 0 ? hopper::multiply(factor, part_o[i])
                           : hopper::fold(sums[i], factor, part_o[i]);
        }
      }
    }
    const float inverse = hopper::reciprocal(sum);
    for (size_t i = 0; i < sums.size(); ++i) {
      o[static_cast<size_t>(h * width) + i] = Hopper(hopper::multiply(sums[i], inverse));
    }
  }
}

// The definition itself: for no keys, and where a value is infinite or NaN, which a zero weight
// would not hide in a panel.
void HopperEntries::attend_plainly(const Hopper* q, int64_t heads, KeyRange range,
                                   Hopper* o) const {
  const int64_t width = head_.width;
  const int64_t at = range.first * head_.stride;
  const hopper::VisibleKeys seen{
      bits_of(head_.keys + at),  bits_of(head_.values + at), head_.stride, width,
      range.begin - range.first, range.end - range.first};
  const float scale = hopper::score_scale(width);
  std::vector<float> scratch(static_cast<size_t>(2 * width));
  std::vector<uint16_t> bits(static_cast<size_t>(width));
  for (int64_t h = 0; h < heads; ++h) {
    (range.windowed ? hopper::attend_base : hopper::attend_output)(
        bits_of(q + h * width), seen, scale, scratch.data(), bits.data());
    for (int64_t i = 0; i < width; ++i) {
      o[h * width + i] = Hopper(hopper::widen_bf16(bits[static_cast<size_t>(i)]));
    }
  }
}

}  // namespace orthros
