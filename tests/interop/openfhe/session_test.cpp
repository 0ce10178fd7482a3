// OpenFHE's files decrypt to its values, compute to them with its metadata, and are written back the same.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "hemera/interop/openfhe.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/vectors.hpp"
#include "io/allocation_guard.hpp"
#include "io/corruption.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using rlwe::Ciphertext;
using Json = nlohmann::json;

void expect_same(const std::vector<DcrtPolynomial>& a, const std::vector<DcrtPolynomial>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].form, b[i].form);
    EXPECT_EQ(a[i].parameters->modulus.words, b[i].parameters->modulus.words);
    EXPECT_EQ(a[i].parameters->modulus.bits, b[i].parameters->modulus.bits);
    ASSERT_EQ(a[i].limbs.size(), b[i].limbs.size());
    for (std::size_t l = 0; l < a[i].limbs.size(); ++l) {
      EXPECT_EQ(a[i].limbs[l].modulus, b[i].limbs[l].modulus);
      EXPECT_EQ(a[i].limbs[l].parameters->root, b[i].limbs[l].parameters->root);
      EXPECT_TRUE(a[i].limbs[l].words == b[i].limbs[l].words);
    }
  }
}

void expect_same(const EvaluationKeyObject& a, const EvaluationKeyObject& b) {
  EXPECT_EQ(a.header.tag, b.header.tag);
  expect_same(a.a, b.a);
  expect_same(a.b, b.b);
}

// One context with its keys and clear values.
class OpenFheSession : public testing::TestWithParam<std::string> {
 protected:
  OpenFheSession()
      : folder_(GetParam()),
        values_(test::values(folder_)),
        session_(test::get(folder_, "cryptocontext.bin"), tests::device()),
        secret_(session_.load_secret_key(test::get(folder_, "secret_key.bin"))) {
    const auto relinearization = test::find(folder_, "eval_mult_key.bin");
    const auto galois = test::find(folder_, "eval_automorphism_keys.bin");
    const auto public_key = test::find(folder_, "public_key.bin");
    KeySources keys;
    if (relinearization) keys.relinearization = Source(*relinearization);
    if (galois) keys.galois = Source(*galois);
    if (public_key) keys.public_key = Source(*public_key);
    session_.load_keys(keys);
  }

  [[nodiscard]] bool is_ckks() const { return session_.params().scheme() == rlwe::Scheme::ckks; }

  // Slots 0 to 63 and those that values.json lists after them.
  void expect_values(const Ciphertext& ciphertext, const Json& expected, double tolerance) const {
    const rlwe::Plaintext plaintext = any_scheme::decrypt(ciphertext, secret_);
    const auto slots = static_cast<std::size_t>(values_.at("slots").at("count"));
    const auto check = [&](const auto& decoded, const auto& compare) {
      ASSERT_EQ(decoded.size(), slots);
      for (std::size_t i = 0; i < slots; ++i) {
        Json wanted = 0;
        if (i < 64) {
          wanted = expected.at("first_64_slots").at(i);
        } else if (expected.contains("repeats_with_period")) {
          wanted = expected.at("first_64_slots").at(i % 64);
        } else if (expected.contains("nonzero_after_64")) {
          const Json& others = expected.at("nonzero_after_64");
          if (others.contains(std::to_string(i))) wanted = others.at(std::to_string(i));
        }
        compare(decoded[i], wanted, i);
      }
    };
    if (is_ckks()) {
      check(ckks::Encoder(session_.context()).decode(plaintext),
            [&](std::complex<double> value, const Json& wanted, std::size_t i) {
              const std::complex<double> clear = wanted.is_array()
                                                     ? std::complex<double>(wanted.at(0), wanted.at(1))
                                                     : std::complex<double>(wanted.get<double>());
              EXPECT_LE(std::abs(value - clear), tolerance) << i;
            });
    } else {
      check(integer::Encoder(session_.context()).decode(plaintext, false),
            [&](std::int64_t value, const Json& wanted, std::size_t i) {
              EXPECT_EQ(value, wanted.get<std::int64_t>()) << i;
            });
    }
  }

