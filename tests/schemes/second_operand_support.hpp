// Operands that differ from the first in one field of Metadata each, and the results of operations on them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "test_device.hpp"

namespace hemera::second_operand {

using rlwe::Ciphertext;
using rlwe::Metadata;
using rlwe::Padding;
using rlwe::Plaintext;
using rlwe::Scheme;

inline constexpr std::size_t degree = 1024;
inline constexpr double t = 65537;

// One object of a batch: as many numbers as a plaintext has, which repeat (CKKS) or end with zeros. Integers
// modulo t are exact as doubles.
using Row = std::vector<std::complex<double>>;
using Rows = std::vector<Row>;

struct Operand {
  std::string field;  // in which it differs from the first
  Ciphertext x;
  Rows rows;
};
struct PlainOperand {
  std::string field;
  Plaintext x;
  Rows rows;
};

class SecondOperand : public ::testing::TestWithParam<Scheme> {
 protected:
  bool is_ckks_ = GetParam() == Scheme::ckks;
  std::size_t count_ = is_ckks_ ? degree / 2 : degree;
  std::shared_ptr<const rlwe::Context> context_ = tests::make_context(parameters());
  rlwe::SecretKey secret_ = rlwe::generate_secret_key(context_);
  rlwe::EvaluationKeys keys_ = rlwe::generate_keys(secret_, {.rotations = sums(), .conjugation = true});
  std::unique_ptr<rlwe::Evaluator> evaluator_ = any_scheme::make_evaluator(context_, keys_);
  std::unique_ptr<rlwe::Evaluator> lazy_ =
      any_scheme::make_evaluator(context_, keys_, rlwe::Relinearization::lazy);
  std::mt19937_64 random_{7};

  static rlwe::Parameters parameters() {
    if (GetParam() == Scheme::ckks) {
      return ckks::parameters_for({.depth = 5, .slots = 512, .degree = degree, .security = std::nullopt});
    }
    const integer::CircuitRequest request{
        .depth = 5, .plain_modulus = 65537, .slots = degree, .degree = degree, .security = std::nullopt};
    return GetParam() == Scheme::bfv ? bfv::parameters_for(request) : bgv::parameters_for(request);
  }
  [[nodiscard]] std::vector<std::int64_t> sums() const {
    return rlwe::rotations_for_sum(context_->parameters(), count_);
  }

  // --- In the clear ---

  [[nodiscard]] double reduced(double x) const {
    const double rest = std::fmod(x, t);
    return rest < 0 ? rest + t : rest;
  }
  [[nodiscard]] Row mapped(
      const Row& a, const Row& b,
      const std::function<std::complex<double>(std::complex<double>, std::complex<double>)>& f) const {
    Row result(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      result[i] = f(a[i], b[i]);
      if (!is_ckks_) result[i] = reduced(result[i].real());
    }
    return result;
  }
  [[nodiscard]] Row sum(const Row& a, const Row& b) const { return mapped(a, b, std::plus<>()); }
  [[nodiscard]] Row difference(const Row& a, const Row& b) const { return mapped(a, b, std::minus<>()); }
  [[nodiscard]] Row product(const Row& a, const Row& b, rlwe::Encoding encoding) const {
    if (encoding == rlwe::Encoding::slots) return mapped(a, b, std::multiplies<>());
    Row result(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      if (a[i] == 0.0) continue;
      for (std::size_t j = 0; j < count_; ++j) {
        const double term = reduced(a[i].real() * b[j].real());
        auto& to = result[(i + j) % count_];
        to = reduced(to.real() + (i + j < count_ ? term : -term));
      }
    }
    return result;
  }
  [[nodiscard]] Row turned(const Row& a, std::size_t steps) const {
    Row result(count_);
    const std::size_t row = degree / 2;
    for (std::size_t i = 0; i < count_; ++i) result[i] = a[i / row * row + (i % row + steps) % row];
    return result;
  }
  [[nodiscard]] Row conjugate(const Row& a) const {
    Row result(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      result[i] = is_ckks_ ? std::conj(a[i]) : a[(i + degree / 2) % degree];
    }
    return result;
  }
  [[nodiscard]] Row total(const Row& a, std::size_t slots) const {
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < (is_ckks_ ? slots : count_); ++i) sum += a[i];
    return Row(count_, is_ckks_ ? sum : reduced(sum.real()));
  }
  // Each row of a with that of b, of which one may be single.
  static Rows each(const Rows& a, const Rows& b, const std::function<Row(const Row&, const Row&)>& f) {
    Rows result;
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      result.push_back(f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
    }
    return result;
  }
  static Rows each(const Rows& a, const std::function<Row(const Row&)>& f) {
    Rows result;
    for (const Row& row : a) result.push_back(f(row));
    return result;
  }

