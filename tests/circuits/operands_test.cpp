// Circuits of ciphertexts that differ in a field from their plan, or from each other: transforms, slots,
// functions, matrix products and bootstraps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "circuits/function_support.hpp"
#include "circuits/matrix_support.hpp"
#include "circuits/operands_support.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/circuits/linear/slot_circuit.hpp"
#include "hemera/multiply/engines.hpp"
#include "hemera/runtime/error.hpp"
#include "member_count.hpp"
#include "rlwe/metadata_fields.hpp"

namespace hemera::circuits::operands {
namespace {

// Every field is one that an operand above differs in, or one that CKKS does not use.
TEST(CircuitOperands, EveryFieldOfMetadataIsTried) {
  const Client client({});
  std::set<std::string> differing;
  const std::vector<Operand> all = client.operands();
  const rlwe::Metadata& first = all.front().x.meta;
  for (const Operand& a : all) differing.merge(rlwe::differing_fields(a.x.meta, first));
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
    EXPECT_LT(client.error(out, values), 1e-3);
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
  EXPECT_THROW(static_cast<void>(prepared(evaluator, Ciphertext{})), MismatchError);
  ASSERT_GT(low, 0U);
  EXPECT_THROW(static_cast<void>(prepared(evaluator, encrypt(x, {}, low - 1))), LevelError);
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

}  // namespace
}  // namespace hemera::circuits::operands
