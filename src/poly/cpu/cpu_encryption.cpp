// Encryption with a public key and the phase of a decryption, limb by limb while it is in the cache.
#include <algorithm>
#include <array>

#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/sampling.hpp"
#include "poly/cpu/transform_part.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

void CpuBackend::do_encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                                 const RandomStream& stream, const ErrorDistribution& distribution,
                                 std::uint64_t factor, const RnsBase& base, const Division* division,
                                 const ConstPolyView& addend, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const PolyShape shape = with_limbs(out.shape, base.size());
  const PolyView masked = division == nullptr ? out : take(workspace, shape);
  {
    const Workspace::Frame inner(workspace);
    // The coefficients of u and of the errors; then u in evaluation form, of which one thread needs one limb.
    const PolyView errors = take(workspace, with_limbs(shape, 1));
    const PolyView ternary = take(workspace, with_components(with_limbs(shape, 1), 1));
    PolyShape u_shape = with_components(shape, 1);
    const bool one_limb = pool_->threads() == 1;
    if (one_limb) u_shape.batch = u_shape.limbs = 1;
    const PolyView u = take(workspace, u_shape);
    if (!workspace.measures()) {
      runtime::ThreadPool& pool = pool_of(queue);
      sample_integers(pool, *kernels_.sampling, ternary, stream, Distribution::ternary());
      sample_integers(pool, *kernels_.sampling, errors, stream, Distribution::error(distribution));
      const auto values = [](const PolyView& of, std::size_t b, std::size_t c) {
        return reinterpret_cast<const std::int64_t*>(of.limb<Limb>(b, c, 0));
      };
      const auto u_limb = [&](std::size_t b, std::size_t l) {
        return one_limb ? u.limb<Limb>(0, 0, 0) : u.limb<Limb>(b, 0, l);
      };
      const auto begin = [&](std::size_t b, std::size_t l, std::size_t first, std::size_t count) {
        const arith::Modulus& q = base.modulus(l);
        small_residues(*kernels_.sampling, u_limb(b, l) + first, values(ternary, b, 0) + first, count, 1, q);
        for (std::size_t c = 0; c < 2; ++c) {
          Limb* const to = masked.limb<Limb>(b, c, l) + first;
          small_residues(*kernels_.sampling, to, values(errors, b, c) + first, count,
                         static_cast<std::uint64_t>(distribution.bound()), q);
          if (factor != 1) kernels_.multiply_scalar(to, to, {q.reduce(factor), q}, count, q);
        }
      };
      const auto end = [&](std::size_t b, std::size_t l, std::size_t first, std::size_t count) {
        for (std::size_t c = 0; c < 2; ++c) {
          kernels_.multiply_add(masked.limb<Limb>(b, c, l) + first, key.limb<Limb>(0, c, l) + first,
                                u_limb(b, l) + first, count, base.modulus(l));
        }
      };
      const auto transformed = [&](std::size_t b, std::size_t l) {
        return std::array{u_limb(b, l), masked.limb<Limb>(b, 0, l), masked.limb<Limb>(b, 1, l)};
      };
      constexpr std::size_t weight = 3 * 10;
      for_each_transform(
          queue, with_components(shape, 1), weight,
          [&](std::size_t b, std::size_t, std::size_t l) {
            begin(b, l, 0, shape.degree);
            for (Limb* const limb : transformed(b, l))
              kernels_.forward_transform(limb, limb, tables(base, l));
            end(b, l, 0, shape.degree);
          },
          [&](std::size_t step, std::size_t b, std::size_t, std::size_t l, std::size_t part,
              std::size_t parts) {
            const TransformPart divided(kernels_, tables(base, l), part, parts);
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
  }
  if (division != nullptr) {
    do_divide_and_round(queue, out, masked, *division, Form::evaluation, workspace);
  }
  if (addend.data == nullptr || workspace.measures()) return;
  const PolyView first = out.components(0, 1);
  do_binary(queue, Binary::add, first, first, addend, division == nullptr ? base : division->target());
}

// Horner's rule in blocks that stay in a near cache.
void CpuBackend::do_phase(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const ConstPolyView& secret, Form form, const RnsBase& base) const {
  constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);
  const std::size_t components = in.shape.components;
  const auto sum = [&](std::size_t b, std::size_t l, std::size_t first, std::size_t count) {
    const arith::Modulus& q = base.modulus(l);
    for (const std::size_t end = first + count; first < end; first += block) {
      Limb* const to = out.limb<Limb>(b, 0, l) + first;
      const Limb* higher = in.limb<Limb>(b, components - 1, l) + first;
      const std::size_t size = std::min(block, end - first);
      if (components == 1) std::copy_n(higher, size, to);
      for (std::size_t c = components - 1; c-- > 0; higher = to) {
        kernels_.multiply(to, higher, secret.limb<Limb>(0, 0, l) + first, size, q);
        kernels_.add(to, to, in.limb<Limb>(b, c, l) + first, size, q);
      }
    }
  };
  if (form == Form::evaluation) {
    for_each_part(queue, out.shape, 2 * components,
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
