// What operations ask of the device, counted: no copy between upload and download, no wait, no allocation
// once the pool is warm, and as many kernels for a batch as for one.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "counted.hpp"
#include "hemera/multiparty/dealt_sums.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "scalar_of.hpp"
#include "test_device.hpp"

namespace hemera::testing {
namespace {

using emulation::Counts;
using rlwe::Ciphertext;
using rlwe::Plaintext;

struct Ckks {
  using Evaluator = ckks::Evaluator;
  static rlwe::Parameters parameters() {
    return ckks::parameters_from_bits({.degree = 1024,
                                       .prime_bits = {45, 45, 45, 45},
                                       .special_bits = {46, 46},
                                       .scale = 0x1p40,
                                       .digits = 2,
                                       .security = std::nullopt});
  }
  static Plaintext encode(const std::shared_ptr<const rlwe::Context>& context, std::size_t batch) {
    return ckks::Encoder(context).encode(std::vector<std::complex<double>>(512 * batch, 0.5), {batch});
  }
};

Plaintext encode_integers(const std::shared_ptr<const rlwe::Context>& context, std::size_t batch) {
  return integer::Encoder(context).encode(std::vector<std::int64_t>(1024 * batch, 7), {batch});
}

struct Exact {
  static integer::ChainRequest chain() {
    return {.degree = 1024,
            .plain_modulus = 65537,
            .prime_bits = {45, 45, 45, 45},
            .special_bits = {46, 46},
            .digits = 2,
            .security = std::nullopt};
  }
  static Plaintext encode(const std::shared_ptr<const rlwe::Context>& context, std::size_t batch) {
    return encode_integers(context, batch);
  }
};

struct Bfv : Exact {
  using Evaluator = bfv::Evaluator;
  static rlwe::Parameters parameters() { return bfv::parameters_from_bits(chain()); }
};

struct Bgv : Exact {
  using Evaluator = bgv::Evaluator;
  static rlwe::Parameters parameters() { return bgv::parameters_from_bits(chain()); }
};

// Nothing but kernels, and so many copies.
void expect_traffic(const Counts& counts, std::size_t to_device, std::size_t to_host, std::size_t waits) {
  EXPECT_EQ(counts.copies_to_device, to_device);
  EXPECT_EQ(counts.copies_to_host, to_host);
  EXPECT_EQ(counts.synchronizations, waits);
  EXPECT_EQ(counts.allocations, 0U);
}

template <typename Scheme>
class EmulationCountsOf : public ::testing::Test {};
using Schemes = ::testing::Types<Ckks, Bfv, Bgv>;
TYPED_TEST_SUITE(EmulationCountsOf, Schemes);

TYPED_TEST(EmulationCountsOf, OperationsStayOnTheDevice) {
  using Scheme = TypeParam;
  const auto context = tests::make_context(Scheme::parameters());
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const typename Scheme::Evaluator evaluator(
      context, rlwe::generate_keys(secret, {.rotations = {1, 2}, .conjugation = true}));
  const std::size_t top = context->top_level();

  struct Inputs {
    Plaintext plain;
    Ciphertext x, y;
  };
  const auto make_inputs = [&](std::size_t batch) {
    Inputs inputs{.plain = Scheme::encode(context, batch), .x = {}, .y = {}};
    inputs.x = any_scheme::encrypt(inputs.plain, *evaluator.keys().public_key);
    inputs.y = any_scheme::encrypt(inputs.plain, secret);
    return inputs;
  };
  const Inputs one = make_inputs(1);
  const Inputs eight = make_inputs(8);

  using Operation = std::function<void(const Inputs&)>;
  const std::vector<std::pair<std::string, Operation>> batched = {
      {"add", [&](const Inputs& in) { return evaluator.add(in.x, in.y); }},
      {"add plain", [&](const Inputs& in) { return evaluator.add_plain(in.x, in.plain); }},
      {"multiply plain", [&](const Inputs& in) { return evaluator.multiply_plain(in.x, in.plain); }},
      {"multiply scalar",
       [&](const Inputs& in) { return evaluator.multiply_scalar(in.x, scalar_of(evaluator, 0.5, 3)); }},
      {"rescale", [&](const Inputs& in) { return evaluator.rescale(in.x); }},
      {"multiply", [&](const Inputs& in) { return evaluator.multiply(in.x, in.y); }},
      {"square", [&](const Inputs& in) { return evaluator.square(in.x); }},
      {"inner product",
       [&](const Inputs& in) {
         const std::vector<const Ciphertext*> factors = {&in.x, &in.y};
         return evaluator.dot(factors, factors);
       }},
      {"inner product with plaintexts",
       [&](const Inputs& in) {
         const std::vector<const Ciphertext*> factors = {&in.x, &in.y};
         const std::vector<const Plaintext*> weights = {&in.plain, &in.plain};
         return evaluator.dot(factors, weights);
       }},
      {"rotate", [&](const Inputs& in) { return evaluator.rotate(in.x, 1); }},
      {"hoisted rotations",
       [&](const Inputs& in) {
         return evaluator.rotate_hoisted(in.x, std::vector<std::int64_t>{1, 2});
       }},
      {"conjugate", [&](const Inputs& in) { return evaluator.conjugate(in.x); }},
      {"drop to the last level",
       [&](const Inputs& in) {
         Ciphertext x = in.x.clone();
         evaluator.drop_to_level_inplace(x, 0);
       }},
      {"encrypt with the public key",
       [&](const Inputs& in) { return any_scheme::encrypt(in.plain, *evaluator.keys().public_key); }},
      {"encrypt with the secret key",
       [&](const Inputs& in) { return any_scheme::encrypt(in.plain, secret); }},
      {"decrypt", [&](const Inputs& in) { return any_scheme::decrypt(in.x, secret); }},
  };
  const std::vector<std::pair<std::string, Operation>> single = {
      {"secret key", [&](const Inputs&) { return rlwe::generate_secret_key(context); }},
      {"public key", [&](const Inputs&) { return rlwe::generate_public_key(secret); }},
      {"relinearization key", [&](const Inputs&) { return rlwe::generate_relinearization_key(secret, top); }},
      {"Galois key", [&](const Inputs&) { return rlwe::generate_galois_key(secret, 5, top); }},
  };
  const auto expect_alone = [](const Counts& counts) {
    EXPECT_GT(counts.kernels, 0U);
    expect_traffic(counts, 0, 0, 0);
  };
  for (const auto& [name, operation] : batched) {
    SCOPED_TRACE(name);
    // The first call makes plans and fills the pool.
    operation(one);
    operation(eight);
    const Counts of_one = counted([&, run = operation] { run(one); });
    const Counts of_eight = counted([&, run = operation] { run(eight); });
    expect_alone(of_one);
    expect_alone(of_eight);
    EXPECT_EQ(of_one.kernels, of_eight.kernels) << "kernels for a batch of 1 and of 8";
  }
  for (const auto& [name, operation] : single) {
    SCOPED_TRACE(name);
    operation(one);
    expect_alone(counted([&, run = operation] { run(one); }));
  }
}

// One kernel multiplies and sums as many as its parameters hold, 48.
TEST(EmulationCounts, InnerProductsTakeOneKernel) {
  const auto context = tests::make_context(Ckks::parameters());
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const ckks::Evaluator evaluator(context, rlwe::generate_keys(secret, {}));
  const Plaintext plain = Ckks::encode(context, 1);
  const Ciphertext x = any_scheme::encrypt(plain, secret);
  const auto product = counted([&] { return evaluator.multiply(x, x); });
  for (const std::size_t terms : {1, 2, 48, 49, 97}) {
    const std::vector<const Ciphertext*> factors(terms, &x);
    const std::vector<const Plaintext*> weights(terms, &plain);
    const std::size_t launches = (terms + 47) / 48;
    EXPECT_EQ(counted([&] { return evaluator.dot(factors, weights); }).kernels, launches);
    // In a product the switch makes the tensor product as well.
    EXPECT_EQ(counted([&] { return evaluator.dot(factors, factors); }).kernels, product.kernels + launches);
  }
}

// Flooding draws five layers of 32 polynomials in one kernel, and what is dealt is drawn for five
// contributors: so many polynomials, a batch of this ring, take no more than one.
TEST(EmulationCounts, KernelsOfASharesPolynomialsAreOfMany) {
  struct Case {
    multiparty::Method method;
    std::size_t contributors;
    std::size_t kernels;  // of a share, which is computed twice
    std::size_t downloads;
  };
  const multiparty::Access access(2, 2);
  const auto counts_of = [&](const Case& of, std::size_t polynomials) {
    const multiparty::Plan plan({.method = of.method,
                                 .values = 1024 * polynomials,
                                 .contributors = 10,
                                 .rounds = 10,
                                 .pieces = access.pieces(),
                                 .degree = 1024,
                                 .security = std::nullopt});
    const multiparty::Description description(access, plan, {"a", "b"}, {}, {});
    std::vector<multiparty::Contribution> list;
    for (std::size_t i = 0; i < of.contributors; ++i) list.push_back({.name = std::string(1, char('a' + i))});
    const multiparty::Transcript transcript(description, 0, 0, list);
    const std::size_t piece = access.held_by(0).front();
    multiparty::Member member(
        tests::make_context(plan.parameters()), description, 0, {multiparty::Piece::fresh(piece)},
        {[](std::uint64_t) { return std::nullopt; }, [](std::uint64_t, const multiparty::Sha256Digest&) {}});
    static_cast<void>(member.share(transcript, piece));
    return counted([&] { return member.share(transcript, piece); });
  };
  for (const Case& of :
       {Case{multiparty::Method::lattice, 5, 30, 4}, Case{multiparty::Method::lattice, 6, 34, 4},
        Case{multiparty::Method::masks, 5, 8, 2}, Case{multiparty::Method::masks, 6, 12, 2}}) {
    for (const std::size_t polynomials : {1, 32}) {
      const Counts counts = counts_of(of, polynomials);
      EXPECT_EQ(counts.kernels, of.kernels) << of.contributors;
      EXPECT_EQ(counts.copies_to_host, of.downloads) << of.contributors;
      EXPECT_EQ(counts.copies_to_device, 0U) << of.contributors;
    }
  }
}

// Plaintexts modulo t are lifted together where they have equally many batches: their columns up to sixteen a
// kernel, their rows in one. One alone is lifted by a cluster in a small ring.
TEST(EmulationCounts, PlaintextsOfASumAreLiftedTogether) {
  const auto context = tests::make_context(Bfv::parameters());
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const bfv::Evaluator evaluator(context, rlwe::generate_keys(secret, {}));
  const Plaintext plain = Bfv::encode(context, 1), three = Bfv::encode(context, 3);
  const Ciphertext x = any_scheme::encrypt(plain, secret);
  const auto kernels = [&](const std::vector<const Plaintext*>& weights) {
    const std::vector<const Ciphertext*> factors(weights.size(), &x);
    return counted([&] { return evaluator.dot(factors, weights); }).kernels;
  };
  EXPECT_EQ(kernels({&plain}), 2U);
  for (const std::size_t terms : {2, 16, 17}) {
    EXPECT_EQ(kernels(std::vector<const Plaintext*>(terms, &plain)), (terms + 15) / 16 + 2);
  }
  EXPECT_EQ(kernels({&plain, &three, &three, &plain}), 2U + 2U + 1U);
}

// Values in the context's memory: the host neither copies nor waits.
template <typename View>
struct OnDevice {
  using Value = std::remove_pointer_t<decltype(View::data)>;
  runtime::Buffer buffer;
  View view;

