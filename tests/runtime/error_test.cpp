// Messages in parts.
#include "hemera/runtime/error.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace hemera {
namespace {

Message rotation_needs_a_key() {
  return std::string("rotation by 3 needs its key (") +
         Message(WayOut::keys_of_rotation, "generate_keys of the rotations [3]", "3") + ")";
}

TEST(Error, SaysItsPartsInOrder) {
  const MissingKeyError error(rotation_needs_a_key());
  EXPECT_STREQ(error.what(), "rotation by 3 needs its key (generate_keys of the rotations [3])");
  const Message message = error.message();
  ASSERT_EQ(message.parts().size(), 3U);
  EXPECT_EQ(message.text(), error.what());
  EXPECT_EQ(message.parts()[0].way_out, std::nullopt);
  EXPECT_EQ(message.parts()[1].way_out, WayOut::keys_of_rotation);
  EXPECT_EQ(message.parts()[1].field, "3");
  EXPECT_EQ(message.parts()[2].text, ")");
}

TEST(Error, OfTextAloneIsOnePart) {
  for (const Error& error : {Error("no level is left"), Error(std::string("no level is left"))}) {
    ASSERT_EQ(error.message().parts().size(), 1U);
    EXPECT_EQ(error.message().parts().front().text, "no level is left");
    EXPECT_EQ(error.message().parts().front().way_out, std::nullopt);
  }
}

// An error that another wraps keeps its way out, thrown as its base and copied as exceptions are.
TEST(Error, KeepsItsWayOutWhereItIsWrapped) {
  try {
    try {
      throw SecurityError("weak; " + Message(WayOut::no_security, "ask for no security level"));
    } catch (const ParameterError& error) {
      throw FormatError("the file holds invalid parameters: " + error.message());
    }
  } catch (const Error& error) {
    const Error copy = error;
    EXPECT_STREQ(copy.what(), "the file holds invalid parameters: weak; ask for no security level");
    EXPECT_EQ(copy.message().parts().back().way_out, WayOut::no_security);
  }
}

}  // namespace
}  // namespace hemera
