// Samplers: every coefficient against the rule of hemera/poly/random.hpp, written down a second time,
// ChaCha20 included.
#include <algorithm>
#include <bit>
#include <numeric>

#include "conformance/suite.hpp"
#include "hemera/arith/modulus.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::conformance {
namespace {

using arith::int128;
using arith::uint128;
using poly::Distribution;
using poly::Form;
using poly::PolyView;
using poly::Purpose;
using poly::RandomStream;
using poly::RnsBase;
using runtime::Workspace;

// r of coefficient i of limb j of polynomial k.
uint128 random_bits(const poly::Seed& seed, Purpose purpose, std::uint32_t k, std::uint32_t j,
                    std::size_t i) {
  std::uint32_t state[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  for (std::size_t byte = 0; byte < 32; ++byte) {
    state[4 + byte / 4] |= static_cast<std::uint32_t>(seed.bytes[byte]) << (8 * (byte % 4));
  }
  state[12] = static_cast<std::uint32_t>(i / 4);
  state[13] = k;
  state[14] = j;
  state[15] = static_cast<std::uint32_t>(purpose);
  std::uint32_t x[16];
  std::copy_n(state, 16, x);
  const auto quarter = [&](int a, int b, int c, int d) {
    x[a] += x[b], x[d] = std::rotl(x[d] ^ x[a], 16);
    x[c] += x[d], x[b] = std::rotl(x[b] ^ x[c], 12);
    x[a] += x[b], x[d] = std::rotl(x[d] ^ x[a], 8);
    x[c] += x[d], x[b] = std::rotl(x[b] ^ x[c], 7);
  };
  for (int round = 0; round < 10; ++round) {
    for (int c = 0; c < 4; ++c) quarter(c, 4 + c, 8 + c, 12 + c);
    for (int c = 0; c < 4; ++c) quarter(c, 4 + (c + 1) % 4, 8 + (c + 2) % 4, 12 + (c + 3) % 4);
  }
  uint128 r = 0;
  for (std::size_t word = 4; word-- > 0;) r = r << 32 | (x[4 * (i % 4) + word] + state[4 * (i % 4) + word]);
  return r;
}

RandomStream stream_of(std::uint8_t number, std::uint32_t first_polynomial) {
  RandomStream stream;
  for (std::size_t i = 0; i < stream.seed.bytes.size(); ++i) {
    stream.seed.bytes[i] = static_cast<std::uint8_t>(37 * i + 101 * number + i * i * number);
  }
  stream.first_polynomial = first_polynomial;
  return stream;
}

std::uint64_t residue(int128 value, std::uint64_t q) {
  const int128 remainder = value % static_cast<int128>(q);
  return static_cast<std::uint64_t>(remainder < 0 ? remainder + static_cast<int128>(q) : remainder);
}

// Polynomials whose coefficients are the integers of coefficients(k), [N], the same in all limbs.
Host expected_of(const RnsBase& base, std::size_t batch, std::size_t components, const RandomStream& stream,
                 const std::function<std::vector<int128>(std::uint32_t k)>& coefficients) {
  Host result(base, batch, components);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t c = 0; c < components; ++c) {
      const std::vector<int128> integers =
          coefficients(stream.first_polynomial + static_cast<std::uint32_t>(b * components + c));
      for (std::size_t l = 0; l < base.size(); ++l) {
        for (std::size_t n = 0; n < result.shape.degree; ++n) {
          result.at(b, c, l, n) = residue(integers[n], base.modulus(l).value());
        }
      }
    }
  }
  return result;
}

// The same where each coefficient depends on its own r only.
Host expected_of(const RnsBase& base, std::size_t batch, std::size_t components, const RandomStream& stream,
                 Purpose purpose, const std::function<int128(uint128 r)>& coefficient) {
  return expected_of(base, batch, components, stream, [&](std::uint32_t k) {
    std::vector<int128> result;
    for (std::size_t n = 0; n < base.ring()->degree(); ++n) {
      result.push_back(coefficient(random_bits(stream.seed, purpose, k, 0, n)));
    }
    return result;
  });
}

Host expected_uniform(const RnsBase& base, std::size_t batch, std::size_t components,
                      const RandomStream& stream) {
  Host result(base, batch, components);
  for (std::size_t i = 0; i < result.words.size(); ++i) {
    const std::size_t degree = result.shape.degree, limb = i / degree % base.size();
    const std::size_t k = stream.first_polynomial + i / degree / base.size();
    const uint128 r = random_bits(stream.seed, Purpose::uniform, static_cast<std::uint32_t>(k),
                                  static_cast<std::uint32_t>(limb), i % degree);
    result.words[i] = static_cast<std::uint64_t>(r % base.modulus(limb).value());
  }
  return result;
}

int128 ternary(uint128 r) {
  return static_cast<int128>((3 * static_cast<uint128>(static_cast<std::uint64_t>(r))) >> 64) - 1;
}

