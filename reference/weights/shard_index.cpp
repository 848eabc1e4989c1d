// Reads a shard index with nlohmann's event parser, which sees repeated keys.
#include "reference/weights/shard_index.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "reference/spec/input_error.hpp"
#include "reference/weights/quoted_text.hpp"

namespace orthros {
namespace {

// A plain name cannot lead out of the checkpoint's folder.
bool is_plain_shard_name(std::string_view name) {
  constexpr std::string_view suffix = ".safetensors";
  return name.size() > suffix.size() && name.ends_with(suffix) &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

class IndexReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit IndexReader(std::string_view file) : file_(file) {}

  std::map<std::string, std::string, std::less<>> take() {
    if (!map_seen_) refuse("weight_map", "expected an object of tensor: file, got none");
    return std::move(shards_);
  }

  bool null() override { return other("null"); }
  bool boolean(bool /*value*/) override { return other("a boolean"); }
  bool number_integer(number_integer_t /*value*/) override { return other("a number"); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return other("a number"); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override {
    return other("a number");
  }
  bool binary(binary_t& /*value*/) override { return other("binary"); }

  bool string(string_t& value) override {
    if (!in_map()) return other("a string");
    if (!is_plain_shard_name(value)) {
      refuse("weight_map", fmt::format("expected the plain name of a .safetensors file for {}, "
                                       "got {}",
                                       quoted_text(name_), quoted_text(value)));
    }
    shards_[name_] = std::move(value);
    return true;
  }

  bool key(string_t& name) override {
    if (depth_ == 1) {
      bool& seen = name == "weight_map" ? map_seen_ : metadata_seen_;
      if (name != "weight_map" && name != "metadata") {
        refuse("", fmt::format("expected metadata and weight_map, got {}", quoted_text(name)));
      }
      if (std::exchange(seen, true)) refuse(name, "expected one, got a second");
      map_next_ = name == "weight_map";
    } else if (in_map()) {
      name_ = std::move(name);
      if (!shards_.emplace(name_, "").second) {
        refuse("weight_map",
               fmt::format("expected each tensor once, got {} twice", quoted_text(name_)));
      }
    }
    return true;
  }

  bool start_object(size_t /*unknown*/) override {
    if (in_map()) return other("an object");
    return enter();
  }
  bool end_object() override { return leave(); }

  bool start_array(size_t /*unknown*/) override {
    if (depth_ <= 1 || in_map()) return other("an array");
    return enter();
  }
  bool end_array() override { return leave(); }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    refuse("", fmt::format("expected JSON, got a syntax error at byte {}", position));
  }

 private:
  static constexpr int max_depth = 16;

  bool in_map() const { return map_next_ && depth_ == 2; }

  bool enter() {
    if (++depth_ > max_depth)
      refuse("", fmt::format("expected nesting to {} levels, got more", max_depth));
    return true;
  }

  bool leave() {
    --depth_;
    return true;
  }

  // A value that is neither a shard's name nor an object: fine inside the metadata only.
  bool other(std::string_view got) const {
    if (depth_ == 0) refuse("", fmt::format("expected an object, got {}", got));
    if (in_map()) {
      refuse("weight_map",
             fmt::format("expected a file's name for {}, got {}", quoted_text(name_), got));
    }
    if (map_next_) {
      refuse("weight_map", fmt::format("expected an object of tensor: file, got {}", got));
    }
    return true;
  }

  [[noreturn]] void refuse(std::string_view field, std::string_view what) const {
    throw InputError(file_, field, what);
  }

  std::string_view file_;
  std::map<std::string, std::string, std::less<>> shards_;
  std::string name_;  // of the tensor whose file comes next
  int depth_ = 0;
  bool map_seen_ = false;
  bool metadata_seen_ = false;
  bool map_next_ = false;  // the field at the top being read is weight_map
};

}  // namespace

std::map<std::string, std::string, std::less<>> parse_shard_index(std::string_view json,
                                                                  std::string_view file) {
  // The parser takes a NUL for the end of its input and would leave what follows unread.
  if (const size_t nul = json.find('\0'); nul != std::string_view::npos) {
    throw InputError(file, "", fmt::format("expected JSON, got a NUL at byte {}", nul + 1));
  }
  IndexReader reader(file);
  nlohmann::json::sax_parse(json, &reader);
  return reader.take();
}

}  // namespace orthros
