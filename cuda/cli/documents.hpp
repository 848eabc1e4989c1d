// Packed sequences taken apart: each document is a sequence of its own to the engine.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/cli/sequence_options.hpp"

namespace orthros::cuda {

// A document of a sequence; a sequence without document ids is one document.
struct Document {
  size_t sequence = 0;
  int64_t first = 0;  // its first token's index in the sequence
  std::vector<int64_t> tokens;
  std::vector<int64_t>
      outputs;               // positions in the document from 1, as the sequence has them in order
  std::vector<size_t> rows;  // each output's place among the sequence's outputs
};

// In order, no document empty.
std::vector<Document> documents_of(const std::vector<cli::SequenceInput>& sequences);

}  // namespace orthros::cuda
