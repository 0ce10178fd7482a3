// Changes of base: conversion, scale-and-round, division.
#include <algorithm>

#include "poly/cpu/conversion.hpp"
#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/transform_part.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;
using arith::uint128;

namespace {

// Writes whether the block of coefficients of polynomial b from `first` on is doubtful.
void report(const IntegerView& doubtful, std::size_t b, std::size_t first, std::size_t block, bool found) {
  std::fill_n(doubtful.data + b * doubtful.count + first / coefficients_per_doubt,
              block / coefficients_per_doubt, std::int64_t{found});
}

}  // namespace

void CpuBackend::do_convert(Queue& queue, const PolyView& out, const ConstPolyView& in,
                            const BaseConversion& plan, const IntegerView* doubtful) const {
  const std::size_t sources = plan.source().size();
  const std::size_t targets = plan.target().size();
  const Converter converter(kernels_, plan);
  const std::size_t rows = sources + (converter.has_quotient() ? 1 : 0);
  const std::size_t block = block_size(rows);
  const std::size_t weight = 4 * sources + targets * (sources / 2 + 1);
  for_each_run(queue, out.shape, block, weight,
               [&](std::size_t b, std::size_t c, std::size_t first, std::size_t end) {
                 BlockScratch scratch(rows * block);
                 std::vector<const Limb*> y(sources);
                 for (std::size_t i = 0; i < sources; ++i) y[i] = scratch.data() + i * block;
                 Limb* v = converter.has_quotient() ? scratch.data() + sources * block : nullptr;
                 for (; first < end; first += block) {
                   for (std::size_t i = 0; i < sources; ++i) {
                     converter.scale(scratch.data() + i * block, in.limb<Limb>(b, c, i) + first, i, block);
                   }
                   bool found = false;
                   if (v != nullptr) {
                     found = converter.quotient(v, y.data(), block);
                   } else if (doubtful != nullptr) {
                     found = converter.one_is_large(y[0], block);
                   }
                   for (std::size_t j = 0; j < targets; ++j) {
                     converter.convert(out.limb<Limb>(b, c, j) + first, y.data(), v, j, block);
                   }
                   if (doubtful != nullptr) report(*doubtful, b, first, block, found);
                 }
                 // Remains of a decryption would reveal the plaintext.
                 if (doubtful != nullptr) runtime::secure_zero(scratch.data(), rows * block * sizeof(Limb));
               });
}

// Each limb is made of the centred residues modulo t, transformed and added while it is in the cache.
void CpuBackend::do_lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                                  std::uint64_t factor, std::span<const std::uint64_t> scalars,
                                  const BaseConversion& lift, Workspace& workspace,
                                  const ConstPolyView& addend) const {
  const Workspace::Frame frame(workspace);
  const bool adds = addend.data != nullptr;
  const PolyView rows = take(workspace, with_limbs(out.shape, 1));
  const PolyView lifted = adds ? take(workspace, out.shape) : out;
  if (workspace.measures()) return;
  const Converter converter(kernels_, lift);
  const arith::Modulus& t = lift.source().modulus(0);
  const arith::ShoupFactor scale(t.multiply(lift.inverse_punctured()[0].operand, t.reduce(factor)), t);
  const std::size_t batch = in.front().shape.batch, degree = out.shape.degree;
  for_each_part(queue, rows.shape, 2,
                [&](std::size_t b, std::size_t c, std::size_t, std::size_t first, std::size_t count) {
                  kernels_.scale_residues(rows.limb<Limb>(b, c, 0) + first,
                                          in[b / batch].limb<Limb>(b % batch, c, 0) + first, scale, true,
                                          count, t);
                });
  const auto convert = [&](std::size_t b, std::size_t j, std::size_t first, std::size_t count) {
    const Limb* const y = rows.limb<Limb>(b, 0, 0) + first;
    Limb* const to = lifted.limb<Limb>(b, 0, j) + first;
    if (scalars.empty()) return converter.convert(to, &y, nullptr, j, count);
    const arith::Modulus& q = lift.target().modulus(j);
    kernels_.weighted_sum(to, &y, &scalars[j], 1, t.value(), nullptr, 0,
                          q.multiply(scalars[j], lift.center_shift()[j]), count, q);
  };
  const auto add = [&](std::size_t b, std::size_t j, std::size_t first, std::size_t count) {
    if (!adds) return;
    kernels_.add(out.limb<Limb>(b, 0, j) + first, lifted.limb<Limb>(b, 0, j) + first,
                 addend.limb<Limb>(b, 0, j) + first, count, lift.target().modulus(j));
  };
  for_each_transform(
      queue, out.shape, 10,
      [&](std::size_t b, std::size_t, std::size_t j) {
        Limb* const to = lifted.limb<Limb>(b, 0, j);
        if (scalars.empty() && transforms_sums(kernels_, lift.target().modulus(j), t.value())) {
          kernels_.forward_transform_of_sum(to, rows.limb<Limb>(b, 0, 0), nullptr, {},
                                            converter.negative_shift(j), tables(lift.target(), j));
        } else {
          convert(b, j, 0, degree);
          kernels_.forward_transform(to, to, tables(lift.target(), j));
        }
        add(b, j, 0, degree);
      },
      [&](std::size_t step, std::size_t b, std::size_t, std::size_t j, std::size_t part, std::size_t parts) {
        const TransformPart divided(kernels_, tables(lift.target(), j), part, parts);
        divided.forward_step(
            step, lifted.limb<Limb>(b, 0, j),
            [&](std::size_t first, std::size_t count) { convert(b, j, first, count); },
            [&](std::size_t first, std::size_t count) { add(b, j, first, count); });
      });
}

