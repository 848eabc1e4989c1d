// Checkpoints for these tests: the goldens laid out as folders, and what dumps hold.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reference/weights/safetensors.hpp"
#include "tests/reference/weights/file_bytes.hpp"

namespace orthros {

inline std::filesystem::path golden_path(const std::string& file) {
  return std::filesystem::path(ORTHROS_TEST_DATA) / "goldens" / file;
}

inline nlohmann::json golden_json(const std::string& name) {
  return nlohmann::json::parse(read_file(golden_path(name + ".json")));
}

// A golden's checkpoint as people have it: a folder with config.json and model.safetensors.
class GoldenCheckpoint {
 public:
  explicit GoldenCheckpoint(const std::string& name) : golden_(golden_json(name)) {
    write_file(folder_ / "config.json", golden_["config"].dump());
    std::filesystem::copy_file(golden_path(name + ".safetensors"), folder_ / "model.safetensors");
  }
  std::string path() const { return folder_.path().string(); }
  const TempFolder& folder() const { return folder_; }
  const nlohmann::json& golden() const { return golden_; }

 private:
  TempFolder folder_;
  nlohmann::json golden_;
};

// "5,7,9".
inline std::string comma_separated(const std::vector<int64_t>& ids) {
  std::string text;
  for (const int64_t id : ids) text.append(text.empty() ? "" : ",").append(std::to_string(id));
  return text;
}

inline std::vector<double> values_of(const TensorView& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  read_as<double>(tensor, values);
  return values;
}

// A tensor's numbers, which must be there in F64 with this shape.
inline std::vector<double> f64_tensor(const Safetensors& file, std::string_view name,
                                      const std::vector<int64_t>& shape) {
  const TensorView* tensor = file.find(name);
  if (tensor == nullptr) {
    ADD_FAILURE() << "no tensor " << name;
    return {};
  }
  EXPECT_EQ(tensor->dtype, TensorDtype::f64) << name;
  EXPECT_EQ(tensor->shape, shape) << name;
  return values_of(*tensor);
}

}  // namespace orthros
