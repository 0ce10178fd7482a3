// A key switch in one operation, against its parts by the defaults, in rings where a backend may fuse them.
#include "conformance/switching.hpp"

#include <algorithm>

#include "conformance/oracle.hpp"

namespace hemera::conformance {

const std::vector<Switch>& switches() {
  static const std::vector<Switch> list = {
      {"a small ring", 1024, {50, 50, 50, 50}, 3, 2, 2},
      {"small rings of every size", 1024, {60, 61, 50, 45, 61, 55}, 4, 2, 1},
      {"of 2^11, in one digit", 2048, {-60, -60, -60, -60, -60}, 3, 3, 3},
      {"of 2^12, with more sources than a thread takes at a time", 4096, std::vector<int>(12, 50), 6, 5, 2},
      {"of 2^12, one prime a digit", 4096, {40, 61, 40, 61, 61}, 4, 1, 1},
      {"no special prime", 1024, {50, 50, 50}, 3, 1, 1},
      {"one special prime", 8192, {49, 49, 49, 49}, 3, 1, 2},
      {"primes of 30 and 50 bits", 8192, {50, 30, 45, 30, 50}, 3, 2, 1},
      {"small primes among larger ones", 8192, {50, 21, 45, 25, 28, 50}, 4, 2, 1},
      {"primes of 61 bits", 8192, {61, 61, 61, 61, 61, 61}, 4, 2, 1},
      {"primes that are 1 modulo 2^32", 8192, {-60, -60, -60, -60, -60}, 3, 2, 2},
      {"primes of all sizes", 8192, {60, 30, 50, 45, 61, 55, 61}, 5, 2, 1},
      {"a wide special prime", 8192, {50, 50, 50, 60}, 3, 2, 1},
      {"nine sources", 8192, std::vector<int>(20, 50), 11, 9, 1},
      {"more sources than the tensor cores take", 8192, std::vector<int>(27, 50), 14, 13, 1},
      {"two passes, primes of 61 bits", 16384, {61, 61, 61, 61}, 2, 2, 1},
      {"two passes, primes that are 1 modulo 2^32", 16384, {-60, -60, -60}, 2, 1, 1},
      {"lent moduli", 8192, {50, 50, 45, 50, 50, 36, 50, 30, 36}, 4, 2, 2, 4},
      {"lent moduli in a small ring", 2048, {-60, -60, -60, -60, -60, -60}, 3, 2, 1, 2},
      {"a larger ring", 16384, {50, 50, 50, 50, 50, 50, 50}, 5, 2, 1},
      {"the largest ring", 131072, {50, 50, 50}, 2, 2, 1},
      {"the largest ring, one prime a digit", 131072, {60, 60, 60}, 2, 1, 1},
  };
  return list;
}

namespace {

using poly::Division;
using poly::Form;
using poly::GadgetDigit;
using poly::ModUp;
using poly::RnsBase;

std::vector<std::uint64_t> largest_residues(const RnsBase& base) {
  std::vector<std::uint64_t> residues;
  for (const std::uint64_t prime : base.values()) residues.push_back(prime - 1);
  return residues;
}

// A constant to all values of the first component, by the defaults.
void add_to_first(const Rig& rig, poly::Poly& sum, std::span<const std::uint64_t> constant) {
  const poly::PolyView first = sum.view().components(0, 1);
  rig.defaults->add_scalar(*rig.queue, first, first, constant, Form::evaluation, sum.base());
}

// The ring and the plans of a case.
struct Plans {
  Plans(const BackendCase& backend_case, const Switch& given) : Plans(backend_case, given, given.bits) {}
  // In a ring of these primes, of which the first ones are the case's.
  Plans(const BackendCase& backend_case, const Switch& given, const std::vector<int>& bits)
      : rig(backend_case, given.degree, bits, {65537}),
        base(rig.primes(0, given.base)),
        special(rig.primes(given.base, given.bits.size() - given.base)),
        up(base, special, digits_of(given), rig.all(), lent_of(given)) {}

