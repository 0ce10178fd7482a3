// Scale-and-round: its formula bit for bit, and that it is the rounded quotient.
#include <functional>
#include <span>

#include "conformance/oracle.hpp"

namespace hemera::conformance {
namespace {

using poly::Form;
using poly::RnsBase;
using poly::ScaleAndRound;

struct Problem {
  RnsBase source, divided, target;
  std::uint64_t factor;
};

// The sum of the header's formula over the integers; it stands for the value modulo each target modulus.
BigInteger formula(const Problem& problem, const ExactBase& source, std::uint64_t target_modulus,
                   std::int32_t target_position, const std::vector<std::uint64_t>& residues) {
  const std::vector<std::uint64_t> y = source.scaled(residues);
  const BigInteger kept = arith::product(problem.source.without(problem.divided).values());  // B
  BigInteger result = 0;
  BigInteger fractions = BigInteger(1) << 127;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (!problem.divided.contains(problem.source.index(i))) continue;
    const BigInteger numerator = kept * problem.factor;
    const BigInteger fraction = ((numerator % source.modulus(i)) << 128) / source.modulus(i);
    result += numerator / source.modulus(i) * y[i];
    fractions += fraction * y[i];
  }
  result += fractions >> 128;
  if (target_position >= 0) {
    result += kept / target_modulus * problem.factor * y[static_cast<std::size_t>(target_position)];
  }
  return result;
}

void check(Rig& rig, const Problem& problem, std::size_t batch) {
  const ScaleAndRound plan(problem.source, problem.divided, problem.factor, problem.target);
  const ExactBase source(problem.source);
  const BigInteger d = arith::product(problem.divided.values());
  Host in = adversarial(rig, problem.source, batch, 2);
  // Ties and near-ties: x with t x close to (m + 1/2) D.
  for (std::size_t k = 0; k < 64; ++k) {
    const BigInteger x = (d * (2 * k + 1) / (2 * problem.factor) + (k % 3)) % source.product();
    const std::vector<std::uint64_t> residues = source.residues(x);
    for (std::size_t l = 0; l < residues.size(); ++l) in.at(0, 0, l, 100 + k) = residues[l];
  }
  poly::Poly out = rig.output(problem.target, batch, 2, Form::coefficient);
  rig.backend->scale_and_round(*rig.queue, out.view(), rig.upload(in, Form::coefficient).view(), plan);
  const Host actual = rig.download(out);
  Host expected(problem.target, batch, 2);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t n = 0; n < in.shape.degree; ++n) {
        const std::vector<std::uint64_t> residues = in.residues(b, c, n);
        const BigInteger x = centered(source.combine(residues), source.product());
        const BigInteger rounded = round_divide(problem.factor * x, d);
        // Distance of t x / D to the next tie, times 2 D: certain unless it is below |D| 2^-67.
        const BigInteger remainder = ((2 * problem.factor * x) % (2 * d) + 2 * d) % (2 * d);
        const bool certain = (abs(remainder - d) << 66) >= problem.divided.size() * d;
        for (std::size_t j = 0; j < problem.target.size(); ++j) {
          const std::uint64_t modulus = problem.target.modulus(j).value();
          const std::uint64_t value =
              arith::modulo(formula(problem, source, modulus, plan.target_positions()[j], residues), modulus);
          expected.at(b, c, j, n) = value;
          if (certain) {
            ASSERT_EQ(value, arith::modulo(rounded, modulus)) << "the formula is not the rounded quotient";
          }
        }
      }
    }
  }
  ASSERT_TRUE(same(actual, expected));
}

TEST_P(BackendTest, ScaleAndRoundInMultiplication) {
  for (const std::vector<int>& bits : {std::vector<int>{50, 50, 50, 50, 50},
                                       {60, 60, 60, 60, 60},
                                       {61, 61, 61, 61, 61},
                                       {60, 30, 50, 61, 45},
                                       {30, 30, 30, 30, 30}}) {
    Rig rig(GetParam(), 1024, bits);
    for (const std::uint64_t factor :
         {std::uint64_t{2}, std::uint64_t{65537}, (std::uint64_t{1} << 60) - 1}) {
      // Divide by the first primes and keep the others (HPS), all or a part of them as the target.
      check(rig, {rig.all(), rig.primes(0, 3), rig.primes(3, 2), factor}, 1);
      check(rig, {rig.all(), rig.primes(0, 1), rig.choose({4, 2}), factor}, 1);
      // The divided primes last.
      check(rig, {rig.all(), rig.primes(2, 3), rig.primes(0, 2), factor}, 3);
    }
  }
}

TEST_P(BackendTest, ScaleAndRoundInDecryption) {
  const std::vector<std::uint64_t> moduli = {2, 3, 65536, 65537, (std::uint64_t{1} << 60) + 33};
  for (const std::vector<int>& bits :
       {std::vector<int>{50, 50, 50}, {60}, {61, 61, 61, 61}, {60, 30, 50}, {30}}) {
    Rig rig(GetParam(), 1024, bits, moduli);
    for (std::size_t t = 0; t < moduli.size(); ++t) {
      check(rig, {rig.all(), rig.all(), rig.plaintext(t), moduli[t]}, 1);
      if (moduli[t] < 1000) check(rig, {rig.all(), rig.all(), rig.plaintext(t), moduli[t] * 1000}, 1);
    }
  }
}

// A polynomial each for distances to the next integer, in millionths: below a quarter none is in doubt, and
// one coefficient above it is enough, wherever it is.
struct Distance {
  int millionths;
  std::size_t coefficient;
};
constexpr int quarter = 250'000;
constexpr Distance distances[] = {
    {0, 0},           {quarter - 1, 0}, {1 - quarter, 777}, {quarter + 1, 0}, {-1 - quarter, 1023},
    {490'000, 1000},  {-490'000, 31},   {499'999, 5},       {-499'999, 640},  {quarter + 1, 512},
    {-1 - quarter, 0}};

