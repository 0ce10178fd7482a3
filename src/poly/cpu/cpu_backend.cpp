// Construction, copies, transforms, element-wise operations, ring structure; samplers and embedding are
// forwarded.
#include "poly/cpu/cpu_backend.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/repeat.hpp"
#include "poly/cpu/sampling.hpp"
#include "poly/cpu/transform_part.hpp"
#include "poly/cpu/tuning.hpp"
#include "poly/embedding_tables.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"
#include "runtime/host_memory.hpp"

namespace hemera::poly {
namespace cpu {

using Limb = std::uint64_t;

namespace {

bool passes_cache(std::size_t bytes, int threads) {
#if defined(__x86_64__)
  static const bool is_intel = __builtin_cpu_is("intel") != 0;
  if (is_intel && bytes >= tuning::cached_bytes_of_intel * static_cast<std::size_t>(threads)) return true;
#endif
  static_cast<void>(threads);
  return bytes >= tuning::cached_bytes;
}

}  // namespace

CpuBackend::CpuBackend(std::shared_ptr<const Ring> given, const Kernels& kernels, int threads,
                       std::size_t memory_limit, bool computes)
    : CpuBackend(std::move(given), kernels, std::make_shared<runtime::ThreadPool>(threads), memory_limit,
                 computes) {}

CpuBackend::CpuBackend(std::shared_ptr<const Ring> given, const Kernels& kernels,
                       std::shared_ptr<runtime::ThreadPool> pool, std::size_t memory_limit, bool computes)
    : Backend({.description = std::string("cpu (") + kernels.name + ", " + std::to_string(pool->threads()) +
                              (pool->threads() == 1 ? " thread)" : " threads)")},
              std::move(given), runtime::make_host_memory(runtime::kept_bytes, memory_limit, pool)),
      kernels_(kernels),
      pool_(std::move(pool)),
      tables_(ring()->moduli().size()),
      reversal_(computes ? ring()->degree() : 0) {
  if (!computes) return;
  pool_->parallel_for(tables_.size(),
                      [&](std::size_t i) { tables_[i] = make_limb_tables((*ring())[i], ring()->degree()); });
  const std::size_t half = ring()->degree() / 2;
  for (std::size_t i = 1; i < reversal_.size(); ++i) {
    reversal_[i] = static_cast<std::uint32_t>(reversal_[i / 2] / 2 + (i % 2) * half);
  }
}

std::unique_ptr<runtime::Queue> CpuBackend::do_make_queue(QueueOrder /*order*/) const {
  return std::make_unique<runtime::CpuQueue>(pool_);
}

// --- Copies ---

// The rows are where they are made or taken.
void CpuBackend::do_upload(Queue& queue, const PolyView& out, Form /*form*/, const FillRows& fill) const {
  const PolyShape& shape = out.shape;
  for_each_limb(queue, shape, tuning::addition_weight, [&](std::size_t b, std::size_t c, std::size_t l) {
    fill((b * shape.components + c) * shape.limbs + l, {out.limb<Limb>(b, c, l), shape.degree});
  });
}

void CpuBackend::do_download(Queue& queue, const ConstPolyView& in, Form /*form*/,
                             const TakeRows& take) const {
  const PolyShape& shape = in.shape;
  for_each_limb(queue, shape, tuning::addition_weight, [&](std::size_t b, std::size_t c, std::size_t l) {
    take((b * shape.components + c) * shape.limbs + l, {in.limb<Limb>(b, c, l), shape.degree});
  });
}

void CpuBackend::do_copy_values(Queue&, std::span<std::byte> out, std::span<const std::byte> in,
                                Transfer /*transfer*/) const {
  std::copy(in.begin(), in.end(), out.begin());
}

void CpuBackend::do_download_pieces(Queue&, std::span<const std::byte> in, const Pieces& pieces) const {
  pieces.make(in.size());
  pool_->parallel_for((in.size() + pieces.bytes - 1) / pieces.bytes, [&](std::size_t i) {
    const std::size_t first = i * pieces.bytes;
    pieces.take(first, in.subspan(first, std::min(pieces.bytes, in.size() - first)));
  });
}

void CpuBackend::do_copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const {
  if (in.data == nullptr) {
    for_each_part(queue, out.shape, tuning::addition_weight,
                  [&](std::size_t b, std::size_t c, std::size_t l, std::size_t first, std::size_t count) {
                    std::memset(out.limb<Limb>(b, c, l) + first, 0, count * sizeof(Limb));
                  });
    return;
  }
  if (in.shape.degree == out.shape.degree) {
    for_each_part(queue, out.shape, tuning::addition_weight,
                  [&](std::size_t b, std::size_t c, std::size_t l, std::size_t first, std::size_t count) {
                    Limb* to = out.limb<Limb>(b, c, l) + first;
                    const Limb* from = in.limb<Limb>(b, c, l) + first;
                    if (to != from) std::memcpy(to, from, count * sizeof(Limb));
                  });
    return;
  }
  for_each_limb(queue, out.shape, tuning::addition_weight, [&](std::size_t b, std::size_t c, std::size_t l) {
    Limb* to = out.limb<Limb>(b, c, l);
    const Limb* from = in.limb<Limb>(b, c, l);
    if (in.shape.degree < out.shape.degree) {
      repeat(std::span(to, out.shape.degree), from, out.shape.degree / in.shape.degree);
    } else {
      const std::size_t run = in.shape.degree / out.shape.degree;
      for (std::size_t i = 0; i < out.shape.degree; ++i) to[i] = from[i * run];
    }
  });
}

// All backends of the CPU store residues alike.
void CpuBackend::do_copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                              const ConstPolyView& in, Form form) const {
  if (dynamic_cast<const CpuBackend*>(&source) != nullptr) {
    do_copy(queue, out, in);
  } else {
    Backend::do_copy_from(queue, out, source, source_queue, in, form);
  }
}

bool CpuBackend::read_from(Queue& /*queue*/, const Backend& /*source*/, Queue& source_queue,
                           const std::function<void()>& operations) const {
  if (dynamic_cast<const runtime::CpuQueue*>(&source_queue) == nullptr) return false;
  operations();
  return true;
}

// --- Transforms ---

void CpuBackend::do_transform(Queue& queue, const PolyView& out, const ConstPolyView& in, Form to,
                              const RnsBase& base) const {
  const auto transform = to == Form::evaluation ? kernels_.forward_transform : kernels_.inverse_transform;
  for_each_transform(
      queue, out.shape, tuning::transform_weight,
      [&](std::size_t b, std::size_t c, std::size_t l) {
        transform(out.limb<Limb>(b, c, l), in.limb<Limb>(b, c, l), tables(base, l));
      },
      [&](std::size_t step, std::size_t b, std::size_t c, std::size_t l, std::size_t part,
          std::size_t parts) {
        const TransformPart divided(kernels_, tables(base, l), part, parts);
        Limb* const to_limb = out.limb<Limb>(b, c, l);
        const Limb* const from = in.limb<Limb>(b, c, l);
        if (to == Form::evaluation) {
          step == 0 ? divided.forward_columns(to_limb, from) : divided.forward_rows(to_limb);
        } else {
          step == 0 ? divided.inverse_rows(to_limb, from) : divided.inverse_columns(to_limb);
        }
      });
}

// --- Element by element ---

void CpuBackend::do_binary(Queue& queue, Binary operation, const PolyView& out, const ConstPolyView& a,
                           const ConstPolyView& b, const RnsBase& base) const {
  const auto run = [&](const auto& kernel, std::size_t weight) {
    for_each_part(queue, out.shape, weight,
                  [&](std::size_t i, std::size_t c, std::size_t l, std::size_t first, std::size_t count) {
                    const Limb* right = b.limb<Limb>(i, c, l);
                    Limb* to = out.limb<Limb>(i, c, l);
                    const Limb* left = a.limb<Limb>(i, c, l);
                    const std::size_t length = out.shape.degree / b.shape.degree;
                    if (length == 1)
                      return kernel(to + first, left + first, right + first, count, base.modulus(l));
                    // In blocks, whose repeated values stay in a near cache.
                    std::array<Limb, 1024> values;
                    static_assert(min_degree % values.size() == 0);
                    for (const std::size_t end = first + count; first < end; first += values.size()) {
                      repeat(values, right, length, first);
                      kernel(to + first, left + first, values.data(), values.size(), base.modulus(l));
                    }
                  });
  };
  // Results that do not stay in the cache need not be read into it before they are written.
  const bool apart = out.data != a.data && out.data != b.data;
  const bool passes = apart && passes_cache(out.shape.words() * sizeof(Limb), pool_->threads());
  const auto choose = [&](auto kernel, auto past_cache, std::size_t weight) {
    run(passes && past_cache != nullptr ? past_cache : kernel, weight);
  };
  switch (operation) {
    case Binary::add:
      return choose(kernels_.add, kernels_.add_past_cache, tuning::addition_weight);
    case Binary::subtract:
      return choose(kernels_.subtract, kernels_.subtract_past_cache, tuning::addition_weight);
    case Binary::multiply:
      return choose(kernels_.multiply, kernels_.multiply_past_cache, tuning::product_weight);
    case Binary::multiply_add:
      return run([&](Limb* to, const Limb* left, const Limb* right, std::size_t count,
                     const arith::Modulus& q) { kernels_.multiply_add(to, left, right, to, count, q); },
                 tuning::product_weight);
  }
}

void CpuBackend::do_unary(Queue& queue, Unary operation, const PolyView& out, const ConstPolyView& a,
                          std::span<const std::uint64_t> scalars, const RnsBase& base) const {
  // kernel(out, in, first entry, entries, limb)
  const auto run = [&](const auto& kernel) {
    for_each_part(queue, out.shape, tuning::addition_weight,
                  [&](std::size_t i, std::size_t c, std::size_t l, std::size_t first, std::size_t count) {
                    kernel(out.limb<Limb>(i, c, l) + first, a.limb<Limb>(i, c, l) + first, first, count, l);
                  });
  };
  switch (operation) {
    case Unary::negate:
      return run([&](Limb* to, const Limb* from, std::size_t, std::size_t count, std::size_t l) {
        kernels_.negate(to, from, count, base.modulus(l));
      });
    case Unary::multiply:
      return run([&](Limb* to, const Limb* from, std::size_t, std::size_t count, std::size_t l) {
        const arith::ShoupFactor factor(scalars[l], base.modulus(l));
        kernels_.multiply_scalar(to, from, factor, count, base.modulus(l));
      });
    case Unary::add_to_all:
      return run([&](Limb* to, const Limb* from, std::size_t, std::size_t count, std::size_t l) {
        kernels_.add_scalar(to, from, scalars[l], count, base.modulus(l));
      });
    case Unary::add_to_first:
      return run([&](Limb* to, const Limb* from, std::size_t first, std::size_t count, std::size_t l) {
        if (to != from) std::memcpy(to, from, count * sizeof(Limb));
        if (first == 0) to[0] = base.modulus(l).add(to[0], scalars[l]);
      });
  }
}

void CpuBackend::do_combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                            std::span<const std::vector<std::uint64_t>> scalars,
                            std::span<const std::uint64_t> added, const RnsBase& base,
                            Workspace& workspace) const {
  if (workspace.measures()) return;
  for_each_part(queue, out.shape, a.size() * tuning::product_weight,
                [&](std::size_t i, std::size_t c, std::size_t l, std::size_t first, std::size_t count) {
                  const arith::Modulus& q = base.modulus(l);
                  std::vector<const Limb*> from(a.size());
                  std::vector<std::uint64_t> weights(a.size());
                  for (std::size_t term = 0; term < a.size(); ++term) {
                    from[term] = a[term].limb<Limb>(i, c, l) + first;
                    weights[term] = scalars[term][l];
                  }
                  const std::uint64_t shift = c == 0 && !added.empty() ? q.negate(added[l]) : 0;
                  kernels_.weighted_sum(out.limb<Limb>(i, c, l) + first, from.data(), weights.data(),
                                        a.size(), q.value(), nullptr, 0, shift, count, q);
                });
}

