// Samplers: ChaCha20 in registers, comparisons by sign bits, residues written for all limbs of a launch.
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "poly/cuda/launch.cuh"
#include "poly/cuda/rounds.cuh"
#include "poly/cuda/sampling/chacha20.cuh"
#include "poly/cuda/sampling/sampling.hpp"
#include "poly/sampling_checks.hpp"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;
using arith::uint128;

constexpr unsigned threads = 128;
constexpr unsigned per_block = 4;  // coefficients of one ChaCha20 block
constexpr unsigned warp = 32;
static_assert(min_degree % (threads * per_block) == 0);

__device__ __forceinline__ std::uint64_t low(uint128 a) { return static_cast<std::uint64_t>(a); }
__device__ __forceinline__ std::uint64_t high(uint128 a) { return static_cast<std::uint64_t>(a >> 64); }

// The counter of this thread's block of coefficients 4 counter, 4 counter + 1, ...
__device__ __forceinline__ unsigned block_counter() { return blockIdx.x * threads + threadIdx.x; }

// A warp draws 128 neighbouring coefficients, four a thread. Lane t then writes the pairs that begin at 2 t
// and at 64 + 2 t, so that the lanes' stores are adjacent; here is where those coefficients come from.
template <typename T>
__device__ __forceinline__ void exchange(T (&values)[per_block]) {
  const unsigned lane = threadIdx.x % warp;
  T pairs[per_block];
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    T source[per_block];
#pragma unroll
    for (unsigned k = 0; k < per_block; ++k) {
      source[k] = __shfl_sync(0xffffffffU, values[k], static_cast<int>(16 * half + lane / 2));
    }
    pairs[2 * half] = lane % 2 != 0 ? source[2] : source[0];
    pairs[2 * half + 1] = lane % 2 != 0 ? source[3] : source[1];
  }
#pragma unroll
  for (unsigned k = 0; k < per_block; ++k) values[k] = pairs[k];
}

// Where they go within a limb.
__device__ __forceinline__ void store(std::uint64_t* limb, const std::uint64_t (&words)[per_block]) {
  const unsigned lane = threadIdx.x % warp;
  const unsigned first = (blockIdx.x * threads + threadIdx.x - lane) * per_block + 2 * lane;
  *reinterpret_cast<ulonglong2*>(limb + first) = make_ulonglong2(words[0], words[1]);
  *reinterpret_cast<ulonglong2*>(limb + first + 2 * warp) = make_ulonglong2(words[2], words[3]);
}

// The residue of |value| <= bound.
__device__ __forceinline__ std::uint64_t residue(std::int64_t value, std::uint64_t bound, const Modulus& q) {
  const auto word = static_cast<std::uint64_t>(value);
  return q.value() > bound ? word + (q.value() & (0 - (word >> 63))) : q.reduce_signed(value);
}

// --- Streams ---

// One of all polynomials of a launch, or one of each of its batch.
constexpr unsigned streams_per_launch = 32;
template <unsigned most>
struct Streams {
  StreamKey of[most];

  // Grid [tile, polynomial].
  __device__ __forceinline__ RandomBlock block(unsigned components, std::uint32_t limb,
                                               std::uint32_t counter) const {
    if constexpr (most == 1) {
      return random_block(of[0], blockIdx.y, limb, counter);
    } else {
      return random_block(of[blockIdx.y / components], blockIdx.y % components, limb, counter);
    }
  }
};

// --- Small integers ---

template <unsigned most>
struct Ternary {
  Streams<most> streams;

  __device__ __forceinline__ std::uint64_t bound() const { return 1; }
  __device__ __forceinline__ void draw(int (&values)[per_block], const RandomBlock& random) const {
#pragma unroll
    for (unsigned k = 0; k < per_block; ++k) {
      values[k] = static_cast<int>(arith::multiply_high(3, low(random.r[k]))) - 1;
    }
  }
};

