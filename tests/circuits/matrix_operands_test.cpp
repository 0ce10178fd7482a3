// Matrix products of ciphertexts that differ in a field from their plan, or from each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "circuits/function_support.hpp"
#include "circuits/matrix_support.hpp"
#include "circuits/operands_support.hpp"
#include "hemera/circuits/linear/matrix_product.hpp"
#include "hemera/circuits/linear/matrix_vector_product.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::operands {
namespace {

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

}  // namespace
}  // namespace hemera::circuits::operands
