// Keys of another context that are copied at their first use.
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

class KeyCopiesTest : public testing::Test {
 protected:
  static Parameters two_digits() { return parameters_with({.name = "", .digits = 2, .special_primes = 2}); }
  [[nodiscard]] KeyRole rotation(std::int64_t steps) const {
    return KeyRole::galois(context->galois_element(steps));
  }

  std::shared_ptr<const Context> context = tests::make_context(two_digits());
  std::shared_ptr<const Context> other = tests::make_context(two_digits());
  SecretKey secret = generate_secret_key(context);
  // Keys of rotations by 1 and 2; that by 1 for low levels as well.
  EvaluationKeys keys = [&] {
    EvaluationKeys made = generate_keys(secret, {.rotations = {1, 2}});
    made.merge(generate_keys(secret, {.rotations = {1}, .galois_level = 0}));
    return made;
  }();
};

TEST_F(KeyCopiesTest, AreMadeAtTheFirstUseAlone) {
  const EvaluationKeys copied = copied_on_use(other, keys);
  const std::size_t before = copied.public_key->poly.bytes();
  EXPECT_EQ(copied.memory_bytes(), before);
  EXPECT_EQ(copied.galois_elements(), keys.galois_elements());
  EXPECT_EQ(copied.security(), keys.security());
  EXPECT_TRUE(copied.has(rotation(2)) && !copied.has(rotation(3)));
  EXPECT_EQ(copied.find(rotation(3), 1), nullptr);
  EXPECT_EQ(copied.memory_bytes(), before);

  const auto source = keys.find(rotation(2), 1);
  const auto found = copied.find(rotation(2), 1);
  EXPECT_EQ(found->context, other);
  EXPECT_EQ(found->gadget, other->gadget(source->gadget->primes()));
  EXPECT_EQ(host_words(*other, found->poly), host_words(*context, source->poly));
  EXPECT_EQ(copied.find(rotation(2), source->gadget->primes()), found);
  EXPECT_EQ(copied.memory_bytes(), before + found->poly.bytes());
  // Copies by level and gadget, as of the keys themselves.
  const auto low = keys.find(rotation(1), 0), high = keys.find(rotation(1), 2);
  ASSERT_NE(low, high);
  EXPECT_EQ(host_words(*other, copied.find(rotation(1), 0)->poly), host_words(*context, low->poly));
  EXPECT_EQ(copied.memory_bytes(), before + found->poly.bytes() + low->poly.bytes());
  EXPECT_TRUE(copied.has(rotation(1), high->gadget->primes()));
  EXPECT_FALSE(copied.has(rotation(2), low->gadget->primes()));
  EXPECT_EQ(copied.memory_bytes(), before + found->poly.bytes() + low->poly.bytes());
}

// Copies of a set share the copied keys; the source's are kept.
TEST_F(KeyCopiesTest, AreOnesForAllThreadsAndOutliveTheSource) {
  auto copied = std::make_unique<EvaluationKeys>(copied_on_use(other, keys));
  const EvaluationKeys again = *copied;
  const auto expected = host_words(*context, keys.find(KeyRole::relinearization(), 2)->poly);
  keys = {};
  context.reset();
  secret = {};
  std::vector<std::shared_ptr<const SwitchingKey>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back(
        [&, i] { found[i] = (i % 2 == 0 ? again : *copied).find(KeyRole::relinearization(), 2); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : found) EXPECT_EQ(each, found.front());
  copied.reset();
  EXPECT_EQ(host_words(*other, again.find(KeyRole::relinearization(), 2)->poly), expected);
}

TEST_F(KeyCopiesTest, AreKeysOfTheirContextInUnionsAndOnTheWayOn) {
  const SecretKey there = copy_to(other, secret);
  const EvaluationKeys own = generate_keys(there, {.public_key = false, .rotations = {2, 3}});
  EvaluationKeys first = own, second = copied_on_use(other, keys);
  first.merge(second);
  second.merge(own);
  // The one that was there stays.
  EXPECT_EQ(first.find(rotation(2), 2), own.find(rotation(2), 2));
  EXPECT_NE(second.find(rotation(2), 2), own.find(rotation(2), 2));
  for (const EvaluationKeys* set : {&first, &second}) {
    for (const std::int64_t steps : {1, 2, 3}) EXPECT_EQ(set->find(rotation(steps), 2)->context, other);
    EXPECT_EQ(set->find(rotation(3), 2), own.find(rotation(3), 2));
  }
  // To a third context, and back home.
  for (const auto& target : {tests::make_context(two_digits()), context}) {
    for (const EvaluationKeys& moved : {copy_to(target, second), copied_on_use(target, second)}) {
      const auto found = moved.find(rotation(2), 2);
      EXPECT_EQ(found->context, target);
      EXPECT_EQ(host_words(*target, found->poly), host_words(*context, keys.find(rotation(2), 2)->poly));
    }
  }
  // Keys that are at home are not copied.
  EXPECT_EQ(copied_on_use(context, second).find(rotation(1), 2), keys.find(rotation(1), 2));
  const auto elsewhere = tests::make_context(parameters_with({.name = "", .digits = 4}));
  EXPECT_THROW(static_cast<void>(copied_on_use(elsewhere, keys)), MismatchError);
}

}  // namespace
}  // namespace hemera::rlwe
