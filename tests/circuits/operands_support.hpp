// Ciphertexts that differ in something from what a circuit's plan was made for, or from each other: results
// are right by numbers computed here, or refused with a typed error.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "circuits/function_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::operands {

inline constexpr std::size_t slots = 16;
inline constexpr std::size_t plan_level = 6;  // of 7: a level above it, and enough below

inline rlwe::Parameters parameters() { return ckks::small_parameters(7, 2); }

struct Operand {
  std::string field;
  Ciphertext x;
  Rows rows;  // by element of the batch, of as many values as x has slots
};

// What is known of a result's slots.
struct Filling {
  std::size_t filled = 0;
  rlwe::Padding padding = rlwe::Padding::zeros;
  bool is_complex = false;
};
using FillingRule = std::function<Filling(const rlwe::Metadata&)>;

// After rotations, and of matrices: values are in all slots.
inline Filling all_slots(const rlwe::Metadata& x) { return {.is_complex = x.is_complex}; }
inline Filling as_before(const rlwe::Metadata& x) { return {x.filled, x.padding, x.is_complex}; }
// f(0) is in the slots that were 0.
inline Filling after_function(const rlwe::Metadata& x) {
  Filling result = as_before(x);
  if (x.filled != 0) result.padding = rlwe::Padding::unknown;
  return result;
}

// A client, its ciphertexts, and one by one what differs in a field from the first.
struct Client {
  explicit Client(const std::vector<const Plan*>& plans) {
    rlwe::EvaluationKeys keys = session.keys;
    for (const Plan* plan : plans) keys.merge(plan->generate_keys(session.secret));
    evaluator = std::make_unique<ckks::Evaluator>(session.context, keys);
    lazy = std::make_unique<ckks::Evaluator>(session.context, keys, rlwe::Relinearization::lazy);
  }
  struct Encoded {
    rlwe::BatchShape batch = {};
    std::size_t slots = operands::slots;
    std::size_t level = plan_level;
    double scale_factor = 1;
    double largest = 2;
    std::uint64_t seed = 5;
    std::size_t filled = 0;
    bool is_uniform = false;
    bool is_complex = false;
  };
  [[nodiscard]] Operand operand(const std::string& field, const Encoded& how) const {
    const std::size_t count = rlwe::batch_count(how.batch);
    // Real, so that functions take them; at most 1.
    Values values = ckks::random_values(count * how.slots, how.seed);
    for (Complex& value : values) value.imag(0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (how.filled != 0 && i % how.slots >= how.filled) values[i] = 0;
      if (how.is_uniform) values[i] = values[i / how.slots * how.slots];
    }
    Operand result{field, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
      result.rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(i * how.slots),
                               values.begin() + static_cast<std::ptrdiff_t>((i + 1) * how.slots));
    }
    const double scale = session.context->scales().level_scale(how.level) * how.scale_factor;
    rlwe::Plaintext plain = session.encoder->encode(values, how.batch, how.level, scale, how.largest);
    plain.meta.filled = how.filled;
    if (how.is_uniform) plain.meta.padding = rlwe::Padding::uniform;
    plain.meta.is_complex = how.is_complex;
    result.x = ckks::encrypt(plain, session.secret);
    return result;
  }
  [[nodiscard]] std::vector<Operand> operands(std::size_t own = slots, rlwe::BatchShape batch = {}) const {
    std::vector<Operand> all;
    const auto add = [&](const char* field, Encoded how) {
      if (how.batch.empty()) how.batch = batch;
      how.seed = all.size() + 5;
      all.push_back(operand(field, how));
    };
    add("", {.slots = own});
    add("batch", {.batch = {3}, .slots = own});
    add("batch", {.batch = {2, 2}, .slots = own});
    add("level", {.slots = own, .level = plan_level + 1});
    add("lower level", {.slots = own, .level = plan_level - 1});
    add("scale", {.slots = own, .scale_factor = 1.25});
    add("scale, level", {.slots = own, .level = plan_level + 1, .scale_factor = 1.25});
    add("fewer slots", {.slots = own / 2});
    add("more slots", {.slots = own * 2});
    add("largest", {.slots = own, .largest = HUGE_VAL});
    add("largest", {.slots = own, .largest = 1});
    add("filled", {.slots = own, .filled = own - 1});
    add("padding", {.slots = own, .is_uniform = true});
    add("is_complex", {.slots = own, .is_complex = true});
    for (const bool relinearized : {true, false}) {
      add(relinearized ? "noise_scale_degree" : "size", {.slots = own, .level = plan_level + 1});
      Operand& last = all.back();
      last.x = (relinearized ? *evaluator : *lazy).square(last.x);
      for (Values& row : last.rows) {
        for (Complex& value : row) value *= value;
      }
    }
    add("size, rescaled", {.slots = own, .level = plan_level + 1});
    Operand& last = all.back();
    last.x = lazy->rescale(lazy->square(last.x));
    for (Values& row : last.rows) {
      for (Complex& value : row) value *= value;
    }
    return all;
  }
  // The values, the shape, a declared bound that holds, and what is filled.
  void expect(const Ciphertext& found, const Rows& rows, const rlwe::BatchShape& batch,
              const Filling& filling, double tolerance = 1e-5) const {
    EXPECT_EQ(found.meta.batch, batch);
    EXPECT_EQ(found.meta.filled, filling.filled);
    EXPECT_EQ(found.meta.padding, filling.padding);
    EXPECT_EQ(found.meta.is_complex, filling.is_complex);
    EXPECT_EQ(found.size(), 2U);
    ASSERT_EQ(found.meta.slots, rows.front().size());
    const Values values = session.decrypt(found);
    ASSERT_EQ(values.size(), rows.size() * rows.front().size());
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Complex& exact = rows[i / rows.front().size()][i % rows.front().size()];
      worst = std::max(worst, std::abs(values[i] - exact));
      largest = std::max(largest, std::abs(exact));
    }
    EXPECT_LT(worst, tolerance);
    EXPECT_LE(largest, found.meta.largest + 1e-9) << "the declared bound does not hold";
  }

  ckks::Session session{parameters(), {.rotations = {1, 2, 3, 4, 5, 6, 7, 8, 12}}};
  std::unique_ptr<ckks::Evaluator> evaluator, lazy;
};

