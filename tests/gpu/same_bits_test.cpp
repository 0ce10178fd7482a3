// A context on the device beside one on the CPU: objects travel as bytes, and operations give the same bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/bootstrap/integer_bootstrap.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/key_maker.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/rlwe/turned_product.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "refusals.hpp"
#include "scalar_of.hpp"
#include "test_device.hpp"

namespace hemera::testing {
namespace {

using any_scheme::decrypt;
using any_scheme::encrypt;
using any_scheme::make_evaluator;
using rlwe::Ciphertext;
using rlwe::Plaintext;
using rlwe::Scheme;
using Complex = std::complex<double>;
using Bytes = std::vector<std::byte>;

struct Setting {
  std::string name;
  rlwe::Parameters parameters;
  rlwe::Storage storage = rlwe::Storage::eight_byte;
  rlwe::KeyPlace keys = rlwe::KeyPlace::device;

  friend std::ostream& operator<<(std::ostream& stream, const Setting& value) { return stream << value.name; }
};

// Primes that are 1 modulo 2^32, which have an arithmetic of their own.
rlwe::ParametersLiteral with_primes_for_montgomery(rlwe::ParametersLiteral literal) {
  const std::uint64_t order = std::uint64_t{1} << 32;
  const auto fresh = arith::primes_below(std::uint64_t{1} << 58, order, literal.levels.back().size() + 4);
  std::map<std::uint64_t, std::uint64_t> replaced;
  const auto replace = [&](std::uint64_t& prime) {
    const auto [entry, added] = replaced.try_emplace(prime, 0);
    if (added) entry->second = fresh.at(replaced.size() - 1);
    prime = entry->second;
  };
  for (auto& level : literal.levels) {
    for (std::uint64_t& prime : level) replace(prime);
  }
  for (std::uint64_t& prime : literal.special_primes) replace(prime);
  literal.digits.clear();
  literal.roots.clear();
  return literal;
}

std::vector<Setting> settings() {
  std::vector<Setting> result;
  for (const int bits : {45, 58}) {
    const std::string size = std::to_string(bits) + "_bits";
    const auto ckks = ckks::parameters_from_bits({.degree = 2048,
                                                  .prime_bits = std::vector<int>(5, bits),
                                                  .special_bits = {bits + 1, bits + 1},
                                                  .scale = std::ldexp(1.0, bits - 8),
                                                  .digits = 3,
                                                  .security = std::nullopt});
    result.push_back({"ckks_" + size, ckks});
    integer::ChainRequest chain{.degree = 1024,
                                .plain_modulus = 65537,
                                .prime_bits = std::vector<int>(4, bits),
                                .special_bits = {bits + 1},
                                .digits = 4,
                                .security = std::nullopt};
    const auto bfv = bfv::parameters_from_bits(chain);
    for (const auto& [name, variant] : {std::pair{"behz", rlwe::BfvMultiplication::behz},
                                        {"hps", rlwe::BfvMultiplication::hps},
                                        {"hps_over_q", rlwe::BfvMultiplication::hps_over_q}}) {
      auto literal = bfv.literal();
      literal.bfv_multiplication = variant;
      result.push_back({"bfv_" + std::string(name) + "_" + size, rlwe::Parameters(literal)});
    }
    result.push_back({"bgv_" + size, bgv::parameters_from_bits(chain)});
  }
  auto literal = result.front().parameters.literal();
  // Another party's choices: generator 3, windows of bits, manual rescaling.
  literal.galois_generator = 3;
  literal.digits.clear();
  literal.special_primes.clear();
  literal.roots.clear();
  literal.window_bits = 15;
  literal.rescaling = rlwe::RescalingPolicy::manual(literal.scheme);
  result.push_back({"ckks_windows", rlwe::Parameters(literal)});
  for (const std::size_t index : {std::size_t{5}, std::size_t{6}, std::size_t{9}}) {
    const Setting& base = result.at(index);
    result.push_back({base.name.substr(0, base.name.find("_58")) + "_montgomery",
                      rlwe::Parameters(with_primes_for_montgomery(base.parameters.literal()))});
  }
  for (const std::size_t index : {std::size_t{0}, std::size_t{3}, std::size_t{4}, std::size_t{10}}) {
    const Setting& base = result.at(index);
    result.push_back({base.name + "_packed", base.parameters, rlwe::Storage::packed});
  }
  result.push_back({result.front().name + "_packed_on_host", result.front().parameters, rlwe::Storage::packed,
                    rlwe::KeyPlace::host});
  result.push_back({result.at(6).name + "_on_host", result.at(6).parameters, rlwe::Storage::eight_byte,
                    rlwe::KeyPlace::host});
  return result;
}

// One scheme's functions under one name.
Plaintext encode(const std::shared_ptr<const rlwe::Context>& context, std::size_t batch, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  if (context->scheme() == Scheme::ckks) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<Complex> values(batch * context->degree() / 2);
    for (Complex& value : values) value = {uniform(random), uniform(random)};
    return ckks::Encoder(context).encode(values, {batch});
  }
  std::vector<std::int64_t> values(batch * context->degree());
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % 65537);
  return integer::Encoder(context).encode(values, {batch});
}