  // --- Operands ---

  Rows values(std::size_t batch, std::size_t slots, std::size_t filled = 0) {
    Rows rows(batch, Row(count_));
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (Row& row : rows) {
      for (std::size_t i = 0; i < (filled == 0 ? slots : filled); ++i) {
        row[i] = is_ckks_ ? std::complex<double>(uniform(random_), uniform(random_))
                          : std::complex<double>(static_cast<double>(random_() % 65537));
      }
      for (std::size_t i = slots; is_ckks_ && i < count_; ++i) row[i] = row[i % slots];
    }
    return rows;
  }
  struct Encoded {
    rlwe::BatchShape batch = {};
    std::size_t slots = 8;
    rlwe::Encoding encoding = rlwe::Encoding::slots;
    std::optional<std::size_t> level = {};
    double scale_factor = 1;
    std::optional<double> largest = 2;
    // CKKS: of the slots, where not all are.
    std::size_t filled = 0;
    bool is_complex = false;
  };
  Plaintext encode(const Rows& rows, const Encoded& how) const {
    if (is_ckks_) {
      std::vector<std::complex<double>> flat;
      for (const Row& row : rows)
        flat.insert(flat.end(), row.begin(), row.begin() + static_cast<long>(how.slots));
      const std::size_t level = how.level.value_or(context_->top_level());
      Plaintext plain = ckks::Encoder(context_).encode(
          flat, how.batch, level, context_->scales().level_scale(level) * how.scale_factor,
          how.largest ? *how.largest : HUGE_VAL);
      plain.meta.filled = how.filled;
      plain.meta.is_complex = how.is_complex;
      return plain;
    }
    std::vector<std::int64_t> flat;
    for (const Row& row : rows) {
      for (std::size_t i = 0; i < how.slots; ++i) flat.push_back(static_cast<std::int64_t>(row[i].real()));
    }
    return integer::Encoder(context_).encode(flat, how.batch, how.encoding, how.level);
  }
  Operand operand(const std::string& field, const Encoded& how) {
    Rows rows = values(rlwe::batch_count(how.batch), how.slots, how.filled);
    Ciphertext x = any_scheme::encrypt(encode(rows, how), keys_);
    return {field, std::move(x), std::move(rows)};
  }
  // One value in all slots, which operations know to be one.
  Operand uniform(const Encoded& how) {
    Operand result = operand("padding", how);
    if (is_ckks_) {
      // As a sum makes it, but without growing values.
      for (Row& row : result.rows) row.assign(count_, row.front());
      Plaintext plain = encode(result.rows, how);
      plain.meta.padding = rlwe::Padding::uniform;
      result.x = any_scheme::encrypt(plain, keys_);
    } else {
      result.x = evaluator_->sum_slots(result.x);
      result.rows = each(result.rows, [&](const Row& row) { return total(row, how.slots); });
    }
    return result;
  }
  // One whose padding an operation made of zeros.
  Operand padded(const Encoded& how) {
    Operand result = operand("padding", how);
    const std::complex<double> number = is_ckks_ ? 0.25 : 3.0;
    evaluator_->add_scalar_inplace(result.x, number);
    const Row term(count_, number);
    result.rows = each(result.rows, [&](const Row& row) { return sum(row, term); });
    return result;
  }
  // The first one, and one or more for each field.
  std::vector<Operand> operands() {
    std::vector<Operand> all;
    all.push_back(operand("", {}));
    all.push_back(operand("batch", {.batch = {3}}));
    all.push_back(operand("batch", {.batch = {1, 2}}));
    all.push_back(operand("batch", {.batch = {1}}));
    for (const std::size_t level : {context_->top_level() - 1, std::size_t{2}}) {
      all.push_back(operand("level", {}));
      evaluator_->lower_to_level_inplace(all.back().x, level);
    }
    all.push_back(operand("slots", {.slots = 1}));
    all.push_back(operand("slots", {.slots = 32}));
    all.push_back(operand("slots", {.slots = count_}));
    const auto square = [&](const Operand& a) {
      return each(a.rows, [&](const Row& row) { return product(row, row, rlwe::Encoding::slots); });
    };
    Operand waiting = operand(is_ckks_ ? "noise_scale_degree" : "noise_log2", {});
    waiting = {waiting.field, evaluator_->square(waiting.x), square(waiting)};
    all.push_back(std::move(waiting));
    Operand longer = operand("size", {.batch = {3}});
    longer = {longer.field, lazy_->square(longer.x), square(longer)};
    EXPECT_EQ(longer.x.size(), 3U);
    all.push_back(std::move(longer));
    Operand switched = operand("correction", {});
    switched.x = evaluator_->rescale(evaluator_->square(switched.x));
    switched.rows = square(switched);
    all.push_back(std::move(switched));
    if (is_ckks_) {
      all.push_back(operand("scale", {.scale_factor = 1.25}));
      all.push_back(operand("largest", {.largest = std::nullopt}));
      all.push_back(operand("largest", {.largest = 0x1p10}));
      all.push_back(operand("filled", {.filled = 5}));
      all.push_back(operand("filled", {.slots = 32, .filled = 20}));
      all.push_back(padded({.filled = 5}));
      all.push_back(uniform({}));
      all.push_back(uniform({.filled = 5}));
      all.push_back(operand("is_complex", {.is_complex = true}));
    } else {
      all.push_back(operand("encoding", {.encoding = rlwe::Encoding::coefficients}));
      all.push_back(padded({}));
      all.push_back(uniform({}));
      all.push_back(uniform({.slots = count_}));
      all.push_back(operand("spent", {}));
      all.back().x.meta.spent = true;
      Operand rotated = operand("padding", {});
      rotated.x = evaluator_->rotate(rotated.x, 1);
      rotated.rows = each(rotated.rows, [&](const Row& row) { return turned(row, 1); });
      all.push_back(std::move(rotated));
    }
    return all;
  }
  std::vector<PlainOperand> plaintexts() {
    std::vector<PlainOperand> all;
    const auto add = [&](const std::string& field, const Encoded& how) {
      Rows rows = values(rlwe::batch_count(how.batch), how.slots, how.filled);
      all.push_back({field, encode(rows, how), std::move(rows)});
    };
    add("", {});
    add("batch", {.batch = {3}});
    add("batch", {.batch = {1, 2}});
    add("level", {.level = context_->top_level() - 1});
    add("level", {.level = std::size_t{1}});
    add("slots", {.slots = count_});
    if (is_ckks_) {
      add("scale", {.scale_factor = 1.25});
      add("largest", {.largest = std::nullopt});
      add("filled", {.filled = 5});
      add("filled", {.slots = 32, .filled = 20});
      add("is_complex", {.is_complex = true});
    } else {
      add("encoding", {.encoding = rlwe::Encoding::coefficients});
    }
    return all;
  }

