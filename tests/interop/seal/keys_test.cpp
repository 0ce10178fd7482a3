// Keys in files and in memory: their places, roles and digits, second calls, and calls that fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "interop/seal/client.hpp"
#include "interop/seal/objects.hpp"
#include "interop/seal/samples.hpp"
#include "interop/seal/vectors.hpp"
#include "member_count.hpp"
#include "test_device.hpp"

namespace hemera::interop::seal::test {
namespace {

using Bytes = std::vector<std::byte>;
using rlwe::Ciphertext;
using rlwe::KeyRole;

class SealKeys : public OfEachScheme {};

INSTANTIATE_TEST_SUITE_P(, SealKeys, ::testing::ValuesIn(schemes),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(SealKeys, KeysOfRolesThatSealDoesNotHaveAreNotWritten) {
  const rlwe::SecretKey& secret = vectors.secret();
  const auto key = std::make_shared<const rlwe::SwitchingKey>(
      rlwe::generate_switching_key(secret, secret, session().context()->top_level()));
  const auto files = [&](const std::vector<KeyRole>& roles) {
    rlwe::EvaluationKeys keys{.context = session().context(), .public_key = nullptr, .switching = {}};
    for (const KeyRole& role : roles) keys.add(role, key);
    return session().dump_keys(keys);
  };
  ASSERT_EQ(tests::member_count<KeyRole>(), 4U);  // each field is changed below
  EXPECT_TRUE(files({KeyRole{.power = 2}}).relinearization.has_value());
  EXPECT_TRUE(files({KeyRole{.galois_element = 3}}).galois.has_value());
  EXPECT_TRUE(files({{.power = 2}, {.power = 3}}).relinearization.has_value());
  const std::vector<std::vector<KeyRole>> none = {
      {{.power = 3}},
      {{.power = 2}, {.power = 4}},
      {{.power = 2, .galois_element = 3}},
      {{.power = 2, .from = 1}},
      {{.power = 2, .to = 1}},
      {{.galois_element = 3, .from = 1}},
      {{.galois_element = 3, .to = 1}},
      {{.from = rlwe::ephemeral_secret}},
      {{.to = rlwe::ephemeral_secret}},
  };
  for (const auto& roles : none) {
    const KeyRole& role = roles.back();
    EXPECT_THROW(static_cast<void>(files(roles)), MismatchError)
        << role.power << " " << role.galois_element << " " << role.from << " " << role.to;
  }
  // SEAL makes and loads 14 of them: its ciphertexts have 16 components at most.
  std::vector<KeyRole> powers;
  for (std::uint32_t power = 2; power <= 15; ++power) powers.push_back({.power = power});
  const KeyFiles most = files(powers);
  Session other(parms, session().context(), vectors.options());
  other.load_keys(most.sources());
  EXPECT_EQ(other.keys().switching.size(), 14U);
  powers.push_back({.power = 16});
  EXPECT_THROW(static_cast<void>(files(powers)), MismatchError);
  // A 15th place, which a file has after its others.
  Bytes longer = content(*most.relinearization);
  const std::size_t place = (longer.size() - 40) / 14;
  const Bytes last(longer.end() - static_cast<std::ptrdiff_t>(place), longer.end());
  longer.insert(longer.end(), last.begin(), last.end());
  longer[32] = std::byte{15};
  EXPECT_THROW(other.load_keys({.relinearization = Source(stored(longer))}), FormatError);
}

// SEAL has one gadget: of two keys of a role it is that of all levels that is written.
TEST_P(SealKeys, KeysOfLowerLevelsAreLeftOut) {
  const auto context = session().context();
  ASSERT_GT(context->top_level(), 0U);
  rlwe::EvaluationKeys keys{.context = context, .public_key = nullptr, .switching = {}};
  const auto add = [&](std::size_t level) {
    keys.add(KeyRole::relinearization(), std::make_shared<const rlwe::SwitchingKey>(
                                             rlwe::generate_relinearization_key(vectors.secret(), level)));
    keys.add(KeyRole::galois(3), std::make_shared<const rlwe::SwitchingKey>(
                                     rlwe::generate_galois_key(vectors.secret(), 3, level)));
  };
  add(0);
  EXPECT_THROW(static_cast<void>(session().dump_keys(keys)), MismatchError);
  add(context->top_level());
  Session other(parms, context, vectors.options());
  other.load_keys(session().dump_keys(keys).sources());
  const Ciphertext a = vectors.ciphertext("ct_a.");
  ASSERT_EQ(a.meta.level, context->top_level());
  const auto evaluator = other.evaluator();
  const Ciphertext turned = evaluator->rotate(evaluator->multiply(a, vectors.ciphertext("ct_b.")), 1);
  EXPECT_EQ(turned.size(), 2U);
}

KeyPlaces places_of(const Session& session, const rlwe::SecretKey& secret, bool is_galois,
                    std::vector<std::vector<std::uint64_t>>& words) {
  // From a file of full keys, as adapters give them.
  rlwe::EvaluationKeys keys{.context = session.context(), .public_key = nullptr, .switching = {}};
  const std::size_t top = session.context()->top_level();
  if (is_galois) {
    keys.add(KeyRole::galois(3),
             std::make_shared<const rlwe::SwitchingKey>(rlwe::generate_galois_key(secret, 3, top)));
  } else {
    keys.add(KeyRole::relinearization(),
             std::make_shared<const rlwe::SwitchingKey>(rlwe::generate_relinearization_key(secret, top)));
  }
  const KeyFiles files = session.dump_keys(keys, Compression::none);
  const Bytes file = is_galois ? *files.galois : *files.relinearization;
  Reader in(file, "keys");
  ParmsId id;
  in.bytes(id);
  KeyPlaces places(in.u64());
  for (auto& place : places) {
    place.resize(in.u64());
    for (CiphertextView& digit : place) {
      const Reader::Nested outer = in.begin_nested();
      Reader::Nested nested;
      const CiphertextFields fields = read_ciphertext(in, nested);
      auto& residues = words.emplace_back(fields.size * fields.moduli * fields.degree);
      in.words(residues);
      end_ciphertext(in, fields, nested);
      in.end_nested(outer);
      digit = {.parms_id = fields.id,
               .is_ntt_form = fields.is_evaluation,
               .size = fields.size,
               .coeff_modulus_count = fields.moduli,
               .scale = fields.scale,
               .correction_factor = fields.correction,
               .words = {}};
    }
  }
  std::size_t next = 0;
  for (auto& place : places) {
    for (CiphertextView& digit : place) digit.words = words[next++];
  }
  return places;
}

// A file of keys in these places.
Bytes file_of(const EncryptionParameters& parameters, const KeyPlaces& places) {
  Writer out(4);
  out.bytes(parameters.id(parameters.moduli.size()));
  out.u64(places.size());
  for (const auto& digits : places) {
    out.u64(digits.size());
    for (const CiphertextView& digit : digits) {
      const CiphertextFields fields{.id = digit.parms_id,
                                    .is_evaluation = digit.is_ntt_form,
                                    .size = digit.size,
                                    .degree = parameters.degree,
                                    .moduli = digit.coeff_modulus_count,
                                    .scale = digit.scale,
                                    .correction = digit.correction_factor};
      out.nested_header(ciphertext_bytes(fields));
      write_ciphertext(out, fields);
      out.words(digit.words);
    }
  }
  return out.finish(Compression::none);
}

// The keys of a session are these very ones.
void expect_same(const rlwe::EvaluationKeys& found, const rlwe::EvaluationKeys& expected) {
  EXPECT_EQ(found.context, expected.context);
  EXPECT_EQ(found.public_key, expected.public_key);
  EXPECT_TRUE(found.switching == expected.switching);
}

// Whichever file is refused, and whatever comes before it: nothing of the call is kept, nothing is lost.
TEST_P(SealKeys, OfACallThatFailsNoneIsKept) {
  vectors.load_keys();
  const KeyFiles own = session().dump_keys(session().keys(), Compression::none);
  const rlwe::SecretKey renewed = rlwe::generate_secret_key(session().context());
  const KeyFiles later =
      session().dump_keys(rlwe::generate_keys(renewed, {.rotations = {1, 5}}), Compression::none);
  const auto damaged = [](const Bytes& file, std::size_t kind) {
    Bytes changed = file;
    if (kind == 0) changed[20] ^= std::byte{1};  // parms_id
    if (kind == 1) std::fill(changed.end() - 8, changed.end(), std::byte{0xFF});
    if (kind == 2) {
      changed.pop_back();
      reseal(changed);
    }
    if (kind == 3) {
      changed.push_back(std::byte{0});
      reseal(changed);
    }
    return changed;
  };
  for (const bool is_empty : {true, false}) {
    Session other(parms, session().context(), vectors.options());
    if (!is_empty) other.load_keys(own.sources());
    const rlwe::EvaluationKeys before = other.keys();
    for (std::size_t wrong = 0; wrong < 3; ++wrong) {
      for (std::size_t given = 0; given < 8; ++given) {
        if ((given >> wrong & 1) == 0) continue;
        KeyFiles files;
        if ((given & 1) != 0) files.public_key = later.public_key;
        if ((given & 2) != 0) files.relinearization = later.relinearization;
        if ((given & 4) != 0) files.galois = later.galois;
        auto& changed = wrong == 0 ? files.public_key : wrong == 1 ? files.relinearization : files.galois;
        // Each kind of damage where it stands alone, one of them in company.
        for (std::size_t kind = 0; kind < (std::has_single_bit(given) ? 4 : 1); ++kind) {
          const Bytes whole = *changed;
          changed = damaged(whole, given == 7 ? 1 : kind);
          EXPECT_THROW(other.load_keys(files.sources()), Error) << wrong << " " << given << " " << kind;
          expect_same(other.keys(), before);
          changed = whole;
        }
      }
    }
    // A call that succeeds keeps all of them, and gives what it keeps.
    EXPECT_EQ(&other.load_keys(later.sources()), &other.keys());
    EXPECT_NE(other.keys().public_key, before.public_key);
    EXPECT_TRUE(other.keys().has(KeyRole::relinearization()));
    EXPECT_TRUE(other.keys().has(KeyRole::galois(3)));
  }
}

// Keys before the one that is refused, in files and in memory.
TEST_P(SealKeys, OfAFileThatIsWrongAtItsEndNoneIsKept) {
  std::vector<std::vector<std::uint64_t>> power_words, turn_words;
  const KeyPlaces powers = places_of(session(), vectors.secret(), false, power_words);
  const KeyPlaces turns = places_of(session(), vectors.secret(), true, turn_words);
  std::vector<std::uint64_t> above = power_words.front();
  above.back() = ~std::uint64_t{0};
  const EncryptionParameters own = parameters();
  struct Change {
    const char* name;
    std::function<void(std::vector<CiphertextView>&)> apply;
  };
  const std::vector<Change> table = {
      {"digits", [](auto& key) { key.pop_back(); }},
      {"parms_id", [](auto& key) { key.back().parms_id[0] ^= std::byte{1}; }},
      {"is_ntt_form", [](auto& key) { key.back().is_ntt_form = false; }},
      {"size",
       [](auto& key) {
         key.back().size = 3;
         key.back().words = {};
       }},
      {"coeff_modulus_count", [](auto& key) { --key.back().coeff_modulus_count; }},
      {"scale", [](auto& key) { key.back().scale = 2; }},
      {"correction_factor", [](auto& key) { key.back().correction_factor = 2; }},
      {"words, fewer", [](auto& key) { key.back().words = key.back().words.first(8); }},
      {"words, above their modulus", [&](auto& key) { key.back().words = above; }},
  };
  Session other(parms, session().context(), vectors.options());
  for (const bool is_loaded : {false, true}) {
    if (is_loaded) {
      other.import_relinearization(powers);
      other.import_galois(turns);
    }
    const rlwe::EvaluationKeys before = other.keys();
    for (const Change& change : table) {
      SCOPED_TRACE(change.name);
      KeyPlaces two_powers = {powers[0], powers[0]};
      change.apply(two_powers[1]);
      EXPECT_THROW(other.import_relinearization(two_powers), Error);
      expect_same(other.keys(), before);
      KeyPlaces two_turns = {{}, turns[1], {}, turns[1]};
      change.apply(two_turns[3]);
      EXPECT_THROW(other.import_galois(two_turns), Error);
      expect_same(other.keys(), before);
      const Bytes power_file = file_of(own, two_powers), turn_file = file_of(own, two_turns);
      EXPECT_THROW(other.load_keys({.relinearization = Source(power_file)}), Error);
      EXPECT_THROW(other.load_keys({.galois = Source(turn_file)}), Error);
      expect_same(other.keys(), before);
    }
  }
}

// Places 1 to N - 1 are of the Galois elements 3 to 2N - 1, and there are N of them; relinearization keys
// have no empty place. The same in files and in memory.
TEST_P(SealKeys, HaveThePlacesThatSealHas) {
  const EncryptionParameters own = parameters();
  const std::size_t degree = own.degree;
  std::vector<std::vector<std::uint64_t>> power_words, turn_words;
  const auto power = places_of(session(), vectors.secret(), false, power_words).at(0);
  const auto turn = places_of(session(), vectors.secret(), true, turn_words).at(1);
  const auto place = [](std::size_t length, const std::vector<std::size_t>& at, const auto& key) {
    KeyPlaces places(length);
    for (const std::size_t i : at) places[i] = key;
    return places;
  };
  struct Case {
    KeyPlaces places;
    std::vector<std::uint64_t> elements;  // none: refused
    bool is_fine = true;
  };
  const std::vector<Case> turns = {
      {place(0, {}, turn), {}},
      {place(2, {1}, turn), {3}},
      {place(5, {1, 4}, turn), {3, 9}},
      {place(degree, {}, turn), {}},
      {place(degree, {degree - 1}, turn), {2 * degree - 1}},
      {place(degree, {degree / 2, degree - 2}, turn), {degree + 1, 2 * degree - 3}},
      {place(1, {0}, turn), {}, false},
      {place(degree, {0, 1}, turn), {}, false},
      {place(degree + 1, {}, turn), {}, false},
      {place(degree + 1, {1}, turn), {}, false},
      {place(degree + 1, {degree}, turn), {}, false},
      {place(2 * degree, {degree + 1}, turn), {}, false},
  };
  for (std::size_t i = 0; i < turns.size(); ++i) {
    SCOPED_TRACE(i);
    const Bytes file = file_of(own, turns[i].places);
    for (const bool is_file : {true, false}) {
      Session other(parms, session().context(), vectors.options());
      const auto load = [&] {
        if (is_file) {
          other.load_keys({.galois = Source(file)});
        } else {
          other.import_galois(turns[i].places);
        }
      };
      if (!turns[i].is_fine) {
        EXPECT_THROW(load(), FormatError) << is_file;
        EXPECT_TRUE(other.keys().switching.empty());
        continue;
      }
      load();
      EXPECT_EQ(other.keys().galois_elements(), turns[i].elements) << is_file;
      // None is lost on the way out, and each stands in its place: there are N.
      const auto written = other.dump_keys(other.keys(), Compression::none).galois;
      ASSERT_EQ(written.has_value(), !turns[i].elements.empty());
      KeyPlaces all = turns[i].places;
      all.resize(degree);
      if (written) {
        EXPECT_EQ(*written, file_of(own, all));
      }
    }
  }
  const std::vector<std::pair<KeyPlaces, std::size_t>> powers = {{place(0, {}, power), 0},
                                                                 {place(1, {0}, power), 1},
                                                                 {place(2, {0, 1}, power), 2},
                                                                 {place(3, {0, 1, 2}, power), 3}};
  for (const auto& [places, count] : powers) {
    const Bytes file = file_of(own, places);
    for (const bool is_file : {true, false}) {
      Session other(parms, session().context(), vectors.options());
      if (is_file) {
        other.load_keys({.relinearization = Source(file)});
      } else {
        other.import_relinearization(places);
      }
      EXPECT_EQ(other.keys().switching.size(), count);
      for (std::uint32_t i = 0; i < count; ++i) EXPECT_TRUE(other.keys().has({.power = i + 2}));
      const auto written = other.dump_keys(other.keys(), Compression::none).relinearization;
      ASSERT_EQ(written.has_value(), count > 0);
      if (written) {
        EXPECT_EQ(*written, file);
      }
    }
  }
  for (const auto& places : {place(1, {}, power), place(2, {0}, power), place(2, {1}, power),
                             place(3, {0, 2}, power), place(3, {0, 1}, power), place(14, {0}, power),
                             place(degree, {0}, power), place(degree + 1, {0}, power)}) {
    const Bytes file = file_of(own, places);
    Session other(parms, session().context(), vectors.options());
    EXPECT_THROW(other.load_keys({.relinearization = Source(file)}), FormatError) << places.size();
    EXPECT_THROW(other.import_relinearization(places), FormatError) << places.size();
    EXPECT_TRUE(other.keys().switching.empty());
  }
}

TEST_P(SealKeys, AndSessionsNeedAContext) {
  EXPECT_THROW(Session(parms, std::shared_ptr<const rlwe::Context>(), vectors.options()), MismatchError);
}

TEST_P(SealKeys, KeysOfSeveralCallsAreAllThere) {
  vectors.load_keys();
  const KeyFiles files = session().dump_keys(session().keys());
  std::vector<std::vector<std::uint64_t>> power_words, turn_words;
  const KeyPlaces powers = places_of(session(), vectors.secret(), false, power_words);
  const KeyPlaces turns = places_of(session(), vectors.secret(), true, turn_words);
  using Call = std::function<void(Session&)>;
  const Call load_public = [&](Session& s) { s.load_keys({.public_key = Source(*files.public_key)}); };
  const Call load_powers = [&](Session& s) {
    s.load_keys({.relinearization = Source(*files.relinearization)});
  };
  const Call load_turns = [&](Session& s) { s.load_keys({.galois = Source(*files.galois)}); };
  const Call take_powers = [&](Session& s) { s.import_relinearization(powers); };
  const Call take_turns = [&](Session& s) { s.import_galois(turns); };
  const Ciphertext a = vectors.ciphertext("ct_a."), b = vectors.ciphertext("ct_b.");
  for (const auto& calls : {std::vector{load_public, load_powers, load_turns},
                            {load_turns, load_powers, load_public},
                            {take_powers, take_turns, load_public},
                            {load_public, take_turns, take_powers},
                            {load_powers, load_public, take_turns},
                            {load_turns, load_public, take_powers}}) {
    Session other(parms, session().context(), vectors.options());
    for (const Call& call : calls) call(other);
    EXPECT_NE(other.keys().public_key, nullptr);
    const auto evaluator = other.evaluator();
    vectors.expect(evaluator->multiply(a, b), "mul_relin.seal");
    vectors.expect(evaluator->rotate(a, 1), "rotate_1.seal");
    // A call that fails leaves them.
    EXPECT_THROW(
        other.load_keys({.public_key = Source(*files.public_key), .galois = Source(*files.relinearization)}),
        FormatError);
    KeyPlaces few = turns;
    few[1].pop_back();
    EXPECT_THROW(other.import_galois(few), FormatError);
    vectors.expect(other.evaluator()->multiply(a, b), "mul_relin.seal");
  }
}

// A client that makes its keys again sends them once more: the later ones count.
TEST_P(SealKeys, LaterKeysCount) {
  const auto context = session().context();
  const rlwe::SecretKey renewed = rlwe::generate_secret_key(context);
  vectors.load_keys();
  Session other(parms, context, vectors.options());
  other.load_keys(session().dump_keys(session().keys()).sources());
  const KeyFiles later = session().dump_keys(rlwe::generate_keys(renewed, {.rotations = {1}}));
  other.load_keys(later.sources());
  const KeyFiles found = other.dump_keys(other.keys());
  EXPECT_EQ(content(*found.public_key), content(*later.public_key));
  EXPECT_EQ(content(*found.relinearization), content(*later.relinearization));
}

// Fewer digits than data primes, in a file and in memory: neither is a key of SEAL's.
TEST_P(SealKeys, KeysOfFewerOrMoreDigitsAreRefused) {
  std::vector<std::vector<std::uint64_t>> words;
  const KeyPlaces turns = places_of(session(), vectors.secret(), true, words);
  const EncryptionParameters own = parameters();
  const std::size_t digits = own.moduli.size() - 1;
  ASSERT_EQ(turns.at(1).size(), digits);
  for (const std::size_t count : {std::size_t{1}, digits - 1, digits, digits + 1}) {
    KeyPlaces places(2);
    for (std::size_t digit = 0; digit < count; ++digit) places[1].push_back(turns[1][digit % digits]);
    const Bytes file = file_of(own, places);
    Session other(parms, session().context(), vectors.options());
    if (count == digits) {
      other.load_keys({.galois = Source(file)});
      EXPECT_TRUE(other.keys().has(KeyRole::galois(3)));
      continue;
    }
    EXPECT_THROW(other.load_keys({.galois = Source(file)}), FormatError) << count;
    EXPECT_THROW(other.import_galois(places), FormatError) << count;
    EXPECT_TRUE(other.keys().switching.empty());
  }
}

// Keys have the fields of keys: scale and correction factor are 1, and nothing follows.
TEST_P(SealKeys, FieldsOfKeysAreThoseOfKeys) {
  rlwe::EvaluationKeys keys{.context = session().context(), .public_key = nullptr, .switching = {}};
  keys.public_key = std::make_shared<const rlwe::PublicKey>(rlwe::generate_public_key(vectors.secret()));
  const Bytes good = content(*session().dump_keys(keys).public_key);
  Session other(parms, session().context(), vectors.options());
  const auto load = [&](const Bytes& changed) {
    const Bytes file = stored(changed);
    other.load_keys({.public_key = Source(file)});
  };
  // parms_id, form, size, degree, moduli, scale, correction factor.
  const std::size_t scale_at = 32 + 1 + 3 * 8;
  for (const std::size_t at : {scale_at, scale_at + 7, scale_at + 8, scale_at + 15}) {
    Bytes changed = good;
    changed[at] ^= std::byte{2};
    EXPECT_THROW(load(changed), FormatError) << at;
  }
  Bytes longer = good;
  longer.resize(longer.size() + 8);
  EXPECT_THROW(load(longer), FormatError);
  EXPECT_EQ(other.keys().public_key, nullptr);
  load(good);
  EXPECT_NE(other.keys().public_key, nullptr);
}

}  // namespace
}  // namespace hemera::interop::seal::test
