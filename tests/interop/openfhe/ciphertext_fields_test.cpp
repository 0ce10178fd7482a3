// What the fields of a ciphertext may be.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using ContextPointer = std::shared_ptr<CryptoContext>;
using CiphertextPointer = std::shared_ptr<CiphertextObject>;
using rlwe::Ciphertext;

TEST(OpenFheFields, EncodingsAreThoseOfTheScheme) {
  const auto load = [](const Session& session, const std::string& folder, std::int32_t encoding) {
    auto object = read_file<CiphertextPointer>(test::get(folder, "ct_a.bin"));
    object->encoding = static_cast<EncodingType>(encoding);
    return session.load_ciphertext(test::written(object)).meta.encoding;
  };
  for (const std::string folder : {"bfv", "bgv", "ckks-flexibleauto"}) {
    const Session session(test::get(folder, "cryptocontext.bin"), tests::device());
    const bool ckks = folder == "ckks-flexibleauto";
    for (const std::int32_t encoding :
         {-1, 0, 1, 2, 3, 4, 5, 6, 256, 260, std::numeric_limits<std::int32_t>::max()}) {
      SCOPED_TRACE(folder + " " + std::to_string(encoding));
      if (ckks ? encoding == 4 : encoding == 1 || encoding == 2) {
        EXPECT_EQ(load(session, folder, encoding),
                  encoding == 1 ? rlwe::Encoding::coefficients : rlwe::Encoding::slots);
      } else {
        EXPECT_THROW(load(session, folder, encoding), FormatError);
      }
    }
  }
  // Slots need a plaintext modulus that has them.
  const Bytes file = test::get("bgv", "ct_a.bin");
  const auto object = read_file<CiphertextPointer>(file);
  const ContextPointer context = test::copy_of(*object->header.context);
  context->parameters->encoding->plain_modulus = 17;
  object->header.context = context;
  const Session session(test::written(context), tests::device());
  EXPECT_THROW(static_cast<void>(session.load_ciphertext(test::written(object))), FormatError);
  object->encoding = EncodingType::coefficients;
  EXPECT_EQ(session.load_ciphertext(test::written(object)).meta.encoding, rlwe::Encoding::coefficients);
}

TEST(OpenFheFields, ScalesArePositiveNumbersUpTo1000Bits) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const auto load = [&](double scale) {
    auto object = read_file<CiphertextPointer>(test::get("ckks-flexibleauto", "ct_a.bin"));
    object->scaling_factor = scale;
    return session.load_ciphertext(test::written(object)).meta.scale;
  };
  for (const double scale : {std::numeric_limits<double>::denorm_min(), 0.5, 1.0, 0x1p999, 0x1p1000}) {
    EXPECT_EQ(load(scale), scale);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double scale : {0.0, -0.0, -1.0, std::nextafter(0x1p1000, infinity), infinity, -infinity,
                             std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(load(scale), FormatError) << scale;
  }
}

// What alignment rounds is less than 2^-16 of a scale: it is the level's, or the product's at degree 2.
TEST(OpenFheFields, ScalesAreTheLevelsWithinRounding) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const Ciphertext a = session.load_ciphertext(test::get("ckks-flexibleauto", "ct_a.bin"));
  const rlwe::LevelScale& level = session.params().rescaling().scales.at(a.meta.level);
  for (const int degree : {0, 1, 2, 3}) {
    const double exact = degree == 1 ? level.scale : degree == 2 ? level.product_scale : 0;
    const double base = exact == 0 ? level.scale : exact;
    for (const double change :
         {0.0, 0x1p-17, -0x1p-17, 0x1.fp-17, -0x1.fp-17, 0x1.1p-16, -0x1.1p-16, 0x1p-10, -0.5, 1.0}) {
      Ciphertext x = a.clone();
      x.meta.noise_scale_degree = degree;
      x.meta.scale = base * (1 + change);
      const bool is_exact = exact != 0 && std::abs(change) < 0x1p-16;
      const double wanted = is_exact ? exact : double{x.meta.scale};
      EXPECT_EQ(session.metadata(x).scaling_factor, wanted) << degree << " " << change;
      EXPECT_EQ(read_file<CiphertextPointer>(session.dump_ciphertext(x))->scaling_factor, wanted);
    }
  }
}

