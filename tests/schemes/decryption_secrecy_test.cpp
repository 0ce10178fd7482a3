// What decryptions of BFV and BGV leave on the stack: nothing that tells the plaintext.
#include <gtest/gtest.h>

#include <unordered_set>

#include "hemera/rlwe/encryption.hpp"
#include "host_words.hpp"
#include "own_stack.hpp"
#include "schemes/integer_support.hpp"

namespace hemera::testing {
namespace {

#if defined(HEMERA_TEST_OWN_STACK)

template <typename S>
struct DecryptionSecrecy : ::testing::Test {};
using BothSchemes = ::testing::Types<Bfv, Bgv>;
TYPED_TEST_SUITE(DecryptionSecrecy, BothSchemes);

TYPED_TEST(DecryptionSecrecy, TheStackHoldsNoResiduesOfThePhase) {
  const auto context = rlwe::Context::make(test_chain<TypeParam>(65537, 3), {}, {.threads = 1});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const integer::Encoder encoder(context);
  const std::vector<std::int64_t> values(context->degree(), 12345);
  const rlwe::Ciphertext x = TypeParam::encrypt(encoder.encode(values, {}), secret);
  // The residues of message and noise, and their multiples by the factors that conversions to t begin with.
  const poly::Poly phase = rlwe::decrypt_phase(x, secret);
  const poly::RnsBase& base = phase.base();
  const std::vector<std::uint64_t> words = tests::host_words(*context, phase);
  std::unordered_set<std::uint64_t> telling;
  const std::size_t n = context->degree();
  for (std::size_t limb = 0; limb < base.size(); ++limb) {
    const arith::Modulus& q = base.modulus(limb);
    std::uint64_t punctured = 1;
    for (std::size_t i = 0; i < base.size(); ++i) {
      if (i != limb) punctured = q.multiply(punctured, q.reduce(base.modulus(i).value()));
    }
    const std::uint64_t factor = arith::inverse(punctured, q.value());
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t residue = words[limb * n + i];
      // Small words are on every stack.
      for (const std::uint64_t word : {residue, q.multiply(residue, factor)}) {
        if (word > 0xffffffff) telling.insert(word);
      }
    }
  }
  constexpr std::size_t bytes = std::size_t{1} << 20;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const stack = static_cast<std::byte*>(memory);
  const auto found = [&] {
    std::size_t count = 0;
    for (std::size_t offset = 0; offset < bytes; offset += 8) {
      std::uint64_t value = 0;
      std::memcpy(&value, stack + offset, 8);
      count += telling.count(value);
    }
    return count;
  };
  tests::run_on_stack(stack, bytes, [&] { static_cast<void>(TypeParam::decrypt(x, secret)); });
  EXPECT_EQ(found(), 0U);
  // The scan finds what is left: a copy that nobody zeroes.
  tests::run_on_stack(stack, bytes, [&] {
    std::uint64_t copy[4096];
    std::copy_n(words.begin(), 4096 < words.size() ? 4096 : words.size(), copy);
    __asm__ __volatile__("" : : "r"(copy) : "memory");
  });
  EXPECT_GT(found(), 0U);
  munmap(memory, bytes);
}

#endif

}  // namespace
}  // namespace hemera::testing
