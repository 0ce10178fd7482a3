// What OpenFHE's bootstraps keep of a ciphertext.
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
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
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
