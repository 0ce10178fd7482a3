// OpenFHE's bootstrapping with keys as EvalBootstrapKeyGen makes them, for settings of all kinds.
#include "interop/openfhe/bootstrap.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "hemera/arith/primes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "member_count.hpp"
#include "rlwe/metadata_fields.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

constexpr std::int64_t half = 512;  // N / 2 of the context

struct BootstrapCase {
  const char* name;
  std::uint32_t slots, encode, decode;
  std::uint32_t encode_steps, decode_steps;
  SecretType secret = SecretType::uniform;
  Scaling scaling = Scaling::flexible_auto;
  bool decodes_first = false;
  bool is_complex = false;
  /// As OpenFHE 1.6.1 makes keys for with one giant key a stage, those that it has listed; empty: up to 1.5.
  std::vector<std::int64_t> listed = {};
};

// Of OpenFHE 1.6.1's CryptoContext::GetExistingEvalAutomorphismKeyIndices at N = 1024.
const std::vector<std::int64_t> layers_1_6 = {1, 2, 3, 4, 8, 12, 16, 17, 32, 48, 64, 128, 192, 256};
const std::vector<std::int64_t> different_1_6 = {1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 32, 48, 64, 128, 192, 256};
const std::vector<std::int64_t> all_slots_1_6 = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,
                                                 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,  23,  24,
                                                 25, 26, 27, 28, 29, 30, 31, 32, 64, 128, 192, 256};
const std::vector<std::int64_t> sparse_1_6 = {1, 2, 3, 4, 8, 12, 16, 24, 32, 48, 64, 65, 128, 192, 256};
const std::vector<std::int64_t> dense_1_6 = {1, 2, 3, 4, 5, 6, 7, 8, 64, 128, 192, 256};
// By one baby step: the turns that both sides leave out, 1 each, are made up for one by one.
const std::vector<std::int64_t> single_1_6 = {1, 4, 16, 32, 64, 128, 256};

// Rotations of one side: (first + j) stride for j < steps, then multiples of steps stride.
void add_layer(std::set<std::int64_t>& rotations, std::int64_t layers, std::int64_t steps,
               std::int64_t stride, std::int64_t inner_modulus) {
  const std::int64_t diagonals = (std::int64_t{2} << layers) - 1;
  const auto modulo = [](std::int64_t a, std::int64_t m) { return ((a % m) + m) % m; };
  for (std::int64_t j = 0; j < steps; ++j) {
    rotations.insert(modulo((j - (std::int64_t{1} << layers) + 1) * stride, inner_modulus));
  }
  for (std::int64_t i = 0; i < (diagonals + 1) / steps; ++i)
    rotations.insert(modulo(i * steps * stride, half));
}

// How many layers the stages of a budget have, by OpenFHE's SelectLayers: where it does not divide their
// number, the last stage has the rest, and is smaller or larger than the others.
std::vector<std::int64_t> stages_of(std::int64_t layers, std::int64_t budget) {
  if (layers % budget == 0)
    return std::vector<std::int64_t>(static_cast<std::size_t>(budget), layers / budget);
  const std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> uneven = {
      {{4, 3}, {1, 1, 2}},
      {{5, 2}, {3, 2}},
      {{5, 3}, {2, 2, 1}},
      {{6, 4}, {1, 1, 1, 3}},
      {{9, 4}, {2, 2, 2, 3}}};
  return uneven.at({layers, budget});
}

// What EvalBootstrapKeyGen makes keys for.
std::set<std::int64_t> rotations_of(const BootstrapCase& tested) {
  std::set<std::int64_t> rotations;
  const auto slots = static_cast<std::int64_t>(tested.slots);
  for (std::int64_t step = slots; step < half; step *= 2) rotations.insert(step);
  if (tested.encode == 1 && tested.decode == 1) {
    const std::int64_t steps = tested.encode_steps;
    for (std::int64_t i = 1; i <= steps; ++i) rotations.insert(i);
    for (std::int64_t i = 2; i < slots / steps; ++i) rotations.insert(i * steps);
  } else {
    const auto log_slots = static_cast<std::int64_t>(std::countr_zero(tested.slots));
    // Baby steps are given for all stages but that of a rest, which has OpenFHE's own choice.
    const auto add = [&](std::int64_t budget, std::int64_t steps, std::int64_t inner_modulus,
                         bool is_encode) {
      const std::vector<std::int64_t> stages = stages_of(log_slots, budget);
      std::int64_t done = 0;
      for (std::size_t i = 0; i < stages.size(); ++i) {
        const bool is_rest = log_slots % budget != 0 && i + 1 == stages.size();
        const std::int64_t own = std::int64_t{1} << (stages[i] / 2 + (stages[i] > 2 ? 2 : 1));
        // CoeffToSlot begins with the widest, so that a rest is at its end, too.
        const std::int64_t place = is_encode ? log_slots - done - stages[i] : done;
        add_layer(rotations, stages[i], is_rest ? own : steps, std::int64_t{1} << place, inner_modulus);
        done += stages[i];
      }
    };
    add(tested.encode, tested.encode_steps, slots, true);
    add(tested.decode, tested.decode_steps, half, false);
  }
  rotations.erase(0);
  return rotations;
}

