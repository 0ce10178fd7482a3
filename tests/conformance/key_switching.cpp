// ModUp and the inner product with an evaluation key.
#include "conformance/oracle.hpp"

namespace hemera::conformance {
namespace {

using arith::uint128;
using poly::Form;
using poly::GadgetDigit;
using poly::ModUp;
using poly::RnsBase;

struct Gadget {
  const char* name;
  std::vector<int> bits;
  std::vector<std::uint32_t> base, special, key;  // indices into the ring
  struct Digit {
    std::size_t key_digit;
    std::vector<std::uint32_t> moduli;
    int shift, width;
    std::vector<std::uint32_t> lent = {};
  };
  std::vector<Digit> digits;
  std::vector<std::uint32_t> lent = {};
};

const std::vector<Gadget>& gadgets() {
  static const std::vector<Gadget> list = {
      {"one prime a digit, one special prime",
       {50, 50, 50, 50},
       {0, 1, 2},
       {3},
       {0, 1, 2, 3},
       {{0, {0}, 0, 0}, {1, {1}, 0, 0}, {2, {2}, 0, 0}}},
      {"two primes a digit, two special primes",
       {60, 60, 60, 61, 61},
       {0, 1, 2},
       {3, 4},
       {0, 1, 2, 3, 4},
       {{0, {0, 1}, 0, 0}, {1, {2}, 0, 0}}},
      {"a low level of a longer key",
       {50, 45, 50, 45, 50, 50},
       {0, 1, 2},
       {4, 5},
       {0, 1, 2, 3, 4, 5},
       {{0, {0, 1}, 0, 0}, {1, {2}, 0, 0}}},
      {"digits of scattered primes, used out of order",
       {60, 30, 50, 61, 45, 55},
       {3, 0, 4, 1},
       {5, 2},
       {0, 1, 2, 3, 4, 5},
       {{2, {0, 1}, 0, 0}, {0, {4}, 0, 0}, {3, {3}, 0, 0}}},
      {"all primes in one digit", {45, 45, 60, 60}, {0, 1}, {2, 3}, {0, 1, 2, 3}, {{0, {0, 1}, 0, 0}}},
      {"no special prime",
       {60, 30, 61},
       {0, 1, 2},
       {},
       {0, 1, 2},
       {{0, {0}, 0, 0}, {1, {1}, 0, 0}, {2, {2}, 0, 0}}},
      {"windows of 20 bits, no special prime",
       {60, 30},
       {0, 1},
       {},
       {1, 0},
       {{0, {0}, 0, 20}, {1, {0}, 20, 20}, {2, {0}, 40, 20}, {3, {1}, 0, 20}, {4, {1}, 20, 20}}},
      {"small primes among larger ones",
       {50, 21, 45, 25, 28, 50},
       {0, 1, 2, 3},
       {4, 5},
       {0, 1, 2, 3, 4, 5},
       {{0, {0, 1}, 0, 0}, {1, {2, 3}, 0, 0}}},
      {"windows wider than a target, one special prime",
       {61, 30, 50},
       {0, 1},
       {2},
       {0, 1, 2},
       {{0, {0}, 0, 40}, {1, {0}, 40, 40}, {2, {1}, 0, 0}}},
      {"primes that are 1 modulo 2^32",
       {-59, -60, -59, -60, -60},
       {0, 1, 2},
       {3, 4},
       {0, 1, 2, 3, 4},
       {{0, {0, 1}, 0, 0}, {1, {2}, 0, 0}}},
      {"the same with other special primes",
       {-59, -60, -59, 60, 60},
       {0, 1, 2},
       {3, 4},
       {0, 1, 2, 3, 4},
       {{0, {0, 1}, 0, 0}, {1, {2}, 0, 0}}},
      {"digits of lent primes, and one that nobody's digit is a multiple of",
       {50, 45, 50, 45, 50, 36, 30, 36},
       {0, 1, 2, 3},
       {4, 5, 6, 7},
       {0, 1, 5, 2, 3, 6, 7, 4},
       {{0, {0, 1}, 0, 0, {5}}, {1, {2, 3}, 0, 0, {6}}},
       {5, 6, 7}},
  };
  return list;
}

// One prime a digit, and a special prime.
Gadget of_single_primes(const char* name, std::uint32_t digits, int bits) {
  Gadget gadget{.name = name,
                .bits = std::vector<int>(digits + 1, bits),
                .base = {},
                .special = {digits},
                .key = {},
                .digits = {}};
  for (std::uint32_t i = 0; i < digits; ++i) {
    gadget.base.push_back(i);
    gadget.digits.push_back({i, {i}, 0, 0});
  }
  gadget.key = gadget.base;
  gadget.key.push_back(digits);
  return gadget;
}

constexpr std::size_t montgomery = 9;  // of gadgets(), the first of two

struct Prepared {
  ModUp plan;
  Host in, key;
};

Prepared prepare(Rig& rig, const Gadget& gadget, std::size_t batch) {
  std::vector<GadgetDigit> digits;
  std::size_t key_digits = 0;
  poly::LentModuli lent{.all = rig.choose(gadget.lent)};
  for (const Gadget::Digit& digit : gadget.digits) {
    lent.of_digits.push_back(rig.choose(digit.lent));
    digits.push_back({digit.key_digit, rig.choose(digit.moduli), digit.shift, digit.width});
    key_digits = std::max(key_digits, digit.key_digit + 1);
  }
  const RnsBase base = rig.choose(gadget.base);
  return {.plan = ModUp(base, rig.choose(gadget.special), digits, rig.choose(gadget.key), lent),
          .in = adversarial(rig, base, batch, 1),
          .key = rig.random(rig.choose(gadget.key), key_digits, 2)};
}

// The digits in coefficient form, [batch, digit, limb of extended, N]: with the product R of what is lent,
// and F of what is lent of a digit, it is F times that of R / F x.
Host expected_digits(const ModUp& plan, const Host& in) {
  Host result(plan.extended(), in.shape.batch, plan.digits().size());
  for (std::size_t d = 0; d < plan.digits().size(); ++d) {
    const GadgetDigit& digit = plan.digits()[d];
    const ExactBase exact(digit.moduli);
    const BigInteger lent = arith::product(plan.lent().all.values()),
                     own = arith::product(plan.lent().of_digits[d].values());
    for (std::size_t b = 0; b < in.shape.batch; ++b) {
      for (std::size_t n = 0; n < in.shape.degree; ++n) {
        std::vector<std::uint64_t> residues;
        for (std::size_t i = 0; i < digit.moduli.size(); ++i) {
          const arith::Modulus& q = digit.moduli.modulus(i);
          const std::uint64_t factor = arith::modulo(lent / own, q.value());
          residues.push_back(q.multiply(in.at(b, 0, in.base.position(digit.moduli.index(i)), n), factor));
        }
        const BigInteger value =
            digit.width == 0 ? own * exact.approximate(residues)
                             : BigInteger((residues[0] >> digit.shift) % (std::uint64_t{1} << digit.width));
        for (std::size_t j = 0; j < plan.extended().size(); ++j) {
          result.at(b, d, j, n) = arith::modulo(value, plan.extended().modulus(j).value());
        }
      }
    }
  }
  return result;
}

Host inner_product(const ModUp& plan, const Host& digits, const Host& key) {
  Host result(plan.extended(), digits.shape.batch, key.shape.components);
  for (std::size_t b = 0; b < result.shape.batch; ++b) {
    for (std::size_t c = 0; c < result.shape.components; ++c) {
      for (std::size_t j = 0; j < result.shape.limbs; ++j) {
        const std::uint64_t q = plan.extended().modulus(j).value();
        const std::size_t position = key.base.position(plan.extended().index(j));
        for (std::size_t n = 0; n < result.shape.degree; ++n) {
          std::uint64_t sum = 0;
          for (std::size_t d = 0; d < plan.digits().size(); ++d) {
            const uint128 product = static_cast<uint128>(digits.at(b, d, j, n)) *
                                    key.at(plan.digits()[d].key_digit, c, position, n);
            sum = (sum + static_cast<std::uint64_t>(product % q)) % q;
          }
          result.at(b, c, j, n) = sum;
        }
      }
    }
  }
  return result;
}

void check_gadget(const BackendCase& backend_case, const Gadget& gadget, std::size_t degree,
                  std::size_t batch) {
  SCOPED_TRACE(gadget.name);
  Rig rig(backend_case, degree, gadget.bits);
  const Prepared prepared = prepare(rig, gadget, batch);
  const ModUp& plan = prepared.plan;
  const Host digits =
      rig.transformed(expected_digits(plan, prepared.in), Form::coefficient, Form::evaluation);
  const Host product = inner_product(plan, digits, prepared.key);
  const poly::Poly key = rig.upload(prepared.key);
  for (const Form form : {Form::coefficient, Form::evaluation}) {
    const Host given = rig.transformed(prepared.in, Form::coefficient, form);
    const poly::Poly in = rig.upload(given, form);
    for (const poly::Backend* backend : {rig.backend.get(), rig.defaults.get()}) {
      SCOPED_TRACE(backend->description());
      poly::Poly extended = rig.output(plan.extended(), batch, plan.digits().size());
      poly::Poly separate = rig.output(plan.extended(), batch, 2);
      rig.with_scratch([&](runtime::Workspace& space) {
        backend->mod_up(*rig.queue, extended.view(), in.view(), plan, form, space);
      });
      backend->key_inner_product(*rig.queue, separate.view(), std::as_const(extended).view(), key.view(),
                                 plan);
      ASSERT_TRUE(same(rig.download(extended), digits));
      ASSERT_TRUE(same(rig.download(separate), product));
      if (!gadget.special.empty() || form == Form::coefficient) continue;
      // Nothing to divide by: a switch stores these sums.
      poly::Poly fused = rig.output(plan.extended(), batch, 2);
      const poly::KeySwitch only{fused.view(), key.view()};
      rig.with_scratch([&](runtime::Workspace& space) {
        backend->switch_keys(*rig.queue, std::span(&only, 1), in.view(), plan, nullptr, {}, space);
      });
      ASSERT_TRUE(same(rig.download(fused), product));
    }
    ASSERT_TRUE(same(rig.download(in), given)) << "the input changed";
  }
}

TEST_P(BackendTest, ModUpExtendsDigitsAndMultipliesTheKey) {
  for (const Gadget& gadget : gadgets()) check_gadget(GetParam(), gadget, 1024, 3);
}

TEST_P(BackendTest, ModUpInALargeRing) { check_gadget(GetParam(), gadgets()[2], 32768, 1); }

TEST_P(BackendTest, ModUpOfSmallPrimesInALargeRing) { check_gadget(GetParam(), gadgets()[7], 16384, 2); }

TEST_P(BackendTest, ModUpOfMontgomeryPrimesInALargeRing) {
  for (const std::size_t gadget : {montgomery, montgomery + 1})
    check_gadget(GetParam(), gadgets()[gadget], 8192, 2);
}

// Digits larger than caches hold.
TEST_P(BackendTest, ModUpOfLargeDigitsInALargeRing) {
  Gadget gadget{.name = "digits of five primes",
                .bits = std::vector<int>(14, 50),
                .base = {0, 1, 2, 3, 4, 5, 6, 7},
                .special = {8, 9, 10, 11, 12, 13},
                .key = {},
                .digits = {{0, {0, 1, 2, 3, 4}, 0, 0}, {1, {5, 6, 7}, 0, 0}}};
  for (std::uint32_t i = 0; i < 14; ++i) gadget.key.push_back(i);
  check_gadget(GetParam(), gadget, 16384, 3);
}

TEST_P(BackendTest, ModUpOfManyDigits) {
  // More digits than a lazy sum of 61-bit products holds.
  check_gadget(GetParam(), of_single_primes("40 digits", 40, 61), 1024, 1);
}

// Sums of products that are as large as they get: (q - 1)^2 each, more of them than 128 bits hold.
TEST_P(BackendTest, KeyInnerProductOfMaximalResidues) {
  for (const int bits : {50, 61}) {
    Rig rig(GetParam(), 1024, {bits, bits});
    std::vector<GadgetDigit> windows;
    for (std::size_t d = 0; d < 200; ++d) {
      windows.push_back(
          {.key_digit = d, .moduli = rig.primes(0, 1), .shift = static_cast<int>(d % 40), .width = 1});
    }
    const ModUp plan(rig.primes(0, 1), rig.primes(1, 1), windows, rig.all());
    Host digits(plan.extended(), 1, 200), key(rig.all(), 200, 2), expected(plan.extended(), 1, 2);
    for (Host* host : {&digits, &key}) {
      for (std::size_t i = 0; i < host->words.size(); ++i) {
        host->words[i] = rig.all().modulus(i / 1024 % 2).value() - 1;
      }
    }
    std::fill(expected.words.begin(), expected.words.end(), 200);
    poly::Poly out = rig.output(plan.extended(), 1, 2);
    rig.backend->key_inner_product(*rig.queue, out.view(), rig.upload(digits).view(), rig.upload(key).view(),
                                   plan);
    EXPECT_TRUE(same(rig.download(out), expected));
  }
}

// Rotating before or after the extension gives the same bits: hoisted rotations rely on it.
TEST_P(BackendTest, ModUpCommutesWithAutomorphisms) {
  Rig rig(GetParam(), 1024, gadgets()[1].bits);
  const Prepared prepared = prepare(rig, gadgets()[1], 1);
  const ModUp& plan = prepared.plan;
  const poly::Poly in = rig.upload(rig.transformed(prepared.in, Form::coefficient, Form::evaluation));
  poly::Poly rotated = rig.output(plan.base(), 1, 1);
  poly::Poly before = rig.output(plan.extended(), 1, 2);
  poly::Poly extended = rig.output(plan.extended(), 1, 2);
  poly::Poly after = rig.output(plan.extended(), 1, 2);
  runtime::Workspace space(rig.backend->memory());
  for (const std::uint64_t g : {5, 25, 2047}) {
    rig.backend->automorphism(*rig.queue, rotated.view(), in.view(), g, Form::evaluation, plan.base());
    rig.backend->mod_up(*rig.queue, before.view(), std::as_const(rotated).view(), plan, Form::evaluation,
                        space);
    rig.backend->mod_up(*rig.queue, extended.view(), in.view(), plan, Form::evaluation, space);
    rig.backend->automorphism(*rig.queue, after.view(), extended.view(), g, Form::evaluation,
                              plan.extended());
    ASSERT_TRUE(same(rig.download(before), rig.download(after))) << g;
  }
}

// Sums of switched, turned and multiplied polynomials, beside the sum by the simple operations.
// `own_factors`: some polynomials of the batch have factors of their own.
void check_hoisted_products(const BackendCase& backend_case, const Gadget& gadget, std::size_t degree,
                            std::size_t batch, std::size_t outputs, std::size_t count,
                            bool own_factors = false) {
  SCOPED_TRACE(std::string(gadget.name) + ", " + std::to_string(outputs) + " outputs of " +
               std::to_string(count) + " terms");
  Rig rig(backend_case, degree, gadget.bits);
  const ModUp plan = prepare(rig, gadget, 1).plan;
  const RnsBase& extended = plan.extended();
  std::vector<std::uint64_t> special;
  for (std::size_t i = 0; i < plan.base().size(); ++i)
    special.push_back(plan.base().modulus(i).value() - 1 - i);
  const poly::Poly digits = rig.upload(rig.random(extended, batch, plan.digits().size()));
  const poly::Poly one_digits = rig.upload(rig.random(extended, 1, plan.digits().size()));
  const poly::Poly over_base = rig.upload(rig.random(plan.base(), batch, 2));
  const poly::Poly over_extended = rig.upload(rig.random(extended, batch, 2));
  std::size_t key_digits = 0;
  for (const GadgetDigit& digit : plan.digits()) key_digits = std::max(key_digits, digit.key_digit + 1);
  std::vector<poly::Poly> keys, factors;
  for (std::size_t i = 0; i < 3; ++i) keys.push_back(rig.upload(rig.random(plan.key_base(), key_digits, 2)));
  for (const std::size_t entries :
       {std::size_t{0}, std::size_t{64}, degree / 2, degree / 16, std::max<std::size_t>(64, degree / 256)}) {
    factors.push_back(rig.upload(rig.random(extended, 1, 1, entries)));
  }
  if (own_factors) factors.push_back(rig.upload(rig.random(extended, batch, 1)));

  using Term = poly::HoistedTerm;
  std::vector<Term> terms;
  for (std::size_t k = 0; k < count; ++k) {
    Term term{.galois_element =
                  k % 4 == 0 ? 1 : (4 * k * k + 5 * k + (k % 2 == 0 ? 1 : 0)) % (2 * degree) | 1};
    if (k % 3 != 0) {
      term.digits = (k % 5 == 1 ? one_digits : digits).view();
      term.key = keys[k % keys.size()].view();
    }
    if (k % 4 != 2) term.addend = (k % 2 == 0 ? over_base : over_extended).view();
    if (k % 4 == 3) term.addend = term.addend.components(0, 1);
    for (std::size_t g = 0; g < outputs; ++g) {
      term.factors.push_back((k + g) % 7 == 6 ? poly::ConstPolyView()
                                              : factors[(k + g) % factors.size()].view());
    }
    terms.push_back(std::move(term));
  }
  for (const bool has_factors : {true, false}) {
    if (!has_factors) {
      for (Term& term : terms) term.factors.clear();
    }
    std::vector<Host> expected;
    for (const poly::Backend* backend : {rig.defaults.get(), rig.backend.get()}) {
      std::vector<poly::Poly> sums;
      std::vector<poly::PolyView> views;
      for (std::size_t g = 0; g < outputs; ++g) sums.push_back(rig.output(extended, batch, 2));
      for (poly::Poly& sum : sums) views.push_back(sum.view());
      rig.with_scratch([&](runtime::Workspace& space) {
        backend->hoisted_products(*rig.queue, views, terms, plan, special, space);
      });
      for (std::size_t g = 0; g < outputs; ++g) {
        if (backend == rig.defaults.get()) {
          expected.push_back(rig.download(sums[g]));
        } else {
          ASSERT_TRUE(same(rig.download(sums[g]), expected[g])) << g << (has_factors ? "" : ", no factors");
        }
      }
    }
  }
}

TEST_P(BackendTest, HoistedProducts) {
  for (const Gadget& gadget : gadgets()) {
    check_hoisted_products(GetParam(), gadget, 1024, 3, 2, 7, true);
    check_hoisted_products(GetParam(), gadget, 1024, 4, 2, 7);
  }
  for (const std::size_t outputs : {1, 4, 11}) {
    check_hoisted_products(GetParam(), gadgets()[0], 1024, 1, outputs, 9);
    check_hoisted_products(GetParam(), gadgets()[0], 1024, 2, outputs, 9);
  }
  check_hoisted_products(GetParam(), gadgets()[1], 1024, 2, 3, 70);
  check_hoisted_products(GetParam(), gadgets()[0], 1024, 2, 3, 7, true);
}

// More than are read at a time.
TEST_P(BackendTest, HoistedProductsOfManyDigits) {
  for (const int bits : {45, 61}) {
    const Gadget gadget = of_single_primes("nine digits", 9, bits);
    check_hoisted_products(GetParam(), gadget, 1024, 2, 2, 5);
    // More steps than the shared memory of some devices has room for.
    if (bits == 45) check_hoisted_products(GetParam(), gadget, 1024, 1, 8, 24);
  }
}

TEST_P(BackendTest, HoistedProductsInALargeRing) {
  check_hoisted_products(GetParam(), gadgets()[0], 32768, 1, 4, 6);
  check_hoisted_products(GetParam(), gadgets()[0], 8192, 2, 4, 6);
  check_hoisted_products(GetParam(), gadgets()[montgomery], 8192, 1, 2, 6);
}

// The windows of a residue, as digits of one key.
TEST_P(BackendTest, WindowsOfBits) {
  for (const int bits : {30, 61}) {
    Rig rig(GetParam(), 1024, {bits, 45, 20});
    const RnsBase base = rig.primes(0, 1);
    std::vector<GadgetDigit> windows;
    for (const auto& [shift, width] : {std::pair{0, 1}, {0, 61}, {5, 16}, {20, 40}, {29, 8}}) {
      windows.push_back({.key_digit = windows.size(), .moduli = base, .shift = shift, .width = width});
    }
    const ModUp plan(base, rig.primes(1, 2), windows, rig.all());
    const Host in = rig.random(base, 3, 1);
    const poly::Poly device = rig.upload(in, Form::coefficient);
    for (const poly::Backend* backend : {rig.backend.get(), rig.defaults.get()}) {
      poly::Poly out = rig.output(plan.extended(), 3, windows.size());
      rig.with_scratch([&](runtime::Workspace& space) {
        backend->mod_up(*rig.queue, out.view(), device.view(), plan, Form::coefficient, space);
      });
      ASSERT_TRUE(same(rig.transformed(rig.download(out), Form::evaluation, Form::coefficient),
                       expected_digits(plan, in)));
    }
  }
}

}  // namespace
}  // namespace hemera::conformance