// --- Ring structure ---

void CpuBackend::tensor_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                const ConstPolyView& b, const RnsBase& base) const {
  if (a.shape.components != 2 || b.shape.components != 2) {
    return add_products(queue, out, std::span(&a, 1), std::span(&b, 1), base);
  }
  PolyShape shape = out.shape;  // all components at once
  shape.components = 1;
  for_each_part(queue, shape, 4 * tuning::product_weight,
                [&](std::size_t i, std::size_t, std::size_t l, std::size_t first, std::size_t count) {
                  kernels_.tensor_2x2(out.limb<Limb>(i, 0, l) + first, out.limb<Limb>(i, 1, l) + first,
                                      out.limb<Limb>(i, 2, l) + first, a.limb<Limb>(i, 0, l) + first,
                                      a.limb<Limb>(i, 1, l) + first, b.limb<Limb>(i, 0, l) + first,
                                      b.limb<Limb>(i, 1, l) + first, count, base.modulus(l));
                });
}

void CpuBackend::do_inner_products(Queue& queue, std::span<const PolyView> out,
                                   std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                                   std::span<const std::uint64_t> added, const RnsBase& base) const {
  for_each_sum(out, a.size(), b, [&](const PolyView& sum, std::span<const ConstPolyView> own, bool whole) {
    if (!whole) return Backend::do_inner_products(queue, std::span(&sum, 1), a, own, added, base);
    if (a.size() > 1) {
      add_products(queue, sum, a, own, base);
    } else if (a[0].shape.components == 1 || own[0].shape.components == 1) {  // it broadcasts
      do_binary(queue, Binary::multiply, sum, a[0], own[0], base);
    } else {
      tensor_product(queue, sum, a[0], own[0], base);
    }
    add_constant(queue, sum, added, base);
  });
}

