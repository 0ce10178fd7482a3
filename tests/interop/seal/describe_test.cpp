// What descriptions tell, to the last field: of files of every kind that are written here field by field.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "interop/seal/objects.hpp"
#include "interop/seal/samples.hpp"
#include "interop/seal/vectors.hpp"
#include "io/allocation_guard.hpp"

namespace hemera::interop::seal::test {
namespace {

using test::file_of;

using Bytes = std::vector<std::byte>;
using Fields = std::vector<std::pair<std::string, std::string>>;

constexpr std::uint64_t degree = 8;  // no context is needed
const std::vector<std::uint64_t> moduli = {1000003, 1000033, 1000037, 1000039, 1000081};

// Parameters of five primes of 20 bits, four of them for data. The session's levels begin where the product
// is more than twice the plain modulus.
EncryptionParameters parameters(SchemeNumber scheme, std::uint64_t plain_modulus) {
  return {scheme, degree, moduli, plain_modulus};
}

std::string hex(const ParmsId& id) {
  std::string text;
  for (const std::byte byte : id) {
    for (const unsigned digit :
         {std::to_integer<unsigned>(byte) >> 4, std::to_integer<unsigned>(byte) & 15}) {
      text += "0123456789abcdef"[digit];
    }
  }
  return text;
}

// With a seed in place of the second component.
void write_seeded(Writer& out, const CiphertextFields& fields) {
  out.bytes(fields.id);
  out.u8(fields.is_evaluation ? 1 : 0);
  for (const std::uint64_t word : {fields.size, fields.degree, fields.moduli}) out.u64(word);
  out.f64(fields.scale);
  out.u64(fields.correction);
  const std::uint64_t count = fields.degree * fields.moduli;
  out.nested_header(Header::bytes + 8 + 8 * count);
  out.u64(count);
  out.words(std::vector<std::uint64_t>(count, 1));
  out.nested_header(Header::bytes + 1 + seed_bytes);
  out.u8(2);
  out.bytes(std::vector<std::byte>(seed_bytes));
}

void write_whole(Writer& out, const CiphertextFields& fields) {
  write_ciphertext(out, fields);
  out.words(std::vector<std::uint64_t>(fields.size * fields.degree * fields.moduli, 1));
}

Bytes file_of(const CiphertextFields& fields, Compression compression = Compression::none) {
  Writer out(3);
  fields.is_seeded ? write_seeded(out, fields) : write_whole(out, fields);
  return out.finish(compression);
}

// Keys of so many digits in these places.
Bytes file_of_keys(const ParmsId& id, std::uint64_t places, const std::vector<std::uint64_t>& filled,
                   std::uint64_t digits, bool is_seeded = false) {
  const CiphertextFields fields{.id = id,
                                .is_evaluation = true,
                                .size = 2,
                                .degree = degree,
                                .moduli = moduli.size(),
                                .is_seeded = is_seeded};
  const std::uint64_t seed = Header::bytes + 1 + seed_bytes;
  Writer out(4);
  out.bytes(id);
  out.u64(places);
  auto next = filled.begin();
  for (std::uint64_t place = 0; place < places; ++place) {
    if (next == filled.end() || *next != place) {
      out.u64(0);
      continue;
    }
    ++next;
    out.u64(digits);
    for (std::uint64_t digit = 0; digit < digits; ++digit) {
      const std::uint64_t half = 8 * degree * moduli.size();
      out.nested_header(is_seeded ? ciphertext_bytes(fields) - half + seed : ciphertext_bytes(fields));
      is_seeded ? write_seeded(out, fields) : write_whole(out, fields);
    }
  }
  return out.finish(Compression::none);
}

TEST(SealDescribe, ParametersAreToldAsTheyAre) {
  for (const auto& [scheme, name] :
       {std::pair{SchemeNumber::bfv, "BFV"}, std::pair{SchemeNumber::ckks, "CKKS"},
        std::pair{SchemeNumber::bgv, "BGV"}}) {
    for (const int minor : {0, 1, 4, 255}) {
      const EncryptionParameters own = parameters(scheme, 77);
      const auto found = describe(file_of(own, static_cast<std::uint8_t>(minor)));
      ASSERT_TRUE(found);
      EXPECT_EQ(found->kind, "encryption parameters");
      EXPECT_EQ(found->version, "4." + std::to_string(minor));
      EXPECT_EQ(found->fields, (Fields{{"scheme", name},
                                       {"degree", "8"},
                                       {"coefficient modulus", "1000003, 1000033, 1000037, 1000039, 1000081"},
                                       {"plain modulus", "77"},
                                       {"parms_id of keys", hex(own.id(5))}}));
    }
  }
  // The ids that SEAL computed.
  for (const char* scheme : schemes) {
    const Vectors vectors(scheme);
    const auto found = describe(vectors.file(vectors.names("parms.").front()));
    EXPECT_EQ(
        found->fields.at(4).second,
        parms_id(vectors.values().get_child("parms_id_chain").front().second.get_child("parms_id_words")));
  }
}

TEST(SealDescribe, EveryFieldOfACiphertextIsTold) {
  CiphertextFields fields{
      .id = {}, .is_evaluation = false, .size = 3, .degree = 16, .moduli = 2, .scale = 1.5};
  for (std::size_t i = 0; i < fields.id.size(); ++i) fields.id[i] = static_cast<std::byte>(7 * i + 9);
  const auto expect = [](const CiphertextFields& f, const std::string& kind) {
    for (const Compression compression : {Compression::none, Compression::zlib, Compression::zstd}) {
      const auto found = describe(file_of(f, compression));
      ASSERT_TRUE(found);
      EXPECT_EQ(found->kind, kind);
      EXPECT_EQ(found->version, "4.3");
      char scale[40];
      std::snprintf(scale, sizeof(scale), "%.17g", f.scale);
      EXPECT_EQ(found->fields, (Fields{{"parms_id", hex(f.id)},
                                       {"size", std::to_string(f.size)},
                                       {"is_ntt_form", f.is_evaluation ? "yes" : "no"},
                                       {"degree", std::to_string(f.degree)},
                                       {"coeff_modulus_count", std::to_string(f.moduli)},
                                       {"scale", scale},
                                       {"correction_factor", std::to_string(f.correction)},
                                       {"seeded", f.is_seeded ? "yes" : "no"}}));
    }
  };
  expect(fields, "ciphertext");
  const auto changed = [&](auto change, const std::string& kind = "ciphertext") {
    CiphertextFields other = fields;
    change(other);
    expect(other, kind);
  };
  changed([](auto& f) { f.id[31] = std::byte{0xFF}; });
  changed([](auto& f) { f.is_evaluation = true; });
  changed([](auto& f) { f.size = 2; });
  changed([](auto& f) { f.degree = 32; });
  changed([](auto& f) { f.moduli = 5; });
  changed([](auto& f) { f.scale = 0.1; });
  changed([](auto& f) { f.correction = 12345678901234567; });
  // SEAL has public keys of two components in NTT form.
  changed([](auto& f) { f.size = 2, f.is_evaluation = true; }, "ciphertext or public key");
  changed([](auto& f) { f.size = 2, f.is_seeded = true; });
  changed([](auto& f) { f.size = 2, f.is_seeded = f.is_evaluation = true; }, "ciphertext or public key");
  // An error in the seed, which stands behind the words.
  fields.size = 2;
  fields.is_seeded = true;
  Bytes file = file_of(fields);
  for (const int generator : {0, 3}) {
    file[file.size() - seed_bytes - 1] = static_cast<std::byte>(generator);
    EXPECT_THROW(describe(file), FormatError) << generator;
  }
}

// Level 0 is the first whose product holds twice the plain modulus, as in a session.
TEST(SealDescribe, LevelsAreThoseOfASession) {
  const std::uint64_t p = 1000000;
  for (const auto& [plain_modulus, fewest] :
       {std::pair{std::uint64_t{0}, 1U}, std::pair{p / 3, 1U}, std::pair{p, 2U}, std::pair{p * p / 3, 2U},
        std::pair{p * p, 3U}, std::pair{p * p * p / 3, 3U}, std::pair{p * p * p, 4U}}) {
    const EncryptionParameters own =
        parameters(plain_modulus == 0 ? SchemeNumber::ckks : SchemeNumber::bfv, plain_modulus);
    const std::string scheme = plain_modulus == 0 ? "CKKS" : "BFV";
    const Bytes parms = file_of(own);
    for (std::size_t count = 1; count <= 5; ++count) {
      SCOPED_TRACE(std::to_string(plain_modulus) + " " + std::to_string(count));
      const CiphertextFields fields{
          .id = own.id(count), .is_evaluation = true, .size = 2, .degree = degree, .moduli = count};
      const Bytes ciphertext = file_of(fields);
      Writer out(4);
      write_plaintext(out, {.id = own.id(count), .count = degree * count, .scale = 2});
      out.words(std::vector<std::uint64_t>(degree * count, 1));
      const Bytes plaintext = out.finish(Compression::none);
      if (count < fewest) {
        EXPECT_THROW(describe(ciphertext, Source(parms)), MismatchError);
        EXPECT_THROW(describe(plaintext, Source(parms)), MismatchError);
        continue;
      }
      const std::string level = count == 5 ? "of keys" : std::to_string(count - fewest);
      const auto found = describe(ciphertext, Source(parms));
      EXPECT_EQ(found->kind, count == 5 ? "public key" : "ciphertext");
      const Fields begin(found->fields.begin(), found->fields.begin() + 3);
      const Fields expected = {{"scheme", scheme}, {"parms_id", hex(own.id(count))}, {"level", level}};
      EXPECT_EQ(begin, expected);
      EXPECT_EQ(found->fields.size(), 10U);
      const auto told = describe(plaintext, Source(parms));
      EXPECT_EQ(told->kind, count == 5 ? "secret key" : "plaintext");
      Fields all = expected;
      all.emplace_back("coefficients", std::to_string(degree * count));
      if (count != 5) all.emplace_back("scale", "2");
      EXPECT_EQ(told->fields, all);
    }
  }
}

TEST(SealDescribe, PlaintextsWithoutAnIdAreNoKeys) {
  for (const std::uint64_t count : {0U, 1U, 6U, 5000U}) {
    Writer out(4);
    write_plaintext(out, {.id = {}, .count = count});
    out.words(std::vector<std::uint64_t>(count, 1));
    const Bytes file = out.finish(Compression::none);
    const Bytes parms = file_of(parameters(SchemeNumber::bfv, 77));
    for (const bool has_parms : {false, true}) {
      const auto found = describe(file, has_parms ? std::optional<Source>(parms) : std::nullopt);
      EXPECT_EQ(found->kind, "plaintext");
      EXPECT_EQ(found->fields, (Fields{{"coefficients", std::to_string(count)}, {"scale", "1"}}));
    }
  }
}

// How many keys, digits of one key, and which Galois elements: 2 i + 1 in place i.
TEST(SealDescribe, SetsOfKeysAreCounted) {
  const EncryptionParameters own = parameters(SchemeNumber::bgv, 77);
  const ParmsId id = own.id(5);
  const Bytes parms = file_of(own);
  struct Set {
    std::uint64_t places;
    std::vector<std::uint64_t> filled;
    const char* elements;
  };
  for (const std::uint64_t digits : {1U, 3U, 4U}) {
    for (const bool is_seeded : {false, true}) {
      for (const Set& set : {Set{0, {}, "none"}, Set{8, {}, "none"}, Set{8, {1}, "3"}, Set{8, {7}, "15"},
                             Set{8, {1, 7}, "3, 15"}, Set{8, {2, 3, 4, 6}, "5, 7, 9, 13"},
                             Set{8, {1, 2, 3, 4, 5, 6, 7}, "3, 5, 7, 9, 11, 13, 15"}}) {
        const Bytes file = file_of_keys(id, set.places, set.filled, digits, is_seeded);
        const std::string told = set.filled.empty() ? "0" : std::to_string(digits);
        Fields expected = {{"parms_id", hex(id)},
                           {"keys", std::to_string(set.filled.size())},
                           {"digits", told},
                           {"Galois elements", set.elements}};
        EXPECT_EQ(describe(file)->kind, "Galois keys");
        EXPECT_EQ(describe(file)->fields, expected);
        expected.emplace(expected.begin(), "scheme", "BGV");
        expected.emplace(expected.begin() + 2, "level", "of keys");
        EXPECT_EQ(describe(file, Source(parms))->fields, expected);
      }
      for (const std::uint64_t count : {1U, 2U, 14U}) {
        std::vector<std::uint64_t> filled;
        for (std::uint64_t i = 0; i < count; ++i) filled.push_back(i);
        const auto found = describe(file_of_keys(id, count, filled, digits, is_seeded));
        EXPECT_EQ(found->kind, "relinearization keys");
        EXPECT_EQ(found->fields, (Fields{{"parms_id", hex(id)},
                                         {"keys", std::to_string(count)},
                                         {"digits", std::to_string(digits)}}));
      }
    }
  }
}

TEST(SealDescribe, SetsOfKeysThatAreNoneAreRefused) {
  const EncryptionParameters own = parameters(SchemeNumber::bgv, 77);
  const ParmsId id = own.id(5);
  const Bytes parms = file_of(own);
  // At a level of data; of other parameters.
  EXPECT_THROW(describe(file_of_keys(own.id(4), 8, {1}, 2), Source(parms)), FormatError);
  EXPECT_THROW(describe(file_of_keys(parameters(SchemeNumber::bfv, 77).id(5), 8, {1}, 2), Source(parms)),
               MismatchError);
  // One digit of several has another id, the first or the last one.
  const Bytes two = file_of_keys(id, 2, {1}, 2);
  const std::size_t first = 16 + 32 + 8 + 8 + 8 + 16;
  const std::size_t digit = (two.size() - (first - 16)) / 2;
  for (const std::size_t at : {first, first + 31, first + digit, first + digit + 31}) {
    Bytes changed = two;
    changed[at] ^= std::byte{1};
    EXPECT_THROW(describe(changed), FormatError) << at;
  }
  // As many places as the largest degree, and digits as SEAL has moduli; not one more.
  const std::uint64_t most = std::uint64_t{1} << 17;
  EXPECT_EQ(describe(file_of_keys(id, most, {most - 1}, 1))->fields.back().second,
            std::to_string(2 * most - 1));
  EXPECT_THROW(describe(file_of_keys(id, most + 1, {most - 1}, 1)), FormatError);
  EXPECT_EQ(describe(file_of_keys(id, 2, {1}, 256))->fields.at(2).second, "256");
  EXPECT_THROW(describe(file_of_keys(id, 2, {1}, 257)), FormatError);
}

// What reads a secret key's file leaves none of its words behind.
TEST(SealDescribe, SecretsLeaveNoCopiesInReleasedMemory) {
  for (const char* scheme : schemes) {
    const Vectors vectors(scheme);
    const Bytes parms = vectors.file(vectors.names("parms.").front());
    const Bytes plain = stored(content(vectors.file("secret_key.seal")));
    for (const std::size_t part : {plain.size() / 3, plain.size() / 2, plain.size() - 48}) {
      io::test::AllocationGuard guard;
      guard.watch(std::span(plain).subspan(part, 40));
      static_cast<void>(describe(plain));
      static_cast<void>(describe(plain, Source(parms)));
      EXPECT_EQ(guard.found(), 0U);
    }
  }
}

}  // namespace
}  // namespace hemera::interop::seal::test
