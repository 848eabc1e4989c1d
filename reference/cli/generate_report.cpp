// Reads how to generate, shows what was.
#include "reference/cli/generate_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "reference/cli/number_list.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cli {
namespace {

const char* finish_reason(const ModelSpec& spec, std::span<const int64_t> generated) {
  const auto& eos = spec.eos;
  const bool stopped =
      !generated.empty() && std::find(eos.begin(), eos.end(), generated.back()) != eos.end();
  return stopped ? "stop" : "length";
}

}  // namespace

void add_generate_options(po::options_description& options) {
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  options.add_options()("max-tokens", text("N")->default_value("32"), "tokens to generate at most")(
      "eos", text("1,2"), "ids that end generation, in place of the model's")(
      "ignore-eos", "no id ends generation")("chunk", text("N"), "prompt tokens in one call")(
      "json", "print JSON at the end");
}

GenerateRequest read_generate_request(const po::variables_map& given) {
  GenerateRequest request;
  request.chunk = optional_size(given, "chunk", 1).value_or(0);
  request.most = size_option(given, "max-tokens");
  request.json = has_option(given, "json");
  return request;
}

std::vector<int64_t> eos_ids(const po::variables_map& given, const ModelSpec& spec) {
  const auto eos = optional_text(given, "eos");
  const bool ignore = has_option(given, "ignore-eos");
  if (eos && ignore) {
    throw InputError("--eos", "", "expected one of --eos and --ignore-eos, got both");
  }
  if (eos) return read_numbers("--eos", *eos, {"token ids", 0, spec.vocab - 1});
  return ignore ? std::vector<int64_t>{} : spec.eos;
}

void warn_past_end(const char* program, const ModelSpec& spec, int64_t prompt, int64_t most) {
  if (spec.max_positions > 0 && most > spec.max_positions - prompt) {
    warn_past_max_positions(program, spec, prompt > INT64_MAX - most ? INT64_MAX : prompt + most);
  }
}

void print_prompt(const ModelSpec& spec, std::span<const int64_t> tokens) {
  fmt::print("tokens  {}: {}\n", tokens.size(), ids_text(tokens));
  fmt::print("eos     {}\nthen   ", spec.eos.empty() ? "none" : ids_text(spec.eos));
  std::fflush(stdout);
}

void print_finish(const ModelSpec& spec, std::span<const int64_t> generated) {
  fmt::print("\nfinish  {}, after {} tokens\n", finish_reason(spec, generated), generated.size());
}

Json generated_json(const ModelSpec& spec, std::span<const int64_t> tokens, int64_t most,
                    std::span<const int64_t> generated, Json json) {
  json["tokens"] = std::vector<int64_t>(tokens.begin(), tokens.end());
  json["max_tokens"] = most;
  json["eos"] = spec.eos;
  json["generated"] = std::vector<int64_t>(generated.begin(), generated.end());
  json["finish_reason"] = finish_reason(spec, generated);
  return json;
}

}  // namespace orthros::cli
