// Division with rounding: rescale, ModDown, chains that add primes, and BGV's corrected division.
#include "conformance/oracle.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::conformance {
namespace {

using poly::Division;
using poly::Form;
using poly::RnsBase;

struct DivisionCase {
  const char* name;
  std::vector<int> bits;
  std::vector<std::uint32_t> source, target;  // indices into the ring
  double factor = 1;
};

const std::vector<DivisionCase>& divisions() {
  static const std::vector<DivisionCase> list = {
      {"rescale by one prime of 50 bits", {50, 50, 50, 50}, {0, 1, 2, 3}, {0, 1, 2}},
      {"rescale by one prime of 60 bits", {60, 60, 60}, {0, 1, 2}, {0, 1}},
      {"the first prime goes", {30, 45, 61}, {0, 1, 2}, {1, 2}},
      {"a small prime below large ones", {61, 61, 30}, {0, 1, 2}, {0, 1}},
      {"ModDown by three special primes", {45, 45, 45, 50, 50, 50}, {0, 1, 2, 3, 4, 5}, {0, 1, 2}},
      {"ModDown by two primes of 61 bits", {60, 30, 61, 61}, {0, 1, 2, 3}, {0, 1}},
      {"scattered primes go, the others change places", {50, 60, 30, 61, 45}, {0, 1, 2, 3, 4}, {4, 1}},
      {"one prime goes, one comes", {50, 45, 50, 30}, {0, 1, 2}, {0, 1, 3}},
      {"two go, one comes in the middle", {55, 60, 60, 30, 61}, {0, 1, 2, 4}, {0, 3, 4}},
      {"small primes go, and come", {21, 50, 25, 45, 28, 23}, {0, 1, 2, 3}, {1, 4, 5}},
      {"all go, another comes", {60, 60, 30}, {0, 1}, {2}},
      {"a multiple by one prime", {50, 50, 50, 50}, {0, 1, 2, 3}, {0, 1, 2}, 0x1.23456789abcdfp52},
      {"a multiple by 60-bit primes", {60, 60, 60, 61}, {0, 1, 2, 3}, {0, 1}, 0x1.fedcba987654p95},
  };
  return list;
}

// (E x - delta) / D, with BGV's correction if t != 0.
BigInteger divide(const ExactBase& source, const ExactBase& dropped, const BigInteger& added, std::uint64_t t,
                  const std::vector<std::uint64_t>& residues) {
  const BigInteger x = source.combine(residues);
  const BigInteger& d = dropped.product();
  BigInteger delta = dropped.exact(dropped.residues(added * x));
  if (t != 0) {
    const std::uint64_t inverse = arith::inverse(arith::modulo(d, t), t);
    delta += d * centered(-delta * inverse, t);
    EXPECT_EQ(delta % t, 0);
  }
  EXPECT_EQ((added * x - delta) % d, 0);
  const BigInteger result = (added * x - delta) / d;
  // Within 1/2 (exactly the nearest) of E x / D, plus t / 2 for BGV; the window of the quotient gives 2^-60
  // more.
  EXPECT_LE(abs(added * x - result * d) << 60, ((d * (t + 1)) << 59) + d);
  return result;
}

void check_divisions(const BackendCase& backend_case, std::size_t degree,
                     const std::vector<DivisionCase>& cases) {
  const std::vector<std::uint64_t> plaintexts = {2, 65537, std::uint64_t{1} << 20};
  for (const DivisionCase& division : cases) {
    SCOPED_TRACE(division.name);
    Rig rig(backend_case, degree, division.bits, plaintexts);
    const RnsBase source = rig.choose(division.source);
    const RnsBase target = rig.choose(division.target);
    const BigInteger added = arith::product(target.without(source).values()) * BigInteger(division.factor);
    const std::size_t batch = degree == 1024 ? 3 : 1;
    const Host in = adversarial(rig, source, batch, 2);
    for (std::size_t t = 0; t <= plaintexts.size(); ++t) {
      if (degree > 1024 && t % 2 == 1) continue;
      const Division plan(source, target, t == 0 ? RnsBase() : rig.plaintext(t - 1), division.factor);
      const ExactBase exact_source(source), exact_dropped(plan.dropped());
      const Host expected = map_coefficients(in, target, [&](const auto& x) {
        return divide(exact_source, exact_dropped, added, t == 0 ? 0 : plaintexts[t - 1], x);
      });
      for (const Form form : {Form::coefficient, Form::evaluation}) {
        const Host given = rig.transformed(in, Form::coefficient, form);
        const poly::Poly device = rig.upload(given, form);
        for (const bool use_default : {false, true}) {
          // The parts of large rings are emulated by tests of their own.
          if (use_default && backend_case.emulated && degree > 8192) continue;
          poly::Poly out = rig.output(target, batch, 2, form);
          const poly::Backend& backend = use_default ? *rig.defaults : *rig.backend;
          rig.with_scratch([&](runtime::Workspace& space) {
            backend.divide_and_round(*rig.queue, out.view(), device.view(), plan, form, space);
          });
          ASSERT_TRUE(same(rig.transformed(rig.download(out), form, Form::coefficient), expected))
              << (form == Form::coefficient ? "coefficient" : "evaluation") << " form, t number " << t
              << (use_default ? ", default" : "");
        }
        ASSERT_TRUE(same(rig.download(device), given)) << "the input changed";
      }
    }
  }
}

TEST_P(BackendTest, DivisionRoundsToNearest) { check_divisions(GetParam(), 1024, divisions()); }

TEST_P(BackendTest, DivisionInALargeRing) {
  check_divisions(GetParam(), 32768, {{"ModDown", {50, 45, 60, 50}, {0, 1, 2, 3}, {0, 1}}});
}

// Bases that are not nested, in every arithmetic: one prime, few primes and many go.
TEST_P(BackendTest, DivisionThatAddsPrimesInALargeRing) {
  DivisionCase many{"thirteen go, two come in the middle", std::vector<int>(17, 50), {}, {0, 15, 1, 16}};
  many.bits[3] = many.bits[15] = 37;
  for (std::uint32_t i = 0; i < 15; ++i) many.source.push_back(i);
  check_divisions(
      GetParam(), 8192,
      {{"one goes, one comes", {50, 45, 50, 40}, {0, 1, 2}, {3, 0, 1}},
       {"two go, one comes", {55, 60, 60, 30, 61}, {0, 1, 2, 4}, {0, 3, 4}},
       {"one goes, one comes, 1 modulo 2^32", {-60, -60, -60}, {0, 1}, {0, 2}},
       {"two go, one comes, 1 modulo 2^32", {-60, -60, -60, -60}, {0, 1, 2}, {3, 1}},
       {"all go, another comes", {50, 50, 50}, {0, 1}, {2}},
       {"a multiple by one", {50, 45, 50, 40}, {0, 1, 2, 3}, {3, 0, 1}, 0x1.23456789abcdfp52},
       {"a multiple: one goes, one comes", {50, 45, 50, 40}, {0, 1, 2}, {3, 0, 1}, 0x1.23456789abcdfp95},
       {"a multiple by two of 60 bits", {60, 60, 60, 61}, {0, 1, 2, 3}, {0, 1}, 0x1.fedcba987654p95},
       many});
}

// More limbs than caches hold.
TEST_P(BackendTest, DivisionByManyPrimesInALargeRing) {
  DivisionCase division{"ModDown by five of 17", std::vector<int>(17, 50), {}, {}};
  for (std::uint32_t i = 0; i < 17; ++i) division.source.push_back(i);
  for (std::uint32_t i = 0; i < 12; ++i) division.target.push_back(i);
  check_divisions(GetParam(), 16384, {division});
}

TEST_P(BackendTest, DivisionBroadcastsAndNeedsItsWorkspace) {
  Rig rig(GetParam(), 1024, {50, 50, 60});
  const Division plan(rig.all(), rig.primes(0, 1));
  const poly::Poly device = rig.upload(rig.random(rig.all(), 1, 1));
  poly::Poly one = rig.output(plan.target(), 1, 1);
  poly::Poly many = rig.output(plan.target(), 3, 2);
  const auto divide = [&](const poly::PolyView& out, runtime::Workspace& space) {
    rig.backend->divide_and_round(*rig.queue, out, device.view(), plan, Form::evaluation, space);
  };
  // A workspace that grows serves one operation after the other.
  runtime::Workspace growing(rig.backend->memory());
  divide(one.view(), growing);
  divide(many.view(), growing);
  EXPECT_EQ(growing.peak(), growing.size());
  const Host single = rig.download(one);
  const Host all = rig.download(many);
  for (std::size_t i = 0; i < all.words.size(); ++i)
    ASSERT_EQ(all.words[i], single.words[i % single.words.size()]);
  // One that measures runs nothing.
  poly::Poly untouched = rig.output(plan.target(), 1, 1);
  runtime::Workspace measuring = runtime::Workspace::measuring();
  divide(untouched.view(), measuring);
  EXPECT_TRUE(same(rig.download(untouched), rig.download(rig.output(plan.target(), 1, 1))));
  ASSERT_GT(measuring.peak(), 64U);
  runtime::Workspace small = rig.workspace(measuring.peak() - 64);
  EXPECT_THROW(divide(one.view(), small), OutOfMemoryError);
}

}  // namespace
}  // namespace hemera::conformance