template <unsigned most>
struct Error {
  Streams<most> streams;
  std::uint32_t size;
  std::uint64_t table[ErrorDistribution::max_size];

  __device__ __forceinline__ std::uint64_t bound() const { return size; }
  __device__ __forceinline__ void draw(int (&values)[per_block], const RandomBlock& random) const {
    std::uint64_t u[per_block], magnitude[per_block];
#pragma unroll
    for (unsigned k = 0; k < per_block; ++k) {
      u[k] = low(random.r[k]) & ~(std::uint64_t{1} << 63);
      magnitude[k] = size;
    }
    for (unsigned m = 0; m < size; ++m) {
      const std::uint64_t entry = table[m];
#pragma unroll
      for (unsigned k = 0; k < per_block; ++k) magnitude[k] -= (u[k] - entry) >> 63;
    }
#pragma unroll
    for (unsigned k = 0; k < per_block; ++k) {
      const std::uint64_t negative = 0 - (high(random.r[k]) >> 63);
      values[k] = static_cast<int>((magnitude[k] ^ negative) - negative);
    }
  }
};

// grid [tile, polynomial].
template <class Distribution>
__global__ void __launch_bounds__(threads)
    small_kernel(DeviceView out, unsigned components, unsigned limbs,
                 const __grid_constant__ Distribution distribution,
                 const __grid_constant__ LimbModuli moduli_of, const Modulus* moduli) {
  int values[per_block];
  distribution.draw(values, distribution.streams.block(components, 0, block_counter()));
  exchange(values);
  const std::uint64_t bound = distribution.bound();
  begin_kernel();
  std::uint64_t* limb = out.limb(blockIdx.y / components, blockIdx.y % components, 0);
  for (unsigned l = 0; l < limbs; ++l, limb += out.limb_stride) {
    const Modulus q = moduli[moduli_of.ring_index[l]];
    std::uint64_t words[per_block];
#pragma unroll
    for (unsigned k = 0; k < per_block; ++k) words[k] = residue(values[k], bound, q);
    store(limb, words);
  }
}

// The integers themselves, as signed words of one limb.
template <class Distribution>
__global__ void __launch_bounds__(threads)
    integers_kernel(DeviceView out, unsigned components, const __grid_constant__ Distribution distribution) {
  int values[per_block];
  distribution.draw(values, distribution.streams.block(components, 0, block_counter()));
  exchange(values);
  begin_kernel();
  std::uint64_t words[per_block];
#pragma unroll
  for (unsigned k = 0; k < per_block; ++k) {
    words[k] = static_cast<std::uint64_t>(static_cast<std::int64_t>(values[k]));
  }
  store(out.limb(blockIdx.y / components, blockIdx.y % components, 0), words);
}

// grid [tile, polynomial, limb]. Block 4 h + g of a row of 256 gives entries 16 h + 4 g + k, which stand at
// 16 (4 g + k) + h: 16 lanes of one g write neighbours.
template <unsigned most>
__global__ void __launch_bounds__(threads)
    uniform_kernel(DeviceView out, unsigned components, const __grid_constant__ Streams<most> streams,
                   unsigned first_limb, const __grid_constant__ LimbModuli moduli_of, const Modulus* moduli) {
  constexpr unsigned row_blocks = row_size / per_block;
  const unsigned row = block_counter() / row_blocks, in_row = block_counter() % row_blocks;
  const unsigned h = in_row % 16, g = in_row / 16;
  const Modulus q = moduli[moduli_of.ring_index[blockIdx.z]];
  const RandomBlock random = streams.block(components, first_limb + blockIdx.z, row_blocks * row + 4 * h + g);
  std::uint64_t words[per_block];
#pragma unroll
  for (unsigned k = 0; k < per_block; ++k) words[k] = q.reduce(random.r[k]);
  begin_kernel();
  std::uint64_t* limb = out.limb(blockIdx.y / components, blockIdx.y % components, blockIdx.z);
#pragma unroll
  for (unsigned k = 0; k < per_block; ++k) limb[row_size * row + 16 * (4 * g + k) + h] = words[k];
}

