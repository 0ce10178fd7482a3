// Objects of SEAL's memory at every level, in either form and of every size, and what is kept secret of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "interop/seal/client.hpp"
#include "interop/seal/residues.hpp"
#include "interop/seal/samples.hpp"
#include "interop/seal/vectors.hpp"
#include "io/allocation_guard.hpp"
#include "rlwe/restriction.hpp"
#include "test_device.hpp"

namespace hemera::interop::seal::test {
namespace {

using Bytes = std::vector<std::byte>;
using Words = std::vector<std::uint64_t>;
using rlwe::Ciphertext;

// Three levels: one more than the vectors have.
struct Client3 {
  explicit Client3(SchemeNumber scheme)
      : parameters{scheme, 4096, {68719403009, 68719230977, 68718428161, 137438822401}, 40961} {
    if (is_ckks()) parameters.plain_modulus = 0;
    Writer out(4);
    write_parameters(out, parameters);
    Options options;
    if (is_ckks()) options.scale = 0x1p30;
    session = std::make_unique<Session>(out.finish(Compression::none), hemera::tests::device(), options);
    secret = rlwe::generate_secret_key(session->context());
  }

  [[nodiscard]] bool is_ckks() const { return parameters.scheme == SchemeNumber::ckks; }
  [[nodiscard]] rlwe::Plaintext encode() const {
    if (is_ckks()) {
      return ckks::Encoder(session->context())
          .encode(std::vector<std::complex<double>>(2048, {0.5, -0.25}), {});
    }
    std::vector<std::int64_t> values(4096);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * 7919 % 40961);
    return integer::Encoder(session->context()).encode(values, {});
  }

