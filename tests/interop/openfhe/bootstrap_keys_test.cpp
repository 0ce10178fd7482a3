// Keys of OpenFHE's bootstraps, those that are needed and those that come later, and what bootstraps keep of
// a ciphertext.
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "interop/openfhe/bootstrap.hpp"
#include "interop/openfhe/bootstrap_support.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "member_count.hpp"
#include "rlwe/metadata_fields.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe::bootstraps {
namespace {

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
    // With the keys of the other version as well.
    load(session, secret, is_newer ? older_ : newer_);
    expect_values(secret, session.bootstrap(in), [](double x) { return x; });
    expect_values(secret, session.bootstrap(in, 2, 8), [](double x) { return x; });
  }
}

// The keys that a bootstrap says it needs are enough, and without any of them it can not be.
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
    if (is_encapsulated) test::add_encapsulation_keys(all, secret);
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
  test::add_encapsulation_keys(keys, secret);
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
         // A scale of its own, which OpenFHE never has: one level more brings the difference to a level's.
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
      // Fields of other schemes.
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

}  // namespace
}  // namespace hemera::interop::openfhe::bootstraps
