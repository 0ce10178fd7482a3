// Bootstraps by OpenFHE's plan: values, levels, rotations and work.
#include "interop/openfhe/bootstrap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "interop/openfhe/bootstrap_support.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe::bootstraps {
namespace {

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
  if (tested.secret == SecretType::sparse_encapsulated) test::add_encapsulation_keys(keys, secret);
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
  // Twelve switches are for products of each part's sine, of which the last ones are joined.
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

}  // namespace
}  // namespace hemera::interop::openfhe::bootstraps
