// Errors that calls are to throw, by their type and text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hemera::tests {

/// The text of the ErrorType that the call throws; empty if it throws nothing.
template <typename ErrorType, typename Call>
std::string refusal(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const ErrorType& error) {
    return error.what();
  }
  return "";
}

/// Whether the text has the part; a failure shows both.
inline ::testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

/// Fails unless the call throws an ErrorType whose text contains every one of `parts`.
template <typename ErrorType, typename Call>
void expect_error(const Call& call, const std::vector<std::string>& parts) {
  try {
    static_cast<void>(call());
  } catch (const ErrorType& error) {
    for (const std::string& part : parts) EXPECT_TRUE(says(error.what(), part));
    return;
  }
  ADD_FAILURE() << "no error; expected one that says '" << (parts.empty() ? "" : parts.front()) << "'";
}

}  // namespace hemera::tests