  std::vector<GadgetDigit> digits_of(const Switch& given) {
    std::vector<GadgetDigit> digits;
    for (std::size_t first = 0; first < given.base; first += given.digit) {
      digits.push_back({.key_digit = digits.size(),
                        .moduli = rig.primes(first, std::min(given.digit, given.base - first))});
    }
    return digits;
  }
  poly::LentModuli lent_of(const Switch& given) {
    const std::size_t digits = (given.base + given.digit - 1) / given.digit;
    poly::LentModuli lent{.all = rig.primes(given.bits.size() - given.lent, given.lent),
                          .of_digits = std::vector<RnsBase>(digits)};
    for (std::size_t i = 0; i < given.lent; ++i) {
      // A digit of one modulus is a multiple of no others.
      const std::size_t digit = i % (digits + 1);
      if (digit == digits || (digit + 1) * given.digit > given.base) continue;
      lent.of_digits[digit] = lent.of_digits[digit].united(rig.primes(given.bits.size() - given.lent + i, 1));
    }
    return lent;
  }
  // The division by the special limbs; null if there are none.
  [[nodiscard]] std::unique_ptr<const Division> division(bool corrected) const {
    if (special.empty()) return nullptr;
    return std::make_unique<const Division>(up.extended(), base, corrected ? rig.plaintext(0) : RnsBase());
  }
  poly::Poly key() { return rig.upload(rig.random(rig.all(), up.digits().size(), 2)); }

