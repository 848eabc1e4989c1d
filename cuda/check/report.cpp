// Writes findings as a table and as JSON.
#include "cuda/check/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace orthros::cuda {
namespace {

using cli::Json;

// A difference's field that its part has, else null.
Json number(bool there, int64_t value) {
  return there ? Json(value) : Json();
}

const char* what_differs(Part part) {
  switch (part) {
    case Part::keys:
      return "keys";
    case Part::values:
      return "values";
    case Part::logits:
      return "logits";
    case Part::predicted:
      return "predicted id";
    case Part::weights:
      return "weights";
    case Part::length:
      break;
  }
  return "length";
}

Json difference_json(const Difference& d) {
  const bool entry = d.part == Part::keys || d.part == Part::values;
  const bool logit = d.part == Part::logits;
  const bool weights = d.part == Part::weights;
  Json json;
  json["case"] = d.check_case;
  json["promise"] = d.promise;
  json["what"] = what_differs(d.part);
  json["layer"] = number(entry, d.layer);
  json["stream"] = weights ? Json() : Json(stream_of(d));
  json["sequence"] = number(!weights, d.sequence);
  json["position"] = number(!weights, d.position);
  json["head"] = number(entry, d.head);
  json["channel"] = number(entry, d.element);
  json["id"] = number(logit, d.element);
  json["expected_bits"] = d.expected;
  json["actual_bits"] = d.actual;
  json["text"] = text_of(d);
  return json;
}

Json error_json(const ErrorFinding& error) {
  const auto side = [&](double Error::*engine, double ErrorLimit::*limit) {
    Json json;
    json["engine"] = error.engine.finite ? Json(error.engine.*engine) : Json();
    json["bf16_reference"] = error.bf16.finite ? Json(error.bf16.*engine) : Json();
    json["limit"] = error.bf16.finite ? Json(error.limit.*limit) : Json();
    return json;
  };
  Json json;
  json["case"] = error.check_case;
  json["part"] = error.part;
  json["max"] = side(&Error::most, &ErrorLimit::most);
  json["mean"] = side(&Error::mean, &ErrorLimit::mean);
  json["holds"] = error.holds();
  return json;
}

// The largest share of its limit that an error takes.
double share(const ErrorFinding& error) {
  const auto of = [](double part, double whole) { return whole > 0.0 ? part / whole : 0.0; };
  return std::max(of(error.engine.most, error.limit.most), of(error.engine.mean, error.limit.mean));
}

void print_errors(const Findings& findings) {
  if (findings.errors().empty()) return;
  const auto worst = std::max_element(
      findings.errors().begin(), findings.errors().end(),
      [](const ErrorFinding& a, const ErrorFinding& b) { return share(a) < share(b); });
  const auto within_limit = std::count_if(findings.errors().begin(), findings.errors().end(),
                                          [](const ErrorFinding& error) { return error.holds(); });
  fmt::print(
      "\nerror against double: {} of {} within 2 x the bf16 reference's own and slack; most "
      "of its limit, {:.0f} %: {} of {}\n",
      within_limit, findings.errors().size(), 100.0 * share(*worst), worst->part,
      worst->check_case);
}

}  // namespace

bool passed(const Findings& findings) {
  return findings.failed() == 0 && findings.compared() > 0;
}

Json check_json(const CheckSetting& setting, const Findings& findings) {
  Json json;
  json["suite"] = setting.suite;
  json["gpu"] = setting.gpu;
  json["driver"] = setting.driver;
  json["cuda"] = setting.cuda;
  json["commit"] = setting.commit;
  json["seed"] = setting.seed;
  json["gpus"] = setting.gpus;
  json["transport"] = setting.transport.empty() ? Json() : Json(setting.transport);
  json["only"] = setting.only.empty() ? Json() : Json(setting.only);
  json["fault"] = setting.fault.empty() ? Json() : Json(setting.fault);
  json["compared"] = findings.compared();
  json["equal"] = findings.equal();
  json["failed"] = findings.failed();
  json["first_difference"] =
      findings.differences().empty() ? Json() : difference_json(findings.differences().front());
  json["failures"] = findings.failures();
  json["promises"] = Json::array();
  for (const PromiseCount& promise : findings.promises()) {
    Json each;
    each["name"] = promise.name;
    each["compared"] = promise.compared;
    each["equal"] = promise.equal;
    json["promises"].push_back(std::move(each));
  }
  json["cases"] = Json::array();
  for (const CaseFinding& finding : findings.cases()) {
    Json each;
    each["name"] = finding.name;
    each["what"] = finding.description;
    each["compared"] = finding.compared;
    each["equal"] = finding.equal;
    each["failed"] = finding.failed;
    each["seconds"] = finding.seconds;
    json["cases"].push_back(std::move(each));
  }
  json["errors"] = Json::array();
  for (const ErrorFinding& error : findings.errors()) json["errors"].push_back(error_json(error));
  json["left_out"] = findings.left_out();
  json["seconds"] = setting.seconds;
  return json;
}

void print_check(const CheckSetting& setting, const Findings& findings) {
  fmt::print("gpu     {}, driver {}, CUDA {}\n", setting.gpu, setting.driver, setting.cuda);
  fmt::print("check   suite {}, seed {}, commit {}{}{}\n\n", setting.suite, setting.seed,
             setting.commit, setting.fault.empty() ? "" : ", fault " + setting.fault,
             setting.gpus == 1
                 ? ""
                 : fmt::format(", {} ranks through {}", setting.gpus, setting.transport));
  fmt::print("{:<48} {:>16} {:>16}\n", "promise", "compared", "equal");
  for (const PromiseCount& promise : findings.promises()) {
    fmt::print("{:<48} {:>16} {:>16}{}\n", promise.name, promise.compared, promise.equal,
               promise.compared == promise.equal ? "" : "  differs");
  }
  fmt::print("{:<48} {:>16} {:>16}\n", "all", findings.compared(), findings.equal());
  print_errors(findings);
  for (const std::string& why : findings.left_out()) fmt::print("left out  {}\n", why);
  for (const std::string& failure : findings.failures()) fmt::print("FAILED  {}\n", failure);
  fmt::print("\n{} cases, {} failed, {:.1f} s\n", findings.cases().size(), findings.failed(),
             setting.seconds);
}

}  // namespace orthros::cuda
