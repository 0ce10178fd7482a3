#include "poly/cpu/sampling.hpp"

#include <algorithm>
#include <cstring>

#include "poly/cpu/chacha20.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/tuning.hpp"
#include "poly/sampling_checks.hpp"

namespace hemera::poly::cpu {
namespace {

constexpr std::size_t chunk = 256;    // coefficients whose random bits are on the stack at once
constexpr std::size_t per_block = 4;  // coefficients of one ChaCha20 block
static_assert(chunk % per_block == 0 && sampled_range % chunk == 0 && min_degree % chunk == 0);

// The random bits of one limb of one polynomial, a chunk at a time. Zeroes in the end what it held and what
// the kernels left on the stack.
class RandomBits {
 public:
  RandomBits(const SamplingKernels& kernels, const Seed& seed, Purpose purpose, std::uint32_t polynomial,
             std::uint32_t limb)
      : kernels_(kernels), nonce_{polynomial, limb, static_cast<std::uint32_t>(purpose)} {
    std::memcpy(key_, seed.bytes.data(), sizeof key_);
  }
  RandomBits(const RandomBits&) = delete;
  RandomBits& operator=(const RandomBits&) = delete;
  ~RandomBits() {
    runtime::secure_zero(key_, sizeof key_);
    runtime::secure_zero(words_, sizeof words_);
    zero_stack_below();
    // Not a tail call: that would zero the stack from a higher place on.
    __asm__ __volatile__("" : : : "memory");
  }

  // The wide integers of the `chunk` coefficients from `first`, which a chunk divides.
  const std::uint64_t* at(std::size_t first) {
    kernels_.chacha20_blocks(reinterpret_cast<std::uint8_t*>(words_), key_,
                             static_cast<std::uint32_t>(first / per_block), nonce_, chunk / per_block);
    return words_;
  }

 private:
  const SamplingKernels& kernels_;
  std::uint32_t key_[8];
  std::uint32_t nonce_[3];
  alignas(64) std::uint64_t words_[2 * chunk];
};

// Calls body(polynomial, limb, first, count) for all ranges of all limbs of all polynomials, in any order.
template <typename Body>
void for_each_range(runtime::ThreadPool& pool, std::size_t polynomials, std::size_t limbs, std::size_t degree,
                    const Body& body) {
  const std::size_t words = polynomials * limbs * degree * tuning::sampling_weight;
  const auto wanted = 2 * static_cast<std::size_t>(threads_for(pool, words));
  std::size_t count = std::min(degree, tuning::sampled_range_of_task);
  while (count > sampled_range && polynomials * limbs * (degree / count) < wanted) count /= 2;
  const std::size_t ranges = degree / count;
  parallel_for(pool, polynomials * limbs * ranges, words, [&](std::size_t i) {
    body(i / (limbs * ranges), i / ranges % limbs, i % ranges * count, count);
  });
}

std::uint32_t number(const RandomStream& stream, std::size_t polynomial) {
  return stream.first_polynomial + static_cast<std::uint32_t>(polynomial);
}

std::uint64_t* limb_of(const PolyView& out, std::size_t polynomial, std::size_t limb) {
  return out.limb<std::uint64_t>(polynomial / out.shape.components, polynomial % out.shape.components, limb);
}

// The residues of small integers, |values| <= bound.
void small_residues(const SamplingKernels& kernels, std::uint64_t* out, const std::int64_t* values,
                    std::size_t count, std::uint64_t bound, const arith::Modulus& q) {
  if (q.value() > bound) {
    kernels.residues(out, values, count, q.value());
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = q.reduce_signed(values[i]);
  }
}

// Writes the small residues of all limbs, from coefficient `first` on.
void write_residues(const SamplingKernels& kernels, const PolyView& out, std::size_t polynomial,
                    std::size_t first, const std::int64_t* values, std::size_t count, std::uint64_t bound,
                    const RnsBase& base) {
  for (std::size_t limb = 0; limb < base.size(); ++limb) {
    small_residues(kernels, limb_of(out, polynomial, limb) + first, values, count, bound, base.modulus(limb));
  }
}

// An array on the stack that is zeroed at the end of its scope.
template <typename T, std::size_t size>
struct SecretArray {
  alignas(64) T data[size];

