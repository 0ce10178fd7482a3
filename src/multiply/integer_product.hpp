// One tensor product of integers: its arrays of values and the passes over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hemera/multiply/integer.hpp"
#include "hemera/runtime/thread_pool.hpp"
#include "multiply/digits.hpp"
#include "multiply/inert_tables.hpp"

namespace hemera::multiply {

using IntegerFactors = std::span<const std::span<const std::uint64_t>>;
using IntegerOutputs = std::span<const std::span<std::uint64_t>>;

/// The tables of all products: primes[i], and p_j^-1 modulo p_i for j < i.
struct RemainderConstants {
  std::vector<arith::Modulus> moduli;
  std::vector<std::vector<arith::ShoupFactor>> inverses;
};

/// The plan with modulus_exponent() == bits, for `left` by `right` integers; ParameterError if there is none.
IntegerProductPlan plan_product_modulo_exactly(std::size_t exponent, std::size_t left, std::size_t right);

/// Whether products are those of integers, below 2^(64 words of out), or modulo 2^modulus_exponent + 1.
enum class Wrapping { none, modulo };

class IntegerProduct {
 public:
  /// tables: of each prime of the plan. scratch: plan.bytes. A square (b is a) transforms its factors once.
  IntegerProduct(const IntegerProductPlan& plan, Wrapping wrapping, std::size_t left, std::size_t right,
                 bool square, const InertKernels& kernels, std::vector<InertTwiddles::Tables> tables,
                 const RemainderConstants& remainders, std::uint64_t* scratch, runtime::ThreadPool& pool);

  void run(IntegerOutputs out, IntegerFactors a, IntegerFactors b);

 private:
  // A pass on whole arrays: its lane level, pairs of a block before it and of a part after it.
  struct Pass {
    int level;
    std::size_t length;
    std::size_t part;
  };
  using PassKernel = decltype(InertKernels::forward_pass);

  // Values of one row modulo each prime.
  using Row = std::vector<std::uint64_t*>;

  Row take_row();
  std::uint64_t* take();
  template <typename Body>
  void for_columns(std::size_t rows, std::size_t columns, const Body& body);
  void split(std::uint64_t* digits, std::span<const std::uint64_t> integer);
  void pass_over(const Pass& pass, std::span<const Row> rows, PassKernel kernel);
  void multiply_blocks();
  // Adds up the coefficients into `out`; what leaves it at the top.
  Carry recombine(std::span<std::uint64_t> out, const Row& residues);

  const IntegerProductPlan& plan_;
  Wrapping wrapping_;
  std::size_t left_;
  std::size_t right_;
  bool square_;
  const InertKernels& kernels_;
  std::vector<InertTwiddles::Tables> tables_;
  const RemainderConstants& remainders_;
  std::uint64_t* next_;  // of the scratch
  runtime::ThreadPool& pool_;
  std::size_t pairs_;
  std::vector<std::uint64_t*> digits_;  // [factor]
  std::vector<Row> factors_;            // a, and b if it is another
  std::vector<Row> products_;           // [component]
  Row residues_;                        // in natural order
  std::vector<Pass> passes_;
  int block_level_ = 0;  // of the blocks after all passes
  std::size_t block_ = 0;
};

}  // namespace hemera::multiply
