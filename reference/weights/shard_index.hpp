// The index of a sharded checkpoint: which file holds which tensor.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace orthros {

// Tensor name -> shard's file name, from `{"metadata": any, "weight_map": {tensor: file}}`. Throws
// InputError when the text is no such JSON, a key repeats, nesting passes 16, another field stands
// at the top, or a file name is not a plain `*.safetensors` name (no folder in it).
std::map<std::string, std::string, std::less<>> parse_shard_index(std::string_view json,
                                                                  std::string_view file);

}  // namespace orthros