  OnDevice(const rlwe::Context& context, std::size_t batch, std::size_t count)
      : buffer(context.memory(), batch * count * sizeof(Value)),
        view{reinterpret_cast<Value*>(buffer.data()), batch, count} {}
};

template <typename Encoder, typename View, typename... Encoding>
void expect_encoding_alone(const std::shared_ptr<const rlwe::Context>& context, std::size_t count,
                           std::size_t kernels, Encoding... encoding) {
  const Encoder encoder(context);
  std::size_t kernels_of_one = 0;
  for (const std::size_t batch : {1, 8}) {
    const OnDevice<View> in(*context, batch, count), out(*context, batch, count);
    const std::vector<typename OnDevice<View>::Value> values(batch * count, 7);
    context->backend().upload_values(context->queue(), in.view.bytes(), std::as_bytes(std::span(values)));
    for (const bool warm : {false, true}) {
      const Counts counts = counted([&] {
        const Plaintext plaintext = encoder.encode(in.view, {batch}, encoding...);
        encoder.decode_to(out.view, plaintext);
      });
      if (!warm) continue;  // the first call makes tables and fills the pool
      if (batch == 1) kernels_of_one = counts.kernels;
      EXPECT_EQ(counts.kernels, kernels_of_one);
      if (kernels != 0) {
        EXPECT_EQ(counts.kernels, kernels);
      }
      expect_traffic(counts, 0, 0, 0);
    }
  }
}

TEST(EmulationCounts, EncodingTakesValuesFromTheDevice) {
  for (const auto& parameters : {Bfv::parameters(), Bgv::parameters()}) {
    const auto context = tests::make_context(parameters);
    using View = poly::IntegerView;
    // A transform takes two, the values one.
    expect_encoding_alone<integer::Encoder, View>(context, 1024, 6, rlwe::Encoding::slots);
    expect_encoding_alone<integer::Encoder, View>(context, 3, 2, rlwe::Encoding::coefficients);
  }
  auto literal = Ckks::parameters().literal();
  for (const std::uint64_t generator : {5, 3}) {
    literal.galois_generator = generator;
    const auto context = tests::make_context(rlwe::Parameters(literal));
    expect_encoding_alone<ckks::Encoder, poly::SlotView>(context, 512, 0);
    expect_encoding_alone<ckks::Encoder, poly::SlotView>(context, 4, 0);
  }
}

// From and to the host there is one copy each.
TEST(EmulationCounts, EncodingCopiesOnce) {
  const auto integers = tests::make_context(Bfv::parameters());
  const auto complex = tests::make_context(Ckks::parameters());
  const integer::Encoder integer_encoder(integers);
  const ckks::Encoder complex_encoder(complex);
  const std::vector<std::int64_t> some(1024, 7);
  const std::vector<std::complex<double>> others(512, 0.5);
  const auto run = [&] {
    static_cast<void>(integer_encoder.decode(integer_encoder.encode(some, {})));
    static_cast<void>(complex_encoder.decode(complex_encoder.encode(others, {})));
  };
  run();
  const Counts counts = counted(run);
  expect_traffic(counts, 2, 2, 2);
}

// Real numbers go up and come back as they are: with complex ones in the kernels' place for them.
TEST(EmulationCounts, RealNumbersAreMadeComplexOnTheDevice) {
  const auto context = tests::make_context(Ckks::parameters());
  const ckks::Encoder encoder(context);
  std::vector<double> values(2 * 500), back(values.size());
  std::vector<std::complex<double>> padded(2 * 512);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i) / 1000;
    padded[i / 500 * 512 + i % 500] = values[i];
  }
  const auto run = [&] {
    const Plaintext plaintext =
        encoder.encode(ckks::HostRows<const double>{values, false, 500}, 512, {2}, 0, 0x1p40);
    encoder.decode({back, false, 500}, plaintext);
  };
  run();
  const Counts counts = counted(run);
  expect_traffic(counts, 1, 1, 1);
  const auto expected = encoder.decode(encoder.encode(padded, {2}, 0, 0x1p40));
  for (std::size_t i = 0; i < back.size(); ++i) {
    ASSERT_EQ(back[i], expected[i / 500 * 512 + i % 500].real()) << i;
    ASSERT_NEAR(back[i], values[i], 0x1p-30) << i;
  }
}

