// The integer arithmetics of the transforms at the ends of their ranges, where random data seldom comes:
// words for which no carry is lost, and rounds that end within what the next one takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "poly/cuda/rounds.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;
using arith::uint128;

// 1 modulo 2^32 (factors need not be roots, nor moduli primes), from the largest down.
constexpr std::uint64_t montgomery_moduli[] = {
    (std::uint64_t{1} << 60) - (std::uint64_t{1} << 32) + 1, (std::uint64_t{1} << 59) + (77ULL << 32) + 1,
    (0xabcdef1ULL << 32) + 1, (std::uint64_t{1} << 39) + (std::uint64_t{1} << 32) + 1};
constexpr std::uint64_t shoup_moduli[] = {(std::uint64_t{1} << 61) - 1, (std::uint64_t{1} << 60) + 33, 97};

// Up to `most` q: every fourth one beside a multiple of q, the largest one more often.
class Words {
 public:
  explicit Words(std::uint64_t q) : q_(q) {}

  std::uint64_t below(unsigned most) {
    const std::uint64_t limit = most * q_, random = generator_();
    if (random % 4 == 0) return (random / 64 % 2 == 0 ? most : 1 + random / 128 % most) * q_ - random / 4 % 3;
    return static_cast<std::uint64_t>((static_cast<uint128>(generator_()) * limit) >> 64);
  }
  std::uint64_t residue() { return std::min(below(1), q_ - 1); }

 private:
  std::uint64_t q_;
  std::mt19937_64 generator_{1};
};

TEST(EmulationArithmetic, MontgomeryWordsHoldFourteenTimesTheModulus) {
  for (const std::uint64_t value : montgomery_moduli) {
    const Modulus q(value);
    ASSERT_TRUE(M64::takes(q)) << value;
    const M64::Modulus m = M64::modulus(q);
    const std::uint64_t power = q.reduce(uint128{1} << 64);
    Words words(value);
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t x = words.below(14), w = words.residue();
      const std::uint64_t reduced = M64::reduce(x, m), product = M64::multiply(x, {w}, m);
      ASSERT_LT(reduced, 2 * value) << x;
      ASSERT_EQ(q.reduce(reduced), q.reduce(x)) << x;
      ASSERT_EQ(M64::finish_forward(x, m), q.reduce(x)) << x;
      ASSERT_LT(product, 2 * value) << x << " times " << w;
      ASSERT_EQ(q.multiply(product, power), q.multiply(q.reduce(x), w)) << x << " times " << w;
    }
  }
}

TEST(EmulationArithmetic, MontgomeryTakesNoSmallerModuli) {
  EXPECT_FALSE(M64::takes(Modulus((std::uint64_t{1} << 38) + (std::uint64_t{1} << 32) + 1)));
  EXPECT_FALSE(M64::takes(Modulus((std::uint64_t{1} << 60) + (std::uint64_t{1} << 32) + 1)));
}

// A round takes values up to `begin` q, and leaves values up to `end` q.
template <class A, int stages, bool first>
void expect_forward(std::uint64_t value, unsigned begin, unsigned end) {
  const Modulus q(value);
  const auto m = A::modulus(q);
  Words words(value);
  for (int i = 0; i < 2000; ++i) {
    std::uint64_t x[1 << stages];
    for (std::uint64_t& word : x) word = words.below(begin);
    forward_round<A, stages, first>(
        x, [&](int) { return A::twiddle(words.residue(), q); }, m);
    for (const std::uint64_t word : x) ASSERT_LE(word, end * value) << value << ", stages " << stages;
  }
}

TEST(EmulationArithmetic, ForwardRoundsEndInTheRangeOfTheNext) {
  for (const std::uint64_t q : montgomery_moduli) {
    expect_forward<M64, 3, true>(q, 2, 8);
    expect_forward<M64, 4, true>(q, 2, 10);
    expect_forward<M64, 5, true>(q, 2, 4);
    expect_forward<M64, 1, false>(q, 10, 8);
    expect_forward<M64, 2, false>(q, 10, 8);
    expect_forward<M64, 3, false>(q, 10, 8);
    expect_forward<M64, 4, false>(q, 10, 8);
  }
  for (const std::uint64_t q : shoup_moduli) {
    expect_forward<U64, 4, true>(q, 2, 8);
    expect_forward<U64, 4, false>(q, 8, 8);
  }
}

template <class A>
void expect_inverse(std::uint64_t value) {
  const Modulus q(value);
  const auto m = A::modulus(q);
  Words words(value);
  for (int i = 0; i < 2000; ++i) {
    std::uint64_t x[16];
    for (std::uint64_t& word : x) word = words.below(2);
    inverse_round<A, 4, false>(
        x, [&](int) { return A::twiddle(words.residue(), q); }, m);
    for (const std::uint64_t word : x) ASSERT_LE(word, 2 * value) << value;
    inverse_round<A, 4, true>(
        x, [&](int) { return A::twiddle(words.residue(), q); }, m);
    for (const std::uint64_t word : x) ASSERT_EQ(A::finish_inverse(word, m), q.reduce(word)) << value;
  }
}

TEST(EmulationArithmetic, InverseRoundsEndInProducts) {
  for (const std::uint64_t q : montgomery_moduli) expect_inverse<M64>(q);
  for (const std::uint64_t q : shoup_moduli) expect_inverse<U64>(q);
}

}  // namespace
}  // namespace hemera::poly::cuda
