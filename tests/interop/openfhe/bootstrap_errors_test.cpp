// OpenFHE's bootstraps that can not be, and how errors tell it.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "interop/openfhe/bootstrap.hpp"
#include "interop/openfhe/bootstrap_support.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe::bootstraps {
namespace {

// What the settings may be: the last ones that are taken, and the first that are not.
TEST(OpenFheBootstrapErrors, SettingsHaveLimits) {
  const auto object =
      read_file<std::shared_ptr<CryptoContext>>(test::get("ckks-bootstrap", "cryptocontext.bin"));
  object->parameters->secret = SecretType::sparse;
  const auto context = rlwe::Context::make(parameters_of(*object, {}), tests::device());
  const auto make = [&](std::uint32_t slots, std::uint32_t encode, std::uint32_t decode,
                        std::uint32_t factor) {
    const BootstrapSettings settings{
        .slots = slots, .budget_encode = encode, .budget_decode = decode, .encodes_slots = false};
    Bootstrapper(context, *object, settings, factor, GiantSteps::own_keys);
  };
  for (const std::uint32_t slots : {2U, 8U, 512U}) EXPECT_NO_THROW(make(slots, 1, 1, 11)) << slots;
  for (const std::uint32_t slots : {0U, 1U, 3U, 12U, 1024U}) {
    EXPECT_THROW(make(slots, 1, 1, 11), ParameterError) << slots;
  }
  EXPECT_NO_THROW(make(8, 3, 1, 11));
  EXPECT_NO_THROW(make(8, 1, 3, 11));
  for (const auto& [encode, decode] : {std::pair{0U, 1U}, {1U, 0U}, {4U, 1U}, {1U, 4U}}) {
    EXPECT_THROW(make(8, encode, decode, 11), ParameterError) << encode << " " << decode;
  }
  const double q0 = static_cast<double>(object->parameters->elements->primes.front()->modulus);
  const auto degree = static_cast<std::uint32_t>(
      std::round(std::log2(q0) - static_cast<double>(object->parameters->encoding->plain_modulus)));
  EXPECT_NO_THROW(make(8, 1, 1, degree + 60));
  EXPECT_THROW(make(8, 1, 1, degree + 61), ParameterError);
  // A dense matrix takes the baby steps that are given: up to the ring's slots.
  for (const std::uint32_t steps : {1U, 8U, 512U, 513U, 0xFFFFFFFFU}) {
    const BootstrapSettings settings{.baby_steps_encode = steps,
                                     .slots = 8,
                                     .budget_encode = 1,
                                     .budget_decode = 1,
                                     .encodes_slots = false};
    const auto make_dense = [&] { Bootstrapper(context, *object, settings, 11, GiantSteps::own_keys); };
    if (steps > 512) {
      EXPECT_THROW(make_dense(), ParameterError) << steps;
    } else {
      EXPECT_NO_THROW(make_dense()) << steps;
    }
  }
}

// With a sparse secret it takes encode + decode + 9 levels, and its result has a level more than the lowest
// input's 1.
TEST(OpenFheBootstrapErrors, ContextsHaveTheLevels) {
  for (const Scaling scaling : {Scaling::flexible_auto, Scaling::fixed_auto, Scaling::flexible_auto_ext}) {
    const std::size_t further = scaling == Scaling::flexible_auto_ext ? 1 : 0;
    for (const auto& [encode, decode] : {std::pair{1U, 1U}, {2U, 1U}, {1U, 2U}, {2U, 2U}}) {
      const auto object =
          read_file<std::shared_ptr<CryptoContext>>(test::get("ckks-bootstrap", "cryptocontext.bin"));
      object->parameters->secret = SecretType::sparse;
      object->parameters->scaling = scaling;
      const std::size_t least_top = further + encode + decode + 9 + 2;
      const BootstrapSettings settings{
          .slots = 16, .budget_encode = encode, .budget_decode = decode, .encodes_slots = false};
      for (const std::size_t top : {least_top, least_top - 1}) {
        ASSERT_LE(top + 1, object->parameters->elements->primes.size());
        object->parameters->elements->primes.resize(top + 1);
        const auto context = rlwe::Context::make(parameters_of(*object, {}), tests::device());
        const auto make = [&] { return Bootstrapper(context, *object, settings, 11, GiantSteps::own_keys); };
        if (top < least_top) {
          EXPECT_THROW(make(), ParameterError) << encode << decode;
        } else {
          EXPECT_EQ(make().result_level(), 2U) << encode << decode;
        }
      }
    }
  }
}

// OpenFHE's EvalBootstrap takes round(log2(q_0 / 2^p)) off the correction factor, and throws for less.
TEST(OpenFheBootstrapErrors, CorrectionFactorsAreAtLeastTheRoundedDegree) {
  for (const auto& [bits_above, degree] : {std::pair{0.3, 0U}, std::pair{0.7, 1U}}) {
    const auto object =
        read_file<std::shared_ptr<CryptoContext>>(test::get("ckks-bootstrap", "cryptocontext.bin"));
    const double bits = static_cast<double>(object->parameters->encoding->plain_modulus) + bits_above;
    DcrtParameters& elements = *object->parameters->elements;
    NativeParameters& first = *elements.primes.front();
    const std::uint64_t order = 2 * std::uint64_t{elements.degree};
    first.modulus = arith::primes_below(static_cast<std::uint64_t>(std::exp2(bits)), order, 1).front();
    first.root = arith::minimal_primitive_root(order, arith::Modulus(first.modulus));
    const auto context = rlwe::Context::make(parameters_of(*object, {}), tests::device());
    const BootstrapSettings settings{
        .slots = 8, .budget_encode = 1, .budget_decode = 1, .encodes_slots = false};
    for (const std::uint32_t factor : {0U, 1U}) {
      const auto make = [&] { Bootstrapper(context, *object, settings, factor, GiantSteps::own_keys); };
      if (factor < degree) {
        EXPECT_THROW(make(), ParameterError) << bits_above << " " << factor;
      } else {
        EXPECT_NO_THROW(make()) << bits_above << " " << factor;
      }
    }
  }
}

TEST(OpenFheBootstrapErrors, SayWhatIsMissing) {
  Session session(test::get("ckks-bootstrap", "cryptocontext.bin"), tests::device());
  const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
  const ckks::Encoder encoder(session.context());
  const auto encrypted = [&](std::size_t slots, std::size_t level) {
    const std::vector<std::complex<double>> values(slots);
    return ckks::encrypt(encoder.encode(values, {}, level), secret);
  };
  EXPECT_THROW(static_cast<void>(session.bootstrap(encrypted(16, 1))), ParameterError);  // set up for 8
  EXPECT_THROW(static_cast<void>(session.bootstrap(encrypted(8, 1))), MissingKeyError);
  EXPECT_THROW(static_cast<void>(session.bootstrap(encrypted(8, 0))), LevelError);
  // Keys of the pair, but not of its bootstrapping; those of another are refused when they are loaded.
  auto file =
      from_secret_key(secret, {read_file<std::shared_ptr<CryptoContext>>(session.dump_context()), "a"});
  static_cast<void>(session.load_secret_key(write_file(file, Format::binary)));
  const auto keys = rlwe::generate_keys(secret, {.rotations = {1, 2}, .conjugation = true});
  const KeyFiles files = session.dump_keys(keys);
  session.load_keys(files.sources());
  EXPECT_THROW(static_cast<void>(session.bootstrap(encrypted(8, 1))), MissingKeyError);
  file->header.tag = "b";
  Session other(write_file(file, Format::binary));
  EXPECT_THROW(other.load_keys(files.sources()), MismatchError);
}

}  // namespace
}  // namespace hemera::interop::openfhe::bootstraps