// Values as complex numbers, whatever the scheme.
std::vector<Complex> decode(const Plaintext& plaintext) {
  if (plaintext.context->scheme() == Scheme::ckks) return ckks::Encoder(plaintext.context).decode(plaintext);
  std::vector<Complex> result;
  for (const std::int64_t value : integer::Encoder(plaintext.context).decode(plaintext, false)) {
    result.emplace_back(static_cast<double>(value));
  }
  return result;
}

// One side: everything in one context.
struct Side {
  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  std::unique_ptr<rlwe::Evaluator> evaluator;
  Plaintext plain;
  Ciphertext x;  // a batch
  Ciphertext y;  // a single one, which broadcasts

  [[nodiscard]] Ciphertext level_with(const Ciphertext& a) const {
    Ciphertext b = y.clone();
    if (b.meta.level != a.meta.level) evaluator->drop_to_level_inplace(b, a.meta.level);
    return b;
  }
};

using Operation = std::function<Ciphertext(const Side&)>;

std::vector<std::pair<std::string, Operation>> operations(const rlwe::Parameters& parameters) {
  const bool manual = parameters.rescaling().rescale_by == rlwe::RescaleBy::caller;
  std::vector<std::pair<std::string, Operation>> list = {
      {"add", [](const Side& s) { return s.evaluator->add(s.x, s.y); }},
      {"subtract", [](const Side& s) { return s.evaluator->subtract(s.y, s.x); }},
      {"negate", [](const Side& s) { return s.evaluator->negate(s.x); }},
      {"add plain", [](const Side& s) { return s.evaluator->add_plain(s.x, s.plain); }},
      {"subtract plain", [](const Side& s) { return s.evaluator->subtract_plain(s.x, s.plain); }},
      {"multiply plain", [](const Side& s) { return s.evaluator->multiply_plain(s.x, s.plain); }},
      {"add scalar",
       [](const Side& s) {
         return s.evaluator->add_scalar(s.x, scalar_of(*s.evaluator, {0.5, 0.25}, -3));
       }},
      {"multiply scalar",
       [](const Side& s) {
         return s.evaluator->multiply_scalar(s.x, scalar_of(*s.evaluator, {0.5, -0.25}, 12345));
       }},
      {"multiply", [](const Side& s) { return s.evaluator->multiply(s.x, s.y); }},
      {"square", [](const Side& s) { return s.evaluator->square(s.x); }},
      {"inner product",
       [](const Side& s) {
         const std::vector<const Ciphertext*> a = {&s.x, &s.y, &s.x}, b = {&s.y, &s.y, &s.x};
         return s.evaluator->dot(a, b);
       }},
      {"inner product with plaintexts",
       [](const Side& s) {
         const std::vector<const Ciphertext*> a = {&s.x, &s.y};
         const std::vector<const Plaintext*> b = {&s.plain, &s.plain};
         return s.evaluator->dot(a, b);
       }},
      {"rescale",
       [](const Side& s) { return s.evaluator->rescale(s.evaluator->multiply_plain(s.x, s.plain)); }},
      {"rotate", [](const Side& s) { return s.evaluator->rotate(s.x, 1); }},
      {"rotate by -5", [](const Side& s) { return s.evaluator->rotate(s.x, -5); }},
      {"hoisted rotation",
       [](const Side& s) {
         const std::vector<std::int64_t> steps = {1, -5};
         return std::move(s.evaluator->rotate_hoisted(s.x, steps).at(1));
       }},
      {"conjugate", [](const Side& s) { return s.evaluator->conjugate(s.x); }},
      {"drop to the last level",
       [](const Side& s) {
         Ciphertext a = s.x.clone();
         s.evaluator->drop_to_level_inplace(a, 0);
         return a;
       }},
      {"rotation at a lower level",
       [](const Side& s) {
         Ciphertext a = s.x.clone();
         s.evaluator->drop_to_level_inplace(a, 1);
         return s.evaluator->rotate(a, 1);
       }},
      {"concatenate",
       [](const Side& s) {
         return rlwe::concatenate({&s.x, &s.x});
       }},
      {"take", [](const Side& s) { return rlwe::take(s.x, 1); }},
  };
  if (!manual) {
    list.emplace_back("product of products", [](const Side& s) {
      const Ciphertext a = s.evaluator->multiply(s.x, s.y);
      return s.evaluator->multiply(a, s.evaluator->add(a, s.x));
    });
    list.emplace_back("shrink", [](const Side& s) { return s.evaluator->shrink(s.evaluator->square(s.x)); });
  }
  return list;
}

