// The error rule on a case, and ids where double is certain.
#include "cuda/check/promises.hpp"

namespace orthros::cuda {
namespace {

ErrorLimit add_error(const char* part, const std::vector<double>& engine,
                     const std::vector<double>& bf16, const std::vector<double>& exact,
                     Findings& findings) {
  ErrorFinding finding;
  finding.part = part;
  finding.engine = error_of(engine, exact);
  finding.bf16 = error_of(bf16, exact);
  finding.limit = error_limit(finding.bf16, exact);
  const ErrorLimit limit = finding.limit;
  findings.add(std::move(finding));
  return limit;
}

// An independent program ran the weights as they are, the engine rounds them to bf16: its limit is
// that against double of the rounded weights, and double's own distance from the golden values.
void add_golden(const std::vector<double>& golden, const std::vector<double>& engine,
                const std::vector<double>& bf16, const std::vector<double>& exact,
                const ErrorLimit& limit, Findings& findings) {
  const Error rounded = error_of(exact, golden);
  ErrorFinding finding;
  finding.part = "logits from golden values";
  finding.engine = error_of(engine, golden);
  finding.bf16 = error_of(bf16, golden);
  finding.limit = {limit.most + rounded.most, limit.mean + rounded.mean};
  findings.add(std::move(finding));
}

// The engine's ids, row by row of `exact`, against the largest of each row that is certain.
void add_ids(const std::vector<SequencePlan>& places, const std::vector<int64_t>& ids,
             const std::vector<double>& exact, int64_t vocab, double margin, Findings& findings) {
  const std::vector<int64_t> certain = certain_largest(exact, vocab, margin);
  Tally tally;
  size_t row = 0;
  for (size_t s = 0; s < places.size(); ++s) {
    for (const int64_t position : places[s].outputs) {
      const int64_t expected = certain.at(row);
      const int64_t actual = ids.at(row++);
      if (expected < 0) continue;
      Difference place;
      place.part = Part::predicted;
      place.sequence = static_cast<int64_t>(s);
      place.position = position;
      place.expected = static_cast<uint32_t>(expected);
      place.actual = static_cast<uint32_t>(actual);
      tally.count(expected == actual, place);
    }
  }
  findings.add("ids = double's where it is certain", tally);
}

}  // namespace

void check_errors(const CheckCase& check_case, const WeightSource& weights, const RunRecord& engine,
                  std::span<const SequencePlan> greedy, Findings& findings) {
  const ModelSpec& spec = check_case.spec;
  const RealRun exact = double_run(spec, weights, check_case.sequences);
  const RealRun bf16 = bf16_run(spec, weights, check_case.sequences);
  const RealRun got = real_run(engine);
  const ErrorLimit limit = add_error("logits", got.logits, bf16.logits, exact.logits, findings);
  add_error("keys", got.keys, bf16.keys, exact.keys, findings);
  add_error("values", got.values, bf16.values, exact.values, findings);

  if (!check_case.golden_logits.empty()) {
    add_golden(check_case.golden_logits, got.logits, bf16.logits, exact.logits, limit, findings);
  }

  // Each of two logits may be off by the limit, so twice that between them makes an id certain.
  const double margin = 2.0 * limit.most;
  std::vector<int64_t> ids;
  for (const SequenceRecord& sequence : engine) {
    ids.insert(ids.end(), sequence.predicted.begin(), sequence.predicted.end());
  }
  add_ids(check_case.sequences, ids, exact.logits, spec.vocab, margin, findings);

  ids.clear();
  for (const SequencePlan& plan : greedy) {
    ids.insert(ids.end(), plan.tokens.begin() + plan.prompt, plan.tokens.end());
  }
  const RealRun along = double_run(spec, weights, greedy);
  add_ids({greedy.begin(), greedy.end()}, ids, along.logits, spec.vocab, margin, findings);
}

}  // namespace orthros::cuda