  void expect_stated(const Ciphertext& ciphertext, const std::string& name) const {
    SCOPED_TRACE(folder_ + ": " + name);
    const Json& stated = values_.at("ciphertexts").at(name);
    const Metadata metadata = session_.metadata(ciphertext);
    EXPECT_EQ(metadata.level, stated.at("level"));
    EXPECT_EQ(metadata.noise_scale_degree, stated.at("noise_scale_deg"));
    EXPECT_NEAR(metadata.scaling_factor / stated.at("scaling_factor").get<double>(), 1, 1e-14);
    EXPECT_EQ(metadata.scaling_factor_int, stated.at("scaling_factor_int"));
    EXPECT_EQ(metadata.slots, stated.at("slots"));
    EXPECT_EQ(metadata.components, stated.at("components"));
    EXPECT_EQ(metadata.limbs, stated.at("limbs"));
    expect_values(ciphertext, stated.at("expected"), is_ckks() ? stated.at("tolerance").get<double>() : 0);
  }

  [[nodiscard]] rlwe::Plaintext plaintext(const Json& slots, const Ciphertext& operand) const {
    const auto count = static_cast<std::size_t>(values_.at("slots").at("count"));
    const auto fill = [&]<typename T>(std::vector<T>& values) {
      for (std::size_t i = 0; i < count; ++i) {
        if (i < 64 || slots.contains("repeats_with_period")) {
          values[i] = static_cast<T>(slots.at("first_64_slots").at(i % 64));
        }
      }
      if (slots.contains("nonzero_after_64")) {
        for (const auto& [slot, value] : slots.at("nonzero_after_64").items()) {
          values[std::stoul(slot)] = static_cast<T>(value);
        }
      }
    };
    if (!is_ckks()) {
      std::vector<std::int64_t> values(count);
      fill(values);
      return integer::Encoder(session_.context()).encode(values, {});
    }
    std::vector<double> real(count);
    fill(real);
    const std::vector<std::complex<double>> values(real.begin(), real.end());
    const rlwe::PlainOperand at = session_.context()->scales().operand_of_product(operand.meta);
    return ckks::Encoder(session_.context()).encode(values, {}, at.level, at.scale);
  }

  std::string folder_;
  Json values_;
  Session session_;
  rlwe::SecretKey secret_;
};

INSTANTIATE_TEST_SUITE_P(Contexts, OpenFheSession, testing::ValuesIn(test::folders), test::name_of);

TEST_P(OpenFheSession, ParametersAreTheStatedOnes) {
  const Json& stated = values_.at("parameters");
  const rlwe::ParametersLiteral& literal = session_.params().literal();
  std::vector<std::uint64_t> q;
  for (const Json& prime : stated.at("q")) {
    q.push_back(prime.at("modulus"));
    EXPECT_EQ(literal.roots.at(q.back()), prime.at("root_of_unity").get<std::uint64_t>());
  }
  std::vector<std::uint64_t> p;
  for (const Json& prime : stated.at("p")) p.push_back(prime.at("modulus"));
  EXPECT_EQ(literal.levels.back(), q);
  EXPECT_EQ(literal.special_primes, p);  // by OpenFHE's rule: a context has none
  EXPECT_EQ(literal.digits, stated.at("digit_partition").get<std::vector<std::vector<std::uint64_t>>>());
  if (!is_ckks()) return;
  for (const Json& level : stated.at("scaling_factor_per_level")) {
    const std::size_t dropped = level.at("level");
    const double scale = session_.params().rescaling().scales.at(q.size() - 1 - dropped).scale;
    EXPECT_NEAR(scale / level.at("value").get<double>(), 1, 1e-14) << dropped;
  }
}