class SameBits : public ::testing::TestWithParam<Setting> {};

TEST_P(SameBits, OnTheDeviceAndOnTheCpu) {
  const rlwe::Parameters& parameters = GetParam().parameters;
  Side there{.context = tests::make_context(parameters, 0, GetParam().storage, GetParam().keys),
             .secret = {},
             .evaluator = {},
             .plain = {},
             .x = {},
             .y = {}};
  Side here{.context = rlwe::Context::make(parameters, {}, {.threads = 1}),
            .secret = {},
            .evaluator = {},
            .plain = {},
            .x = {},
            .y = {}};
  ASSERT_EQ(there.context->backend().device(), tests::device());

  // Keys are made on the device and work on the CPU.
  there.secret = rlwe::generate_secret_key(there.context);
  const rlwe::EvaluationKeys keys =
      rlwe::generate_keys(there.secret, {.rotations = {1, -5}, .conjugation = true});
  if (GetParam().storage == rlwe::Storage::packed) {
    EXPECT_EQ(there.context->key_word(), poly::Word::u50);
    const std::size_t words = parameters.switching_key_bytes() / sizeof(std::uint64_t);
    EXPECT_EQ(keys.memory_bytes(), keys.public_key->poly.bytes() + 4 * (words / 4 * 25))
        << "relinearization, 3 rotations";
  }
  if (GetParam().keys == rlwe::KeyPlace::host) {
    ASSERT_TRUE(there.context->keys_on_host());
    EXPECT_GE(there.context->key_memory()->used(), keys.memory_bytes() - keys.public_key->poly.bytes());
    EXPECT_LT(there.context->memory_used(), keys.memory_bytes()) << "the device's";
  }
  here.secret = io::load_secret_key(here.context, io::save(there.secret));
  const Bytes key_bytes = io::save(keys);
  const rlwe::EvaluationKeys keys_here = io::load_evaluation_keys(here.context, key_bytes);
  EXPECT_TRUE(io::save(keys_here) == key_bytes) << "evaluation keys";
  // Seeds expand to the same uniform halves.
  const io::SaveOptions whole{.seeded = false};
  EXPECT_TRUE(io::save(keys_here, whole) == io::save(keys, whole)) << "uniform halves of the keys";
  there.evaluator = make_evaluator(there.context, keys);
  here.evaluator = make_evaluator(here.context, keys_here);

  there.plain = encode(there.context, 1, 1);
  here.plain = encode(here.context, 1, 1);
  EXPECT_TRUE(io::save(there.plain) == io::save(here.plain)) << "encode";

  // x is encrypted on the device, y on the CPU.
  const Plaintext x = encode(there.context, 3, 2);
  EXPECT_TRUE(io::save(x) == io::save(encode(here.context, 3, 2))) << "encode a batch";
  there.x = encrypt(x, *keys.public_key);
  here.x = io::load_ciphertext(here.context, io::save(there.x));
  here.y = encrypt(here.plain, here.secret);
  there.y = io::load_ciphertext(there.context, io::save(here.y));
  EXPECT_TRUE(io::save(here.y, whole) == io::save(there.y, whole)) << "uniform half of a ciphertext";
  const double tolerance = parameters.scheme() == Scheme::ckks ? 0x1p-16 : 0;
  const auto expect_values = [&](const Ciphertext& ciphertext, const rlwe::SecretKey& secret,
                                 const Plaintext& plain) {
    const auto values = decode(decrypt(ciphertext, secret));
    const auto wanted = decode(plain);
    ASSERT_EQ(values.size(), wanted.size());
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      largest = std::max(largest, std::abs(values[i] - wanted[i]));
    EXPECT_LE(largest, tolerance);
  };
  expect_values(there.x, there.secret, x);
  expect_values(here.x, here.secret, encode(here.context, 3, 2));
  expect_values(there.y, there.secret, there.plain);
  expect_values(encrypt(x, there.secret), there.secret, x);

  for (const auto& [name, run] : operations(parameters)) {
    SCOPED_TRACE(name);
    const Ciphertext a = run(there);
    const Ciphertext b = run(here);
    EXPECT_EQ(a.meta.level, b.meta.level);
    EXPECT_TRUE(io::save(a) == io::save(b)) << name << " gives other bits on " << tests::device().name();
    EXPECT_TRUE(io::save(decrypt(a, there.secret)) == io::save(decrypt(b, here.secret))) << "decryption";
  }
  if (parameters.scheme() != Scheme::ckks) return;
  // The noise comes from the key and the ciphertext, not from the device.
  const auto shared = [](const Side& side) {
    return io::save(ckks::decrypt_for_sharing(side.x, side.secret, 0x1p-30, 10));
  };
  EXPECT_TRUE(shared(there) == shared(here)) << "decryption for sharing";
}

