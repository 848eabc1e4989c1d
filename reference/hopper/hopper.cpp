// Hopper's linear layers, and which models it can run.
#include "reference/hopper/hopper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "reference/model/parallel.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros {

using hopper::panel_lanes;

Linear<Hopper>::Linear(int64_t out, int64_t in)
    : out_(out),
      in_(in),
      panels_(static_cast<size_t>((out + panel_lanes - 1) / panel_lanes), hopper::Panel(in)) {}

void Linear<Hopper>::set_row(int64_t o, const Hopper* weights) {
  panels_[static_cast<size_t>(o / panel_lanes)].set_output(o % panel_lanes, bits_of(weights));
}

Matrix<float> Linear<Hopper>::multiply(const Matrix<Hopper>& x) const {
  assert(x.cols() == in_);
  Matrix<float> y(x.rows(), out_);
  constexpr int64_t rows_at_once = 1024;  // what is made ready for the kernels stays small
  for (int64_t first = 0; first < x.rows(); first += rows_at_once) {
    const int64_t rows = std::min(rows_at_once, x.rows() - first);
    const hopper::PanelRows ready(bits_of(x.data() + first * in_), rows, in_, in_);
    parallel_for(static_cast<int64_t>(panels_.size()), rows * out_ * in_, [&](int64_t p) {
      const int64_t o = p * panel_lanes;
      ready.multiply(panels_[static_cast<size_t>(p)], 0, std::min(panel_lanes, out_ - o),
                     y.data() + first * out_ + o, out_);
    });
  }
  return y;
}

void Operations<Hopper>::check(const ModelSpec& spec) {
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (std::holds_alternative<LinearMixer>(spec.layers[i].mixer)) {
      throw InputError(
          "scalar", "",
          fmt::format("expected a model of softmax layers for hopper, got a recurrent layer {}",
                      i));
    }
  }
}

}  // namespace orthros