class OpenFheBootstraps : public testing::TestWithParam<BootstrapCase> {};

INSTANTIATE_TEST_SUITE_P(
    Settings, OpenFheBootstraps,
    testing::Values(
        BootstrapCase{"dense", 8, 1, 1, 4, 4}, BootstrapCase{"layers", 16, 2, 2, 4, 4},
        BootstrapCase{"different", 16, 2, 1, 2, 8}, BootstrapCase{"all_slots", 512, 3, 1, 4, 32},
        BootstrapCase{"sparse", 64, 2, 3, 4, 4, SecretType::sparse},
        BootstrapCase{"larger_rest", 16, 3, 3, 2, 2, SecretType::sparse},
        BootstrapCase{"smaller_rest", 32, 3, 2, 4, 4, SecretType::sparse},
        BootstrapCase{"rest_of_three", 64, 4, 2, 2, 4, SecretType::sparse},
        BootstrapCase{"decode_first_rest", 32, 2, 3, 8, 4, SecretType::sparse, Scaling::flexible_auto, true},
        BootstrapCase{"all_slots_rest", 512, 3, 4, 4, 4, SecretType::sparse},
        BootstrapCase{"encapsulated", 16, 2, 2, 4, 4, SecretType::sparse_encapsulated},
        BootstrapCase{"fixed_auto", 8, 1, 1, 4, 2, SecretType::uniform, Scaling::fixed_auto},
        BootstrapCase{"fixed_manual", 8, 1, 1, 2, 4, SecretType::sparse, Scaling::fixed_manual},
        BootstrapCase{"decode_first_dense", 8, 1, 1, 4, 2, SecretType::uniform, Scaling::flexible_auto, true},
        BootstrapCase{"decode_first_layers", 64, 2, 3, 4, 4, SecretType::sparse, Scaling::fixed_auto, true},
        BootstrapCase{"decode_first_all_slots", 512, 3, 1, 4, 32, SecretType::uniform, Scaling::flexible_auto,
                      true},
        BootstrapCase{"decode_first_all_complex", 512, 3, 1, 4, 32, SecretType::sparse,
                      Scaling::flexible_auto, true, true},
        BootstrapCase{"decode_first_complex", 16, 2, 2, 4, 4, SecretType::sparse_encapsulated,
                      Scaling::flexible_auto, true, true},
        BootstrapCase{"decode_first_manual", 16, 2, 2, 4, 4, SecretType::sparse, Scaling::fixed_manual, true},
        BootstrapCase{"extended", 16, 2, 2, 4, 4, SecretType::sparse, Scaling::flexible_auto_ext},
        BootstrapCase{"extended_dense", 8, 1, 1, 4, 2, SecretType::uniform, Scaling::flexible_auto_ext},
        BootstrapCase{"extended_encapsulated", 16, 1, 2, 4, 4, SecretType::sparse_encapsulated,
                      Scaling::flexible_auto_ext},
        BootstrapCase{"decode_first_extended", 16, 2, 2, 4, 4, SecretType::sparse, Scaling::flexible_auto_ext,
                      true},
        BootstrapCase{"single_1_6", 16, 2, 2, 1, 1, SecretType::sparse, Scaling::flexible_auto, false, false,
                      single_1_6},
        BootstrapCase{"decode_first_single_1_6", 16, 2, 2, 1, 1, SecretType::sparse, Scaling::flexible_auto,
                      true, true, single_1_6},
        BootstrapCase{"extended_1_6", 16, 2, 2, 4, 4, SecretType::sparse, Scaling::flexible_auto_ext, false,
                      false, layers_1_6},
        BootstrapCase{"layers_1_6", 16, 2, 2, 4, 4, SecretType::uniform, Scaling::flexible_auto, false, false,
                      layers_1_6},
        BootstrapCase{"different_1_6", 16, 2, 1, 2, 8, SecretType::uniform, Scaling::fixed_auto, false, false,
                      different_1_6},
        BootstrapCase{"all_slots_1_6", 512, 3, 1, 4, 32, SecretType::uniform, Scaling::flexible_auto, false,
                      false, all_slots_1_6},
        BootstrapCase{"sparse_1_6", 64, 2, 3, 4, 4, SecretType::sparse, Scaling::fixed_manual, false, false,
                      sparse_1_6},
        BootstrapCase{"dense_1_6", 64, 1, 1, 8, 8, SecretType::uniform, Scaling::flexible_auto, false, false,
                      dense_1_6},
        BootstrapCase{"encapsulated_1_6", 16, 2, 2, 4, 4, SecretType::sparse_encapsulated,
                      Scaling::flexible_auto, false, false, layers_1_6},
        BootstrapCase{"decode_first_layers_1_6", 64, 2, 3, 4, 4, SecretType::sparse, Scaling::fixed_auto,
                      true, false, sparse_1_6},
        BootstrapCase{"decode_first_all_complex_1_6", 512, 3, 1, 4, 32, SecretType::sparse,
                      Scaling::flexible_auto, true, true, all_slots_1_6}),
    [](const auto& tested) { return std::string(tested.param.name); });

