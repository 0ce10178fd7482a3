// What the fields of a ciphertext may be, batches of those that differ in one, and results of levels and
// rotations.
#include "interop/openfhe/ciphertexts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "member_count.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using rlwe::Ciphertext;
using Bytes = std::vector<std::byte>;

TEST(OpenFheFields, EncodingsAreThoseOfTheScheme) {
  const auto load = [](const Session& session, const std::string& folder, std::int32_t encoding) {
    auto object = read_file<CiphertextPointer>(test::get(folder, "ct_a.bin"));
    object->encoding = static_cast<EncodingType>(encoding);
    return session.load_ciphertext(test::written(object)).meta.encoding;
  };
  for (const std::string folder : {"bfv", "bgv", "ckks-flexibleauto"}) {
    const Session session(test::get(folder, "cryptocontext.bin"), tests::device());
    const bool ckks = folder == "ckks-flexibleauto";
    for (const std::int32_t encoding :
         {-1, 0, 1, 2, 3, 4, 5, 6, 256, 260, std::numeric_limits<std::int32_t>::max()}) {
      SCOPED_TRACE(folder + " " + std::to_string(encoding));
      if (ckks ? encoding == 4 : encoding == 1 || encoding == 2) {
        EXPECT_EQ(load(session, folder, encoding),
                  encoding == 1 ? rlwe::Encoding::coefficients : rlwe::Encoding::slots);
      } else {
        EXPECT_THROW(load(session, folder, encoding), FormatError);
      }
    }
  }
  // Slots need a plaintext modulus that has them.
  const Bytes file = test::get("bgv", "ct_a.bin");
  const auto object = read_file<CiphertextPointer>(file);
  const ContextPointer context = test::copy_of(*object->header.context);
  context->parameters->encoding->plain_modulus = 17;
  object->header.context = context;
  const Session session(test::written(context), tests::device());
  EXPECT_THROW(static_cast<void>(session.load_ciphertext(test::written(object))), FormatError);
  object->encoding = EncodingType::coefficients;
  EXPECT_EQ(session.load_ciphertext(test::written(object)).meta.encoding, rlwe::Encoding::coefficients);
}

TEST(OpenFheFields, ScalesArePositiveNumbersUpTo1000Bits) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const auto load = [&](double scale) {
    auto object = read_file<CiphertextPointer>(test::get("ckks-flexibleauto", "ct_a.bin"));
    object->scaling_factor = scale;
    return session.load_ciphertext(test::written(object)).meta.scale;
  };
  for (const double scale : {std::numeric_limits<double>::denorm_min(), 0.5, 1.0, 0x1p999, 0x1p1000}) {
    EXPECT_EQ(load(scale), scale);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double scale : {0.0, -0.0, -1.0, std::nextafter(0x1p1000, infinity), infinity, -infinity,
                             std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(load(scale), FormatError) << scale;
  }
}

// What alignment rounds is less than 2^-16 of a scale: it is the level's, or the product's at degree 2.
TEST(OpenFheFields, ScalesAreTheLevelsWithinRounding) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const Ciphertext a = session.load_ciphertext(test::get("ckks-flexibleauto", "ct_a.bin"));
  const rlwe::LevelScale& level = session.params().rescaling().scales.at(a.meta.level);
  for (const int degree : {0, 1, 2, 3}) {
    const double exact = degree == 1 ? level.scale : degree == 2 ? level.product_scale : 0;
    const double base = exact == 0 ? level.scale : exact;
    for (const double change :
         {0.0, 0x1p-17, -0x1p-17, 0x1.fp-17, -0x1.fp-17, 0x1.1p-16, -0x1.1p-16, 0x1p-10, -0.5, 1.0}) {
      Ciphertext x = a.clone();
      x.meta.noise_scale_degree = degree;
      x.meta.scale = base * (1 + change);
      const bool is_exact = exact != 0 && std::abs(change) < 0x1p-16;
      const double wanted = is_exact ? exact : double{x.meta.scale};
      EXPECT_EQ(session.metadata(x).scaling_factor, wanted) << degree << " " << change;
      EXPECT_EQ(read_file<CiphertextPointer>(session.dump_ciphertext(x))->scaling_factor, wanted);
    }
  }
}

