// Operations on two operands that differ in something: all pairs of operands that have each field of Metadata
// other than the first one has, in all three schemes. The result is right by numbers computed here, or a
// MismatchError says that they do not fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "member_count.hpp"
#include "rlwe/metadata_fields.hpp"
#include "schemes/second_operand_support.hpp"

namespace hemera::second_operand {
namespace {

INSTANTIATE_TEST_SUITE_P(Schemes, SecondOperand, ::testing::Values(Scheme::bfv, Scheme::bgv, Scheme::ckks),
                         [](const auto& tested) { return rlwe::name(tested.param); });

// The fields in which each scheme's operands above differ: none is forgotten.
TEST_P(SecondOperand, EveryFieldIsTried) {
  const std::vector<Operand> all = operands();
  const Metadata& first = all.front().x.meta;
  std::set<std::string> differing;
  for (const Operand& other : all) differing.merge(rlwe::differing_fields(other.x.meta, first));
  // What the scheme has, and has no use for.
  std::set<std::string> unused = {"encoding", "noise_log2", "correction", "spent"};
  if (GetParam() == Scheme::bfv)
    unused = {"scale", "noise_scale_degree", "correction", "largest", "is_complex"};
  if (GetParam() == Scheme::bgv) unused = {"scale", "noise_scale_degree", "largest", "is_complex"};
  for (const rlwe::MetadataField& field : rlwe::metadata_fields()) {
    EXPECT_EQ(differing.contains(field.name), !unused.contains(field.name))
        << field.name << ": an operand that differs in it is missing in operands(), or may be";
  }
  EXPECT_EQ(differing.size() + unused.size(), tests::member_count<Metadata>());
}

TEST_P(SecondOperand, OfSums) {
  const std::vector<Operand> all = operands();
  for (const Operand& a : all) {
    for (const Operand& b : all) {
      SCOPED_TRACE("(" + a.field + ") and (" + b.field + ")");
      const Metadata &x = a.x.meta, &y = b.x.meta;
      Ciphertext in_place = a.x.clone();
      const std::vector<const Ciphertext*> terms = {&a.x, &b.x, &a.x};
      if (!fit(x, y)) {
        EXPECT_THROW(static_cast<void>(evaluator_->add(a.x, b.x)), MismatchError);
        EXPECT_THROW(static_cast<void>(evaluator_->subtract(a.x, b.x)), MismatchError);
        EXPECT_THROW(evaluator_->add_inplace(in_place, b.x), MismatchError);
        EXPECT_THROW(evaluator_->subtract_inplace(in_place, b.x), MismatchError);
        EXPECT_THROW(static_cast<void>(evaluator_->add_many(terms)), MismatchError);
        continue;
      }
      const rlwe::BatchShape batch = shape_of(x, y);
      const std::size_t slots = std::max(x.slots, y.slots);
      const double largest = x.largest + y.largest;
      const Filling filling = joined(Filling(x), Filling(y), false);
      const Rows sums = each(a.rows, b.rows, [&](const Row& u, const Row& v) { return sum(u, v); });
      const Rows rest = each(a.rows, b.rows, [&](const Row& u, const Row& v) { return difference(u, v); });
      expect(evaluator_->add(a.x, b.x), sums, batch, slots, largest, filling);
      expect(evaluator_->subtract(a.x, b.x), rest, batch, slots, largest, filling);
      evaluator_->add_inplace(in_place, b.x);
      expect(in_place, sums, batch, slots, largest, filling);
      in_place = a.x.clone();
      evaluator_->subtract_inplace(in_place, b.x);
      expect(in_place, rest, batch, slots, largest, filling);
      expect(evaluator_->add_many(terms),
             each(sums, a.rows, [&](const Row& u, const Row& v) { return sum(u, v); }), batch, slots,
             largest + x.largest, joined(filling, Filling(x), false));
    }
  }
}

TEST_P(SecondOperand, OfProducts) {
  const std::vector<Operand> all = operands();
  for (const Operand& a : all) {
    for (const Operand& b : all) {
      SCOPED_TRACE("(" + a.field + ") and (" + b.field + ")");
      const Metadata &x = a.x.meta, &y = b.x.meta;
      // Operands of the other order, so that products to be summed differ.
      const std::vector<const Ciphertext*> left = {&a.x, &all.front().x}, right = {&b.x, &all.front().x};
      if (!fit(x, y)) {
        EXPECT_THROW(static_cast<void>(evaluator_->multiply(a.x, b.x)), MismatchError);
        EXPECT_THROW(static_cast<void>(lazy_->multiply(a.x, b.x)), MismatchError);
        EXPECT_THROW(static_cast<void>(evaluator_->dot(left, right)), MismatchError);
        continue;
      }
      const Rows rows =
          each(a.rows, b.rows, [&](const Row& u, const Row& v) { return product(u, v, x.encoding); });
      const rlwe::BatchShape batch = shape_of(x, y);
      const std::size_t slots = slots_of_product(x, y);
      const double largest = x.largest * y.largest;
      const Filling filling = joined(Filling(x), Filling(y), true);
      expect(evaluator_->multiply(a.x, b.x), rows, batch, slots, largest, filling);
      Ciphertext late = lazy_->multiply(a.x, b.x);
      EXPECT_EQ(late.size(), 3U);
      expect(late, rows, batch, slots, largest, filling);
      if (x.encoding != rlwe::Encoding::slots) {
        EXPECT_THROW(static_cast<void>(evaluator_->dot(left, right)), MismatchError);
        continue;
      }
      const Row& first = all.front().rows.front();
      const double own = all.front().x.meta.largest;
      expect(evaluator_->dot(left, right),
             each(rows, [&](const Row& u) { return sum(u, product(first, first, x.encoding)); }), batch,
             std::max(slots, all.front().x.meta.slots), largest + own * own,
             joined(filling, Filling(all.front().x.meta), false));
    }
  }
}

TEST_P(SecondOperand, OfPlaintexts) {
  const std::vector<Operand> all = operands();
  const std::vector<PlainOperand> plain = plaintexts();
  for (const Operand& a : all) {
    for (const PlainOperand& b : plain) {
      SCOPED_TRACE("(" + a.field + ") and the plaintext (" + b.field + ")");
      const Metadata &x = a.x.meta, &y = b.x.meta;
      Ciphertext in_place = a.x.clone();
      const std::vector<const Ciphertext*> left = {&a.x, &a.x};
      const std::vector<const Plaintext*> right = {&b.x, &b.x};
      if (!fit(x, y)) {
        EXPECT_THROW(static_cast<void>(evaluator_->multiply_plain(a.x, b.x)), MismatchError);
        EXPECT_THROW(static_cast<void>(evaluator_->dot(left, right)), MismatchError);
        EXPECT_THROW(evaluator_->add_plain_inplace(in_place, b.x), Error);
        EXPECT_THROW(evaluator_->subtract_plain_inplace(in_place, b.x), Error);
        continue;
      }
      const rlwe::BatchShape batch = shape_of(x, y);
      const Rows rows =
          each(a.rows, b.rows, [&](const Row& u, const Row& v) { return product(u, v, x.encoding); });
      const Filling product_filling = joined(Filling(x), Filling(y), true);
      const Filling sum_filling = joined(Filling(x), Filling(y), false);
      expect(evaluator_->multiply_plain(a.x, b.x), rows, batch, slots_of_product(x, y), x.largest * y.largest,
             product_filling);
      expect(evaluator_->dot(left, right), each(rows, [&](const Row& u) { return sum(u, u); }), batch,
             slots_of_product(x, y), 2 * x.largest * y.largest,
             joined(product_filling, product_filling, false));
      // Scales must be those of the sum: a ScaleError says so, and leaves the operand.
      const std::size_t slots = std::max(x.slots, y.slots);
      try {
        evaluator_->add_plain_inplace(in_place, b.x);
        expect(in_place, each(a.rows, b.rows, [&](const Row& u, const Row& v) { return sum(u, v); }), batch,
               slots, x.largest + y.largest, sum_filling);
        in_place = a.x.clone();
        evaluator_->subtract_plain_inplace(in_place, b.x);
        expect(in_place, each(a.rows, b.rows, [&](const Row& u, const Row& v) { return difference(u, v); }),
               batch, slots, x.largest + y.largest, sum_filling);
      } catch (const ScaleError&) {
        EXPECT_TRUE(is_ckks_ && std::abs(x.scale / y.scale - 1) > 0x1p-30) << "scales are equal";
        expect(in_place, a.rows, x.batch, x.slots, x.largest, Filling(x));
      }
    }
  }
}

TEST_P(SecondOperand, OfNumbers) {
  for (const Operand& a : operands()) {
    SCOPED_TRACE("(" + a.field + ")");
    const Metadata& x = a.x.meta;
    std::vector<std::complex<double>> numbers = {0.0, 1.0, -3.0, is_ckks_ ? 7.0 : 70000.0};
    if (is_ckks_) numbers.insert(numbers.end(), {0.375, {-1.5, 0.25}});
    for (const std::complex<double> number : numbers) {
      SCOPED_TRACE(number.real());
      const std::complex<double> value = is_ckks_ ? number : std::complex<double>(reduced(number.real()));
      // One number: in every slot, or in the polynomial's constant coefficient.
      Row constant(count_, value);
      if (x.encoding == rlwe::Encoding::coefficients) {
        constant.assign(count_, 0);
        constant.front() = value;
      }
      const double size = is_ckks_ ? std::abs(number) : number == 0.0 ? 0.0 : 1.0;
      Filling multiplied(x);
      multiplied.is_complex = x.is_complex || number.imag() != 0;
      Filling added = multiplied;
      if (size != 0 && x.filled != 0 && x.padding == Padding::zeros) added.padding = Padding::unknown;
      expect(evaluator_->add_scalar(a.x, number),
             each(a.rows, [&](const Row& row) { return sum(row, constant); }), x.batch, x.slots,
             x.largest + size, added);
      expect(evaluator_->multiply_scalar(a.x, number),
             each(a.rows, [&](const Row& row) { return product(row, constant, x.encoding); }), x.batch,
             x.slots, size == 0 ? 0 : x.largest * size, multiplied);
    }
  }
}

TEST_P(SecondOperand, OfOperationsOnOne) {
  for (const Operand& a : operands()) {
    SCOPED_TRACE("(" + a.field + ")");
    const Metadata& x = a.x.meta;
    const Filling own(x);
    const auto same = [&](const Ciphertext& y) { expect(y, a.rows, x.batch, x.slots, x.largest, own); };
    const auto negated = each(a.rows, [&](const Row& row) { return difference(Row(count_), row); });
    expect(evaluator_->negate(a.x), negated, x.batch, x.slots, x.largest, own);
    Ciphertext y = a.x.clone();
    evaluator_->negate_inplace(y);
    expect(y, negated, x.batch, x.slots, x.largest, own);
    y = a.x.clone();
    evaluator_->relinearize_inplace(y);
    EXPECT_EQ(y.size(), 2U);
    same(y);
    // A fresh encryption of CKKS would have no scale after it.
    if (!is_ckks_ || x.noise_scale_degree > 1) same(evaluator_->rescale(a.x));
    same(evaluator_->lower_to_level(a.x, 1));
    y = a.x.clone();
    evaluator_->drop_to_level_inplace(y, x.level - 1);
    same(y);
    same(evaluator_->shrink(a.x));
    const auto renewed = rlwe::generate_switching_key(secret_, secret_, x.level);
    same(evaluator_->reencrypt(a.x, renewed));
    const auto power =
        each(a.rows, [&](const Row& row) { return product(product(row, row, x.encoding), row, x.encoding); });
    const std::size_t longer = x.encoding == rlwe::Encoding::slots ? x.slots : 3 * (x.slots - 1) + 1;
    expect(evaluator_->power(a.x, 3), power, x.batch, longer, std::pow(x.largest, 3), own);
    const std::vector<const Ciphertext*> thrice = {&a.x, &a.x, &a.x};
    expect(evaluator_->multiply_many(thrice), power, x.batch, longer, std::pow(x.largest, 3), own);
    if (x.encoding != rlwe::Encoding::slots) {
      EXPECT_THROW(static_cast<void>(evaluator_->rotate(a.x, 1)), MismatchError);
      EXPECT_THROW(static_cast<void>(evaluator_->conjugate(a.x)), MismatchError);
      EXPECT_THROW(static_cast<void>(evaluator_->sum_slots(a.x)), MismatchError);
      continue;
    }
    const std::vector<std::int64_t> steps = {0, 1, 2};
    const std::vector<Ciphertext> hoisted = evaluator_->rotate_hoisted(a.x, steps);
    for (const std::size_t step : {0U, 1U, 2U}) {
      const auto expected = each(a.rows, [&](const Row& row) { return turned(row, step); });
      // One slot of CKKS stays where it is, as all do by no step.
      const Filling filling = step == 0 ? own : turned(own);
      expect(hoisted[step], expected, x.batch, x.slots, x.largest, filling);
      expect(evaluator_->rotate(a.x, static_cast<std::int64_t>(step)), expected, x.batch, x.slots, x.largest,
             filling);
    }
    expect(evaluator_->conjugate(a.x), each(a.rows, [&](const Row& row) { return conjugate(row); }), x.batch,
           x.slots, x.largest, is_ckks_ ? own : turned(own));
    const double terms = static_cast<double>(x.slots);
    Filling summed = own;
    summed.padding = Padding::uniform;
    expect(evaluator_->sum_slots(a.x), each(a.rows, [&](const Row& row) { return total(row, x.slots); }),
           x.batch, x.slots, x.largest * terms, summed);
  }
}

}  // namespace
}  // namespace hemera::second_operand
