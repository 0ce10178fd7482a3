// The tables of the CPU backend and the choice of its kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/cpu/kernels.hpp"
#include "poly/cpu/limb_tables.hpp"
#include "poly/ring_support.hpp"
#include "refusals.hpp"

namespace hemera::poly::cpu {
namespace {

TEST(LimbTables, HoldThePowersInReversedOrderWithTheirQuotients) {
  for (const int bits : {30, 50, 51, 61}) {
    const RingModulus modulus = ntt_modulus(1024, bits);
    const arith::Modulus& q = modulus.modulus;
    const LimbTables tables = make_limb_tables(modulus, 1024);
    const bool narrow = q.value() < max_modulus_52;
    EXPECT_EQ(narrow, bits <= 50);
    for (std::size_t i = 0; i < 1024; ++i) {
      const std::uint64_t exponent = arith::reverse_bits(i, 10);
      const std::uint64_t power = q.power(modulus.root, exponent);
      ASSERT_EQ(tables.powers[i], power);
      ASSERT_EQ(q.multiply(tables.inverse_powers[i], power), 1U);
      for (const auto& [powers, quotients] : {std::pair(&tables.powers, &tables.quotients),
                                              {&tables.inverse_powers, &tables.inverse_quotients}}) {
        ASSERT_EQ((*quotients)[i],
                  static_cast<std::uint64_t>((static_cast<arith::uint128>((*powers)[i]) << 64) / q.value()));
      }
    }
    const auto check_arranged = [&](const TwiddleTable& powers, const TwiddleTable& arranged,
                                    const TwiddleTable& quotients, int radix_bits) {
      ASSERT_EQ(arranged.size(), narrow == (radix_bits == 52) ? 1024U : 0U);
      ASSERT_EQ(quotients.size(), arranged.size());
      for (std::size_t i = 0; i < arranged.size(); ++i) {
        ASSERT_EQ(quotients[i], static_cast<std::uint64_t>(
                                    (static_cast<arith::uint128>(arranged[i]) << radix_bits) / q.value()));
        // The order that the header states.
        std::size_t from = i;
        if (i >= 256) {
          const std::size_t block = (i - 256) / 48, within = (i - 256) % 48, lane = 8 * block + within % 8;
          from = within < 16 ? 256 + 2 * lane + within / 8 : 512 + 4 * lane + (within - 16) / 8;
        }
        ASSERT_EQ(arranged[i], powers[from]) << i;
      }
    };
    check_arranged(tables.powers, tables.powers52, tables.quotients52, 52);
    check_arranged(tables.inverse_powers, tables.inverse_powers52, tables.inverse_quotients52, 52);
    check_arranged(tables.powers, tables.powers64, tables.quotients64, 64);
    check_arranged(tables.inverse_powers, tables.inverse_powers64, tables.inverse_quotients64, 64);
    EXPECT_EQ(q.multiply(tables.inverse_degree.operand, 1024), 1U);
  }
  EXPECT_TRUE(make_limb_tables({arith::Modulus(65536), 0}, 1024).powers.empty());
}

TEST(RoundedFractions, AreTheExactSumRounded) {
  constexpr std::size_t count = 64 + 8;
  std::mt19937_64 generator(5);
  for (const Kernels* kernels : available_kernels()) {
    for (const int bits : {30, 50, 52, 53, 61}) {
      for (const std::size_t sources : {1, 2, 7, 40, 1100}) {
        const std::uint64_t bound = std::uint64_t{1} << bits;
        std::vector<std::uint64_t> y(sources * count), high(sources), low(sources), low48(count), rest(count);
        std::vector<const std::uint64_t*> rows;
        for (std::size_t i = 0; i < sources; ++i) {
          rows.push_back(y.data() + i * count);
          high[i] = i % 3 == 0 ? ~std::uint64_t{0} : generator();
          low[i] = i % 2 == 0 ? ~std::uint64_t{0} : generator();
          for (std::size_t n = 0; n < count; ++n)
            y[i * count + n] = n % 4 == 0 ? bound - 1 : generator() % bound;
        }
        kernels->rounded_fractions(low48.data(), rest.data(), rows.data(), high.data(), low.data(), sources,
                                   bound, count);
        std::vector<bool> far(count);  // rounded by a quarter or more
        for (std::size_t n = 0; n < count; ++n) {
          arith::BigInteger sum = arith::BigInteger(1) << 127;
          for (std::size_t i = 0; i < sources; ++i) {
            sum += ((arith::BigInteger(high[i]) << 64) + low[i]) * y[i * count + n];
          }
          ASSERT_LT(low48[n], std::uint64_t{1} << 48);
          ASSERT_EQ((arith::BigInteger(rest[n]) << 48) + low48[n], sum >> 128)
              << kernels->name << ", " << sources;
          const arith::BigInteger quarters = (sum >> 126) % 4;  // of the fraction and a half
          far[n] = quarters == 0 || quarters == 3;
        }
        for (std::size_t first = 0; first < count; first += 8) {
          std::vector<const std::uint64_t*> part;
          for (const std::uint64_t* row : rows) part.push_back(row + first);
          ASSERT_EQ(
              kernels->rounded_fractions(low48.data(), rest.data(), part.data(), high.data(), low.data(),
                                         sources, bound, 8),
              std::any_of(far.begin() + static_cast<std::ptrdiff_t>(first),
                          far.begin() + static_cast<std::ptrdiff_t>(first) + 8, [](bool is) { return is; }))
              << kernels->name << ", " << sources;
        }
      }
    }
  }
}

TEST(SelectKernels, TakesTheNamedOneOrTheBest) {
  const auto available = available_kernels();
  ASSERT_FALSE(available.empty());
  EXPECT_EQ(available.front(), &scalar_kernels());
  for (const Kernels* kernels : available) EXPECT_EQ(&select_kernels(kernels->name), kernels);
  EXPECT_EQ(&select_kernels(""), available.back());
  EXPECT_EQ(&select_kernels(nullptr), available.back());
  for (const char* name : {"avx2", "avx512", "neon"}) {
    const bool is_there = std::any_of(available.begin(), available.end(), [&](const Kernels* kernels) {
      return std::string(kernels->name) == name;
    });
    if (is_there) continue;
    EXPECT_THROW(select_kernels(name), DeviceError) << name;
  }
  tests::expect_error<DeviceError>([&] { select_kernels("sse9"); }, {"sse9", "scalar"});
}

TEST(SelectKernels, EnvironmentForcesTheBackend) {
  const char* before = std::getenv("HEMERA_ISA");
  const std::string saved = before == nullptr ? "" : before;
  const auto ring = make_ring(1024, {50});
  setenv("HEMERA_ISA", "scalar", 1);
  EXPECT_EQ(make_cpu_backend(ring, 2)->description(), "cpu (scalar, 2 threads)");
  EXPECT_EQ(make_cpu_backend(ring, 1)->description(), "cpu (scalar, 1 thread)");
  setenv("HEMERA_ISA", "mmx", 1);
  EXPECT_THROW(make_cpu_backend(ring, 1), DeviceError);
  unsetenv("HEMERA_ISA");
  EXPECT_NE(make_cpu_backend(ring, 1)->description().find(select_kernels("").name), std::string::npos);
  if (before != nullptr) setenv("HEMERA_ISA", saved.c_str(), 1);
}

}  // namespace
}  // namespace hemera::poly::cpu