void CpuBackend::add_products(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                              std::span<const ConstPolyView> b, const RnsBase& base) const {
  const std::size_t left = a.front().shape.components;
  const std::size_t right = b.front().shape.components;
  PolyShape shape = out.shape;  // all components at once
  shape.components = 1;
  // In blocks, so that the factors are in a near cache for all components but the first.
  constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);
  const std::size_t weight = a.size() * left * right * tuning::product_weight;
  for_each_part(queue, shape, weight,
                [&](std::size_t i, std::size_t, std::size_t l, std::size_t first, std::size_t entries) {
                  std::vector<const Limb*> from_a, from_b;
                  for (const std::size_t end = first + entries; first < end; first += block) {
                    for (std::size_t c = 0; c < left + right - 1; ++c) {
                      from_a.clear();
                      from_b.clear();
                      for (std::size_t term = 0; term < a.size(); ++term) {
                        for (std::size_t k = c < right ? 0 : c - right + 1; k <= c && k < left; ++k) {
                          from_a.push_back(a[term].limb<Limb>(i, k, l) + first);
                          from_b.push_back(b[term].limb<Limb>(i, c - k, l) + first);
                        }
                      }
                      kernels_.inner_product(out.limb<Limb>(i, c, l) + first, from_a.data(), from_b.data(),
                                             from_a.size(), block, base.modulus(l));
                    }
                  }
                });
}