TEST_P(OpenFheSession, CiphertextsDecryptToTheirValues) {
  std::size_t count = 0;
  for (const auto& [name, stated] : values_.at("ciphertexts").items()) {
    for (const char* const suffix : {".bin", ".json"}) {
      const auto file = test::find(folder_, name + suffix);
      if (!file) continue;
      expect_stated(session_.load_ciphertext(*file), name);
      ++count;
    }
  }
  EXPECT_GE(count, 1U);
}

TEST_P(OpenFheSession, OperationsGiveTheStatedResults) {
  const auto file_a = test::find(folder_, "ct_a.bin");
  const auto file_b = test::find(folder_, "ct_b.bin");
  if (!file_a || !file_b) GTEST_SKIP() << "this folder has no operands";
  const auto evaluator = session_.evaluator();
  const Ciphertext a = session_.load_ciphertext(*file_a);
  const Ciphertext b = session_.load_ciphertext(*file_b);
  const Json& stated = values_.at("ciphertexts");
  expect_stated(evaluator->add(a, b), "add");
  expect_stated(evaluator->subtract(a, b), "sub");
  const Ciphertext product = evaluator->multiply(a, b);
  expect_stated(product, "mul");
  expect_stated(evaluator->multiply_plain(a, plaintext(values_.at("inputs").at("m"), a)), "mul_plain");
  if (stated.contains("mul_no_relin")) {
    const auto lazy =
        any_scheme::make_evaluator(session_.context(), session_.keys(), rlwe::Relinearization::lazy);
    expect_stated(lazy->multiply(a, b), "mul_no_relin");
  }
  for (const char* const name : {"mul_rescale", "mul_mod_reduced"}) {
    if (stated.contains(name)) expect_stated(evaluator->rescale(product), name);
  }
  if (stated.contains("a_mod_reduced")) expect_stated(evaluator->rescale(a), "a_mod_reduced");
  if (session_.context()->scales().policy().rescale_by == rlwe::RescaleBy::evaluator ||
      session_.params().scheme() == rlwe::Scheme::bfv) {
    expect_stated(evaluator->multiply(product, a), "mul_aba");
  } else {
    // FIXEDMANUAL drops the limb of the higher operand by itself.
    expect_stated(evaluator->rescale(evaluator->multiply(evaluator->rescale(product), a)), "mul_aba");
  }
  const auto elements = session_.keys().galois_elements();
  for (const auto& [steps, name] : {std::pair{1, "rotate_1"}, std::pair{-4, "rotate_m4"}}) {
    const std::uint64_t element = session_.params().galois_element(steps);
    if (std::find(elements.begin(), elements.end(), element) == elements.end()) continue;
    expect_stated(evaluator->rotate(a, steps), name);
  }
}

