// An element of a batch is what it is alone, in both forms and encodings; so is a secret key.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "hemera/interop/openfhe.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/polynomials.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using rlwe::Ciphertext;

constexpr std::array formats = {Format::binary, Format::json};

// The polynomial in the other form.
DcrtPolynomial in_other_form(const rlwe::Context& context, const CryptoContext& client,
                             const DcrtPolynomial& polynomial) {
  const PolynomialView given = view_of(polynomial);
  const poly::RnsBase base = base_of(context, given);
  const auto form = given.is_evaluation ? poly::Form::evaluation : poly::Form::coefficient;
  const auto other = given.is_evaluation ? poly::Form::coefficient : poly::Form::evaluation;
  poly::Poly from = context.make_poly(1, 1, base, form);
  upload(context, from, 0, std::span(&given, 1));
  poly::Poly to = context.make_poly(1, 1, base, other);
  if (given.is_evaluation) {
    context.backend().inverse_transform(context.queue(), to.view(), std::as_const(from).view(), base);
  } else {
    context.backend().forward_transform(context.queue(), to.view(), std::as_const(from).view(), base);
  }
  BaseParameters bases(client);
  DcrtPolynomial result = download(context, to, 0, 0, bases);
  context.queue().synchronize();
  return result;
}

class OpenFheElements : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] Bytes in_coefficients(const Bytes& file) const {
    auto object = read_file<CiphertextPointer>(file);
    for (DcrtPolynomial& component : object->components) {
      component = in_other_form(*session.context(), *object->header.context, component);
      EXPECT_EQ(component.form, PolynomialForm::coefficient);
    }
    return write_file(object, Format::binary);
  }

  // Three files that differ load as a batch of them, and are written again from it.
  void expect_elements(const std::array<Bytes, 3>& sources, const std::array<Bytes, 3>& files) const {
    const Ciphertext batch =
        session.load_ciphertexts(std::vector<Source>{sources[0], sources[1], sources[2]});
    ASSERT_EQ(batch.meta.batch, rlwe::BatchShape{3});
    for (const Format format : formats) {
      const auto all = session.dump_ciphertexts(batch, format);
      ASSERT_EQ(all.size(), 3U);
      for (std::size_t i = 0; i < 3; ++i) {
        SCOPED_TRACE(i);
        const Ciphertext alone = session.load_ciphertext(sources[i]);
        const Bytes wanted = session.dump_ciphertext(alone, format);
        EXPECT_TRUE(all[i] == wanted);
        EXPECT_TRUE(session.dump_ciphertext(rlwe::take(batch, i), format) == wanted);
        io::MemorySink sink;
        session.dump_ciphertext(sink, batch, i, format);
        EXPECT_TRUE(sink.take() == wanted);
        // OpenFHE's words, from either encoding.
        const auto found = read_file<CiphertextPointer>(all[i]);
        const auto given = read_file<CiphertextPointer>(files[i]);
        ASSERT_EQ(found->components.size(), given->components.size());
        for (std::size_t c = 0; c < given->components.size(); ++c) {
          EXPECT_EQ(found->components[c].form, given->components[c].form);
          ASSERT_EQ(found->components[c].limbs.size(), given->components[c].limbs.size());
          for (std::size_t l = 0; l < given->components[c].limbs.size(); ++l) {
            EXPECT_TRUE(found->components[c].limbs[l].words == given->components[c].limbs[l].words) << c << l;
          }
        }
      }
      EXPECT_NE(all[0], all[1]);
    }
  }

  Session session{test::get(GetParam(), "cryptocontext.bin"), tests::device()};
  Bytes a = test::get(GetParam(), "ct_a.bin");
  Bytes b = test::get(GetParam(), "ct_b.bin");
};

INSTANTIATE_TEST_SUITE_P(Contexts, OpenFheElements, testing::Values("bfv", "bgv", "ckks-flexibleauto"),
                         test::name_of);

TEST_P(OpenFheElements, OfFilesAreTheFiles) { expect_elements({a, b, a}, {a, b, a}); }

