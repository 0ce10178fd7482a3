// A table of every public operation of a backend with arguments that fit, and of what can be wrong with each.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "conformance/suite.hpp"

namespace hemera::conformance::checked {

using poly::ConstPolyView;
using poly::Form;
using poly::PolyView;
using poly::RnsBase;
using runtime::Workspace;

inline constexpr std::size_t degree = 1024;
inline constexpr std::size_t batch = 2;

// Bases and plans in one ring.
struct Plans {
  explicit Plans(const Rig& rig)
      : base(rig.primes(0, 2)),
        extended(rig.primes(0, 3)),
        one(rig.primes(0, 1)),
        up(base, rig.primes(2, 1), {{0, one}, {1, rig.primes(1, 1)}}, extended),
        down(extended, base),
        conversion(base, rig.primes(2, 1), poly::BaseConversion::Kind::exact),
        rounding(extended, rig.primes(2, 1), 65537, base),
        product(base, rig.primes(2, 1), 65537),
        lift(rig.plaintext(0), base, poly::BaseConversion::Kind::exact) {}

  RnsBase base, extended, one;
  poly::ModUp up;
  poly::Division down;
  poly::BaseConversion conversion;
  poly::ScaleAndRound rounding;
  poly::ScaledProduct product;
  poly::BaseConversion lift;
};

// What of a view can be wrong, and must be found.
enum Mistake : unsigned {
  limbs = 1,
  wrong_degree = 2,
  wrong_batch = 4,
  components = 8,
  word = 16,
  fewer_entries = 32,
};
inline constexpr unsigned any = 63;
// Where fewer entries may be stored.
inline constexpr unsigned of_stored = any & ~fewer_entries;

struct Operand {
  const char* name;
  const RnsBase& base;
  std::size_t batch, components;
  unsigned mistakes;
};

struct Operation {
  const char* name;
  std::vector<Operand> operands;
  /// The operation with these views, as many as operands, and plans.
  std::function<void(const std::vector<PolyView>&, const Plans&, Workspace&)> run;
  bool has_base = true;
  /// Further MismatchErrors: what, and a call that makes it.
  struct Wrong {
    const char* what;
    std::function<void(const std::vector<PolyView>&, Workspace&)> call;
  };
  std::vector<Wrong> others = {};
};

// The table, and what its calls use.
class Table {
 public:
  explicit Table(const BackendCase& backend_case);

  Rig rig, foreign;
  Plans plans, foreign_plans;
  std::vector<Operation> operations;

 private:
  [[nodiscard]] const poly::Backend& backend() const { return *rig.backend; }
  runtime::Queue& queue() { return *rig.queue; }
  [[nodiscard]] poly::SlotView slots(std::size_t rows, std::size_t count) {
    return {reinterpret_cast<std::complex<double>*>(values.data()), rows, count};
  }
  [[nodiscard]] poly::IntegerView integer_view(std::size_t rows, std::size_t count) {
    return {reinterpret_cast<std::int64_t*>(values.data()), rows, count};
  }
  [[nodiscard]] poly::NumberView numbers(std::size_t rows, std::size_t count) {
    return {reinterpret_cast<double*>(values.data()), true, rows, count};
  }
  [[nodiscard]] std::span<std::byte> bytes(std::size_t count) { return {values.data(), count}; }

  // Operations of one or two inputs over a base.
  template <typename Run>
  void add_unary(const char* name, const Run& run, std::vector<Operation::Wrong> others = {});
  void add_binary(const char* name, decltype(&poly::Backend::add) operation);

  void copies();
  void element_wise();
  void add_matrices();
  void add_inner_products();

  // What can be wrong with the numbers that a rounding of these views tells its doubts by.
  template <typename Call>
  std::vector<Operation::Wrong> wrong_doubts(const Call& call);
  void changes_of_base();
  void key_switching();
  void scaled_products();
  void samplers();
  void embedding();
  void exponentials();
  void integers();

  std::vector<std::uint64_t> words;
  runtime::Buffer values;
  poly::ErrorDistribution errors{3.19};
};

}  // namespace hemera::conformance::checked