// All of a bootstrap's steps, and the graph that is made of them. `count`: a batch, or 0. `uploaded`: of all
// keys' bytes, those that the plan's keys may be.
void expect_bootstrap_bits(circuits::BootstrapOptions options, std::size_t count,
                           const std::string& preset = "test-40", double uploaded = 1) {
  circuits::BootstrapSettings settings = circuits::bootstrap_preset(preset);
  settings.degree = 1024;
  settings.levels = 2;
  settings.digits = 1;
  const rlwe::Parameters parameters = circuits::parameters_for_bootstrapping(settings);
  const circuits::Bootstrap whole(parameters, options);
  const auto bytes = static_cast<double>(circuits::upload_bytes(parameters.degree(), whole.needed_keys()));
  options.upload_limit = static_cast<std::size_t>(uploaded * bytes);
  const circuits::Bootstrap plan(parameters, options);
  const auto there = tests::make_context(parameters);
  const auto here = rlwe::Context::make(parameters, {}, {.threads = 1});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(there);
  const rlwe::EvaluationKeys keys = plan.generate_keys(secret);
  const ckks::Evaluator evaluator(there, keys);
  const ckks::Evaluator evaluator_here(here, io::load_evaluation_keys(here, io::save(keys)));
  const circuits::PreparedBootstrap bootstrap(there, plan), bootstrap_here(here, plan);
  const std::vector<Complex> few = {{0.5, 1}, {-1, 0.25}, {0, -0.75}, {1, 1}};
  std::vector<Complex> row = few;
  while (row.size() < options.slots) row.insert(row.end(), few.begin(), few.end());
  std::vector<Complex> values = row;
  for (std::size_t i = 1; i < count; ++i) values.insert(values.begin(), row.begin(), row.end());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] /= static_cast<double>(1 + i / row.size());
  const rlwe::BatchShape batch = count == 0 ? rlwe::BatchShape{} : rlwe::BatchShape{count};
  const Ciphertext x = ckks::encrypt(ckks::Encoder(there).encode(values, batch, plan.input_level()), secret);
  const Bytes expected = io::save(bootstrap_here(evaluator_here, io::load_ciphertext(here, io::save(x))));
  const Ciphertext eager = bootstrap(evaluator, x);
  EXPECT_TRUE(io::save(eager) == expected);
  const auto found = ckks::Encoder(there).decode(ckks::decrypt(eager, secret));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double angle = 2 * std::numbers::pi * values[i].real() / plan.ratio();
    const Complex wanted = plan.is_exponential() ? std::polar(1.0, angle) : values[i];
    EXPECT_LT(std::abs(found[i] - wanted), 0x1p-18);
  }
  if (!there->backend().records()) return;
  std::optional<Ciphertext> out;
  const auto recording =
      there->backend().record(there->queue(), [&] { out.emplace(bootstrap(evaluator, x)); });
  recording->replay(there->queue());
  EXPECT_TRUE(io::save(*out) == expected) << "captured";
  // The first product encodes i; those that follow upload nothing.
  const auto turned = [&] { return evaluator.multiply_scalar(x, {2, -3}); };
  const Bytes product = io::save(turned());
  there->backend().record(there->queue(), [&] { out.emplace(turned()); })->replay(there->queue());
  EXPECT_TRUE(io::save(*out) == product) << "captured product by 2 - 3i";
}

TEST(SchemesOnDevices, BootstrapsHaveTheBitsOfTheCpuAlsoCaptured) {
  expect_bootstrap_bits({.slots = 4}, 0);
  expect_bootstrap_bits({.slots = 64}, 0, "test-40", 0.4);  // chains by few keys, with turns that are owed
}