// --- Fixed weight. Entries, 2 key + sign, become coefficients in place. ---

constexpr unsigned choice_threads = 1024;
constexpr unsigned choice_warps = choice_threads / warp;
static_assert(min_degree % choice_threads == 0);

// grid [tile, polynomial].
__global__ void __launch_bounds__(threads)
    keys_kernel(DeviceView out, unsigned components, const __grid_constant__ StreamKey stream) {
  const RandomBlock random = random_block(stream, blockIdx.y, 0, block_counter());
  constexpr std::uint64_t key_mask = (std::uint64_t{1} << 62) - 1;
  unsigned long long entries[per_block];
#pragma unroll
  for (unsigned k = 0; k < per_block; ++k) {
    entries[k] = (low(random.r[k]) & key_mask) << 1 | high(random.r[k]) >> 63;
  }
  exchange(entries);
  begin_kernel();
  std::uint64_t words[per_block];
#pragma unroll
  for (unsigned k = 0; k < per_block; ++k) words[k] = entries[k];
  store(out.limb(blockIdx.y / components, blockIdx.y % components, 0), words);
}

__device__ __forceinline__ unsigned long long warp_sum(unsigned long long value) {
#pragma unroll
  for (int lanes = 16; lanes != 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffU, value, lanes);
  return value;
}

// The sum over the block, to all threads. `shared`: a word a warp.
__device__ unsigned long long block_sum(unsigned long long value, unsigned long long* shared) {
  const unsigned lane = threadIdx.x % warp;
  value = warp_sum(value);
  __syncthreads();  // the sum before has been read
  if (lane == 0) shared[threadIdx.x / warp] = value;
  __syncthreads();
  return warp_sum(shared[lane % choice_warps]);
}

// The sum over the threads before this one.
__device__ unsigned long long sum_before(unsigned long long value, unsigned long long* shared) {
  const unsigned lane = threadIdx.x % warp, own_warp = threadIdx.x / warp;
  unsigned long long sum = value;
#pragma unroll
  for (unsigned lanes = 1; lanes < warp; lanes *= 2) {
    const unsigned long long other = __shfl_sync(0xffffffffU, sum, static_cast<int>((lane - lanes) % warp));
    sum += lane >= lanes ? other : 0;
  }
  __syncthreads();
  if (lane == warp - 1) shared[own_warp] = sum;
  __syncthreads();
  const unsigned long long before = warp_sum(lane < own_warp ? shared[lane] : 0);
  return before + sum - value;
}