  EncryptionParameters parameters;
  std::unique_ptr<Session> session;
  rlwe::SecretKey secret;
};

class SealMemory : public ::testing::TestWithParam<SchemeNumber> {
 protected:
  Client3 client{GetParam()};
  const Session& session = *client.session;
  const rlwe::Context& context = *session.context();
  Levels levels{client.parameters};
};

INSTANTIATE_TEST_SUITE_P(, SealMemory,
                         ::testing::Values(SchemeNumber::bfv, SchemeNumber::ckks, SchemeNumber::bgv),
                         [](const auto& test) {
                           return std::string(schemes[test.param == SchemeNumber::bfv   ? 0
                                                      : test.param == SchemeNumber::bgv ? 1
                                                                                        : 2]);
                         });

TEST_P(SealMemory, CiphertextsCrossAtEveryLevelInEitherForm) {
  ASSERT_EQ(context.top_level(), 2U);
  const auto evaluator = any_scheme::make_evaluator(session.context(), {}, rlwe::Relinearization::lazy);
  const Ciphertext fresh = any_scheme::encrypt(client.encode(), client.secret);
  const Ciphertext square = evaluator->multiply(fresh, fresh);
  for (const Ciphertext* top : {&fresh, &square}) {
    for (std::size_t level = 0; level <= 2; ++level) {
      Ciphertext x = top->clone();
      evaluator->drop_to_level_inplace(x, level);
      const Metadata meta = session.metadata(x);
      EXPECT_EQ(meta.coeff_modulus_count, level + 1);
      EXPECT_EQ(meta.size, top->size());
      EXPECT_EQ(meta.is_ntt_form, GetParam() != SchemeNumber::bfv);
      const Bytes file = content(session.dump_ciphertext(x));
      for (const bool is_evaluation : {false, true}) {
        SCOPED_TRACE(std::to_string(level) + " " + std::to_string(meta.size) + " " +
                     std::to_string(is_evaluation));
        Words words(meta.size * (level + 1) * 4096);
        session.export_ciphertext(x, words, is_evaluation);
        if (is_evaluation == meta.is_ntt_form) {
          Words usual(words.size());
          session.export_ciphertext(x, usual);
          EXPECT_EQ(usual, words);
          const auto bytes = std::as_bytes(std::span(words));
          EXPECT_TRUE(
              std::equal(bytes.begin(), bytes.end(), file.end() - static_cast<std::ptrdiff_t>(bytes.size())));
        }
        CiphertextView view{.parms_id = levels.id(level),
                            .is_ntt_form = is_evaluation,
                            .size = meta.size,
                            .coeff_modulus_count = level + 1,
                            .scale = meta.scale,
                            .correction_factor = meta.correction_factor,
                            .words = words};
        const Ciphertext again = session.import_ciphertext(view);
        EXPECT_EQ(again.meta.level, level);
        EXPECT_EQ(content(session.dump_ciphertext(again)), file);
        // The words of another level or size are none of this one.
        for (const std::size_t count : {words.size() - 1, words.size() - 4096, std::size_t{0}}) {
          view.words = std::span(words).first(count);
          EXPECT_THROW(static_cast<void>(session.import_ciphertext(view)), FormatError) << count;
          EXPECT_THROW(session.export_ciphertext(x, std::span(words).first(count)), MismatchError) << count;
        }
        view.words = words;
        view.coeff_modulus_count = level + 2;
        EXPECT_THROW(static_cast<void>(session.import_ciphertext(view)), FormatError);
        view.coeff_modulus_count = level + 1;
        view.parms_id = levels.key_id();
        EXPECT_THROW(static_cast<void>(session.import_ciphertext(view)), MismatchError);
        // Each limb has its own modulus, in each component.
        view.parms_id = levels.id(level);
        for (std::size_t limb = 0; limb < meta.size * (level + 1); ++limb) {
          Words above = words;
          view.words = above;
          above[limb * 4096 + 17] = client.parameters.moduli[limb % (level + 1)];
          EXPECT_THROW(static_cast<void>(session.import_ciphertext(view)), FormatError) << limb;
          --above[limb * 4096 + 17];
          EXPECT_NO_THROW(static_cast<void>(session.import_ciphertext(view))) << limb;
        }
      }
    }
  }
}

// SEAL's transform_to_ntt gives a plaintext of BFV or BGV the primes of the level that it is asked for: the
// message is the same one.
TEST_P(SealMemory, PlaintextsInNttFormAreTakenAtEveryLevel) {
  const rlwe::Plaintext m = client.encode();
  const Bytes file = content(session.dump_plaintext(m));
  for (std::size_t level = 0; level <= 2; ++level) {
    SCOPED_TRACE(level);
    const poly::RnsBase& base = context.base(level);
    Words words((level + 1) * 4096);
    PlaintextView view{.parms_id = levels.id(level), .scale = m.meta.scale, .words = words};
    if (client.is_ckks()) {
      const poly::Poly part = rlwe::restrict_to(context, m.poly, base);
      give_residues(words, context, part.view(), base, poly::Form::evaluation);
      const rlwe::Plaintext taken = session.import_plaintext(view);
      EXPECT_EQ(taken.meta.level, level);
      EXPECT_EQ(taken.meta.scale, m.meta.scale);
      const auto values = ckks::Encoder(session.context()).decode(taken);
      for (const auto& value : values) ASSERT_LT(std::abs(value - std::complex<double>(0.5, -0.25)), 1e-4);
    } else {
      // The centred residues of the coefficients, transformed.
      Words coefficients(4096);
      give_residues(coefficients, context, m.poly.view(), context.plain_base(), poly::Form::coefficient);
      const std::uint64_t t = client.parameters.plain_modulus;
      for (std::size_t limb = 0; limb <= level; ++limb) {
        for (std::size_t i = 0; i < 4096; ++i) {
          const std::uint64_t c = coefficients[i];
          words[limb * 4096 + i] = c > t / 2 ? client.parameters.moduli[limb] - (t - c) : c;
        }
      }
      poly::Poly lifted = context.make_poly(1, 1, base, poly::Form::evaluation);
      take_residues(words, context, lifted.view(), base, poly::Form::coefficient);
      context.backend().forward_transform(context.queue(), lifted.view(), lifted.view(), base);
      give_residues(words, context, std::as_const(lifted).view(), base, poly::Form::evaluation);
      for (const auto& asked :
           {std::optional<std::size_t>(), std::optional<std::size_t>(0), std::optional<std::size_t>(2)}) {
        const rlwe::Plaintext taken = session.import_plaintext(view, asked);
        EXPECT_EQ(content(session.dump_plaintext(taken)), file);
        EXPECT_EQ(taken.meta.slots, 4096U);
        ASSERT_EQ(taken.lifted != nullptr, asked.has_value());
        if (asked) {
          EXPECT_EQ(taken.lifted->level, *asked);
        }
        if (asked == level) {
          Words found(words.size());
          give_residues(found, context, taken.lifted->poly.view(), base, poly::Form::evaluation);
          EXPECT_EQ(found, words);
        }
      }
      view.scale = 2;
      EXPECT_THROW(static_cast<void>(session.import_plaintext(view)), FormatError);
      view.scale = 1;
    }
    // Words of another level, and a residue that is its modulus.
    Words longer((level + 2) * 4096);
    for (const std::size_t count : {words.size() - 1, words.size() - 4096, words.size() + 1, longer.size()}) {
      view.words = std::span(longer).first(count);
      EXPECT_THROW(static_cast<void>(session.import_plaintext(view)), FormatError) << count;
    }
    view.words = words;
    for (std::size_t limb = 0; limb <= level; ++limb) {
      const std::uint64_t kept = std::exchange(words[limb * 4096 + 4095], client.parameters.moduli[limb]);
      EXPECT_THROW(static_cast<void>(session.import_plaintext(view)), FormatError) << limb;
      words[limb * 4096 + 4095] = kept;
    }
    view.parms_id = levels.key_id();
    EXPECT_THROW(static_cast<void>(session.import_plaintext(view)), MismatchError);
    view.parms_id[5] ^= std::byte{1};
    EXPECT_THROW(static_cast<void>(session.import_plaintext(view)), MismatchError);
  }
}

// The scale of CKKS is any normal number above 0, that of the others 1: in files and in memory.
TEST_P(SealMemory, ScalesAreThoseOfTheScheme) {
  const Ciphertext x = any_scheme::encrypt(client.encode(), client.secret);
  const rlwe::Plaintext m = client.encode();
  const Metadata meta = session.metadata(x);
  Words words(meta.size * 3 * 4096);
  session.export_ciphertext(x, words);
  const Bytes ciphertext = content(session.dump_ciphertext(x)),
              plaintext = content(session.dump_plaintext(m));
  Words message((client.is_ckks() ? 3 : 1) * 4096);
  std::copy(plaintext.end() - static_cast<std::ptrdiff_t>(8 * message.size()), plaintext.end(),
            std::as_writable_bytes(std::span(message)).begin());
  const auto with_scale = [](Bytes bytes, std::size_t at, double scale) {
    const auto own = std::as_bytes(std::span(&scale, 1));
    std::copy(own.begin(), own.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    return stored(bytes);
  };
  constexpr double least = std::numeric_limits<double>::min();
  for (const double scale : {1.0, 0.0, -0.0, -1.0, 0.5, 1 + 0x1p-52, 1 - 0x1p-53, 0x1p1000, least, least / 2,
                             std::numeric_limits<double>::infinity(), std::nan("")}) {
    const bool is_fine = client.is_ckks() ? scale >= least && std::isfinite(scale) : scale == 1;
    CiphertextView view{.parms_id = levels.id(2),
                        .is_ntt_form = meta.is_ntt_form,
                        .size = 2,
                        .coeff_modulus_count = 3,
                        .scale = scale,
                        .correction_factor = meta.correction_factor,
                        .words = words};
    PlaintextView plain{.scale = scale, .words = message};
    if (client.is_ckks()) plain.parms_id = levels.id(2);
    // After the parms_id: form, three numbers; or the number of coefficients.
    const Bytes files[] = {with_scale(ciphertext, 32 + 1 + 3 * 8, scale),
                           with_scale(plaintext, 32 + 8, scale)};
    const std::function<double()> loads[] = {[&] { return session.load_ciphertext(files[0]).meta.scale; },
                                             [&] { return session.load_plaintext(files[1]).meta.scale; },
                                             [&] { return session.import_ciphertext(view).meta.scale; },
                                             [&] { return session.import_plaintext(plain).meta.scale; }};
    for (std::size_t i = 0; i < 4; ++i) {
      if (is_fine) {
        EXPECT_EQ(loads[i](), scale) << i;
      } else {
        EXPECT_THROW(static_cast<void>(loads[i]()), FormatError) << i << " " << scale;
      }
    }
  }
}

// A file of a plaintext that the client transformed is none of BFV or BGV.
TEST_P(SealMemory, FilesOfPlaintextsHaveTheUsualForm) {
  for (std::size_t level = 0; level <= 3; ++level) {
    const std::uint64_t count = (level + 1) * 4096;
    for (const bool has_id : {true, false}) {
      Writer out(4);
      write_plaintext(
          out, {.id = has_id ? client.parameters.id(level + 1) : ParmsId{}, .count = has_id ? count : 4096});
      out.words(Words(has_id ? count : 4096, 1));
      const Bytes file = out.finish(Compression::none);
      if (client.is_ckks() && has_id && level < 3) {
        const rlwe::Plaintext plain = session.load_plaintext(file);
        EXPECT_EQ(plain.meta.level, level);
        EXPECT_EQ(plain.meta.slots, 2048U);
        EXPECT_EQ(session.dump_plaintext(plain, Compression::none), file);
      } else if (!client.is_ckks() && !has_id) {
        EXPECT_EQ(session.load_plaintext(file).meta.slots, 4096U);
      } else {
        EXPECT_THROW(static_cast<void>(session.load_plaintext(file)), MismatchError)
            << level << " " << has_id;
      }
    }
  }
}

// SEAL's mod_reduce_to leaves the last primes' residues out, of every component and element of a batch.
TEST_P(SealMemory, ReductionsLeaveResiduesOut) {
  const auto evaluator = any_scheme::make_evaluator(session.context(), {}, rlwe::Relinearization::lazy);
  const Ciphertext x = any_scheme::encrypt(client.encode(), client.secret);
  const Ciphertext y = any_scheme::encrypt(client.encode(), client.secret);
  const Ciphertext square = evaluator->multiply(x, x), product = evaluator->multiply(x, y);
  for (const Ciphertext& batch : {rlwe::stack({&x, &y}), rlwe::stack({&square, &product})}) {
    for (std::size_t level = 0; level <= 2; ++level) {
      if (GetParam() == SchemeNumber::bfv) {
        EXPECT_THROW(static_cast<void>(session.reduced(batch, level)), MismatchError);
        continue;
      }
      const Ciphertext lower = session.reduced(batch, level);
      EXPECT_EQ(lower.meta.level, level);
      EXPECT_EQ(lower.meta.scale, batch.meta.scale);
      EXPECT_EQ(lower.meta.correction, batch.meta.correction);
      EXPECT_EQ(lower.meta.noise_log2, batch.meta.noise_log2);
      EXPECT_EQ(lower.meta.batch, batch.meta.batch);
      for (std::size_t element = 0; element < 2; ++element) {
        const Ciphertext from = rlwe::take(batch, element), to = rlwe::take(lower, element);
        Words all(batch.size() * 3 * 4096), kept(batch.size() * (level + 1) * 4096);
        session.export_ciphertext(from, all);
        session.export_ciphertext(to, kept);
        for (std::size_t component = 0; component < batch.size(); ++component) {
          const std::size_t count = (level + 1) * 4096;
          const auto found = std::span(kept).subspan(component * count, count);
          const auto expected = std::span(all).subspan(component * 3 * 4096, count);
          EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin())) << level << " " << component;
        }
      }
      for (std::size_t above = level + 1; above <= 3; ++above) {
        EXPECT_THROW(static_cast<void>(session.reduced(lower, above)), LevelError) << level << " " << above;
      }
    }
  }
}

