// Construction, copies, transforms, element-wise operations, ring structure; samplers and embedding are
// forwarded.
#include "poly/cpu/cpu_backend.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/sampling.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {
namespace cpu {

using Limb = std::uint64_t;

namespace {

// Weights of for_each_limb: rough costs of a word in additions.
constexpr std::size_t addition_weight = 1;
constexpr std::size_t product_weight = 2;
constexpr std::size_t transform_weight = 8;

}  // namespace

CpuBackend::CpuBackend(std::shared_ptr<const Ring> ring, const Kernels& kernels, int threads)
    : ring_(std::move(ring)),
      kernels_(kernels),
      pool_(std::make_shared<runtime::ThreadPool>(threads)),
      memory_(runtime::make_host_memory()),
      tables_(ring_->moduli().size()),
      reversal_(ring_->degree()) {
  pool_->parallel_for(tables_.size(),
                      [&](std::size_t i) { tables_[i] = make_limb_tables((*ring_)[i], ring_->degree()); });
  const std::size_t half = ring_->degree() / 2;
  for (std::size_t i = 1; i < reversal_.size(); ++i) {
    reversal_[i] = static_cast<std::uint32_t>(reversal_[i / 2] / 2 + (i % 2) * half);
  }
}

std::string CpuBackend::description() const {
  return std::string("cpu (") + kernels_.name + ", " + std::to_string(pool_->threads()) +
         (pool_->threads() == 1 ? " thread)" : " threads)");
}

std::unique_ptr<runtime::Queue> CpuBackend::make_queue() const {
  return std::make_unique<runtime::CpuQueue>(pool_);
}

void CpuBackend::check_ring(const char* operation, const RnsBase& base) const {
  poly::check_ring(operation, ring_, base);
}

void CpuBackend::check_transform(const char* operation, const RnsBase& base) const {
  poly::check_transform(operation, ring_, base);
}

// --- Copies ---

void CpuBackend::upload(Queue& queue, const PolyView& out, std::span<const std::uint64_t> host,
                        Form /*form*/) const {
  check_host("upload", host.size(), out.shape);
  const PolyShape& shape = out.shape;
  for_each_limb(queue, shape, addition_weight, [&](std::size_t b, std::size_t c, std::size_t l) {
    const std::size_t first = ((b * shape.components + c) * shape.limbs + l) * shape.degree;
    std::memcpy(out.limb<Limb>(b, c, l), host.data() + first, shape.degree * sizeof(Limb));
  });
}

void CpuBackend::download(Queue& queue, std::span<std::uint64_t> host, const ConstPolyView& in,
                          Form /*form*/) const {
  check_host("download", host.size(), in.shape);
  const PolyShape& shape = in.shape;
  for_each_limb(queue, shape, addition_weight, [&](std::size_t b, std::size_t c, std::size_t l) {
    const std::size_t first = ((b * shape.components + c) * shape.limbs + l) * shape.degree;
    std::memcpy(host.data() + first, in.limb<Limb>(b, c, l), shape.degree * sizeof(Limb));
  });
}

void CpuBackend::upload_values(Queue&, std::span<std::byte> out, std::span<const std::byte> host) const {
  check_count("upload_values", "bytes", host.size(), out.size());
  std::copy(host.begin(), host.end(), out.begin());
}

void CpuBackend::download_values(Queue&, std::span<std::byte> host, std::span<const std::byte> in) const {
  check_count("download_values", "bytes", host.size(), in.size());
  std::copy(in.begin(), in.end(), host.begin());
}

void CpuBackend::copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const {
  check_copy(out, in);
  for_each_limb(queue, out.shape, addition_weight, [&](std::size_t b, std::size_t c, std::size_t l) {
    Limb* to = out.limb<Limb>(b, c, l);
    const Limb* from = in.limb<Limb>(b, c, l);
    if (to != from) std::memcpy(to, from, out.shape.degree * sizeof(Limb));
  });
}

void CpuBackend::fill_zero(Queue& queue, const PolyView& out) const {
  for_each_limb(queue, out.shape, addition_weight, [&](std::size_t b, std::size_t c, std::size_t l) {
    std::memset(out.limb<Limb>(b, c, l), 0, out.shape.degree * sizeof(Limb));
  });
}

// --- Transforms ---

void CpuBackend::forward_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                   const RnsBase& base) const {
  check_transform("forward_transform", base);
  check_view("forward_transform", "output", out, base);
  check_input("forward_transform", "input", in, out.shape, base);
  for_each_limb(queue, out.shape, transform_weight, [&](std::size_t b, std::size_t c, std::size_t l) {
    kernels_.forward_transform(out.limb<Limb>(b, c, l), in.limb<Limb>(b, c, l), tables(base, l));
  });
}

