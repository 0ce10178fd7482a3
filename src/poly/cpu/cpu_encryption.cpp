// Encryption with a public key and the phase of a decryption, limb by limb while it is in the cache.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/division_rows.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/sampling.hpp"
#include "poly/cpu/transform_part.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

namespace {

// Coefficients of one polynomial of a limb: sum_i rows[i] weights[i] - quotient product - shift.
struct WeightedRows {
  std::vector<std::uint64_t> weights;
  std::uint64_t product = 0;
  std::uint64_t shift = 0;

  // One more row, of integers that are `added` too large to be unsigned.
  void add(std::uint64_t weight, std::uint64_t added, const arith::Modulus& q) {
    weights.push_back(weight);
    shift = q.add(shift, q.multiply(weight, q.reduce(added)));
  }
};

// The quotient of a division without what the kept limbs bring: -delta / D modulo a target modulus.
WeightedRows subtracted(const DivisionRows& rows, std::size_t j) {
  const arith::Modulus& q = rows.plan().target().modulus(j);
  const std::uint64_t inverse = rows.plan().inverse_dropped()[j].operand;
  const auto times = [&](std::uint64_t x) { return q.negate(q.multiply(x, inverse)); };
  WeightedRows result{
      .weights = rows.weights(j), .product = times(rows.product(j)), .shift = times(rows.shift(j))};
  for (std::uint64_t& weight : result.weights) weight = times(weight);
  return result;
}

}  // namespace

