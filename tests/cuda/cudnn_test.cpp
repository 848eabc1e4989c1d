// Tests of the way to cuDNN, as far as a machine without a device goes.
#include <gtest/gtest.h>

#include "cuda/cudnn/attention_graph.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

std::string refusal(const char* file) {
  try {
    const CudnnLibrary library(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(cudnn, what_is_not_the_library_is_refused_by_name) {
  EXPECT_TRUE(refusal("libcudnn_absent.so.9").starts_with("cuDNN: expected libcudnn_absent.so.9"))
      << refusal("libcudnn_absent.so.9");
  EXPECT_EQ(refusal("libc.so.6"), "cuDNN: expected a library with cudnnGetVersion");
}

TEST(cudnn, its_graph_takes_chunks_of_a_prompt_and_refuses_more_heads_than_divide) {
  if (const std::string why = refusal("libcudnn.so.9"); !why.empty()) GTEST_SKIP() << why;
  const CudnnLibrary library;
  const AttentionShape shape{32, 8, 128, 0.0f};
  for (const int64_t keys : {8192, 8200, 131072}) {
    const AttentionGraph graph(library, nullptr, {shape, 8192, keys, 4096, 131072 * 128});
    EXPECT_NE(graph.operations().get(), nullptr);
  }
  const AttentionShape uneven{32, 7, 128, 0.0f};
  EXPECT_THROW(AttentionGraph(library, nullptr, {uneven, 64, 64, 4096, 64 * 128}), DeviceError);
}

}  // namespace
}  // namespace orthros::cuda
