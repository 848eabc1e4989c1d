// What a call refuses: the text of its InputError, checked to be one line.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "reference/spec/input_error.hpp"

namespace orthros {

// The message of the InputError that `call` throws; any other exception, or none, fails the test.
template <typename Call>
std::string refusal_of(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (const InputError& refused) {
    const std::string line = refused.what();
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_LT(line.size(), 1200u) << line;
    return line;
  } catch (const std::exception& other) {
    ADD_FAILURE() << "expected an InputError, caught " << other.what();
    return {};
  }
  ADD_FAILURE() << "expected an InputError, nothing was thrown";
  return {};
}

// True if `line` names the file, then the field, then what was wrong: "file: field: detail", with
// `part` somewhere in the detail.
inline testing::AssertionResult names(const std::string& line, const std::string& file,
                                      const std::string& field, const std::string& part = "") {
  const std::string start = file + ": " + field + ": ";
  if (line.rfind(start, 0) == 0 && line.find(part, start.size()) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << "expected \"" << start << "... " << part << "\", got \"" << line << "\"";
}

}  // namespace orthros