int128 error(uint128 r, const poly::ErrorDistribution& distribution) {
  const auto u = static_cast<std::uint64_t>(r) & ~(std::uint64_t{1} << 63);
  const auto magnitude = std::count_if(distribution.table(), distribution.table() + distribution.size(),
                                       [&](std::uint64_t entry) { return entry <= u; });
  return (r >> 127) != 0 ? -magnitude : magnitude;
}

std::vector<int128> fixed_weight(const poly::Seed& seed, std::uint32_t k, std::size_t degree,
                                 std::size_t weight) {
  std::vector<uint128> r;
  for (std::size_t n = 0; n < degree; ++n) r.push_back(random_bits(seed, Purpose::fixed_weight, k, 0, n));
  std::vector<std::size_t> order(degree);
  std::iota(order.begin(), order.end(), std::size_t{0});
  constexpr uint128 key = (std::uint64_t{1} << 62) - 1;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return (r[a] & key) < (r[b] & key); });
  std::vector<int128> result(degree, 0);
  for (std::size_t n = 0; n < weight; ++n) result[order[n]] = (r[order[n]] >> 127) != 0 ? -1 : 1;
  return result;
}

void draw(Rig& rig, const PolyView& out, const RandomStream& stream, const Distribution& distribution,
          const RnsBase& base) {
  rig.with_scratch([&](Workspace& workspace) {
    rig.backend->sample(*rig.queue, out, stream, distribution, base, workspace);
  });
}

// Draws into an array with garbage in it.
Host drawn(Rig& rig, const RnsBase& base, std::size_t batch, std::size_t components,
           const RandomStream& stream, const Distribution& distribution) {
  const bool is_uniform = distribution.purpose() == Purpose::uniform;
  poly::Poly out = rig.output(base, batch, components, is_uniform ? Form::evaluation : Form::coefficient);
  draw(rig, out.view(), stream, distribution, base);
  return rig.download(out);
}

constexpr std::size_t degrees[] = {std::size_t{1} << 10, std::size_t{1} << 13};
const std::vector<int> mixed_bits = {60, 30, 50, 45, 61};

// Every kind of sampler into one shape.
void check_all(Rig& rig, const RnsBase& base, std::size_t batch, std::size_t components,
               const RandomStream& stream) {
  const std::size_t degree = rig.ring->degree();
  const poly::ErrorDistribution errors(3.19);
  const auto draws = [&](const Distribution& distribution, const Host& expected) {
    ASSERT_TRUE(same(drawn(rig, base, batch, components, stream, distribution), expected))
        << static_cast<int>(distribution.purpose());
  };
  draws(Distribution::uniform(), expected_uniform(base, batch, components, stream));
  draws(Distribution::ternary(), expected_of(base, batch, components, stream, Purpose::ternary, ternary));
  draws(Distribution::error(errors), expected_of(base, batch, components, stream, Purpose::error,
                                                 [&](uint128 r) { return error(r, errors); }));
  draws(Distribution::fixed_weight(100), expected_of(base, batch, components, stream, [&](std::uint32_t k) {
          return fixed_weight(stream.seed, k, degree, 100);
        }));
}

TEST_P(BackendTest, SamplersFollowTheRule) {
  for (const std::size_t degree : degrees) {
    Rig rig(GetParam(), degree, mixed_bits);
    check_all(rig, rig.all(), 1, 1, stream_of(1, 0));
  }
}

TEST_P(BackendTest, SamplersNumberThePolynomialsOfAView) {
  Rig rig(GetParam(), 1024, mixed_bits);
  check_all(rig, rig.primes(1, 2), 2, 3, stream_of(2, 17));
  check_all(rig, rig.primes(0, 1), 3, 1, stream_of(3, 0xfffffffdU));
}

// One more than CUDA's kernels take at once. Each number stays below 2^32 in its own stream.
TEST_P(BackendTest, SamplersTakeAStreamForEachOfABatch) {
  Rig rig(GetParam(), 1024, mixed_bits);
  const RnsBase base = rig.primes(1, 2);
  const poly::ErrorDistribution errors(20);
  std::vector<RandomStream> streams;
  for (std::uint8_t b = 0; b < 33; ++b) streams.push_back(stream_of(b, b == 32 ? 0xfffffffeU : 3U * b));
  for (const Distribution& distribution : {Distribution::uniform(), Distribution::ternary(),
                                           Distribution::error(errors), Distribution::fixed_weight(100)}) {
    const bool is_uniform = distribution.purpose() == Purpose::uniform;
    poly::Poly out = rig.output(base, 33, 2, is_uniform ? Form::evaluation : Form::coefficient);
    const auto sample = [&] {
      rig.with_scratch([&](Workspace& workspace) {
        rig.backend->sample(*rig.queue, out.view(), streams, distribution, base, workspace);
      });
    };
    sample();
    const Host all = rig.download(out);
    for (std::size_t b = 0; b < streams.size(); ++b) {
      Host one(base, 1, 2);
      std::copy_n(all.words.begin() + static_cast<std::ptrdiff_t>(b * one.words.size()), one.words.size(),
                  one.words.begin());
      EXPECT_TRUE(same(one, drawn(rig, base, 1, 2, streams[b], distribution))) << b;
    }
    streams[7].first_polynomial = 0xffffffffU;
    EXPECT_THROW(sample(), ParameterError);
    streams[7].first_polynomial = 21;
  }
}

