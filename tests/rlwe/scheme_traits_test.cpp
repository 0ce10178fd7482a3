// What the shared part knows of each scheme.
#include "hemera/rlwe/scheme_traits.hpp"

#include <gtest/gtest.h>

#include "hemera/rlwe/noise.hpp"
#include "rlwe/rlwe_support.hpp"

namespace hemera::rlwe {
namespace {

Parameters parameters_of(Scheme scheme) { return parameters_with({.name = "", .scheme = scheme}); }

TEST(SchemeTraits, RotationsRepeatAfterARowOrAfterTheSlotsThatAreUsed) {
  EXPECT_EQ(rotation_period(parameters_of(Scheme::bfv), 8), 512U);
  EXPECT_EQ(rotation_period(parameters_of(Scheme::bgv), 8), 512U);
  EXPECT_EQ(rotation_period(parameters_of(Scheme::ckks), 8), 8U);
}

TEST(SchemeTraits, ErrorsOfBgvAloneAreMultiplesOfThePlaintextModulus) {
  EXPECT_EQ(error_factor(parameters_of(Scheme::bfv)), 1U);
  EXPECT_EQ(error_factor(parameters_of(Scheme::bgv)), 65537U);
  EXPECT_EQ(error_factor(parameters_of(Scheme::ckks)), 1U);
}

TEST(SchemeTraits, SumsKeepABoundOnNoiseWhereTheSchemeHasOne) {
  for (const Scheme scheme : {Scheme::bfv, Scheme::bgv}) {
    EXPECT_DOUBLE_EQ(sum_noise_log2(*Context::make(parameters_of(scheme)), 3, 3), 4);
  }
  EXPECT_EQ(sum_noise_log2(*Context::make(parameters_of(Scheme::ckks)), 0, 0), 0);
}

}  // namespace
}  // namespace hemera::rlwe