// With a division of x = key u + factor e into (E x - delta) / D each limb of the result is
// key (u E / D) + (factor e E - delta) / D: three transforms a limb, as without. delta follows from the
// dropped limbs of x, of which only key u is transformed back.
void CpuBackend::do_encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                                 const RandomStream& stream, const ErrorDistribution& distribution,
                                 std::uint64_t factor, const RnsBase& base, const Division* division,
                                 const ConstPolyView& addend, Workspace& workspace) const {
  constexpr std::uint64_t ternary_bound = 1;
  const auto error_bound = static_cast<std::uint64_t>(distribution.bound());
  const Workspace::Frame frame(workspace);
  const std::size_t degree = out.shape.degree;
  const PolyShape small = with_limbs(out.shape, 1);
  const std::size_t dropped = division == nullptr ? 0 : division->dropped().size();
  // The coefficients of u and of the errors, shifted to unsigned; then u in evaluation form, of which one
  // thread needs one limb.
  const PolyView errors = take(workspace, small);
  const PolyView ternary = take(workspace, with_components(small, 1));
  const bool one_limb = pool_->threads() == 1;
  PolyShape u_shape = with_components(with_limbs(out.shape, std::max(out.shape.limbs, dropped)), 1);
  if (one_limb) u_shape.batch = u_shape.limbs = 1;
  const PolyView u = take(workspace, u_shape);
  const PolyView delta =
      division == nullptr ? PolyView() : take(workspace, DivisionRows::shape(*division, out.shape));
  if (workspace.measures()) return;
  std::optional<DivisionRows> rows;
  if (division != nullptr) rows.emplace(kernels_, *division);

  runtime::ThreadPool& pool = pool_of(queue);
  sample_integers(pool, *kernels_.sampling, ternary, stream, Distribution::ternary());
  sample_integers(pool, *kernels_.sampling, errors, stream, Distribution::error(distribution));
  const auto u_limb = [&](std::size_t b, std::size_t l) {
    return one_limb ? u.limb<Limb>(0, 0, 0) : u.limb<Limb>(b, 0, l);
  };
  const auto write_ternary = [&](Limb* to, std::uint64_t weight, std::size_t b, std::size_t first,
                                 std::size_t count, const arith::Modulus& q) {
    const Limb* const from = ternary.limb<Limb>(b, 0, 0) + first;
    kernels_.weighted_sum(to + first, &from, &weight, 1, 2 * ternary_bound + 1, nullptr, 0, weight, count, q);
  };
  constexpr std::size_t weight = 3 * 10;

  // 1. What is dropped: x = key u transformed back, and factor e.
  if (rows) {
    const auto scaled = [&](std::size_t i) { return rows->factor(i).operand; };
    const auto begin = [&](std::size_t b, std::size_t i, std::size_t first, std::size_t count) {
      write_ternary(u_limb(b, i), scaled(i), b, first, count, division->dropped().modulus(i));
    };
    const auto multiply = [&](std::size_t b, std::size_t i, std::size_t first, std::size_t count) {
      for (std::size_t c = 0; c < 2; ++c) {
        kernels_.multiply(delta.limb<Limb>(b, c, i) + first,
                          key.limb<Limb>(0, c, division->dropped_positions()[i]) + first,
                          u_limb(b, i) + first, count, division->dropped().modulus(i));
      }
    };
    const auto add_errors = [&](std::size_t b, std::size_t i, std::size_t first, std::size_t count) {
      const arith::Modulus& d = division->dropped().modulus(i);
      WeightedRows terms{.weights = {}, .shift = d.negate(rows->center(i))};
      terms.add(d.multiply(d.reduce(factor), scaled(i)), error_bound, d);
      for (std::size_t c = 0; c < 2; ++c) {
        const Limb* const from = errors.limb<Limb>(b, c, 0) + first;
        Limb* const term = u_limb(b, i) + first;  // u is not needed any more
        Limb* const to = delta.limb<Limb>(b, c, i) + first;
        kernels_.weighted_sum(term, &from, terms.weights.data(), 1, 2 * error_bound + 1, nullptr, 0,
                              terms.shift, count, d);
        kernels_.add(to, to, term, count, d);
      }
    };
    for_each_transform<3>(
        queue, with_components(with_limbs(out.shape, dropped), 1), weight,
        [&](std::size_t b, std::size_t, std::size_t i) {
          const LimbTables& own = tables(division->dropped(), i);
          begin(b, i, 0, degree);
          kernels_.forward_transform(u_limb(b, i), u_limb(b, i), own);
          multiply(b, i, 0, degree);
          for (std::size_t c = 0; c < 2; ++c) {
            kernels_.inverse_transform(delta.limb<Limb>(b, c, i), delta.limb<Limb>(b, c, i), own);
          }
          add_errors(b, i, 0, degree);
        },
        [&](std::size_t step, std::size_t b, std::size_t, std::size_t i, std::size_t part,
            std::size_t parts) {
          const TransformPart divided(kernels_, tables(division->dropped(), i), part, parts);
          const std::array sums = {delta.limb<Limb>(b, 0, i), delta.limb<Limb>(b, 1, i)};
          if (step == 0) {
            divided.for_each_column_run(
                [&](std::size_t first, std::size_t count) { begin(b, i, first, count); });
            divided.forward_columns(u_limb(b, i), u_limb(b, i));
          } else if (step == 1) {
            divided.forward_rows(u_limb(b, i));
            divided.for_rows([&](std::size_t first, std::size_t count) { multiply(b, i, first, count); });
            for (Limb* const sum : sums) divided.inverse_rows(sum, sum);
          } else {
            for (Limb* const sum : sums) divided.inverse_columns(sum);
            divided.for_each_column_run(
                [&](std::size_t first, std::size_t count) { add_errors(b, i, first, count); });
          }
        });
    rows->complete(queue, delta);
  }

  // 2. The limbs of the result.
  const RnsBase& target = division == nullptr ? base : division->target();
  const auto scaled = [&](std::size_t l) {
    return division == nullptr ? std::uint64_t{1} : division->scaled_inverse()[l].operand;
  };
  std::vector<WeightedRows> terms(target.size());
  for (std::size_t l = 0; l < terms.size(); ++l) {
    const arith::Modulus& q = target.modulus(l);
    if (rows) terms[l] = subtracted(*rows, l);
    terms[l].add(q.multiply(q.reduce(factor), scaled(l)), error_bound, q);
  }
  const std::uint64_t bound = std::max(rows ? rows->bound() : 0, 2 * error_bound + 1);
  const auto begin = [&](std::size_t b, std::size_t l, std::size_t first, std::size_t count) {
    const arith::Modulus& q = target.modulus(l);
    write_ternary(u_limb(b, l), scaled(l), b, first, count, q);
    for (std::size_t c = 0; c < 2; ++c) {
      std::vector<const Limb*> from;
      if (rows) from = rows->summed_rows(delta, b, c, first);
      from.push_back(errors.limb<Limb>(b, c, 0) + first);
      kernels_.weighted_sum(out.limb<Limb>(b, c, l) + first, from.data(), terms[l].weights.data(),
                            from.size(), bound, rows ? rows->quotient_row(delta, b, c, first) : nullptr,
                            terms[l].product, terms[l].shift, count, q);
    }
  };
  const auto end = [&](std::size_t b, std::size_t l, std::size_t first, std::size_t count) {
    // Of a limb that the division adds u is 0, whatever it multiplies.
    const std::int32_t kept =
        division == nullptr ? static_cast<std::int32_t>(l) : division->kept_positions()[l];
    const auto position = static_cast<std::size_t>(std::max(kept, 0));
    for (std::size_t c = 0; c < 2; ++c) {
      Limb* const to = out.limb<Limb>(b, c, l) + first;
      kernels_.multiply_add(to, key.limb<Limb>(0, c, position) + first, u_limb(b, l) + first, to, count,
                            target.modulus(l));
      if (c == 0 && addend.data != nullptr) {
        kernels_.add(to, to, addend.limb<Limb>(b, 0, l) + first, count, target.modulus(l));
      }
    }
  };
  const auto transformed = [&](std::size_t b, std::size_t l) {
    return std::array{u_limb(b, l), out.limb<Limb>(b, 0, l), out.limb<Limb>(b, 1, l)};
  };
  for_each_transform(
      queue, with_components(out.shape, 1), weight,
      [&](std::size_t b, std::size_t, std::size_t l) {
        begin(b, l, 0, degree);
        for (Limb* const limb : transformed(b, l)) kernels_.forward_transform(limb, limb, tables(target, l));
        end(b, l, 0, degree);
      },
      [&](std::size_t step, std::size_t b, std::size_t, std::size_t l, std::size_t part, std::size_t parts) {
        const TransformPart divided(kernels_, tables(target, l), part, parts);
        if (step == 0) {
          divided.for_each_column_run(
              [&](std::size_t first, std::size_t count) { begin(b, l, first, count); });
          for (Limb* const limb : transformed(b, l)) divided.forward_columns(limb, limb);
        } else {
          for (Limb* const limb : transformed(b, l)) divided.forward_rows(limb);
          divided.for_rows([&](std::size_t first, std::size_t count) { end(b, l, first, count); });
        }
      });
}