// The keys to the ephemeral secret, over q_0 and one special prime, and from it.
void add_encapsulation_keys(rlwe::EvaluationKeys& keys, const rlwe::SecretKey& secret) {
  const rlwe::Context& context = *secret.context;
  const rlwe::ParametersLiteral& literal = context.parameters().literal();
  const rlwe::GadgetPrimes narrow{.base = literal.levels.front(),
                                  .special = {literal.special_primes.front()},
                                  .digits = {literal.levels.front()}};
  const auto made = rlwe::generate_encapsulation_keys(secret, 32, context.gadget(narrow),
                                                      context.gadget(context.top_level()));
  keys.add({.to = rlwe::ephemeral_secret}, made.to_ephemeral);
  keys.add({.from = rlwe::ephemeral_secret}, made.from_ephemeral);
}

TEST_P(OpenFheBootstraps, KeepTheValuesAtOpenFhesLevel) {
  const BootstrapCase& tested = GetParam();
  auto object = read_file<std::shared_ptr<CryptoContext>>(test::get("ckks-bootstrap", "cryptocontext.bin"));
  object->parameters->secret = tested.secret;
  object->parameters->scaling = tested.scaling;
  object->parameters->data_type = tested.is_complex ? complex_data : 0;
  auto settings = std::make_shared<BootstrapSettings>();
  *settings = {.baby_steps_encode = tested.encode_steps,
               .baby_steps_decode = tested.decode_steps,
               .slots = tested.slots,
               .budget_encode = tested.encode,
               .budget_decode = tested.decode,
               .encodes_slots = tested.decodes_first};
  object->scheme->fhe->settings = {{tested.slots, settings}};
  object->scheme->fhe->correction_factor = 11;
  const auto file = write_file(object, Format::binary);
  Session session(file, tests::device());

  // The client's keys, as its files.
  const auto context = session.context();
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  auto secret_file = from_secret_key(secret, {object, "0123456789abcdef0123456789abcdef"});
  static_cast<void>(session.load_secret_key(write_file(secret_file, Format::binary)));
  const std::set<std::int64_t> rotations =
      tested.listed.empty() ? rotations_of(tested)
                            : std::set<std::int64_t>(tested.listed.begin(), tested.listed.end());
  rlwe::EvaluationKeys keys =
      rlwe::generate_keys(secret, {.rotations = {rotations.begin(), rotations.end()}, .conjugation = true});
  if (tested.secret == SecretType::sparse_encapsulated) add_encapsulation_keys(keys, secret);
  session.load_keys(session.dump_keys(keys).sources());
  const Bootstrapper bootstrapper(context, *object, *settings, 11,
                                  tested.listed.empty() ? GiantSteps::own_keys : GiantSteps::one_key);
  for (const circuits::KeyNeed& need : bootstrapper.needed_keys()) {
    EXPECT_NE(session.keys().find(need.role, need.gadget), nullptr) << need.role.galois_element;
  }

  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<std::complex<double>> values(tested.slots);
  for (auto& value : values) value = {uniform(random), tested.is_complex ? uniform(random) : 0};
  const ckks::Encoder encoder(context);
  const std::size_t least = tested.decodes_first ? tested.decode : 1;
  const rlwe::Ciphertext in = ckks::encrypt(encoder.encode(values, {}, least), secret);
  const auto counting = std::dynamic_pointer_cast<const ckks::Evaluator>(session.evaluator());
  ASSERT_TRUE(counting);
  const rlwe::Ciphertext out = session.bootstrap(in, 1, 0, counting.get());
  EXPECT_EQ(counting->bootstraps(), 1U);
  EXPECT_EQ(counting->undeclared_bootstraps(), 1U);
  EXPECT_EQ(session.bootstrap_input_levels(), (std::map<std::size_t, std::size_t>{{tested.slots, least}}));
  if (tested.decodes_first) {
    const rlwe::Ciphertext lower = ckks::encrypt(encoder.encode(values, {}, least - 1), secret);
    EXPECT_THROW(static_cast<void>(session.bootstrap(lower)), LevelError);
  }

  // Without SlotToCoeff at the end its levels are left, but its last one, where what is not rescaled waits.
  const std::size_t sine = tested.secret == SecretType::uniform ? 14 : 10;
  const std::size_t rescaled = tested.decodes_first && tested.scaling == Scaling::fixed_manual ? 1 : 0;
  // Levels count from the top, and FLEXIBLEAUTOEXT's further modulus, which is not raised to, is one of them.
  const std::size_t further = tested.scaling == Scaling::flexible_auto_ext ? 1 : 0;
  const Metadata metadata = session.metadata(out);
  EXPECT_EQ(metadata.level,
            further + tested.encode + sine - 1 + (tested.decodes_first ? rescaled : tested.decode));
  EXPECT_EQ(metadata.noise_scale_degree, rescaled == 1 ? 1 : 2);
  EXPECT_EQ(metadata.slots, tested.slots);
  const std::size_t level = context->top_level() - metadata.level;
  const rlwe::LevelScale& scale = session.params().rescaling().scales[level];
  EXPECT_EQ(metadata.scaling_factor, rescaled == 1 ? scale.scale : scale.product_scale);
  const auto decoded = encoder.decode(ckks::decrypt(out, secret));
  // The sine is straight up to the cube of 2^-11 of the values, and fixed techniques take moduli for 2^59.
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_LE(std::abs(decoded[i] - values[i]), 0x1p-16) << i;
  // Twice: the error itself is bootstrapped, one level lower.
  if (metadata.level + 3 + (tested.decodes_first ? tested.decode : 0) <= context->top_level()) {
    rlwe::Ciphertext declared = in.clone();
    declared.meta.largest = 1;
    const rlwe::Ciphertext twice = session.bootstrap(declared, 2, 10, counting.get());
    // One bootstrap, of two iterations.
    EXPECT_EQ(counting->bootstraps(), 2U);
    EXPECT_EQ(counting->undeclared_bootstraps(), 1U);
    EXPECT_EQ(session.metadata(twice).level, metadata.level + 1 - rescaled);
    EXPECT_EQ(twice.meta.noise_scale_degree, 2);
    const auto better = encoder.decode(ckks::decrypt(twice, secret));
    double once_worst = 0, twice_worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      once_worst = std::max(once_worst, std::abs(decoded[i] - values[i]));
      twice_worst = std::max(twice_worst, std::abs(better[i] - values[i]));
    }
    EXPECT_LT(twice_worst, once_worst / 16);
  }
  // What has as many levels already comes back as it is.
  const std::uint64_t before = counting->bootstraps();
  EXPECT_EQ(session.dump_ciphertext(session.bootstrap(out, 1, 0, counting.get())),
            session.dump_ciphertext(out));
  EXPECT_EQ(counting->bootstraps(), before);
}

