// The primes of keys: special ones, and the one that EXTENDED adds.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using ContextPointer = std::shared_ptr<CryptoContext>;

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