TEST(OpenFheFields, ObjectsOfOtherParametersAreRefused) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), "tag", {}, tests::device());
  ContextPointer client = test::copy_of(*test::context_of("ckks-flexibleauto"));
  client->parameters->elements->primes.pop_back();
  const Session other(test::written(client), "tag", {}, tests::device());
  const rlwe::SecretKey secret = rlwe::generate_secret_key(other.context());
  const Ciphertext x = rlwe::encrypt_zero(
      secret, {.level = 1, .scale = other.params().rescaling().scales[1].scale, .slots = 64});
  io::MemorySink sink;
  std::vector<std::vector<std::uint64_t>> words(4, std::vector<std::uint64_t>(session.context()->degree()));
  const std::vector<std::span<std::uint64_t>> limbs(words.begin(), words.end());
  other.export_ciphertext(x, limbs);
  EXPECT_THROW(session.export_ciphertext(x, limbs), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_ciphertext(x)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_ciphertexts(x)), MismatchError);
  EXPECT_THROW(session.dump_ciphertext(sink, x), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_secret_key(secret)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_keys(rlwe::generate_keys(secret, {}))), MismatchError);
  EXPECT_THROW(static_cast<void>(session.metadata(x)), MismatchError);
  EXPECT_THROW(static_cast<void>(session.bootstrap(x)), MismatchError);
  EXPECT_TRUE(sink.take().empty());
  // Another context of the same parameters is theirs.
  const Session same(test::written(client), "tag", {}, tests::device());
  ASSERT_NE(same.context(), other.context());
  EXPECT_EQ(same.dump_ciphertext(x), other.dump_ciphertext(x));
  EXPECT_EQ(same.dump_secret_key(secret), other.dump_secret_key(secret));
}

// OpenFHE's special primes for BGV are 1 modulo t, too: the first ones below 2^60 (ParamsGenBGVRNS).
TEST(OpenFheFields, SpecialPrimesAreOneModuloThePlaintextModulus) {
  for (const std::uint64_t t : {2ULL, 3ULL, 17ULL, 256ULL, 8192ULL, 16384ULL, 65536ULL, 1ULL << 20, 65537ULL,
                                2 * 65537ULL, 3ULL << 15}) {
    const ContextPointer context = test::copy_of(*test::context_of("bgv"));
    context->parameters->encoding->plain_modulus = t;
    const std::uint64_t order = 2 * std::uint64_t{context->parameters->elements->degree};
    const std::uint64_t step = std::lcm(order, t);
    const std::vector<std::uint64_t> found = parameters_of(*context).literal().special_primes;
    std::uint64_t next = (((std::uint64_t{1} << 60) - 2) / step + 1) * step + 1;
    const auto largest = [&] {
      do {
        next -= step;
      } while (!arith::is_prime(next));
      return next;
    };
    ASSERT_FALSE(found.empty());
    for (const std::uint64_t prime : found) EXPECT_EQ(prime, largest()) << t;
  }
}

