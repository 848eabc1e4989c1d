// Tests of TensorSource over every layout of a checkpoint's folder, and of the shard index.
#include "reference/weights/checkpoint_files.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reference/weights/shard_index.hpp"
#include "tests/reference/weights/file_bytes.hpp"

namespace orthros {
namespace {

// A file of one-byte tensors with these names; the first holds 1, the second 2, ...
std::string shard(const std::vector<std::string>& names) {
  std::string header = "{";
  for (size_t i = 0; i < names.size(); ++i) {
    header += (i == 0 ? "\"" : ",\"") + names[i] +
              R"(":{"dtype":"U8","shape":[],"data_offsets":[)" + std::to_string(i) + "," +
              std::to_string(i + 1) + "]}";
  }
  return file_of(header + "}", names.size());
}

std::vector<std::string> names_of(const TensorSource& source) {
  std::vector<std::string> names;
  for (const TensorView* tensor : source.tensors()) names.push_back(tensor->name);
  return names;
}

constexpr std::string_view index_name = "model.safetensors.index.json";

TEST(checkpoint_files, one_file_is_found_by_either_name_or_by_its_path) {
  for (const std::string_view name : {"model.safetensors", "other.safetensors"}) {
    const TempFolder folder;
    write_file(folder / name, shard({"b", "a"}));
    write_file(folder / "config.json", "{}");
    for (const auto& path : {folder.path(), folder / name}) {
      const TensorSource source(path);
      EXPECT_EQ(names_of(source), (std::vector<std::string>{"a", "b"}));
      EXPECT_EQ(source.file(), (folder / name).string());
      EXPECT_EQ(source.find("a")->bytes[0], std::byte{2});
      EXPECT_EQ(source.find("b")->bytes[0], std::byte{1});
      EXPECT_EQ(source.find("c"), nullptr);
      EXPECT_EQ(source.find(""), nullptr);
    }
  }
}

TEST(checkpoint_files, model_safetensors_is_preferred_to_files_of_other_names) {
  const TempFolder folder;
  write_file(folder / "model.safetensors", shard({"a"}));
  write_file(folder / "other.safetensors", "not even a header");
  EXPECT_EQ(names_of(TensorSource(folder.path())), (std::vector<std::string>{"a"}));
}

TEST(checkpoint_files, an_index_says_which_shard_holds_each_tensor_and_stray_files_are_ignored) {
  const TempFolder folder;
  write_file(folder / "model-1.safetensors", shard({"a", "b"}));
  write_file(folder / "model-2.safetensors", shard({"a", "c", "unlisted"}));
  write_file(folder / "model-3.safetensors", "a stray shard, not even a header");
  write_file(folder / "model.safetensors", "a stray file, not even a header");
  write_file(folder / index_name,
             R"({"metadata":{"total_size":3},"weight_map":{"c":"model-2.safetensors",)"
             R"("a":"model-2.safetensors","b":"model-1.safetensors"}})");
  const TensorSource source(folder.path());
  EXPECT_EQ(names_of(source), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(source.find("a")->file, (folder / "model-2.safetensors").string());
  EXPECT_EQ(source.find("a")->bytes[0], std::byte{1});
  EXPECT_EQ(source.find("b")->bytes[0], std::byte{2});
  EXPECT_EQ(source.find("c")->bytes[0], std::byte{2});
  EXPECT_EQ(source.find("unlisted"), nullptr);
  EXPECT_EQ(source.file(), (folder / index_name).string());
}

TEST(checkpoint_files, an_absent_shard_is_named_before_any_shard_is_read) {
  const TempFolder folder;
  // Reading the shards that are there would fail for another reason.
  write_file(folder / "model-1.safetensors", "not even a header");
  write_file(folder / "model-3.safetensors", "not even a header");
  write_file(folder / "model.safetensors", shard({"a"}));
  write_file(folder / index_name,
             R"({"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors",)"
             R"("c":"model-3.safetensors"}})");
  EXPECT_EQ(refusal([&] { TensorSource{folder.path()}; }),
            (folder / index_name).string() +
                ": weight_map: expected every shard beside it, got none named "
                "\"model-2.safetensors\"");
}

TEST(checkpoint_files, a_tensor_that_its_shard_lacks_is_named_with_the_shard) {
  const TempFolder folder;
  write_file(folder / "model-1.safetensors", shard({"a"}));
  write_file(folder / "model-2.safetensors", shard({"b"}));
  write_file(folder / index_name,
             R"({"weight_map":{"a":"model-1.safetensors","b":"model-1.safetensors"}})");
  const std::string message = refusal([&] { TensorSource{folder.path()}; });
  EXPECT_TRUE(message.starts_with((folder / "model-1.safetensors").string() + ": \"b\": "))
      << message;
}

TEST(checkpoint_files, a_bad_shard_is_named) {
  const TempFolder folder;
  write_file(folder / "model-1.safetensors", "bad");
  write_file(folder / index_name, R"({"weight_map":{"a":"model-1.safetensors"}})");
  EXPECT_TRUE(refusal([&] {
                TensorSource{folder.path()};
              }).starts_with((folder / "model-1.safetensors").string() + ": header length: "));
}

TEST(checkpoint_files, folders_without_certain_weights_are_refused) {
  const TempFolder folder;
  EXPECT_NE(refusal([&] { TensorSource{folder / "absent"}; }).find("No such file"),
            std::string::npos);
  EXPECT_NE(refusal([&] { TensorSource{folder.path()}; }).find("got 0 files"), std::string::npos);
  write_file(folder / "one.safetensors", shard({"a"}));
  write_file(folder / "two.safetensors", shard({"a"}));
  EXPECT_NE(refusal([&] { TensorSource{folder.path()}; }).find("got 2 files"), std::string::npos);
}

TEST(checkpoint_files, opening_reads_headers_only) {
  // 16 GB of data that no disk here holds: a sparse file of one bf16 tensor of 8e9 weights.
  const TempFolder folder;
  const std::string header =
      R"({"w":{"dtype":"BF16","shape":[8000000000],"data_offsets":[0,16000000000]}})";
  write_file(folder / "model.safetensors", file_of(header));
  std::filesystem::resize_file(folder / "model.safetensors", 8 + header.size() + 16'000'000'000);
  const TensorSource source(folder.path());
  EXPECT_EQ(source.find("w")->elements(), 8'000'000'000);
  EXPECT_EQ(source.find("w")->bytes.back(), std::byte{0});
}

TEST(shard_index, case_files_are_read_or_refused_as_their_names_say) {
  int read = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(ORTHROS_TEST_DATA) / "cases" / "shard_index")) {
    SCOPED_TRACE(entry.path());
    const std::string json = read_file(entry.path());
    if (entry.path().filename().string().starts_with("ok_")) {
      EXPECT_NO_THROW(parse_shard_index(json, "index"));
      ++read;
    } else {
      refusal([&] { parse_shard_index(json, "index"); });
      ++refused;
    }
  }
  EXPECT_GE(read, 1);
  EXPECT_GE(refused, 3);
}

TEST(shard_index, metadata_may_hold_anything_of_modest_depth) {
  const auto map =
      parse_shard_index(R"({"metadata":{"total_size":1.5,"x":[1,-2,null,true,{"y":"z","y":"z"}]},)"
                        R"("weight_map":{"a":"s.safetensors"}})",
                        "index");
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(map.at("a"), "s.safetensors");
  EXPECT_NO_THROW(parse_shard_index(R"({"metadata":null,"weight_map":{}})", "index"));
}

TEST(shard_index, names_that_lead_elsewhere_are_refused) {
  for (const std::string_view name :
       {"../s.safetensors", "/s.safetensors", "d/s.safetensors", "d\\\\s.safetensors", "..", ".",
        "", ".safetensors", "pytorch_model.bin", "s.safetensors/", "s\\u0000.safetensors",
        "s.safetensors\\u0000"}) {
    const std::string json = R"({"weight_map":{"a":")" + std::string(name) + "\"}}";
    const std::string message = refusal([&] { parse_shard_index(json, "index"); });
    EXPECT_TRUE(message.starts_with("index: weight_map: expected the plain name")) << message;
  }
}

TEST(shard_index, anything_but_an_index_is_refused) {
  using namespace std::string_literals;
  std::string deep = R"({"metadata":)";
  for (int i = 0; i < 100'000; ++i) deep += "[";
  for (const std::string& json : {""s,
                                  "[]"s,
                                  "1"s,
                                  "null"s,
                                  "\"x\""s,
                                  "{}"s,
                                  "{"s,
                                  "{}{}"s,
                                  R"({"metadata":{}})"s,
                                  R"({"weight_map":[]})"s,
                                  R"({"weight_map":null})"s,
                                  R"({"weight_map":1})"s,
                                  R"({"weight_map":"s.safetensors"})"s,
                                  R"({"weight_map":{"a":1}})"s,
                                  R"({"weight_map":{"a":null}})"s,
                                  R"({"weight_map":{"a":["s.safetensors"]}})"s,
                                  R"({"weight_map":{"a":{"b":"s.safetensors"}}})"s,
                                  R"({"weight_map":{}}x)"s,
                                  R"({"weight_map":{},"weight_map":{}})"s,
                                  R"({"metadata":1,"metadata":1,"weight_map":{}})"s,
                                  R"({"weight_map":{"a":"s.safetensors","a":"s.safetensors"}})"s,
                                  R"({"weight_map":{},"other":1})"s,
                                  "{\"weight_map\":{}}\0"s,
                                  "{\"weight_map\":{\"\xff\":\"s.safetensors\"}}"s,
                                  deep}) {
    const std::string message = refusal([&] { parse_shard_index(json, "index"); });
    EXPECT_TRUE(message.starts_with("index: ")) << message;
    EXPECT_LT(message.size(), 300u);
  }
}

}  // namespace
}  // namespace orthros