TEST_P(OpenFheElements, InCoefficientsAreTransformedEach) {
  const std::array<Bytes, 3> sources = {in_coefficients(b), in_coefficients(a), in_coefficients(b)};
  expect_elements(sources, {b, a, b});
  // From memory, too.
  const auto object = read_file<CiphertextPointer>(sources[1]);
  EXPECT_EQ(session.dump_ciphertext(session.import_ciphertext(view_of(*object))), a);
  // Both forms in one batch, or in one ciphertext, are none.
  EXPECT_THROW(static_cast<void>(session.load_ciphertexts(std::vector<Source>{a, sources[0]})),
               MismatchError);
  auto mixed = read_file<CiphertextPointer>(a);
  mixed->components[1] = object->components[1];
  EXPECT_THROW(static_cast<void>(session.load_ciphertext(write_file(mixed, Format::binary))), FormatError);
}

TEST_P(OpenFheElements, OfProductsOfThreeComponentsAreTheProducts) {
  const auto lazy =
      any_scheme::make_evaluator(session.context(), session.keys(), rlwe::Relinearization::lazy);
  const Ciphertext x = session.load_ciphertext(a), y = session.load_ciphertext(b);
  const std::array<Bytes, 3> products = {session.dump_ciphertext(lazy->multiply(x, y)),
                                         session.dump_ciphertext(lazy->multiply(y, y)),
                                         session.dump_ciphertext(lazy->multiply(x, x))};
  ASSERT_EQ(read_file<CiphertextPointer>(products[0])->components.size(), 3U);
  expect_elements(products, products);
}

// --- Every residue and root of a ciphertext in memory. ---

TEST_P(OpenFheElements, ResiduesInMemoryAreBelowTheirModuli) {
  const auto object = read_file<CiphertextPointer>(a);
  for (DcrtPolynomial& component : object->components) {
    for (NativePolynomial& limb : component.limbs) {
      for (const std::size_t at : {std::size_t{0}, limb.words.size() / 2, limb.words.size() - 1}) {
        const std::uint64_t before = std::exchange(limb.words[at], limb.modulus);
        EXPECT_THROW(static_cast<void>(session.import_ciphertext(view_of(*object))), FormatError) << at;
        limb.words[at] = ~std::uint64_t{0};
        EXPECT_THROW(static_cast<void>(session.import_ciphertext(view_of(*object))), FormatError) << at;
        limb.words[at] = limb.modulus - 1;
        EXPECT_NO_THROW(static_cast<void>(session.import_ciphertext(view_of(*object)))) << at;
        limb.words[at] = before;
      }
    }
  }
  EXPECT_EQ(session.dump_ciphertext(session.import_ciphertext(view_of(*object))), a);
}

TEST_P(OpenFheElements, LimbsInMemoryAreTheSessions) {
  const auto object = read_file<CiphertextPointer>(a);
  const CiphertextView good = view_of(*object);
  for (std::size_t c = 0; c < good.components.size(); ++c) {
    for (std::size_t l = 0; l < good.components[c].limbs.size(); ++l) {
      CiphertextView view = good;
      LimbView& limb = view.components[c].limbs[l];
      const LimbView before = limb;
      // Its inverse is a root, too, and 0 is none.
      for (const std::uint64_t root : {limb.modulus - limb.root, limb.root + 1, std::uint64_t{0}}) {
        limb.root = root;
        EXPECT_THROW(static_cast<void>(session.import_ciphertext(view)), MismatchError) << c << l;
      }
      limb = before;
      limb.modulus += 2;
      EXPECT_THROW(static_cast<void>(session.import_ciphertext(view)), MismatchError) << c << l;
      limb = before;
      for (const std::size_t size : {std::size_t{0}, before.words.size() / 2, before.words.size() - 1}) {
        limb.words = before.words.first(size);
        EXPECT_THROW(static_cast<void>(session.import_ciphertext(view)), MismatchError) << c << l;
      }
      limb = before;
      view.components[c].is_evaluation = false;
      EXPECT_THROW(static_cast<void>(session.import_ciphertext(view)), FormatError) << c;
    }
  }
  EXPECT_EQ(session.dump_ciphertext(session.import_ciphertext(good)), a);
}