// Rotations of one ciphertext share a ModUp, those of sums have one each, and a matrix has one division at
// its end: what is rotated and rescaled one by one takes several times as many.
TEST(OpenFheBootstrapCost, HasFewerExtensionsAndDivisionsThanRotations) {
  const auto object =
      read_file<std::shared_ptr<CryptoContext>>(test::get("ckks-bootstrap", "cryptocontext.bin"));
  object->parameters->secret = SecretType::sparse_encapsulated;
  const auto context = rlwe::Context::make(parameters_of(*object, {}));
  const auto cost_of = [&](std::uint32_t slots, std::uint32_t budget) {
    const BootstrapSettings settings{
        .slots = slots, .budget_encode = budget, .budget_decode = budget, .encodes_slots = false};
    const Bootstrapper bootstrapper(context, *object, settings, 11, GiantSteps::own_keys);
    std::size_t rotations = 0;
    for (const circuits::KeyNeed& need : bootstrapper.needed_keys()) {
      rotations += need.role.galois_element != 1 ? 1 : 0;
    }
    EXPECT_EQ(bootstrapper.cost().key_bytes,
              circuits::key_bytes(context->degree(), bootstrapper.needed_keys()));
    return std::pair(bootstrapper.cost(), rotations);
  };
  const auto [full, rotations] = cost_of(512, 3);
  EXPECT_EQ(rotations, 23U);
  // Of them twelve are products of each part's sine, of which the last ones are joined.
  EXPECT_EQ(full.key_products, 72U);
  EXPECT_EQ(full.mod_ups, 35U);  // what is raised is one digit as it is
  EXPECT_EQ(full.divisions, 36U);
  EXPECT_EQ(full.rescales, 9U);
  const auto [sparse, few] = cost_of(64, 1);
  EXPECT_EQ(few, 36U);
  EXPECT_EQ(sparse.key_products, 83U);
  EXPECT_EQ(sparse.mod_ups, 22U);
  EXPECT_EQ(sparse.divisions, 23U);
  EXPECT_EQ(sparse.rescales, 5U);
}

