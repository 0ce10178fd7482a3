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

/// Fails unless the call throws an ErrorType whose text contains every one of `parts`.
template <typename ErrorType, typename Call>
void expect_error(const Call& call, const std::vector<std::string>& parts) {
  try {
    static_cast<void>(call());
  } catch (const ErrorType& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "'" << part << "' is not in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "no error; expected one that says '" << (parts.empty() ? "" : parts.front()) << "'";
}

}  // namespace hemera::tests