// Four elements in two groups, interleaved and taken apart.
TEST(SchemesOnDevices, BootstrapsOfSeveralHaveTheBitsOfTheCpuAlsoCaptured) {
  expect_bootstrap_bits({.slots = 4, .together = 3}, 4);
}

// Complex slots have both parts side by side; elements of a batch are those of their own.
TEST(SchemesOnDevices, BootstrapsByRootsOfUnityHaveTheBitsOfTheCpuAlsoCaptured) {
  expect_bootstrap_bits({.slots = 4}, 2, "test-few");
  expect_bootstrap_bits({.slots = 4, .real = true}, 2, "test-exact-few");
}

TEST(SchemesOnDevices, BootstrapsFromCoefficientsHaveTheBitsOfTheCpu) {
  circuits::BootstrapSettings settings = circuits::bootstrap_preset("test-40");
  settings.degree = 1024;
  settings.levels = 2;
  settings.digits = 1;
  settings.order = circuits::BootstrapOrder::from_coefficients;
  settings.slots_to_coefficients = {};
  settings.last_bits = 52;
  const rlwe::Parameters parameters = circuits::parameters_for_bootstrapping(settings);
  const circuits::Bootstrap plan(parameters);
  const auto there = tests::make_context(parameters);
  const auto here = rlwe::Context::make(parameters, {}, {.threads = 1});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(there);
  const rlwe::EvaluationKeys keys = plan.generate_keys(secret);
  const ckks::Evaluator evaluator(there, keys);
  const ckks::Evaluator evaluator_here(here, io::load_evaluation_keys(here, io::save(keys)));
  const double scale = there->scales().level_scale(0);
  std::vector<std::int64_t> integers;
  for (int i = 0; i < 2 * 1000; ++i) integers.push_back(std::llround(scale * std::sin(i)));
  for (const std::size_t level : {0, 2}) {
    const auto encoded = [&](const auto& context) {
      return io::save(ckks::Encoder(context).encode_coefficients(integers, 1000, {2}, level, scale));
    };
    EXPECT_TRUE(encoded(there) == encoded(here));
  }
  const Ciphertext x =
      ckks::encrypt(ckks::Encoder(there).encode_coefficients(integers, 1000, {2}, 0, scale), secret);
  const circuits::PreparedBootstrap bootstrap(there, plan), bootstrap_here(here, plan);
  const Bytes expected = io::save(bootstrap_here(evaluator_here, io::load_ciphertext(here, io::save(x))));
  EXPECT_TRUE(io::save(bootstrap(evaluator, x)) == expected);
}

// The circuit's context shares ring, backend and queue with that of BFV or BGV.
TEST(SchemesOnDevices, ExactBootstrapsHaveTheBitsOfTheCpuAlsoCaptured) {
  circuits::BootstrapSettings settings = circuits::integer_bootstrap_preset("bfv11-test");
  settings.degree = 1024;
  for (const Scheme scheme : {Scheme::bfv, Scheme::bgv}) {
    const rlwe::Parameters parameters = circuits::parameters_for_bootstrapping(scheme, 65537, settings);
    const circuits::IntegerBootstrap plan(parameters, {.passes = 1});
    const auto there = tests::make_context(parameters);
    const auto here = rlwe::Context::make(parameters, {}, {.threads = 1});
    const rlwe::SecretKey secret = rlwe::generate_secret_key(there);
    const rlwe::EvaluationKeys keys = plan.generate_keys(secret);
    const auto evaluator = make_evaluator(there, keys);
    const auto evaluator_here = make_evaluator(here, io::load_evaluation_keys(here, io::save(keys)));
    const auto exact = [](const rlwe::Evaluator& any) -> const integer::Evaluator& {
      return dynamic_cast<const integer::Evaluator&>(any);
    };
    const circuits::PreparedIntegerBootstrap bootstrap(there, plan), bootstrap_here(here, plan);
    const integer::Encoder encoder(there);
    const std::vector<std::int64_t> values = {0, 1, 65536, -1, 12345};
    const Ciphertext x = encrypt(encoder.encode(values, {}, rlwe::Encoding::coefficients), secret);
    const Bytes expected =
        io::save(bootstrap_here(exact(*evaluator_here), io::load_ciphertext(here, io::save(x))));
    const Ciphertext eager = bootstrap(exact(*evaluator), x);
    EXPECT_TRUE(io::save(eager) == expected) << rlwe::name(scheme);
    EXPECT_EQ(encoder.decode(decrypt(eager, secret)), (std::vector<std::int64_t>{0, 1, -1, -1, 12345}));
    if (!there->backend().records()) continue;
    std::optional<Ciphertext> out;
    const auto recording =
        there->backend().record(there->queue(), [&] { out.emplace(bootstrap(exact(*evaluator), x)); });
    recording->replay(there->queue());
    EXPECT_TRUE(io::save(*out) == expected) << "captured";
  }
}