void CpuBackend::do_automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                 std::uint64_t galois_element, Form form, const RnsBase& base) const {
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
  const std::size_t degree = ring()->degree();
  alignas(64) const auto lanes = orders_of_groups(galois_element);
  parallel_for(queue, degree / block, out.shape.words() * tuning::gather_weight, [&](std::size_t task) {
    const std::size_t first = task * block;
    std::uint32_t groups[block / 8];
    find_groups(groups, galois_element, first / 8, block / 8);
    for (std::size_t b = 0; b < out.shape.batch; ++b) {
      for (std::size_t c = 0; c < out.shape.components; ++c) {
        for (std::size_t l = 0; l < out.shape.limbs; ++l) {
          kernels_.permute_groups(out.limb<Limb>(b, c, l) + first, in.limb<Limb>(b, c, l), groups,
                                  lanes.data(), block);
        }
      }
    }
  });
}

std::array<std::uint64_t, 64> CpuBackend::orders_of_groups(std::uint64_t galois_element) {
  const auto element = static_cast<std::size_t>(galois_element % 8);
  std::array<std::uint64_t, 64> lanes;
  for (std::size_t start = 0; start < 8; ++start) {
    for (std::size_t l = 0; l < 8; ++l) {
      const std::size_t top = arith::reverse_bits(start, 3) + element * arith::reverse_bits(l, 3);
      lanes[8 * start + l] = arith::reverse_bits(top % 8, 3);
    }
  }
  return lanes;
}