// The range is checked in the kernels and the copy that decoding takes anyway.
TEST(EmulationCounts, CheckingTheRangeCostsNoKernelAndNoCopy) {
  auto literal =
      ckks::parameters_for({.depth = 1, .slots = 512, .degree = 4096, .security = std::nullopt}).literal();
  std::vector<Counts> found;
  for (const int range_bits : {20, 60}) {
    literal.range_bits = range_bits;
    const auto context = tests::make_context(rlwe::Parameters(literal));
    EXPECT_EQ(ckks::checks_range(context->parameters()), range_bits == 20);
    const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
    const ckks::Encoder encoder(context);
    for (const std::size_t slots : {512, 2048}) {
      const std::vector<std::complex<double>> values(2 * slots, 0.5);
      const Ciphertext x = ckks::encrypt(encoder.encode(values, {2}), secret);
      const auto run = [&] { return encoder.decode(ckks::decrypt(x, secret)); };
      run();
      found.push_back(counted(run));
    }
  }
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(found[i].kernels, found[i + 2].kernels);
    expect_traffic(found[i], 0, 1, found[i + 2].synchronizations);
  }
}

// What tells of spent budgets is written by the kernels that round, and comes with the values.
TEST(EmulationCounts, CheckingTheBudgetCostsNoKernelAndNoCopy) {
  for (const rlwe::Parameters& parameters : {Bfv::parameters(), Bgv::parameters()}) {
    const auto context = tests::make_context(parameters);
    const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
    const integer::Encoder encoder(context);
    for (const std::size_t batch : {1, 8}) {
      const Plaintext plain = encode_integers(context, batch);
      const Ciphertext x = any_scheme::encrypt(plain, secret);
      const auto decrypt = [&] { return any_scheme::decrypt(x, secret); };
      const Plaintext decrypted = decrypt();
      ASSERT_EQ(encoder.decode(decrypted), encoder.decode(plain));
      // The one fill is the phase's end: secret memory is cleared.
      Plaintext again;
      EXPECT_EQ(counted([&] { again = decrypt(); }).fills, 1U);
      const Counts of_plain = counted([&] { return encoder.decode(plain); });
      const Counts of_decrypted = counted([&] { return encoder.decode(decrypted); });
      EXPECT_EQ(of_decrypted.kernels, of_plain.kernels);
      EXPECT_EQ(of_decrypted.fills, of_plain.fills);
      expect_traffic(of_decrypted, 0, 1, of_plain.synchronizations);
    }
  }
}