// Matrices read their keys in a kernel of their own; plans count what keys take.
TEST(SchemesOnDevices, MatricesWithPackedKeysHaveTheBitsOfTheCpu) {
  const rlwe::Parameters parameters = settings().front().parameters;
  constexpr std::size_t slots = 64;
  circuits::Diagonals diagonals;
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < slots; ++j) {
      diagonals[i].emplace_back(1.0 / static_cast<double>(1 + i + j), 0.25 * static_cast<double>(i % 3));
    }
  }
  const circuits::LinearTransform plan(parameters, diagonals, slots);
  const auto there = tests::make_context(parameters, 0, rlwe::Storage::packed);
  const auto here = rlwe::Context::make(parameters, {}, {.threads = 1});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(there);
  const rlwe::EvaluationKeys keys = plan.generate_keys(secret);
  EXPECT_EQ(keys.memory_bytes(), plan.cost().key_bytes / 32 * 25);
  const rlwe::EvaluationKeys keys_here = io::load_evaluation_keys(here, io::save(keys));
  const ckks::Evaluator evaluator(there, keys), evaluator_here(here, keys_here);
  const std::size_t before = there->key_memory()->used();
  const circuits::PreparedLinearTransform matrix(there, plan), matrix_here(here, plan);
  EXPECT_GE(there->key_memory()->used() - before, plan.cost().plaintext_bytes);
  const std::vector<Complex> values(slots, {0.5, -0.25});
  const Ciphertext x = ckks::encrypt(ckks::Encoder(there).encode(values, {}), secret);
  const Ciphertext product = matrix(evaluator, x);
  EXPECT_TRUE(io::save(product) ==
              io::save(matrix_here(evaluator_here, io::load_ciphertext(here, io::save(x)))));

  // From the CPU, and between contexts that store keys in different words.
  const auto wide = tests::make_context(parameters);
  const io::SaveOptions whole{.seeded = false};
  EXPECT_TRUE(io::save(rlwe::copy_to(there, keys_here), whole) == io::save(keys, whole));
  EXPECT_TRUE(io::save(rlwe::copy_to(here, keys), whole) == io::save(keys, whole));
  const rlwe::EvaluationKeys copied = rlwe::copy_to(wide, keys);
  EXPECT_EQ(copied.memory_bytes(), plan.cost().key_bytes);
  EXPECT_TRUE(io::save(copied, whole) == io::save(keys, whole));

  // Room for the keys packed, but not in eight.
  const std::size_t limit =
      tests::make_context(parameters)->memory_used() + plan.memory_bytes() - plan.cost().key_bytes / 8;
  const auto make = [&](rlwe::Storage storage) {
    return rlwe::Context::make(parameters, tests::device(), {.memory_limit = limit, .storage = storage});
  };
  EXPECT_NO_THROW(plan.require_memory(*make(rlwe::Storage::packed)));
  EXPECT_THROW(plan.require_memory(*make(rlwe::Storage::eight_byte)), OutOfMemoryError);
}

