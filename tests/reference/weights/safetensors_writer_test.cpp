// Tests of the safetensors writer: exact bytes, round trips, and files whole or not at all.
#include "reference/weights/safetensors_writer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/weights/counter_random.hpp"
#include "reference/weights/safetensors.hpp"
#include "tests/reference/weights/file_bytes.hpp"

namespace orthros {
namespace {

TensorToWrite bytes_tensor(std::string name, std::string_view content) {
  return {std::move(name),
          TensorDtype::u8,
          {static_cast<int64_t>(content.size())},
          [content](const ByteSink& sink) { sink(as_bytes(content)); }};
}

TEST(safetensors_writer, the_bytes_are_length_padded_header_and_data) {
  const TempFolder folder;
  const std::array<double, 2> values{1, -2};
  const std::vector<TensorToWrite> tensors{tensor_of("z\"", {1, 2}, values),
                                           bytes_tensor("a", "xyz")};
  write_safetensors(folder / "f", tensors, {{"k", "v"}});
  const std::string header =
      R"({"__metadata__":{"k":"v"},"z\"":{"dtype":"F64","shape":[1,2],"data_offsets":[0,16]},)"
      R"("a":{"dtype":"U8","shape":[3],"data_offsets":[16,19]}})";
  ASSERT_EQ(header.size(), 138u);  // 6 spaces short of a multiple of 8
  std::string expected = file_with_length(144, header + "      ");
  expected += std::string("\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0", 16) + "xyz";
  EXPECT_EQ(read_file(folder / "f"), expected);

  write_safetensors(folder / "empty", {});
  EXPECT_EQ(read_file(folder / "empty"), file_with_length(8, "{}      "));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"empty", "f"}));
}

RC_GTEST_PROP(safetensors_writer, what_is_written_reads_back, (uint32_t seed)) {
  constexpr std::array dtypes{TensorDtype::f64, TensorDtype::f32,    TensorDtype::bf16,
                              TensorDtype::u8,  TensorDtype::c64,    TensorDtype::boolean,
                              TensorDtype::f4,  TensorDtype::f6_e2m3};
  const TempFolder folder;
  const CounterRandom random(seed, "bytes");
  const auto count = *rc::gen::inRange(0, 6);
  std::vector<std::string> contents;
  std::vector<TensorToWrite> tensors;
  for (int i = 0; i < count; ++i) {
    TensorToWrite tensor;
    tensor.name = *rc::gen::string<std::string>();
    for (char& c : tensor.name) c = static_cast<char>(c & 0x7f);  // ASCII is UTF-8
    tensor.name += std::to_string(i);
    tensor.dtype = *rc::gen::elementOf(dtypes);
    tensor.shape = *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(0, 5));
    if (bits_of(tensor.dtype) < 8) tensor.shape.push_back(4);  // whole bytes
    const auto size = tensor_byte_size(tensor.dtype, tensor.shape);
    if (!size || *size > 100'000) {
      tensor.shape = {8};
    }
    std::string& content = contents.emplace_back();
    for (int64_t byte = 0; byte < *tensor_byte_size(tensor.dtype, tensor.shape); ++byte) {
      content.push_back(static_cast<char>(random.bits(static_cast<uint64_t>(byte))));
    }
    // Handed over in two pieces.
    tensor.produce = [&contents, i](const ByteSink& sink) {
      const std::string& all = contents[static_cast<size_t>(i)];
      sink(as_bytes(all).first(all.size() / 3));
      sink(as_bytes(all).subspan(all.size() / 3));
    };
    tensors.push_back(std::move(tensor));
  }
  write_safetensors(folder / "f", tensors);

  const Safetensors file(folder / "f");
  RC_ASSERT(file.tensors().size() == tensors.size());
  std::vector<TensorToWrite> copies;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorView& view = file.tensors()[i];
    RC_ASSERT(view.name == tensors[i].name);
    RC_ASSERT(view.dtype == tensors[i].dtype);
    RC_ASSERT(view.shape == tensors[i].shape);
    RC_ASSERT(std::ranges::equal(view.bytes, as_bytes(contents[i])));
    copies.push_back(copy_of(view));
  }
  const std::string bytes = read_file(folder / "f");
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  RC_ASSERT(length % 8 == 0u);
  write_safetensors(folder / "copy", copies);
  RC_ASSERT(read_file(folder / "copy") == bytes);
}

TEST(safetensors_writer, a_failed_write_leaves_the_folder_as_it_was) {
  const TempFolder folder;
  write_file(folder / "f", "before");
  const auto short_by_one = [](const ByteSink& sink) { sink(as_bytes("xy")); };
  const auto long_by_one = [](const ByteSink& sink) {
    sink(as_bytes("xyz"));
    sink(as_bytes("!"));
  };
  const auto failing = [](const ByteSink& sink) {
    sink(as_bytes("x"));
    throw InputError("source", "", "expected more, got none");
  };
  for (const char* name : {"f", "new"}) {
    for (const std::function<void(const ByteSink&)>& produce :
         std::vector<std::function<void(const ByteSink&)>>{short_by_one, long_by_one, failing}) {
      const std::vector<TensorToWrite> tensors{{"w", TensorDtype::u8, {3}, produce}};
      EXPECT_ANY_THROW(write_safetensors(folder / name, tensors));
      EXPECT_EQ(folder.names(), (std::vector<std::string>{"f"}));
      EXPECT_EQ(read_file(folder / "f"), "before");
    }
  }
  write_safetensors(folder / "f", {});
  EXPECT_NE(read_file(folder / "f"), "before");
}

TEST(safetensors_writer, tensors_that_no_file_can_hold_are_the_callers_mistake) {
  const TempFolder folder;
  const auto refused = [&](std::vector<TensorToWrite> tensors) {
    EXPECT_THROW(write_safetensors(folder / "f", tensors), std::invalid_argument);
  };
  refused({bytes_tensor("a", "x"), bytes_tensor("a", "y")});
  refused({bytes_tensor("__metadata__", "x")});
  refused({bytes_tensor("\xff", "x")});
  const auto nothing = [](const ByteSink&) {};
  refused({{"w", TensorDtype::f64, {-1}, nothing}});
  refused({{"w", TensorDtype::f64, {int64_t{1} << 62}, nothing}});
  refused({{"w", TensorDtype::f4, {1}, nothing}});
  const int64_t half = int64_t{1} << 59;  // 2^62 bytes of F64 each: together past 64 bits
  refused({{"a", TensorDtype::f64, {half}, nothing}, {"b", TensorDtype::f64, {half}, nothing}});
  EXPECT_TRUE(folder.names().empty());
}

TEST(safetensors_writer, targets_that_cannot_be_written_are_refused_by_name) {
  const TempFolder folder;
  for (const auto& target : {folder / "absent/f", folder.path(), std::filesystem::path("/dev/null"),
                             std::filesystem::path("/dev/full")}) {
    const std::string message = refusal([&] { write_safetensors(target, {}); });
    EXPECT_TRUE(message.starts_with(target.string() + ": expected")) << message;
  }
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace orthros
