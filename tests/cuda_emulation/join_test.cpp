// Sums of products of bytes, joined modulo primes of every size, by exact integers.
#include "poly/cuda/matrix/join.cuh"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace hemera::poly::cuda::matrix {
namespace {

__extension__ using int128 = __int128;

template <unsigned bytes, unsigned count>
void check(std::uint64_t prime) {
  const arith::Modulus q(prime);
  const Join<bytes> join(q);
  std::mt19937_64 random(prime + count);
  const auto rest = [&](int128 value) {
    const auto modulus = static_cast<int128>(prime);
    return static_cast<std::uint64_t>((value % modulus + modulus) % modulus);
  };
  for (int round = 0; round < 20000; ++round) {
    std::int32_t sums[count];
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t bits = random();
      sums[i] = bits % 4 == 0 ? INT32_MAX : bits % 4 == 1 ? INT32_MIN : static_cast<std::int32_t>(bits >> 32);
      if (i == 8) sums[i] /= 2;
    }
    int128 value = 0;
    for (unsigned i = count; i > 0; --i) value = value * 256 + sums[i - 1];
    const std::uint64_t joined = join.template operator()<count>([&](unsigned i) { return sums[i]; });
    ASSERT_EQ(joined, rest(value)) << prime << ", " << count << " sums";
    ASSERT_EQ(join.next_byte(joined), rest(static_cast<int128>(joined) * 256)) << prime;
  }
}

TEST(EmulationJoin, SumsAreTheIntegersModuloPrimes) {
  for (const std::uint64_t prime : {1048583ULL, 1073479681ULL, 4294967291ULL}) {
    check<4, 4>(prime);
    check<4, 5>(prime);
  }
  for (const std::uint64_t prime : {4294967311ULL, 281474976710597ULL}) {
    check<6, 6>(prime);
    check<6, 7>(prime);
  }
  for (const std::uint64_t prime : {562949951979521ULL, 72057594037927931ULL}) {
    check<7, 7>(prime);
    check<7, 8>(prime);
  }
  for (const std::uint64_t prime : {72057594037927941ULL, 2305843009213693921ULL}) {
    check<8, 8>(prime);
    check<8, 9>(prime);
  }
}

}  // namespace
}  // namespace hemera::poly::cuda::matrix