// The input differs in one field: which of them the result keeps, and which change nothing in it.
TEST(OpenFheBootstrapOperands, KeepWhatIsKnownOfTheValues) {
  auto object = read_file<std::shared_ptr<CryptoContext>>(test::get("ckks-bootstrap", "cryptocontext.bin"));
  object->parameters->secret = SecretType::sparse_encapsulated;
  const auto settings_of = [](std::uint32_t slots) {
    auto settings = std::make_shared<BootstrapSettings>();
    *settings = {.baby_steps_encode = 4,
                 .baby_steps_decode = 4,
                 .slots = slots,
                 .budget_encode = 1,
                 .budget_decode = 1,
                 .encodes_slots = false};
    return settings;
  };
  object->scheme->fhe->settings = {{8, settings_of(8)}, {16, settings_of(16)}};
  object->scheme->fhe->correction_factor = 11;
  auto context_file = object;
  Session session(write_file(context_file, Format::binary), "tag", {}, tests::device());
  const auto context = session.context();
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  std::set<std::int64_t> rotations;
  for (const std::uint32_t slots : {8U, 16U}) {
    const auto more = rotations_of({"", slots, 1, 1, 4, 4});
    rotations.insert(more.begin(), more.end());
  }
  rlwe::EvaluationKeys keys =
      rlwe::generate_keys(secret, {.rotations = {rotations.begin(), rotations.end()}, .conjugation = true});
  add_encapsulation_keys(keys, secret);
  const KeyFiles files = session.dump_keys(keys);
  session.load_keys(files.sources());
  // The key to the sparse secret has a prime of P, as up to OpenFHE 1.5: none besides.
  Session by_key(*files.galois, tests::device());
  EXPECT_TRUE(by_key.params() == session.params());
  EXPECT_TRUE(by_key.params().literal().key_primes.empty());
  by_key.load_keys(files.sources());
  EXPECT_EQ(by_key.keys().switching.size(), session.keys().switching.size());

  const ckks::Encoder encoder(context);
  const auto evaluator = session.evaluator();
  const auto encrypted = [&](std::size_t slots, double first, std::size_t level) {
    std::vector<std::complex<double>> values(slots);
    for (std::size_t i = 0; i < slots; ++i) values[i] = first - 0.0625 * static_cast<double>(i);
    return ckks::encrypt(encoder.encode(values, {}, level), secret);
  };
  const auto expect_values = [&](const rlwe::Ciphertext& x, std::size_t slots, double first,
                                 double scale = 1) {
    const auto found = encoder.decode(ckks::decrypt(x, secret));
    ASSERT_EQ(found.size(), slots);
    for (std::size_t i = 0; i < slots; ++i) {
      EXPECT_NEAR(found[i].real(), scale * (first - 0.0625 * static_cast<double>(i)), 0x1p-14) << i;
    }
  };
  const auto both = [&](const rlwe::Ciphertext& x) {
    return std::array{session.bootstrap(x), session.bootstrap(x, 2, 8)};
  };
  const rlwe::Ciphertext in = encrypted(8, 0.75, 1);
  const auto usual = both(in);
  const std::map<std::string, std::function<void(const rlwe::MetadataField&)>> table = {
      {"batch",
       [&](const auto&) {
         const rlwe::Ciphertext other = encrypted(8, -0.25, 1);
         for (const rlwe::Ciphertext& out : both(rlwe::stack({&in, &other}))) {
           ASSERT_EQ(out.meta.batch, rlwe::BatchShape{2});
           expect_values(rlwe::take(out, 0), 8, 0.75);
           expect_values(rlwe::take(out, 1), 8, -0.25);
         }
       }},
      {"level",
       [&](const auto&) {
         const auto out = both(encrypted(8, 0.75, 2));
         for (const std::size_t i : {0U, 1U}) {
           EXPECT_EQ(out.at(i).meta.level, usual.at(i).meta.level);
           expect_values(out.at(i), 8, 0.75);
         }
       }},
      {"scale",
       [&](const auto&) {
         // Of its own, which OpenFHE never has: one level more brings the difference to a level's.
         rlwe::Ciphertext low = encrypted(8, 0.75, 1), x = encrypted(8, 0.75, 2);
         low.meta.scale *= 1.25;
         expect_values(session.bootstrap(low), 8, 0.75, 0.8);
         x.meta.scale *= 1.25;
         for (const rlwe::Ciphertext& out : both(x)) expect_values(out, 8, 0.75, 0.8);
       }},
      {"noise_scale_degree",
       [&](const auto&) {
         // A product with 1 that is not rescaled.
         const std::vector<std::complex<double>> ones(8, 1.0);
         const rlwe::Ciphertext x = encrypted(8, 0.75, 2);
         const rlwe::PlainOperand at = context->scales().operand_of_product(x.meta);
         const rlwe::Ciphertext product =
             evaluator->multiply_plain(x, encoder.encode(ones, {}, at.level, at.scale));
         ASSERT_EQ(product.meta.noise_scale_degree, 2);
         for (const rlwe::Ciphertext& out : both(product)) expect_values(out, 8, 0.75);
       }},
      {"slots",
       [&](const auto&) {
         for (const rlwe::Ciphertext& out : both(encrypted(16, 0.75, 1))) expect_values(out, 16, 0.75);
         expect_values(session.bootstrap(in), 8, 0.75);
         EXPECT_THROW(static_cast<void>(session.bootstrap(encrypted(32, 0.75, 1))), ParameterError);
       }},
      // Of other schemes.
      {"correction", {}},
      {"encoding", {}},
      {"noise_log2", {}},
      {"spent", {}},
      {"largest",
       [&](const auto&) {
         for (const double bound : {0.75, 3.5, std::numeric_limits<double>::infinity()}) {
           rlwe::Ciphertext x = in.clone();
           x.meta.largest = bound;
           for (const rlwe::Ciphertext& out : both(x)) EXPECT_EQ(out.meta.largest, bound);
         }
       }},
  };
  for (const rlwe::MetadataField& field : rlwe::metadata_fields()) {
    SCOPED_TRACE(field.name);
    const auto entry = table.find(field.name);
    if (entry != table.end()) {
      if (entry->second) entry->second(field);
      continue;
    }
    rlwe::Ciphertext x = in.clone();
    x.meta.filled = 3;
    field.change(x.meta);
    for (const rlwe::Ciphertext& out : both(x)) {
      EXPECT_EQ(out.meta.filled, x.meta.filled);
      EXPECT_EQ(out.meta.padding, x.meta.padding);
      EXPECT_EQ(out.meta.is_complex, x.meta.is_complex);
      EXPECT_EQ(out.meta.slots, 8U);
    }
  }
  // filled, padding and is_complex are the rest.
  EXPECT_EQ(table.size() + 3, tests::member_count<rlwe::Metadata>());
}

