// Tests of the safetensors reader: the case files by their names, sound files, decoding.
#include "reference/weights/safetensors.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "reference/weights/bfloat16.hpp"
#include "tests/reference/weights/file_bytes.hpp"

namespace orthros {
namespace {

std::vector<std::filesystem::path> case_files(std::string_view prefix) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(ORTHROS_TEST_DATA) / "cases" / "safetensors")) {
    if (entry.path().filename().string().starts_with(prefix)) files.push_back(entry.path());
  }
  return files;
}

// The folder is read when the test runs, so that a file dropped into it counts at once.
TEST(safetensors, every_ok_file_loads) {
  const auto files = case_files("ok_");
  EXPECT_GE(files.size(), 4u);
  for (const auto& path : files) {
    EXPECT_NO_THROW(Safetensors{path}) << path;
    const std::string bytes = read_file(path);
    EXPECT_NO_THROW(Safetensors(as_bytes(bytes), "memory")) << path;
  }
}

TEST(safetensors, every_bad_file_is_refused_in_one_line_that_names_it) {
  const auto files = case_files("bad_");
  EXPECT_GE(files.size(), 8u);
  for (const auto& path : files) {
    SCOPED_TRACE(path);
    const std::string message = refusal([&] { Safetensors{path}; });
    EXPECT_TRUE(message.starts_with(path.string() + ": ")) << message;
    EXPECT_NE(message.find("expected "), std::string::npos) << message;
    EXPECT_NE(message.find("got "), std::string::npos) << message;
    const std::string bytes = read_file(path);
    refusal([&] { Safetensors(as_bytes(bytes), "memory"); });
  }
}

std::vector<double> doubles_of(const TensorView& view) {
  std::vector<double> values(static_cast<size_t>(view.elements()));
  read_as<double>(view, values);
  return values;
}

TEST(safetensors, case_files_hold_the_values_that_their_bytes_say) {
  for (const auto& path : case_files("ok_")) {
    const Safetensors file(path);
    const TensorView* w = file.find("w");
    ASSERT_NE(w, nullptr) << path;
    if (w->dtype == TensorDtype::f32) {
      EXPECT_EQ(doubles_of(*w), (std::vector<double>{1, 2})) << path;
    }
    if (path.filename() == "ok_bf16_subnormal.safetensors") {
      const auto values = doubles_of(*w);
      EXPECT_EQ(values[0], 0x1p-133);
      EXPECT_EQ(values[1], 0x1p-127);
      EXPECT_EQ(values[2], -0x1p-133);
      EXPECT_TRUE(std::isnan(values[3]));
    }
    if (path.filename() == "ok_metadata.safetensors") {
      EXPECT_EQ(file.metadata().at("format"), "pt");
    }
    if (path.filename() == "ok_empty_tensor.safetensors") {
      EXPECT_EQ(file.find("e")->shape, (std::vector<int64_t>{0}));
      EXPECT_TRUE(doubles_of(*file.find("e")).empty());
    }
  }
}

TEST(safetensors, sound_headers_of_unusual_shape_load) {
  for (const std::string& bytes : {
           file_of("{}"),
           file_of("{}      "),
           file_of(R"({"__metadata__":{}})"),
           file_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4),
           file_of(R"({"":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1),
           // Fields and tensors in any order.
           file_of(R"({"b":{"data_offsets":[4,6],"dtype":"F16","shape":[1]},)"
                   R"("a":{"shape":[1],"data_offsets":[0,4],"dtype":"I32"}})",
                   6),
           // Empty tensors at the start, between two others and at the end.
           file_of(R"({"x":{"dtype":"F32","shape":[0,9],"data_offsets":[0,0]},)"
                   R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                   R"("y":{"dtype":"F32","shape":[3,0],"data_offsets":[2,2]},)"
                   R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},)"
                   R"("z":{"dtype":"F64","shape":[0],"data_offsets":[4,4]}})",
                   4),
           file_of(R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", 1),
           file_of(R"({"é\n\u00e9":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 1),
       }) {
    EXPECT_NO_THROW(Safetensors(as_bytes(bytes), "memory")) << bytes;
  }
}

TEST(safetensors, tensors_keep_the_headers_order_and_are_found_by_name) {
  const std::string bytes = file_of(R"({"b":{"dtype":"U8","shape":[1,2],"data_offsets":[1,3]},)"
                                    R"("a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})",
                                    3);
  Safetensors first(as_bytes(bytes), "memory");
  const TensorView* b = first.find("b");
  const Safetensors file = std::move(first);  // views outlive the move
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "b");
  EXPECT_EQ(file.tensors()[1].name, "a");
  EXPECT_EQ(file.find("b"), b);
  EXPECT_EQ(b->shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(b->dtype, TensorDtype::u8);
  EXPECT_EQ(b->file, "memory");
  EXPECT_EQ(b->bytes.size(), 2u);
  EXPECT_EQ(b->bytes[0], std::byte{2});  // the data holds 1, 2, 3
  for (const std::string_view absent : {"", "aa", "c", "B"}) {
    EXPECT_EQ(file.find(absent), nullptr);
  }
}

// One tensor of this dtype, its data at an odd address.
template <typename Stored>
std::string one_tensor(std::string_view dtype, std::vector<Stored> values) {
  const size_t size = values.size() * sizeof(Stored);
  std::string header = R"({"w":{"dtype":")" + std::string(dtype) + R"(","shape":[)" +
                       std::to_string(values.size()) + R"(],"data_offsets":[0,)" +
                       std::to_string(size) + "]}}";
  if (header.size() % 2 == 0) header.push_back(' ');
  std::string file = file_of(header);
  return file.append(reinterpret_cast<const char*>(values.data()), size);
}