struct Fused {
  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  ckks::Evaluator evaluator;
  Plaintext plain;
  Ciphertext x;

  Fused(const std::shared_ptr<const rlwe::Context>& made, rlwe::SecretKey key)
      : context(made),
        secret(std::move(key)),
        evaluator(made, rlwe::generate_keys(secret, {.rotations = {1, 2, 3, 4, 5}})),
        plain(ckks::Encoder(made).encode(std::vector<std::complex<double>>(512, 0.5), {})),
        x(ckks::encrypt(plain, secret)) {}
  static Fused of(std::size_t degree) {
    const auto context = tests::make_context(ckks::parameters_from_bits({.degree = degree,
                                                                         .prime_bits = {45, 45, 45},
                                                                         .special_bits = {46, 46},
                                                                         .scale = 0x1p40,
                                                                         .digits = 2,
                                                                         .security = std::nullopt}));
    return {context, rlwe::generate_secret_key(context)};
  }
  template <typename Operation>
  static std::size_t kernels(const Operation& operation) {
    operation();  // makes plans and fills the pool
    return counted(operation).kernels;
  }
  [[nodiscard]] std::size_t rotate() const {
    return kernels([&] { return evaluator.rotate(x, 1); });
  }
  [[nodiscard]] std::size_t multiply() const {
    return kernels([&] { return evaluator.multiply(x, x); });
  }
  [[nodiscard]] std::size_t rescale() const {
    return kernels([&] { return evaluator.rescale(x); });
  }
  [[nodiscard]] std::size_t hoisted(std::vector<std::int64_t> steps) const {
    return kernels([&] { return evaluator.rotate_hoisted(x, steps); });
  }
  [[nodiscard]] std::size_t encrypt() const {
    return kernels([&] { return ckks::encrypt(plain, *evaluator.keys().public_key); });
  }
};

