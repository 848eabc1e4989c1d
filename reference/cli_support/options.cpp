// Parses a verb's options and turns Boost's exceptions into InputErrors.
#include "reference/cli_support/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "reference/spec/input_error.hpp"
#include "reference/spec/size_text.hpp"

namespace orthros::cli {
namespace {

std::string dashed(const char* name) {
  return fmt::format("--{}", name);
}

po::variables_map parsed(const Arguments& arguments, const po::options_description& options) {
  const auto style =
      po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  const po::parsed_options found =
      po::command_line_parser(arguments).options(options).style(style).run();
  for (const auto& option : found.options) {
    if (option.position_key < 0) continue;
    throw InputError(
        "options", "",
        fmt::format("expected --name value, got '{}'", option.original_tokens.front()));
  }
  po::variables_map given;
  po::store(found, given);
  po::notify(given);
  return given;
}

}  // namespace

std::optional<po::variables_map> parse_verb(const Arguments& arguments,
                                            po::options_description options, const char* usage,
                                            const char* notes) {
  options.add_options()("help,h", "print this");
  try {
    po::variables_map given = parsed(arguments, options);
    if (!has_option(given, "help")) return given;
  } catch (const po::unknown_option& error) {
    throw InputError(error.get_option_name(), "", "expected an option that --help lists");
  } catch (const po::multiple_occurrences& error) {
    throw InputError(error.get_option_name(), "", "expected once, got it again");
  } catch (const po::error_with_option_name& error) {
    const bool no_value = dynamic_cast<const po::invalid_command_line_syntax*>(&error) != nullptr;
    throw InputError(
        error.get_option_name(), "",
        no_value ? "expected a value where it takes one, and only there" : error.what());
  } catch (const po::error& error) {
    throw InputError("options", "", error.what());
  }
  std::ostringstream listing;
  listing << options;
  fmt::print("usage: {}\n\n{}\n{}", usage, listing.str(), notes);
  return std::nullopt;
}

bool has_option(const po::variables_map& given, const char* name) {
  return given.count(name) != 0;
}

std::optional<std::string> optional_text(const po::variables_map& given, const char* name) {
  if (!has_option(given, name)) return std::nullopt;
  return given[name].as<std::string>();
}

std::string text_option(const po::variables_map& given, const char* name) {
  const auto text = optional_text(given, name);
  if (!text) throw InputError(dashed(name), "", "expected a value, got none");
  return *text;
}

std::string choice_option(const po::variables_map& given, const char* name,
                          const std::vector<std::string>& allowed) {
  std::string text = text_option(given, name);
  if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
    throw InputError(dashed(name), "",
                     fmt::format("expected one of {}, got '{}'", fmt::join(allowed, ", "), text));
  }
  return text;
}

int64_t size_option(const po::variables_map& given, const char* name, int64_t least) {
  const int64_t size = parse_size(dashed(name), text_option(given, name));
  if (size < least) {
    throw InputError(dashed(name), "", fmt::format("expected at least {}, got {}", least, size));
  }
  return size;
}

std::optional<int64_t> optional_size(const po::variables_map& given, const char* name,
                                     int64_t least) {
  if (!has_option(given, name)) return std::nullopt;
  return size_option(given, name, least);
}

std::vector<std::string> repeated_option(const po::variables_map& given, const char* name) {
  if (!has_option(given, name)) return {};
  return given[name].as<std::vector<std::string>>();
}

std::vector<std::string> split_list(std::string_view option, std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (parts.back().empty()) {
      throw InputError(option, "", "expected a comma-separated list without empty elements");
    }
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace orthros::cli
