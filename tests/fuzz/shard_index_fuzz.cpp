// libFuzzer target: any text as a shard index is refused or maps tensors to plain file names.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "reference/spec/input_error.hpp"
#include "reference/weights/shard_index.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const auto& [tensor, shard] : orthros::parse_shard_index(text, "fuzz")) {
      if (shard.find('/') != std::string::npos || !shard.ends_with(".safetensors")) std::abort();
    }
  } catch (const orthros::InputError&) {
  }
  return 0;
}
