// Messages in parts.
#include "hemera/runtime/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hemera {
namespace {

// An error that another wraps keeps its way out, caught as its base and copied as exceptions are.
TEST(Error, KeepsItsPartsWhereItIsWrapped) {
  try {
    try {
      throw SecurityError("weak; " + Message(WayOut::no_security, "ask for no security level") + ".");
    } catch (const ParameterError& error) {
      throw FormatError(std::string("invalid parameters: ") + error.message());
    }
  } catch (const Error& error) {
    const Error copy = error;
    EXPECT_STREQ(copy.what(), "invalid parameters: weak; ask for no security level.");
    const Message message = copy.message();
    ASSERT_EQ(message.parts().size(), 4U);
    EXPECT_EQ(message.parts()[2].way_out, WayOut::no_security);
    EXPECT_EQ(message.parts()[1].way_out, std::nullopt);
  }
  EXPECT_EQ(Error("no level is left").message().text(), "no level is left");
}

}  // namespace
}  // namespace hemera
