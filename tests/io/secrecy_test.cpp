// A saved secret key leaves nothing on the stack.
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <unordered_set>
#include <vector>

#include "child_process.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/runtime/checksum.hpp"
#include "io/small_parameters.hpp"

namespace hemera::io {
namespace {

// Runs in a thread on a stack that is given, and which is ours to look at afterwards.
void run_on(std::vector<std::byte>& stack, std::function<void()> body) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack.data(), stack.size()), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* given) -> void* {
                  (*static_cast<std::function<void()>*>(given))();
                  return nullptr;
                },
                &body),
            0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

using Word = std::array<std::byte, 8>;

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// How many places of `memory` hold eight bytes of `secret`.
std::size_t found(std::span<const std::byte> memory, std::span<const std::byte> secret) {
  std::unordered_set<std::uint64_t> words;
  for (std::size_t i = 0; i + sizeof(Word) <= secret.size(); ++i) words.insert(word_at(secret, i));
  std::size_t count = 0;
  for (std::size_t i = 0; i + sizeof(Word) <= memory.size(); ++i) count += words.count(word_at(memory, i));
  return count;
}

class Secrecy : public testing::Test {
 protected:
  void SetUp() override {
    if (tests::sanitized) GTEST_SKIP() << "sanitizers lay the stack out otherwise";
  }

  std::vector<std::byte> stack_ = std::vector<std::byte>(std::size_t{1} << 20);
};

TEST_F(Secrecy, AChecksumLeavesNothingOfItsBytesOnTheStack) {
  for (const std::size_t size : {8, 40, 64, 200, 240, 241, 300, 1000, 1024, 1030, 8192 + 7}) {
    std::vector<std::byte> secret(size);
    for (std::size_t i = 0; i < size; ++i) secret[i] = static_cast<std::byte>((i * 0x9E3779B1U) >> 11 & 0xFF);
    const std::vector<std::byte> head(24, std::byte{0xEE});
    std::uint64_t sum = 0;
    run_on(stack_, [&] {
      sum = runtime::checksum(1, head, secret);
      sum += runtime::checksum(2, secret);
    });
    EXPECT_NE(sum, 0U);
    EXPECT_EQ(found(stack_, secret), 0U) << size;
  }
}

TEST_F(Secrecy, SavingAndLoadingASecretKeyLeavesNothingOfItOnTheStack) {
  const auto context = test::small_context(rlwe::Scheme::bfv, 40);
  const auto path = std::filesystem::temp_directory_path() /
                    ("hemera-secrecy-" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()));
  const rlwe::SecretKey key = rlwe::generate_secret_key(context);
  const std::vector<std::byte> file = save(key);
  // Two bits a coefficient.
  const auto secret = std::span(file).last(context->degree() / 4);
  ASSERT_GT(found(file, secret), secret.size() / 2) << "the test looks for the wrong bytes";
  run_on(stack_, [&] { save_file(path, key); });
  EXPECT_EQ(found(stack_, secret), 0U);
  ASSERT_EQ(load_file(path), file);
  run_on(stack_, [&] { static_cast<void>(load_any(context, path)); });
  EXPECT_EQ(found(stack_, secret), 0U);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hemera::io