void CpuBackend::inverse_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                   const RnsBase& base) const {
  check_transform("inverse_transform", base);
  check_view("inverse_transform", "output", out, base);
  check_input("inverse_transform", "input", in, out.shape, base);
  for_each_limb(queue, out.shape, transform_weight, [&](std::size_t b, std::size_t c, std::size_t l) {
    kernels_.inverse_transform(out.limb<Limb>(b, c, l), in.limb<Limb>(b, c, l), tables(base, l));
  });
}

// --- Element by element ---

void CpuBackend::add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                     const RnsBase& base) const {
  check_ring("add", base);
  check_view("add", "output", out, base);
  check_input("add", "a", a, out.shape, base);
  check_input("add", "b", b, out.shape, base);
  for_each_limb(queue, out.shape, addition_weight, [&](std::size_t i, std::size_t c, std::size_t l) {
    kernels_.add(out.limb<Limb>(i, c, l), a.limb<Limb>(i, c, l), b.limb<Limb>(i, c, l), out.shape.degree,
                 base.modulus(l));
  });
}

void CpuBackend::subtract(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                          const RnsBase& base) const {
  check_ring("subtract", base);
  check_view("subtract", "output", out, base);
  check_input("subtract", "a", a, out.shape, base);
  check_input("subtract", "b", b, out.shape, base);
  for_each_limb(queue, out.shape, addition_weight, [&](std::size_t i, std::size_t c, std::size_t l) {
    kernels_.subtract(out.limb<Limb>(i, c, l), a.limb<Limb>(i, c, l), b.limb<Limb>(i, c, l), out.shape.degree,
                      base.modulus(l));
  });
}

void CpuBackend::negate(Queue& queue, const PolyView& out, const ConstPolyView& a,
                        const RnsBase& base) const {
  check_ring("negate", base);
  check_view("negate", "output", out, base);
  check_input("negate", "a", a, out.shape, base);
  for_each_limb(queue, out.shape, addition_weight, [&](std::size_t i, std::size_t c, std::size_t l) {
    kernels_.negate(out.limb<Limb>(i, c, l), a.limb<Limb>(i, c, l), out.shape.degree, base.modulus(l));
  });
}

void CpuBackend::multiply(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                          const RnsBase& base) const {
  check_ring("multiply", base);
  check_view("multiply", "output", out, base);
  check_input("multiply", "a", a, out.shape, base);
  check_input("multiply", "b", b, out.shape, base);
  for_each_limb(queue, out.shape, product_weight, [&](std::size_t i, std::size_t c, std::size_t l) {
    kernels_.multiply(out.limb<Limb>(i, c, l), a.limb<Limb>(i, c, l), b.limb<Limb>(i, c, l), out.shape.degree,
                      base.modulus(l));
  });
}

void CpuBackend::multiply_add(Queue& queue, const PolyView& out, const ConstPolyView& a,
                              const ConstPolyView& b, const RnsBase& base) const {
  check_ring("multiply_add", base);
  check_view("multiply_add", "output", out, base);
  check_input("multiply_add", "a", a, out.shape, base);
  check_input("multiply_add", "b", b, out.shape, base);
  for_each_limb(queue, out.shape, product_weight, [&](std::size_t i, std::size_t c, std::size_t l) {
    kernels_.multiply_add(out.limb<Limb>(i, c, l), a.limb<Limb>(i, c, l), b.limb<Limb>(i, c, l),
                          out.shape.degree, base.modulus(l));
  });
}

void CpuBackend::multiply_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                 std::span<const std::uint64_t> scalars, const RnsBase& base) const {
  check_ring("multiply_scalar", base);
  check_view("multiply_scalar", "output", out, base);
  check_input("multiply_scalar", "a", a, out.shape, base);
  check_scalars("multiply_scalar", scalars.size(), base);
  for_each_limb(queue, out.shape, addition_weight, [&](std::size_t i, std::size_t c, std::size_t l) {
    const arith::ShoupFactor factor(scalars[l], base.modulus(l));
    kernels_.multiply_scalar(out.limb<Limb>(i, c, l), a.limb<Limb>(i, c, l), factor, out.shape.degree,
                             base.modulus(l));
  });
}

void CpuBackend::add_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                            std::span<const std::uint64_t> scalars, Form form, const RnsBase& base) const {
  check_ring("add_scalar", base);
  check_view("add_scalar", "output", out, base);
  check_input("add_scalar", "a", a, out.shape, base);
  check_scalars("add_scalar", scalars.size(), base);
  for_each_limb(queue, out.shape, addition_weight, [&](std::size_t i, std::size_t c, std::size_t l) {
    Limb* to = out.limb<Limb>(i, c, l);
    const Limb* from = a.limb<Limb>(i, c, l);
    if (form == Form::evaluation) {
      kernels_.add_scalar(to, from, scalars[l], out.shape.degree, base.modulus(l));
      return;
    }
    if (to != from) std::memcpy(to, from, out.shape.degree * sizeof(Limb));
    to[0] = base.modulus(l).add(to[0], scalars[l]);
  });
}