// The levels that a large plaintext modulus leaves out are the lowest: OpenFHE's factors are those of the
// moduli that are dropped.
TEST(OpenFheFields, FactorsAreTheLevelsWhereSeveralModuliAreNeeded) {
  for (const bool is_fixed : {false, true}) {
    const ContextPointer context = test::copy_of(*test::context_of("bgv"));
    const std::uint64_t t = (std::uint64_t{1} << 59) + 1;
    context->parameters->encoding->plain_modulus = t;
    context->parameters->key_switching = KeySwitching::bv;
    context->parameters->scaling = is_fixed ? Scaling::fixed_auto : Scaling::flexible_auto;
    DcrtParameters& elements = *context->parameters->elements;
    const std::vector<std::uint64_t> q =
        arith::primes_below(std::uint64_t{1} << 50, 2 * std::uint64_t{elements.degree}, 5);
    elements.primes.clear();
    for (const NativeParameters& prime : test::rooted(q, elements.degree)) {
      elements.primes.push_back(std::make_shared<NativeParameters>(prime));
    }
    const rlwe::Parameters parameters = parameters_of(*context);
    const auto& factors = parameters.rescaling().factors;
    ASSERT_EQ(parameters.literal().levels.front().size(), 2U);
    ASSERT_EQ(factors.size(), 4U);
    const arith::Modulus modulus(t);
    EXPECT_EQ(factors[3].factor, is_fixed ? 1 : q[4]);
    for (std::size_t level = 0; level < 4; ++level) {
      EXPECT_EQ(factors[level].product_factor,
                modulus.multiply(factors[level].factor, factors[level].factor));
      if (level == 0) continue;
      // The square is the factor below times the modulus that is dropped.
      const std::uint64_t below = modulus.multiply(factors[level - 1].factor, q[level + 1]);
      EXPECT_EQ(is_fixed ? factors[level - 1].factor : below, factors[level].product_factor);
    }
  }
}

TEST(OpenFheBatches, OfCiphertextsThatDifferInAnyFieldAreRefused) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const Bytes first = test::get("ckks-flexibleauto", "ct_a.bin");
  using Change = std::pair<const char*, std::function<void(CiphertextObject&)>>;
  const std::vector<Change> changes = {
      {"header", [](CiphertextObject& c) { c.header.tag[0] = c.header.tag[0] == '0' ? '1' : '0'; }},
      {"slots", [](CiphertextObject& c) { c.slots /= 2; }},
      {"noise_scale_degree", [](CiphertextObject& c) { c.noise_scale_degree = 2; }},
      {"scaling_factor", [](CiphertextObject& c) { c.scaling_factor *= 1.5; }},
      {"scaling_factor_int", [](CiphertextObject& c) { c.scaling_factor_int = 7; }},
      {"encoding", [](CiphertextObject& c) { c.encoding = EncodingType::packed; }},
      {"components, their number", [](CiphertextObject& c) { c.components.push_back(c.components.front()); }},
      {"components, their form",
       [](CiphertextObject& c) {
         for (DcrtPolynomial& component : c.components) {
           component.form = PolynomialForm::coefficient;
           for (NativePolynomial& limb : component.limbs) limb.form = PolynomialForm::coefficient;
         }
       }},
      {"components, their limbs",
       [](CiphertextObject& c) {
         auto base = std::make_shared<DcrtParameters>(*c.components.front().parameters);
         base->primes.pop_back();
         for (DcrtPolynomial& component : c.components) {
           component.parameters = base;
           component.limbs.pop_back();
         }
         ++c.level;
       }},
  };
  // Limbs tell the level; hops are those of re-encryption, and metadata the user's own, which is refused.
  const std::set<std::string> ignored = {"level", "hop_level", "metadata"};
  std::set<std::string> fields = ignored;
  for (const auto& [name, apply] : changes) {
    const std::string field = name;
    fields.insert(field.substr(0, field.find(',')));
  }
  EXPECT_EQ(fields.size(), tests::member_count<CiphertextObject>());
  for (const auto& [name, apply] : changes) {
    auto object = read_file<CiphertextPointer>(first);
    apply(*object);
    const Bytes second = write_file(object, Format::binary);
    // Either way round: the first one fixes the shape.
    for (const auto& sources : {std::vector<Source>{first, second}, {second, first}}) {
      EXPECT_THROW(static_cast<void>(session.load_ciphertexts(sources)), Error) << name;
    }
  }
  EXPECT_EQ(session.load_ciphertexts(std::vector<Source>{first, first}).meta.batch, rlwe::BatchShape{2});
  auto object = read_file<CiphertextPointer>(first);
  object->level += 1;
  object->hop_level += 1;
  const auto batch = session.load_ciphertexts(std::vector<Source>{first, write_file(object, Format::binary)});
  for (const std::size_t index : {0U, 1U}) {
    EXPECT_EQ(session.dump_ciphertext(rlwe::take(batch, index)), first);
  }
}

