// Parameters of OpenFHE's contexts: settings, ranges, factors and limits.
#include "interop/openfhe/parameters.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "hemera/interop/openfhe.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using ContextPointer = std::shared_ptr<CryptoContext>;
using CiphertextPointer = std::shared_ptr<CiphertextObject>;
using rlwe::Ciphertext;

// What each setting of OpenFHE means here.
TEST(OpenFheParameters, SettingsAreOpenFhes) {
  const auto literal_of = [](const char* folder, const auto& change) {
    const ContextPointer context = test::context_of(folder);
    change(*context->parameters);
    return parameters_of(*context).literal();
  };
  using rlwe::SecretDistribution;
  // OpenFHE's DiscreteGaussianGenerator, TernaryUniformGenerator, and this of 192 non-zero coefficients.
  const std::map<SecretType, SecretDistribution> secrets = {
      {SecretType::gaussian, {.weight = 0, .deviation = 4.5}},
      {SecretType::uniform, {}},
      {SecretType::sparse, {.weight = 192}},
      {SecretType::sparse_encapsulated, {.weight = 192}},
  };
  for (const auto& [type, secret] : secrets) {
    const auto literal = literal_of("ckks-flexibleauto", [type = type](CryptoParameters& parameters) {
      parameters.secret = type;
      parameters.deviation = 4.5F;
    });
    EXPECT_EQ(literal.secret, secret) << static_cast<int>(type);
    EXPECT_EQ(literal.sigma, 4.5);
  }
  const std::map<MultiplicationType, rlwe::BfvMultiplication> products = {
      {MultiplicationType::behz, rlwe::BfvMultiplication::behz},
      {MultiplicationType::hps, rlwe::BfvMultiplication::hps},
      {MultiplicationType::hps_over_q, rlwe::BfvMultiplication::hps_over_q},
      {MultiplicationType::hps_over_q_leveled, rlwe::BfvMultiplication::hps_over_q},
  };
  for (const auto& [type, multiplication] : products) {
    const auto literal = literal_of("bfv", [type = type](CryptoParameters& p) { p.multiplication = type; });
    EXPECT_EQ(literal.bfv_multiplication, multiplication) << static_cast<int>(type);
  }
  // FLEXIBLEAUTOEXT encrypts at the extra modulus by degree 2; FIXEDMANUAL leaves rescaling to its caller.
  for (const Scaling scaling :
       {Scaling::fixed_manual, Scaling::fixed_auto, Scaling::flexible_auto, Scaling::flexible_auto_ext}) {
    for (const char* const folder : {"ckks-flexibleauto", "bgv"}) {
      const auto literal = literal_of(folder, [&](CryptoParameters& p) { p.scaling = scaling; });
      ASSERT_TRUE(literal.rescaling);
      EXPECT_EQ(literal.rescaling->fresh_degree, scaling == Scaling::flexible_auto_ext ? 2 : 1);
      EXPECT_EQ(literal.rescaling->rescale_by == rlwe::RescaleBy::caller, scaling == Scaling::fixed_manual);
    }
  }
  for (const std::uint32_t window : {0U, 1U, 20U, 60U}) {
    const auto literal = literal_of("bfv", [&](CryptoParameters& parameters) {
      parameters.key_switching = KeySwitching::bv;
      parameters.digit_size = window;
    });
    EXPECT_EQ(literal.window_bits, static_cast<int>(window));
    EXPECT_TRUE(literal.special_primes.empty());
    for (const auto& digit : literal.digits) EXPECT_EQ(digit.size(), 1U);
  }
}

// What is left of the last modulus by its own level's scale: values beyond 2^range_bits do not fit there.
TEST(OpenFheParameters, RangesAreThoseOfTheLastLevel) {
  const ContextPointer context = test::context_of("ckks-flexibleauto");
  const std::uint64_t step = 2 * context->parameters->elements->degree;
  context->parameters->scaling = Scaling::flexible_auto_ext;
  context->parameters->encoding->plain_modulus = 40;
  test::set_primes(*context, test::primes_of_bits({60, 30}, step));
  EXPECT_EQ(parameters_of(*context).literal().range_bits, 19);  // 60 - 40, rounded down
  EXPECT_EQ(parameters_of(*context).literal().scale,
            static_cast<double>(context->parameters->elements->primes.back()->modulus));
  // FLEXIBLEAUTO has the last modulus for the scale of the top, and squares less a modulus below it.
  context->parameters->scaling = Scaling::flexible_auto;
  test::set_primes(*context, test::primes_of_bits({60, 38, 42}, step));
  EXPECT_EQ(parameters_of(*context).literal().range_bits, 13);  // 60 - (2 * 42 - 38), rounded down
}