// In a ring where operations are fused: how many kernels they take.
TEST(EmulationCounts, FusedOperationsTakeFewKernels) {
  const Fused fused = Fused::of(16384);
  // Two for the digits' residues; for the special limbs and for the others conversion and rows; two for the
  // sums' residues, and the division's conversion.
  constexpr std::size_t digits = 4, each = 5;
  EXPECT_EQ(fused.rotate(), digits + each);
  EXPECT_EQ(fused.multiply(), digits + each);
  EXPECT_EQ(fused.hoisted({1, 2, 3, 4}), digits + each);
  EXPECT_EQ(fused.hoisted({1, 2, 3, 4, 5}), digits + 2 * each);
  EXPECT_EQ(fused.rescale(), 3U);
  // Two draw; columns, and rows of the special limb and of the others; three for the division between them.
  EXPECT_EQ(fused.encrypt(), 8U);
  // Errors, columns, and rows, which draw the rest. A key's digits are a batch.
  EXPECT_EQ(Fused::kernels([&] { return ckks::encrypt(fused.plain, fused.secret); }), 3U);
  EXPECT_EQ(
      Fused::kernels([&] { return rlwe::generate_galois_key(fused.secret, 5, fused.context->top_level()); }),
      4U);
}

// In rings that a cluster of thread blocks holds a transform is a part of one.
TEST(EmulationCounts, SmallRingsTakeThreeKernels) {
  for (const std::size_t degree : {1024, 2048, 4096, 8192}) {
    SCOPED_TRACE(degree);
    const Fused fused = Fused::of(degree);
    // The digits' residues; the special limbs, and all others.
    EXPECT_EQ(fused.rotate(), 3U);
    EXPECT_EQ(fused.multiply(), 3U);
    EXPECT_EQ(fused.hoisted({1, 2, 3, 4}), 3U);
    EXPECT_EQ(fused.hoisted({1, 2, 3, 4, 5}), 5U);
    EXPECT_EQ(fused.rescale(), 2U);
  }
}