TEST(OpenFheBatches, KeepTheFactorsOfCiphertextsInMemory) {
  const ContextPointer context = test::context_of("bgv");
  const auto object = read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"));
  const Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  CiphertextView view = view_of(*object);
  const std::uint64_t t = context->parameters->encoding->plain_modulus;
  view.scaling_factor_int = t - 2;
  EXPECT_EQ(session.metadata(session.import_ciphertext(view)).scaling_factor_int, t - 2);
  for (const std::uint64_t factor : {std::uint64_t{0}, t, t + 1}) {
    view.scaling_factor_int = factor;
    EXPECT_THROW(static_cast<void>(session.import_ciphertext(view)), FormatError) << factor;
  }
}

// Level and degree fix the factor: what alignment rounds is OpenFHE's exactly.
TEST(OpenFheResults, HaveTheFactorOfTheirLevelToTheBit) {
  Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const Bytes relinearization = test::get("ckks-flexibleauto", "eval_mult_key.bin");
  session.load_keys({.relinearization = Source(relinearization)});
  const auto evaluator = session.evaluator();
  const rlwe::Ciphertext a = session.load_ciphertext(test::get("ckks-flexibleauto", "ct_a.bin"));
  const rlwe::Ciphertext b = session.load_ciphertext(test::get("ckks-flexibleauto", "ct_b.bin"));
  const auto stated = read_file<CiphertextPointer>(test::get("ckks-flexibleauto", "mul_aba.bin"));
  const rlwe::Ciphertext product = evaluator->multiply(evaluator->multiply(a, b), a);
  const Metadata metadata = session.metadata(product);
  EXPECT_EQ(metadata.scaling_factor, stated->scaling_factor);
  EXPECT_EQ(metadata.level, stated->level);
  // One that is aligned for a sum: the top level's, two levels lower.
  const rlwe::Ciphertext sum = evaluator->add(evaluator->rescale(product), a);
  const auto& scales = session.params().rescaling().scales;
  EXPECT_EQ(session.metadata(sum).scaling_factor, scales[sum.meta.level].scale);
  // A factor of its own is not rounded to that.
  rlwe::Ciphertext other = a.clone();
  other.meta.scale *= 1 + 1e-4;
  EXPECT_EQ(session.metadata(other).scaling_factor, other.meta.scale);
}

// The scales of a context of depth 1 with FLEXIBLEAUTOEXT, whose one rescale is the first: OpenFHE takes the
// scaling modulus for the level below.
TEST(OpenFheScales, OfTwoModuliWithAnExtraOne) {
  const ContextPointer context = test::copy_of(*test::context_of("ckks-flexibleauto"));
  context->parameters->scaling = Scaling::flexible_auto_ext;
  context->parameters->elements->primes.resize(2);
  const double bits = static_cast<double>(context->parameters->encoding->plain_modulus);
  const auto top = static_cast<double>(context->parameters->elements->primes[1]->modulus);
  const rlwe::Parameters parameters = parameters_of(*context);
  const auto& scales = parameters.rescaling().scales;
  ASSERT_EQ(scales.size(), 2U);
  EXPECT_EQ(scales[1].scale, top);
  EXPECT_EQ(scales[0].scale, std::exp2(bits));
  EXPECT_EQ(scales[1].product_scale, top * std::exp2(bits));
  context->parameters->elements->primes.resize(1);
  EXPECT_THROW(static_cast<void>(parameters_of(*context)), FormatError);
}