// A plan whose keys the device has no room for; alone and captured.
TEST(SchemesOnDevices, MatricesWithKeysOnTheHostHaveTheBitsOfTheCpu) {
  const rlwe::Parameters parameters = settings().front().parameters;
  constexpr std::size_t slots = 64;
  circuits::Diagonals diagonals;
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < slots; ++j)
      diagonals[i].emplace_back(1.0 / static_cast<double>(1 + i + j), 0.5);
  }
  const circuits::LinearTransform plan(parameters, diagonals, slots);
  // What a context has from the beginning, a key that is made or loaded, and what is encrypted.
  const std::size_t limit = tests::make_context(parameters)->memory_used() + plan.cost().workspace_bytes +
                            3 * parameters.switching_key_bytes();
  ASSERT_GT(plan.cost().key_bytes, 4 * parameters.switching_key_bytes());
  const auto make = [&](rlwe::KeyPlace keys) {
    return rlwe::Context::make(parameters, tests::device(), {.memory_limit = limit, .keys = keys});
  };
  try {
    plan.require_memory(*make(rlwe::KeyPlace::device));
    FAIL() << "there is no room for the keys";
  } catch (const OutOfMemoryError& error) {
    const std::string text = error.what();
    const std::size_t rest = plan.memory_bytes() - plan.cost().key_bytes;
    EXPECT_TRUE(tests::says(text, "with keys on the host " + std::to_string(plan.cost().workspace_bytes) +
                                      " bytes of the device, and " +
                                      std::to_string(plan.cost().key_bytes + plan.cost().plaintext_bytes) +
                                      " of the host's memory"));
    EXPECT_TRUE(
        tests::says(text, "with packed storage " + std::to_string(rest + plan.cost().key_bytes / 32 * 25)));
  }
  const auto there = make(rlwe::KeyPlace::host);
  const auto here = rlwe::Context::make(parameters, {}, {.threads = 1});
  EXPECT_NO_THROW(plan.require_memory(*there));
  const rlwe::SecretKey secret = rlwe::generate_secret_key(there);
  const rlwe::EvaluationKeys keys = plan.generate_keys(secret);
  EXPECT_GE(there->key_memory()->used(), plan.cost().key_bytes);
  const rlwe::EvaluationKeys keys_here = io::load_evaluation_keys(here, io::save(keys));
  const ckks::Evaluator evaluator(there, keys), evaluator_here(here, keys_here);
  const std::size_t before = there->key_memory()->used();
  const circuits::PreparedLinearTransform matrix(there, plan), matrix_here(here, plan);
  EXPECT_GE(there->key_memory()->used() - before, plan.cost().plaintext_bytes);
  const std::vector<Complex> values(slots, {0.5, -0.25});
  const Ciphertext x = ckks::encrypt(ckks::Encoder(there).encode(values, {}), secret);
  const Bytes expected = io::save(matrix_here(evaluator_here, io::load_ciphertext(here, io::save(x))));
  EXPECT_TRUE(io::save(matrix(evaluator, x)) == expected);

  // A graph has scratch of its own, and keeps the keys that it reads.
  const auto wide = tests::make_context(parameters, 0, rlwe::Storage::eight_byte, rlwe::KeyPlace::host);
  if (wide->backend().records()) {
    const circuits::PreparedLinearTransform matrix_wide(wide, plan);
    const Ciphertext x_wide = rlwe::copy_to(wide, x);
    std::optional<Ciphertext> out;
    std::unique_ptr<poly::Backend::Recording> recording;
    {
      const ckks::Evaluator evaluator_wide(wide, rlwe::copy_to(wide, keys));
      static_cast<void>(matrix_wide(evaluator_wide, x_wide));  // makes the tables
      recording =
          wide->backend().record(wide->queue(), [&] { out.emplace(matrix_wide(evaluator_wide, x_wide)); });
    }
    EXPECT_GE(wide->key_memory()->used(), plan.cost().key_bytes) << "the keys are gone";
    const rlwe::EvaluationKeys others = rlwe::copy_to(wide, keys);  // not in their place
    recording->replay(wide->queue());
    EXPECT_TRUE(io::save(*out) == expected) << "captured";
    recording.reset();
    EXPECT_LT(wide->key_memory()->used(), 2 * plan.cost().key_bytes) << "the graph's keys are still there";
  }

  // From the CPU, to it, and to a context that keeps keys on the device.
  const io::SaveOptions whole{.seeded = false};
  EXPECT_TRUE(io::save(rlwe::copy_to(there, keys_here), whole) == io::save(keys, whole));
  EXPECT_TRUE(io::save(rlwe::copy_to(here, keys), whole) == io::save(keys, whole));
  const auto other = tests::make_context(parameters);
  EXPECT_FALSE(other->keys_on_host());
  EXPECT_TRUE(io::save(rlwe::copy_to(other, keys), whole) == io::save(keys, whole));
}

TEST(SchemesOnDevices, KeysOnTheHostAreAsOnTheDeviceOnACpu) {
  const auto context = rlwe::Context::make(settings().front().parameters, {}, {.keys = rlwe::KeyPlace::host});
  EXPECT_FALSE(context->keys_on_host());
  EXPECT_EQ(context->key_memory(), context->memory());
}

