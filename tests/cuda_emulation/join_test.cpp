// Sums of products of bytes, joined modulo primes of every size, by exact integers.
#include "poly/cuda/matrix/join.cuh"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace hemera::poly::cuda::matrix {
namespace {

__extension__ using int128 = __int128;

// Sums of as many products as they hold: of residues, some of them the largest, and integers of one byte
// (count == bytes) or two, some of them the least or the most.
template <unsigned bytes, unsigned count>
void check(std::uint64_t modulus) {
  const arith::Modulus q(modulus);
  const Join<bytes> join(q);
  std::mt19937_64 random(modulus + count);
  constexpr bool two = count > bytes;
  constexpr int most = two ? 32767 : 127;
  for (int round = 0; round < 20000; ++round) {
    std::int64_t sums[count] = {};
    int128 value = 0;
    constexpr int kinds = 4;  // of products, which are there many times
    const int sign = static_cast<int>(random() % 3);
    for (int kind = 0; kind < kinds; ++kind) {
      const std::uint64_t x = random() % 3 == 0 ? random() % modulus : modulus - 1;
      int w = static_cast<int>(random() % (2 * most + 2)) - most - 1;
      if (sign != 0 && random() % 4 != 0) w = sign == 1 ? most : -most - 1;
      const std::int64_t times = (two ? 1 << 14 : 1 << 16) / kinds - static_cast<int>(random() % 2);
      for (unsigned i = 0; i < bytes; ++i) {
        const auto byte = static_cast<std::int64_t>(x >> (8 * i) & 255);
        sums[i] += times * byte * (two ? w & 255 : w);
        if (two) sums[i + 1] += times * byte * (w >> 8);
      }
      value += static_cast<int128>(times) * w * static_cast<int128>(x);
    }
    const std::uint64_t added = random() % 2 == 0 ? modulus - 1 : random() % modulus;
    value = (value + static_cast<int128>(added)) % static_cast<int128>(modulus);
    const auto expected =
        static_cast<std::uint64_t>(value < 0 ? value + static_cast<int128>(modulus) : value);
    const std::uint64_t joined = join.template operator()<count>(
        [&](unsigned i) { return static_cast<std::int32_t>(sums[i]); }, added);
    ASSERT_EQ(joined, expected) << modulus << ", " << count << " sums";
  }
}

TEST(EmulationJoin, SumsAreTheIntegersModuloPrimes) {
  for (const std::uint64_t modulus :
       {2ULL, 65536ULL, 1048583ULL, 1073479681ULL, 2147483648ULL, 4294967291ULL}) {
    check<4, 4>(modulus);
    check<4, 5>(modulus);
  }
  for (const std::uint64_t modulus :
       {4294967296ULL, 4294967311ULL, 8589934583ULL, 8589934592ULL, 140737488355328ULL, 281474976710597ULL}) {
    check<6, 6>(modulus);
    check<6, 7>(modulus);
  }
  for (const std::uint64_t modulus : {281474976710656ULL, 562949951979521ULL, 72057594037927931ULL}) {
    check<7, 7>(modulus);
    check<7, 8>(modulus);
  }
  for (const std::uint64_t modulus : {72057594037927936ULL, 72057594037927941ULL, 2305843009213693921ULL}) {
    check<8, 8>(modulus);
    check<8, 9>(modulus);
  }
}

}  // namespace
}  // namespace hemera::poly::cuda::matrix
