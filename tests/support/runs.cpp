// Runs models whole and in pieces.
#include "tests/support/runs.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace orthros {

bool same_bits(const Matrix<double>& a, const Matrix<double>& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
  if (a.size() == 0) return true;
  return std::memcmp(a.data(), b.data(), static_cast<size_t>(a.size()) * sizeof(double)) == 0;
}

bool same_bits(const LayerMemory& a, const LayerMemory& b) {
  return same_bits(a.keys, b.keys) && same_bits(a.values, b.values) &&
         same_bits(a.state, b.state) && same_bits(a.conv_inputs, b.conv_inputs);
}

bool same_bits(const Memory& a, const Memory& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i])) return false;
  }
  return true;
}

double relative_error(const Matrix<double>& a, const Matrix<double>& b) {
  constexpr double worst = std::numeric_limits<double>::infinity();
  if (a.rows() != b.rows() || a.cols() != b.cols()) return worst;
  if (a.size() == 0) return 0.0;
  if (!a.allFinite() || !b.allFinite()) return worst;
  const double error = (a - b).cwiseAbs().maxCoeff();
  return error == 0.0 ? 0.0 : error / b.cwiseAbs().maxCoeff();
}

Matrix<double> run(const AnyModel& model, AnyCache& cache, const std::vector<int64_t>& tokens,
                   const std::vector<int64_t>& outputs, const ForwardOptions<double>& options,
                   const std::vector<int64_t>& documents) {
  const Part part{&cache, tokens, outputs, documents};
  Matrix<double> logits = model.forward(std::span(&part, 1), options)[0];
  if (!logits.allFinite()) throw std::runtime_error("expected finite logits");
  return logits;
}

Matrix<double> run_in_pieces(const AnyModel& model, AnyCache& cache,
                             const std::vector<int64_t>& tokens, const std::vector<int64_t>& pieces,
                             const std::vector<int64_t>& outputs,
                             const ForwardOptions<double>& options,
                             const std::vector<int64_t>& documents) {
  const auto slice = [](const std::vector<int64_t>& all, int64_t from, int64_t count) {
    if (all.empty()) return all;
    return std::vector<int64_t>(all.begin() + from, all.begin() + from + count);
  };
  Matrix<double> logits(static_cast<int64_t>(outputs.size()), model.spec().vocab);
  const int64_t start = cache.length();
  for (const int64_t piece : pieces) {
    const int64_t before = cache.length();
    std::vector<int64_t> here;
    std::vector<int64_t> rows;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] <= before || outputs[i] > before + piece) continue;
      here.push_back(outputs[i]);
      rows.push_back(static_cast<int64_t>(i));
    }
    const Matrix<double> part = run(model, cache, slice(tokens, before - start, piece), here,
                                    options, slice(documents, before - start, piece));
    for (size_t i = 0; i < rows.size(); ++i) {
      logits.row(rows[i]) = part.row(static_cast<int64_t>(i));
    }
  }
  return logits;
}

ForwardOptions<double> Observed::options() {
  ForwardOptions<double> watching;
  watching.observer = [this](std::string_view name, int64_t layer, const Matrix<double>& values) {
    rows[{std::string(name), layer}] = values;
  };
  return watching;
}

Matrix<double> rows_at(const Matrix<double>& m, const std::vector<int64_t>& positions) {
  Matrix<double> rows(static_cast<int64_t>(positions.size()), m.cols());
  for (size_t i = 0; i < positions.size(); ++i) {
    rows.row(static_cast<int64_t>(i)) = m.row(positions[i] - 1);
  }
  return rows;
}

}  // namespace orthros