TEST_P(OpenFheSession, ObjectsAreWrittenBackTheSame) {
  for (const auto& [name, stated] : values_.at("ciphertexts").items()) {
    const auto file = test::find(folder_, name + ".bin");
    if (!file) continue;
    const Ciphertext ciphertext = session_.load_ciphertext(*file);
    const Bytes written = session_.dump_ciphertext(ciphertext);
    // The same but for what OpenFHE wrote as a back-reference or in full.
    const auto before = read_file<std::shared_ptr<CiphertextObject>>(*file);
    for (const Format format : {Format::binary, Format::json}) {
      const auto after =
          read_file<std::shared_ptr<CiphertextObject>>(session_.dump_ciphertext(ciphertext, format));
      expect_same(after->components, before->components);
      EXPECT_EQ(after->header.tag, before->header.tag);
      EXPECT_EQ(after->level, before->level);
      EXPECT_EQ(after->noise_scale_degree, before->noise_scale_degree);
      EXPECT_EQ(after->scaling_factor, before->scaling_factor);
      EXPECT_EQ(after->scaling_factor_int, before->scaling_factor_int);
      EXPECT_EQ(after->slots, before->slots);
      EXPECT_EQ(after->encoding, before->encoding);
    }
    EXPECT_TRUE(name != "ct_a" || written == *file);
  }
  EXPECT_TRUE(session_.dump_context() == test::get(folder_, "cryptocontext.bin"));
  EXPECT_TRUE(session_.dump_secret_key(secret_) == test::get(folder_, "secret_key.bin"));
  // Equal but for what OpenFHE wrote as a back-reference or in full.
  const KeyFiles keys = session_.dump_keys(session_.keys());
  EXPECT_TRUE(keys.public_key == test::find(folder_, "public_key.bin"));
  const auto relinearization = test::find(folder_, "eval_mult_key.bin");
  ASSERT_EQ(keys.relinearization.has_value(), relinearization.has_value());
  if (relinearization) {
    const auto before = read_file<MultiplicationKeys>(*relinearization);
    const auto after = read_file<MultiplicationKeys>(*keys.relinearization);
    ASSERT_EQ(after.entries.size(), before.entries.size());
    EXPECT_EQ(after.entries[0].tag, before.entries[0].tag);
    ASSERT_EQ(after.entries[0].keys.size(), before.entries[0].keys.size());
    expect_same(*after.entries[0].keys[0], *before.entries[0].keys[0]);
  }
  const auto galois = test::find(folder_, "eval_automorphism_keys.bin");
  ASSERT_EQ(keys.galois.has_value(), galois.has_value());
  if (galois) {
    const auto before = read_file<AutomorphismKeys>(*galois);
    const auto after = read_file<AutomorphismKeys>(*keys.galois);
    ASSERT_EQ(after.entries.size(), before.entries.size());
    EXPECT_EQ(after.entries[0].tag, before.entries[0].tag);
    ASSERT_EQ(after.entries[0].keys->list.size(), before.entries[0].keys->list.size());
    for (std::size_t i = 0; i < before.entries[0].keys->list.size(); ++i) {
      EXPECT_EQ(after.entries[0].keys->list[i].index, before.entries[0].keys->list[i].index);
      expect_same(*after.entries[0].keys->list[i].key, *before.entries[0].keys->list[i].key);
    }
  }
  // What is written loads again, into a session of its own too.
  Session other(session_.dump_context(Format::json));
  EXPECT_EQ(describe(other.dump_context(Format::json))->format, "JSON");
  other.load_keys(session_.dump_keys(session_.keys(), Format::json).sources());
  static_cast<void>(other.load_secret_key(session_.dump_secret_key(secret_, Format::json)));
  EXPECT_EQ(other.keys().switching.size(), session_.keys().switching.size());
  EXPECT_TRUE(other.params() == session_.params());
  EXPECT_EQ(other.dump_keys(other.keys()).relinearization, keys.relinearization);
  EXPECT_EQ(other.dump_keys(other.keys()).galois, keys.galois);
}

// The field of the plaintext modulus holds CKKS's bits of scale.
TEST(OpenFheContext, ScalesBeyondAllNumbersAreRefused) {
  for (const std::uint64_t bits : {std::uint64_t{2000}, ~std::uint64_t{0}}) {
    auto context =
        read_file<std::shared_ptr<CryptoContext>>(test::get("ckks-fixedmanual", "cryptocontext.bin"));
    context->parameters->encoding->plain_modulus = bits;
    EXPECT_THROW(Session{write_file(context, Format::binary)}, Error) << bits;
  }
}

TEST_P(OpenFheSession, SecretsLeaveNoCopiesInReleasedMemory) {
  const Bytes binary = session_.dump_secret_key(secret_),
              json = session_.dump_secret_key(secret_, Format::json);
  const auto middle = [](const Bytes& file) { return std::span(file).subspan(file.size() / 2, 40); };
  for (const Format format : {Format::binary, Format::json}) {
    const Bytes& file = format == Format::binary ? binary : json;
    for (const Bytes* watched : {&binary, &json}) {
      io::test::AllocationGuard guard;
      guard.watch(middle(*watched));
      const Bytes written = session_.dump_secret_key(secret_, format);
      EXPECT_EQ(guard.found(), 0U);
      static_cast<void>(session_.load_secret_key(file));
      EXPECT_EQ(guard.found(), 0U);
      EXPECT_TRUE(written == file);
    }
  }
}