  // --- What is expected ---

  static bool fit(const Metadata& a, const Metadata& b) {
    const std::size_t x = rlwe::batch_count(a.batch), y = rlwe::batch_count(b.batch);
    return a.encoding == b.encoding && (a.batch == b.batch || x == 1 || y == 1);
  }
  // The shape of the operand that is no single object; of two such, the one of more axes.
  static rlwe::BatchShape shape_of(const Metadata& a, const Metadata& b) {
    const std::size_t x = rlwe::batch_count(a.batch), y = rlwe::batch_count(b.batch);
    if (x != y) return x > y ? a.batch : b.batch;
    return a.batch.size() >= b.batch.size() ? a.batch : b.batch;
  }
  [[nodiscard]] std::size_t slots_of_product(const Metadata& a, const Metadata& b) const {
    if (a.encoding == rlwe::Encoding::slots) return std::max(a.slots, b.slots);
    return std::min(degree, a.slots + b.slots - 1);
  }

  // What is known of the slots, by what each one holds: a slot behind the filled ones of an operand its
  // padding, and with CKKS those of fewer slots once more.
  struct Filling {
    explicit Filling(const Metadata& of)
        : slots(of.slots),
          filled(of.filled),
          padding(of.padding),
          is_complex(of.is_complex),
          spent(of.spent) {}
    std::size_t slots, filled;
    Padding padding;
    bool is_complex, spent;
  };
  [[nodiscard]] Padding held(const Filling& x, std::size_t slot) const {
    const std::size_t own = is_ckks_ ? slot % x.slots : slot;
    return x.filled == 0 || own < x.filled ? Padding::values : x.padding;
  }
  [[nodiscard]] Filling joined(const Filling& x, const Filling& y, bool is_product) const {
    Filling result = x;
    result.slots = std::max(x.slots, y.slots);
    result.is_complex = x.is_complex || y.is_complex;
    result.spent = x.spent || y.spent;
    const auto is_one_value = [&](const Filling& a) {
      return a.padding == Padding::uniform || (is_ckks_ && a.slots == 1 && result.slots > 1);
    };
    const bool one_x = is_one_value(x), one_y = is_one_value(y);
    const std::size_t larger = std::max(x.filled, y.filled), smaller = std::min(x.filled, y.filled);
    result.filled = one_x && one_y ? (smaller == 0 ? larger : smaller)
                    : one_x        ? y.filled
                    : one_y        ? x.filled
                                   : larger;
    result.padding = one_x && one_y ? Padding::uniform : Padding::zeros;
    if (result.filled != 0 && result.padding != Padding::uniform) {
      bool all_zeros = true, any_values = false;
      for (std::size_t i = result.filled; i < (is_ckks_ ? result.slots : count_); ++i) {
        const Padding a = held(x, i), b = held(y, i);
        const int zeros = (!one_x && a == Padding::zeros ? 1 : 0) + (!one_y && b == Padding::zeros ? 1 : 0);
        if (zeros == (is_product ? 1 : 2) || zeros == 2) continue;
        all_zeros = false;
        any_values = any_values || (!one_x && a == Padding::values) || (!one_y && b == Padding::values);
      }
      const bool in_part = (one_x || x.filled != 0) && (one_y || y.filled != 0);
      if (!all_zeros && !in_part) result.filled = 0;
      if (!all_zeros && in_part) {
        result.padding = any_values && !is_ckks_ ? Padding::values : Padding::unknown;
      }
    }
    return with_count(result);
  }
  // BFV and BGV: the values are those that are filled.
  [[nodiscard]] Filling with_count(Filling x) const {
    if (!is_ckks_ && x.filled != 0) x.filled = x.slots < count_ ? x.slots : 0;
    // No slots are behind all.
    if (x.filled == 0 && x.padding != Padding::uniform) x.padding = Padding::zeros;
    return x;
  }
  [[nodiscard]] Filling turned(Filling x) const {
    if (x.padding == Padding::uniform || x.filled == 0) return x;
    x.padding = is_ckks_ ? Padding::zeros : Padding::values;
    if (is_ckks_) x.filled = 0;
    return x;
  }
  void expect(const Ciphertext& found, const Rows& expected, const rlwe::BatchShape& batch, std::size_t slots,
              double largest, const Filling& filling) const {
    EXPECT_EQ(found.meta.filled, filling.filled);
    EXPECT_EQ(found.meta.padding, filling.padding);
    EXPECT_EQ(found.meta.is_complex, filling.is_complex);
    EXPECT_EQ(found.meta.spent, filling.spent);
    EXPECT_EQ(found.meta.batch, batch);
    ASSERT_EQ(found.meta.slots, slots);
    EXPECT_EQ(found.poly.shape().batch, expected.size());
    EXPECT_EQ(found.poly.base(), context_->base(found.meta.level));
    if (is_ckks_) {
      EXPECT_DOUBLE_EQ(found.meta.largest, largest);
    }
    const Plaintext plain = any_scheme::decrypt(found, secret_);
    Row values;
    if (is_ckks_) {
      values = ckks::Encoder(context_).decode(plain);
    } else {
      for (const std::int64_t value : integer::Encoder(context_).decode(plain, false)) {
        values.emplace_back(static_cast<double>(value));
      }
      EXPECT_GT(any_scheme::guaranteed_noise_budget(found), 0);
    }
    ASSERT_EQ(values.size(), expected.size() * slots);
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      worst = std::max(worst, std::abs(values[i] - expected[i / slots][i % slots]));
    }
    EXPECT_LE(worst, is_ckks_ ? 0x1p-15 : 0) << "values are wrong";
  }
};

}  // namespace hemera::second_operand