// OpenFHE's automorphism: 5^k, from N/2 steps on -(5^k); powers of 5 below by repeated products.
TEST(OpenFheRotations, AreOpenFhesAutomorphisms) {
  const auto index_by_formula = [](std::int64_t steps, std::uint64_t order) {
    std::uint64_t inverse = 1;
    while (inverse * 5 % order != 1) inverse += 2;
    const std::uint64_t generator = steps < 0 ? inverse : 5;
    const auto count = static_cast<std::uint64_t>(std::abs(steps));
    std::uint64_t index = count < order / 4 ? 1 : order - 1;
    for (std::uint64_t i = count < order / 4 ? 0 : order / 4; i < count; ++i)
      index = index * generator % order;
    return index;
  };
  for (const char* const folder : {"bfv", "bgv", "ckks-flexibleauto"}) {
    const Session session(test::get(folder, "cryptocontext.bin"), tests::device());
    const bool is_ckks = session.params().scheme() == rlwe::Scheme::ckks;
    const auto degree = static_cast<std::int64_t>(session.context()->degree());
    const auto order = static_cast<std::uint64_t>(2 * degree);
    for (const std::int64_t steps :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, degree / 2 - 1, degree / 2, degree / 2 + 1,
          -degree / 2, 1 - degree / 2, -degree / 2 - 7, degree, degree + 3, -degree, 2 * degree - 1,
          1 - 2 * degree, 3 * degree}) {
      std::uint64_t wanted = index_by_formula(steps, order);
      if (is_ckks) {
        wanted = session.params().galois_element(steps);
        if (steps == 2 * degree - 1) wanted = order - 1;
      }
      EXPECT_EQ(session.context()->galois_element(steps), wanted) << folder << " " << steps;
      EXPECT_EQ(session.context()->is_long_rotation(steps), wanted != session.params().galois_element(steps))
          << folder << " " << steps;
    }
  }
}

TEST(OpenFheRotations, ByHalfTheRingAndMoreExchangeTheRows) {
  Session session(test::get("bfv", "cryptocontext.bin"), tests::device());
  const rlwe::SecretKey secret = session.load_secret_key(test::get("bfv", "secret_key.bin"));
  const rlwe::Ciphertext x = session.load_ciphertext(test::get("bfv", "ct_a.bin"));
  const integer::Encoder encoder(session.context());
  const auto degree = static_cast<std::int64_t>(session.context()->degree());
  const std::int64_t half = degree / 2;
  std::vector<std::int64_t> values(static_cast<std::size_t>(degree));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  const rlwe::Ciphertext own = any_scheme::encrypt(encoder.encode(values, {}), secret);
  const auto expect_turned = [&](const rlwe::Ciphertext& y, std::int64_t steps, bool exchanged) {
    const auto found = encoder.decode(any_scheme::decrypt(y, secret), false);
    for (std::int64_t i = 0; i < degree; ++i) {
      const std::int64_t row = (i / half + (exchanged ? 1 : 0)) % 2;
      const std::int64_t column = ((i % half + steps) % half + half) % half;
      ASSERT_EQ(found[static_cast<std::size_t>(i)], row * half + column) << steps << " " << i;
    }
  };
  const auto evaluator_of = [&](std::vector<std::int64_t> rotations) {
    return any_scheme::make_evaluator(session.context(),
                                      rlwe::generate_keys(secret, {.rotations = std::move(rotations)}));
  };
  const std::vector<std::int64_t> steps = {half + 1, -half - 3, degree + 2, half};
  const auto all = evaluator_of(steps);
  const auto many = all->rotate_hoisted(own, steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(all->rotation_plan(steps[i], own), std::vector<std::int64_t>{steps[i]});
    expect_turned(all->rotate(own, steps[i]), steps[i], true);
    expect_turned(many[i], steps[i], true);
  }
  // Without a key of its own: within the rows, and the exchange of N/2 steps.
  const auto parts = evaluator_of({1, half});
  expect_turned(parts->rotate(own, half + 1), 1, true);
  expect_turned(parts->rotate(own, degree), 0, true);
  expect_turned(parts->rotate(own, 1), 1, false);
  // The key of the same steps within the rows is none for it.
  EXPECT_THROW(static_cast<void>(evaluator_of({1})->rotate(own, half + 1)), MissingKeyError);
  EXPECT_THROW(static_cast<void>(evaluator_of({half + 1})->rotate(own, 1)), MissingKeyError);
  EXPECT_THROW(static_cast<void>(evaluator_of({1})->rotate(own, half)), MissingKeyError);
  static_cast<void>(x);
}

}  // namespace
}  // namespace hemera::interop::openfhe