  Rig rig;
  RnsBase base, special;
  ModUp up;
};

// One switch alone.
void switch_key(const Rig& rig, const poly::Backend& backend, const poly::KeySwitch& only,
                const poly::ConstPolyView& in, const ModUp& up, const Division* down,
                const poly::ConstPolyView& addend) {
  rig.with_scratch([&](runtime::Workspace& space) {
    backend.switch_keys(*rig.queue, std::span(&only, 1), in, up, down, addend, space);
  });
}

TEST_P(SwitchTest, SwitchKeyIsItsParts) {
  const Switch& given = chosen();
  SCOPED_TRACE(given.name);
  if (backend_case().emulated && given.digit > 12) {
    GTEST_SKIP() << "runs unfused, by the operations of smaller cases";
  }
  Plans plans(backend_case(), given);
  Rig& rig = plans.rig;
  const poly::Backend& backend = *rig.backend;
  const RnsBase &base = plans.base, &special = plans.special;
  const ModUp& up = plans.up;
  const poly::Poly key = plans.key();
  const Host residues = adversarial(rig, base, given.batch, 1);
  const poly::Poly in = rig.upload(rig.transformed(residues, Form::coefficient, Form::evaluation));
  const poly::Poly one = rig.upload(rig.random(base, given.batch, 1));
  const poly::Poly two = rig.upload(rig.random(base, 1, 2));
  for (const bool corrected : {false, true}) {
    if (corrected && special.empty()) continue;
    const auto division = plans.division(corrected);
    // The parts, each by its default.
    poly::Poly extended = rig.output(up.extended(), given.batch, up.digits().size());
    poly::Poly sum = rig.output(up.extended(), given.batch, 2);
    poly::Poly quotient = rig.output(base, given.batch, 2);
    rig.with_scratch([&](runtime::Workspace& space) {
      rig.defaults->mod_up(*rig.queue, extended.view(), in.view(), up, Form::evaluation, space);
    });
    rig.defaults->key_inner_product(*rig.queue, sum.view(), std::as_const(extended).view(), key.view(), up);
    if (division) {
      rig.with_scratch([&](runtime::Workspace& space) {
        rig.defaults->divide_and_round(*rig.queue, quotient.view(), std::as_const(sum).view(), *division,
                                       Form::evaluation, space);
      });
    } else {
      backend.copy(*rig.queue, quotient.view(), std::as_const(sum).view());
    }
    for (const poly::ConstPolyView& addend : {poly::ConstPolyView(), one.view(), two.view()}) {
      if (backend_case().brief() && corrected != (addend.data == two.view().data)) continue;
      poly::Poly expected = rig.output(base, given.batch, 2);
      backend.copy(*rig.queue, expected.view(), std::as_const(quotient).view());
      if (addend.data != nullptr) {
        const poly::PolyView part = expected.view().components(0, addend.shape.components);
        backend.add(*rig.queue, part, part, addend, base);
      }
      for (const std::uint64_t element : {std::uint64_t{1}, 2 * given.degree - 1, std::uint64_t{5}}) {
        // Briefly: one element a case, and two where the ring is small.
        if (backend_case().brief() &&
            element != (addend.data == two.view().data || special.empty() ? 5 : 1) &&
            (given.degree > 1024 || element == 1)) {
          continue;
        }
        poly::Poly permuted = rig.output(base, given.batch, 2);
        backend.automorphism(*rig.queue, permuted.view(), std::as_const(expected).view(), element,
                             Form::evaluation, base);
        for (const bool use_default : {false, true}) {
          if (backend_case().brief() && use_default) continue;
          poly::Poly out = rig.output(base, given.batch, 2);
          switch_key(rig, use_default ? *rig.defaults : backend, {out.view(), key.view(), element}, in.view(),
                     up, division.get(), addend);
          ASSERT_TRUE(same(rig.download(out), rig.download(permuted)))
              << (use_default ? "default" : "override") << (corrected ? ", corrected" : "")
              << ", Galois element " << element << ", addend of "
              << (addend.data == nullptr ? 0 : addend.shape.components);
        }
      }
    }
    // In place of the addend.
    poly::Poly place = rig.upload(rig.download(two));
    if (given.batch == 1) {
      switch_key(rig, backend, {place.view(), key.view()}, in.view(), up, division.get(),
                 std::as_const(place).view());
      poly::Poly expected = rig.output(base, 1, 2);
      backend.add(*rig.queue, expected.view(), std::as_const(quotient).view(), two.view(), base);
      ASSERT_TRUE(same(rig.download(place), rig.download(expected))) << "in place";
    }
  }
}

// Cases that an emulation leaves to SwitchKeyIsItsParts.
constexpr const char* too_long = "SwitchKeyIsItsParts is enough for an emulation";
bool is_long(const Switch& given) { return given.degree > 16384 || given.bits.size() > 6; }

TEST_P(SwitchTest, SwitchKeysIsEachSwitch) {
  const Switch& given = chosen();
  SCOPED_TRACE(given.name);
  if (backend_case().emulated && is_long(given)) GTEST_SKIP() << too_long;
  Plans plans(backend_case(), given);
  const auto division = plans.division(false);
  const Division* down = division.get();
  Rig& rig = plans.rig;
  const poly::Backend& backend = *rig.backend;
  const poly::Poly in = rig.upload(rig.random(plans.base, given.batch, 1));
  const poly::Poly addend = rig.upload(rig.random(plans.base, given.batch, 1));
  // More than go together.
  std::vector<std::uint64_t> elements = {5, 1, 2 * given.degree - 1, 25, 125};
  if (backend_case().instrumented) elements.resize(2);
  std::vector<poly::Poly> keys;
  std::vector<Host> expected;
  for (const std::uint64_t element : elements) {
    keys.push_back(plans.key());
    poly::Poly out = rig.output(plans.base, given.batch, 2);
    switch_key(rig, backend, {out.view(), keys.back().view(), element}, in.view(), plans.up, down,
               addend.view());
    expected.push_back(rig.download(out));
  }
  for (const bool use_default : {false, true}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, elements.size()}) {
      if (backend_case().brief() && (use_default || count != elements.size())) continue;
      std::vector<poly::Poly> outs;
      std::vector<poly::KeySwitch> list;
      for (std::size_t i = 0; i < count; ++i) {
        outs.push_back(rig.output(plans.base, given.batch, 2));
        list.push_back({outs.back().view(), std::as_const(keys[i]).view(), elements[i]});
      }
      rig.with_scratch([&](runtime::Workspace& space) {
        const poly::Backend& chosen_backend = use_default ? *rig.defaults : backend;
        chosen_backend.switch_keys(*rig.queue, list, in.view(), plans.up, down, addend.view(), space);
      });
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(same(rig.download(outs[i]), expected[i]))
            << (use_default ? "default" : "override") << ", key " << i << " of " << count;
      }
    }
  }
}

TEST_P(SwitchTest, ModUpDividesFirst) {
  const Switch& given = chosen();
  for (const bool corrected : {false, true}) {
    if (given.base == given.bits.size() || (corrected && backend_case().brief())) continue;
    Plans plans(backend_case(), given);
    const auto division = plans.division(corrected);
    Rig& rig = plans.rig;
    const ModUp& up = plans.up;
    const poly::Poly in = rig.upload(adversarial(rig, up.extended(), given.batch, 1));
    poly::Poly quotient = rig.output(plans.base, given.batch, 1);
    poly::Poly expected = rig.output(up.extended(), given.batch, up.digits().size());
    rig.with_scratch([&](runtime::Workspace& space) {
      rig.defaults->divide_and_round(*rig.queue, quotient.view(), in.view(), *division, Form::evaluation,
                                     space);
      rig.defaults->mod_up(*rig.queue, expected.view(), std::as_const(quotient).view(), up, Form::evaluation,
                           space);
    });
    for (const poly::Backend* backend : {rig.backend.get(), rig.defaults.get()}) {
      poly::Poly out = rig.output(up.extended(), given.batch, up.digits().size());
      rig.with_scratch([&](runtime::Workspace& space) {
        backend->mod_up(*rig.queue, out.view(), in.view(), up, Form::evaluation, space, division.get());
      });
      ASSERT_TRUE(same(rig.download(out), rig.download(expected))) << "corrected: " << corrected;
    }
  }
}

