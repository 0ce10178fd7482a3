// Two objects of SEAL's that differ in one field: of the parameters and of ciphertexts.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/seal/client.hpp"
#include "interop/seal/differences_support.hpp"
#include "interop/seal/objects.hpp"
#include "interop/seal/samples.hpp"
#include "interop/seal/vectors.hpp"
#include "member_count.hpp"
#include "rlwe/metadata_fields.hpp"
#include "test_device.hpp"

namespace hemera::interop::seal::test::differences {
namespace {

INSTANTIATE_TEST_SUITE_P(, SealDifferences, ::testing::ValuesIn(schemes),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(SealDifferences, ObjectsOfOtherParametersAreRefusedByEveryLoader) {
  const EncryptionParameters own = parameters();
  const std::uint64_t step = 2 * own.degree;
  const auto prime_beside = [&](std::uint64_t prime) {
    return arith::primes_below(prime, step, 1, own.moduli).front();
  };
  struct Entry {
    std::string field;
    std::function<void(EncryptionParameters&)> change;
    // SEAL's parms_id of data has the primes of data alone.
    bool has_other_messages = true;
  };
  const bool ckks = is(rlwe::Scheme::ckks);
  const std::vector<Entry> table = {
      {"scheme",
       [&](EncryptionParameters& p) {
         p.scheme = p.scheme == SchemeNumber::bfv ? SchemeNumber::bgv : SchemeNumber::bfv;
         if (ckks) p.plain_modulus = 65537;
       }},
      {"degree", [](EncryptionParameters& p) { p.degree /= 2; }},
      {"moduli", [&](EncryptionParameters& p) { p.moduli.front() = prime_beside(p.moduli.front()); }},
      {"plain_modulus", [](EncryptionParameters& p) { p.plain_modulus = 40961; }},
      // A field of several numbers.
      {"moduli, the last of data",
       [&](EncryptionParameters& p) { p.moduli[p.moduli.size() - 2] = prime_beside(p.moduli.front()); }},
      {"moduli, that of keys",
       [&](EncryptionParameters& p) { p.moduli.back() = prime_beside(p.moduli.back()); }, false},
      {"moduli, their number", [](EncryptionParameters& p) { p.moduli.pop_back(); }},
      {"moduli, their order", [](EncryptionParameters& p) { std::swap(p.moduli[0], p.moduli[1]); }},
  };
  std::set<std::string> fields;
  for (const Entry& entry : table) fields.insert(entry.field.substr(0, entry.field.find(',')));
  ASSERT_EQ(fields.size(), tests::member_count<EncryptionParameters>());

  vectors.load_keys();
  const KeyFiles keys = session().dump_keys(session().keys());
  const Bytes ciphertext = vectors.file(vectors.names("ct_a.").front());
  const Bytes plaintext = vectors.file("plaintext_m.seal"), secret = vectors.file("secret_key.seal");
  const Ciphertext a = session().load_ciphertext(ciphertext);
  const rlwe::Plaintext m = session().load_plaintext(plaintext);
  for (const Entry& entry : table) {
    SCOPED_TRACE(entry.field);
    EncryptionParameters changed = own;
    entry.change(changed);
    const Bytes changed_file = file_of(changed);
    const Options options = changed.scheme == SchemeNumber::ckks ? vectors.options() : Options{};
    if (ckks && entry.field == "plain_modulus") {
      EXPECT_THROW(Session(changed_file, hemera::tests::device(), options), ParameterError);
      continue;
    }
    EXPECT_THROW(Session(changed_file, session().context(), options), MismatchError);
    Session other(changed_file, hemera::tests::device(), options);
    const auto expect_refused = [&](const char* what, const auto& call) {
      EXPECT_THROW(static_cast<void>(call()), MismatchError) << what;
    };
    if (entry.has_other_messages) {
      expect_refused("ciphertext", [&] { return other.load_ciphertext(ciphertext); });
      expect_refused("batch", [&] { return other.load_ciphertexts(std::vector<Source>{ciphertext}); });
      // Alone the id of fewer primes may be that of their keys.
      if (changed.moduli.size() == own.moduli.size())
        expect_refused("description", [&] { return describe(ciphertext, Source(changed_file)); });
      // Plaintexts of BFV and BGV say nothing of their parameters.
      if (ckks) expect_refused("plaintext", [&] { return other.load_plaintext(plaintext); });
    } else {
      EXPECT_EQ(content(other.dump_ciphertext(other.load_ciphertext(ciphertext))),
                content(session().dump_ciphertext(a)));
    }
    expect_refused("secret key", [&] { return other.load_secret_key(secret); });
    expect_refused("public key", [&] { return other.load_keys({.public_key = Source(*keys.public_key)}); });
    expect_refused("relinearization",
                   [&] { return other.load_keys({.relinearization = Source(*keys.relinearization)}); });
    expect_refused("galois", [&] { return other.load_keys({.galois = Source(*keys.galois)}); });
    EXPECT_TRUE(other.keys().public_key == nullptr && other.keys().switching.empty());
    // Objects of this context in the other session.
    std::vector<std::uint64_t> words(a.poly.shape().components * a.poly.base().size() * own.degree);
    expect_refused("dump ciphertext", [&] { return other.dump_ciphertext(a); });
    expect_refused("dump batch", [&] { return other.dump_ciphertexts(a); });
    expect_refused("dump plaintext", [&] { return other.dump_plaintext(m); });
    expect_refused("dump keys", [&] { return other.dump_keys(session().keys()); });
    expect_refused("dump secret key", [&] { return other.dump_secret_key(vectors.secret()); });
    expect_refused("metadata", [&] { return other.metadata(a); });
    expect_refused("reduced", [&] { return other.reduced(a, 0); });
    expect_refused("export", [&] { return other.export_ciphertext(a, words), 0; });
  }
}

TEST_P(SealDifferences, OptionsAreThoseOfTheContext) {
  ASSERT_EQ(tests::member_count<Options>(), 2U);  // an entry for each below
  if (is(rlwe::Scheme::ckks)) {
    EXPECT_THROW(Session(parms, session().context(), {.scale = 2 * vectors.options().scale}), MismatchError);
    EXPECT_THROW(Session(parms, hemera::tests::device(),
                         {.scale = vectors.options().scale, .encoding = rlwe::Encoding::coefficients}),
                 ParameterError);
    EXPECT_THROW(Session(parms, hemera::tests::device(), {}), ParameterError);
    return;
  }
  EXPECT_THROW(Session(parms, hemera::tests::device(), {.scale = 0x1p30}), ParameterError);
  // The encoding is no field of a context: two sessions in one may have one each.
  const Session other(parms, session().context(), {.encoding = rlwe::Encoding::coefficients});
  const Bytes file = vectors.file(vectors.names("ct_a.").front());
  EXPECT_EQ(other.load_ciphertext(file).meta.encoding, rlwe::Encoding::coefficients);
  EXPECT_EQ(session().load_ciphertext(file).meta.encoding, rlwe::Encoding::slots);
}

TEST_P(SealDifferences, CiphertextsThatDifferInAFieldAreNoBatch) {
  const EncryptionParameters own = parameters();
  const Levels levels(own);
  const Ciphertext a = session().load_ciphertext(vectors.file(vectors.names("ct_a.").front()));
  const Metadata meta = session().metadata(a);
  const CiphertextFields fields{.id = levels.id(a.meta.level),
                                .is_evaluation = meta.is_ntt_form,
                                .size = 2,
                                .degree = own.degree,
                                .moduli = meta.coeff_modulus_count,
                                .scale = meta.scale,
                                .correction = meta.correction_factor};
  std::vector<std::uint64_t> words(2 * fields.moduli * fields.degree), other_form(words.size());
  session().export_ciphertext(a, words);
  session().export_ciphertext(a, other_form, !fields.is_evaluation);
  const Bytes first = file_of(fields, words);
  ASSERT_EQ(content(session().dump_ciphertext(session().load_ciphertext(first))), content(first));

  enum class Outcome { malformed, refused, no_batch, batch };
  struct Entry {
    std::string field;
    Outcome outcome;
    Bytes file;
  };
  std::vector<Entry> table;
  const auto add = [&](const std::string& field, Outcome outcome, const auto& change) {
    CiphertextFields changed = fields;
    std::vector<std::uint64_t> changed_words = words;
    change(changed, changed_words);
    table.push_back({field, outcome, file_of(changed, changed_words)});
  };
  using Words = std::vector<std::uint64_t>;
  const bool ckks = is(rlwe::Scheme::ckks), bgv = is(rlwe::Scheme::bgv);
  add("id", Outcome::malformed, [&](CiphertextFields& f, Words&) { f.id = levels.id(a.meta.level - 1); });
  add("id of keys", Outcome::refused, [&](CiphertextFields& f, Words& w) {
    f.id = levels.key_id();
    ++f.moduli;
    w.resize(2 * f.moduli * f.degree);
  });
  add("is_evaluation", bgv ? Outcome::batch : Outcome::refused, [&](CiphertextFields& f, Words& w) {
    f.is_evaluation = !f.is_evaluation;
    w = other_form;
  });
  add("size", Outcome::no_batch, [&](CiphertextFields& f, Words& w) {
    f.size = 3;
    w.resize(3 * f.moduli * f.degree);
  });
  add("size and words of one component", Outcome::malformed, [&](CiphertextFields& f, Words&) {
    f.size = 3;
    f.degree /= 2;
  });
  add("degree", Outcome::malformed, [&](CiphertextFields& f, Words& w) {
    f.degree /= 2;
    w.resize(w.size() / 2);
  });
  add("moduli", Outcome::malformed, [&](CiphertextFields& f, Words& w) {
    --f.moduli;
    w.resize(2 * f.moduli * f.degree);
  });
  add("moduli and id", Outcome::no_batch, [&](CiphertextFields& f, Words& w) {
    --f.moduli;
    f.id = levels.id(a.meta.level - 1);
    w.assign(2 * f.moduli * f.degree, 1);
  });
  add("scale", ckks ? Outcome::no_batch : Outcome::malformed,
      [](CiphertextFields& f, Words&) { f.scale *= 1 + 0x1p-50; });
  add("correction", bgv ? Outcome::no_batch : Outcome::malformed,
      [](CiphertextFields& f, Words&) { f.correction += 1; });
  // Words of one component and a seed, which the expanded one agrees with.
  for (const std::string& name : vectors.names("ct_a."))
    table.push_back({"is_seeded", Outcome::batch, vectors.file(name)});
  std::set<std::string> named;
  for (const Entry& entry : table) named.insert(entry.field.substr(0, entry.field.find(' ')));
  ASSERT_EQ(named.size(), tests::member_count<CiphertextFields>());

  for (const Entry& entry : table) {
    SCOPED_TRACE(entry.field);
    const auto load = [&] { return session().load_ciphertext(entry.file); };
    if (entry.outcome == Outcome::malformed) {
      EXPECT_THROW(load(), FormatError);
    } else if (entry.outcome == Outcome::refused) {
      EXPECT_THROW(load(), MismatchError);
    } else {
      EXPECT_NO_THROW(load());
    }
    for (const bool is_first : {true, false}) {
      const auto sources =
          is_first ? std::vector<Source>{entry.file, first} : std::vector<Source>{first, entry.file};
      const auto load_both = [&] { return session().load_ciphertexts(sources); };
      if (entry.outcome == Outcome::no_batch) {
        EXPECT_THROW(static_cast<void>(load_both()), MismatchError) << is_first;
        continue;
      }
      if (entry.outcome != Outcome::batch) {
        EXPECT_THROW(static_cast<void>(load_both()), Error) << is_first;
        continue;
      }
      const auto files = session().dump_ciphertexts(load_both());
      EXPECT_EQ(content(files.at(0)), content(first));
      EXPECT_EQ(content(files.at(1)), content(first));
    }
  }
  // A batch of which the second one is refused by its words alone.
  std::vector<std::uint64_t> above = words;
  above.back() = ~std::uint64_t{0};
  EXPECT_THROW(
      static_cast<void>(session().load_ciphertexts(std::vector<Source>{first, file_of(fields, above)})),
      FormatError);
}

// What Hemera knows of a ciphertext: SEAL's file has some of it, and the rest changes nothing in it.
TEST_P(SealDifferences, FilesOfCiphertextsHaveWhatSealHas) {
  const bool ckks = is(rlwe::Scheme::ckks), bgv = is(rlwe::Scheme::bgv);
  const std::map<std::string, bool> table = {
      {"batch", false},    {"level", true},   {"scale", ckks},     {"noise_scale_degree", false},
      {"correction", bgv}, {"slots", false},  {"encoding", false}, {"noise_log2", false},
      {"largest", false},  {"filled", false}, {"padding", false},  {"is_complex", false},
      {"spent", false}};
  ASSERT_EQ(table.size(), tests::member_count<rlwe::Metadata>());
  const Ciphertext a = session().load_ciphertext(vectors.file(vectors.names("ct_a.").front()));
  const Metadata before = session().metadata(a);
  const Bytes file = content(session().dump_ciphertext(a));
  for (const rlwe::MetadataField& field : rlwe::metadata_fields()) {
    SCOPED_TRACE(field.name);
    Ciphertext b = a.clone();
    if (field.name == "batch") {
      b = rlwe::stack({&a, &a});
      EXPECT_THROW(static_cast<void>(session().dump_ciphertext(b)), MismatchError);
      EXPECT_EQ(session().metadata(b).parms_id, before.parms_id);
      for (const Bytes& each : session().dump_ciphertexts(b)) EXPECT_EQ(content(each), file);
      continue;
    }
    if (field.name == "level") {
      session().evaluator()->drop_to_level_inplace(b, a.meta.level - 1);
    } else {
      field.change(b.meta);
    }
    if (field.name == "scale" && !ckks) b.meta.scale = 1;  // no other scheme has another
    if (field.name == "correction" && !bgv) b.meta.correction = 1;
    const Bytes changed = session().dump_ciphertext(b);
    EXPECT_EQ(content(changed) != file, table.at(field.name));
    const Metadata after = session().metadata(b);
    EXPECT_EQ(after.scale, b.meta.scale);
    EXPECT_EQ(after.correction_factor, b.meta.correction);
    EXPECT_EQ(after.coeff_modulus_count, before.coeff_modulus_count - (field.name == "level" ? 1 : 0));
    EXPECT_EQ(after.parms_id != before.parms_id, field.name == "level");
    EXPECT_EQ(after.is_ntt_form, before.is_ntt_form);
    const Ciphertext again = session().load_ciphertext(changed);
    EXPECT_EQ(again.meta.level, b.meta.level);
    EXPECT_EQ(again.meta.scale, b.meta.scale);
    EXPECT_EQ(again.meta.correction, b.meta.correction);
  }
}

TEST_P(SealDifferences, EmptyObjectsAreRefused) {
  EXPECT_THROW(static_cast<void>(session().dump_ciphertext({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session().dump_ciphertexts({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session().dump_plaintext({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session().dump_plaintexts({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session().dump_keys({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session().dump_secret_key({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session().metadata({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session().reduced({}, 0)), MismatchError);
  EXPECT_THROW(session().export_ciphertext({}, {}), MismatchError);
}

// A seed stands for the second of two components: of three there would be one left.
TEST_P(SealDifferences, SeedsAreOfTwoComponents) {
  const Bytes seeded = content(vectors.file(vectors.names("ct_a.").front()));
  const std::size_t size_at = 33;  // after the parms_id and the form
  ASSERT_EQ(std::to_integer<int>(seeded[size_at]), 2);
  for (const int size : {0, 1, 3, 4, 16, 17}) {
    Bytes other = seeded;
    other[size_at] = static_cast<std::byte>(size);
    EXPECT_THROW(static_cast<void>(session().load_ciphertext(stored(other))), FormatError) << size;
  }
  const bool is_seeded = seeded.size() < content(vectors.file("ct_b.seal")).size();
  const auto found = describe(stored(seeded));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->fields.back(), (std::pair<std::string, std::string>("seeded", is_seeded ? "yes" : "no")));
}

// A product is what its file is: SEAL has no degrees that would tell them apart.
TEST_P(SealDifferences, ResultsAreStackedWithWhatWasLoaded) {
  vectors.load_keys();
  const auto evaluator = session().evaluator();
  const Ciphertext product = evaluator->multiply(vectors.ciphertext("ct_a."), vectors.ciphertext("ct_b."));
  const Ciphertext loaded = session().load_ciphertext(session().dump_ciphertext(product));
  const auto files = session().dump_ciphertexts(rlwe::stack({&product, &loaded}));
  EXPECT_EQ(files.at(0), files.at(1));
}

TEST_P(SealDifferences, LevelsAreReducedToThemselvesAndBelow) {
  const Ciphertext a = vectors.ciphertext("ct_a.");
  if (is(rlwe::Scheme::bfv)) return;  // refused at every level
  EXPECT_EQ(content(session().dump_ciphertext(session().reduced(a, a.meta.level))),
            content(session().dump_ciphertext(a)));
  // A batch is exported one by one: room for one is none for two.
  const Ciphertext both = rlwe::stack({&a, &a});
  std::vector<std::uint64_t> words(2 * a.poly.base().size() * session().context()->degree());
  EXPECT_THROW(session().export_ciphertext(both, words), MismatchError);
  words.resize(2 * words.size());
  EXPECT_THROW(session().export_ciphertext(both, words), MismatchError);
}

}  // namespace
}  // namespace hemera::interop::seal::test::differences
