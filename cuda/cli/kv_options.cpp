// Reads the options of the cache.
#include "cuda/cli/kv_options.hpp"

#include "reference/cli/number_list.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {

void add_kv_options(cli::po::options_description& options, bool calibration) {
  const auto text = [](const char* name) {
    return cli::po::value<std::string>()->value_name(name);
  };
  options.add_options()("kv", text("FORMAT")->default_value("bf16"),
                        "entries of the cache: bf16, or fp8 (e4m3 with a scale for each KV head)");
  if (!calibration) return;
  options.add_options()("kv-calibration", text("5,7,9|@FILE"),
                        "token ids whose keys and values set the scales of --kv fp8; without "
                        "them all are 1");
}

KvFormat kv_format(const cli::po::variables_map& given) {
  return cli::choice_option(given, "kv", {"bf16", "fp8"}) == "fp8" ? KvFormat::e4m3
                                                                   : KvFormat::bf16;
}

const char* format_name(KvFormat format) {
  return format == KvFormat::e4m3 ? "fp8" : "bf16";
}

KvRequest read_kv_request(const cli::po::variables_map& given, const ModelSpec& spec) {
  KvRequest request{kv_format(given), {}};
  const auto calibration = cli::optional_text(given, "kv-calibration");
  if (!calibration) return request;
  if (request.format != KvFormat::e4m3) {
    throw InputError("--kv-calibration", "", "expected --kv fp8 beside it");
  }
  request.calibration =
      cli::read_numbers("--kv-calibration", *calibration, {"token ids", 0, spec.vocab - 1});
  return request;
}

}  // namespace orthros::cuda
