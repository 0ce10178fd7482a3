// Parameters of SEAL's at their ends: one prime, plain moduli that end the chain, scales and corrections.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "interop/seal/client.hpp"
#include "interop/seal/differences_support.hpp"
#include "interop/seal/objects.hpp"
#include "interop/seal/samples.hpp"
#include "interop/seal/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::seal::test::differences {
namespace {

// With one prime messages and keys have one parms_id: they look alike.
TEST(SealDescriptions, OfOnePrimeLeaveOpenWhatIsAKey) {
  for (const SchemeNumber scheme : {SchemeNumber::bfv, SchemeNumber::ckks, SchemeNumber::bgv}) {
    const bool ckks = scheme == SchemeNumber::ckks, bfv = scheme == SchemeNumber::bfv;
    const Bytes parms = file_of({scheme, 4096, {primes[0]}, ckks ? 0U : 257U});
    Options options;
    if (ckks) options.scale = 0x1p20;
    const Session session(parms, hemera::tests::device(), options);
    const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
    rlwe::EvaluationKeys keys{.context = session.context(), .public_key = nullptr, .switching = {}};
    keys.public_key = std::make_shared<const rlwe::PublicKey>(rlwe::generate_public_key(secret));
    const Ciphertext x =
        rlwe::encrypt_zero(secret, {.scale = ckks ? 0x1p20 : 1.0,
                                    .slots = ckks ? 2048U : 4096U,
                                    .encoding = ckks ? rlwe::Encoding::slots : rlwe::Encoding::coefficients});
    const auto kind = [&](const Bytes& file) { return describe(file, Source(parms))->kind; };
    EXPECT_EQ(kind(session.dump_ciphertext(x)), bfv ? "ciphertext" : "ciphertext or public key");
    EXPECT_EQ(kind(*session.dump_keys(keys).public_key), "ciphertext or public key");
    EXPECT_EQ(kind(session.dump_secret_key(secret)), "plaintext or secret key");
  }
}

// A level needs room for the plain modulus and a sign.
TEST(SealLevels, BeginWhereTwiceThePlainModulusFits) {
  for (const auto& [plain_modulus, limbs] : {std::pair{primes[0] / 2 - 10, 1U},
                                             {primes[0] / 2 + 10, 2U},
                                             {primes[0] - 10, 2U},
                                             {primes[0] + 10, 2U}}) {
    const Session session(file_of({SchemeNumber::bfv, 4096, primes, plain_modulus}), hemera::tests::device());
    EXPECT_EQ(session.params().levels(), 3 - limbs);
    EXPECT_EQ(session.params().literal().levels.front().size(), limbs);
    const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
    const Ciphertext lowest =
        rlwe::encrypt_zero(secret, {.slots = 4096, .encoding = rlwe::Encoding::coefficients});
    EXPECT_EQ(session.metadata(lowest).coeff_modulus_count, limbs);
    EXPECT_EQ(session.load_ciphertext(session.dump_ciphertext(lowest)).meta.level, 0U);
  }
}

// Slots of a modulus that splits only partly are not SEAL's.
TEST(SealSlots, FewerThanTheDegreeAreRefused) {
  const Bytes parms = file_of({SchemeNumber::bfv, 4096, primes, 257});
  const Session session(parms, hemera::tests::device());
  ASSERT_EQ(session.params().max_slots(), 128U);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
  Ciphertext x = rlwe::encrypt_zero(secret, {.level = 1, .slots = 128});
  EXPECT_THROW(static_cast<void>(session.dump_ciphertext(x)), MismatchError);
  x.meta.encoding = rlwe::Encoding::coefficients;
  EXPECT_EQ(session.load_ciphertext(session.dump_ciphertext(x)).meta.encoding, rlwe::Encoding::coefficients);
  const integer::Encoder encoder(session.context());
  const std::vector<std::int64_t> values = {1, 2};
  EXPECT_THROW(static_cast<void>(session.dump_plaintext(encoder.encode(values, {}))), MismatchError);
  EXPECT_NO_THROW(
      static_cast<void>(session.dump_plaintext(encoder.encode(values, {}, rlwe::Encoding::coefficients))));
  EXPECT_THROW(Session(parms, hemera::tests::device(), {.encoding = rlwe::Encoding::slots}), ParameterError);
}

// SEAL adds what has one scale, whatever products it comes from.
TEST(SealScales, AreAllThatSumsOfCkksAskFor) {
  Vectors vectors("ckks");
  vectors.load_keys();
  const auto evaluator = vectors.session().evaluator();
  const Ciphertext a = vectors.ciphertext("ct_a."), b = vectors.ciphertext("ct_b.");
  const Ciphertext product = evaluator->multiply(a, b);
  Ciphertext fresh = a.clone();
  fresh.meta.scale = product.meta.scale;
  EXPECT_EQ(evaluator->add(product, fresh).meta.scale, a.meta.scale * b.meta.scale);
  EXPECT_EQ(evaluator->add(fresh, product).meta.scale, a.meta.scale * b.meta.scale);
  EXPECT_THROW(static_cast<void>(evaluator->add(product, a)), ScaleError);
  const Ciphertext rescaled = evaluator->rescale(product);
  Ciphertext lower = a.clone();
  evaluator->drop_to_level_inplace(lower, rescaled.meta.level);
  lower.meta.scale = rescaled.meta.scale;
  EXPECT_NO_THROW(static_cast<void>(evaluator->subtract(rescaled, lower)));
}

// 8193 = 3 * 2731 is 1 modulo 2N, and no prime: there are no slots.
TEST(SealParameters, CompositePlainModuliHaveNoSlots) {
  for (const auto& [t, has_slots] : {std::pair{std::uint64_t{8193}, false}, {40961, true}, {40963, false}}) {
    const Bytes parms = file_of({SchemeNumber::bfv, 4096, primes, t});
    const auto encoding_of = [&](const Options& options) {
      const Session session(parms, hemera::tests::device(), options);
      const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
      const Ciphertext x =
          rlwe::encrypt_zero(secret, {.slots = 4096, .encoding = rlwe::Encoding::coefficients});
      return session.load_ciphertext(session.dump_ciphertext(x)).meta.encoding;
    };
    EXPECT_EQ(encoding_of({}), has_slots ? rlwe::Encoding::slots : rlwe::Encoding::coefficients) << t;
    EXPECT_EQ(encoding_of({.encoding = rlwe::Encoding::coefficients}), rlwe::Encoding::coefficients);
    if (has_slots) continue;
    EXPECT_THROW(static_cast<void>(encoding_of({.encoding = rlwe::Encoding::slots})), ParameterError) << t;
  }
  for (const std::uint64_t degree : {std::uint64_t{0}, std::uint64_t{3000}, std::uint64_t{1} << 18}) {
    EXPECT_THROW(load_parameters(file_of({SchemeNumber::bfv, degree, primes, 257})), FormatError) << degree;
  }
}

TEST(SealCorrections, AreUnits) {
  const Vectors vectors("bgv");
  const Bytes good = content(vectors.file("ct_b.seal"));
  const std::size_t at = 32 + 1 + 4 * 8;
  const auto load = [&](std::uint64_t correction) {
    Bytes changed = good;
    for (std::size_t i = 0; i < 8; ++i)
      changed[at + i] = static_cast<std::byte>(correction >> (8 * i) & 0xFF);
    return vectors.session().load_ciphertext(stored(changed)).meta.correction;
  };
  const std::uint64_t t = vectors.session().params().plain_modulus();
  EXPECT_EQ(load(t - 1), t - 1);
  for (const std::uint64_t correction : {std::uint64_t{0}, t, t + 1, ~std::uint64_t{0}}) {
    EXPECT_THROW(static_cast<void>(load(correction)), FormatError) << correction;
  }
}

}  // namespace
}  // namespace hemera::interop::seal::test::differences
