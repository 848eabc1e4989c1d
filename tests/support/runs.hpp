// Ways to run a subject's model: whole, in pieces, observed; and comparison of bits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/subject.hpp"

namespace orthros {

// Equal shapes and, element by element, equal bits.
bool same_bits(const Matrix<double>& a, const Matrix<double>& b);
bool same_bits(const LayerMemory& a, const LayerMemory& b);
bool same_bits(const Memory& a, const Memory& b);

// Largest |a - b| over largest |b|; infinite where shapes differ or a value is not finite.
double relative_error(const Matrix<double>& a, const Matrix<double>& b);

// forward of one sequence. The logits are checked to be finite, so that equal bits mean something.
Matrix<double> run(const AnyModel& model, AnyCache& cache, const std::vector<int64_t>& tokens,
                   const std::vector<int64_t>& outputs, const ForwardOptions<double>& options = {},
                   const std::vector<int64_t>& documents = {});

// The same in consecutive calls of the given sizes, each asked for the outputs that fall into it.
// Logits come back in the order asked.
Matrix<double> run_in_pieces(const AnyModel& model, AnyCache& cache,
                             const std::vector<int64_t>& tokens, const std::vector<int64_t>& pieces,
                             const std::vector<int64_t>& outputs,
                             const ForwardOptions<double>& options = {},
                             const std::vector<int64_t>& documents = {});

// Every intermediate of one forward call by name and layer: base rows before output rows.
struct Observed {
  std::map<std::pair<std::string, int64_t>, Matrix<double>> rows;
  ForwardOptions<double> options();
  const Matrix<double>& at(const std::string& name, int64_t layer) const {
    return rows.at({name, layer});
  }
};

// The rows of `m` at `positions` (from 1).
Matrix<double> rows_at(const Matrix<double>& m, const std::vector<int64_t>& positions);

}  // namespace orthros
