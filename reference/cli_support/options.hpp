// Options of a verb: parsed by Boost.Program_options, refused as InputError.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/cli_support/program.hpp"

namespace orthros::cli {

namespace po = boost::program_options;

// Parses the arguments; --help is added to `options`. Empty where --help was given, and printed:
// the usage line, the options, the notes (any of them ending in a newline but the usage). Names are
// never guessed from their beginnings: an option added later must not change what a script means.
// Throws InputError for what is unknown, repeated, without its value, or not an option.
std::optional<po::variables_map> parse_verb(const Arguments& arguments,
                                            po::options_description options, const char* usage,
                                            const char* notes);

bool has_option(const po::variables_map& given, const char* name);
// An option's text; required: InputError where it is absent.
std::string text_option(const po::variables_map& given, const char* name);
std::optional<std::string> optional_text(const po::variables_map& given, const char* name);
// One of `allowed`.
std::string choice_option(const po::variables_map& given, const char* name,
                          const std::vector<std::string>& allowed);
// Sizes as people write them (size_text.hpp), at least `least`.
int64_t size_option(const po::variables_map& given, const char* name, int64_t least = 0);
std::optional<int64_t> optional_size(const po::variables_map& given, const char* name,
                                     int64_t least = 0);
// Every value of an option that may be repeated, in the order given.
std::vector<std::string> repeated_option(const po::variables_map& given, const char* name);

// Elements of a comma-separated list; an empty one is refused.
std::vector<std::string> split_list(std::string_view option, std::string_view text);

}  // namespace orthros::cli