TEST_P(OpenFheElements, SpansAreOneOfNWordsForEachLimb) {
  const Ciphertext x = session.load_ciphertext(a);
  const std::size_t degree = session.context()->degree();
  const Metadata metadata = session.metadata(x);
  std::vector<std::vector<std::uint64_t>> words(metadata.components * metadata.limbs + 1,
                                                std::vector<std::uint64_t>(degree + 1));
  std::vector<std::span<std::uint64_t>> limbs;
  for (auto& list : words) limbs.push_back(std::span(list).first(degree));
  EXPECT_THROW(session.export_ciphertext(x, limbs), MismatchError);
  const auto usual = std::span(limbs).first(limbs.size() - 1);
  EXPECT_THROW(session.export_ciphertext(x, usual.first(usual.size() - 1)), MismatchError);
  EXPECT_THROW(session.export_ciphertext(x, {}), MismatchError);
  for (std::size_t i = 0; i < usual.size(); ++i) {
    for (const std::size_t size : {std::size_t{0}, degree - 1, degree + 1}) {
      usual[i] = std::span(words[i]).first(size);
      EXPECT_THROW(session.export_ciphertext(x, usual), MismatchError) << i << " " << size;
    }
    usual[i] = std::span(words[i]).first(degree);
  }
  for (const auto& list : words) EXPECT_EQ(list, std::vector<std::uint64_t>(degree + 1));  // as they were
  session.export_ciphertext(x, usual);
  const auto object = read_file<CiphertextPointer>(a);
  for (std::size_t i = 0; i < usual.size(); ++i) {
    const auto& wanted = object->components[i / metadata.limbs].limbs[i % metadata.limbs].words;
    EXPECT_TRUE(std::equal(usual[i].begin(), usual[i].end(), wanted.begin(), wanted.end())) << i;
  }
}

TEST_P(OpenFheElements, ModuliAreThoseOfALevel) {
  auto object = read_file<CiphertextPointer>(a);
  const CiphertextView good = view_of(*object);
  const rlwe::ParametersLiteral& literal = session.params().literal();
  const auto limb_of = [&](std::uint64_t prime) {
    LimbView limb = good.components[0].limbs[0];
    limb.modulus = prime;
    const poly::RnsBase& all = session.context()->key_base();
    limb.root = (*all.ring())[all.ring()->index_of(prime)].root;
    return limb;
  };
  const std::size_t count = good.components[0].limbs.size();
  ASSERT_EQ(count, literal.levels.back().size());
  using Limbs = std::vector<LimbView>;
  const auto import_limbs = [&](const std::function<void(Limbs&)>& change) {
    CiphertextView view = good;
    for (PolynomialView& component : view.components) change(component.limbs);
    return session.import_ciphertext(view);
  };
  // More than any level has.
  EXPECT_THROW(import_limbs([&](Limbs& limbs) { limbs.push_back(limbs[0]); }), FormatError);
  EXPECT_THROW(import_limbs([&](Limbs& limbs) {
                 for (int i = 0; i < 1000; ++i) limbs.push_back(limbs[0]);
               }),
               FormatError);
  EXPECT_THROW(
      import_limbs([&](Limbs& limbs) { limbs.push_back({.modulus = 8193, .root = 1, .words = {}}); }),
      MismatchError);
  // As many in another order, and others than a level's.
  EXPECT_THROW(import_limbs([](Limbs& limbs) { std::swap(limbs[0], limbs[1]); }), FormatError);
  EXPECT_THROW(import_limbs([](Limbs& limbs) { limbs.erase(limbs.begin()); }), FormatError);
  EXPECT_THROW(import_limbs([](Limbs& limbs) { limbs.erase(limbs.begin() + 1); }), FormatError);
  EXPECT_THROW(import_limbs([](Limbs& limbs) { limbs.clear(); }), FormatError);
  // Fewer are a level's.
  for (std::size_t left = count; left >= literal.levels.front().size(); --left) {
    const Ciphertext x = import_limbs([=](Limbs& limbs) { limbs.resize(left); });
    EXPECT_EQ(session.metadata(x).limbs, left);
    EXPECT_EQ(session.metadata(x).level, count - left);
  }
  // Special primes beside them or in their place; BV has none.
  EXPECT_EQ(literal.special_primes.empty(), GetParam() == "bfv");
  if (literal.special_primes.empty()) return;
  EXPECT_THROW(import_limbs([&](Limbs& limbs) { limbs.push_back(limb_of(literal.special_primes[0])); }),
               FormatError);
  EXPECT_THROW(import_limbs([&](Limbs& limbs) {
                 for (const std::uint64_t prime : literal.special_primes) limbs.push_back(limb_of(prime));
               }),
               FormatError);
  EXPECT_THROW(import_limbs([&](Limbs& limbs) { limbs.back() = limb_of(literal.special_primes[0]); }),
               FormatError);
  // The same in a file.
  for (DcrtPolynomial& component : object->components) {
    component.parameters = std::make_shared<DcrtParameters>(*component.parameters);
    auto prime = std::make_shared<NativeParameters>(*component.parameters->primes[0]);
    prime->modulus = literal.special_primes[0];
    prime->root = limb_of(prime->modulus).root;
    component.parameters->primes.push_back(prime);
    NativePolynomial limb = component.limbs[0];
    limb.modulus = prime->modulus;
    limb.parameters = prime;
    for (std::uint64_t& word : limb.words) word %= limb.modulus;
    component.limbs.push_back(std::move(limb));
  }
  EXPECT_THROW(static_cast<void>(session.load_ciphertext(write_file(object, Format::binary))), FormatError);
}