TEST(SchemesOnDevices, PackedStorageRefusesLargerPrimes) {
  const rlwe::Parameters parameters = ckks::parameters_from_bits({.degree = 1024,
                                                                  .prime_bits = {50, 50},
                                                                  .special_bits = {51},
                                                                  .scale = 0x1p36,
                                                                  .security = std::nullopt});
  EXPECT_THROW(tests::make_context(parameters, 0, rlwe::Storage::packed), ParameterError);
  EXPECT_THROW(rlwe::Context::make(parameters, {}, {.storage = rlwe::Storage::packed}), ParameterError);
  EXPECT_EQ(tests::make_context(parameters)->key_word(), poly::Word::u64);
}

// Keys of circuits' own gadgets alone, in large rings.
TEST(SchemesOnDevices, KeysOfMatricesArePackedByThemselves) {
  for (const std::size_t degree : {std::size_t{1} << 14, std::size_t{1} << 15}) {
    const rlwe::Parameters parameters = ckks::parameters_from_bits({.degree = degree,
                                                                    .prime_bits = {50, 40},
                                                                    .special_bits = {50, 49},
                                                                    .scale = 0x1p40,
                                                                    .security = std::nullopt});
    const rlwe::GadgetPrimes usual = parameters.default_gadget(1);
    rlwe::GadgetPrimes own = usual;
    own.special.pop_back();
    own.digits = {{own.base[0]}, {own.base[1]}};
    for (const rlwe::Storage storage :
         {rlwe::Storage::eight_byte, rlwe::Storage::automatic, rlwe::Storage::packed}) {
      const auto context = tests::make_context(parameters, 0, storage);
      const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
      const auto galois = rlwe::KeyRole::galois(5), turned = rlwe::KeyRole::turned_product(5);
      const auto made = [&](const rlwe::KeyRole& role, const rlwe::GadgetPrimes& gadget) {
        rlwe::EvaluationKeys keys;
        keys.context = context;
        const auto primes = context->gadget(gadget);
        keys.add(role,
                 std::make_shared<const rlwe::SwitchingKey>(rlwe::KeyMaker(secret, role, primes).key()));
        return keys.find(role, gadget);
      };
      const bool stores = context->backend().stores(poly::Word::u50);
      const auto packed = [&](bool packs) { return packs && stores ? poly::Word::u50 : poly::Word::u64; };
      const bool all = storage == rlwe::Storage::packed;
      const bool matrices = all || (storage == rlwe::Storage::automatic && degree == std::size_t{1} << 15);
      EXPECT_EQ(made(galois, usual)->poly.word(), packed(all));
      EXPECT_EQ(made(rlwe::KeyRole::relinearization(), own)->poly.word(), packed(all));
      // One operation reads both of these.
      const auto of_image = made(galois, own), of_product = made(turned, own);
      EXPECT_EQ(of_image->poly.word(), packed(matrices));
      EXPECT_EQ(of_product->poly.word(), packed(matrices));
      const ckks::Encoder encoder(context);
      const Ciphertext x = ckks::encrypt(encoder.encode(std::vector<Complex>(degree / 2, 0.5), {}), secret);
      rlwe::Metadata meta = x.meta;
      meta.scale = x.meta.scale * x.meta.scale;
      const rlwe::ExtendedCiphertext product =
          rlwe::multiply_turned(context, x.poly.view(), meta, 5, {of_image.get(), of_product.get()});
      for (const Complex& slot : encoder.decode(ckks::decrypt(rlwe::mod_down(product), secret))) {
        ASSERT_NEAR(slot.real(), 0.25, 0x1p-20);
      }
    }
    if (!tests::make_context(parameters)->backend().stores(poly::Word::u50)) continue;
    // Plans count the bytes that there will be.
    constexpr std::size_t slots = 64;
    const std::vector<Complex> ones(slots, 1);
    const circuits::LinearTransform plan(parameters, {{0, ones}, {1, ones}, {2, ones}}, slots,
                                         {.gadget = own});
    const std::size_t limit =
        tests::make_context(parameters)->memory_used() + plan.memory_bytes() - plan.cost().key_bytes / 8;
    const auto require = [&](rlwe::Storage storage) {
      plan.require_memory(
          *rlwe::Context::make(parameters, tests::device(), {.memory_limit = limit, .storage = storage}));
    };
    EXPECT_THROW(require(rlwe::Storage::eight_byte), OutOfMemoryError);
    if (degree == std::size_t{1} << 15) {
      EXPECT_NO_THROW(require(rlwe::Storage::automatic));
    } else {
      EXPECT_THROW(require(rlwe::Storage::automatic), OutOfMemoryError);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, SameBits, ::testing::ValuesIn(settings()),
                         [](const ::testing::TestParamInfo<Setting>& entry) { return entry.param.name; });

}  // namespace
}  // namespace hemera::testing
