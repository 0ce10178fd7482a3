// Changes of base: conversion, scale-and-round, division.
#include <algorithm>

#include "poly/cpu/conversion.hpp"
#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;
using arith::uint128;

void CpuBackend::do_convert(Queue& queue, const PolyView& out, const ConstPolyView& in,
                            const BaseConversion& plan) const {
  const std::size_t sources = plan.source().size();
  const std::size_t targets = plan.target().size();
  const Converter converter(kernels_, plan);
  const std::size_t block = block_size(sources + 1);
  for_each_block(queue, out.shape, block, sources + targets,
                 [&](std::size_t b, std::size_t c, std::size_t first) {
                   BlockScratch scratch((sources + 1) * block);
                   std::vector<const Limb*> y(sources);
                   for (std::size_t i = 0; i < sources; ++i) {
                     Limb* row = scratch.data() + i * block;
                     converter.scale(row, in.limb<Limb>(b, c, i) + first, i, block);
                     y[i] = row;
                   }
                   Limb* v = converter.has_quotient() ? scratch.data() + sources * block : nullptr;
                   if (v != nullptr) converter.quotient(v, y.data(), block);
                   for (std::size_t j = 0; j < targets; ++j) {
                     converter.convert(out.limb<Limb>(b, c, j) + first, y.data(), v, j, block);
                   }
                 });
}

void CpuBackend::do_scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                    const ScaleAndRound& plan) const {
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
  for_each_block(
      queue, out.shape, block, 4 * divided + targets, [&](std::size_t b, std::size_t c, std::size_t first) {
        BlockScratch scratch(rows * block);
        Limb* row = scratch.data();
        std::vector<const Limb*> y;
        const auto scale = [&](std::size_t position) {
          kernels_.scale_residues(row, in.limb<Limb>(b, c, position) + first,
                                  plan.inverse_punctured()[position], false, block,
                                  plan.source().modulus(position));
          y.push_back(row);
          row += block;
        };
        for (const std::uint32_t position : plan.divided_positions()) scale(position);
        kernels_.rounded_fractions(row, row + block, y.data(), plan.fraction_high().data(),
                                   plan.fraction_low().data(), divided, bound, block);
        y.push_back(row);
        y.push_back(row + block);
        row += 2 * block;
        for (std::size_t j = 0; j < targets; ++j) {
          if (plan.target_positions()[j] >= 0) scale(static_cast<std::size_t>(plan.target_positions()[j]));
          kernels_.weighted_sum(out.limb<Limb>(b, c, j) + first, y.data(), weights[j].data(),
                                weights[j].size(), bound, nullptr, 0, 0, block, plan.target().modulus(j));
          if (plan.target_positions()[j] >= 0) {
            y.pop_back();
            row -= block;
          }
        }
        // What is left of a decryption would tell the plaintext.
        if (plan.divided().size() == plan.source().size()) {
          runtime::secure_zero(scratch.data(), rows * block * sizeof(Limb));
        }
      });
}

void CpuBackend::do_finish_division(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                    const ConstPolyView& delta, const Division& plan) const {
  for_each_limb(queue, out.shape, 2, [&](std::size_t b, std::size_t c, std::size_t j) {
    finish_division_limb(out.limb<Limb>(b, c, j), in, delta.limb<Limb>(b, c, j), b, c, j, plan);
  });
}

void CpuBackend::finish_division_limb(Limb* out, const ConstPolyView& in, const Limb* delta,
                                      std::size_t batch, std::size_t component, std::size_t j,
                                      const Division& plan) const {
  const arith::Modulus& q = plan.target().modulus(j);
  const std::size_t degree = in.shape.degree;
  const std::int32_t position = plan.kept_positions()[j];
  const arith::ShoupFactor& inverse = plan.inverse_dropped()[j];
  const Limb* kept =
      position < 0 ? nullptr : in.limb<Limb>(batch, component, static_cast<std::size_t>(position));
  if (position < 0 || !plan.adds_primes()) {
    kernels_.subtract_multiply_scalar(out, kept, delta, inverse, degree, q);
    return;
  }
  // (E x - delta) / D, in blocks that stay in the first-level cache.
  constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);
  const arith::ShoupFactor added(
      q.multiply(plan.scaled_inverse()[j].operand, plan.dropped_product()[j].operand), q);
  alignas(64) Limb scaled[block];
  for (std::size_t first = 0; first < degree; first += block) {
    kernels_.multiply_scalar(scaled, kept + first, added, block, q);
    kernels_.subtract_multiply_scalar(out + first, scaled, delta + first, inverse, block, q);
  }
}

}  // namespace hemera::poly::cpu