// Reversed and repeated positions of ring moduli: the limb's number is its place in the base, not the ring.
TEST_P(BackendTest, SamplersNumberTheLimbsOfABase) {
  Rig rig(GetParam(), 1024, mixed_bits);
  check_all(rig, rig.choose({4, 2, 3}), 1, 2, stream_of(4, 5));
}

TEST_P(BackendTest, SamplersTakeAnyNumberOfLimbs) {
  Rig rig(GetParam(), 1024, std::vector<int>(130, 30));
  check_all(rig, rig.primes(0, 64), 1, 1, stream_of(5, 0));
  check_all(rig, rig.all(), 1, 1, stream_of(6, 1));
}

// Moduli below the bounds of the integers, and a power of two.
TEST_P(BackendTest, SamplersReduceModuloSmallModuli) {
  Rig rig(GetParam(), 1024, {30}, {2, 3, 17, 65536, 65537});
  for (std::size_t t = 0; t < 5; ++t) check_all(rig, rig.plaintext(t), 1, 2, stream_of(7, 0));
  const poly::ErrorDistribution wide(20);
  const RandomStream stream = stream_of(8, 0);
  for (std::size_t t = 0; t < 5; ++t) {
    const RnsBase base = rig.plaintext(t);
    EXPECT_TRUE(
        same(drawn(rig, base, 1, 1, stream, Distribution::error(wide)),
             expected_of(base, 1, 1, stream, Purpose::error, [&](uint128 r) { return error(r, wide); })));
  }
}

TEST_P(BackendTest, ErrorsHaveAnyDeviation) {
  Rig rig(GetParam(), 4096, {60, 30});
  const RandomStream stream = stream_of(9, 2);
  for (const double sigma : {0.5, 1.0, 3.2, 7.5, 20.0}) {
    const poly::ErrorDistribution distribution(sigma);
    EXPECT_TRUE(same(drawn(rig, rig.all(), 1, 1, stream, Distribution::error(distribution)),
                     expected_of(rig.all(), 1, 1, stream, Purpose::error,
                                 [&](uint128 r) { return error(r, distribution); })))
        << sigma;
  }
}

TEST_P(BackendTest, FixedWeightIsAnyFromOneToTheDegree) {
  for (const std::size_t degree : degrees) {
    Rig rig(GetParam(), degree, {60, 30});
    const RandomStream stream = stream_of(11, 0);
    for (const std::size_t weight :
         {std::size_t{1}, std::size_t{2}, std::size_t{192}, degree / 2, degree - 1, degree}) {
      EXPECT_TRUE(
          same(drawn(rig, rig.all(), 1, 2, stream, Distribution::fixed_weight(weight)),
               expected_of(rig.all(), 1, 2, stream,
                           [&](std::uint32_t k) { return fixed_weight(stream.seed, k, degree, weight); })))
          << degree << " " << weight;
    }
  }
}

TEST_P(BackendTest, SamplersTouchNothingBesideTheirView) {
  Rig rig(GetParam(), 1024, mixed_bits);
  const Host before = rig.random(rig.all(), 2, 3);
  const RnsBase part = rig.primes(1, 3);
  const RandomStream stream = stream_of(12, 9);
  const auto check = [&](const Distribution& distribution, const Host& polynomials) {
    const bool is_uniform = distribution.purpose() == Purpose::uniform;
    poly::Poly out = rig.upload(before, is_uniform ? Form::evaluation : Form::coefficient);
    draw(rig, out.view().components(1, 2).limbs(1, 3), stream, distribution, part);
    Host expected = before;
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t c = 0; c < 2; ++c) {
        for (std::size_t l = 0; l < 3; ++l) {
          for (std::size_t n = 0; n < 1024; ++n) expected.at(b, c + 1, l + 1, n) = polynomials.at(b, c, l, n);
        }
      }
    }
    EXPECT_TRUE(same(rig.download(out), expected)) << static_cast<int>(distribution.purpose());
  };
  check(Distribution::uniform(), expected_uniform(part, 2, 2, stream));
  check(Distribution::ternary(), expected_of(part, 2, 2, stream, Purpose::ternary, ternary));
  check(Distribution::fixed_weight(300), expected_of(part, 2, 2, stream, [&](std::uint32_t k) {
          return fixed_weight(stream.seed, k, 1024, 300);
        }));
}

}  // namespace
}  // namespace hemera::conformance