// OpenFHE's factors modulo t with FLEXIBLEAUTOEXT: the last modulus at the top, the next to last one below
// it, then squares by the modulus that is dropped (CryptoParametersBGVRNS::PrecomputeCRTTables).
TEST(OpenFheParameters, IntegerFactorsWithAnExtraModulus) {
  const ContextPointer context = test::context_of("bgv");
  context->parameters->scaling = Scaling::flexible_auto_ext;
  test::set_primes(*context,
                   test::primes_of_bits({50, 44, 45, 46}, 2 * context->parameters->elements->degree));
  const rlwe::Parameters parameters = parameters_of(*context);
  const auto& primes = context->parameters->elements->primes;
  const std::uint64_t t = context->parameters->encoding->plain_modulus;
  ASSERT_LT(t, std::uint64_t{1} << 32);
  const auto& factors = parameters.rescaling().factors;
  ASSERT_EQ(factors.size(), primes.size());
  const std::size_t top = primes.size() - 1;
  ASSERT_GE(top, 2U);
  ASSERT_NE(primes[top]->modulus % t, primes[top - 1]->modulus % t);
  EXPECT_EQ(factors[top].factor, primes[top]->modulus % t);
  EXPECT_EQ(factors[top - 1].factor, primes[top - 1]->modulus % t);
  EXPECT_EQ(factors[top].product_factor, factors[top].factor * factors[top - 1].factor % t);
  for (std::size_t level = top - 1; level > 0; --level) {
    EXPECT_EQ(factors[level].product_factor, factors[level].factor * factors[level].factor % t);
    // Without an inverse: the factor below times the modulus is the square.
    EXPECT_EQ(factors[level - 1].factor * (primes[level]->modulus % t) % t, factors[level].product_factor);
  }
}

TEST(OpenFheLimits, OfCiphertextsAndContexts) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const auto load = [&](const auto& change) {
    auto object = read_file<CiphertextPointer>(test::get("ckks-flexibleauto", "ct_a.bin"));
    change(*object);
    return session.load_ciphertext(write_file(object, Format::binary));
  };
  EXPECT_EQ(load([](CiphertextObject& c) { c.noise_scale_degree = 255; }).meta.noise_scale_degree, 255);
  EXPECT_THROW(load([](CiphertextObject& c) { c.noise_scale_degree = 256; }), FormatError);
  for (const std::uint32_t slots : {0U, 3U, 1000U, 4096U}) {
    EXPECT_THROW(load([=](CiphertextObject& c) { c.slots = slots; }), FormatError) << slots;
  }
  for (const std::uint32_t slots : {1U, 2U, 2048U}) {
    EXPECT_EQ(load([=](CiphertextObject& c) { c.slots = slots; }).meta.slots, slots);
  }
  const auto context = test::context_of("ckks-flexibleauto");
  for (const std::uint32_t bits : {19U, 61U, 62U, 64U}) {
    context->parameters->auxiliary_bits = bits;
    EXPECT_THROW(static_cast<void>(parameters_of(*context)), FormatError) << bits;
  }
  const Session bootstraps(test::get("ckks-bootstrap", "cryptocontext.bin"), tests::device());
  const rlwe::SecretKey secret = rlwe::generate_secret_key(bootstraps.context());
  const Ciphertext x = rlwe::encrypt_zero(
      secret, {.level = 1, .scale = bootstraps.params().rescaling().scales[1].scale, .slots = 8});
  for (const int precision : {-1, 0, 31}) {
    EXPECT_THROW(static_cast<void>(bootstraps.bootstrap(x, 2, precision)), ParameterError) << precision;
  }
  for (const int iterations : {0, 3}) {
    EXPECT_THROW(static_cast<void>(bootstraps.bootstrap(x, iterations, 10)), ParameterError) << iterations;
  }
  const auto found = describe(test::get("ckks-bootstrap", "cryptocontext.bin"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->fields.back(), (std::pair<std::string, std::string>("bootstrapping", "enabled")));
}

}  // namespace
}  // namespace hemera::interop::openfhe
