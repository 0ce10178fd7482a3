// Keys in words of 50 bits (Word::u50) and the same keys in words of 8 bytes: the same bits everywhere.
#include <algorithm>
#include <utility>

#include "conformance/suite.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::conformance {
namespace {

using poly::ConstPolyView;
using poly::Division;
using poly::Form;
using poly::GadgetDigit;
using poly::ModUp;
using poly::RnsBase;
using poly::Word;

struct Case {
  const char* name;
  std::size_t degree;
  std::vector<int> bits;
  std::size_t base;   // limbs; the others are special
  std::size_t digit;  // limbs
  int window = 0;     // bits; else digits are whole
  std::size_t batch = 2;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"two digits", 1024, {50, 50, 50, 50, 50}, 3, 2},
      {"one digit", 2048, {49, 49, 49, 50, 50, 50}, 3, 3},
      {"no special prime", 1024, {50, 40, 50}, 3, 1},
      {"primes of 30 and 50 bits", 2048, {50, 30, 45, 30, 50}, 4, 1},
      {"more digits than are read at a time", 1024, std::vector<int>(7, 50), 6, 1},
      {"windows", 1024, {49, 30, 50}, 2, 1, 20},
      {"larger rings", 8192, {50, 50, 50, 50}, 3, 2},
      {"rings of two passes alone", 16384, {50, 50, 50}, 2, 1, 0, 1},
  };
  return list;
}

// A ring, its plans, and keys in words of eight bytes.
struct Plans {
  Plans(const BackendCase& backend_case, const Case& given)
      : rig(backend_case, given.degree, given.bits),
        base(rig.primes(0, given.base)),
        special(rig.primes(given.base, given.bits.size() - given.base)),
        up(base, special, digits_of(given), rig.all()) {}

  std::vector<GadgetDigit> digits_of(const Case& given) {
    std::vector<GadgetDigit> digits;
    for (std::size_t first = 0; first < given.base; first += given.digit) {
      const RnsBase moduli = rig.primes(first, std::min(given.digit, given.base - first));
      const int step = given.window == 0 ? 64 : given.window;
      for (int shift = 0; shift < given.bits[first]; shift += step) {
        digits.push_back(
            {.key_digit = digits.size(), .moduli = moduli, .shift = shift, .width = given.window});
      }
    }
    return digits;
  }
  poly::Poly key(std::size_t components = 2) {
    return rig.upload(rig.random(rig.all(), up.digits().size(), components));
  }

  Rig rig;
  RnsBase base, special;
  ModUp up;
};

poly::Poly packed(const Rig& rig, const poly::Poly& key) {
  poly::Poly stored(rig.backend->memory(), key.shape().batch, key.shape().components, key.base(), key.form(),
                    runtime::Secrecy::open, 0, Word::u50);
  rig.backend->copy(*rig.queue, stored.view(), key.view());
  return stored;
}

bool stores_packed(const BackendCase& backend_case) {
  return Rig(backend_case, 1024, {50}).backend->stores(Word::u50);
}

TEST_P(BackendTest, PackedWordsAreCopied) {
  for (const std::size_t degree : {1024, 8192}) {
    Rig rig(GetParam(), degree, {50, 30, 49});
    const poly::Backend& backend = *rig.backend;
    const Host host = rig.random(rig.all(), 3, 2);
    for (const Form form : {Form::evaluation, Form::coefficient}) {
      poly::Poly stored(backend.memory(), 3, 2, rig.all(), form, runtime::Secrecy::open, 0, Word::u50);
      EXPECT_EQ(stored.bytes(), host.words.size() / 4 * 25);
      if (!backend.stores(Word::u50)) {
        EXPECT_THROW(backend.upload(*rig.queue, stored.view(), host.words, form), MismatchError);
        std::vector<std::uint64_t> words(host.words.size());
        EXPECT_THROW(backend.download(*rig.queue, words, stored.view(), form), MismatchError);
        continue;
      }
      backend.upload(*rig.queue, stored.view(), host.words, form);
      ASSERT_TRUE(same(rig.download(stored), host));
      // To eight bytes and back, and a part of it.
      poly::Poly wide = rig.output(rig.all(), 3, 2, form);
      backend.copy(*rig.queue, wide.view(), std::as_const(stored).view());
      ASSERT_TRUE(same(rig.download(wide), host));
      ASSERT_TRUE(same(rig.download(packed(rig, wide)), host));
      poly::Poly part(backend.memory(), 1, 2, rig.primes(1, 2), form, runtime::Secrecy::open, 0, Word::u50);
      backend.copy(*rig.queue, part.view(), std::as_const(stored).view().batches(2, 1).limbs(1, 2));
      Host expected(rig.primes(1, 2), 1, 2);
      for (std::size_t c = 0; c < 2; ++c) {
        for (std::size_t l = 0; l < 2; ++l) {
          for (std::size_t n = 0; n < degree; ++n) expected.at(0, c, l, n) = host.at(2, c, l + 1, n);
        }
      }
      ASSERT_TRUE(same(rig.download(part), expected));
      // From another context's backend, in the same words and in others.
      Rig other(GetParam(), degree, {50, 30, 49});
      for (const Word word : {Word::u50, Word::u64}) {
        poly::Poly there(other.backend->memory(), 3, 2, other.all(), form, runtime::Secrecy::open, 0, word);
        other.backend->copy_from(*other.queue, there.view(), backend, *rig.queue,
                                 std::as_const(stored).view(), form);
        EXPECT_EQ(other.download(there).words, host.words);
      }
    }
  }
}