// --- Ring structure ---

void CpuBackend::tensor_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                const ConstPolyView& b, const RnsBase& base) const {
  check_ring("tensor_product", base);
  check_tensor_product("tensor_product", out, a, b, base);
  if (a.shape.components != 2 || b.shape.components != 2) {
    return add_products(queue, out, std::span(&a, 1), std::span(&b, 1), base);
  }
  PolyShape shape = out.shape;  // one task a limb, all components at once
  shape.components = 1;
  for_each_limb(queue, shape, 4 * product_weight, [&](std::size_t i, std::size_t, std::size_t l) {
    kernels_.tensor_2x2(out.limb<Limb>(i, 0, l), out.limb<Limb>(i, 1, l), out.limb<Limb>(i, 2, l),
                        a.limb<Limb>(i, 0, l), a.limb<Limb>(i, 1, l), b.limb<Limb>(i, 0, l),
                        b.limb<Limb>(i, 1, l), shape.degree, base.modulus(l));
  });
}

void CpuBackend::inner_product(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                               std::span<const ConstPolyView> b, const RnsBase& base) const {
  check_ring("inner_product", base);
  check_inner_product(out, a, b, base);
  if (a.size() > 1) return add_products(queue, out, a, b, base);
  // One product has kernels of its own; a single component broadcasts.
  const bool element_wise = a[0].shape.components == 1 || b[0].shape.components == 1;
  if (element_wise) return multiply(queue, out, a[0], b[0], base);
  tensor_product(queue, out, a[0], b[0], base);
}

void CpuBackend::add_products(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                              std::span<const ConstPolyView> b, const RnsBase& base) const {
  const std::size_t left = a.front().shape.components;
  const std::size_t right = b.front().shape.components;
  PolyShape shape = out.shape;  // one task a limb, all components at once
  shape.components = 1;
  // In blocks, so that the factors are in a near cache for all components but the first.
  constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);
  const std::size_t weight = a.size() * left * right * product_weight;
  for_each_limb(queue, shape, weight, [&](std::size_t i, std::size_t, std::size_t l) {
    std::vector<const Limb*> from_a, from_b;
    for (std::size_t first = 0; first < shape.degree; first += block) {
      for (std::size_t c = 0; c < left + right - 1; ++c) {
        from_a.clear();
        from_b.clear();
        for (std::size_t term = 0; term < a.size(); ++term) {
          for (std::size_t k = c < right ? 0 : c - right + 1; k <= c && k < left; ++k) {
            from_a.push_back(a[term].limb<Limb>(i, k, l) + first);
            from_b.push_back(b[term].limb<Limb>(i, c - k, l) + first);
          }
        }
        kernels_.inner_product(out.limb<Limb>(i, c, l) + first, from_a.data(), from_b.data(), from_a.size(),
                               block, base.modulus(l));
      }
    }
  });
}

void CpuBackend::automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in,
                              std::uint64_t galois_element, Form form, const RnsBase& base) const {
  check_ring("automorphism", base);
  check_view("automorphism", "output", out, base);
  check_input("automorphism", "input", in, out.shape, base);
  check_galois_element("automorphism", galois_element, ring_->degree());
  if (form == Form::evaluation) {
    permute_values(queue, out, in, galois_element);
  } else {
    permute_coefficients(queue, out, in, galois_element, base);
  }
}

// Entry i belongs to the exponent e = 2 rev(i) + 1 and is taken from where g e is. The last three bits of i
// are the top three of e: eight neighbours come from eight neighbours, in an order that depends only on g and
// on where the first one is. A task works out the groups of a range of entries once, for all polynomials and
// limbs.
void CpuBackend::permute_values(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                std::uint64_t galois_element) const {
  constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);
  const std::size_t degree = ring_->degree();
  const std::uint64_t mask = 2 * degree - 1;
  alignas(64) std::uint64_t lanes[64];
  for (std::uint64_t start = 0; start < 8; ++start) {
    for (std::uint64_t l = 0; l < 8; ++l) {
      const std::uint64_t top = arith::reverse_bits(start, 3) + galois_element * arith::reverse_bits(l, 3);
      lanes[8 * start + l] = arith::reverse_bits(top % 8, 3);
    }
  }
  parallel_for(queue, degree / block, out.shape.words(), [&](std::size_t task) {
    const std::size_t first = task * block;
    std::uint32_t groups[block / 8];
    for (std::size_t k = 0; k < block / 8; ++k) {
      const std::uint64_t exponent =
          (2 * std::uint64_t{reversal_[first + 8 * k]} + 1) * galois_element & mask;
      groups[k] = reversal_[exponent >> 1];
    }
    for (std::size_t b = 0; b < out.shape.batch; ++b) {
      for (std::size_t c = 0; c < out.shape.components; ++c) {
        for (std::size_t l = 0; l < out.shape.limbs; ++l) {
          kernels_.permute_groups(out.limb<Limb>(b, c, l) + first, in.limb<Limb>(b, c, l), groups, lanes,
                                  block);
        }
      }
    }
  });
}

