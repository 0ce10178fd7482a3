// Keys of each role: those that OpenFHE has, the numbers that its files have for them, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/vectors.hpp"
#include "member_count.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using rlwe::KeyRole;

class OpenFheRoles : public testing::Test {
 protected:
  Session session{test::get("bgv", "cryptocontext.bin"), tests::device()};
  rlwe::SecretKey secret = session.load_secret_key(test::get("bgv", "secret_key.bin"));
  std::shared_ptr<const rlwe::SwitchingKey> key = std::make_shared<const rlwe::SwitchingKey>(
      rlwe::generate_switching_key(secret, secret, session.context()->top_level()));

  [[nodiscard]] KeyFiles files(const std::vector<KeyRole>& roles) const {
    rlwe::EvaluationKeys keys{.context = session.context(), .public_key = nullptr, .switching = {}};
    for (const KeyRole& role : roles) keys.add(role, key);
    return session.dump_keys(keys);
  }
};

TEST_F(OpenFheRoles, ThatOpenFheDoesNotHaveAreRefused) {
  ASSERT_EQ(tests::member_count<KeyRole>(), 4U);  // each field is changed below
  const std::vector<std::vector<KeyRole>> none = {
      {{.power = 3}},
      {{.power = 2}, {.power = 4}},
      {{.power = 2, .galois_element = 5}},
      {{.power = 2, .from = 1}},
      {{.power = 2, .to = 1}},
      {{.galois_element = 5, .from = 1}},
      {{.galois_element = 5, .to = 1}},
      {{.from = 2}},
      {{.to = 2}},
  };
  for (const auto& roles : none) {
    const KeyRole& role = roles.back();
    EXPECT_THROW(static_cast<void>(files(roles)), MismatchError)
        << role.power << " " << role.galois_element << " " << role.from << " " << role.to;
  }
}

TEST_F(OpenFheRoles, ComeBackAsTheyWere) {
  const std::vector<KeyRole> roles = {
      {.power = 2}, {.power = 3}, {.galois_element = 5}, {.galois_element = 8191}, {.from = 1}, {.to = 1}};
  session.load_keys(files(roles).sources());
  ASSERT_EQ(session.keys().switching.size(), roles.size());
  for (const KeyRole& role : roles) EXPECT_TRUE(session.keys().has(role));
  // The numbers that OpenFHE has: even ones for the sparse secret, with the first to it.
  const auto written = read_file<AutomorphismKeys>(*files(roles).galois);
  std::vector<std::uint32_t> indices;
  for (const auto& each : written.entries.at(0).keys->list) indices.push_back(each.index);
  std::sort(indices.begin(), indices.end());
  EXPECT_EQ(indices, (std::vector<std::uint32_t>{5, 8188, 8190, 8191}));
  EXPECT_EQ(read_file<AutomorphismKeys>(*files({{.to = 1}}).galois).entries[0].keys->list[0].index, 8188U);
  EXPECT_EQ(read_file<AutomorphismKeys>(*files({{.from = 1}}).galois).entries[0].keys->list[0].index, 8190U);
}

TEST_F(OpenFheRoles, OfSeveralCallsAreAllThere) {
  const auto powers = read_file<MultiplicationKeys>(test::get("bgv", "eval_mult_key.bin"));
  const SwitchingKeyView view = view_of(*powers.entries[0].keys[0]);
  const Bytes galois = *files({{.galois_element = 25}}).galois;
  auto public_key =
      from_public_key(rlwe::generate_public_key(secret), {test::context_of("bgv"), powers.entries[0].tag});
  const Bytes public_file = write_file(public_key, Format::binary);
  const std::vector<std::function<void()>> calls = {
      [&] {
        session.import_galois({{5, view}});
      },
      [&] { session.load_keys({.galois = Source(galois)}); },
      [&] { session.import_relinearization(std::span(&view, 1)); },
      [&] { session.load_keys({.public_key = Source(public_file)}); },
      [&] {
        session.import_galois({{8191, view}});
      },
      [&] { session.import_relinearization(std::span(&view, 1)); },
  };
  const std::vector<std::size_t> counts = {1, 2, 3, 3, 4, 4};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i]();
    EXPECT_EQ(session.keys().switching.size(), counts[i]) << i;
    EXPECT_EQ(session.keys().public_key != nullptr, i >= 3);
  }
}