// Horner's rule; of three components and more in blocks that stay in a near cache.
void CpuBackend::do_phase(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const ConstPolyView& secret, Form form, const RnsBase& base) const {
  constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);
  const std::size_t components = in.shape.components;
  const auto sum = [&](std::size_t b, std::size_t l, std::size_t first, std::size_t count) {
    const std::size_t size = components > 2 ? std::min(block, count) : count;
    for (const std::size_t end = first + count; first < end; first += size) {
      Limb* const to = out.limb<Limb>(b, 0, l) + first;
      const Limb* higher = in.limb<Limb>(b, components - 1, l) + first;
      if (components == 1) std::copy_n(higher, size, to);
      for (std::size_t c = components - 1; c-- > 0; higher = to) {
        kernels_.multiply_add(to, higher, secret.limb<Limb>(0, 0, l) + first, in.limb<Limb>(b, c, l) + first,
                              size, base.modulus(l));
      }
    }
  };
  if (form == Form::evaluation) {
    for_each_part(queue, out.shape, components,
                  [&](std::size_t b, std::size_t, std::size_t l, std::size_t first, std::size_t count) {
                    sum(b, l, first, count);
                  });
    return;
  }
  for_each_transform(
      queue, out.shape, 8 + 2 * components,
      [&](std::size_t b, std::size_t, std::size_t l) {
        sum(b, l, 0, out.shape.degree);
        kernels_.inverse_transform(out.limb<Limb>(b, 0, l), out.limb<Limb>(b, 0, l), tables(base, l));
      },
      [&](std::size_t step, std::size_t b, std::size_t, std::size_t l, std::size_t part, std::size_t parts) {
        const TransformPart divided(kernels_, tables(base, l), part, parts);
        Limb* const to = out.limb<Limb>(b, 0, l);
        if (step == 1) return divided.inverse_columns(to);
        divided.for_rows([&](std::size_t first, std::size_t count) { sum(b, l, first, count); });
        divided.inverse_rows(to, to);
      });
}

}  // namespace hemera::poly::cpu
