// Tests that hostile safetensors files are refused for the right reason, and allocate nothing from
// a header's claim: this program counts what it allocates.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "reference/weights/counter_random.hpp"
#include "reference/weights/safetensors.hpp"
#include "tests/reference/weights/file_bytes.hpp"

namespace {

std::atomic<size_t> largest_request{0};

void* counted(size_t size) {
  size_t seen = largest_request.load();
  while (size > seen && !largest_request.compare_exchange_weak(seen, size)) {
  }
  void* memory = std::malloc(std::max<size_t>(size, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) {
  return counted(size);
}
void* operator new[](size_t size) {
  return counted(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}

namespace orthros {
namespace {

// Refused with `reason` in the message, and no allocation larger than the file's own size explains.
void expect_refused(const std::string& file, std::string_view reason) {
  largest_request = 0;
  std::string message;
  try {
    const Safetensors opened(as_bytes(file), "hostile");
    ADD_FAILURE() << "loaded: " << file.substr(0, 200);
  } catch (const InputError& error) {
    message = error.what();
  }
  // A tensor of at least 49 header bytes becomes an entry of 80 and later a view of 104, both in
  // vectors that double; a dimension of 2 bytes becomes one of 8. 4096: messages and small change.
  EXPECT_LE(largest_request.load(), 4096 + 16 * file.size());
  EXPECT_TRUE(message.starts_with("hostile: ")) << message;
  EXPECT_NE(message.find(reason), std::string::npos) << message << "\n" << file.substr(0, 200);
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_LT(message.size(), 500u);
}

// One F32 tensor w of four bytes with a field's text replaced.
std::string with(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  std::string header = R"({"w":{"dtype":)";
  header.append(dtype).append(R"(,"shape":)").append(shape);
  header.append(R"(,"data_offsets":)").append(offsets).append("}}");
  return file_of(header, 4);
}
std::string with_shape(std::string_view shape) {
  return with("\"F32\"", shape, "[0,4]");
}
std::string with_offsets(std::string_view offsets) {
  return with("\"F32\"", "[1]", offsets);
}
std::string with_dtype(std::string_view dtype) {
  return with(dtype, "[1]", "[0,4]");
}

std::string nested(std::string_view open, size_t depth) {
  std::string text;
  for (size_t i = 0; i < depth; ++i) text.append(open);
  return text;
}

TEST(hostile_safetensors, the_file_that_the_cases_vary_loads) {
  EXPECT_NO_THROW(Safetensors(as_bytes(with("\"F32\"", "[1]", "[0,4]")), "sound"));
}

TEST(hostile_safetensors, header_lengths_past_the_file_are_refused) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::string rest = header + "\1\2\3\4";
  const uint64_t file_size = 8 + rest.size();
  for (const uint64_t length :
       {rest.size() + 1, file_size, file_size + 1, uint64_t{1} << 31, uint64_t{1} << 32,
        uint64_t{1} << 62, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    expect_refused(file_with_length(length, rest), "header length: expected at most");
  }
  expect_refused(file_with_length(0, rest), "header: expected JSON");
  expect_refused(file_with_length(rest.size(), rest), "header: expected JSON");
  expect_refused(file_with_length(header.size() - 1, rest), "header: expected JSON");
  for (size_t size = 0; size < 8; ++size) {
    expect_refused(std::string(size, '\0'), "header length: expected 8 bytes");
  }
  expect_refused(std::string(8, '\0'), "header: expected JSON");
}

TEST(hostile_safetensors, a_header_past_the_formats_bound_is_refused_though_the_file_holds_it) {
  const TempFolder folder;
  write_file(folder / "long.safetensors", file_with_length(100'000'001, "{"));
  std::filesystem::resize_file(folder / "long.safetensors", 100'000'009);  // sparse
  largest_request = 0;
  EXPECT_NE(refusal([&] {
              Safetensors{folder / "long.safetensors"};
            }).find("header length: expected at most 100000000"),
            std::string::npos);
  EXPECT_LE(largest_request.load(), 4096u);
}

TEST(hostile_safetensors, headers_that_are_no_json_object_are_refused) {
  using namespace std::string_literals;
  for (const std::string& header : {"[]"s,
                                    "\"x\""s,
                                    "1"s,
                                    "null"s,
                                    "true"s,
                                    " {}"s,
                                    "\xef\xbb\xbf{}"s,
                                    "{"s,
                                    "}"s,
                                    "{}x"s,
                                    "{}{}"s,
                                    "{}\0"s,
                                    "{}\0{"s,
                                    "{},"s,
                                    "{\"a\"}"s,
                                    "{\"a\":}"s,
                                    "{'a':1}"s,
                                    "{a:1}"s,
                                    "{/**/}"s,
                                    "{\"\1\":1}"s,
                                    "{\"a"s,
                                    "{\"a\\"s,
                                    "{\"a\\x\":1}"s,
                                    "{\"a\":NaN}"s,
                                    "{,}"s}) {
    expect_refused(file_of(header), "header: expected JSON");
  }
  for (const std::string& value : {"1"s, "[]"s, "\"x\""s, "null"s, "true"s, "-1"s, "1.5"s}) {
    expect_refused(file_of(std::string("{\"a\":") + value + "}"), "\"a\": expected an object, got");
  }
}

TEST(hostile_safetensors, invalid_utf8_is_refused) {
  for (const std::string_view name : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80",
                                      "\xf5\x80\x80\x80", "\\ud800", "\\udc00\\ud800"}) {
    std::string header = "{\"";
    header.append(name).append(R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})");
    expect_refused(file_of(header, 1), "header: expected JSON");
  }
}

TEST(hostile_safetensors, deep_nesting_is_refused_at_once) {
  constexpr size_t depth = 1'000'000;
  expect_refused(file_of(nested("[", depth)), "header: expected JSON");
  expect_refused(file_of(nested("{\"a\":", depth)), "expected dtype, shape and data_offsets");
  expect_refused(file_of(std::string("{\"a\":") + nested("[", depth)),
                 "\"a\": expected an object, got an array");
  expect_refused(with_shape(nested("[", depth)), "\"w\".shape: expected integers");
  expect_refused(with_shape(nested("{\"a\":", depth)), "\"w\".shape: expected an array");
  expect_refused(with_offsets(nested("[", depth)), "\"w\".data_offsets: expected two integers");
  expect_refused(file_of(std::string("{\"__metadata__\":{\"a\":") + nested("[", depth)),
                 "__metadata__: ");
}

TEST(hostile_safetensors, dimensions_that_are_no_count_are_refused) {
  for (const std::string_view value :
       {"1e300", "1.5", "1.0", "1e0", "true", "null", "\"1\"", "-1", "-0", "[1]", "{}",
        "9223372036854775808", "18446744073709551615", "18446744073709551616",
        "-9223372036854775808", "1000000000000000000000000000000"}) {
    expect_refused(with_shape(std::string("[") + std::string(value) + "]"),
                   "\"w\".shape: expected integers");
  }
  expect_refused(with_shape("[1e999]"), "header: expected JSON");  // out of double's range
  for (const std::string_view value : {"1", "\"[1]\"", "null", "{}", "true"}) {
    expect_refused(with_shape(value), "\"w\".shape: expected an array");
  }
}

TEST(hostile_safetensors, shapes_whose_size_overflows_are_refused) {
  for (const std::string_view shape :
       {"[4294967296,4294967296]", "[9223372036854775807,2]", "[4611686018427387904,4]",
        "[2305843009213693952]", "[9223372036854775807]", "[3037000500,3037000500]",
        "[65536,65536,65536,65536]", "[4294967296,4294967296,0]"}) {
    expect_refused(with_shape(shape), "\"w\".shape: expected a whole number of bytes");
  }
  expect_refused(with("\"F4\"", "[7]", "[0,4]"), "\"w\".shape: expected a whole number of bytes");
  expect_refused(with("\"F6_E2M3\"", "[5]", "[0,4]"),
                 "\"w\".shape: expected a whole number of bytes");
  // Huge claims that fit 64 bits fail against the file's size.
  expect_refused(with("\"U8\"", "[1000000000000]", "[0,1000000000000]"), "<= 4 (the data's size)");
  expect_refused(with("\"U8\"", "[1000000000000]", "[0,4]"), "expected 1000000000000 bytes");
}

TEST(hostile_safetensors, offsets_that_are_no_range_of_the_data_are_refused) {
  for (const std::string_view offsets :
       {"[4,0]", "[0,5]", "[1,5]", "[4,8]", "[0,9223372036854775807]", "[8,4]",
        "[9223372036854775803,9223372036854775807]", "[9223372036854775807,0]"}) {
    expect_refused(with_offsets(offsets), "\"w\".data_offsets: expected begin <= end <= 4");
  }
  for (const std::string_view offsets : {"[0,0]", "[0,3]", "[1,4]", "[4,4]"}) {
    expect_refused(with_offsets(offsets), "\"w\".data_offsets: expected 4 bytes");
  }
  for (const std::string_view offsets :
       {"[]", "[0]", "[0,4,4]", "[-0,4]", "[-4,0]", "[0.0,4]", "[0,4.0]", "[0,1e300]", "[null,4]",
        "[\"0\",\"4\"]", "[0,9223372036854775808]", "[0,18446744073709551620]", "[[0],[4]]"}) {
    expect_refused(with_offsets(offsets), "\"w\".data_offsets: expected two integers");
  }
  for (const std::string_view offsets : {"0", "\"0,4\"", "{}", "null"}) {
    expect_refused(with_offsets(offsets), "\"w\".data_offsets: expected an array of two offsets");
  }
}

// Tensors of bytes at these ranges, named a, b, ...
std::string ranges(const std::vector<std::pair<int, int>>& list, size_t data_size) {
  std::string header = "{";
  char name = 'a';
  for (const auto& [begin, end] : list) {
    if (header.size() > 1) header.push_back(',');
    header.append("\"").append(1, name++).append(R"(":{"dtype":"U8","shape":[)");
    header.append(std::to_string(end - begin)).append(R"(],"data_offsets":[)");
    header.append(std::to_string(begin)).append(",").append(std::to_string(end)).append("]}");
  }
  return file_of(header + "}", data_size);
}

TEST(hostile_safetensors, overlaps_and_holes_are_refused) {
  EXPECT_NO_THROW(Safetensors(as_bytes(ranges({{4, 8}, {0, 4}}, 8)), "sound"));
  expect_refused(ranges({{0, 4}, {0, 4}}, 4), "\"b\".data_offsets: expected to begin at 4");
  expect_refused(ranges({{0, 4}, {3, 7}}, 7), "\"b\".data_offsets: expected to begin at 4");
  expect_refused(ranges({{0, 8}, {2, 4}}, 8), "\"b\".data_offsets: expected to begin at 8");
  expect_refused(ranges({{0, 8}, {4, 4}}, 8), "\"b\".data_offsets: expected to begin at 8");
  expect_refused(ranges({{0, 4}, {5, 8}}, 8), "\"b\".data_offsets: expected to begin at 4");
  expect_refused(ranges({{1, 4}}, 4), "\"a\".data_offsets: expected to begin at 0");
  expect_refused(ranges({{0, 4}}, 5), "data: expected 4 bytes");
  expect_refused(ranges({}, 1), "data: expected 0 bytes");
}

TEST(hostile_safetensors, missing_unknown_and_repeated_fields_are_refused) {
  const std::string dtype = R"("dtype":"F32")", shape = R"("shape":[1])",
                    offsets = R"("data_offsets":[0,4])";
  const auto entry = [](const std::string& fields) {
    return file_of(std::string("{\"w\":{") + fields + "}}", 4);
  };
  expect_refused(entry(""), "\"w\".dtype: expected a value, got none");
  expect_refused(entry(shape + "," + offsets), "\"w\".dtype: expected a value, got none");
  expect_refused(entry(dtype + "," + offsets), "\"w\".shape: expected a value, got none");
  expect_refused(entry(dtype + "," + shape), "\"w\".data_offsets: expected a value, got none");
  const std::string all = dtype + "," + shape + "," + offsets;
  for (const std::string& twice : {dtype, shape, offsets}) {
    expect_refused(entry(all + "," + twice), "expected one, got a second");
  }
  for (const std::string_view extra : {"\"extra\":1", "\"Shape\":[1]", "\"\":{}"}) {
    expect_refused(entry(all + std::string(",") + std::string(extra)),
                   "\"w\": expected dtype, shape and data_offsets, got \"");
  }
}

TEST(hostile_safetensors, repeated_tensors_are_refused_though_their_ranges_are_sound) {
  const std::string header =
      R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
      R"("v":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
      R"("\u0077":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})";  // an escaped w
  expect_refused(file_of(header, 3), "\"w\": expected one, got a second");
}

TEST(hostile_safetensors, dtypes_that_the_format_lacks_are_refused) {
  for (const std::string_view dtype : {"\"Q7_X\"", "\"\"", "\"f32\"", "\"F32 \"", "\"F128\"", "0",
                                       "null", "true", "[\"F32\"]", "{}", "\"float32\""}) {
    expect_refused(with_dtype(dtype), "\"w\".dtype: expected one of F64, F32, F16, BF16");
  }
  expect_refused(with_dtype(std::string("\"") + std::string(100'000, 'x') + '"'),
                 "\"w\".dtype: expected one of");
}

TEST(hostile_safetensors, metadata_other_than_text_for_text_is_refused) {
  for (const std::string_view value : {"1", "[]", "\"x\"", "null", "true"}) {
    expect_refused(file_of(std::string("{\"__metadata__\":") + std::string(value) + "}"),
                   "__metadata__: expected an object");
  }
  for (const std::string_view value : {"1", "[]", "{}", "null", "true", "1.5", "-1"}) {
    expect_refused(file_of(std::string("{\"__metadata__\":{\"k\":") + std::string(value) + "}}"),
                   "__metadata__: expected a string for each key");
  }
  expect_refused(file_of(R"({"__metadata__":{"k":"1","k":"1"}})"), "got \"k\" twice");
  expect_refused(file_of(R"({"__metadata__":{},"__metadata__":{}})"), "expected one, got a second");
}

TEST(hostile_safetensors, names_with_line_breaks_or_of_great_length_stay_within_one_short_line) {
  expect_refused(file_of(R"({"a\nb\r\u001b[0m":1})"), "expected an object, got 1");
  expect_refused(file_of(std::string("{\"") + std::string(1'000'000, 'x') + "\":1}"),
                 "...\": expected an object");
}

TEST(hostile_safetensors, a_changed_byte_is_refused_or_leaves_a_sound_file) {
  const std::string sound =
      file_of(R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
              R"("b":{"dtype":"BF16","shape":[0],"data_offsets":[8,8]}})",
              8);
  const CounterRandom random(1, "mutations");
  for (uint64_t i = 0; i < 20000; ++i) {
    std::string file = sound;
    const uint64_t bits = random.bits(i);
    for (uint64_t change = 0; change <= bits % 3; ++change) {
      const uint64_t word = random.bits(1'000'000 + 4 * i + change);
      file[(word >> 8) % file.size()] = static_cast<char>(word & 0xff);
    }
    if (bits >> 60 == 0) file.resize((bits >> 16) % file.size());
    try {
      const Safetensors opened(as_bytes(file), "mutated");
      size_t total = 0;
      for (const TensorView& tensor : opened.tensors()) {
        ASSERT_EQ(tensor_byte_size(tensor.dtype, tensor.shape),
                  static_cast<int64_t>(tensor.bytes.size()));
        ASSERT_EQ(opened.find(tensor.name), &tensor);
        total += tensor.bytes.size();
      }
      ASSERT_LE(total, file.size() - 8);
    } catch (const InputError&) {
    }
  }
}

}  // namespace
}  // namespace orthros