  SecretArray() = default;
  SecretArray(const SecretArray&) = delete;
  SecretArray& operator=(const SecretArray&) = delete;
  ~SecretArray() { runtime::secure_zero(data, sizeof data); }
};

// Polynomials whose coefficients are fill(values, wide), |values| <= bound, the same in all limbs.
template <typename Fill>
void sample_small(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                  const RandomStream& stream, Purpose purpose, const RnsBase& base, std::uint64_t bound,
                  const Fill& fill) {
  for_each_range(pool, out.shape.batch * out.shape.components, 1, out.shape.degree,
                 [&](std::size_t polynomial, std::size_t, std::size_t first, std::size_t count) {
                   RandomBits bits(kernels, stream.seed, purpose, number(stream, polynomial), 0);
                   SecretArray<std::int64_t, chunk> values;
                   for (std::size_t i = first; i < first + count; i += chunk) {
                     fill(values.data, bits.at(i));
                     write_residues(kernels, out, polynomial, i, values.data, chunk, bound, base);
                   }
                 });
}

// Each entry is 2 key + sign; it becomes the coefficient 1 - 2 sign if its key is among the `weight` lowest,
// else 0.
__attribute__((noinline)) void choose_lowest(const SamplingKernels& kernels, std::uint64_t* entries,
                                             std::size_t degree, std::size_t weight) {
  // The key at position `weight` of the sorted keys is the largest t with fewer than `weight` keys below it.
  // Its bits are found by counting: that reads the same addresses whatever the keys are, and sorts nothing.
  std::uint64_t threshold = 0;
  for (int bit = 61; bit >= 0; --bit) {
    const std::uint64_t candidate = threshold | (std::uint64_t{1} << bit);
    const std::uint64_t below = kernels.count_below(entries, degree, 2 * candidate);
    threshold |= ((below - weight) >> 63) << bit;
  }
  // The first of the keys equal to t fill up the weight.
  std::uint64_t missing = weight - kernels.count_below(entries, degree, 2 * threshold);
  for (std::size_t i = 0; i < degree; ++i) {
    const std::uint64_t key = entries[i] >> 1;
    const std::uint64_t negative = 0 - (entries[i] & 1);
    const std::uint64_t below = (key - threshold) >> 63;
    const std::uint64_t equal = ((key ^ threshold) - 1) >> 63;
    const std::uint64_t fills = equal & ((0 - missing) >> 63);
    missing -= fills;
    entries[i] = ((below | fills) ^ negative) - negative;
  }
}

void sample_uniform(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                    const RandomStream& stream, const RnsBase& base) {
  for_each_range(pool, out.shape.batch * out.shape.components, base.size(), out.shape.degree,
                 [&](std::size_t polynomial, std::size_t limb, std::size_t first, std::size_t count) {
                   sample_uniform(kernels, limb_of(out, polynomial, limb) + first, polynomial, limb, first,
                                  count, stream, base.modulus(limb));
                 });
}

void sample_ternary(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                    const RandomStream& stream, const RnsBase& base) {
  sample_small(
      pool, kernels, out, stream, Purpose::ternary, base, 1,
      [&](std::int64_t* values, const std::uint64_t* wide) { kernels.ternary_values(values, wide, chunk); });
}

void sample_error(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                  const RandomStream& stream, const ErrorDistribution& distribution, const RnsBase& base) {
  sample_small(pool, kernels, out, stream, Purpose::error, base,
               static_cast<std::uint64_t>(distribution.bound()),
               [&](std::int64_t* values, const std::uint64_t* wide) {
                 kernels.error_values(values, wide, chunk, distribution.table(), distribution.size());
               });
}

void sample_fixed_weight(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                         const RandomStream& stream, std::size_t weight, const RnsBase& base,
                         runtime::Workspace& workspace) {
  const std::size_t degree = out.shape.degree;
  constexpr std::uint64_t key_mask = (std::uint64_t{1} << 62) - 1;
  const runtime::Workspace::Frame frame(workspace);
  const std::size_t bytes = degree * sizeof(std::uint64_t);
  auto* const entries = reinterpret_cast<std::uint64_t*>(workspace.take(bytes));
  if (workspace.measures()) return;
  const runtime::ZeroedAtEnd zeroed(std::span(entries, degree));
  for (std::size_t polynomial = 0; polynomial < out.shape.batch * out.shape.components; ++polynomial) {
    for_each_range(pool, 1, 1, degree, [&](std::size_t, std::size_t, std::size_t first, std::size_t count) {
      RandomBits bits(kernels, stream.seed, Purpose::fixed_weight, number(stream, polynomial), 0);
      for (std::size_t i = first; i < first + count; i += chunk) {
        const std::uint64_t* wide = bits.at(i);
        for (std::size_t n = 0; n < chunk; ++n) {
          entries[i + n] = ((wide[2 * n] & key_mask) << 1) | (wide[2 * n + 1] >> 63);
        }
      }
    });

    choose_lowest(kernels, entries, degree, weight);
    zero_stack_below();

    for_each_range(pool, 1, 1, degree, [&](std::size_t, std::size_t, std::size_t first, std::size_t count) {
      const auto* values = reinterpret_cast<const std::int64_t*>(entries);
      write_residues(kernels, out, polynomial, first, values + first, count, 1, base);
    });
  }
}

}  // namespace

void sample_integers(const SamplingKernels& kernels, const PolyView& out, std::size_t polynomial,
                     std::size_t first, std::size_t count, const RandomStream& stream,
                     const Distribution& distribution) {
  const bool ternary = distribution.purpose() == Purpose::ternary;
  const std::int64_t bound = ternary ? 1 : distribution.errors().bound();
  RandomBits bits(kernels, stream.seed, distribution.purpose(), number(stream, polynomial), 0);
  auto* const values = reinterpret_cast<std::int64_t*>(limb_of(out, polynomial, 0));
  for (std::size_t i = first; i < first + count; i += chunk) {
    if (ternary) {
      kernels.ternary_values(values + i, bits.at(i), chunk);
    } else {
      const ErrorDistribution& errors = distribution.errors();
      kernels.error_values(values + i, bits.at(i), chunk, errors.table(), errors.size());
    }
    for (std::size_t k = 0; k < chunk; ++k) values[i + k] += bound;
  }
}

void sample_uniform(const SamplingKernels& kernels, std::uint64_t* out, std::size_t polynomial,
                    std::size_t limb, std::size_t first, std::size_t count, const RandomStream& stream,
                    const arith::Modulus& q) {
  RandomBits bits(kernels, stream.seed, Purpose::uniform, number(stream, polynomial),
                  static_cast<std::uint32_t>(limb));
  for (std::size_t i = 0; i < count; i += chunk) kernels.reduce_wide(out + i, bits.at(first + i), chunk, q);
}

void sample_integers(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
                     const RandomStream& stream, const Distribution& distribution) {
  for_each_range(pool, out.shape.batch * out.shape.components, 1, out.shape.degree,
                 [&](std::size_t polynomial, std::size_t, std::size_t first, std::size_t count) {
                   sample_integers(kernels, out, polynomial, first, count, stream, distribution);
                 });
}

void sample(runtime::ThreadPool& pool, const SamplingKernels& kernels, const PolyView& out,
            const RandomStream& stream, const Distribution& distribution, const RnsBase& base,
            runtime::Workspace& workspace) {
  if (distribution.purpose() == Purpose::fixed_weight) {
    return sample_fixed_weight(pool, kernels, out, stream, distribution.weight(), base, workspace);
  }
  if (workspace.measures()) return;
  switch (distribution.purpose()) {
    case Purpose::uniform:
      return sample_uniform(pool, kernels, out, stream, base);
    case Purpose::ternary:
      return sample_ternary(pool, kernels, out, stream, base);
    case Purpose::error:
      return sample_error(pool, kernels, out, stream, distribution.errors(), base);
    case Purpose::fixed_weight:
      break;
  }
}

}  // namespace hemera::poly::cpu
