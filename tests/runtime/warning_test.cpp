// The handler of warnings, and messages in parts.
#include "hemera/runtime/warning.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "hemera/runtime/error.hpp"

namespace hemera {
namespace {

using Kind = Warning::Kind;

// The handler of the process, back at the end.
class Handled {
 public:
  explicit Handled(WarningHandler handler) : former_(set_warning_handler(std::move(handler))) {}
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;
  ~Handled() { set_warning_handler(std::move(former_)); }

 private:
  WarningHandler former_;
};

TEST(Warnings, GoToTheHandlerEachTime) {
  std::vector<std::string> told;
  const Handled handled([&](const Warning& warning) {
    told.push_back((warning.kind == Kind::undeclared_range ? "range: " : "budget: ") + warning.text);
  });
  EXPECT_TRUE(has_warning_handler());
  warn(Kind::undeclared_range, "a");
  warn(Kind::spent_noise_budget, "b");
  warn(Kind::undeclared_range, "a");
  EXPECT_EQ(told, (std::vector<std::string>{"range: a", "budget: b", "range: a"}));
}

TEST(Warnings, AnEmptyHandlerSilencesThem) {
  const Handled handled(nullptr);
  EXPECT_FALSE(has_warning_handler());
  ::testing::internal::CaptureStderr();
  warn(Kind::undeclared_range, "a");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(static_cast<bool>(set_warning_handler(nullptr)));
}

// In a process of its own: the first handler prints each kind once.
TEST(Warnings, AreFirstPrintedOnceForEachKind) {
  const auto program = [] {
    for (int i = 0; i < 3; ++i) {
      warn(Kind::undeclared_range, "<range>");
      warn(Kind::spent_noise_budget, "<budget>");
    }
    std::exit(0);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(0),
              "^hemera: warning: <range>[^<]*hemera: warning: <budget>[^<]*$");
}

TEST(Warnings, MayThrowAndMaySetAnother) {
  const Handled handled([](const Warning& warning) { throw RangeError(warning.text); });
  EXPECT_THROW(warn(Kind::undeclared_range, "a"), RangeError);
  int told = 0;
  set_warning_handler([&](const Warning&) {
    ++told;
    set_warning_handler(nullptr);
  });
  warn(Kind::undeclared_range, "a");
  warn(Kind::undeclared_range, "a");
  EXPECT_EQ(told, 1);
}

TEST(Warnings, ComeFromSeveralThreads) {
  std::atomic<int> told{0};
  const Handled handled([&](const Warning&) { ++told; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 100; ++j) warn(Kind::spent_noise_budget, "a");
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(told, 400);
}

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
