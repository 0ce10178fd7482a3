#include <type_traits>

#include "poly/cuda/rounds.cuh"
#include "poly/cuda/tables.hpp"

namespace hemera::poly::cuda {

struct RingTables::Transforms {
  Lazy<U64> u64;
  Lazy<M64> m64;
  Lazy<F64> f64;
};

namespace {

// root^reverse_bits(i), i < N. Factors of the stages after log2(values) are 0: blocks that are left are their
// first coefficients.
std::vector<std::uint64_t> powers_in_reversed_order(const arith::Modulus& q, std::uint64_t root,
                                                    std::size_t values, std::size_t degree) {
  std::vector<std::uint64_t> powers(degree);
  const arith::ShoupFactor step(root, q);
  std::uint64_t power = 1;
  std::size_t position = 0;
  for (std::size_t i = 0; i < values; ++i) {
    powers[position] = power;
    power = arith::multiply(power, step, q.value());
    // Count up in reversed order: the carry runs from the highest bit down.
    std::size_t bit = values >> 1;
    for (; (position & bit) != 0; bit >>= 1) position ^= bit;
    position |= bit;
  }
  return powers;
}

template <class A>
void arrange(typename A::Twiddle* table, const std::vector<std::uint64_t>& powers, int log_rows,
             const arith::Modulus& q) {
  const TableLayout layout(log_rows);
  // Factor h of the round at `block` of `level`: its stage s has factors 2^s ... 2^(s+1) - 1.
  const auto factor = [&](int level, std::size_t block, unsigned h) {
    int s = 0;
    while (h >> (s + 1) != 0) ++s;
    const std::size_t g = h - (std::size_t{1} << s);
    return A::twiddle(powers[(std::size_t{1} << (level + s)) + (block << s) + g], q);
  };
  const int log_first = log_rows > 4 ? log_rows - 4 : log_rows;
  for (unsigned h = 1; h < 1U << log_first; ++h) table[TableLayout::first + h] = factor(0, 0, h);
  for (unsigned block = 0; block < layout.second_blocks; ++block) {
    for (unsigned h = 1; h < 16; ++h) table[layout.second() + 16 * block + h] = factor(log_first, block, h);
  }
  for (unsigned row = 0; row < layout.rows; ++row) {
    for (unsigned h = 1; h < 16; ++h) {
      table[layout.third() + 16 * row + h] = factor(log_rows, row, h);
      for (unsigned t = 0; t < 16; ++t) {
        table[layout.fourth() + row_size * row + 16 * h + t] = factor(log_rows + 4, 16 * row + t, h);
      }
    }
  }
}

}  // namespace

bool takes(Arithmetic arithmetic, const arith::Modulus& q) {
  bool result = false;
  with_arithmetic(arithmetic, [&]<class A>(std::type_identity<A>) { result = A::takes(q); });
  return result;
}

RingTables::RingTables(std::shared_ptr<const Ring> ring, std::shared_ptr<runtime::Memory> memory,
                       std::shared_ptr<const runtime::cuda::Streams> streams)
    : ring_(std::move(ring)),
      memory_(std::move(memory)),
      streams_(std::move(streams)),
      transforms_(std::make_unique<Transforms>()) {
  static_assert(std::is_trivially_copyable_v<arith::Modulus>);
  std::vector<arith::Modulus> moduli;
  for (const RingModulus& entry : ring_->moduli()) moduli.push_back(entry.modulus);
  moduli_ = {memory_, *streams_, moduli};
}

RingTables::~RingTables() = default;

template <>
RingTables::Lazy<U64>& RingTables::lazy() const {
  return transforms_->u64;
}
template <>
RingTables::Lazy<M64>& RingTables::lazy() const {
  return transforms_->m64;
}
template <>
RingTables::Lazy<F64>& RingTables::lazy() const {
  return transforms_->f64;
}

template <class A>
void RingTables::fill(TransformTables<A>& tables) const {
  const int log_rows = ring_->log_degree() - static_cast<int>(log_row_size);
  const std::size_t size = TableLayout(log_rows).size();
  const std::size_t count = ring_->moduli().size();
  std::vector<typename A::Modulus> moduli(count);
  std::vector<typename A::Fold> folds(count);
  std::vector<typename A::Twiddle> forward(count * size);
  std::vector<typename A::Twiddle> inverse(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const arith::Modulus& q = (*ring_)[i].modulus;
    const std::uint64_t root = (*ring_)[i].root;
    if (!A::takes(q)) continue;
    moduli[i] = A::modulus(q);
    folds[i] = A::fold(q);
    if (root == 0) continue;
    const std::size_t degree = ring_->degree(), values = (*ring_)[i].values_in(degree);
    arrange<A>(forward.data() + i * size, powers_in_reversed_order(q, root, values, degree), log_rows, q);
    const auto powers = powers_in_reversed_order(q, arith::inverse(root, q.value()), values, degree);
    typename A::Twiddle* table = inverse.data() + i * size;
    arrange<A>(table, powers, log_rows, q);
    const std::uint64_t inverse_degree = arith::inverse(values, q.value());
    table[0] = A::twiddle(inverse_degree, q);
    table[1] = A::twiddle(q.multiply(inverse_degree, powers[1]), q);
  }
  tables.moduli = {memory_, *streams_, moduli};
  tables.forward = {memory_, *streams_, forward};
  tables.folds = {memory_, *streams_, folds};
  tables.inverse = {memory_, *streams_, inverse};
}

template <class A>
const TransformTables<A>& RingTables::transforms() const {
  Lazy<A>& entry = lazy<A>();
  std::call_once(entry.once, [&] { fill(entry.tables); });
  return entry.tables;
}

template const TransformTables<U64>& RingTables::transforms() const;
template const TransformTables<M64>& RingTables::transforms() const;
template const TransformTables<F64>& RingTables::transforms() const;

}  // namespace hemera::poly::cuda
