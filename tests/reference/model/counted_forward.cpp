// Runs the reference in the counting scalar.
#include "tests/reference/model/counted_forward.hpp"

#include "reference/model/counting.hpp"
#include "reference/model/forward.hpp"
#include "reference/model/load_model.hpp"

namespace orthros {

std::vector<int64_t> counted_calls(const RandomModel& drawn, const std::vector<int64_t>& tokens,
                                   const std::vector<int64_t>& pieces,
                                   const std::vector<std::vector<int64_t>>& outputs,
                                   RecurrentForm form, int64_t chunk) {
  const Model<Counting> model = load_model<Counting>(drawn.spec, drawn.weights());
  Cache<Counting> cache(drawn.spec);
  const ForwardOptions<Counting> options{form, chunk, {}};
  std::vector<int64_t> counts;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto part = std::span(tokens).subspan(static_cast<size_t>(cache.length()),
                                                static_cast<size_t>(pieces[i]));
    Counting::reset();
    forward<Counting>(model, cache, part, outputs[i], options);
    counts.push_back(Counting::multiply_adds());
  }
  return counts;
}

}  // namespace orthros