// A session for one number of slots with the client's secret, and keys for what is asked for.
class OpenFheBootstrapKeys : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<CryptoContext> client() const {
    auto object = read_file<std::shared_ptr<CryptoContext>>(test::get("ckks-bootstrap", "cryptocontext.bin"));
    object->parameters->secret = SecretType::sparse;
    auto settings = std::make_shared<BootstrapSettings>();
    *settings = {.baby_steps_encode = 4,
                 .baby_steps_decode = 4,
                 .slots = 16,
                 .budget_encode = 2,
                 .budget_decode = 2,
                 .encodes_slots = false};
    object->scheme->fhe->settings = {{16, settings}};
    object->scheme->fhe->correction_factor = 11;
    return object;
  }

  [[nodiscard]] Session opened() const {
    auto object = client();
    return Session(write_file(object, Format::binary), "tag", {}, tests::device());
  }

  static void load(Session& session, const rlwe::SecretKey& secret, const std::set<std::int64_t>& rotations,
                   bool conjugation = true) {
    session.load_keys(
        session
            .dump_keys(rlwe::generate_keys(
                secret, {.rotations = {rotations.begin(), rotations.end()}, .conjugation = conjugation}))
            .sources());
  }

  static rlwe::Ciphertext encrypted(const rlwe::SecretKey& secret, double first, std::size_t level) {
    std::vector<std::complex<double>> values(16);
    for (std::size_t i = 0; i < 16; ++i) values[i] = first - 0.0625 * static_cast<double>(i);
    return ckks::encrypt(ckks::Encoder(secret.context).encode(values, {}, level), secret);
  }

  static void expect_values(const rlwe::SecretKey& secret, const rlwe::Ciphertext& x,
                            const std::function<double(double)>& of) {
    const auto found = ckks::Encoder(secret.context).decode(ckks::decrypt(x, secret));
    ASSERT_EQ(found.size(), 16U);
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_NEAR(found[i].real(), of(0.75 - 0.0625 * static_cast<double>(i)), 0x1p-14) << i;
    }
  }

  std::set<std::int64_t> newer_{layers_1_6.begin(), layers_1_6.end()};
  std::set<std::int64_t> older_ = rotations_of({"", 16, 2, 2, 4, 4});
};

// Calls that fail for want of keys are forgotten: what is loaded later counts, whichever version's.
TEST_F(OpenFheBootstrapKeys, ThatComeLaterAreTaken) {
  for (const bool is_newer : {false, true}) {
    SCOPED_TRACE(is_newer);
    const std::set<std::int64_t>& rotations = is_newer ? newer_ : older_;
    Session session = opened();
    const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
    const rlwe::Ciphertext in = encrypted(secret, 0.75, 1);
    const auto expect_missing = [&] {
      for (const int iterations : {1, 2}) {
        EXPECT_THROW(static_cast<void>(session.bootstrap(in, iterations, 8)), MissingKeyError);
      }
    };
    expect_missing();
    std::set<std::int64_t> fewer = rotations;
    fewer.erase(64);  // of the sum over all slots
    load(session, secret, fewer, false);
    expect_missing();
    load(session, secret, {64}, false);
    expect_missing();
    load(session, secret, {});
    expect_values(secret, session.bootstrap(in), [](double x) { return x; });
    // Those of the other version beside them.
    load(session, secret, is_newer ? older_ : newer_);
    expect_values(secret, session.bootstrap(in), [](double x) { return x; });
    expect_values(secret, session.bootstrap(in, 2, 8), [](double x) { return x; });
  }
}

// Those that a bootstrap says it needs are enough, and without any of them it can not be.
TEST_F(OpenFheBootstrapKeys, ThatAreNeededAreThoseThatAreUsed) {
  struct Case {
    GiantSteps steps;
    bool decodes_first, is_encapsulated;
  };
  for (const auto& [steps, decodes_first, is_encapsulated] : {Case{GiantSteps::own_keys, false, false},
                                                              {GiantSteps::one_key, false, true},
                                                              {GiantSteps::one_key, true, false}}) {
    SCOPED_TRACE(testing::Message() << decodes_first << is_encapsulated);
    const auto object = client();
    if (is_encapsulated) object->parameters->secret = SecretType::sparse_encapsulated;
    BootstrapSettings settings = *object->scheme->fhe->settings[0].settings;
    settings.encodes_slots = decodes_first;
    const auto context = rlwe::Context::make(parameters_of(*object, {}), tests::device(),
                                             {.long_rotations = rlwe::LongRotations::openfhe});
    const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
    std::set<std::int64_t> rotations = newer_;
    rotations.insert(older_.begin(), older_.end());
    rlwe::EvaluationKeys all =
        rlwe::generate_keys(secret, {.rotations = {rotations.begin(), rotations.end()}, .conjugation = true});
    if (is_encapsulated) add_encapsulation_keys(all, secret);
    const Bootstrapper bootstrapper(context, *object, settings, 11, steps);
    const rlwe::Ciphertext in = encrypted(secret, 0.75, 2);
    const auto bootstrap = [&](const rlwe::KeyRole* without) {
      rlwe::EvaluationKeys keys{.context = context, .public_key = nullptr, .switching = {}};
      for (const circuits::KeyNeed& need : bootstrapper.needed_keys()) {
        if (without == nullptr || need.role != *without)
          keys.add(need.role, all.find(need.role, need.gadget));
      }
      return bootstrapper(ckks::Evaluator(context, keys), in);
    };
    expect_values(secret, bootstrap(nullptr), [](double x) { return x; });
    for (const circuits::KeyNeed& need : bootstrapper.needed_keys()) {
      EXPECT_THROW(static_cast<void>(bootstrap(&need.role)), MissingKeyError)
          << need.role.galois_element << " " << need.role.from << " " << need.role.to;
    }
    // Each once, over all primes but for that to the sparse secret.
    std::set<std::pair<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>>> roles;
    for (const circuits::KeyNeed& need : bootstrapper.needed_keys()) {
      roles.insert({need.role.galois_element + need.role.power - 1, {need.role.from, need.role.to}});
      const bool is_narrow = need.role.to == rlwe::ephemeral_secret;
      const auto& literal = context->parameters().literal();
      EXPECT_EQ(need.gadget.base, is_narrow ? literal.levels.front() : literal.levels.back());
      EXPECT_EQ(need.gadget.special.size(), is_narrow ? 1 : literal.special_primes.size());
    }
    EXPECT_EQ(roles.size(), bootstrapper.needed_keys().size());
  }
}

