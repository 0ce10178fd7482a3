// The tables of the CPU backend and the choice of its kernels.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/cpu/kernels.hpp"
#include "poly/cpu/limb_tables.hpp"
#include "poly/ring_support.hpp"

namespace hemera::poly::cpu {
namespace {

TEST(LimbTables, HoldThePowersInReversedOrderWithTheirQuotients) {
  for (const int bits : {30, 50, 51, 61}) {
    const RingModulus modulus = ntt_modulus(1024, bits);
    const arith::Modulus& q = modulus.modulus;
    const LimbTables tables = make_limb_tables(modulus, 1024);
    const bool narrow = q.value() < max_modulus_52;
    EXPECT_EQ(narrow, bits <= 50);
    EXPECT_EQ(tables.quotients52.size(), narrow ? 1024U : 0U);
    for (std::size_t i = 0; i < 1024; ++i) {
      const std::uint64_t exponent = arith::reverse_bits(i, 10);
      const std::uint64_t power = q.power(modulus.root, exponent);
      ASSERT_EQ(tables.powers[i], power);
      ASSERT_EQ(q.multiply(tables.inverse_powers[i], power), 1U);
      for (const bool inverse : {false, true}) {
        const std::uint64_t w = (inverse ? tables.inverse_powers : tables.powers)[i];
        const auto quotient = [&](int shift) {
          return static_cast<std::uint64_t>((static_cast<arith::uint128>(w) << shift) / q.value());
        };
        ASSERT_EQ((inverse ? tables.inverse_quotients : tables.quotients)[i], quotient(64));
        if (narrow) {
          ASSERT_EQ((inverse ? tables.inverse_quotients52 : tables.quotients52)[i], quotient(52));
        }
      }
    }
    EXPECT_EQ(q.multiply(tables.inverse_degree.operand, 1024), 1U);
  }
  EXPECT_TRUE(make_limb_tables({arith::Modulus(65536), 0}, 1024).powers.empty());
}

TEST(SelectKernels, TakesTheNamedOneOrTheBest) {
  EXPECT_STREQ(select_kernels("scalar").name, "scalar");
  std::string best = "scalar";
  for (const char* name : {"avx2", "avx512"}) {
    try {
      EXPECT_STREQ(select_kernels(name).name, name);
      best = name;
    } catch (const DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find("available"), std::string::npos);
    }
  }
  EXPECT_EQ(select_kernels("").name, best);
  EXPECT_EQ(select_kernels(nullptr).name, best);
  try {
    select_kernels("sse9");
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("sse9"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("scalar"), std::string::npos);
  }
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