// One block a polynomial: grid [1, polynomial]. As on the CPU (docs/randomness.md), with two bits of the
// threshold a pass.
__global__ void __launch_bounds__(choice_threads)
    choose_lowest_kernel(DeviceView out, unsigned components, unsigned degree, std::uint64_t weight) {
  __shared__ unsigned long long shared[choice_warps];
  begin_kernel();
  std::uint64_t* const entries = out.limb(blockIdx.y / components, blockIdx.y % components, 0);
  std::uint64_t threshold = 0;
  for (int bit = 60; bit >= 0; bit -= 2) {
    constexpr int counter_bits = 20;  // three counters of up to 2^17 in a word
    unsigned long long counts = 0;
    for (unsigned i = threadIdx.x; i < degree; i += choice_threads) {
      const std::uint64_t key = entries[i] >> 1;
#pragma unroll
      for (unsigned digit = 1; digit < 4; ++digit) {
        const std::uint64_t below = (key - (threshold | std::uint64_t{digit} << bit)) >> 63;
        counts += below << (counter_bits * (digit - 1));
      }
    }
    counts = block_sum(counts, shared);
    std::uint64_t digits = 0;  // candidates with fewer than `weight` keys below them
#pragma unroll
    for (unsigned digit = 1; digit < 4; ++digit) {
      const std::uint64_t count = counts >> (counter_bits * (digit - 1)) & ((1U << counter_bits) - 1);
      digits += (count - weight) >> 63;
    }
    threshold |= digits << bit;
  }

  // The first of the keys equal to the threshold fill up the weight.
  const unsigned share = degree / choice_threads;
  std::uint64_t* const own = entries + threadIdx.x * share;
  unsigned long long counts = 0;  // 2^32 times the keys below, and those equal
  for (unsigned i = 0; i < share; ++i) {
    const std::uint64_t key = own[i] >> 1;
    const std::uint64_t below = (key - threshold) >> 63;
    const std::uint64_t equal = ((key ^ threshold) - 1) >> 63;
    counts += below << 32 | equal;
  }
  const std::uint64_t missing = weight - (block_sum(counts, shared) >> 32);
  std::uint64_t rank = sum_before(counts, shared) & 0xffffffffU;
  for (unsigned i = 0; i < share; ++i) {
    const std::uint64_t key = own[i] >> 1;
    const std::uint64_t negative = 0 - (own[i] & 1);
    const std::uint64_t below = (key - threshold) >> 63;
    const std::uint64_t equal = ((key ^ threshold) - 1) >> 63;
    const std::uint64_t fills = equal & ((rank - missing) >> 63);
    rank += equal;
    own[i] = ((below | fills) ^ negative) - negative;
  }
  __syncthreads();
  if (threadIdx.x < choice_warps) shared[threadIdx.x] = 0;
}

// Turns integers in the first limb into residues in all limbs of a launch: grid [tile, polynomial].
__global__ void __launch_bounds__(threads)
    residues_kernel(DeviceView out, DeviceView integers, unsigned components, unsigned limbs,
                    const __grid_constant__ LimbModuli moduli_of, const Modulus* moduli) {
  begin_kernel();
  const unsigned batch = blockIdx.y / components, component = blockIdx.y % components;
  const unsigned entry = 2 * (blockIdx.x * threads + threadIdx.x);
  const ulonglong2 pair = *reinterpret_cast<const ulonglong2*>(integers.limb(batch, component, 0) + entry);
  std::uint64_t* limb = out.limb(batch, component, 0) + entry;
  for (unsigned l = 0; l < limbs; ++l, limb += out.limb_stride) {
    const Modulus q = moduli[moduli_of.ring_index[l]];
    *reinterpret_cast<ulonglong2*>(limb) = make_ulonglong2(residue(static_cast<std::int64_t>(pair.x), 1, q),
                                                           residue(static_cast<std::int64_t>(pair.y), 1, q));
  }
}

// --- Host ---

template <typename Run>
__attribute__((noinline)) void in_own_frame(const Run& run) {
  run();
  __asm__ __volatile__("" : : : "memory");  // no tail call
}

// Runs host code that puts seeds on its stack, and zeroes that.
template <typename Run>
void leaving_no_secrets(const Run& run) {
  in_own_frame(run);
  zero_stack_below();
}

dim3 grid(const Launcher& launcher, const PolyView& out, const Part& part, std::size_t limbs = 1) {
  return {launcher.degree() / (threads * per_block),
          static_cast<unsigned>(part.batches * out.shape.components), static_cast<unsigned>(limbs)};
}

// The streams of a launch: all of `streams`, or those of the part's batch.
template <unsigned most>
Streams<most> streams_of(std::span<const RandomStream> streams, Purpose purpose, const Part& part,
                         const PolyShape& shape) {
  Streams<most> result;
  if constexpr (most == 1) {
    result.of[0] = stream_key(streams[0], purpose, part.first_batch * shape.components);
  } else {
    for (std::size_t i = 0; i < part.batches; ++i) {
      result.of[i] = stream_key(streams[part.first_batch + i], purpose, 0);
    }
  }
  return result;
}