TEST(OpenFheFields, ObjectsOfOtherParametersAreRefused) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), "tag", {}, tests::device());
  ContextPointer client = test::copy_of(*test::context_of("ckks-flexibleauto"));
  client->parameters->elements->primes.pop_back();
  const Session other(test::written(client), "tag", {}, tests::device());
  const rlwe::SecretKey secret = rlwe::generate_secret_key(other.context());
  const Ciphertext x = rlwe::encrypt_zero(
      secret, {.level = 1, .scale = other.params().rescaling().scales[1].scale, .slots = 64});
  io::MemorySink sink;
  std::vector<std::vector<std::uint64_t>> words(4, std::vector<std::uint64_t>(session.context()->degree()));
  const std::vector<std::span<std::uint64_t>> limbs(words.begin(), words.end());
  other.export_ciphertext(x, limbs);
  EXPECT_THROW(session.export_ciphertext(x, limbs), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_ciphertext(x)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_ciphertexts(x)), MismatchError);
  EXPECT_THROW(session.dump_ciphertext(sink, x), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_secret_key(secret)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_keys(rlwe::generate_keys(secret, {}))), MismatchError);
  EXPECT_THROW(static_cast<void>(session.metadata(x)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.bootstrap(x)), MismatchError);
  EXPECT_TRUE(sink.take().empty());
  // Another context of the same parameters is theirs.
  const Session same(test::written(client), "tag", {}, tests::device());
  ASSERT_NE(same.context(), other.context());
  EXPECT_EQ(same.dump_ciphertext(x), other.dump_ciphertext(x));
  EXPECT_EQ(same.dump_secret_key(secret), other.dump_secret_key(secret));
}

// OpenFHE's special primes for BGV are 1 modulo t, too: the first ones below 2^60 (ParamsGenBGVRNS).
TEST(OpenFheFields, SpecialPrimesAreOneModuloThePlaintextModulus) {
  for (const std::uint64_t t : {2ULL, 3ULL, 17ULL, 256ULL, 8192ULL, 16384ULL, 65536ULL, 1ULL << 20, 65537ULL,
                                2 * 65537ULL, 3ULL << 15}) {
    const ContextPointer context = test::copy_of(*test::context_of("bgv"));
    context->parameters->encoding->plain_modulus = t;
    const std::uint64_t order = 2 * std::uint64_t{context->parameters->elements->degree};
    const std::uint64_t step = std::lcm(order, t);
    const std::vector<std::uint64_t> found = parameters_of(*context).literal().special_primes;
    std::uint64_t next = (((std::uint64_t{1} << 60) - 2) / step + 1) * step + 1;
    const auto largest = [&] {
      do {
        next -= step;
      } while (!arith::is_prime(next));
      return next;
    };
    ASSERT_FALSE(found.empty());
    for (const std::uint64_t prime : found) EXPECT_EQ(prime, largest()) << t;
  }
}

// The levels that a large plaintext modulus leaves out are the lowest: OpenFHE's factors are those of the
// moduli that are dropped.
TEST(OpenFheFields, FactorsAreTheLevelsWhereSeveralModuliAreNeeded) {
  for (const bool is_fixed : {false, true}) {
    const ContextPointer context = test::copy_of(*test::context_of("bgv"));
    const std::uint64_t t = (std::uint64_t{1} << 59) + 1;
    context->parameters->encoding->plain_modulus = t;
    context->parameters->key_switching = KeySwitching::bv;
    context->parameters->scaling = is_fixed ? Scaling::fixed_auto : Scaling::flexible_auto;
    DcrtParameters& elements = *context->parameters->elements;
    const std::vector<std::uint64_t> q =
        arith::primes_below(std::uint64_t{1} << 50, 2 * std::uint64_t{elements.degree}, 5);
    elements.primes.clear();
    for (const NativeParameters& prime : test::rooted(q, elements.degree)) {
      elements.primes.push_back(std::make_shared<NativeParameters>(prime));
    }
    const rlwe::Parameters parameters = parameters_of(*context);
    const auto& factors = parameters.rescaling().factors;
    ASSERT_EQ(parameters.literal().levels.front().size(), 2U);
    ASSERT_EQ(factors.size(), 4U);
    const arith::Modulus modulus(t);
    EXPECT_EQ(factors[3].factor, is_fixed ? 1 : q[4]);
    for (std::size_t level = 0; level < 4; ++level) {
      EXPECT_EQ(factors[level].product_factor,
                modulus.multiply(factors[level].factor, factors[level].factor));
      if (level == 0) continue;
      // The square is the factor below times the modulus that is dropped.
      const std::uint64_t below = modulus.multiply(factors[level - 1].factor, q[level + 1]);
      EXPECT_EQ(is_fixed ? factors[level - 1].factor : below, factors[level].product_factor);
    }
  }
}

}  // namespace
}  // namespace hemera::interop::openfhe
