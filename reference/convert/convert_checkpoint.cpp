// Plans which tensors go into which file, then writes them.
#include "reference/convert/convert_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "reference/model/weight_source.hpp"
#include "reference/spec/architecture.hpp"
#include "reference/spec/config.hpp"
#include "reference/spec/config_extension.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/spec/json_fields.hpp"
#include "reference/spec/output_file.hpp"
#include "reference/spec/output_folder.hpp"
#include "reference/weights/safetensors.hpp"
#include "reference/weights/safetensors_writer.hpp"

namespace orthros {
namespace {

namespace fs = std::filesystem;

constexpr const char* index_name = "model.safetensors.index.json";

// What travels beside config and weights.
constexpr const char* companions[] = {"generation_config.json",
                                      "tokenizer.json",
                                      "tokenizer_config.json",
                                      "tokenizer.model",
                                      "vocab.json",
                                      "merges.txt",
                                      "added_tokens.json",
                                      "special_tokens_map.json",
                                      "chat_template.jinja",
                                      "chat_template.json",
                                      "LICENSE"};

// `count` times 1 or 0 in a dtype of weights.
std::vector<std::byte> repeated(TensorDtype dtype, bool one, int64_t count) {
  const auto width = static_cast<size_t>(bits_of(dtype) / 8);
  uint64_t bits = 0;
  if (one) {
    bits = dtype == TensorDtype::f64   ? std::bit_cast<uint64_t>(1.0)
           : dtype == TensorDtype::f32 ? std::bit_cast<uint32_t>(1.0F)
           : dtype == TensorDtype::f16 ? 0x3c00U
                                       : 0x3f80U;
  }
  std::vector<std::byte> bytes(width * static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(bits >> (i % width * 8) & 0xff);
  return bytes;
}

class Converter {
 public:
  Converter(const fs::path& config, const TensorSource& files, const ModelSpec& target,
            const std::function<void(int64_t)>& copied_bytes)
      : config_(fs::is_directory(config) ? config / "config.json" : config),
        files_(files),
        target_(target),
        copied_bytes_(copied_bytes) {
    const ModelSpec source = load_spec(config);
    check_tensors(source, files);
    plan_copies(source);
    plan_additions();
  }

  Conversion write(const fs::path& out) {
    OutputFolder folder(out);
    write_weights(folder.path());
    const auto json = read_json_file(config_);
    write_text(folder.path(), "config.json", config_for(json, target_).dump(2) + "\n");
    for (const char* name : companions) copy_companion(name, folder.path());
    require_same_model(load_spec(folder.path()));
    folder.commit();
    return std::move(conversion_);
  }

 private:
  // Everything but what the source's spec names and the target's does not.
  void plan_copies(const ModelSpec& source) {
    std::set<const TensorView*> kept_out;
    for (const TensorInfo& tensor : tensor_table(source)) {
      kept_out.insert(find_tensor(files_, tensor.name));
    }
    for (const TensorInfo& tensor : tensor_table(target_)) {
      kept_out.erase(find_tensor(files_, tensor.name));
    }
    for (const TensorView* view : files_.tensors()) {
      if (kept_out.contains(view)) {
        conversion_.left_out.push_back(view->name);
      } else {
        copies_[std::string(view->file)].push_back(view);
        ++conversion_.copied;
      }
    }
    // As they lie in the file.
    for (auto& [file, views] : copies_) {
      std::ranges::stable_sort(views, {},
                               [](const TensorView* view) { return view->bytes.data(); });
    }
  }

  void plan_additions() {
    const CheckpointWeights weights(files_);
    for (const TensorInfo& tensor : tensor_table(target_)) {
      if (weights.has(tensor.name)) {
        weights.read(tensor, 0, {});  // its shape fits
      } else if (tensor.role == TensorRole::scale || tensor.role == TensorRole::offset) {
        add_identity(tensor);
      } else {
        throw InputError(files_.file(), tensor.name,
                         fmt::format("expected this tensor for architecture {}, found none",
                                     architecture_of(target_)));
      }
    }
  }

  // In the file, the naming and the dtype of its layer's q_proj.
  void add_identity(const TensorInfo& tensor) {
    constexpr std::string_view query = "q_proj.weight";
    const size_t stem = tensor.name.rfind('.') + 1;
    const TensorView* beside =
        find_tensor(files_, tensor.name.substr(0, stem) + std::string(query));
    TensorToWrite added;
    added.name =
        beside->name.substr(0, beside->name.size() - query.size()) + tensor.name.substr(stem);
    added.dtype = beside->dtype;
    added.shape = tensor.shape;
    added.produce = [bytes = repeated(beside->dtype, tensor.role == TensorRole::scale,
                                      tensor.elements())](const ByteSink& sink) { sink(bytes); };
    conversion_.added.push_back(added.name);
    additions_[std::string(beside->file)].push_back(std::move(added));
  }

  void write_weights(const fs::path& folder) {
    const bool sharded = fs::path(files_.file()).filename() == index_name;
    nlohmann::json weight_map;
    int64_t total = 0;
    for (const auto& [file, views] : copies_) {
      const std::string name =
          sharded ? fs::path(file).filename().string() : std::string("model.safetensors");
      std::vector<TensorToWrite> tensors;
      for (const TensorView* view : views) tensors.push_back(watched_copy(*view));
      for (TensorToWrite& added : additions_[file]) tensors.push_back(std::move(added));
      for (const TensorToWrite& tensor : tensors) {
        weight_map[tensor.name] = name;
        total += tensor_byte_size(tensor.dtype, tensor.shape).value();
      }
      const Safetensors source(file);
      write_safetensors(folder / name, tensors,
                        {source.metadata().begin(), source.metadata().end()});
      conversion_.files.push_back(name);
    }
    if (!sharded) return;
    const nlohmann::json index = {{"metadata", {{"total_size", total}}},
                                  {"weight_map", weight_map}};
    write_text(folder, index_name, index.dump(2) + "\n");
  }

  TensorToWrite watched_copy(const TensorView& view) const {
    TensorToWrite copy = copy_of(view);
    copy.produce = [this, bytes = view.bytes](const ByteSink& sink) {
      sink(bytes);
      copied_bytes_(static_cast<int64_t>(bytes.size()));
    };
    return copy;
  }

  void write_text(const fs::path& folder, const char* name, std::string_view text) {
    write_text_file(folder / name, text);
    conversion_.files.emplace_back(name);
  }

  void copy_companion(const char* name, const fs::path& folder) {
    const fs::path from = config_.parent_path() / name;
    std::error_code error;
    if (!fs::is_regular_file(from, error)) return;
    fs::copy_file(from, folder / name, error);
    if (error) {
      throw InputError(from.string(), "",
                       fmt::format("expected to copy this file, got: {}", error.message()));
    }
    conversion_.files.emplace_back(name);
  }

  // The config written must mean the spec asked for, or the checkpoint would lie.
  void require_same_model(const ModelSpec& written) const {
    if (written.layers == target_.layers && written.streams == target_.streams) return;
    throw InputError(config_.string(), "",
                     fmt::format("expected a config that architecture {} can be written into",
                                 architecture_of(target_)));
  }

  fs::path config_;
  const TensorSource& files_;
  const ModelSpec& target_;
  const std::function<void(int64_t)>& copied_bytes_;
  std::map<std::string, std::vector<const TensorView*>> copies_;  // by source file
  std::map<std::string, std::vector<TensorToWrite>> additions_;   // by source file
  Conversion conversion_;
};

}  // namespace

Conversion convert_checkpoint(const fs::path& config, const TensorSource& files,
                              const ModelSpec& target, const fs::path& out,
                              const std::function<void(int64_t)>& copied_bytes) {
  return Converter(config, files, target, copied_bytes).write(out);
}

}  // namespace orthros
