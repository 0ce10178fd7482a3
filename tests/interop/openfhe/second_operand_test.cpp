// What is known of a ciphertext or key and differs in one field: what OpenFHE's files have of it, what a
// bootstrap keeps of it, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string_view>

#include "hemera/arith/primes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "member_count.hpp"
#include "rlwe/metadata_fields.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using ContextPointer = std::shared_ptr<CryptoContext>;
using CiphertextPointer = std::shared_ptr<CiphertextObject>;
using rlwe::Ciphertext;
using rlwe::KeyRole;

ContextPointer context_of(const std::string& folder) {
  return read_file<ContextPointer>(test::get(folder, "cryptocontext.bin"));
}

void set_primes(CryptoContext& context, const std::vector<std::uint64_t>& primes) {
  const std::uint32_t degree = context.parameters->elements->degree;
  auto& list = context.parameters->elements->primes;
  list.clear();
  for (const std::uint64_t prime : primes) {
    auto& each = list.emplace_back(std::make_shared<NativeParameters>());
    *each = {.order = 2 * degree,
             .degree = degree,
             .modulus = prime,
             .root = arith::minimal_primitive_root(2 * degree, arith::Modulus(prime))};
  }
}

std::vector<std::uint64_t> primes_of_bits(const std::vector<int>& bits, std::uint64_t step) {
  std::vector<std::uint64_t> primes;
  for (const int each : bits) {
    primes.push_back(arith::primes_below(std::uint64_t{1} << each, step, 1, primes).front());
  }
  return primes;
}

// --- Metadata. ---

