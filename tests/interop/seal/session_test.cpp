// Objects of SEAL: they load, decrypt and compute to what SEAL gave, and are written back as they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "interop/seal/objects.hpp"
#include "interop/seal/residues.hpp"
#include "interop/seal/samples.hpp"
#include "interop/seal/vectors.hpp"
#include "io/allocation_guard.hpp"
#include "test_device.hpp"

namespace hemera::interop::seal::test {
namespace {

using rlwe::Ciphertext;

class SealVectors : public ::testing::TestWithParam<const char*> {
 protected:
  SealVectors() : vectors(GetParam()) {}

  Vectors vectors;
};

INSTANTIATE_TEST_SUITE_P(, SealVectors, ::testing::ValuesIn(schemes),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(SealVectors, ParametersAreThoseOfTheFile) {
  const auto& values = vectors.values();
  const rlwe::ParametersLiteral& literal = vectors.session().params().literal();
  std::vector<std::uint64_t> primes = literal.levels.back();
  primes.insert(primes.end(), literal.special_primes.begin(), literal.special_primes.end());
  std::size_t index = 0;
  for (const auto& item : values.get_child("parameters.coeff_modulus")) {
    const auto prime = item.second.get<std::uint64_t>("modulus");
    EXPECT_EQ(primes.at(index++), prime);
    EXPECT_EQ(literal.roots.at(prime), item.second.get<std::uint64_t>("minimal_2N_th_root"));
  }
  EXPECT_EQ(index, primes.size());
  EXPECT_EQ(literal.plain_modulus, values.get<std::uint64_t>("parameters.plain_modulus"));
  EXPECT_EQ(literal.galois_generator, 3U);
  for (const std::string& name : vectors.names("parms.")) {
    EXPECT_EQ(load_parameters(vectors.file(name), vectors.options()), vectors.session().params()) << name;
    EXPECT_EQ(content(vectors.session().dump_context(Compression::none)), content(vectors.file(name)))
        << name;
  }
}

TEST_P(SealVectors, CiphertextsDecryptToTheirValues) {
  std::size_t tested = 0;
  for (const std::string& name : vectors.names()) {
    if (vectors.values().get_child("ciphertexts").count(name) == 0) continue;
    vectors.expect(vectors.session().load_ciphertext(vectors.file(name)), name);
    ++tested;
  }
  EXPECT_GE(tested, 3U);
}

TEST_P(SealVectors, PlaintextsHoldTheirValues) {
  for (const std::string input : {"a", "b", "m"}) {
    const std::string name = "plaintext_" + input + ".seal";
    if (vectors.first_of({name}).empty()) continue;
    const rlwe::Plaintext plaintext = vectors.session().load_plaintext(vectors.file(name));
    vectors.expect_values(plaintext, vectors.values().get_child("inputs." + input), 1e-6);
    EXPECT_EQ(content(vectors.session().dump_plaintext(plaintext)), content(vectors.file(name)));
  }
}

// Each of SEAL's operations with Hemera's: the metadata that SEAL gave, and the values.
TEST_P(SealVectors, OperationsGiveWhatSealGave) {
  vectors.load_keys();
  const Session& session = vectors.session();
  const auto context = session.context();
  const auto evaluator = any_scheme::make_evaluator(context, session.keys(), rlwe::Relinearization::lazy);
  const Ciphertext a = vectors.ciphertext("ct_a.");
  const Ciphertext b = vectors.ciphertext("ct_b.");
  const rlwe::Plaintext m = session.load_plaintext(vectors.file("plaintext_m.seal"));
  const auto lowered = [&](Ciphertext x) {
    evaluator->drop_to_level_inplace(x, x.meta.level - 1);
    return x;
  };
  vectors.expect(evaluator->add(a, b), "add.seal");
  vectors.expect(evaluator->subtract(a, b), "sub.seal");
  vectors.expect(evaluator->multiply_plain(a, m), "mul_plain.seal");
  Ciphertext product = evaluator->multiply(a, b);
  vectors.expect(product, "mul_size3.seal");
  evaluator->relinearize_inplace(product);
  vectors.expect(product, "mul_relin.seal");
  vectors.expect(evaluator->rotate(a, 1), "rotate_1.seal");
  vectors.expect(evaluator->rotate(a, -2), "rotate_m2.seal");
  vectors.expect(evaluator->conjugate(a), vectors.is_ckks() ? "conjugate.seal" : "rotate_columns.seal");
  vectors.expect(lowered(a.clone()), "mod_switch_a.seal");
  if (vectors.is_ckks()) {
    vectors.expect(evaluator->rescale(product), "mul_relin_rescale.seal");
  } else {
    vectors.expect(evaluator->add(lowered(a.clone()), lowered(b.clone())), "mod_switch_add.seal");
    vectors.expect(lowered(product.clone()), "mul_relin_mod_switch.seal");
  }
}

TEST_P(SealVectors, WhatIsWrittenIsReadBack) {
  vectors.load_keys();
  Session& session = vectors.session();
  const auto again = [&](const std::vector<std::byte>& file, const std::string& name) {
    vectors.expect(session.load_ciphertext(file), name);
  };
  const std::string name = vectors.names("ct_a.").front();
  const Ciphertext a = vectors.ciphertext("ct_a.");
  for (const Compression compression : {Compression::none, Compression::zlib, Compression::zstd}) {
    const auto file = session.dump_ciphertext(a, compression);
    EXPECT_EQ(std::to_integer<unsigned>(file[5]), static_cast<unsigned>(compression));
    again(file, name);
  }

  // The keys, in a session of their own.
  Session other(session.dump_context(), session.context(), vectors.options());
  other.load_keys(session.dump_keys(session.keys(), Compression::zlib).sources());
  EXPECT_EQ(other.keys().galois_elements(), session.keys().galois_elements());
  const auto evaluator = other.evaluator();
  const Ciphertext b = other.load_ciphertext(vectors.file(vectors.names("ct_b.").front()));
  vectors.expect(evaluator->multiply(a, b), "mul_relin.seal");
  vectors.expect(evaluator->rotate(a, -2), "rotate_m2.seal");
  const rlwe::SecretKey secret = other.load_secret_key(session.dump_secret_key(vectors.secret()));
  vectors.expect_values(any_scheme::decrypt(a, secret), vectors.entry(name).get_child("expected"),
                        vectors.is_ckks() ? 1e-4 : 0);

  // The public key, by an encryption with it.
  const rlwe::Plaintext plaintext = session.load_plaintext(vectors.file("plaintext_a.seal"));
  const Ciphertext fresh = any_scheme::encrypt(plaintext, other.keys());
  const rlwe::Plaintext decrypted =
      any_scheme::decrypt(session.load_ciphertext(session.dump_ciphertext(fresh)), vectors.secret());
  vectors.expect_values(decrypted, vectors.values().get_child("inputs.a"), 1e-3);
}

TEST_P(SealVectors, SecretsLeaveNoCopiesInReleasedMemory) {
  const Session& session = vectors.session();
  const auto plain = session.dump_secret_key(vectors.secret(), Compression::none);
  for (const Compression compression : {Compression::none, Compression::zlib, Compression::zstd}) {
    const auto file = session.dump_secret_key(vectors.secret(), compression);
    for (const auto* watched : {&plain, &file}) {
      io::test::AllocationGuard guard;
      guard.watch(std::span(*watched).subspan(watched->size() / 2, 40));
      const auto written = session.dump_secret_key(vectors.secret(), compression);
      EXPECT_EQ(guard.found(), 0U);
      static_cast<void>(session.load_secret_key(file));
      EXPECT_EQ(guard.found(), 0U);
      EXPECT_TRUE(written == file);
    }
  }
}

TEST_P(SealVectors, FilesThatAreNotSeededAreWrittenAsTheyWere) {
  Session& session = vectors.session();
  std::size_t tested = 0;
  for (const std::string& name : vectors.names()) {
    const auto& ciphertexts = vectors.values().get_child("ciphertexts");
    const auto& keys = vectors.values().get_child("keys");
    const auto file = vectors.file(name);
    std::vector<std::byte> written;
    if (const auto found = ciphertexts.find(name); found != ciphertexts.not_found()) {
      if (found->second.get<bool>("seeded")) continue;
      written = session.dump_ciphertext(session.load_ciphertext(file));
    } else if (const auto key = keys.find(name); key != keys.not_found()) {
      if (key->second.get("seeded", false)) continue;
      Session empty(session.dump_context(), session.context(), vectors.options());
      const auto kind = key->second.get<std::string>("kind");
      if (kind == "secret key") {
        written = session.dump_secret_key(session.load_secret_key(file));
      } else if (kind == "public key") {
        empty.load_keys({.public_key = file});
        written = *empty.dump_keys(empty.keys()).public_key;
      } else if (kind == "relinearization keys") {
        empty.load_keys({.relinearization = file});
        written = *empty.dump_keys(empty.keys()).relinearization;
      } else {
        empty.load_keys({.galois = file});
        written = *empty.dump_keys(empty.keys()).galois;
      }
    } else {
      continue;
    }
    EXPECT_EQ(content(written), content(file)) << name;
    ++tested;
  }
  EXPECT_GE(tested, 3U);
}

TEST(SealSeeds, ExpandToWhatSealExpanded) {
  std::size_t tested = 0;
  for (const char* scheme : schemes) {
    const Vectors vectors(scheme);
    const Session& session = vectors.session();
    if (vectors.first_of({"ct_a.expanded.seal"}).empty()) continue;
    const auto expanded = content(vectors.file("ct_a.expanded.seal"));
    for (const std::string& name : vectors.names("ct_a.")) {
      EXPECT_EQ(content(session.dump_ciphertext(session.load_ciphertext(vectors.file(name)))), expanded)
          << name;
      ++tested;
    }
    if (vectors.first_of({"public_key.seeded_expanded.seal"}).empty()) continue;
    Session keys(session.dump_context(), session.context(), vectors.options());
    keys.load_keys({.public_key = vectors.file("public_key.seeded.seal")});
    EXPECT_EQ(content(*keys.dump_keys(keys.keys()).public_key),
              content(vectors.file("public_key.seeded_expanded.seal")));
  }
  EXPECT_GE(tested, 2U);
}

// Files of a SEAL whose default generator is SHAKE-256, which makes the seeds that it saves.
TEST(SealSeeds, FilesOfShake256ExpandToWhatSealExpanded) {
  const std::filesystem::path folder = root() / "shake256";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "HEMERA_SEAL_VECTORS names a folder without them";
  const auto file = [&](const std::string& name) {
    const Source source(folder / (name + ".seal"));
    return std::vector<std::byte>(source.bytes().begin(), source.bytes().end());
  };
  Session session(file("parms"), hemera::tests::device(), {.encoding = rlwe::Encoding::coefficients});
  session.load_keys({.public_key = file("public_key.seeded")});
  EXPECT_EQ(content(*session.dump_keys(session.keys()).public_key), content(file("public_key.expanded")));
  const Ciphertext x = session.load_ciphertext(file("x.seeded"));
  EXPECT_EQ(content(session.dump_ciphertext(x)), content(file("x.expanded")));
  const rlwe::SecretKey secret = session.load_secret_key(file("secret_key"));
  const auto found = integer::Encoder(session.context()).decode(any_scheme::decrypt(x, secret));
  std::vector<std::int64_t> expected(1024);
  expected[0] = 0x2A;
  expected[5] = 0x7B;
  expected[1023] = 1;
  EXPECT_EQ(found, expected);
}

TEST_P(SealVectors, BatchesLoadAndAreWrittenOneByOne) {
  vectors.load_keys();
  const Session& session = vectors.session();
  const std::string name_a = vectors.names("ct_a.").front();
  const auto a = vectors.file(name_a);
  const auto b = vectors.file("ct_b.seal");
  const std::vector<Source> sources{a, b};
  const Ciphertext batch = session.load_ciphertexts(sources);
  EXPECT_EQ(batch.meta.batch, rlwe::BatchShape{2});
  const auto files = session.dump_ciphertexts(session.evaluator()->rotate(batch, 1));
  ASSERT_EQ(files.size(), 2U);
  vectors.expect(session.load_ciphertext(files[0]), "rotate_1.seal");
  EXPECT_THROW(static_cast<void>(session.dump_ciphertext(batch)), MismatchError);
  EXPECT_EQ(content(session.dump_ciphertexts(batch)[1]), content(b));

  Ciphertext lower = session.load_ciphertext(a);
  session.evaluator()->drop_to_level_inplace(lower, 0);
  const auto low = session.dump_ciphertext(lower);
  const std::vector<Source> unequal{a, low};
  EXPECT_THROW(static_cast<void>(session.load_ciphertexts(unequal)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.load_ciphertexts({})), ParameterError);
}

// What a decryption could not round goes to no client.
TEST(SealPlaintexts, ThatAreDoubtfulAreNotWritten) {
  Vectors vectors("bfv");
  vectors.load_keys();
  const Session& session = vectors.session();
  const auto evaluator = session.evaluator();
  Ciphertext x = vectors.ciphertext("ct_a.");
  for (int i = 0; i < 12; ++i) x = evaluator->square(x);
  const rlwe::Plaintext spent = any_scheme::decrypt(x, vectors.secret());
  ASSERT_NE(spent.doubtful, nullptr);
  EXPECT_THROW(static_cast<void>(session.dump_plaintext(spent)), NoiseError);
}

TEST_P(SealVectors, ObjectsOfOtherKindsAndParametersAreRefused) {
  Session& session = vectors.session();
  const auto ciphertext = vectors.file(vectors.names("ct_a.").front());
  const auto public_key = vectors.file(vectors.names("public_key.").front());
  const auto secret_key = vectors.file("secret_key.seal");
  const auto plaintext = vectors.file("plaintext_m.seal");
  EXPECT_THROW(static_cast<void>(session.load_ciphertext(public_key)), MismatchError);
  EXPECT_THROW(session.load_keys({.public_key = ciphertext}), MismatchError);
  EXPECT_THROW(static_cast<void>(session.load_plaintext(secret_key)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.load_secret_key(plaintext)), MismatchError);
  EXPECT_THROW(session.load_keys({.galois = vectors.file(vectors.names("relin_keys.").front())}),
               FormatError);
  EXPECT_THROW(session.load_keys({.relinearization =
                                      session
                                          .dump_keys(rlwe::generate_keys(
                                              vectors.secret(), {.relinearization = false, .rotations = {1}}))
                                          .galois.value()}),
               FormatError);
  // Nothing of what failed is kept.
  EXPECT_TRUE(session.keys().switching.empty());

  const Vectors foreign(vectors.is_ckks() ? "bfv" : "ckks");
  EXPECT_THROW(static_cast<void>(foreign.session().load_ciphertext(ciphertext)), MismatchError);
  EXPECT_THROW(static_cast<void>(foreign.session().load_secret_key(secret_key)), MismatchError);
  EXPECT_THROW(static_cast<void>(foreign.session().load_plaintext(plaintext)), MismatchError);
  EXPECT_THROW(static_cast<void>(foreign.session().dump_keys(session.keys())), MismatchError);
  EXPECT_THROW(static_cast<void>(foreign.session().dump_ciphertext(session.load_ciphertext(ciphertext))),
               MismatchError);
  EXPECT_THROW(
      Session(vectors.file(vectors.names("parms.").front()), foreign.session().context(), vectors.options()),
      MismatchError);
}

TEST_P(SealVectors, DescriptionsTellWhatFilesTell) {
  const auto parms_file = vectors.file(vectors.names("parms.").front());
  const auto kind = [&](const std::string& name, bool with_parms) {
    const auto found =
        describe(vectors.file(name), with_parms ? std::optional<Source>(parms_file) : std::nullopt);
    return found ? found->kind : "";
  };
  EXPECT_EQ(kind(vectors.names("parms.").front(), false), "encryption parameters");
  const std::string ciphertext = vectors.names("ct_a.").front();
  // Ciphertexts of BFV are in coefficient form, which no public key is in.
  const bool is_bfv = vectors.session().params().scheme() == rlwe::Scheme::bfv;
  EXPECT_EQ(kind(ciphertext, false), is_bfv ? "ciphertext" : "ciphertext or public key");
  EXPECT_EQ(kind(ciphertext, true), "ciphertext");
  EXPECT_EQ(kind(vectors.names("public_key.").front(), true), "public key");
  EXPECT_EQ(kind("plaintext_m.seal", true), "plaintext");
  EXPECT_EQ(kind("plaintext_m.seal", false), vectors.is_ckks() ? "plaintext or secret key" : "plaintext");
  EXPECT_EQ(kind("secret_key.seal", true), "secret key");
  EXPECT_EQ(kind(vectors.names("relin_keys.").front(), false), "relinearization keys");
  const auto files = vectors.names("galois_keys.");
  if (!files.empty()) {
    const auto found = describe(vectors.file(files.front()));
    EXPECT_EQ(found->kind, "Galois keys");
    EXPECT_EQ(found->version, "4.4");
    EXPECT_EQ(found->fields.back().second, "3, 3641, 8191");
  }
  const std::vector<std::byte> other(100);
  EXPECT_FALSE(describe(other).has_value());
  const auto foreign = Vectors(vectors.is_ckks() ? "bfv" : "ckks").file("parms.zstd.seal");
  EXPECT_THROW(describe(vectors.file(ciphertext), Source(foreign)), MismatchError);
}

// A plain modulus that exceeds the first prime: no message fits the level that SEAL would have there.
TEST(SealParameters, LevelsBeginWhereThePlainModulusFits) {
  const auto parms = file_of({SchemeNumber::bfv, 4096, primes, std::uint64_t{1} << 40});
  const Session session(parms, hemera::tests::device());
  EXPECT_EQ(session.params().levels(), 1U);
  const auto context = session.context();
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const std::vector<std::int64_t> values{1, -2, 3};
  const auto plaintext = integer::Encoder(context).encode(values, {}, rlwe::Encoding::coefficients);
  const Ciphertext x = any_scheme::encrypt(plaintext, secret);
  EXPECT_EQ(session.metadata(x).coeff_modulus_count, 2U);
  const Ciphertext again = session.load_ciphertext(session.dump_ciphertext(x));
  EXPECT_EQ(again.meta.encoding, rlwe::Encoding::coefficients);
  auto found = integer::Encoder(context).decode(any_scheme::decrypt(again, secret));
  found.resize(values.size());
  EXPECT_EQ(found, values);
  EXPECT_THROW(Session(parms, hemera::tests::device(), {.encoding = rlwe::Encoding::slots}), ParameterError);
}

// One prime is for data and keys alike, and none is left to switch with.
TEST(SealParameters, OnePrimeHasNoSwitchingKeys) {
  const auto parms = file_of({SchemeNumber::bgv, 4096, {primes[0]}, 257});
  Session session(parms, hemera::tests::device());
  const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
  const rlwe::SecretKey again = session.load_secret_key(session.dump_secret_key(secret));
  const std::vector<std::int64_t> values{7};
  const auto plaintext = integer::Encoder(session.context()).encode(values, {}, rlwe::Encoding::coefficients);
  const Ciphertext x =
      session.load_ciphertext(session.dump_ciphertext(any_scheme::encrypt(plaintext, secret)));
  EXPECT_EQ(integer::Encoder(session.context()).decode(any_scheme::decrypt(x, again)).front(), 7);
  const auto files = Vectors("bgv");
  EXPECT_THROW(session.load_keys({.relinearization = files.file("relin_keys.full.seal")}), MismatchError);
  const KeyPlaces none(1, std::vector<CiphertextView>(1));
  EXPECT_THROW(session.import_relinearization(none), FormatError);
}

std::array<std::byte, 32> id_of(const Metadata& meta) {
  std::array<std::byte, 32> id;
  for (std::size_t i = 0; i < id.size(); ++i) {
    id[i] = static_cast<std::byte>(std::stoul(meta.parms_id.substr(2 * i, 2), nullptr, 16));
  }
  return id;
}

// What adapters give: the same checks as of files.
TEST_P(SealVectors, ObjectsInMemoryAreThoseOfFiles) {
  const Session& session = vectors.session();
  const Ciphertext a = vectors.ciphertext("ct_a.");
  const Metadata meta = session.metadata(a);
  std::vector<std::uint64_t> words(meta.size * meta.coeff_modulus_count * session.context()->degree());
  session.export_ciphertext(a, words);
  CiphertextView view{.is_ntt_form = meta.is_ntt_form,
                      .size = meta.size,
                      .coeff_modulus_count = meta.coeff_modulus_count,
                      .scale = meta.scale,
                      .correction_factor = meta.correction_factor,
                      .words = words};
  view.parms_id = id_of(meta);
  const auto file = session.dump_ciphertext(a);
  EXPECT_EQ(content(session.dump_ciphertext(session.import_ciphertext(view))), content(file));

  const auto refused = [&](auto change) {
    CiphertextView wrong = view;
    change(wrong);
    EXPECT_THROW(static_cast<void>(session.import_ciphertext(wrong)), FormatError);
  };
  refused([](CiphertextView& wrong) { wrong.size = 3; });
  refused([](CiphertextView& wrong) { wrong.size = 17; });
  refused([](CiphertextView& wrong) { wrong.coeff_modulus_count = 1; });
  refused([](CiphertextView& wrong) { wrong.words = wrong.words.first(100); });
  refused([](CiphertextView& wrong) { wrong.scale = 0; });
  refused([](CiphertextView& wrong) { wrong.correction_factor = 65537; });
  words.back() = ~std::uint64_t{0};
  refused([](CiphertextView&) {});
  view.parms_id[0] ^= std::byte{1};
  EXPECT_THROW(static_cast<void>(session.import_ciphertext(view)), MismatchError);
  EXPECT_THROW(session.export_ciphertext(a, std::span(words).first(7)), MismatchError);
}

// Programs that are compiled with SEAL transform ciphertexts and plaintexts; their files do not hold these.
TEST_P(SealVectors, MemoryHoldsEitherForm) {
  const Session& session = vectors.session();
  const Ciphertext a = vectors.ciphertext("ct_a.");
  const Metadata meta = session.metadata(a);
  std::vector<std::uint64_t> usual(meta.size * meta.coeff_modulus_count * session.context()->degree());
  std::vector<std::uint64_t> other(usual.size());
  session.export_ciphertext(a, usual);
  session.export_ciphertext(a, other, !meta.is_ntt_form);
  EXPECT_NE(usual, other);
  const CiphertextView view{.parms_id = id_of(meta),
                            .is_ntt_form = !meta.is_ntt_form,
                            .size = meta.size,
                            .coeff_modulus_count = meta.coeff_modulus_count,
                            .scale = meta.scale,
                            .correction_factor = meta.correction_factor,
                            .words = other};
  EXPECT_EQ(content(session.dump_ciphertext(session.import_ciphertext(view))),
            content(session.dump_ciphertext(a)));
}

TEST_P(SealVectors, PlaintextsInMemoryArePreparedForALevel) {
  const Session& session = vectors.session();
  const rlwe::Context& context = *session.context();
  const rlwe::Plaintext m = session.load_plaintext(vectors.file("plaintext_m.seal"));
  const Ciphertext a = vectors.ciphertext("ct_a.");
  const std::size_t level = a.meta.level;
  if (vectors.is_ckks()) {
    EXPECT_THROW(static_cast<void>(session.import_plaintext({}, level)), MismatchError);
    return;
  }
  std::vector<std::uint64_t> coefficients(context.degree());
  give_residues(coefficients, context, m.poly.view(), context.plain_base(), poly::Form::coefficient);
  const rlwe::Plaintext prepared = session.import_plaintext({.words = coefficients}, level);
  ASSERT_NE(prepared.lifted, nullptr);
  EXPECT_EQ(prepared.lifted->level, level);
  EXPECT_THROW(static_cast<void>(session.import_plaintext({.words = coefficients}, 99)), LevelError);
  // SEAL's transform_to_ntt leaves what products take.
  std::vector<std::uint64_t> lifted(context.base(level).size() * context.degree());
  give_residues(lifted, context, prepared.lifted->poly.view(), context.base(level), poly::Form::evaluation);
  const rlwe::Plaintext transformed =
      session.import_plaintext({.parms_id = id_of(session.metadata(a)), .words = lifted});
  const auto file = content(session.dump_plaintext(m));
  EXPECT_EQ(content(session.dump_plaintext(prepared)), file);
  EXPECT_EQ(content(session.dump_plaintext(transformed)), file);
  EXPECT_THROW(static_cast<void>(session.import_plaintext(
                   {.parms_id = id_of(session.metadata(a)), .words = std::span(lifted).first(9)})),
               FormatError);
}

TEST_P(SealVectors, ModuliAreReduced) {
  const Session& session = vectors.session();
  const Ciphertext a = vectors.ciphertext("ct_a.");
  ASSERT_GT(a.meta.level, 0U);
  if (session.context()->scheme() == rlwe::Scheme::bfv) {
    EXPECT_THROW(static_cast<void>(session.reduced(a, 0)), MismatchError);
    return;
  }
  const Ciphertext lower = session.reduced(a, 0);
  EXPECT_EQ(lower.meta.level, 0U);
  EXPECT_EQ(lower.meta.correction, a.meta.correction);
  EXPECT_EQ(lower.meta.scale, a.meta.scale);
  const std::size_t degree = session.context()->degree();
  const auto words = [&](const Ciphertext& x) {
    std::vector<std::uint64_t> all(x.size() * session.metadata(x).coeff_modulus_count * degree);
    session.export_ciphertext(x, all);
    return all;
  };
  const auto all = words(a), kept = words(lower);
  const std::size_t limbs = kept.size() / degree / 2;
  for (std::size_t component = 0; component < 2; ++component) {
    const auto first = kept.begin() + static_cast<std::ptrdiff_t>(component * limbs * degree);
    EXPECT_TRUE(std::equal(first, first + static_cast<std::ptrdiff_t>(limbs * degree),
                           all.begin() + static_cast<std::ptrdiff_t>(component * all.size() / 2)));
  }
  EXPECT_THROW(static_cast<void>(session.reduced(lower, 1)), LevelError);
  EXPECT_THROW(static_cast<void>(session.reduced(a, 99)), LevelError);
}

}  // namespace
}  // namespace hemera::interop::seal::test