TEST_P(BackendTest, PackedWordsAreRefusedWhereTheyDoNotFit) {
  Rig rig(GetParam(), 1024, {50, 51});
  const auto make = [&](const RnsBase& base, std::size_t entries) {
    return poly::Poly(rig.backend->memory(), 1, 2, base, Form::evaluation, runtime::Secrecy::open, entries,
                      Word::u50);
  };
  EXPECT_THROW(make(rig.all(), 0), ParameterError) << "51 bits";
  EXPECT_THROW(make(rig.primes(0, 1), 64), ParameterError) << "fewer entries";
  const RnsBase base = rig.primes(0, 1);
  const poly::Poly stored = make(base, 0);
  poly::Poly wide = rig.output(base, 1, 2);
  EXPECT_THROW(rig.backend->add(*rig.queue, wide.view(), wide.view(), stored.view(), base), MismatchError);
  EXPECT_THROW(rig.backend->multiply(*rig.queue, wide.view(), wide.view(), stored.view(), base),
               MismatchError);
  const ModUp up(base, {}, std::vector<GadgetDigit>{{.key_digit = 0, .moduli = base}}, base);
  const poly::Poly in = rig.upload(rig.random(base, 1, 1));
  const poly::KeySwitch switches[] = {{wide.view(), std::as_const(wide).view()},
                                      {wide.view(), stored.view()}};
  EXPECT_THROW(rig.with_scratch([&](runtime::Workspace& space) {
    rig.backend->switch_keys(*rig.queue, switches, in.view(), up, nullptr, {}, space);
  }),
               MismatchError)
      << "keys in different words";
}

TEST_P(BackendTest, PackedKeysSwitchToTheSameBits) {
  if (!stores_packed(GetParam())) GTEST_SKIP() << "PackedWordsAreCopied is about backends without them";
  for (const Case& given : cases()) {
    SCOPED_TRACE(given.name);
    if (GetParam().brief() && given.degree > 4096) continue;  // smaller rings have the same kernels
    Plans plans(GetParam(), given);
    Rig& rig = plans.rig;
    const poly::Backend& backend = *rig.backend;
    const ModUp& up = plans.up;
    const poly::Poly in = rig.upload(rig.random(plans.base, given.batch, 1));
    const poly::Poly addend = rig.upload(rig.random(plans.base, given.batch, 1));
    const poly::Poly a = rig.upload(rig.random(plans.base, given.batch, 2));
    const poly::Poly b = rig.upload(rig.random(plans.base, 1, 2));
    const poly::Poly digits = rig.upload(rig.random(up.extended(), given.batch, up.digits().size()));
    std::vector<poly::Poly> wide, stored;
    for (std::size_t i = 0; i < 3; ++i) {
      wide.push_back(plans.key());
      stored.push_back(packed(rig, wide.back()));
    }
    // To the level, and to the one below it.
    std::vector<std::unique_ptr<const Division>> divisions;
    divisions.push_back(plans.special.empty() ? nullptr
                                              : std::make_unique<const Division>(up.extended(), plans.base));
    if (!plans.special.empty() && given.window == 0) {
      divisions.push_back(
          std::make_unique<const Division>(up.extended(), rig.primes(0, plans.base.size() - 1)));
    }
    const std::uint64_t elements[] = {5, 1, 2 * given.degree - 1};
    for (const auto& division : divisions) {
      const RnsBase& target = division ? division->target() : plans.base;
      SCOPED_TRACE(std::to_string(target.size()) + " limbs");
      const auto switched = [&](const std::vector<poly::Poly>& keys, std::size_t count) {
        std::vector<poly::Poly> outs;
        std::vector<poly::KeySwitch> list;
        for (std::size_t i = 0; i < count; ++i) {
          outs.push_back(rig.output(target, given.batch, 2));
          list.push_back({outs.back().view(), keys[i].view(), elements[i]});
        }
        rig.with_scratch([&](runtime::Workspace& space) {
          backend.switch_keys(*rig.queue, list, in.view(), up, division.get(), addend.view(), space);
        });
        std::vector<Host> results;
        results.reserve(outs.size());
        for (const poly::Poly& out : outs) results.push_back(rig.download(out));
        return results;
      };
      for (const std::size_t count : {1, 3}) {
        const auto expected = switched(wide, count), found = switched(stored, count);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_TRUE(same(found[i], expected[i])) << "key " << i << " of " << count;
        }
      }
      const auto product = [&](const poly::Poly& key) {
        poly::Poly out = rig.output(target, given.batch, 2);
        rig.with_scratch([&](runtime::Workspace& space) {
          backend.multiply_relinearize(*rig.queue, out.view(), a.view(), b.view(), key.view(), up,
                                       division.get(), space);
        });
        return rig.download(out);
      };
      ASSERT_TRUE(same(product(stored[0]), product(wide[0]))) << "product";
    }
    for (const std::size_t components : {2, 3}) {
      const poly::Poly key = components == 2 ? plans.key() : plans.key(3);
      const auto sums = [&](const poly::Poly& of) {
        poly::Poly out = rig.output(up.extended(), given.batch, components);
        backend.key_inner_product(*rig.queue, out.view(), digits.view(), of.view(), up);
        return rig.download(out);
      };
      ASSERT_TRUE(same(sums(packed(rig, key)), sums(key))) << components << " components";
    }
  }
}