// A gather by public indices, worked out once for a range of coefficients of all polynomials and limbs.
void CpuBackend::permute_coefficients(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                      std::uint64_t galois_element, const RnsBase& base) const {
  constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);
  constexpr std::uint32_t negative = std::uint32_t{1} << 31;
  const std::size_t degree = ring_->degree();
  const std::uint64_t mask = 2 * degree - 1;
  // Inverse modulo 2N, by Newton's iteration modulo 2^64.
  std::uint64_t inverse = galois_element;
  for (int i = 0; i < 5; ++i) inverse *= 2 - galois_element * inverse;

  parallel_for(queue, degree / block, out.shape.words(), [&](std::size_t task) {
    const std::size_t first = task * block;
    std::uint32_t index[block];
    for (std::size_t i = 0; i < block; ++i) {
      const std::uint64_t exponent = (first + i) * inverse & mask;  // X^exponent goes to X^(first + i)
      index[i] = static_cast<std::uint32_t>(exponent & (degree - 1)) | (exponent >= degree ? negative : 0);
    }
    for (std::size_t b = 0; b < out.shape.batch; ++b) {
      for (std::size_t c = 0; c < out.shape.components; ++c) {
        for (std::size_t l = 0; l < out.shape.limbs; ++l) {
          Limb* to = out.limb<Limb>(b, c, l) + first;
          const Limb* from = in.limb<Limb>(b, c, l);
          const std::uint64_t q = base.modulus(l).value();
          for (std::size_t i = 0; i < block; ++i) {
            const std::uint64_t value = from[index[i] & ~negative];
            const std::uint64_t flip =
                0 - static_cast<std::uint64_t>(((index[i] & negative) != 0) & (value != 0));
            to[i] = (value ^ flip) - flip + (q & flip);  // q - value where flipped
          }
        }
      }
    }
  });
}

// --- Samplers and embedding ---

void CpuBackend::sample_uniform(Queue& queue, const PolyView& out, const RandomStream& stream,
                                const RnsBase& base) const {
  cpu::sample_uniform(pool_of(queue), *kernels_.sampling, out, stream, base);
}

void CpuBackend::sample_ternary(Queue& queue, const PolyView& out, const RandomStream& stream,
                                const RnsBase& base) const {
  cpu::sample_ternary(pool_of(queue), *kernels_.sampling, out, stream, base);
}

void CpuBackend::sample_fixed_weight(Queue& queue, const PolyView& out, const RandomStream& stream,
                                     std::size_t weight, const RnsBase& base, Workspace& workspace) const {
  cpu::sample_fixed_weight(pool_of(queue), *kernels_.sampling, out, stream, weight, base, workspace);
}

std::size_t CpuBackend::sample_fixed_weight_workspace() const {
  return cpu::sample_fixed_weight_workspace(ring_->degree());
}

void CpuBackend::sample_error(Queue& queue, const PolyView& out, const RandomStream& stream,
                              const ErrorDistribution& distribution, const RnsBase& base) const {
  cpu::sample_error(pool_of(queue), *kernels_.sampling, out, stream, distribution, base);
}

void CpuBackend::sample_flooding(Queue& queue, const PolyView& out, const RandomStream& stream, int bits,
                                 const RnsBase& base) const {
  cpu::sample_flooding(pool_of(queue), *kernels_.sampling, out, stream, bits, base);
}

const Embedding& CpuBackend::embedding() const {
  std::call_once(embedding_once_,
                 [this] { embedding_ = std::make_unique<const Embedding>(ring_->degree(), kernels_.name); });
  return *embedding_;
}

void CpuBackend::embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                       const RnsBase& base, Workspace& workspace) const {
  embedding().embed(pool_of(queue), out, slots, scale, base, workspace);
}

void CpuBackend::unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
                         const RnsBase& base, Workspace& workspace, double* largest) const {
  embedding().unembed(pool_of(queue), slots, in, scale, base, workspace, largest);
}

std::size_t CpuBackend::embed_workspace(std::size_t batch, std::size_t slots, const RnsBase& base) const {
  return embedding().workspace(batch, slots, base);
}

}  // namespace cpu

std::shared_ptr<const Backend> make_cpu_backend(std::shared_ptr<const Ring> ring, int threads) {
  return std::make_shared<const cpu::CpuBackend>(std::move(ring),
                                                 cpu::select_kernels(std::getenv("HEMERA_ISA")), threads);
}

}  // namespace hemera::poly