// Calls run<most>(out, streams) for all streams, of as many as a launch takes at once.
template <typename Run>
void for_streams(const PolyView& out, std::span<const RandomStream> streams, const Run& run) {
  if (streams.size() == 1) {
    return leaving_no_secrets([&] { run.template operator()<1>(out, streams); });
  }
  for (std::size_t first = 0; first < streams.size(); first += streams_per_launch) {
    const std::size_t count = std::min<std::size_t>(streams_per_launch, streams.size() - first);
    leaving_no_secrets([&] {
      run.template operator()<streams_per_launch>(out.batches(first, count), streams.subspan(first, count));
    });
  }
}

template <class Distribution, unsigned most>
void sample_small(const char* operation, const Launcher& launcher, const PolyView& out,
                  Distribution& distribution, std::span<const RandomStream> streams, Purpose purpose,
                  const RnsBase& base) {
  static_assert(sizeof(Distribution) + sizeof(LimbModuli) + 128 <= 4096);  // parameters of a kernel
  for_each_launch(out.shape, [&](const Part& part) {
    distribution.streams = streams_of<most>(streams, purpose, part, out.shape);
    launch(operation, launcher.stream, small_kernel<Distribution>, grid(launcher, out, part), {threads}, 0,
           device_view(part.of(out)), static_cast<unsigned>(out.shape.components),
           static_cast<unsigned>(part.limbs), distribution, limb_moduli(base, part.first_limb, part.limbs),
           launcher.tables->moduli());
  });
}

template <class Distribution>
void sample_integers(const char* operation, const Launcher& launcher, const PolyView& out,
                     Distribution& distribution, const RandomStream& stream, Purpose purpose) {
  for_each_launch(out.shape, [&](const Part& part) {
    distribution.streams = streams_of<1>(std::span(&stream, 1), purpose, part, out.shape);
    launch(operation, launcher.stream, integers_kernel<Distribution>, grid(launcher, out, part), {threads}, 0,
           device_view(part.of(out)), static_cast<unsigned>(out.shape.components), distribution);
  });
}

template <unsigned most>
Error<most> error_of(const ErrorDistribution& distribution) {
  Error<most> error{};
  error.size = static_cast<std::uint32_t>(distribution.size());
  std::copy_n(distribution.table(), distribution.size(), error.table);
  return error;
}

}  // namespace

StreamKey stream_key(const RandomStream& stream, Purpose purpose, std::size_t first) {
  static_assert(std::endian::native == std::endian::little);
  StreamKey result;
  std::memcpy(result.key, stream.seed.bytes.data(), sizeof result.key);
  result.first_polynomial = stream.first_polynomial + static_cast<std::uint32_t>(first);
  result.purpose = static_cast<std::uint32_t>(purpose);
  result.one = 1;
  return result;
}

void sample_ternary_integers(const Launcher& launcher, const PolyView& out, const RandomStream& stream) {
  leaving_no_secrets([&] {
    Ternary<1> ternary{};
    sample_integers("sample_ternary", launcher, out, ternary, stream, Purpose::ternary);
  });
}

void sample_error_integers(const Launcher& launcher, const PolyView& out, const RandomStream& stream,
                           const ErrorDistribution& distribution) {
  leaving_no_secrets([&] {
    Error<1> error = error_of<1>(distribution);
    sample_integers("sample_error", launcher, out, error, stream, Purpose::error);
  });
}

void choose_lowest(const Launcher& launcher, const PolyView& entries, std::size_t weight) {
  const PolyShape& shape = entries.shape;
  launch("sample_fixed_weight", launcher.stream, choose_lowest_kernel,
         {1, static_cast<unsigned>(shape.batch * shape.components)}, {choice_threads}, 0,
         device_view(entries), static_cast<unsigned>(shape.components), launcher.degree(),
         static_cast<std::uint64_t>(weight));
}

