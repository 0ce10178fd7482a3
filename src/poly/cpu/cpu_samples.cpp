// Samples of RLWE, limb by limb while it is in the cache.
#include <algorithm>
#include <array>
#include <vector>

#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/sampling.hpp"
#include "poly/cpu/transform_part.hpp"
#include "poly/cpu/tuning.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cpu {

// b of a limb begins as -factor e, goes to evaluation form, and becomes -(a s - factor e) while a is drawn.
void CpuBackend::do_sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret,
                                const RlweSampling& from, const RnsBase& base, const ConstPolyView& addend,
                                std::span<const GadgetTerm> terms, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyShape shape = with_components(out.shape, 1);
  const PolyView errors = take(workspace, with_limbs(shape, 1));
  if (workspace.measures()) return;
  sample_integers(pool_of(queue), *kernels_.sampling, errors, from.errors,
                  Distribution::error(from.distribution));

  const auto bound = static_cast<std::uint64_t>(from.distribution.bound());
  std::vector<std::uint64_t> factors(shape.batch * shape.limbs);  // of the addend's limbs: the terms
  for (const GadgetTerm& term : terms) {
    std::uint64_t& factor = factors[term.batch * shape.limbs + term.limb];
    factor = base.modulus(term.limb).add(factor, term.factor);
  }
  const auto begin = [&](std::size_t b, std::size_t l, std::size_t first, std::size_t count) {
    const arith::Modulus& q = base.modulus(l);
    const std::uint64_t weight = q.negate(q.reduce(from.factor)), shift = q.multiply(weight, q.reduce(bound));
    const std::uint64_t* const error = errors.limb<std::uint64_t>(b, 0, 0) + first;
    kernels_.weighted_sum(out.limb<std::uint64_t>(b, 0, l) + first, &error, &weight, 1, 2 * bound + 1,
                          nullptr, 0, shift, count, q);
  };
  const auto add = [&](std::uint64_t* to, std::size_t b, std::size_t l, std::size_t first,
                       std::size_t count) {
    if (addend.data == nullptr) return;
    const arith::Modulus& q = base.modulus(l);
    const std::uint64_t factor = factors[b * shape.limbs + l];
    const std::uint64_t* const added = addend.limb<std::uint64_t>(b, 0, l) + first;
    if (terms.empty()) return kernels_.add(to, to, added, count, q);
    if (factor == 0) return;
    alignas(64) std::array<std::uint64_t, sampled_range> scaled;
    kernels_.multiply_scalar(scaled.data(), added, arith::ShoupFactor(factor, q), count, q);
    kernels_.add(to, to, scaled.data(), count, q);
    runtime::secure_zero(scaled.data(), sizeof scaled);
  };
  const auto end = [&](std::size_t b, std::size_t l, std::size_t first, std::size_t count) {
    const arith::Modulus& q = base.modulus(l);
    for (const std::size_t last = first + count; first < last; first += sampled_range) {
      const std::size_t size = std::min(sampled_range, last - first);
      std::uint64_t* const to = out.limb<std::uint64_t>(b, 0, l) + first;
      std::uint64_t* const a = out.limb<std::uint64_t>(b, 1, l) + first;
      sample_uniform(*kernels_.sampling, a, b, l, first, size, from.uniform, q);
      kernels_.multiply_add(to, a, secret.limb<std::uint64_t>(0, 0, l) + first, to, size, q);
      kernels_.negate(to, to, size, q);
      add(to, b, l, first, size);
    }
  };
  for_each_transform(
      queue, shape, tuning::rlwe_sample_weight,
      [&](std::size_t b, std::size_t, std::size_t l) {
        std::uint64_t* const limb = out.limb<std::uint64_t>(b, 0, l);
        begin(b, l, 0, shape.degree);
        kernels_.forward_transform(limb, limb, tables(base, l));
        end(b, l, 0, shape.degree);
      },
      [&](std::size_t step, std::size_t b, std::size_t, std::size_t l, std::size_t part, std::size_t parts) {
        TransformPart(kernels_, tables(base, l), part, parts)
            .forward_step(
                step, out.limb<std::uint64_t>(b, 0, l),
                [&](std::size_t first, std::size_t count) { begin(b, l, first, count); },
                [&](std::size_t first, std::size_t count) { end(b, l, first, count); });
      });
}

}  // namespace hemera::poly::cpu
