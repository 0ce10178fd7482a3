// Polynomials in parts, products of bytes with a vector, and residues in fewer bytes.
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/tuning.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

// --- Parts of polynomials ---

namespace {

// The first log2(parts) stages of an inverse transform, which leave coefficient u of the rest modulo X^parts
// - root in place u of each run of `parts` values: the value of part u at the root.
void invert_runs(Limb* values, const LimbTables& tables, std::size_t parts) {
  const arith::Modulus& q = tables.modulus;
  for (std::size_t half = 1; half < parts; half *= 2) {
    const std::size_t blocks = tables.degree / 2 / half;
    for (std::size_t block = 0; block < blocks; ++block) {
      const Limb w = tables.inverse_powers[blocks + block];
      Limb* const x = values + 2 * half * block;
      for (std::size_t i = 0; i < half; ++i) {
        const Limb low = x[i], high = x[i + half];
        x[i] = q.add(low, high);
        x[i + half] = q.multiply(q.subtract(low, high), w);
      }
    }
  }
}

}  // namespace

void CpuBackend::do_split_parts(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                const RnsBase& base) const {
  const std::size_t degree = in.shape.degree, entries = out.shape.degree, parts = degree / entries;
  const auto stages = static_cast<std::size_t>(std::countr_zero(parts));
  for_each_limb(queue, in.shape, stages * tuning::product_weight,
                [&](std::size_t batch, std::size_t component, std::size_t limb) {
                  const LimbTables& tables = this->tables(base, limb);
                  const arith::ShoupFactor inverse(arith::inverse(parts, tables.modulus.value()),
                                                   tables.modulus);
                  const Limb* from = in.limb<Limb>(batch, component, limb);
                  std::vector<Limb> values(from, from + degree);
                  const runtime::ZeroedAtEnd zeroed{std::span(values)};  // it may be a secret
                  invert_runs(values.data(), tables, parts);
                  for (std::size_t u = 0; u < parts; ++u) {
                    Limb* to = out.limb<Limb>(component * parts + u, batch, limb);
                    for (std::size_t i = 0; i < entries; ++i) {
                      to[i] = arith::multiply(values[i * parts + u], inverse, tables.modulus.value());
                    }
                  }
                });
}

// --- Products with a vector ---

namespace {

// Products of rows of bytes with residues below 2^61, in 15 bits at a time: 16-bit products, 32-bit sums.
class VectorProduct {
 public:
  VectorProduct(const arith::Modulus& q, const Limb* residues, std::size_t columns)
      : q_(q),
        columns_(columns),
        part_count_((static_cast<std::size_t>(q.bits()) + part_bits - 1) / part_bits),
        parts_(part_count_ * columns) {
    for (std::size_t part = 0; part < part_count_; ++part) {
      for (std::size_t j = 0; j < columns; ++j) {
        parts_[part * columns + j] = static_cast<std::int16_t>(residues[j] >> (part_bits * part) & part_mask);
      }
    }
  }

  Limb operator()(const std::int8_t* row) const {
    Limb result = 0;
    for (std::size_t part = part_count_; part-- > 0;) {
      const std::int16_t* numbers = parts_.data() + part * columns_;
      std::int64_t sum = 0;
      for (std::size_t first = 0; first < columns_; first += most_terms) {
        std::int32_t some = 0;
        for (std::size_t j = first; j < std::min(columns_, first + most_terms); ++j) {
          some += row[j] * numbers[j];
        }
        sum += some;
      }
      result = q_.add(q_.multiply(result, part_mask + 1), q_.reduce_signed(sum));
    }
    return result;
  }

 private:
  static constexpr std::size_t part_bits = 15;
  static constexpr Limb part_mask = (Limb{1} << part_bits) - 1;
  static constexpr std::size_t most_terms = 496;  // of 128 (2^15 - 1) each below 2^31, whole vectors

  const arith::Modulus& q_;
  std::size_t columns_, part_count_;
  std::vector<std::int16_t> parts_;
};

}  // namespace

void CpuBackend::do_multiply_add_vector(Queue& queue, const PolyView& out, const IntegerMatrixView& w,
                                        const ConstPolyView& in, const RnsBase& base) const {
  const std::size_t degree = out.shape.degree;
  const auto* rows = reinterpret_cast<const std::int8_t*>(w.data);
  std::vector<VectorProduct> products;
  for (std::size_t l = 0; l < base.size(); ++l) {
    products.emplace_back(base.modulus(l), in.limb<Limb>(0, 0, l), w.columns);
  }
  for_each_part(queue, out.shape, w.columns,
                [&](std::size_t batch, std::size_t, std::size_t limb, std::size_t first, std::size_t count) {
                  Limb* const to = out.limb<Limb>(batch, 0, limb);
                  const std::size_t row = batch * degree;  // of coefficient 0
                  for (std::size_t i = first; i < first + count && row + i < w.rows; ++i) {
                    to[i] = base.modulus(limb).add(to[i], products[limb](rows + (row + i) * w.columns));
                  }
                });
}

// --- Fewer bytes ---

void CpuBackend::do_pack_rounded(Queue& queue, std::span<std::byte> out, const ConstPolyView& in,
                                 int dropped_bits, int width) const {
  static_assert(std::endian::native == std::endian::little);
  const auto bytes = static_cast<std::size_t>(width);
  const Limb half = (Limb{1} << dropped_bits) / 2;
  for_each_part(
      queue, in.shape, 1,
      [&](std::size_t batch, std::size_t component, std::size_t limb, std::size_t first, std::size_t count) {
        const Limb* from = in.limb<Limb>(batch, component, limb) + first;
        const std::size_t row = (batch * in.shape.components + component) * in.shape.limbs + limb;
        std::byte* to = out.data() + (row * in.shape.degree + first) * bytes;
        for (std::size_t i = 0; i < count; ++i) {
          const Limb number = (from[i] + half) >> dropped_bits;
          std::memcpy(to + i * bytes, &number, bytes);
        }
      });
}

}  // namespace hemera::poly::cpu