namespace {

void sample_uniform(const Launcher& launcher, const PolyView& out, std::span<const RandomStream> streams,
                    const RnsBase& base) {
  for_streams(out, streams, [&]<unsigned most>(const PolyView& some, std::span<const RandomStream> of) {
    for_each_launch(some.shape, [&](const Part& part) {
      launch("sample_uniform", launcher.stream, uniform_kernel<most>, grid(launcher, some, part, part.limbs),
             {threads}, 0, device_view(part.of(some)), static_cast<unsigned>(some.shape.components),
             streams_of<most>(of, Purpose::uniform, part, some.shape), static_cast<unsigned>(part.first_limb),
             limb_moduli(base, part.first_limb, part.limbs), launcher.tables->moduli());
    });
  });
}

void sample_ternary(const Launcher& launcher, const PolyView& out, std::span<const RandomStream> streams,
                    const RnsBase& base) {
  for_streams(out, streams, [&]<unsigned most>(const PolyView& some, std::span<const RandomStream> of) {
    Ternary<most> ternary{};
    sample_small<Ternary<most>, most>("sample_ternary", launcher, some, ternary, of, Purpose::ternary, base);
  });
}

void sample_error(const Launcher& launcher, const PolyView& out, std::span<const RandomStream> streams,
                  const ErrorDistribution& distribution, const RnsBase& base) {
  for_streams(out, streams, [&]<unsigned most>(const PolyView& some, std::span<const RandomStream> of) {
    Error<most> error = error_of<most>(distribution);
    sample_small<Error<most>, most>("sample_error", launcher, some, error, of, Purpose::error, base);
  });
}

// The random keys stand in the first limb of `out` until they are replaced: that takes no scratch.
void sample_fixed_weight(const Launcher& launcher, const PolyView& out, const RandomStream& stream,
                         std::size_t weight, const RnsBase& base) {
  const auto components = static_cast<unsigned>(out.shape.components);
  PolyShape first_limb = out.shape;
  first_limb.limbs = 1;
  for_each_launch(first_limb, [&](const Part& batches) {
    const DeviceView integers = device_view(batches.of(out));
    const auto polynomials = static_cast<unsigned>(batches.batches * out.shape.components);
    leaving_no_secrets([&] {
      launch("sample_fixed_weight", launcher.stream, keys_kernel, grid(launcher, out, batches), {threads}, 0,
             integers, components,
             stream_key(stream, Purpose::fixed_weight, batches.first_batch * out.shape.components));
    });
    choose_lowest(launcher, batches.of(out), weight);
    // The first limb, which holds the integers, comes last.
    for (std::size_t end = out.shape.limbs; end != 0;) {
      const std::size_t count = (end - 1) % limbs_per_launch + 1;
      const Part part{batches.first_batch, batches.batches, end - count, count};
      launch("sample_fixed_weight", launcher.stream, residues_kernel,
             {launcher.degree() / (2 * threads), polynomials}, {threads}, 0, device_view(part.of(out)),
             integers, components, static_cast<unsigned>(count), limb_moduli(base, part.first_limb, count),
             launcher.tables->moduli());
      end -= count;
    }
  });
}

}  // namespace

void sample(const Launcher& launcher, const PolyView& out, std::span<const RandomStream> streams,
            const Distribution& distribution, const RnsBase& base) {
  const std::size_t batch = out.shape.batch / streams.size();
  switch (distribution.purpose()) {
    case Purpose::uniform:
      return sample_uniform(launcher, out, streams, base);
    case Purpose::ternary:
      return sample_ternary(launcher, out, streams, base);
    case Purpose::fixed_weight:
      for (std::size_t i = 0; i < streams.size(); ++i) {
        sample_fixed_weight(launcher, out.batches(i * batch, batch), streams[i], distribution.weight(), base);
      }
      return;
    case Purpose::error:
      return sample_error(launcher, out, streams, distribution.errors(), base);
  }
}

}  // namespace hemera::poly::cuda