TEST_P(OpenFheSession, ObjectsLiveInHemerasOwnFormat) {
  const rlwe::Parameters parameters = io::load_parameters(io::save(session_.params()));
  EXPECT_TRUE(parameters == session_.params());
  const auto context = rlwe::Context::make(parameters);
  const rlwe::SecretKey secret = io::load_secret_key(context, io::save(secret_));
  for (const auto& [name, stated] : values_.at("ciphertexts").items()) {
    const auto file = test::find(folder_, name + ".bin");
    if (!file) continue;
    const Ciphertext ciphertext = session_.load_ciphertext(*file);
    const Ciphertext again = io::load_ciphertext(context, io::save(ciphertext));
    EXPECT_EQ(session_.dump_ciphertext(again), session_.dump_ciphertext(ciphertext));
  }
  const auto keys = io::load_evaluation_keys(context, io::save(session_.keys()));
  EXPECT_EQ(keys.switching.size(), session_.keys().switching.size());
}

TEST_P(OpenFheSession, BatchesLoadFromManyAndAreWrittenOneByOne) {
  const auto a = test::find(folder_, "ct_a.bin");
  const auto b = test::find(folder_, "ct_b.bin");
  if (!a || !b) GTEST_SKIP() << "this folder has no two ciphertexts of one shape";
  const std::vector<Source> sources = {*a, *b, *a};
  const Ciphertext batch = session_.load_ciphertexts(sources);
  EXPECT_EQ(batch.meta.batch, (rlwe::BatchShape{3}));
  const auto files = session_.dump_ciphertexts(batch);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_TRUE(files[0] == *a);
  EXPECT_TRUE(files[1] == *b);
  EXPECT_TRUE(files[2] == *a);
  EXPECT_THROW(static_cast<void>(session_.dump_ciphertext(batch)), MismatchError);
  // One of them, to a sink that has no room to be written in.
  struct Stream final : io::Sink {
    void write(std::span<const std::byte> data) override {
      bytes.insert(bytes.end(), data.begin(), data.end());
    }
    Bytes bytes;
  } stream;
  session_.dump_ciphertext(stream, batch, 1);
  EXPECT_TRUE(stream.bytes == *b);
  EXPECT_THROW(session_.dump_ciphertext(stream, batch, 3), MismatchError);
}

TEST_P(OpenFheSession, OthersObjectsAreAMismatch) {
  for (const std::string& other : test::folders) {
    if (other == folder_) continue;
    const Bytes key = test::get(other, "secret_key.bin");
    EXPECT_THROW(static_cast<void>(session_.load_secret_key(key)), MismatchError);
  }
  // Another key pair of the same context.
  const Bytes key = test::get(folder_, "secret_key.bin");
  auto object = read_file<std::shared_ptr<PrivateKeyObject>>(key);
  object->header.tag[0] = object->header.tag[0] == '0' ? '1' : '0';
  EXPECT_THROW(static_cast<void>(session_.load_secret_key(write_file(object, Format::binary))),
               MismatchError);
  // A file of another kind.
  EXPECT_THROW(static_cast<void>(session_.load_ciphertext(key)), FormatError);
  EXPECT_THROW(static_cast<void>(session_.load_secret_key(test::get(folder_, "cryptocontext.bin"))),
               FormatError);
}