using Run = std::function<Ciphertext(const ckks::Evaluator&, const Ciphertext&)>;
using Clear = std::function<Values(const Values&)>;

// A circuit of one ciphertext beside its function of a row; `refused`: fields with which it is to be refused.
inline void check_one(const Client& client, const Run& run, const Clear& clear,
                      const std::map<std::string, std::string>& refused,
                      const FillingRule& filling = all_slots) {
  std::set<std::string> seen;
  for (const Operand& a : client.operands()) {
    SCOPED_TRACE(a.field);
    seen.insert(a.field);
    const auto entry = refused.find(a.field);
    const auto result = [&] { return run(*client.evaluator, a.x); };
    if (entry == refused.end()) {
      Rows rows;
      for (const Values& row : a.rows) rows.push_back(clear(row));
      client.expect(result(), rows, a.x.meta.batch, filling(a.x.meta));
    } else if (entry->second == "Mismatch") {
      EXPECT_THROW(static_cast<void>(result()), MismatchError);
    } else if (entry->second == "Level") {
      EXPECT_THROW(static_cast<void>(result()), LevelError);
    } else {
      EXPECT_THROW(static_cast<void>(result()), ScaleError);
    }
  }
  for (const auto& [field, error] : refused) EXPECT_TRUE(seen.contains(field)) << field;
  // Operands of another context, and an evaluator of another one.
  const ckks::Session other(parameters());
  const Ciphertext foreign = other.encrypt(Values(slots, 0.5));
  EXPECT_THROW(static_cast<void>(run(*client.evaluator, foreign)), MismatchError);
  const Operand own = client.operand("", {});
  EXPECT_THROW(static_cast<void>(run(*other.evaluator, own.x)), MismatchError);
  EXPECT_THROW(static_cast<void>(run(*client.evaluator, Ciphertext{})), MismatchError);
}

inline bool fit(const rlwe::BatchShape& a, const rlwe::BatchShape& b) {
  return a == b || rlwe::batch_count(a) == 1 || rlwe::batch_count(b) == 1;
}

inline BootstrapSettings small_settings() { return bootstrap_preset("test-40"); }

}  // namespace hemera::circuits::operands