// The same secret in either form.
TEST_F(OpenFheRoles, SecretsInCoefficientsAreTheSame) {
  const Bytes file = test::get("bgv", "secret_key.bin");
  auto object = read_file<std::shared_ptr<PrivateKeyObject>>(file);
  const rlwe::Context& context = *session.context();
  const poly::RnsBase base = base_of(context, view_of(object->polynomial));
  poly::Poly evaluated = context.make_poly(1, 1, base, poly::Form::evaluation);
  const PolynomialView given = view_of(object->polynomial);
  upload(context, evaluated, 0, std::span(&given, 1));
  poly::Poly coefficients = context.make_poly(1, 1, base, poly::Form::coefficient);
  context.backend().inverse_transform(context.queue(), coefficients.view(), std::as_const(evaluated).view(),
                                      base);
  BaseParameters bases(*object->header.context);
  object->polynomial = download(context, coefficients, 0, 0, bases);
  context.queue().synchronize();
  ASSERT_EQ(object->polynomial.form, PolynomialForm::coefficient);
  for (const std::uint64_t word : object->polynomial.limbs[0].words) {
    ASSERT_TRUE(word <= 1 || word == object->polynomial.limbs[0].modulus - 1);
  }
  EXPECT_EQ(session.dump_secret_key(session.load_secret_key(write_file(object, Format::binary))), file);
  // One prime less is another secret's.
  auto fewer = read_file<std::shared_ptr<PrivateKeyObject>>(file);
  auto parameters = std::make_shared<DcrtParameters>(*fewer->polynomial.parameters);
  parameters->primes.pop_back();
  fewer->polynomial.parameters = parameters;
  fewer->polynomial.limbs.pop_back();
  EXPECT_THROW(static_cast<void>(session.load_secret_key(write_file(fewer, Format::binary))), FormatError);
}

TEST_F(OpenFheRoles, HalvesOfPublicKeysHaveTheirModuli) {
  const CryptoObject header{test::context_of("bgv"),
                            read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"))->header.tag};
  const rlwe::PublicKey own = rlwe::generate_public_key(secret);
  const auto written = [&](const auto& change) {
    auto object = from_public_key(own, header);
    change(*object);
    return write_file(object, Format::binary);
  };
  const auto shorten = [](DcrtPolynomial& half) {
    half.parameters = std::make_shared<DcrtParameters>(*half.parameters);
    half.parameters->primes.pop_back();
    half.limbs.pop_back();
  };
  const auto load = [&](const Bytes& file) { session.load_keys({.public_key = Source(file)}); };
  for (const std::size_t half : {0U, 1U}) {
    EXPECT_THROW(load(written([&](PublicKeyObject& object) { shorten(object.polynomials[half]); })),
                 FormatError);
    EXPECT_THROW(load(written([&](PublicKeyObject& object) {
                   object.polynomials[half].form = PolynomialForm::coefficient;
                   for (auto& limb : object.polynomials[half].limbs) limb.form = PolynomialForm::coefficient;
                 })),
                 FormatError);
    // The same modulus twice.
    EXPECT_THROW(load(written([&](PublicKeyObject& object) {
                   DcrtPolynomial& changed = object.polynomials[half];
                   changed.parameters = std::make_shared<DcrtParameters>(*changed.parameters);
                   changed.parameters->primes.push_back(changed.parameters->primes[0]);
                   changed.limbs.push_back(changed.limbs[0]);
                 })),
                 FormatError);
  }
  EXPECT_THROW(load(written([](PublicKeyObject& object) { object.polynomials.pop_back(); })), FormatError);
  EXPECT_THROW(
      load(written([](PublicKeyObject& object) { object.polynomials.push_back(object.polynomials[0]); })),
      FormatError);
  EXPECT_EQ(session.keys().public_key, nullptr);
  load(written([](PublicKeyObject&) {}));
  EXPECT_NE(session.keys().public_key, nullptr);
  // One of fewer moduli than OpenFHE's have.
  const rlwe::Context& context = *session.context();
  rlwe::EvaluationKeys keys{.context = session.context(), .public_key = nullptr, .switching = {}};
  keys.public_key = std::make_shared<const rlwe::PublicKey>(rlwe::PublicKey{
      session.context(), context.make_poly(1, 2, context.base(0), poly::Form::evaluation), {}});
  EXPECT_THROW(static_cast<void>(session.dump_keys(keys)), MismatchError);
}

// Each kind by itself: a key of another pair has another tag.
TEST_F(OpenFheRoles, OfAnotherPairAreRefused) {
  const std::string other_tag(32, 'f');
  Session writer(test::get("bgv", "cryptocontext.bin"), other_tag, {}, tests::device());
  const KeyFiles others =
      writer.dump_keys(rlwe::generate_keys(rlwe::generate_secret_key(writer.context()), {.rotations = {1}}));
  EXPECT_THROW(session.load_keys({.public_key = Source(*others.public_key)}), MismatchError);
  EXPECT_THROW(session.load_keys({.relinearization = Source(*others.relinearization)}), MismatchError);
  EXPECT_THROW(session.load_keys({.galois = Source(*others.galois)}), MismatchError);
  EXPECT_TRUE(session.keys().public_key == nullptr && session.keys().switching.empty());
}

}  // namespace
}  // namespace hemera::interop::openfhe