TEST_P(BackendTest, PackedKeysInHoistedProducts) {
  if (!stores_packed(GetParam())) GTEST_SKIP() << "PackedWordsAreCopied is about backends without them";
  struct Products {
    std::size_t digits, outputs, terms;
  };
  // Digits of one step and of several, outputs of every kernel, more terms than one launch takes.
  for (const Products& given : {Products{1, 1, 5}, {2, 2, 7}, {3, 4, 6}, {4, 9, 6}, {6, 3, 5}, {2, 1, 40}}) {
    SCOPED_TRACE(std::to_string(given.digits) + " digits");
    const std::size_t batch = given.terms > 30 ? 1 : given.digits == 2 ? 3 : 2;
    Plans plans(GetParam(),
                {"products", 1024, std::vector<int>(given.digits + 1, 50), given.digits, 1, 0, batch});
    Rig& rig = plans.rig;
    const RnsBase& extended = plans.up.extended();
    std::vector<std::uint64_t> special;
    for (std::size_t i = 0; i < plans.base.size(); ++i) {
      special.push_back(plans.base.modulus(i).value() - 1 - i);
    }
    const poly::Poly digits = rig.upload(rig.random(extended, batch, given.digits));
    const poly::Poly over_base = rig.upload(rig.random(plans.base, batch, 2));
    const poly::Poly over_extended = rig.upload(rig.random(extended, 1, 2));
    std::vector<poly::Poly> wide, stored, factors;
    for (std::size_t i = 0; i < 3; ++i) {
      wide.push_back(plans.key());
      stored.push_back(packed(rig, wide.back()));
    }
    enum class Factors : std::uint8_t { none, whole, few, mixed };
    for (const std::size_t entries : {0, 0, 64, 64, 256}) {
      factors.push_back(rig.upload(rig.random(extended, 1, 1, entries)));
    }
    for (const Factors kind : {Factors::none, Factors::whole, Factors::few, Factors::mixed}) {
      const auto sums = [&](const std::vector<poly::Poly>& keys) {
        std::vector<poly::HoistedTerm> terms;
        for (std::size_t k = 0; k < given.terms; ++k) {
          poly::HoistedTerm term{.galois_element = k % 4 == 0 ? 1 : 4 * k + 1};
          if (k % 3 != 0) {
            term.digits = digits.view();
            term.key = keys[k % keys.size()].view();
          }
          if (k % 4 != 2) term.addend = (k % 2 == 0 ? over_base : over_extended).view();
          if (k % 4 == 3) term.addend = term.addend.components(0, 1);
          for (std::size_t g = 0; g < given.outputs && kind != Factors::none; ++g) {
            const std::size_t first = kind == Factors::few ? 2 : 0, count = kind == Factors::mixed ? 5 : 2;
            term.factors.push_back(factors[first + (k + g) % count].view());
          }
          terms.push_back(std::move(term));
        }
        std::vector<poly::Poly> outs;
        std::vector<poly::PolyView> views;
        for (std::size_t g = 0; g < given.outputs; ++g) outs.push_back(rig.output(extended, batch, 2));
        for (poly::Poly& out : outs) views.push_back(out.view());
        rig.with_scratch([&](runtime::Workspace& space) {
          rig.backend->hoisted_products(*rig.queue, views, terms, plans.up, special, space);
        });
        std::vector<Host> results;
        results.reserve(outs.size());
        for (const poly::Poly& out : outs) results.push_back(rig.download(out));
        return results;
      };
      const auto expected = sums(wide), found = sums(stored);
      for (std::size_t g = 0; g < given.outputs; ++g) {
        ASSERT_TRUE(same(found[g], expected[g])) << "output " << g << ", factors " << static_cast<int>(kind);
      }
    }
  }
}

}  // namespace
}  // namespace hemera::conformance