TEST_P(SealMemory, PlaintextsOfCoefficientsMayBeShort) {
  if (client.is_ckks()) {
    EXPECT_THROW(static_cast<void>(session.import_plaintext({.scale = 0x1p30, .words = {}})), MismatchError);
    return;
  }
  for (const std::size_t count : {0U, 1U, 100U, 4096U}) {
    const Words words(count, 40960);
    const rlwe::Plaintext taken = session.import_plaintext({.words = words});
    Words found(4096), expected(4096);
    std::copy(words.begin(), words.end(), expected.begin());
    give_residues(found, context, taken.poly.view(), context.plain_base(), poly::Form::coefficient);
    EXPECT_EQ(found, expected);
  }
  EXPECT_THROW(static_cast<void>(session.import_plaintext({.words = Words(4097)})), FormatError);
  EXPECT_THROW(static_cast<void>(session.import_plaintext({.words = Words(3, 40961)})), FormatError);
}

// Plaintexts from a client are as secret as those that are encoded here.
TEST_P(SealMemory, PlaintextsAreAsSecretAsEncodedOnes) {
  const rlwe::Plaintext m = client.encode();
  const runtime::Secrecy secrecy = m.poly.secrecy();
  EXPECT_EQ(secrecy, client.is_ckks() ? runtime::Secrecy::open : runtime::Secrecy::secret);
  const Bytes file = session.dump_plaintext(m, Compression::none);
  EXPECT_EQ(session.load_plaintext(file).poly.secrecy(), secrecy);
  Words words((client.is_ckks() ? 3 : 1) * 4096);
  const Bytes inside = content(file);
  std::copy(inside.end() - static_cast<std::ptrdiff_t>(8 * words.size()), inside.end(),
            std::as_writable_bytes(std::span(words)).begin());
  PlaintextView view{.scale = m.meta.scale, .words = words};
  if (client.is_ckks()) view.parms_id = levels.id(2);
  EXPECT_EQ(session.import_plaintext(view).poly.secrecy(), secrecy);
  if (client.is_ckks()) return;  // open
  for (const std::size_t part : {std::size_t{100}, words.size() / 2, words.size() - 8}) {
    io::test::AllocationGuard guard;
    guard.watch(std::as_bytes(std::span(words)).subspan(8 * part, 40));
    static_cast<void>(session.load_plaintext(file));
    EXPECT_EQ(guard.found(), 0U) << "of a file";
    static_cast<void>(session.import_plaintext(view));
    EXPECT_EQ(guard.found(), 0U) << "of memory";
    static_cast<void>(session.import_plaintext(view, 1));
    EXPECT_EQ(guard.found(), 0U) << "made ready";
  }
  const rlwe::Plaintext ready = session.import_plaintext(view, 1);
  EXPECT_EQ(ready.lifted->poly.secrecy(), secrecy);
  Words lifted(2 * 4096);
  give_residues(lifted, context, ready.lifted->poly.view(), context.base(1), poly::Form::evaluation);
  EXPECT_EQ(session.import_plaintext({.parms_id = levels.id(1), .words = lifted}).poly.secrecy(), secrecy);
}

}  // namespace
}  // namespace hemera::interop::seal::test
