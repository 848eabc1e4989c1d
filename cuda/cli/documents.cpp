// Cuts sequences where the document id changes.
#include "cuda/cli/documents.hpp"

namespace orthros::cuda {

std::vector<Document> documents_of(const std::vector<cli::SequenceInput>& sequences) {
  std::vector<Document> documents;
  for (size_t s = 0; s < sequences.size(); ++s) {
    const cli::SequenceInput& input = sequences[s];
    const size_t begin = documents.size();
    for (size_t t = 0; t < input.tokens.size(); ++t) {
      const bool starts =
          t == 0 || (!input.documents.empty() && input.documents[t] != input.documents[t - 1]);
      if (starts) documents.push_back({s, static_cast<int64_t>(t), {}, {}, {}});
      documents.back().tokens.push_back(input.tokens[t]);
    }
    for (size_t i = 0; i < input.outputs.size(); ++i) {
      size_t d = documents.size() - 1;
      while (d > begin && documents[d].first >= input.outputs[i]) --d;
      documents[d].outputs.push_back(input.outputs[i] - documents[d].first);
      documents[d].rows.push_back(i);
    }
  }
  return documents;
}

}  // namespace orthros::cuda
