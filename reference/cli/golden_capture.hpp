// GoldenCapture: a forward's intermediates as named tensors, by layer and stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/cli/tensor_dump.hpp"
#include "reference/model/step.hpp"

namespace orthros::cli {

// Hears one forward over one sequence of `tokens` tokens, all at once, and cuts what it observes
// into streams. Names, N the layer from 0, STREAM base (a row for each token) or output (a row for
// each output position):
//   STREAM.embedding, layers.N.STREAM.{normed, q, k, v, log_gate, write, attention, residual},
//   shared_kv.{k, v} of a decoder-decoder, output.final_normed.
class GoldenCapture {
 public:
  GoldenCapture(const ModelSpec& spec, int64_t tokens) : spec_(spec), tokens_(tokens) {}

  void observe(std::string_view name, int64_t layer, const Matrix<double>& rows);
  std::vector<NamedTensor> take() { return std::move(tensors_); }

 private:
  const ModelSpec& spec_;
  int64_t tokens_;
  std::vector<NamedTensor> tensors_;
};

// What a tensor is, by its name; for the README.
std::string meaning_of(std::string_view tensor_name);

}  // namespace orthros::cli
