// Plaintexts of SEAL's that differ: in what files have, in a batch, in their number of coefficients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "interop/seal/client.hpp"
#include "interop/seal/differences_support.hpp"
#include "interop/seal/objects.hpp"
#include "interop/seal/samples.hpp"
#include "interop/seal/vectors.hpp"
#include "member_count.hpp"
#include "rlwe/metadata_fields.hpp"

namespace hemera::interop::seal::test::differences {
namespace {

TEST_P(SealDifferences, FilesOfPlaintextsHaveWhatSealHas) {
  const bool ckks = is(rlwe::Scheme::ckks);
  // A file of BFV or BGV has coefficients alone.
  const std::map<std::string, bool> table = {
      {"batch", false},      {"level", false},  {"scale", ckks},     {"noise_scale_degree", false},
      {"correction", false}, {"slots", false},  {"encoding", false}, {"noise_log2", false},
      {"largest", false},    {"filled", false}, {"padding", false},  {"is_complex", false},
      {"spent", false}};
  ASSERT_EQ(table.size(), tests::member_count<rlwe::Metadata>());
  const Bytes file = vectors.file("plaintext_m.seal");
  for (const rlwe::MetadataField& field : rlwe::metadata_fields()) {
    SCOPED_TRACE(field.name);
    // With BFV and BGV the values fill the ring whatever their encoding: half of the slots are less there.
    if (field.name == "level" || (field.name == "slots" && !ckks)) continue;
    rlwe::Plaintext m = session().load_plaintext(file);
    ASSERT_EQ(content(session().dump_plaintext(m)), content(file));
    if (field.name == "batch") {
      m.meta.batch = {1};
      EXPECT_EQ(content(session().dump_plaintext(m)), content(file));
      const rlwe::Plaintext twice = rlwe::gather(m, std::vector<std::size_t>{0, 0, 0}, {3});
      EXPECT_THROW(static_cast<void>(session().dump_plaintext(twice)), MismatchError);
      const auto files = session().dump_plaintexts(twice);
      ASSERT_EQ(files.size(), 3U);
      for (const Bytes& each : files) EXPECT_EQ(content(each), content(file));
      continue;
    }
    field.change(m.meta);
    if (field.name == "scale" && !ckks) m.meta.scale = 1;
    EXPECT_EQ(content(session().dump_plaintext(m)) != content(file), table.at(field.name));
    if (!ckks) continue;
    EXPECT_EQ(session().load_plaintext(session().dump_plaintext(m)).meta.scale, m.meta.scale);
  }
}

// Rows that differ: each has its own file.
TEST_P(SealDifferences, PlaintextsOfABatchAreWrittenEachByItself) {
  const Bytes a = vectors.file(vectors.names("ct_a.").front()), b = vectors.file("ct_b.seal");
  const rlwe::Plaintext both =
      any_scheme::decrypt(session().load_ciphertexts(std::vector<Source>{a, b}), vectors.secret());
  const auto files = session().dump_plaintexts(both);
  ASSERT_EQ(files.size(), 2U);
  for (const auto& [name, file] : {std::pair{"inputs.a", files[0]}, {"inputs.b", files[1]}}) {
    vectors.expect_values(session().load_plaintext(file), vectors.values().get_child(name), 1e-3);
  }
}

// SEAL's plaintexts end with their highest coefficient that is not 0.
TEST_P(SealDifferences, PlaintextsOfCoefficientsKeepTheirNumber) {
  if (is(rlwe::Scheme::ckks)) return;
  const Session coefficients(parms, session().context(), {.encoding = rlwe::Encoding::coefficients});
  for (const std::size_t count : {1U, 6U, 4095U, 4096U}) {
    std::vector<std::uint64_t> words(count);
    for (std::size_t i = 0; i < count; ++i) words[i] = i % 97 + 1;
    Writer out(4);
    write_plaintext(out, {.id = {}, .count = count});
    out.words(words);
    const Bytes file = out.finish(Compression::none);
    const rlwe::Plaintext plaintext = coefficients.load_plaintext(file);
    EXPECT_EQ(plaintext.meta.slots, count);
    EXPECT_EQ(coefficients.dump_plaintext(plaintext, Compression::none), file) << count;
    const auto found = integer::Encoder(coefficients.context()).decode(plaintext);
    EXPECT_TRUE(std::equal(words.begin(), words.end(), found.begin(), [](std::uint64_t x, std::int64_t y) {
      return static_cast<std::int64_t>(x) == y;
    })) << count;
    // In slots the same file is a polynomial whose other coefficients are 0.
    EXPECT_EQ(session().load_plaintext(file).meta.slots, 4096U);
  }
}

// Plaintexts that are prepared for a level have its residues: the message modulo t over that level's primes.
TEST(SealPlaintexts, ArePreparedForTheLevelThatIsAskedFor) {
  for (const char* const scheme : {"bfv", "bgv"}) {
    const Vectors vectors(scheme);
    const Session& session = vectors.session();
    const rlwe::Context& context = *session.context();
    const std::uint64_t t = session.params().plain_modulus();
    std::vector<std::uint64_t> words(context.degree());
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = (i * 7919 + 3) % t;
    ASSERT_GT(context.top_level(), 0U);
    for (std::size_t level = 0; level <= context.top_level(); ++level) {
      const rlwe::Plaintext prepared = session.import_plaintext({.words = words}, level);
      ASSERT_NE(prepared.lifted, nullptr);
      EXPECT_EQ(prepared.lifted->level, level);
      EXPECT_EQ(prepared.lifted->poly.base(), context.base(level));
      poly::Poly coefficients = context.make_poly(1, 1, context.base(level), poly::Form::coefficient);
      context.backend().inverse_transform(context.queue(), coefficients.view(), prepared.lifted->poly.view(),
                                          context.base(level));
      std::vector<std::uint64_t> residues(context.base(level).size() * context.degree());
      context.backend().download(context.queue(), residues, std::as_const(coefficients).view(),
                                 poly::Form::coefficient);
      context.queue().synchronize();
      for (std::size_t limb = 0; limb < context.base(level).size(); ++limb) {
        const std::uint64_t prime = context.base(level).modulus(limb).value();
        for (std::size_t i = 0; i < words.size(); ++i) {
          const std::uint64_t centered = words[i] > t / 2 ? prime - (t - words[i]) : words[i];
          ASSERT_EQ(residues[limb * context.degree() + i], centered) << level << " " << limb << " " << i;
        }
      }
    }
  }
}

// The last number that is taken, and the first that is not.
TEST_P(SealDifferences, PlaintextsAndPlacesHaveTheirLimits) {
  EXPECT_EQ(session().params().literal().sigma, 3.2);  // SEAL's noise_standard_deviation
  const std::uint64_t degree = parameters().degree;
  const auto keys_of = [&](std::uint64_t places) {
    Writer out(4);
    out.bytes(parameters().id(parameters().moduli.size()));
    out.u64(places);
    for (std::uint64_t i = 0; i < places; ++i) out.u64(0);
    return out.finish(Compression::none);
  };
  Session other(parms, session().context(), vectors.options());
  const Bytes most = keys_of(degree), more = keys_of(degree + 1);
  EXPECT_NO_THROW(other.load_keys({.galois = Source(most)}));
  EXPECT_THROW(other.load_keys({.galois = Source(more)}), FormatError);
  if (is(rlwe::Scheme::ckks)) return;
  for (const std::uint64_t count : {degree, degree + 1}) {
    Writer out(4);
    write_plaintext(out, {.id = {}, .count = count});
    out.words(std::vector<std::uint64_t>(count, 1));
    const Bytes file = out.finish(Compression::none);
    if (count == degree) {
      EXPECT_NO_THROW(static_cast<void>(session().load_plaintext(file)));
    } else {
      EXPECT_THROW(static_cast<void>(session().load_plaintext(file)), FormatError);
    }
  }
}

}  // namespace
}  // namespace hemera::interop::seal::test::differences
