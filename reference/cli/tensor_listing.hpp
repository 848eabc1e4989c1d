// What a checkpoint holds of what a spec asks for.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "reference/spec/model_spec.hpp"
#include "reference/weights/checkpoint_files.hpp"

namespace orthros::cli {

struct TensorListing {
  std::string file;
  int64_t expected = 0;                 // tensors of the spec
  int64_t present = 0;                  // of those, found with their shape
  std::vector<std::string> missing;     // names
  std::vector<std::string> unfit;       // "name: why", of another shape or no weights
  std::vector<std::string> unexpected;  // names that the spec does not use
  int64_t bytes = 0;                    // of all tensors in the files
  std::set<std::string> dtypes;         // of the tensors present
};

// Looks at headers only.
TensorListing list_tensors(const ModelSpec& spec, const TensorSource& files);

}  // namespace orthros::cli