TEST_P(SwitchTest, MultiplyRelinearizeIsItsParts) {
  const Switch& given = chosen();
  SCOPED_TRACE(given.name);
  if (backend_case().emulated && is_long(given)) GTEST_SKIP() << too_long;
  for (const bool corrected : {false, true}) {
    if (corrected && (given.base == given.bits.size() || backend_case().brief())) continue;
    Plans plans(backend_case(), given);
    Rig& rig = plans.rig;
    const poly::Backend& backend = *rig.backend;
    const auto division = plans.division(corrected);
    const Division* down = division.get();
    const poly::Poly key = plans.key();
    const poly::Poly a = rig.upload(rig.random(plans.base, given.batch, 2));
    const poly::Poly b = rig.upload(rig.random(plans.base, given.batch, 2));
    Host ends(plans.base, 1, 2);  // the largest products and sums of them
    for (std::size_t i = 0; i < ends.words.size(); ++i) {
      ends.words[i] = plans.base.modulus(i / given.degree % given.base).value() - 1;
    }
    const poly::Poly largest = rig.upload(ends);
    const std::vector<std::uint64_t> constant = largest_residues(plans.base);
    const std::pair<const poly::Poly*, const poly::Poly*> operands[] = {
        {&a, &b}, {&a, &a}, {&largest, &b}, {&largest, &largest}};
    for (const auto& [left, right] : operands) {
      if (backend_case().emulated && left != &largest && right == left) continue;
      if (backend_case().instrumented && right != &b) continue;
      const std::size_t batch = std::max(left->shape().batch, right->shape().batch);
      poly::Poly product = rig.output(plans.base, batch, 3);
      poly::Poly expected = rig.output(plans.base, batch, 2);
      const poly::ConstPolyView a_view = left->view(), b_view = right->view();
      backend.inner_product(*rig.queue, product.view(), std::span(&a_view, 1), std::span(&b_view, 1),
                            plans.base);
      const poly::ConstPolyView parts = std::as_const(product).view();
      switch_key(rig, backend, {expected.view(), key.view()}, parts.components(2, 1), plans.up, down,
                 parts.components(0, 2));
      poly::Poly with_constant = rig.upload(rig.download(expected));
      add_to_first(rig, with_constant, constant);
      for (const bool use_default : {false, true}) {
        if (backend_case().brief() && use_default) continue;
        for (const auto& [added, result] : {std::pair(std::span<const std::uint64_t>(), &expected),
                                            std::pair(std::span(constant), &with_constant)}) {
          poly::Poly out = rig.output(plans.base, batch, 2);
          rig.with_scratch([&](runtime::Workspace& space) {
            const poly::Backend& chosen_backend = use_default ? *rig.defaults : backend;
            chosen_backend.multiply_relinearize(*rig.queue, out.view(), a_view, b_view, key.view(), plans.up,
                                                down, space, added);
          });
          ASSERT_TRUE(same(rig.download(out), rig.download(*result)))
              << (use_default ? "default" : "override") << (corrected ? ", corrected" : "") << added.size();
        }
      }
    }
  }
}

