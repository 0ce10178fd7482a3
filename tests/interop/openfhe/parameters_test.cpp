// Parameters of OpenFHE's contexts: settings, ranges, factors and limits; and the primes of keys, special
// ones and the one that EXTENDED adds.
#include "interop/openfhe/parameters.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using rlwe::Ciphertext;
using Bytes = std::vector<std::byte>;

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

// The first switching key fixes the special primes.
TEST(OpenFheSwitchingKeys, OfOtherSpecialPrimesAreRefusedAfterTheFirst) {
  const Bytes context = test::get("ckks-flexibleauto", "cryptocontext.bin");
  const rlwe::Parameters usual = load_parameters(context);
  const rlwe::ParametersLiteral& literal = usual.literal();
  const std::uint64_t order = 2 * usual.degree();
  std::vector<std::uint64_t> taken = literal.levels.back();
  FurtherPrimes more, others;
  for (const std::uint64_t prime : literal.special_primes) {
    taken.push_back(prime);
    more.special.push_back({prime, literal.roots.at(prime)});
  }
  for (const std::uint64_t prime :
       arith::primes_below(literal.special_primes.back(), order, more.special.size(), taken)) {
    others.special.push_back({prime, arith::minimal_primitive_root(order, arith::Modulus(prime))});
  }
  more.special.push_back(others.special.front());
  const std::string tag(32, 'a');
  const auto files_of = [&](const FurtherPrimes& primes) {
    const Session writer(context, tag, primes, tests::device());
    return writer.dump_keys(
        rlwe::generate_keys(rlwe::generate_secret_key(writer.context()), {.rotations = {1}}));
  };
  const KeyFiles first = files_of({});
  for (const FurtherPrimes* const primes : {&more, &others}) {
    const KeyFiles second = files_of(*primes);
    Session session(context, tag, {}, tests::device());
    session.load_keys({.relinearization = Source(*first.relinearization)});
    const auto fixed = session.context();
    EXPECT_THROW(session.load_keys({.galois = Source(*second.galois)}), MismatchError);
    EXPECT_EQ(session.context(), fixed);
    EXPECT_EQ(session.keys().switching.size(), 1U);
    session.load_keys({.galois = Source(*first.galois)});
    EXPECT_EQ(session.keys().switching.size(), 2U);
    EXPECT_EQ(session.dump_keys(session.keys()).relinearization, first.relinearization);
  }
}

// BFV's EXTENDED encryption adds a prime to public keys, and BV its windows to switching keys: as many as its
// bits need, rounded up. What they are is nothing to ciphertexts, which do not have it.
TEST(OpenFheExtended, WindowsOfTheAddedPrimeAreLeftOut) {
  for (const std::uint32_t window : {0U, 7U, 20U, 25U, 30U, 60U}) {
    SCOPED_TRACE(window);
    const ContextPointer context = test::context_of("bfv");
    CryptoParameters& parameters = *context->parameters;
    parameters.encryption = EncryptionType::extended;
    parameters.key_switching = KeySwitching::bv;
    parameters.digit_size = window;
    const std::uint64_t degree = parameters.elements->degree;
    test::set_primes(*context, test::primes_of_bits({50, 50}, 2 * degree));
    auto file = context;
    Session session(write_file(file, Format::binary), "tag", {}, tests::device());
    const std::uint64_t added = public_key_primes(*context).back();
    ASSERT_EQ(session.params().literal().key_primes, std::vector<std::uint64_t>{added});
    const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
    BaseParameters bases(*context);
    const CryptoObject header{context, "tag"};
    const auto own = from_switching_key(
        rlwe::generate_relinearization_key(secret, session.context()->top_level()), header, bases);
    // OpenFHE's KeySwitchBV: MSB / digitSize windows, and one more for a rest.
    const std::size_t windows = window == 0 ? 1 : 50 / window + (50 % window != 0 ? 1 : 0);
    ASSERT_EQ(own->a.size(), 2 * windows);
    auto base = std::make_shared<DcrtParameters>(*own->a.front().parameters);
    auto& prime = base->primes.emplace_back(std::make_shared<NativeParameters>(*base->primes.front()));
    prime->modulus = added;
    prime->root = session.params().literal().roots.contains(added)
                      ? session.params().literal().roots.at(added)
                      : arith::minimal_primitive_root(2 * degree, arith::Modulus(added));
    const auto longer = std::make_shared<EvaluationKeyObject>(*own);
    for (auto* const half : {&longer->a, &longer->b}) {
      for (std::size_t i = 0; i < windows; ++i) half->push_back(half->front());
      for (DcrtPolynomial& polynomial : *half) {
        polynomial.parameters = base;
        NativePolynomial& limb = polynomial.limbs.emplace_back(polynomial.limbs.front());
        limb.modulus = added;
        limb.parameters = prime;
        for (std::uint64_t& word : limb.words) word %= added;
      }
    }
    MultiplicationKeys keys, expected;
    keys.entries.push_back({"tag", {longer}});
    expected.entries.push_back({"tag", {own}});
    const Bytes key_file = write_file(keys, Format::binary);
    session.load_keys({.relinearization = Source(key_file)});
    const auto found = read_file<MultiplicationKeys>(*session.dump_keys(session.keys()).relinearization);
    const EvaluationKeyObject& key = *found.entries.at(0).keys.at(0);
    ASSERT_EQ(key.a.size(), own->a.size());
    for (std::size_t d = 0; d < key.a.size(); ++d) {
      for (const std::size_t limb : {0U, 1U}) {
        EXPECT_EQ(key.a[d].limbs.at(limb).words, own->a[d].limbs.at(limb).words);
        EXPECT_EQ(key.b[d].limbs.at(limb).words, own->b[d].limbs.at(limb).words);
      }
    }
  }
}

// Roots that a key tells are taken, whichever of the N primitive ones they are.
TEST(OpenFheParameters, RootsOfKeyPrimesAreTheirs) {
  const Bytes context = test::get("ckks-flexibleauto", "cryptocontext.bin");
  const rlwe::Parameters usual = load_parameters(context);
  const std::uint64_t order = 2 * usual.degree();
  const auto rooted = [&](std::uint64_t prime) {
    const arith::Modulus modulus(prime);
    return RootedPrime{prime, modulus.power(arith::minimal_primitive_root(order, modulus), 3)};
  };
  FurtherPrimes primes;
  for (const std::uint64_t prime : usual.literal().special_primes) primes.special.push_back(rooted(prime));
  for (const std::uint64_t prime : arith::primes_below(std::uint64_t{1} << 33, order, 2)) {
    primes.auxiliary.push_back(rooted(prime));
  }
  const Session session(context, "tag", primes, tests::device());
  for (const auto* list : {&primes.special, &primes.auxiliary}) {
    for (const RootedPrime& prime : *list) {
      EXPECT_EQ(session.params().literal().roots.at(prime.prime), prime.root);
      const poly::RnsBase& all = session.context()->key_base();
      EXPECT_EQ((*all.ring())[all.ring()->index_of(prime.prime)].root, prime.root);
    }
  }
}

}  // namespace
}  // namespace hemera::interop::openfhe