// --- Secret keys. ---

// Hemera holds coefficients of a byte each: the last values that are taken, and the first that are not.
TEST(OpenFheSecrets, HaveCoefficientsUpTo127) {
  const Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  const Bytes file = test::get("bgv", "secret_key.bin");
  const auto with_coefficient = [&](std::size_t at, std::int64_t value, bool is_evaluation) {
    auto object = read_file<PrivatePointer>(file);
    DcrtPolynomial polynomial =
        in_other_form(*session.context(), *object->header.context, object->polynomial);
    EXPECT_EQ(polynomial.form, PolynomialForm::coefficient);
    for (NativePolynomial& limb : polynomial.limbs) {
      const auto magnitude = static_cast<std::uint64_t>(std::abs(value)) % limb.modulus;
      limb.words.at(at) = value < 0 ? limb.modulus - magnitude : magnitude;
    }
    object->polynomial = is_evaluation
                             ? in_other_form(*session.context(), *object->header.context, polynomial)
                             : std::move(polynomial);
    return write_file(object, Format::binary);
  };
  const std::size_t last = session.context()->degree() - 1;
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, last / 2, last}) {
    for (const std::int64_t value : {0L, 1L, -1L, 2L, 126L, 127L, -126L, -127L}) {
      const Bytes evaluated = with_coefficient(at, value, true);
      EXPECT_EQ(session.dump_secret_key(session.load_secret_key(evaluated)), evaluated) << at << " " << value;
      EXPECT_EQ(session.dump_secret_key(session.load_secret_key(with_coefficient(at, value, false))),
                evaluated)
          << at << " " << value;
    }
    // 2^40 fits under each modulus, and 2^62 under none.
    for (const std::int64_t value : {128L, -128L, 129L, 255L, 256L, -256L, 383L, 1L << 16, -(1L << 32),
                                     1L << 40, -(1L << 40), (1L << 62) + 1}) {
      for (const bool is_evaluation : {false, true}) {
        EXPECT_THROW(static_cast<void>(session.load_secret_key(with_coefficient(at, value, is_evaluation))),
                     FormatError)
            << at << " " << value;
      }
    }
  }
}

}  // namespace
}  // namespace hemera::interop::openfhe