TEST_F(OpenFheBootstrapKeys, RelinearizeProductsOfThreeComponents) {
  Session session = opened();
  const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
  load(session, secret, newer_);
  const auto lazy =
      any_scheme::make_evaluator(session.context(), session.keys(), rlwe::Relinearization::lazy);
  const auto square = [](double x) { return x * x; };
  const auto product = [&](std::size_t level) {
    const rlwe::Ciphertext x = encrypted(secret, 0.75, level);
    rlwe::Ciphertext result = lazy->multiply(x, x);
    EXPECT_EQ(result.size(), 3U);
    return result;
  };
  const std::size_t gained = session.bootstrap(encrypted(secret, 0.75, 1)).meta.level;
  // At levels that bootstraps raise, and at those that they leave.
  for (const std::size_t level :
       {std::size_t{2}, std::size_t{3}, gained - 1, gained, gained + 1, session.context()->top_level()}) {
    SCOPED_TRACE(level);
    const rlwe::Ciphertext in = product(level);
    for (const int iterations : {1, 2}) {
      const rlwe::Ciphertext out = session.bootstrap(in, iterations, 8);
      EXPECT_EQ(out.size(), 2U);
      expect_values(secret, out, square);
      if (level > gained) {
        rlwe::Ciphertext relinearized = in.clone();
        lazy->relinearize_inplace(relinearized);
        EXPECT_EQ(session.dump_ciphertext(out), session.dump_ciphertext(relinearized));
      }
    }
    EXPECT_EQ(in.size(), 3U);
  }
}

// What the settings may be: the last ones that are taken, and the first that are not.
TEST(OpenFheBootstrapErrors, SettingsHaveLimits) {
  const auto object =
      read_file<std::shared_ptr<CryptoContext>>(test::get("ckks-bootstrap", "cryptocontext.bin"));
  object->parameters->secret = SecretType::sparse;
  const auto context = rlwe::Context::make(parameters_of(*object, {}), tests::device());
  const auto make = [&](std::uint32_t slots, std::uint32_t encode, std::uint32_t decode,
                        std::uint32_t factor) {
    const BootstrapSettings settings{
        .slots = slots, .budget_encode = encode, .budget_decode = decode, .encodes_slots = false};
    Bootstrapper(context, *object, settings, factor, GiantSteps::own_keys);
  };
  for (const std::uint32_t slots : {2U, 8U, 512U}) EXPECT_NO_THROW(make(slots, 1, 1, 11)) << slots;
  for (const std::uint32_t slots : {0U, 1U, 3U, 12U, 1024U}) {
    EXPECT_THROW(make(slots, 1, 1, 11), ParameterError) << slots;
  }
  EXPECT_NO_THROW(make(8, 3, 1, 11));
  EXPECT_NO_THROW(make(8, 1, 3, 11));
  for (const auto& [encode, decode] : {std::pair{0U, 1U}, {1U, 0U}, {4U, 1U}, {1U, 4U}}) {
    EXPECT_THROW(make(8, encode, decode, 11), ParameterError) << encode << " " << decode;
  }
  const double q0 = static_cast<double>(object->parameters->elements->primes.front()->modulus);
  const auto degree = static_cast<std::uint32_t>(
      std::round(std::log2(q0) - static_cast<double>(object->parameters->encoding->plain_modulus)));
  EXPECT_NO_THROW(make(8, 1, 1, degree + 60));
  EXPECT_THROW(make(8, 1, 1, degree + 61), ParameterError);
  // A dense matrix takes the baby steps that are given: up to the ring's slots.
  for (const std::uint32_t steps : {1U, 8U, 512U, 513U, 0xFFFFFFFFU}) {
    const BootstrapSettings settings{.baby_steps_encode = steps,
                                     .slots = 8,
                                     .budget_encode = 1,
                                     .budget_decode = 1,
                                     .encodes_slots = false};
    const auto make_dense = [&] { Bootstrapper(context, *object, settings, 11, GiantSteps::own_keys); };
    if (steps > 512) {
      EXPECT_THROW(make_dense(), ParameterError) << steps;
    } else {
      EXPECT_NO_THROW(make_dense()) << steps;
    }
  }
}