TEST_P(OpenFheSession, CorruptedObjectsAreRefusedOrWellFormed) {
  std::mt19937_64 random(7);
  const Bytes context = test::get(folder_, "cryptocontext.bin");
  for (int round = 0; round < 300; ++round) {
    Bytes file = context;
    const std::string what = io::test::corrupt(file, random);
    try {
      static_cast<void>(load_parameters(file));
    } catch (const FormatError&) {
    } catch (const std::exception& error) {
      FAIL() << what << ": " << error.what();
    }
  }
  // Damage that the archive does not tell: the header and the metadata of a ciphertext.
  for (const auto& [name, stated] : values_.at("ciphertexts").items()) {
    const auto original = test::find(folder_, name + ".bin");
    if (!original) continue;
    for (int round = 0; round < 200; ++round) {
      Bytes file = *original;
      const std::size_t ends = 1000;
      const std::size_t at = random() % (2 * ends);
      const std::size_t place = at < ends ? at : file.size() - (at - ends) - 1;
      file[place] ^= static_cast<std::byte>(1U << (random() % 8));
      try {
        const Ciphertext ciphertext = session_.load_ciphertext(file);
        static_cast<void>(io::load_ciphertext(session_.context(), io::save(ciphertext)));
      } catch (const FormatError&) {
      } catch (const MismatchError&) {
      } catch (const std::exception& error) {
        FAIL() << name << " " << place << ": " << error.what();
      }
    }
  }
}

TEST(OpenFheContext, WhatHemeraDoesNotHaveIsNamed) {
  const Bytes original = test::get("ckks-flexibleauto", "cryptocontext.bin");
  const auto refused = [&](const auto& change) -> std::string {
    auto context = read_file<std::shared_ptr<CryptoContext>>(original);
    change(*context);
    return tests::refusal<FormatError>([&] { return load_parameters(write_file(context, Format::binary)); });
  };
  EXPECT_TRUE(tests::says(refused([](CryptoContext& c) { c.parameters->scaling = Scaling::composite_auto; }),
                          "composite"));
  EXPECT_TRUE(
      tests::says(refused([](CryptoContext& c) { c.parameters->composite_degree = 2; }), "composite"));
  // Several parties; the feature (32) alone is that of any context beside such a one in OpenFHE's process.
  EXPECT_EQ(refused([](CryptoContext& c) { c.scheme->features |= 32; }), "");
  EXPECT_TRUE(tests::says(refused([](CryptoContext& c) { c.parameters->parties = 3; }), "MULTIPARTY"));
  EXPECT_TRUE(tests::says(refused([](CryptoContext& c) { c.scheme->features |= feature::scheme_switching; }),
                          "SCHEMESWITCH"));
  EXPECT_EQ(refused([](CryptoContext&) {}), "");
}

TEST(OpenFheContext, ContextsWithBootstrappingLoad) {
  for (const char* const name : {"cryptocontext.bin", "cryptocontext.json"}) {
    const Session session(test::get("ckks-bootstrap-context", name));
    const Json values = test::values("ckks-bootstrap-context");
    std::vector<std::uint64_t> p;
    for (const Json& prime : values.at("parameters").at("p")) p.push_back(prime.at("modulus"));
    EXPECT_EQ(session.params().literal().special_primes, p);
    for (const Json& level : values.at("parameters").at("scaling_factor_per_level")) {
      const std::size_t dropped = level.at("level");
      const auto& scales = session.params().rescaling().scales;
      EXPECT_NEAR(scales.at(scales.size() - 1 - dropped).scale / level.at("value").get<double>(), 1, 1e-14);
    }
    EXPECT_TRUE(session.dump_context() == test::get("ckks-bootstrap-context", "cryptocontext.bin"));
  }
}