void CpuBackend::do_scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                    const ScaleAndRound& plan, const IntegerView* doubtful) const {
  const std::size_t divided = plan.divided().size();
  const std::size_t targets = plan.target().size();
  // Rows: scaled residues of the divided limbs, the two parts of the rounded sum, those of one kept limb.
  const std::size_t rows = divided + 3;
  const std::size_t block = block_size(rows);
  const std::uint64_t bound = std::max(largest_modulus(plan.source()), std::uint64_t{1} << 48);
  std::vector<std::vector<std::uint64_t>> weights(targets);
  for (std::size_t j = 0; j < targets; ++j) {
    const arith::Modulus& q = plan.target().modulus(j);
    weights[j] = plan.whole()[j];
    weights[j].push_back(1);
    weights[j].push_back(q.reduce(std::uint64_t{1} << 48));
    if (plan.target_positions()[j] >= 0) weights[j].push_back(plan.kept_factor()[j]);
  }
  for_each_run(
      queue, out.shape, block, 4 * divided + targets,
      [&](std::size_t b, std::size_t c, std::size_t first, std::size_t end) {
        BlockScratch scratch(rows * block);
        std::vector<const Limb*> y(rows);
        for (std::size_t i = 0; i < rows; ++i) y[i] = scratch.data() + i * block;
        Limb* const fractions = scratch.data() + divided * block;
        Limb* const kept = fractions + 2 * block;
        for (; first < end; first += block) {
          const auto scale = [&](Limb* to, std::size_t position) {
            kernels_.scale_residues(to, in.limb<Limb>(b, c, position) + first,
                                    plan.inverse_punctured()[position], false, block,
                                    plan.source().modulus(position));
          };
          for (std::size_t i = 0; i < divided; ++i) {
            scale(scratch.data() + i * block, plan.divided_positions()[i]);
          }
          const bool found =
              kernels_.rounded_fractions(fractions, fractions + block, y.data(), plan.fraction_high().data(),
                                         plan.fraction_low().data(), divided, bound, block);
          for (std::size_t j = 0; j < targets; ++j) {
            if (plan.target_positions()[j] >= 0) {
              scale(kept, static_cast<std::size_t>(plan.target_positions()[j]));
            }
            kernels_.weighted_sum(out.limb<Limb>(b, c, j) + first, y.data(), weights[j].data(),
                                  weights[j].size(), bound, nullptr, 0, 0, block, plan.target().modulus(j));
          }
          if (doubtful != nullptr) report(*doubtful, b, first, block, found);
        }
        // Remains of a decryption would reveal the plaintext.
        if (plan.divided().size() == plan.source().size()) {
          runtime::secure_zero(scratch.data(), rows * block * sizeof(Limb));
        }
      });
}

void CpuBackend::do_finish_division(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                    const ConstPolyView& delta, const Division& plan) const {
  for_each_part(queue, out.shape, 2,
                [&](std::size_t b, std::size_t c, std::size_t j, std::size_t first, std::size_t count) {
                  finish_division_part(out.limb<Limb>(b, c, j), in, delta.limb<Limb>(b, c, j), b, c, j, first,
                                       count, plan);
                });
}

void CpuBackend::finish_division_part(Limb* out, const ConstPolyView& in, const Limb* delta,
                                      std::size_t batch, std::size_t component, std::size_t j,
                                      std::size_t first, std::size_t count, const Division& plan) const {
  const arith::Modulus& q = plan.target().modulus(j);
  const std::int32_t position = plan.kept_positions()[j];
  const arith::ShoupFactor& inverse = plan.inverse_dropped()[j];
  const Limb* kept =
      position < 0 ? nullptr : in.limb<Limb>(batch, component, static_cast<std::size_t>(position)) + first;
  out += first;
  delta += first;
  if (position < 0 || !plan.multiplies()) {
    kernels_.subtract_multiply_scalar(out, kept, delta, inverse, count, q);
    return;
  }
  // (E x - delta) / D, in blocks that stay in the first-level cache.
  constexpr std::size_t block = 1024;
  const arith::ShoupFactor added(
      q.multiply(plan.scaled_inverse()[j].operand, plan.dropped_product()[j].operand), q);
  alignas(64) Limb scaled[block];
  for (std::size_t done = 0; done < count; done += block) {
    const std::size_t wanted = std::min(block, count - done);
    kernels_.multiply_scalar(scaled, kept + done, added, wanted, q);
    kernels_.subtract_multiply_scalar(out + done, scaled, delta + done, inverse, wanted, q);
  }
}

}  // namespace hemera::poly::cpu