// Products of BFV in few launches, relinearization included: at small degrees a kernel takes the same time
// whatever it does.
TEST(EmulationCounts, ProductsOfBfvTakeFewKernels) {
  struct Chain {
    std::vector<int> bits, special;
    std::size_t digits;
    std::size_t product, square;  // kernels of the three components
  };
  const std::vector<Chain> chains = {
      {std::vector<int>(3, 54), {55}, 3, 6, 6},
      {std::vector<int>(6, 36), std::vector<int>(3, 37), 2, 7, 7},
  };
  for (const Chain& chain : chains) {
    const auto context = tests::make_context(bfv::parameters_from_bits({.degree = 8192,
                                                                        .plain_modulus = 65537,
                                                                        .prime_bits = chain.bits,
                                                                        .special_bits = chain.special,
                                                                        .digits = chain.digits,
                                                                        .security = std::nullopt}));
    const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
    const bfv::Evaluator evaluator(context, rlwe::generate_keys(secret, {}), rlwe::Relinearization::lazy);
    const Plaintext plain = encode_integers(context, 1);
    const Ciphertext x = bfv::encrypt(plain, secret), y = bfv::encrypt(plain, secret);
    const auto kernels = [&](const Ciphertext& a, const Ciphertext& b) {
      static_cast<void>(evaluator.multiply(a, b));  // makes the tables
      return counted([&] { return evaluator.multiply(a, b); }).kernels;
    };
    EXPECT_EQ(kernels(x, y), chain.product) << chain.bits.size() << " primes";
    EXPECT_EQ(kernels(x, x), chain.square) << chain.bits.size() << " primes, square";
  }
}

}  // namespace
}  // namespace hemera::testing