// Keys of 7 MB, which are not among the vectors of this repository.
TEST(OpenFheBootstrap, ResultsAreOpenFhes) {
  const std::string folder = "ckks-bootstrap";
  if (!test::find(folder, "eval_mult_key.bin")) {
    GTEST_SKIP() << "HEMERA_OPENFHE_VECTORS names no folder with the keys of " << folder;
  }
  const Json values = test::values(folder);
  Session session(test::get(folder, "cryptocontext.bin"), tests::device());
  const Bytes relinearization = test::get(folder, "eval_mult_key.bin");
  const Bytes galois = test::get(folder, "eval_automorphism_keys.bin");
  session.load_keys({.relinearization = Source(relinearization), .galois = Source(galois)});
  const rlwe::SecretKey secret = session.load_secret_key(test::get(folder, "secret_key.bin"));
  for (const auto& [input, output] :
       {std::pair{"input", "bootstrapped"}, std::pair{"input_product", "bootstrapped_product"}}) {
    SCOPED_TRACE(output);
    const Json& stated = values.at("ciphertexts").at(output);
    const Ciphertext result =
        session.bootstrap(session.load_ciphertext(test::get(folder, std::string(input) + ".bin")));
    const Metadata metadata = session.metadata(result);
    EXPECT_EQ(metadata.level, stated.at("level"));
    EXPECT_EQ(metadata.limbs, stated.at("limbs"));
    EXPECT_EQ(metadata.noise_scale_degree, stated.at("noise_scale_deg"));
    EXPECT_EQ(metadata.slots, stated.at("slots"));
    EXPECT_NEAR(metadata.scaling_factor / stated.at("scaling_factor").get<double>(), 1, 1e-14);
    const auto decoded = ckks::Encoder(session.context()).decode(any_scheme::decrypt(result, secret));
    const auto clear = stated.at("clear").get<std::vector<double>>();
    double worst = 0;
    for (std::size_t i = 0; i < clear.size(); ++i)
      worst = std::max(worst, std::abs(decoded.at(i) - clear[i]));
    EXPECT_LE(worst,
              std::exp2(-stated.at("precision_bits").at("worst").get<double>()));  // no worse than OpenFHE
  }
}

TEST(OpenFheContext, SpecialPrimesOfAKeyFileAreTaken) {
  auto keys = read_file<MultiplicationKeys>(test::get("bgv", "eval_mult_key.bin"));
  const Session by_rule(test::get("bgv", "cryptocontext.bin"));
  const Session by_key(write_file(keys, Format::binary));
  EXPECT_TRUE(by_rule.params() == by_key.params());
  // Other special primes than the rule's: P in falling order is P in rising order.
  const auto& primes = keys.entries[0].keys[0]->a[0].parameters->primes;
  ASSERT_GE(primes.size(), 5U);
  for (auto* const half : {&keys.entries[0].keys[0]->a, &keys.entries[0].keys[0]->b}) {
    for (DcrtPolynomial& polynomial : *half) {
      auto parameters = std::make_shared<DcrtParameters>(*polynomial.parameters);
      std::swap(parameters->primes[3], parameters->primes[4]);
      polynomial.parameters = parameters;
      std::swap(polynomial.limbs[3], polynomial.limbs[4]);
    }
  }
  const Bytes changed = write_file(keys, Format::binary);
  const Session other(changed);
  EXPECT_FALSE(other.params() == by_rule.params());
}

TEST(OpenFheDescribe, FilesTellTheirKind) {
  EXPECT_EQ(describe(test::get("bgv", "cryptocontext.bin"))->kind, "crypto context");
  EXPECT_EQ(describe(test::get("bfv", "cryptocontext.json"))->format, "JSON");
  EXPECT_EQ(describe(test::get("bgv", "ct_a.bin"))->kind, "ciphertext");
  EXPECT_EQ(describe(test::get("bgv", "secret_key.bin"))->kind, "secret key");
  EXPECT_EQ(describe(test::get("bgv", "eval_mult_key.bin"))->kind, "relinearization keys");
  EXPECT_EQ(describe(test::get("ckks-flexibleauto", "eval_automorphism_keys.bin"))->kind, "Galois keys");
  EXPECT_FALSE(describe(io::save(Session(test::get("bgv", "cryptocontext.bin")).params())));
}

}  // namespace
}  // namespace hemera::interop::openfhe
