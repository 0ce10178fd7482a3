// Circuits with ciphertexts that differ in something from what their plan was made for, or from each other:
// right by numbers computed here, or refused with a typed error.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "circuits/bootstrap/mod_raise.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "circuits/function_support.hpp"
#include "circuits/matrix_support.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/multiply/engines.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "member_count.hpp"
#include "rlwe/metadata_fields.hpp"

namespace hemera::circuits {
namespace {

constexpr std::size_t slots = 16;
constexpr std::size_t plan_level = 6;  // of 7: a level above it, and enough below

rlwe::Parameters parameters() { return ckks::small_parameters(7, 2); }

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
Filling all_slots(const rlwe::Metadata& x) { return {.is_complex = x.is_complex}; }
Filling as_before(const rlwe::Metadata& x) { return {x.filled, x.padding, x.is_complex}; }
// f(0) is in the slots that were 0.
Filling after_function(const rlwe::Metadata& x) {
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
    std::size_t slots = circuits::slots;
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
void check_one(const Client& client, const Run& run, const Clear& clear,
               const std::map<std::string, std::string>& refused, const FillingRule& filling = all_slots) {
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
  // Of another context, and by an evaluator of another one.
  const ckks::Session other(parameters());
  const Ciphertext foreign = other.encrypt(Values(slots, 0.5));
  EXPECT_THROW(static_cast<void>(run(*client.evaluator, foreign)), MismatchError);
  const Operand own = client.operand("", {});
  EXPECT_THROW(static_cast<void>(run(*other.evaluator, own.x)), MismatchError);
  EXPECT_THROW(static_cast<void>(run(*client.evaluator, Ciphertext{})), MismatchError);
}

// Every field is one that an operand above differs in, or one that CKKS does not use.
TEST(CircuitOperands, EveryFieldOfMetadataIsTried) {
  const Client client({});
  std::set<std::string> differing;
  const std::vector<Operand> all = client.operands();
  const rlwe::Metadata& first = all.front().x.meta;
  for (const Operand& a : all) {
    if (a.x.meta.batch != first.batch) differing.insert("batch");
    if (a.x.meta.level != first.level) differing.insert("level");
    if (a.x.meta.scale != first.scale) differing.insert("scale");
    if (a.x.meta.noise_scale_degree != first.noise_scale_degree) differing.insert("noise_scale_degree");
    if (a.x.meta.slots != first.slots) differing.insert("slots");
    if (a.x.meta.largest != first.largest) differing.insert("largest");
    if (a.x.meta.filled != first.filled) differing.insert("filled");
    if (a.x.meta.padding != first.padding) differing.insert("padding");
    if (a.x.meta.is_complex != first.is_complex) differing.insert("is_complex");
  }
  const std::set<std::string> unused = {"correction", "encoding", "noise_log2", "spent"};
  for (const rlwe::MetadataField& field : rlwe::metadata_fields()) {
    EXPECT_EQ(differing.contains(field.name), !unused.contains(field.name)) << field.name;
  }
  EXPECT_EQ(differing.size() + unused.size(), tests::member_count<rlwe::Metadata>());
}

TEST(CircuitOperands, OfLinearTransforms) {
  for (const bool is_complex : {false, true}) {
    Values matrix = ckks::random_values(slots * slots, 1);
    for (Complex& entry : matrix) entry = is_complex ? entry : entry.real();
    for (const bool fewest_keys : {false, true}) {
      const LinearTransform plan(parameters(), diagonals_of(matrix, slots, slots, slots), slots,
                                 {.level = plan_level, .fewest_keys = fewest_keys});
      const Client client({&plan});
      const PreparedLinearTransform prepared(client.session.context, plan);
      check_one(
          client, [&](const auto& evaluator, const Ciphertext& x) { return prepared(evaluator, x); },
          [&](const Values& x) { return product(matrix, x, slots, slots); },
          {{"lower level", "Level"}, {"fewer slots", "Mismatch"}, {"more slots", "Mismatch"}},
          [&](const rlwe::Metadata& x) { return Filling{.is_complex = is_complex || x.is_complex}; });
    }
  }
}

TEST(CircuitOperands, OfCircuitsOfSlots) {
  const rlwe::Parameters own = parameters();
  const SlotCircuitOptions options{.level = plan_level};
  std::vector<bool> kept(slots);
  for (std::size_t i = 0; i < slots; i += 3) kept[i] = true;
  const SlotCircuit sum = SlotCircuit::inner_sum(own, slots, {.count = 4, .stride = 2}, true, options),
                    plain = SlotCircuit::inner_sum(own, slots, {.count = slots, .stride = 1}, false, options),
                    copies =
                        SlotCircuit::replication(own, slots, {.count = 4, .stride = 1}, 3, false, options),
                    mask = SlotCircuit::mask(own, kept, options);
  const std::map<std::string, std::string> refused = {
      {"lower level", "Level"}, {"fewer slots", "Mismatch"}, {"more slots", "Mismatch"}};
  // Without a mask no level is needed.
  const std::map<std::string, std::string> without_mask = {{"fewer slots", "Mismatch"},
                                                           {"more slots", "Mismatch"}};
  const Client client({&sum, &plain, &copies, &mask});
  const auto check = [&](const SlotCircuit& plan, const auto& clear, const auto& table,
                         const FillingRule& filling = all_slots) {
    const PreparedSlotCircuit prepared(client.session.context, plan);
    check_one(
        client, [&](const auto& evaluator, const Ciphertext& x) { return prepared(evaluator, x); }, clear,
        table, filling);
  };
  check(
      sum,
      [](const Values& x) {
        Values y(slots);
        for (std::size_t i = 0; i < slots; ++i) {
          for (std::size_t row = 0; row < 4; ++row) y[i] += x[i / 8 * 8 + row * 2 + i % 2];
        }
        return y;
      },
      refused);
  check(
      plain, [](const Values& x) { return Values(slots, std::accumulate(x.begin(), x.end(), Complex(0))); },
      without_mask,
      // Sums of one value are one value.
      [](const rlwe::Metadata& x) {
        Filling result = all_slots(x);
        if (x.padding == rlwe::Padding::uniform) result.padding = x.padding;
        return result;
      });
  check(
      copies,
      [](const Values& x) {
        Values y(slots);
        for (std::size_t i = 0; i < slots; ++i) y[i] = x[i / 4 * 4 + 3];
        return y;
      },
      refused);
  check(
      mask,
      [](const Values& x) {
        Values y(slots);
        for (std::size_t i = 0; i < slots; i += 3) y[i] = x[i];
        return y;
      },
      refused,
      // A product with values of all slots: zeros stay zeros.
      [](const rlwe::Metadata& x) { return Filling{.filled = x.filled, .is_complex = x.is_complex}; });
}

TEST(CircuitOperands, OfFunctions) {
  // x^3 - x / 2 + 1 / 4, of all slots alike and with coefficients for each.
  const auto expected = [](const Values& x, const std::function<double(std::size_t)>& constant) {
    Values y;
    for (std::size_t i = 0; i < x.size(); ++i) y.push_back(x[i] * x[i] * x[i] - x[i] / 2.0 + constant(i));
    return y;
  };
  const Function same(Polynomial({0.25, -0.5, 0, 1}, Basis::power, {-1, 1}));
  Values coefficients(4 * slots);
  for (std::size_t i = 0; i < slots; ++i) {
    coefficients[i] = static_cast<double>(i) / 16;
    coefficients[slots + i] = -0.5;
    coefficients[3 * slots + i] = 1;
  }
  const Function own(Polynomial(coefficients, Basis::power, {-1, 1}, {.width = slots}));
  const FunctionPlan plan(parameters(), same, {.level = plan_level}),
      wide(parameters(), own, {.level = plan_level});
  const Client client({&plan, &wide});
  const PreparedFunction prepared(client.session.context, plan), prepared_wide(client.session.context, wide);
  const auto run = [](const PreparedFunction& function) {
    return [&](const auto& evaluator, const Ciphertext& x) {
      return std::move(function(evaluator, std::vector{&x}).front());
    };
  };
  check_one(
      client, run(prepared), [&](const Values& x) { return expected(x, [](std::size_t) { return 0.25; }); },
      {{"lower level", "Level"}, {"scale", "Scale"}}, after_function);
  check_one(
      client, run(prepared_wide),
      [&](const Values& x) { return expected(x, [](std::size_t i) { return static_cast<double>(i) / 16; }); },
      {{"lower level", "Level"}, {"scale", "Scale"}, {"fewer slots", "Mismatch"}, {"more slots", "Mismatch"}},
      // One value in all slots does not stay one.
      [](const rlwe::Metadata& x) {
        Filling result = after_function(x);
        if (x.filled == 0) result.padding = rlwe::Padding::zeros;
        return result;
      });
}

bool fit(const rlwe::BatchShape& a, const rlwe::BatchShape& b) {
  return a == b || rlwe::batch_count(a) == 1 || rlwe::batch_count(b) == 1;
}

// All pairs of operands: batches that fit, the larger number of slots, and a bound if both have one.
TEST(CircuitOperands, OfFunctionsOfTwo) {
  // a b + a / 2 + b^2.
  Function function(std::vector(2, Interval{-2, 2}));
  function.set_outputs(
      {function.add({.products = {{0, 1}, {1, 1}}, .terms = {{0, {0.5}}}, .constant = {0}})});
  const FunctionPlan plan(parameters(), function, {.level = plan_level});
  const Client client({&plan});
  const PreparedFunction prepared(client.session.context, plan);
  const std::vector<Operand> all = client.operands();
  for (const Operand& a : all) {
    for (const Operand& b : all) {
      SCOPED_TRACE("(" + a.field + ") and (" + b.field + ")");
      const std::vector inputs{&a.x, &b.x};
      const auto run = [&] { return prepared(*client.evaluator, inputs).front().clone(); };
      if (a.field == "lower level" || b.field == "lower level" || a.field == "scale" || b.field == "scale") {
        EXPECT_THROW(static_cast<void>(run()), Error);
        continue;
      }
      const rlwe::Metadata &x = a.x.meta, &y = b.x.meta;
      const auto is_beyond = [](double largest) { return std::isfinite(largest) && largest > 2; };
      if (is_beyond(x.largest) || is_beyond(y.largest)) {
        EXPECT_THROW(static_cast<void>(run()), RangeError);
        continue;
      }
      if (!fit(x.batch, y.batch)) {
        EXPECT_THROW(static_cast<void>(run()), MismatchError);
        continue;
      }
      Rows rows;
      for (std::size_t i = 0; i < std::max(a.rows.size(), b.rows.size()); ++i) {
        const Values &u = a.rows[a.rows.size() == 1 ? 0 : i], &v = b.rows[b.rows.size() == 1 ? 0 : i];
        Values row(std::max(u.size(), v.size()));
        for (std::size_t k = 0; k < row.size(); ++k) {
          const Complex p = u[k % u.size()], q = v[k % v.size()];
          row[k] = p * q + 0.5 * p + q * q;
        }
        rows.push_back(std::move(row));
      }
      const Ciphertext found = run();
      // A part stays one with a part, and with one value in all slots.
      const bool one_x = x.padding == rlwe::Padding::uniform, one_y = y.padding == rlwe::Padding::uniform;
      Filling filling{.is_complex = x.is_complex || y.is_complex};
      if (one_x && one_y) {
        filling.padding = rlwe::Padding::uniform;
      } else if ((one_x || x.filled != 0) && (one_y || y.filled != 0)) {
        filling = {std::max(x.filled, y.filled), rlwe::Padding::unknown, filling.is_complex};
      }
      client.expect(found, rows, rlwe::batch_count(x.batch) >= rlwe::batch_count(y.batch) ? x.batch : y.batch,
                    filling);
      // An input of which nothing is known has a result of which nothing is known.
      EXPECT_EQ(std::isfinite(found.meta.largest), std::isfinite(x.largest) && std::isfinite(y.largest));
    }
  }
  const std::vector<const Ciphertext*> one = {&all.front().x};
  EXPECT_THROW(static_cast<void>(prepared(*client.evaluator, one)), MismatchError);
}

TEST(CircuitOperands, OfMatrixProducts) {
  constexpr std::size_t size = 4;
  const MatrixProduct plan(parameters(), size, {.level = plan_level});
  const Client client({&plan});
  const PreparedMatrixProduct prepared(client.session.context, plan);
  const std::vector<Operand> all = client.operands();
  for (const Operand& a : all) {
    for (const Operand& b : all) {
      SCOPED_TRACE("(" + a.field + ") and (" + b.field + ")");
      const auto run = [&] { return prepared(*client.evaluator, a.x, b.x); };
      const bool fits_slots = a.x.meta.slots == slots && b.x.meta.slots == slots;
      // The right factor is turned a level below the left one, and may come as late.
      if (a.field == "lower level" && fits_slots && fit(a.x.meta.batch, b.x.meta.batch)) {
        EXPECT_THROW(static_cast<void>(run()), LevelError);
        continue;
      }
      if (!fits_slots || !fit(a.x.meta.batch, b.x.meta.batch)) {
        EXPECT_THROW(static_cast<void>(run()), MismatchError);
        continue;
      }
      Rows rows;
      for (std::size_t i = 0; i < std::max(a.rows.size(), b.rows.size()); ++i) {
        rows.push_back(product(a.rows[a.rows.size() == 1 ? 0 : i], b.rows[b.rows.size() == 1 ? 0 : i], size,
                               size, size));
      }
      client.expect(run(), rows, a.rows.size() >= b.rows.size() ? a.x.meta.batch : b.x.meta.batch,
                    {.is_complex = a.x.meta.is_complex || b.x.meta.is_complex});
    }
  }
}

TEST(CircuitOperands, OfMatrixVectorProducts) {
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{16, 4}, {4, 16}, {16, 16}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const MatrixVectorProduct plan(parameters(), rows, columns, {.level = plan_level});
    const Client client({&plan});
    const PreparedMatrixVectorProduct prepared(client.session.context, plan);
    const Values matrix = ckks::random_values(rows * columns, 2);
    const auto encrypted = [&](std::size_t level, const rlwe::BatchShape& shape) {
      return ckks::encrypt(client.session.encoder->encode(plan.pack(matrix), shape, level, {}, 2),
                           client.session.secret);
    };
    const Ciphertext m = encrypted(plan_level, {plan.diagonals()});
    for (const Operand& a : client.operands(plan.vector_slots())) {
      SCOPED_TRACE(a.field);
      const auto run = [&] { return prepared(*client.evaluator, m, a.x); };
      if (a.field == "lower level") {
        EXPECT_THROW(static_cast<void>(run()), LevelError);
      } else if (a.x.meta.slots != plan.vector_slots()) {
        EXPECT_THROW(static_cast<void>(run()), MismatchError);
      } else {
        Rows expected;
        for (const Values& row : a.rows) expected.push_back(product(matrix, row, rows, columns));
        client.expect(run(), expected, a.x.meta.batch, all_slots(a.x.meta));
      }
    }
    // And the matrix.
    const Operand x = client.operand("", {.slots = plan.vector_slots()});
    const Rows expected{product(matrix, x.rows.front(), rows, columns)};
    client.expect(prepared(*client.evaluator, encrypted(plan_level + 1, {plan.diagonals()}), x.x), expected,
                  {}, all_slots(x.x.meta));
    EXPECT_THROW(
        static_cast<void>(prepared(*client.evaluator, encrypted(plan_level - 1, {plan.diagonals()}), x.x)),
        LevelError);
    for (const rlwe::BatchShape& shape :
         {rlwe::BatchShape{plan.diagonals() / 2, 2}, rlwe::BatchShape{1, plan.diagonals()}}) {
      EXPECT_THROW(static_cast<void>(prepared(*client.evaluator, encrypted(plan_level, shape), x.x)),
                   MismatchError);
    }
    const Ciphertext fewer = rlwe::slice(m, 0, plan.diagonals() - 1);
    EXPECT_THROW(static_cast<void>(prepared(*client.evaluator, fewer, x.x)), MismatchError);
    Ciphertext longer = rlwe::stack({&m, &m});
    rlwe::reshape_inplace(longer, {2 * plan.diagonals()});
    EXPECT_THROW(static_cast<void>(prepared(*client.evaluator, longer, x.x)), MismatchError);
    const Ciphertext other_slots = with_slots(m, 2 * plan.matrix_slots());
    EXPECT_THROW(static_cast<void>(prepared(*client.evaluator, other_slots, x.x)), MismatchError);
  }
}

// A key less is named; nothing is computed without it. Other keys that serve may take its place.
TEST(CircuitKeys, EachOneIsNeeded) {
  const rlwe::Parameters own = parameters();
  const Values matrix = ckks::random_values(slots * slots, 1);
  const LinearTransform transform(own, diagonals_of(matrix, slots, slots, slots), slots,
                                  {.level = plan_level}),
      few(own, diagonals_of(matrix, slots, slots, slots), slots, {.level = plan_level, .fewest_keys = true});
  const SlotCircuit sum = SlotCircuit::inner_sum(own, slots, {.count = 4, .stride = 2}, true,
                                                 {.level = plan_level, .own_keys = true});
  const MatrixProduct square(own, 4, {.level = plan_level});
  const MatrixVectorProduct vector(own, 4, 16, {.level = plan_level});
  const FunctionPlan function(own, sigmoid({-2, 2}, 0x1p-8), {.level = plan_level});
  const ckks::Session client(own, {.relinearization = false});
  const Ciphertext x = client.encrypt(Values(slots, 0.5));
  const Ciphertext m = client.encrypt(Values(4 * slots, 0.5), {4});
  const std::vector<std::pair<const Plan*, std::function<Ciphertext(const ckks::Evaluator&)>>> circuits = {
      {&transform, [&](const auto& e) { return PreparedLinearTransform(client.context, transform)(e, x); }},
      {&few, [&](const auto& e) { return PreparedLinearTransform(client.context, few)(e, x); }},
      {&sum, [&](const auto& e) { return PreparedSlotCircuit(client.context, sum)(e, x); }},
      {&square, [&](const auto& e) { return PreparedMatrixProduct(client.context, square)(e, x, x); }},
      {&vector, [&](const auto& e) { return PreparedMatrixVectorProduct(client.context, vector)(e, m, x); }},
      {&function, [&](const auto& e) {
         return std::move(PreparedFunction(client.context, function)(e, std::vector{&x}).front());
       }}};
  for (std::size_t i = 0; i < circuits.size(); ++i) {
    SCOPED_TRACE(i);
    const auto& [plan, run] = circuits[i];
    const rlwe::EvaluationKeys keys = plan->generate_keys(client.secret);
    const Values expected = client.decrypt(run(ckks::Evaluator(client.context, keys)));
    // Bytes of keys that were made, and of plaintexts that are held, are those that were told.
    EXPECT_EQ(keys.memory_bytes(), plan->cost().key_bytes);
    ASSERT_FALSE(plan->needed_keys().empty());
    for (const KeyNeed& need : plan->needed_keys()) {
      rlwe::EvaluationKeys fewer = keys;
      fewer.switching.at(need.role).erase(need.gadget);
      if (fewer.switching.at(need.role).empty()) fewer.switching.erase(need.role);
      // Turns of a vector may be sums of others; all else is refused.
      try {
        const Ciphertext found = run(ckks::Evaluator(client.context, fewer));
        EXPECT_EQ(plan, &vector);
        EXPECT_LT(ckks::largest_difference(client.decrypt(found), expected), 1e-5);
      } catch (const MissingKeyError&) {
      }
    }
  }
}

// Keys of other gadgets than the plan's: those of the same special primes serve, if they serve the level.
TEST(CircuitKeys, OfOtherGadgets) {
  const rlwe::Parameters own = parameters();
  const Values matrix = ckks::random_values(slots * slots, 1);
  const LinearTransform plan(own, diagonals_of(matrix, slots, slots, slots), slots, {.level = plan_level});
  const ckks::Session client(own);
  const PreparedLinearTransform prepared(client.context, plan);
  const Values values = ckks::random_values(slots, 2);
  const Ciphertext x = client.encrypt(values);
  rlwe::GadgetPrimes fewer_special = own.default_gadget(plan_level), finer = fewer_special;
  fewer_special.special.pop_back();
  fewer_special.digits = rlwe::consecutive_digits(fewer_special.base, fewer_special.special);
  finer.digits.clear();
  for (const std::uint64_t prime : finer.base) finer.digits.push_back({prime});
  const std::vector<std::pair<bool, rlwe::GadgetPrimes>> gadgets = {
      {true, own.default_gadget(plan_level + 1)},
      {true, finer},
      {false, own.default_gadget(plan_level - 1)},
      {false, fewer_special}};
  for (std::size_t i = 0; i < gadgets.size(); ++i) {
    SCOPED_TRACE(i);
    std::vector<KeyNeed> needs;
    for (const KeyNeed& need : plan.needed_keys()) needs.push_back({need.role, gadgets[i].second});
    const ckks::Evaluator evaluator(client.context, generate_keys(client.secret, needs));
    if (gadgets[i].first) {
      EXPECT_LT(ckks::largest_difference(client.decrypt(prepared(evaluator, x)),
                                         product(matrix, values, slots, slots)),
                1e-5);
    } else {
      EXPECT_THROW(static_cast<void>(prepared(evaluator, x)), MissingKeyError);
    }
  }
}

// Plans are of parameters: others than the context's are refused, equal ones in another context are not.
TEST(CircuitParameters, OfAPlanAreThoseOfTheContext) {
  const rlwe::Parameters own = parameters();
  rlwe::ParametersLiteral literal = own.literal();
  literal.sigma = 3.2;
  const rlwe::Parameters other(literal);
  const auto context = tests::make_context(own);
  const Values matrix = ckks::random_values(slots * slots, 1);
  const Diagonals diagonals = diagonals_of(matrix, slots, slots, slots);
  for (const bool fits : {true, false}) {
    const rlwe::Parameters& of = fits ? own : other;
    const std::vector<std::function<void()>> prepared = {
        [&] { PreparedLinearTransform(context, LinearTransform(of, diagonals, slots)); },
        [&] { PreparedSlotCircuit(context, SlotCircuit::mask(of, std::vector<bool>(slots, true))); },
        [&] { PreparedMatrixProduct(context, MatrixProduct(of, 4)); },
        [&] { PreparedMatrixVectorProduct(context, MatrixVectorProduct(of, 4, 4)); },
        [&] {
          PreparedFunction(context, FunctionPlan(of, sigmoid({-1, 1}, 0.01)));
        },
        [&] { static_cast<void>(MatrixProduct(of, 4).generate_keys(rlwe::generate_secret_key(context))); }};
    for (const auto& prepare : prepared) {
      if (fits) {
        EXPECT_NO_THROW(prepare());
      } else {
        EXPECT_THROW(prepare(), MismatchError);
      }
    }
  }
}

// --- Bootstraps ---

BootstrapSettings small_settings() { return bootstrap_preset("test-40"); }

TEST(CircuitOperands, OfBootstraps) {
  const rlwe::Parameters own = parameters_for_bootstrapping(small_settings());
  const Bootstrap plan(own, {.slots = slots});
  const ckks::Session client(own);
  rlwe::EvaluationKeys keys = client.keys;
  keys.merge(plan.generate_keys(client.secret));
  const ckks::Evaluator evaluator(client.context, keys);
  const PreparedBootstrap prepared(client.context, plan);
  const std::size_t low = plan.input_level();
  const auto encrypt = [&](const Values& x, const rlwe::BatchShape& batch, std::size_t level,
                           double factor = 1, double largest = 1.5, const Filling& filling = {}) {
    const double scale = client.context->scales().level_scale(level) * factor;
    rlwe::Plaintext plain = client.encoder->encode(x, batch, level, scale, largest);
    plain.meta.filled = filling.filled;
    plain.meta.padding = filling.padding;
    plain.meta.is_complex = filling.is_complex;
    return ckks::encrypt(plain, client.secret);
  };
  const Values x = ckks::random_values(slots, 11);
  const auto expect = [&](const Ciphertext& in, const Values& values) {
    const Ciphertext out = prepared(evaluator, in);
    EXPECT_EQ(out.meta.batch, in.meta.batch);
    EXPECT_EQ(out.meta.slots, in.meta.slots);
    EXPECT_EQ(out.meta.level, plan.result_level());
    // What was declared stays so: a bootstrap keeps the values.
    EXPECT_EQ(out.meta.largest, in.meta.largest);
    EXPECT_EQ(out.meta.filled, in.meta.filled);
    EXPECT_EQ(out.meta.padding, in.meta.padding);
    EXPECT_EQ(out.meta.is_complex, in.meta.is_complex);
    EXPECT_LT(ckks::largest_difference(client.decrypt(out), values), 1e-3);
  };
  for (const Filling& filling : {Filling{.filled = 5, .padding = rlwe::Padding::unknown},
                                 Filling{.padding = rlwe::Padding::uniform, .is_complex = true}}) {
    expect(encrypt(x, {}, low, 1, 1.5, filling), x);
  }
  expect(encrypt(x, {}, low), x);
  expect(encrypt(x, {}, low, 1, HUGE_VAL), x);
  expect(encrypt(ckks::random_values(2 * slots, 12), {2, 1}, low), ckks::random_values(2 * slots, 12));
  expect(encrypt(x, {}, low + 1), x);
  expect(encrypt(x, {}, low + 1, 1.25), x);
  Values squares;
  for (const Complex& value : x) squares.push_back(value * value);
  const ckks::Evaluator lazy(client.context, keys, rlwe::Relinearization::lazy);
  expect(evaluator.square(encrypt(x, {}, low + 1, 1, 1.4142)), squares);
  expect(lazy.square(encrypt(x, {}, low + 1, 1, 1.4142)), squares);
  expect(lazy.rescale(lazy.square(encrypt(x, {}, low + 1, 1, 1.4142))), squares);

  EXPECT_THROW(static_cast<void>(prepared(evaluator, encrypt(x, {}, low, 1.25))), ScaleError);
  // Nothing divides values at the lowest level.
  expect(encrypt(x, {}, low, 1, 2), x);
  EXPECT_THROW(static_cast<void>(prepared(evaluator, encrypt(x, {}, low, 1, 2.01))), RangeError);
  expect(encrypt(x, {}, low + 1, 1, 2.01), x);
  for (const std::size_t other : {slots / 2, 2 * slots}) {
    EXPECT_THROW(static_cast<void>(prepared(evaluator, encrypt(ckks::random_values(other, 1), {}, low))),
                 MismatchError);
  }
  if (low > 0) {
    EXPECT_THROW(static_cast<void>(prepared(evaluator, encrypt(x, {}, low - 1))), LevelError);
  }
  for (const KeyNeed& need : plan.needed_keys()) {
    rlwe::EvaluationKeys fewer = keys;
    fewer.switching.at(need.role).erase(need.gadget);
    EXPECT_THROW(static_cast<void>(prepared(ckks::Evaluator(client.context, fewer), encrypt(x, {}, low))),
                 MissingKeyError);
  }
  rlwe::ParametersLiteral literal = own.literal();
  literal.sigma = 3.2;
  EXPECT_THROW(PreparedBootstrap(tests::make_context(rlwe::Parameters(literal)), plan), MismatchError);
}

// Products of two different factors, by an engine in place of the backend's transforms.
TEST(CircuitContexts, BootstrapsWithTheArcsineAndARingMultiplier) {
  BootstrapSettings settings = bootstrap_preset("n16-45");
  settings.degree = small_settings().degree;
  settings.security = std::nullopt;
  const rlwe::Parameters own = parameters_for_bootstrapping(settings);
  const Bootstrap plan(own, {.slots = 2, .real = true});
  const auto context = rlwe::Context::make(own, {}, {.multiplier = multiply::make_ring_multiplier("ntt")});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const ckks::Encoder encoder(context);
  const ckks::Evaluator evaluator(context, plan.generate_keys(secret));
  const Values x = {0.75, -0.5};
  const Ciphertext in = ckks::encrypt(encoder.encode(x, {}, plan.input_level()), secret);
  const Ciphertext out = PreparedBootstrap(context, plan)(evaluator, in);
  EXPECT_LT(ckks::largest_difference(encoder.decode(ckks::decrypt(out, secret)), x), 1e-4);
}

// A key back from the ephemeral secret of one digit, and of several as other libraries have it.
TEST(CircuitKeys, RaisingTakesKeysOfAnyNumberOfDigits) {
  const rlwe::Parameters own = parameters_for_bootstrapping(small_settings());
  const ckks::Session client(own);
  const std::size_t top = own.levels() - 1;
  const rlwe::GadgetPrimes narrow = to_ephemeral_gadget(own), one = from_ephemeral_gadget(own, top);
  for (const std::size_t digits : {1, 3}) {
    SCOPED_TRACE(digits);
    rlwe::GadgetPrimes wide = one;
    wide.special = own.literal().special_primes;
    const auto& others = own.literal().key_primes;
    wide.special.insert(wide.special.end(), others.begin(), others.end());
    if (digits == 1) {
      wide = one;
    } else {
      wide.digits.clear();
      const std::size_t group = (wide.base.size() + digits - 1) / digits;
      for (std::size_t first = 0; first < wide.base.size(); first += group) {
        const auto begin = wide.base.begin() + static_cast<std::ptrdiff_t>(first);
        wide.digits.emplace_back(
            begin, begin + static_cast<std::ptrdiff_t>(std::min(group, wide.base.size() - first)));
      }
    }
    const rlwe::EncapsulationKeys keys = rlwe::generate_encapsulation_keys(
        client.secret, ephemeral_weight, client.context->gadget(narrow), client.context->gadget(wide));
    const Values x = ckks::random_values(512, 3);
    const Ciphertext low = ckks::encrypt(client.encoder->encode(x, {}, 0), client.secret);
    const Ciphertext high = rlwe::mod_down(mod_raise(low, *keys.to_ephemeral, *keys.from_ephemeral, top));
    // Modulo q_0 it is what it was, with the noise of two switches.
    Ciphertext again = high.clone();
    client.evaluator->drop_to_level_inplace(again, 0);
    EXPECT_LT(ckks::largest_difference(client.decrypt(again), x), 1e-3);
    // And over the whole modulus m + q_0 I, where I is small: a few q_0, under the sparse secret.
    const double coefficients = std::exp2(client.context->base(0).log2() - std::log2(low.meta.scale));
    double largest = 0;
    for (const Complex& value : client.decrypt(high)) largest = std::max(largest, std::abs(value));
    EXPECT_LT(largest, coefficients * 16 * 512);
    EXPECT_GT(largest, coefficients);
  }
}

// Parameters that insist on security, and a gadget of a plan above it.
TEST(CircuitKeys, WeakOnesAreRefusedBeforeAnyIsMade) {
  const rlwe::Parameters secure = ckks::parameters_for({.depth = 2, .slots = 8});
  rlwe::ParametersLiteral literal = secure.literal();
  literal.key_primes = arith::primes_below(std::uint64_t{1} << 59, 2 * literal.degree, 8);
  const rlwe::Parameters own(literal);
  const auto context = tests::make_context(own);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  rlwe::GadgetPrimes weak = own.default_gadget(own.levels() - 1);
  const KeyNeed strong{rlwe::KeyRole::galois(5), weak};
  weak.special.insert(weak.special.end(), literal.key_primes.begin(), literal.key_primes.end());
  weak.digits = {weak.base};
  for (const rlwe::KeyRole& role : {rlwe::KeyRole::relinearization(), rlwe::KeyRole::galois(5)}) {
    const std::vector<KeyNeed> needs = {strong, {role, weak}};
    EXPECT_THROW(static_cast<void>(generate_keys(secret, needs)), SecurityError);
  }
  EXPECT_NO_THROW(static_cast<void>(generate_keys(secret, std::vector{strong})));
}

// Levels below the user's belong to circuits: a product of matrices does not end there.
TEST(CircuitLevels, EndWhereTheUsersDo) {
  const rlwe::Parameters own = parameters_for_bootstrapping(small_settings());
  const std::size_t lowest = own.lowest_user_level(), highest = own.highest_user_level();
  ASSERT_GT(lowest, 0U);
  const Values matrix = ckks::random_values(slots * slots, 1);
  const Diagonals diagonals = diagonals_of(matrix, slots, slots, slots);
  std::vector<bool> kept(slots, true);
  const std::vector<std::pair<std::size_t, std::function<void(std::size_t)>>> plans = {
      {3, [&](std::size_t level) { MatrixProduct(own, 4, {.level = level}); }},
      {2, [&](std::size_t level) { MatrixProduct(own, 4, {.level = level, .packed = true}); }},
      {1, [&](std::size_t level) { LinearTransform(own, diagonals, slots, {.level = level}); }},
      {1, [&](std::size_t level) { MatrixVectorProduct(own, 4, 4, {.level = level}); }},
      {1, [&](std::size_t level) { static_cast<void>(SlotCircuit::mask(own, kept, {.level = level})); }},
      {1,
       [&](std::size_t level) {
         static_cast<void>(SlotCircuit::replication(own, slots, {.count = 4}, 1, false, {.level = level}));
       }},
      {2, [&](std::size_t level) {
         FunctionPlan(own, Function(Polynomial({0, 1, 0, 1}, Basis::power)), {.level = level});
       }}};
  for (const auto& [depth, plan] : plans) {
    SCOPED_TRACE(depth);
    EXPECT_NO_THROW(plan(highest));
    if (lowest + depth <= highest) {
      EXPECT_NO_THROW(plan(lowest + depth));
    }
    EXPECT_THROW(plan(lowest + depth - 1), LevelError);
    EXPECT_THROW(plan(highest + 1), LevelError);
  }
}

}  // namespace
}  // namespace hemera::circuits