class OpenFheMetadata : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Contexts, OpenFheMetadata, testing::Values("bfv", "bgv", "ckks-flexibleauto"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(OpenFheMetadata, FilesHaveWhatOpenFheHas) {
  const Session session(test::get(GetParam(), "cryptocontext.bin"), tests::device());
  const Bytes file = test::get(GetParam(), "ct_a.bin");
  const Ciphertext a = session.load_ciphertext(file);
  const bool ckks = session.params().scheme() == rlwe::Scheme::ckks;
  const bool bgv = session.params().scheme() == rlwe::Scheme::bgv;
  // The fields of the file's object that each of Hemera's changes.
  const std::map<std::string, std::vector<std::string>> table = {
      {"batch", {}},
      {"level", {"level", "limbs"}},
      {"scale", ckks ? std::vector<std::string>{"scaling_factor"} : std::vector<std::string>{}},
      {"noise_scale_degree", {"noise_scale_degree"}},
      {"correction", bgv ? std::vector<std::string>{"scaling_factor_int"} : std::vector<std::string>{}},
      {"slots", ckks ? std::vector<std::string>{"slots"} : std::vector<std::string>{}},
      {"encoding", ckks ? std::vector<std::string>{} : std::vector<std::string>{"encoding"}},
      {"noise_log2", {}},
      {"largest", {}},
      {"filled", {}},
      {"padding", {}},
      {"is_complex", {}},
      {"spent", {}},
  };
  ASSERT_EQ(table.size(), tests::member_count<rlwe::Metadata>());
  const auto before = read_file<CiphertextPointer>(file);
  for (const rlwe::MetadataField& field : rlwe::metadata_fields()) {
    SCOPED_TRACE(field.name);
    Ciphertext b = a.clone();
    if (field.name == "batch") {
      b = rlwe::stack({&a, &a});
      EXPECT_THROW(static_cast<void>(session.dump_ciphertext(b)), MismatchError);
      for (const Bytes& each : session.dump_ciphertexts(b)) EXPECT_EQ(each, file);
      continue;
    }
    if (field.name == "level") {
      const std::size_t level = a.meta.level - 1;
      rlwe::Metadata meta = a.meta;
      meta.level = level;
      b = rlwe::make_ciphertext(session.context(), meta, 2);
      session.context()->backend().fill_zero(session.context()->queue(), b.poly.view());
    } else if (field.name == "slots" && ckks) {
      b.meta.slots /= 2;
    } else {
      field.change(b.meta);
    }
    if (field.name == "scale" && !ckks) b.meta.scale = 1;
    if (field.name == "correction" && !bgv) b.meta.correction = 1;
    for (const Format format : {Format::binary, Format::json}) {
      const auto after = read_file<CiphertextPointer>(session.dump_ciphertext(b, format));
      std::vector<std::string> changed;
      const auto compare = [&](const char* name, const auto& x, const auto& y) {
        if (x != y) changed.emplace_back(name);
      };
      compare("header", after->header.tag, before->header.tag);
      compare("slots", after->slots, before->slots);
      compare("level", after->level, before->level);
      compare("limbs", after->components[0].limbs.size(), before->components[0].limbs.size());
      compare("hop_level", after->hop_level, before->hop_level);
      compare("noise_scale_degree", after->noise_scale_degree, before->noise_scale_degree);
      compare("scaling_factor", after->scaling_factor, before->scaling_factor);
      compare("scaling_factor_int", after->scaling_factor_int, before->scaling_factor_int);
      compare("encoding", after->encoding, before->encoding);
      EXPECT_EQ(changed, table.at(field.name));
      const Ciphertext again = session.load_ciphertext(session.dump_ciphertext(b, format));
      EXPECT_EQ(again.meta.level, b.meta.level);
      EXPECT_EQ(again.meta.noise_scale_degree, b.meta.noise_scale_degree);
      EXPECT_EQ(again.meta.scale, b.meta.scale);
      EXPECT_EQ(again.meta.correction, b.meta.correction);
      EXPECT_EQ(ckks ? again.meta.slots : 0, ckks ? b.meta.slots : 0);
      EXPECT_EQ(again.meta.encoding, ckks ? a.meta.encoding : b.meta.encoding);
    }
    // In memory: the same fields.
    const Metadata told = session.metadata(b);
    const auto object = read_file<CiphertextPointer>(session.dump_ciphertext(b));
    EXPECT_EQ(told.level, object->level);
    EXPECT_EQ(told.noise_scale_degree, static_cast<int>(object->noise_scale_degree));
    EXPECT_EQ(told.scaling_factor, object->scaling_factor);
    EXPECT_EQ(told.scaling_factor_int, object->scaling_factor_int);
    EXPECT_EQ(told.slots, object->slots);
    const Ciphertext taken = session.import_ciphertext(view_of(*object));
    EXPECT_EQ(session.dump_ciphertext(taken), session.dump_ciphertext(b));
  }
}

// BGV's factors go with every degree, 1 and 0 among them.
TEST(OpenFheMetadata, IntegerFactorsGoWithEveryDegree) {
  const Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  for (const std::uint32_t degree : {0U, 1U, 2U, 3U}) {
    auto object = read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"));
    object->noise_scale_degree = degree;
    object->scaling_factor_int = 12345;
    const Ciphertext x = session.load_ciphertext(write_file(object, Format::binary));
    EXPECT_EQ(x.meta.correction, 12345U) << degree;
    EXPECT_EQ(x.meta.noise_scale_degree, static_cast<int>(degree));
    EXPECT_EQ(session.metadata(x).scaling_factor_int, 12345U) << degree;
  }
}

// OpenFHE counts levels from the top by the moduli that are dropped, however many the plaintext modulus
// needs.
TEST(OpenFheMetadata, LevelsCountDroppedModuliWhereSeveralAreNeeded) {
  const ContextPointer context = context_of("bfv");
  context->parameters->encoding->plain_modulus = (std::uint64_t{1} << 59) + 1;
  set_primes(*context, primes_of_bits({50, 50, 50, 50, 50}, 2 * context->parameters->elements->degree));
  auto file = context;
  const Session session(write_file(file, Format::binary), "tag", {}, tests::device());
  ASSERT_EQ(session.params().literal().levels.front().size(), 2U);
  ASSERT_EQ(session.context()->top_level(), 3U);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
  for (std::size_t level = 0; level <= 3; ++level) {
    const Ciphertext x = rlwe::encrypt_zero(
        secret,
        {.level = level, .slots = session.context()->degree(), .encoding = rlwe::Encoding::coefficients});
    EXPECT_EQ(session.metadata(x).level, 3 - level);
    EXPECT_EQ(session.metadata(x).limbs, 2 + level);
    const auto object = read_file<CiphertextPointer>(session.dump_ciphertext(x));
    EXPECT_EQ(object->level, 3 - level);
    EXPECT_EQ(session.load_ciphertext(session.dump_ciphertext(x)).meta.level, level);
  }
}

// EvalMultNoRelin of BFV leaves coefficients, that of the others the evaluations.
TEST_P(OpenFheMetadata, ProductsOfThreeComponentsHaveOpenFhesForm) {
  const Session session(test::get(GetParam(), "cryptocontext.bin"), tests::device());
  const bool bfv = session.params().scheme() == rlwe::Scheme::bfv;
  const Ciphertext a = session.load_ciphertext(test::get(GetParam(), "ct_a.bin"));
  const auto lazy =
      any_scheme::make_evaluator(session.context(), session.keys(), rlwe::Relinearization::lazy);
  const Ciphertext product = lazy->multiply(a, session.load_ciphertext(test::get(GetParam(), "ct_b.bin")));
  ASSERT_EQ(product.size(), 3U);
  EXPECT_EQ(session.metadata(a).is_evaluation, true);
  EXPECT_EQ(session.metadata(product).is_evaluation, !bfv);
  const auto object = read_file<CiphertextPointer>(session.dump_ciphertext(product));
  std::vector<std::vector<std::uint64_t>> words(3 * object->components[0].limbs.size(),
                                                std::vector<std::uint64_t>(session.context()->degree()));
  session.export_ciphertext(product, std::vector<std::span<std::uint64_t>>(words.begin(), words.end()));
  std::size_t next = 0;
  for (const DcrtPolynomial& component : object->components) {
    EXPECT_EQ(component.form, bfv ? PolynomialForm::coefficient : PolynomialForm::evaluation);
    for (const NativePolynomial& limb : component.limbs) EXPECT_EQ(limb.words, words[next++]);
  }
  // In a file with another one beside it each element has its own rows.
  const Ciphertext square = lazy->multiply(a, a);
  const auto files = session.dump_ciphertexts(rlwe::stack({&square, &product}));
  EXPECT_EQ(files.at(0), session.dump_ciphertext(square));
  EXPECT_EQ(files.at(1), session.dump_ciphertext(product));
  EXPECT_NE(files[0], files[1]);
  // Spans are for one ciphertext.
  EXPECT_THROW(session.export_ciphertext(rlwe::stack({&square, &product}),
                                         std::vector<std::span<std::uint64_t>>(words.begin(), words.end())),
               MismatchError);
}

TEST(OpenFheMetadata, FactorsThatAreNoNumbersHaveNoJson) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  Ciphertext x = session.load_ciphertext(test::get("ckks-flexibleauto", "ct_a.bin"));
  for (const double scale : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    x.meta.scale = scale;
    EXPECT_THROW(static_cast<void>(session.dump_ciphertext(x, Format::json)), MismatchError);
  }
}