void CpuBackend::find_groups(std::uint32_t* groups, std::uint64_t galois_element, std::size_t first,
                             std::size_t count) const {
  const std::uint64_t mask = 2 * ring()->degree() - 1;
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t exponent =
        (2 * std::uint64_t{reversal_[8 * (first + k)]} + 1) * galois_element & mask;
    groups[k] = reversal_[static_cast<std::size_t>(exponent >> 1)];
  }
}

// A gather by public indices, worked out once for a range of coefficients of all polynomials and limbs.
void CpuBackend::permute_coefficients(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                      std::uint64_t galois_element, const RnsBase& base) const {
  constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);
  constexpr std::uint32_t negative = std::uint32_t{1} << 31;
  const std::size_t degree = ring()->degree();
  const std::uint64_t mask = 2 * degree - 1;
  // Inverse modulo 2N, by Newton's iteration modulo 2^64.
  std::uint64_t inverse = galois_element;
  for (int i = 0; i < 5; ++i) inverse *= 2 - galois_element * inverse;

  parallel_for(queue, degree / block, out.shape.words() * tuning::gather_weight, [&](std::size_t task) {
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

void CpuBackend::do_sample(Queue& queue, const PolyView& out, std::span<const RandomStream> streams,
                           const Distribution& distribution, const RnsBase& base,
                           Workspace& workspace) const {
  const std::size_t batch = out.shape.batch / streams.size();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    cpu::sample(pool_of(queue), *kernels_.sampling, out.batches(i * batch, batch), streams[i], distribution,
                base, workspace);
  }
}

const Embedding& CpuBackend::embedding() const {
  std::call_once(embedding_once_,
                 [this] { embedding_ = std::make_unique<const Embedding>(ring()->degree(), kernels_.name); });
  return *embedding_;
}

void CpuBackend::do_embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                          std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                          Form form) const {
  if (form == Form::evaluation) {
    return Backend::do_embed(queue, out, slots, scale, generator, base, workspace, form);
  }
  const Workspace::Frame frame(workspace);
  SlotView ordered = slots;
  if (generator != embedding_generator) {
    ordered = take_slots(workspace, slots.batch, ring()->degree() / 2);
    if (!workspace.measures()) slots_to_embedding(queue, ordered, slots, generator);
  }
  embedding().embed(pool_of(queue), out, ordered, scale, base, workspace);
}

void CpuBackend::do_unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
                            std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                            double* largest) const {
  const Workspace::Frame frame(workspace);
  SlotView ordered = slots;
  if (generator != embedding_generator) ordered = take_slots(workspace, slots.batch, ring()->degree() / 2);
  embedding().unembed(pool_of(queue), ordered, in, scale, base, workspace, largest);
  if (generator == embedding_generator || workspace.measures()) return;
  slots_from_embedding(queue, slots, ordered, generator);
}

}  // namespace cpu

std::shared_ptr<const Backend> make_cpu_backend(std::shared_ptr<const Ring> ring, int threads,
                                                std::size_t memory_limit) {
  return std::make_shared<const cpu::CpuBackend>(
      std::move(ring), cpu::select_kernels(std::getenv("HEMERA_ISA")), threads, memory_limit);
}

std::shared_ptr<const Backend> make_measuring_backend(std::shared_ptr<const Ring> ring, int threads) {
  constexpr std::size_t no_limit = 0;
  return std::make_shared<const cpu::CpuBackend>(
      std::move(ring), cpu::select_kernels(std::getenv("HEMERA_ISA")), threads, no_limit, false);
}

}  // namespace hemera::poly