// Key switch and rescale in one division, to bases that are a part of the level's or have a prime of their
// own: the parts, by their defaults.
TEST_P(SwitchTest, SwitchesMayEndInAnotherBase) {
  const Switch& given = chosen();
  SCOPED_TRACE(given.name);
  if (backend_case().emulated && (given.digit > 12 || given.degree > 16384)) GTEST_SKIP() << too_long;
  std::vector<int> bits = given.bits;
  bits.push_back(*std::max_element(bits.begin(), bits.end()));  // of another arithmetic, where one is wide
  Plans plans(backend_case(), given, bits);
  Rig& rig = plans.rig;
  const RnsBase& base = plans.base;
  const ModUp& up = plans.up;
  const poly::Poly key = plans.key();
  const poly::Poly a = rig.upload(rig.random(base, given.batch, 2)), b = rig.upload(rig.random(base, 1, 2));
  poly::Poly product = rig.output(base, given.batch, 3);
  const poly::ConstPolyView a_view = a.view(), b_view = b.view();
  rig.backend->inner_product(*rig.queue, product.view(), std::span(&a_view, 1), std::span(&b_view, 1), base);
  const poly::ConstPolyView in = std::as_const(product).view().components(2, 1);
  const poly::ConstPolyView addend = std::as_const(product).view().components(0, 2);

  poly::Poly extended = rig.output(up.extended(), given.batch, up.digits().size());
  poly::Poly sum = rig.output(up.extended(), given.batch, 2);
  poly::Poly scaled = rig.output(base, given.batch, 2);
  rig.with_scratch([&](runtime::Workspace& space) {
    rig.defaults->mod_up(*rig.queue, extended.view(), in, up, Form::evaluation, space);
  });
  rig.defaults->key_inner_product(*rig.queue, sum.view(), std::as_const(extended).view(), key.view(), up);
  const Host without_addend = rig.download(sum);
  std::vector<std::uint64_t> special(base.size(), 1);
  for (std::size_t i = 0; i < base.size(); ++i) {
    for (const std::uint64_t prime : plans.special.values()) {
      special[i] = base.modulus(i).multiply(special[i], base.modulus(i).reduce(prime));
    }
  }
  rig.backend->multiply_scalar(*rig.queue, scaled.view(), addend, special, base);
  const poly::PolyView of_base = sum.view().limbs(0, base.size());
  rig.backend->add(*rig.queue, of_base, of_base, std::as_const(scaled).view(), base);

  const RnsBase added = rig.primes(bits.size() - 1, 1);
  const RnsBase part = rig.primes(0, base.size() - 1);
  const RnsBase turned = added.united(rig.primes(1, base.size() - 1));  // limbs change their places
  for (const RnsBase& target : {part, turned}) {
    for (const bool corrected : {false, true}) {
      if (corrected && (backend_case().brief() || target == turned)) continue;
      SCOPED_TRACE(target == part ? "a part" : "with a prime of its own");
      const Division down(up.extended(), target, corrected ? rig.plaintext(0) : RnsBase());
      const auto divided = [&](const poly::ConstPolyView& sums, std::uint64_t element) {
        poly::Poly quotient = rig.output(target, given.batch, 2);
        poly::Poly permuted = rig.output(target, given.batch, 2);
        rig.with_scratch([&](runtime::Workspace& space) {
          rig.defaults->divide_and_round(*rig.queue, quotient.view(), sums, down, Form::evaluation, space);
        });
        rig.backend->automorphism(*rig.queue, permuted.view(), std::as_const(quotient).view(), element,
                                  Form::evaluation, target);
        return rig.download(permuted);
      };
      const poly::Poly alone = rig.upload(without_addend);
      const Host with_addend = divided(std::as_const(sum).view(), 1);
      const Host of_switch = divided(alone.view(), 5);
      for (const bool use_default : {false, true}) {
        if (backend_case().brief() && use_default) continue;
        SCOPED_TRACE(use_default ? "default" : "override");
        const poly::Backend& backend = use_default ? *rig.defaults : *rig.backend;
        poly::Poly out = rig.output(target, given.batch, 2);
        switch_key(rig, backend, {out.view(), key.view()}, in, up, &down, addend);
        ASSERT_TRUE(same(rig.download(out), with_addend));
        switch_key(rig, backend, {out.view(), key.view(), 5}, in, up, &down, {});
        ASSERT_TRUE(same(rig.download(out), of_switch)) << "rotated, without addend";
        poly::Poly expected = rig.upload(with_addend);
        for (const std::vector<std::uint64_t>& constant :
             {std::vector<std::uint64_t>(), largest_residues(target)}) {
          if (!constant.empty()) add_to_first(rig, expected, constant);
          out = rig.output(target, given.batch, 2);
          rig.with_scratch([&](runtime::Workspace& space) {
            backend.multiply_relinearize(*rig.queue, out.view(), a_view, b_view, key.view(), up, &down, space,
                                         constant);
          });
          ASSERT_TRUE(same(rig.download(out), rig.download(expected))) << "product " << constant.size();
        }
      }
    }
  }
}

}  // namespace
}  // namespace hemera::conformance