TEST(OpenFheMetadata, EmptyObjectsAreRefused) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), "tag", {}, tests::device());
  io::MemorySink sink;
  EXPECT_THROW(static_cast<void>(session.dump_ciphertext({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_ciphertexts({})), MismatchError);
  EXPECT_THROW(session.dump_ciphertext(sink, {}), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_keys({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_secret_key({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session.metadata({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session.bootstrap({})), MismatchError);
  EXPECT_THROW(session.export_ciphertext({}, {}), MismatchError);
}

// --- Keys. ---

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
  // By the numbers that OpenFHE has: even ones for the sparse secret, with the first to it.
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
      from_public_key(rlwe::generate_public_key(secret), {context_of("bgv"), powers.entries[0].tag});
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
  const CryptoObject header{context_of("bgv"),
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
    const ContextPointer context = context_of("bfv");
    CryptoParameters& parameters = *context->parameters;
    parameters.encryption = EncryptionType::extended;
    parameters.key_switching = KeySwitching::bv;
    parameters.digit_size = window;
    const std::uint64_t degree = parameters.elements->degree;
    set_primes(*context, primes_of_bits({50, 50}, 2 * degree));
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

// --- Parameters. ---

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

// What each setting of OpenFHE means here.
TEST(OpenFheParameters, SettingsAreOpenFhes) {
  const auto literal_of = [](const char* folder, const auto& change) {
    const ContextPointer context = context_of(folder);
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
  const ContextPointer context = context_of("ckks-flexibleauto");
  const std::uint64_t step = 2 * context->parameters->elements->degree;
  context->parameters->scaling = Scaling::flexible_auto_ext;
  context->parameters->encoding->plain_modulus = 40;
  set_primes(*context, primes_of_bits({60, 30}, step));
  EXPECT_EQ(parameters_of(*context).literal().range_bits, 19);  // 60 - 40, rounded down
  EXPECT_EQ(parameters_of(*context).literal().scale,
            static_cast<double>(context->parameters->elements->primes.back()->modulus));
  // FLEXIBLEAUTO has the last modulus for the scale of the top, and squares less a modulus below it.
  context->parameters->scaling = Scaling::flexible_auto;
  set_primes(*context, primes_of_bits({60, 38, 42}, step));
  EXPECT_EQ(parameters_of(*context).literal().range_bits, 13);  // 60 - (2 * 42 - 38), rounded down
}

// OpenFHE's factors modulo t with FLEXIBLEAUTOEXT: the last modulus at the top, the next to last one below
// it, then squares by the modulus that is dropped (CryptoParametersBGVRNS::PrecomputeCRTTables).
TEST(OpenFheParameters, IntegerFactorsWithAnExtraModulus) {
  const ContextPointer context = context_of("bgv");
  context->parameters->scaling = Scaling::flexible_auto_ext;
  set_primes(*context, primes_of_bits({50, 44, 45, 46}, 2 * context->parameters->elements->degree));
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

// --- Limits: the last value that is taken, and the first that is not. ---

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
  const auto context = context_of("ckks-flexibleauto");
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

// --- Files. ---

std::string field_of(const Description& description, const std::string& name) {
  for (const auto& [field, value] : description.fields) {
    if (field == name) return value;
  }
  return "";
}

TEST(OpenFheDescriptions, OfKeysTellTheModuliOfKeys) {
  const auto values = test::values("ckks-flexibleauto");
  double data = 0, all = 0;
  std::size_t own = 0, count = 0;
  for (const char* const list : {"q", "p"}) {
    for (const auto& prime : values.at("parameters").at(list)) {
      all += std::log2(prime.at("modulus").get<double>());
      ++count;
    }
    if (own == 0) {
      own = count;
      data = all;
    }
  }
  const auto text = [](std::size_t primes, double bits) {
    std::string digits = std::to_string(std::round(bits * 10) / 10);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return std::to_string(primes) + " of " + digits + " bits together";
  };
  for (const char* const name : {"eval_mult_key.bin", "eval_automorphism_keys.bin"}) {
    const auto found = describe(test::get("ckks-flexibleauto", name));
    ASSERT_TRUE(found);
    EXPECT_EQ(field_of(*found, "moduli"), text(own, data));
    EXPECT_EQ(field_of(*found, "key moduli"), text(count, all));
    EXPECT_EQ(field_of(*found, "digits"),
              std::to_string(values.at("parameters").at("digit_partition").size()));
  }
}

TEST(OpenFheDescriptions, TellEachFieldOfACiphertext) {
  auto object = read_file<CiphertextPointer>(test::get("bgv", "a_mod_reduced.bin"));
  object->noise_scale_degree = 5;
  object->scaling_factor_int = 77;
  const auto found = describe(write_file(object, Format::json));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->format, "JSON");
  EXPECT_EQ(field_of(*found, "components"), "2");
  EXPECT_EQ(field_of(*found, "limbs"), std::to_string(object->components[0].limbs.size()));
  EXPECT_EQ(field_of(*found, "level"), std::to_string(object->level));
  EXPECT_NE(object->level, 0U);
  EXPECT_EQ(field_of(*found, "noise scale degree"), "5");
  EXPECT_EQ(field_of(*found, "integer scaling factor"), "77");
  EXPECT_EQ(field_of(*found, "form"), "evaluation");
  EXPECT_EQ(field_of(*found, "key tag"), object->header.tag);
  EXPECT_EQ(field_of(*found, "scheme"), "BGV");
}

// The fields that 1.4 has not are in the context of every object, not of a context's file alone.
TEST(OpenFheFiles, OfEachKindAreReadWithTheFieldsOf14) {
  const Bytes context = test::get_of_version("1.4.2/bootstrap", "cryptocontext.bin");
  const Bytes ciphertext = test::get_of_version("1.4.2/bootstrap", "ct.bin");
  const Session session(context, tests::device());
  EXPECT_EQ(session.dump_context().size(), context.size());
  const Ciphertext x = session.load_ciphertext(ciphertext);
  const auto object = read_file<CiphertextPointer>(ciphertext);
  EXPECT_EQ(x.meta.slots, object->slots);
  EXPECT_FALSE(object->header.context->scheme->fhe->settings.at(0).settings->encodes_slots);
  EXPECT_EQ(describe(ciphertext)->kind, "ciphertext");
}

TEST(OpenFheFiles, NumbersOfJsonFitTheirFields) {
  auto object = read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"));
  const Bytes file = write_file(object, Format::json);
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto load = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.rfind(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return read_file<CiphertextPointer>(std::as_bytes(std::span(changed)));
  };
  EXPECT_EQ(load("\"l\": 0", "\"l\": 4294967295")->level, 4294967295U);
  // 2^32 is no 0.
  EXPECT_THROW(load("\"l\": 0", "\"l\": 4294967296"), FormatError);
  EXPECT_THROW(load("\"d\": 1", "\"d\": 4294967297"), FormatError);
  EXPECT_THROW(load("\"l\": 0", "\"l\": -1"), FormatError);
  EXPECT_THROW(load("\"e\": 2", "\"e\": 4294967298"), FormatError);
  EXPECT_THROW(load("\"e\": 2", "\"e\": 2147483648"), FormatError);
  EXPECT_THROW(load("\"e\": 2", "\"e\": -2147483649"), FormatError);
}

// A limb has the root of its polynomial's base: with another one its residues are another polynomial's.
TEST(OpenFheFiles, RootsOfLimbsAreThoseOfTheBase) {
  auto object = read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"));
  NativePolynomial& limb = object->components[1].limbs[1];
  auto other = std::make_shared<NativeParameters>(*limb.parameters);
  const arith::Modulus modulus(other->modulus);
  other->root = modulus.power(other->root, 3);
  limb.parameters = other;
  EXPECT_THROW(static_cast<void>(read_file<CiphertextPointer>(write_file(object, Format::binary))),
               FormatError);
  other->root = object->components[0].limbs[1].parameters->root;
  EXPECT_NO_THROW(static_cast<void>(read_file<CiphertextPointer>(write_file(object, Format::binary))));
}

TEST(OpenFheFiles, DegreesAndOrdersFit) {
  for (const int field : {0, 1}) {
    auto context = context_of("bgv");
    NativeParameters& prime = *context->parameters->elements->primes[0];
    (field == 0 ? prime.order : prime.degree) *= 2;
    EXPECT_THROW(static_cast<void>(read_file<ContextPointer>(write_file(context, Format::binary))),
                 FormatError);
  }
}

// A reference to an object of another class, or to another one of its own, is none.
TEST(OpenFheFiles, ReferencesAreToTheirObject) {
  auto object = read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"));
  const Bytes file = write_file(object, Format::json);
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string field = "\"id\": ";
  // The base of the last polynomial, and the prime of its last limb.
  std::size_t at = std::string::npos;
  int references = 0;
  for (int from_end = 0; from_end < 4; ++from_end) {
    at = text.rfind(field, at - 1);
    ASSERT_NE(at, std::string::npos);
    const std::size_t first = at + field.size();
    std::size_t digits = 0;
    const auto own = std::stoull(text.substr(first, 10), &digits);
    if (own >> 31 != 0) continue;  // no reference, but an object
    ++references;
    for (std::uint64_t number = 1; number < 12; ++number) {
      const std::string changed =
          text.substr(0, first) + std::to_string(number) + text.substr(first + digits);
      const auto read = [&] { return read_file<CiphertextPointer>(std::as_bytes(std::span(changed))); };
      if (number == own) {
        EXPECT_NO_THROW(static_cast<void>(read()));
      } else {
        EXPECT_THROW(static_cast<void>(read()), FormatError) << from_end << " " << number;
      }
    }
  }
  EXPECT_GE(references, 2);
}

TEST(OpenFheFiles, ContextsOfSecondKeysAreContexts) {
  const CryptoObject header{context_of("bgv"), "tag"};
  MultiplicationKeys keys;
  keys.entries.push_back({"tag", {}});
  for (int i = 0; i < 2; ++i) {
    keys.entries[0].keys.push_back(std::make_shared<EvaluationKeyObject>());
    keys.entries[0].keys.back()->header = header;
  }
  const Bytes file = write_file(keys, Format::json);
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string field = "\"id\": ";
  const std::size_t at = text.find(field, text.rfind("\"cc\""));
  ASSERT_NE(at, std::string::npos);
  std::size_t digits = 0;
  const auto own = std::stoull(text.substr(at + field.size(), 10), &digits);
  ASSERT_LT(own, 100U);
  for (std::uint64_t number = 0; number < 12; ++number) {
    const std::string changed =
        text.substr(0, at + field.size()) + std::to_string(number) + text.substr(at + field.size() + digits);
    const auto read = [&] { return read_file<MultiplicationKeys>(std::as_bytes(std::span(changed))); };
    if (number == own) {
      const MultiplicationKeys found = read();
      EXPECT_EQ(found.entries[0].keys[0]->header.context, found.entries[0].keys[1]->header.context);
    } else {
      EXPECT_THROW(static_cast<void>(read()), FormatError) << number;
    }
  }
}

TEST(OpenFheFiles, TruthValuesOfJsonAreTruthValues) {
  const Bytes file = test::get("ckks-bootstrap-context", "cryptocontext.json");
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string field = "\"BTSlotsEncoding\": ";
  const std::size_t at = text.find(field);
  ASSERT_NE(at, std::string::npos);
  const std::size_t first = at + field.size(), last = text.find_first_of(",\n}", first);
  for (const char* const value : {"true", "false", "1", "0", "\"true\"", "{}"}) {
    const std::string changed = text.substr(0, first) + value + text.substr(last);
    const auto read = [&] { return read_file<ContextPointer>(std::as_bytes(std::span(changed))); };
    if (std::string_view(value) == "true" || std::string_view(value) == "false") {
      EXPECT_EQ(read()->scheme->fhe->settings[0].settings->encodes_slots, std::string_view(value) == "true");
    } else {
      EXPECT_THROW(static_cast<void>(read()), FormatError) << value;
    }
  }
}

TEST(OpenFheDescriptions, NameEachTechnique) {
  const std::map<Scaling, const char*> names = {{Scaling::fixed_manual, "FIXEDMANUAL"},
                                                {Scaling::fixed_auto, "FIXEDAUTO"},
                                                {Scaling::flexible_auto, "FLEXIBLEAUTO"},
                                                {Scaling::flexible_auto_ext, "FLEXIBLEAUTOEXT"},
                                                {Scaling::composite_auto, "COMPOSITESCALINGAUTO"},
                                                {Scaling::composite_manual, "COMPOSITESCALINGMANUAL"},
                                                {Scaling::no_rescale, "NORESCALE"}};
  for (const auto& [scaling, name] : names) {
    for (const KeySwitching switching : {KeySwitching::bv, KeySwitching::hybrid}) {
      auto context = context_of("ckks-flexibleauto");
      context->parameters->scaling = scaling;
      context->parameters->key_switching = switching;
      const auto found = describe(write_file(context, Format::binary));
      ASSERT_TRUE(found);
      EXPECT_EQ(field_of(*found, "scaling technique"), name);
      EXPECT_EQ(field_of(*found, "key switching"), switching == KeySwitching::bv ? "BV" : "HYBRID");
      EXPECT_EQ(field_of(*found, "bootstrapping"), "no");
    }
  }
}

}  // namespace
}  // namespace hemera::interop::openfhe
