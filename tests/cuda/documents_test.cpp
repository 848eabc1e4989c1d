// Tests of how packed sequences are taken apart.
#include <gtest/gtest.h>

#include "cuda/cli/documents.hpp"

namespace orthros::cuda {
namespace {

using Ids = std::vector<int64_t>;

TEST(documents, a_sequence_without_ids_is_one_document) {
  const auto documents = documents_of({{{5, 6, 7}, {3, 1}, {}}});
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(documents[0].tokens, (Ids{5, 6, 7}));
  EXPECT_EQ(documents[0].outputs, (Ids{3, 1}));
  EXPECT_EQ(documents[0].rows, (std::vector<size_t>{0, 1}));
}

TEST(documents, a_new_id_starts_a_document_and_outputs_go_with_their_tokens) {
  const auto documents =
      documents_of({{{1, 2}, {2}, {}}, {{10, 11, 12, 13, 14}, {5, 2, 3, 2}, {0, 0, 4, 0, 0}}});
  ASSERT_EQ(documents.size(), 4U);
  EXPECT_EQ(documents[1].sequence, 1U);
  EXPECT_EQ(documents[1].tokens, (Ids{10, 11}));
  EXPECT_EQ(documents[1].outputs, (Ids{2, 2}));
  EXPECT_EQ(documents[1].rows, (std::vector<size_t>{1, 3}));
  EXPECT_EQ(documents[2].tokens, (Ids{12}));
  EXPECT_EQ(documents[2].outputs, (Ids{1}));
  EXPECT_EQ(documents[3].tokens, (Ids{13, 14}));
  EXPECT_EQ(documents[3].outputs, (Ids{2}));
  EXPECT_EQ(documents[3].first, 3);
}

}  // namespace
}  // namespace orthros::cuda