// `modulus` over `factor` times an integer plus or minus at most 0.249999, and in one place the distance.
Host with_distances(Rig& rig, const RnsBase& base, std::uint64_t factor) {
  const ExactBase exact(base);
  Host host(base, std::size(distances), 1);
  for (std::size_t b = 0; b < std::size(distances); ++b) {
    for (std::size_t n = 0; n < host.shape.degree; ++n) {
      int millionths = static_cast<int>(rig.generator() % (2 * quarter - 1)) - quarter + 1;
      if (n == distances[b].coefficient) millionths = distances[b].millionths;
      const BigInteger whole = rig.generator() % factor;
      BigInteger x = (exact.product() * (1'000'000 * whole + millionths)) / (BigInteger(1'000'000) * factor);
      x = (x % exact.product() + exact.product()) % exact.product();
      const auto residues = exact.residues(x);
      for (std::size_t l = 0; l < residues.size(); ++l) host.at(b, 0, l, n) = residues[l];
    }
  }
  return host;
}

void expect_doubts(Rig& rig, const std::function<void(const poly::IntegerView&)>& operation) {
  const std::size_t count = rig.backend->ring()->degree() / poly::coefficients_per_doubt;
  std::vector<std::int64_t> found(std::size(distances) * count, 12345);
  runtime::Buffer buffer(rig.backend->memory(), found.size() * sizeof(std::int64_t));
  const poly::IntegerView view{reinterpret_cast<std::int64_t*>(buffer.data()), std::size(distances), count};
  rig.backend->upload_values(*rig.queue, view.bytes(), std::as_bytes(std::span(found)));
  operation(view);
  rig.backend->download_values(*rig.queue, std::as_writable_bytes(std::span(found)), view.bytes());
  rig.queue->synchronize();
  for (std::size_t b = 0; b < std::size(distances); ++b) {
    std::int64_t any = 0;
    for (std::size_t i = 0; i < count; ++i) any |= found[b * count + i];
    EXPECT_EQ(any, std::abs(distances[b].millionths) > quarter ? 1 : 0)
        << "distance " << distances[b].millionths;
  }
}

TEST_P(BackendTest, RoundingTellsDoubt) {
  const std::vector<std::uint64_t> moduli = {2, 3, 65536, 65537, (std::uint64_t{1} << 59) + 131};
  for (const std::vector<int>& bits : {std::vector<int>{50, 50, 50},
                                       {60, 60},
                                       {61, 61, 61, 61},
                                       {60, 30, 50},
                                       {45, 61},
                                       std::vector<int>(20, 50)}) {
    Rig rig(GetParam(), 1024, bits, moduli);
    for (std::size_t t = 0; t < moduli.size(); ++t) {
      SCOPED_TRACE(moduli[t]);
      const ScaleAndRound plan(rig.all(), rig.all(), moduli[t], rig.plaintext(t));
      const poly::Poly in = rig.upload(with_distances(rig, rig.all(), moduli[t]), Form::coefficient);
      poly::Poly out = rig.output(rig.plaintext(t), std::size(distances), 1, Form::coefficient);
      rig.backend->scale_and_round(*rig.queue, out.view(), in.view(), plan);
      const Host without = rig.download(out);
      expect_doubts(rig, [&](const poly::IntegerView& doubtful) {
        rig.backend->scale_and_round(*rig.queue, out.view(), in.view(), plan, &doubtful);
      });
      EXPECT_TRUE(same(rig.download(out), without));
    }
  }
}

TEST_P(BackendTest, ConversionTellsDoubt) {
  for (const std::vector<int>& bits : {std::vector<int>{50, 50, 50},
                                       {60},
                                       {30},
                                       {50},
                                       {25, 25},
                                       {61, 61, 61, 61},
                                       {60, 30, 50},
                                       std::vector<int>(20, 50)}) {
    Rig rig(GetParam(), 1024, bits, {2, 65537});
    for (std::size_t t = 0; t < 2; ++t) {
      const poly::BaseConversion plan(rig.all(), rig.plaintext(t), poly::BaseConversion::Kind::exact);
      const poly::Poly in = rig.upload(with_distances(rig, rig.all(), 1), Form::coefficient);
      poly::Poly out = rig.output(rig.plaintext(t), std::size(distances), 1, Form::coefficient);
      rig.backend->convert(*rig.queue, out.view(), in.view(), plan);
      const Host without = rig.download(out);
      expect_doubts(rig, [&](const poly::IntegerView& doubtful) {
        rig.backend->convert(*rig.queue, out.view(), in.view(), plan, &doubtful);
      });
      EXPECT_TRUE(same(rig.download(out), without));
    }
  }
}

TEST_P(BackendTest, ScaleAndRoundOfManyLimbs) {
  for (const int bits : {50, 61}) {
    Rig rig(GetParam(), 1024, std::vector<int>(44, bits), {65537});
    check(rig, {rig.all(), rig.primes(0, 41), rig.primes(41, 3), 65537}, 1);
    check(rig, {rig.all(), rig.all(), rig.plaintext(0), 65537}, 1);
  }
}

TEST_P(BackendTest, ScaleAndRoundInALargeRing) {
  Rig rig(GetParam(), 32768, {60, 50, 45, 61});
  check(rig, {rig.all(), rig.primes(0, 2), rig.primes(2, 2), 65537}, 1);
}

}  // namespace
}  // namespace hemera::conformance