template <typename Scalar>
std::vector<Scalar> read_all(const std::string& bytes) {
  const Safetensors file(as_bytes(bytes), "memory");
  std::vector<Scalar> values(static_cast<size_t>(file.find("w")->elements()));
  read_as<Scalar>(*file.find("w"), values);
  return values;
}

std::vector<uint16_t> bits_of_all(const std::vector<bfloat16>& values) {
  std::vector<uint16_t> bits;
  for (const bfloat16 value : values) bits.push_back(value.bits());
  return bits;
}

TEST(safetensors, every_weight_type_reads_as_every_scalar) {
  // 1 + 2^-8 + 2^-40 is just above the midpoint of two bfloat16, which float cannot tell.
  const std::string f64 = one_tensor<double>("F64", {1 + 0x1p-8 + 0x1p-40, -0.1});
  EXPECT_EQ(read_all<double>(f64), (std::vector<double>{1 + 0x1p-8 + 0x1p-40, -0.1}));
  EXPECT_EQ(read_all<float>(f64), (std::vector<float>{1 + 0x1p-8f, -0.1f}));
  EXPECT_EQ(bits_of_all(read_all<bfloat16>(f64)), (std::vector<uint16_t>{0x3f81, 0xbdcd}));

  const std::string f32 = one_tensor<float>("F32", {1 + 0x1p-8f, 0x1p-127f});  // a tie; subnormal
  EXPECT_EQ(read_all<double>(f32), (std::vector<double>{1 + 0x1p-8, 0x1p-127}));
  EXPECT_EQ(read_all<float>(f32), (std::vector<float>{1 + 0x1p-8f, 0x1p-127f}));
  EXPECT_EQ(bits_of_all(read_all<bfloat16>(f32)), (std::vector<uint16_t>{0x3f80, 0x0040}));

  const std::string f16 = one_tensor<uint16_t>("F16", {0x0001, 0xc000});  // 2^-24, -2
  EXPECT_EQ(read_all<double>(f16), (std::vector<double>{0x1p-24, -2}));
  EXPECT_EQ(read_all<float>(f16), (std::vector<float>{0x1p-24f, -2}));
  EXPECT_EQ(bits_of_all(read_all<bfloat16>(f16)), (std::vector<uint16_t>{0x3380, 0xc000}));

  const std::string bf16 = one_tensor<uint16_t>("BF16", {0x0001, 0x3f81});
  EXPECT_EQ(read_all<double>(bf16), (std::vector<double>{0x1p-133, 1 + 0x1p-7}));
  EXPECT_EQ(read_all<float>(bf16), (std::vector<float>{0x1p-133f, 1 + 0x1p-7f}));
  EXPECT_EQ(bits_of_all(read_all<bfloat16>(bf16)), (std::vector<uint16_t>{0x0001, 0x3f81}));
}

TEST(safetensors, types_that_are_no_weights_load_and_are_refused_by_name_on_use) {
  const std::array<std::pair<std::string_view, size_t>, 18> types{{
      {"I64", 8},
      {"I32", 4},
      {"I16", 2},
      {"I8", 1},
      {"U64", 8},
      {"U32", 4},
      {"U16", 2},
      {"U8", 1},
      {"BOOL", 1},
      {"F8_E5M2", 1},
      {"F8_E4M3", 1},
      {"F8_E8M0", 1},
      {"F8_E4M3FNUZ", 1},
      {"C64", 8},
      {"F8_E5M2FNUZ", 1},
      {"F6_E2M3", 3 * 8},
      {"F4", 4 * 8},
      {"F6_E3M2", 3 * 8},
  }};
  for (const auto& [dtype, width] : types) {
    // The sub-byte types: 32 elements of 6 bits, 64 of 4.
    const bool sub_byte = dtype.starts_with("F6") || dtype == "F4";
    const std::string shape = !sub_byte ? "1" : dtype == "F4" ? "64" : "32";
    const std::string bytes =
        file_of(R"({"w":{"dtype":")" + std::string(dtype) + R"(","shape":[)" + shape +
                    R"(],"data_offsets":[0,)" + std::to_string(width) + "]}}",
                width);
    const Safetensors file(as_bytes(bytes), "memory");
    EXPECT_EQ(std::to_string(file.find("w")->elements()), shape);
    const std::string message = refusal([&] { doubles_of(*file.find("w")); });
    EXPECT_EQ(message,
              "memory: w: expected weights in F64, F32, F16 or BF16, got " + std::string(dtype));
  }
}

TEST(safetensors, reading_into_a_span_of_another_size_is_the_callers_mistake) {
  const std::string bytes = one_tensor<float>("F32", {1, 2});
  const Safetensors file(as_bytes(bytes), "memory");
  std::array<double, 3> three{};
  EXPECT_THROW(read_as<double>(*file.find("w"), three), std::invalid_argument);
  EXPECT_THROW(read_as<double>(*file.find("w"), std::span(three).first(1)), std::invalid_argument);
}

TEST(mapped_file, an_absent_file_a_directory_an_empty_file_and_a_pipe_are_refused) {
  const TempFolder folder;
  EXPECT_NE(refusal([&] { MappedFile{folder / "absent"}; }).find("No such file"),
            std::string::npos);
  EXPECT_NE(refusal([&] { MappedFile{folder.path()}; }).find("a directory"), std::string::npos);
  write_file(folder / "empty", "");
  EXPECT_NE(refusal([&] { MappedFile{folder / "empty"}; }).find("an empty one"), std::string::npos);
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal([&] { MappedFile{folder / "pipe"}; }).find("a special one"), std::string::npos);
}

}  // namespace
}  // namespace orthros