// With a sparse secret it takes encode + decode + 9 levels, and its result has a level more than the lowest
// input's 1.
TEST(OpenFheBootstrapErrors, ContextsHaveTheLevels) {
  for (const Scaling scaling : {Scaling::flexible_auto, Scaling::fixed_auto, Scaling::flexible_auto_ext}) {
    const std::size_t further = scaling == Scaling::flexible_auto_ext ? 1 : 0;
    for (const auto& [encode, decode] : {std::pair{1U, 1U}, {2U, 1U}, {1U, 2U}, {2U, 2U}}) {
      const auto object =
          read_file<std::shared_ptr<CryptoContext>>(test::get("ckks-bootstrap", "cryptocontext.bin"));
      object->parameters->secret = SecretType::sparse;
      object->parameters->scaling = scaling;
      const std::size_t least_top = further + encode + decode + 9 + 2;
      const BootstrapSettings settings{
          .slots = 16, .budget_encode = encode, .budget_decode = decode, .encodes_slots = false};
      for (const std::size_t top : {least_top, least_top - 1}) {
        ASSERT_LE(top + 1, object->parameters->elements->primes.size());
        object->parameters->elements->primes.resize(top + 1);
        const auto context = rlwe::Context::make(parameters_of(*object, {}), tests::device());
        const auto make = [&] { return Bootstrapper(context, *object, settings, 11, GiantSteps::own_keys); };
        if (top < least_top) {
          EXPECT_THROW(make(), ParameterError) << encode << decode;
        } else {
          EXPECT_EQ(make().result_level(), 2U) << encode << decode;
        }
      }
    }
  }
}

// OpenFHE's EvalBootstrap takes round(log2(q_0 / 2^p)) off the correction factor, and throws where that is
// less.
TEST(OpenFheBootstrapErrors, CorrectionFactorsAreAtLeastTheRoundedDegree) {
  for (const auto& [bits_above, degree] : {std::pair{0.3, 0U}, std::pair{0.7, 1U}}) {
    const auto object =
        read_file<std::shared_ptr<CryptoContext>>(test::get("ckks-bootstrap", "cryptocontext.bin"));
    const double bits = static_cast<double>(object->parameters->encoding->plain_modulus) + bits_above;
    DcrtParameters& elements = *object->parameters->elements;
    NativeParameters& first = *elements.primes.front();
    const std::uint64_t order = 2 * std::uint64_t{elements.degree};
    first.modulus = arith::primes_below(static_cast<std::uint64_t>(std::exp2(bits)), order, 1).front();
    first.root = arith::minimal_primitive_root(order, arith::Modulus(first.modulus));
    const auto context = rlwe::Context::make(parameters_of(*object, {}), tests::device());
    const BootstrapSettings settings{
        .slots = 8, .budget_encode = 1, .budget_decode = 1, .encodes_slots = false};
    for (const std::uint32_t factor : {0U, 1U}) {
      const auto make = [&] { Bootstrapper(context, *object, settings, factor, GiantSteps::own_keys); };
      if (factor < degree) {
        EXPECT_THROW(make(), ParameterError) << bits_above << " " << factor;
      } else {
        EXPECT_NO_THROW(make()) << bits_above << " " << factor;
      }
    }
  }
}

TEST(OpenFheBootstrapErrors, SayWhatIsMissing) {
  Session session(test::get("ckks-bootstrap", "cryptocontext.bin"), tests::device());
  const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
  const ckks::Encoder encoder(session.context());
  const auto encrypted = [&](std::size_t slots, std::size_t level) {
    const std::vector<std::complex<double>> values(slots);
    return ckks::encrypt(encoder.encode(values, {}, level), secret);
  };
  EXPECT_THROW(static_cast<void>(session.bootstrap(encrypted(16, 1))), ParameterError);  // set up for 8
  EXPECT_THROW(static_cast<void>(session.bootstrap(encrypted(8, 1))), MissingKeyError);
  EXPECT_THROW(static_cast<void>(session.bootstrap(encrypted(8, 0))), LevelError);
  // Keys of the pair, but not of its bootstrapping; those of another are refused when they are loaded.
  auto file =
      from_secret_key(secret, {read_file<std::shared_ptr<CryptoContext>>(session.dump_context()), "a"});
  static_cast<void>(session.load_secret_key(write_file(file, Format::binary)));
  const auto keys = rlwe::generate_keys(secret, {.rotations = {1, 2}, .conjugation = true});
  const KeyFiles files = session.dump_keys(keys);
  session.load_keys(files.sources());
  EXPECT_THROW(static_cast<void>(session.bootstrap(encrypted(8, 1))), MissingKeyError);
  file->header.tag = "b";
  Session other(write_file(file, Format::binary));
  EXPECT_THROW(other.load_keys(files.sources()), MismatchError);
}

}  // namespace
}  // namespace hemera::interop::openfhe
