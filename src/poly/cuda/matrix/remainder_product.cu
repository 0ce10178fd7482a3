// Matrices of integers of two bytes times rows of residues, modulo pairwise prime numbers of a byte each: one
// product of bytes for each, where bytes of both factors take their products (K. Ozaki, Y. Uchino, T.
// Imamura, "Ozaki Scheme II", arXiv 2504.08009). Sums become remainders in registers; another kernel joins
// them modulo q by the Chinese remainder theorem.
#include <algorithm>

#include "poly/cuda/launch.cuh"
#include "poly/cuda/matrix/cluster_stages.cuh"
#include "poly/cuda/matrix/matrix.hpp"
#include "poly/cuda/matrix/warpgroup.cuh"

namespace hemera::poly::cuda {
namespace {

using arith::Modulus;
using arith::uint128;

constexpr unsigned most_divisors = 14;
// The largest numbers up to 256 of which no two have a common factor.
HEMERA_HOST_DEVICE constexpr unsigned divisor(unsigned i) {
  constexpr std::uint16_t all[most_divisors] = {256, 255, 253, 251, 247, 241, 239,
                                                233, 229, 227, 223, 217, 211, 199};
  return all[i];
}
constexpr uint128 product_of_divisors(unsigned count) {
  uint128 product = 1;
  for (unsigned i = 0; i < count; ++i) product *= divisor(i);
  return product;
}

constexpr unsigned rows_of_group = 64;
constexpr unsigned warps_of_group = 4;
constexpr unsigned rows_of_block = 2 * rows_of_group;
constexpr unsigned warps = 2 * warps_of_group;  // and one that asks for bytes
constexpr unsigned stages = 4;
constexpr unsigned entries_of_tile = 256;
constexpr unsigned columns_of_step = 128;
constexpr unsigned columns_of_chunk = 16;  // which stand together
constexpr unsigned chunks_of_step = columns_of_step / columns_of_chunk;
constexpr unsigned chunks_of_product = 2;
constexpr unsigned sums = entries_of_tile / 2;  // of a thread
static_assert(min_degree % entries_of_tile == 0);

// Bytes of a block's rows, and of a tile's entries, in a step.
constexpr unsigned rows_bytes = rows_of_block * columns_of_step;
constexpr unsigned tile_bytes = entries_of_tile * columns_of_step;
constexpr unsigned stage_bytes = rows_bytes + tile_bytes;
// Remainders of a block's sums.
constexpr unsigned found_bytes = rows_of_block * entries_of_tile;

unsigned steps_of(std::size_t columns) {
  return static_cast<unsigned>((columns + columns_of_step - 1) / columns_of_step);
}
// Blocks of rows, in clusters that share the entries' bytes.
unsigned blocks_of_cluster(std::size_t rows) { return rows > rows_of_block ? 2 : 1; }
unsigned blocks_of(std::size_t rows) {
  const std::size_t cluster = blocks_of_cluster(rows);
  return static_cast<unsigned>((rows + cluster * rows_of_block - 1) / (cluster * rows_of_block) * cluster);
}

// x modulo a constant, as an integer from -128 to 127.
__device__ __forceinline__ std::uint32_t signed_remainder(int x, unsigned of) {
  const int rest = (x % static_cast<int>(of) + static_cast<int>(of)) % static_cast<int>(of);
  return static_cast<std::uint32_t>(rest > 127 ? rest - static_cast<int>(of) : rest) & 0xffU;
}

struct Inverses {
  std::uint8_t of[most_divisors];  // of the product of the other divisors
};

// Grid [block of rows, step], a thread for each row and chunk of half the chunks: the rows times the
// inverses, [block][divisor][step][chunk] [row][16 bytes]. What is beyond the matrix is 0.
__global__ void __launch_bounds__(rows_of_block* chunks_of_step / 2)
    pack_remainders_kernel(uint4* packed, const std::int16_t* integers, unsigned rows, unsigned columns,
                           unsigned steps, unsigned count, const __grid_constant__ Inverses inverses) {
  begin_kernel();
  const unsigned row = threadIdx.x % rows_of_block;
  const std::size_t matrix_row = std::size_t{blockIdx.x / steps} * rows_of_block + row;
  constexpr unsigned plane_size = rows_bytes / sizeof(uint4);
  uint4* const to =
      packed + (std::size_t{blockIdx.x / steps} * count * steps + blockIdx.x % steps) * plane_size + row;
  for (unsigned chunk = threadIdx.x / rows_of_block; chunk < chunks_of_step; chunk += chunks_of_step / 2) {
    const unsigned first = blockIdx.x % steps * columns_of_step + chunk * columns_of_chunk;
    int values[columns_of_chunk];
#pragma unroll
    for (unsigned i = 0; i < columns_of_chunk; ++i) {
      const bool inside = matrix_row < rows && first + i < columns;
      values[i] = inside ? integers[matrix_row * columns + first + i] : 0;
    }
#pragma unroll
    for (unsigned d = 0; d < most_divisors; ++d) {
      if (d >= count) break;
      std::uint32_t bytes[4] = {};
#pragma unroll
      for (unsigned i = 0; i < columns_of_chunk; ++i) {
        bytes[i / 4] |= signed_remainder(values[i] * inverses.of[d], divisor(d)) << (8 * (i % 4));
      }
      to[std::size_t{d} * steps * plane_size + chunk * rows_of_block] =
          uint4{bytes[0], bytes[1], bytes[2], bytes[3]};
    }
  }
}

// Some entries of some polynomials of a batch.
struct Portion {
  unsigned first_tile, tiles;  // of entries
  unsigned first_unit, units;  // components and their limbs
  unsigned limbs;              // of a component
  unsigned columns, steps;
};

// Grid [step, 32 entries, unit], a warp for each chunk: [unit][divisor][tile][step][chunk] [entry][16 bytes].
// Beyond the columns is 0.
__global__ void __launch_bounds__(chunks_of_step * 32)
    split_remainders_kernel(uint4* split, ConstDeviceView in, const __grid_constant__ Portion part,
                            unsigned count) {
  begin_kernel();
  constexpr unsigned groups_of_tile = entries_of_tile / 32;
  const unsigned chunk = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned first = blockIdx.x * columns_of_step + chunk * columns_of_chunk;
  const unsigned entry = part.first_tile * entries_of_tile + blockIdx.y * 32 + lane;
  const unsigned unit = part.first_unit + blockIdx.z;
  std::uint32_t found[most_divisors][4];
#pragma unroll
  for (unsigned four = 0; four < 4; ++four) {
#pragma unroll
    for (unsigned d = 0; d < most_divisors; ++d) found[d][four] = 0;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned column = first + 4 * four + i;
      const std::uint64_t word =
          column < part.columns ? in.limb(column, unit / part.limbs, unit % part.limbs)[entry] : 0;
      const auto low = static_cast<std::uint32_t>(word), high = static_cast<std::uint32_t>(word >> 32);
#pragma unroll
      for (unsigned d = 0; d < most_divisors; ++d) {
        if (d >= count) break;
        // Sums of 16 bits times a byte each are below 2^26.
        const std::uint32_t once = 65536 % divisor(d), twice = once * once % divisor(d),
                            thrice = once * twice % divisor(d);
        const std::uint32_t sum =
            (low & 0xffffU) + (low >> 16) * once + (high & 0xffffU) * twice + (high >> 16) * thrice;
        found[d][four] |= sum % divisor(d) << (8 * i);
      }
    }
  }
  const std::size_t tile = std::size_t{blockIdx.z} * count * part.tiles + blockIdx.y / groups_of_tile;
  uint4* const to = split + (tile * part.steps + blockIdx.x) * (tile_bytes / sizeof(uint4)) +
                    chunk * entries_of_tile + blockIdx.y % groups_of_tile * 32 + lane;
  const std::size_t of_divisor = std::size_t{part.tiles} * part.steps * (tile_bytes / sizeof(uint4));
#pragma unroll
  for (unsigned d = 0; d < most_divisors; ++d) {
    if (d >= count) break;
    to[d * of_divisor] = uint4{found[d][0], found[d][1], found[d][2], found[d][3]};
  }
}

// What remainders of sums are taken by.
struct Divisor {
  std::uint32_t value;
  std::uint32_t reciprocal;  // floor(2^32 / value)
  std::uint32_t multiple;    // of it, at least 2^31
};

// What a launch multiplies.
struct RemainderProduct {
  uint4* found;
  const std::uint8_t* matrix;
  const std::uint8_t* split;
  unsigned blocks, tiles, units, steps, count;
  Divisor divisors[most_divisors];

  [[nodiscard]] __host__ __device__ std::size_t jobs(unsigned cluster) const {
    return std::size_t{blocks / cluster} * tiles * units * count;
  }
};

// A block of rows and a tile of entries, modulo a divisor.
struct Job {
  std::size_t rows;     // of the matrix: blocks and divisors
  std::size_t entries;  // of the split words: units, divisors and tiles
  std::size_t found;    // the same, and blocks
  unsigned divisor;

  // Clusters that run at a time take blocks of rows that share entries.
  __device__ __forceinline__ Job(const RemainderProduct& product, std::size_t number, unsigned cluster) {
    const auto clusters = product.blocks / cluster;
    const auto block = static_cast<unsigned>(number % clusters) * cluster + blockIdx.x % cluster;
    entries = number / clusters;
    divisor = static_cast<unsigned>(entries / product.tiles % product.count);
    rows = std::size_t{block} * product.count + divisor;
    found = entries * product.blocks + block;
  }
};

// Writes the sums' remainders: [sixteen sums][lane] of a warp.
__device__ __forceinline__ void write_remainders(const int (&c)[sums], uint4* to, const Divisor& by) {
  const auto remainder = [&](int sum) {
    const std::uint32_t positive = static_cast<std::uint32_t>(sum) + by.multiple;
    const std::uint32_t rest = positive - __umulhi(positive, by.reciprocal) * by.value;
    return min(rest, rest - by.value);  // the quotient is at most one too small
  };
#pragma unroll
  for (unsigned i = 0; i < sums / 16; ++i) {
    std::uint32_t words[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      const int* const four = c + 16 * i + 4 * k;
      const std::uint32_t low = __byte_perm(remainder(four[0]), remainder(four[1]), 0x0040);
      const std::uint32_t high = __byte_perm(remainder(four[2]), remainder(four[3]), 0x0040);
      words[k] = __byte_perm(low, high, 0x5410);
    }
    to[i * 32] = uint4{words[0], words[1], words[2], words[3]};
  }
}

// As many blocks as the device runs at a time. The last warp asks for the steps' bytes of one job after the
// other, ahead of the others, which write remainders in between.
template <unsigned cluster>
__global__ void __launch_bounds__((warps + 1) * 32, 1)
    remainder_product_kernel(const __grid_constant__ RemainderProduct product) {
  auto* const shared = dynamic_shared<unsigned char>();
  unsigned char* const first_stage = shared + matrix::ClusterStages<cluster>::bytes;
  const matrix::ClusterStages<cluster> barriers(shared, warps);
  begin_kernel();
  const std::size_t jobs = product.jobs(cluster), together = gridDim.x / cluster;
  const unsigned steps = product.steps;
  // One number for a warp, which the compiler must know for asynchronous products.
  const unsigned warp = __shfl_sync(0xffffffffU, threadIdx.x / 32, 0);
  if (warp == warps) {
    const auto request = [&](const Job& job, unsigned step, unsigned stage) {
      if (threadIdx.x % 32 == 0) {
        unsigned char* const to = first_stage + stage * stage_bytes;
        barriers.expect(stage, stage_bytes);
        barriers.copy_shared(stage, to, product.split + (job.entries * steps + step) * tile_bytes,
                             tile_bytes);
        barriers.copy(stage, to + tile_bytes, product.matrix + (job.rows * steps + step) * rows_bytes,
                      rows_bytes);
      }
      __syncwarp();
    };
    // A step of any job is asked for when the one that was `stages` before it has been left.
    StagePlace place;
    unsigned asked = 0;
    for (std::size_t number = blockIdx.x / cluster; number < jobs; number += together) {
      const Job job(product, number, cluster);
      for (unsigned step = 0; step < steps; ++step) {
        if (asked < stages) {
          request(job, step, asked++);
          if (asked == stages) barriers.keep_step();
          continue;
        }
        barriers.keep_step();
        barriers.wait_empty(place);
        request(job, step, place.stage);
        place.advance(stages);
      }
    }
    for (unsigned kept = asked / stages; kept < asked; ++kept) barriers.keep_step();
    return barriers.finish();
  }

  const unsigned group = warp / warps_of_group;
  StagePlace place, before;
  for (std::size_t number = blockIdx.x / cluster; number < jobs; number += together) {
    const Job job(product, number, cluster);
    int c[sums] = {};
    for (unsigned step = 0; step < steps; ++step) {
      barriers.wait_full(place);
      const unsigned char* const right = first_stage + place.stage * stage_bytes;
      const unsigned char* const left = right + tile_bytes + group * rows_of_group * columns_of_chunk;
      constexpr unsigned left_chunk = rows_of_block * columns_of_chunk;
      constexpr unsigned right_chunk = entries_of_tile * columns_of_chunk;
      matrix::begin_products();
#pragma unroll
      for (unsigned chunk = 0; chunk < chunks_of_step; chunk += chunks_of_product) {
        matrix::multiply_rows<entries_of_tile, true>(c, {left + chunk * left_chunk, left_chunk},
                                                     {right + chunk * right_chunk, right_chunk});
      }
      matrix::end_products();
      // While these are under way, those of the step before are done.
      matrix::await_products<1>();
      if (step > 0) barriers.leave(before);
      before = place;
      place.advance(stages);
    }
    matrix::await_products<0>();
    barriers.leave(before);
    write_remainders(c, product.found + ((job.found * warps + warp) * (sums / 16)) * 32 + threadIdx.x % 32,
                     product.divisors[job.divisor]);
  }
  barriers.finish();
}

// How remainders of a sum are joined modulo q: of the product P of the divisors d,
// sum = (remainder P / d, of each d) - P round(remainder / d, of each d), as its size is below 0.45 P.
struct Joining {
  static constexpr unsigned fraction_bits = 20;  // 14 255 2^-21 < 0.05
  std::uint64_t factors[most_divisors];          // P / d modulo q
  std::uint64_t negated;                         // -P modulo q
  std::uint32_t fractions[most_divisors];        // 2^20 / d, rounded
};

// Grid [block of rows, sixteen sums of a thread; tile], a warp for each that made them, of one unit.
__global__ void __launch_bounds__(warps * 32)
    join_remainders_kernel(DeviceView out, const uint4* found, unsigned rows, unsigned blocks, unsigned count,
                           unsigned component, unsigned limb, const Modulus* modulus,
                           const __grid_constant__ Portion part, const __grid_constant__ Joining joining) {
  begin_kernel();
  constexpr unsigned sixteens = sums / 16;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned block = blockIdx.x / sixteens, sixteen = blockIdx.x % sixteens;
  const Modulus q = *modulus;
  const uint4* const from =
      found + (((std::size_t{blockIdx.y} * blocks + block) * warps + warp) * sixteens + sixteen) * 32 + lane;
  const std::size_t of_divisor = std::size_t{part.tiles} * blocks * (found_bytes / sizeof(uint4));
  uint4 remainders[most_divisors];
#pragma unroll
  for (unsigned d = 0; d < most_divisors; ++d) {
    if (d < count) remainders[d] = from[d * of_divisor];
  }
  const auto join = [&](unsigned word, unsigned byte) {
    std::uint64_t low = 0, high = 0;
    std::uint32_t fraction = 1U << (Joining::fraction_bits - 1);
    const auto add = [&](std::uint32_t times, std::uint64_t factor) {
      low += std::uint64_t{times} * static_cast<std::uint32_t>(factor);
      high += std::uint64_t{times} * static_cast<std::uint32_t>(factor >> 32);
    };
#pragma unroll
    for (unsigned d = 0; d < most_divisors; ++d) {
      if (d >= count) break;
      const uint4& four = remainders[d];
      const std::uint32_t bytes = word == 0 ? four.x : word == 1 ? four.y : word == 2 ? four.z : four.w;
      const std::uint32_t remainder = bytes >> (8 * byte) & 0xffU;
      add(remainder, joining.factors[d]);
      fraction += remainder * joining.fractions[d];
    }
    add(fraction >> Joining::fraction_bits, joining.negated);
    return q.reduce((static_cast<uint128>(high) << 32) + low);
  };
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned row = block * rows_of_block + 16 * warp + lane / 4 + 8 * half;
    if (row >= rows) break;
    std::uint64_t* const to = out.limb(row, component, limb) +
                              (part.first_tile + blockIdx.y) * entries_of_tile + 32 * sixteen +
                              2 * (lane % 4);
#pragma unroll
    for (unsigned word = 0; word < 4; ++word) {
      *reinterpret_cast<ulonglong2*>(to + 8 * word) =
          make_ulonglong2(join(word, 2 * half), join(word, 2 * half + 1));
    }
  }
}

// x^-1 modulo a number below 257.
std::uint8_t inverse(unsigned x, unsigned modulo) {
  unsigned y = 1;
  while (x * y % modulo != 1) ++y;
  return static_cast<std::uint8_t>(y);
}

Inverses inverses_of(unsigned count) {
  Inverses inverses{};
  for (unsigned d = 0; d < count; ++d) {
    unsigned others = 1;
    for (unsigned i = 0; i < count; ++i) {
      if (i != d) others = others * divisor(i) % divisor(d);
    }
    inverses.of[d] = inverse(others, divisor(d));
  }
  return inverses;
}

Joining joining_of(unsigned count, const Modulus& q) {
  const uint128 product = product_of_divisors(count);
  Joining joining{};
  for (unsigned d = 0; d < count; ++d) {
    joining.factors[d] = q.reduce(product / divisor(d));
    joining.fractions[d] = ((1U << (Joining::fraction_bits + 1)) / divisor(d) + 1) / 2;
  }
  joining.negated = q.negate(q.reduce(product));
  return joining;
}

// Bytes of a tile's split words and of the remainders of its sums, of all divisors.
std::size_t bytes_together(const IntegerMatrixView& w, unsigned count) {
  return (std::size_t{steps_of(w.columns)} * tile_bytes + std::size_t{blocks_of(w.rows)} * found_bytes) *
         count;
}

void launch_product(const Launcher& launcher, const RemainderProduct& product, std::size_t rows,
                    std::size_t multiprocessors) {
  const unsigned cluster = blocks_of_cluster(rows);
  const std::size_t clusters =
      std::min(product.jobs(cluster), std::max<std::size_t>(1, multiprocessors / cluster));
  launch_as({.grid = {static_cast<unsigned>(clusters) * cluster},
             .block = {(warps + 1) * 32},
             .shared_bytes = matrix::ClusterStages<1>::bytes + stages * stage_bytes,
             .cluster = cluster},
            "multiply_matrix", launcher.stream,
            cluster == 2 ? remainder_product_kernel<2> : remainder_product_kernel<1>, product);
}

}  // namespace

unsigned divisors_of_products(const IntegerMatrixView& w, const RnsBase& base) {
  // Sums of 32 bits hold 2^16 products of a remainder by one below 2^7 in size, and the largest of a matrix
  // of two bytes are below 2^15 q in size for each column.
  if (w.bytes != 2 || w.columns > std::size_t{1} << 16) return 0;
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < base.size(); ++i) largest = std::max(largest, base.modulus(i).value());
  const uint128 most = (static_cast<uint128>(largest) << 15) * w.columns;
  for (unsigned count = 1; count <= most_divisors; ++count) {
    if (most <= product_of_divisors(count) / 100 * 45) return count;
  }
  return 0;
}

std::size_t matrix_bytes_of_remainders(const IntegerMatrixView& w, unsigned count) {
  return std::size_t{blocks_of(w.rows)} * steps_of(w.columns) * rows_bytes * count;
}

std::size_t scratch_bytes_of_remainders(const PolyShape& shape, std::size_t degree,
                                        const IntegerMatrixView& w, unsigned count, std::size_t most) {
  const std::size_t tile = bytes_together(w, count);
  const std::size_t all = tile * (degree / entries_of_tile) * shape.limbs * shape.components;
  return std::min(all, std::max(tile, most));
}

void multiply_matrix_by_remainders(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                                   const IntegerMatrixView& w, unsigned count, std::byte* packed,
                                   std::span<std::byte> scratch, std::size_t multiprocessors,
                                   const RnsBase& base) {
  const auto rows = static_cast<unsigned>(w.rows), columns = static_cast<unsigned>(w.columns);
  const unsigned steps = steps_of(w.columns), blocks = blocks_of(w.rows);
  launch("multiply_matrix", launcher.stream, pack_remainders_kernel, {blocks * steps},
         {rows_of_block * chunks_of_step / 2}, 0, reinterpret_cast<uint4*>(packed),
         reinterpret_cast<const std::int16_t*>(w.data), rows, columns, steps, count, inverses_of(count));

  const unsigned all_tiles = launcher.degree() / entries_of_tile;
  const auto limbs = static_cast<unsigned>(out.shape.limbs);
  const std::size_t all_units = out.shape.components * limbs,
                    held = scratch.size() / bytes_together(w, count);
  constexpr std::size_t most_units = 65535;  // of a grid
  const auto tiles = static_cast<unsigned>(std::min<std::size_t>(held, all_tiles));
  const std::size_t units = std::min({held / tiles, all_units, most_units});
  for (std::size_t unit = 0; unit < all_units; unit += units) {
    for (unsigned tile = 0; tile < all_tiles; tile += tiles) {
      const Portion part{.first_tile = tile,
                         .tiles = std::min(tiles, all_tiles - tile),
                         .first_unit = static_cast<unsigned>(unit),
                         .units = static_cast<unsigned>(std::min(units, all_units - unit)),
                         .limbs = limbs,
                         .columns = columns,
                         .steps = steps};
      auto* const split = reinterpret_cast<uint4*>(scratch.data());
      auto* const found = reinterpret_cast<uint4*>(scratch.data() + std::size_t{part.tiles} * part.units *
                                                                        count * steps * tile_bytes);
      launch("multiply_matrix", launcher.stream, split_remainders_kernel,
             {steps, part.tiles * (entries_of_tile / 32), part.units}, {chunks_of_step * 32}, 0, split,
             device_view(in), part, count);
      RemainderProduct product{.found = found,
                               .matrix = reinterpret_cast<const std::uint8_t*>(packed),
                               .split = reinterpret_cast<const std::uint8_t*>(split),
                               .blocks = blocks,
                               .tiles = part.tiles,
                               .units = part.units,
                               .steps = steps,
                               .count = count,
                               .divisors = {}};
      for (unsigned d = 0; d < count; ++d) {
        product.divisors[d] = {
            .value = divisor(d),
            .reciprocal = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / divisor(d)),
            .multiple = ((1U << 31) / divisor(d) + 1) * divisor(d)};
      }
      launch_product(launcher, product, w.rows, multiprocessors);
      for (unsigned i = 0; i < part.units; ++i) {
        const unsigned component = (part.first_unit + i) / limbs, limb = (part.first_unit + i) % limbs;
        launch("multiply_matrix", launcher.stream, join_remainders_kernel, {blocks * (sums / 16), part.tiles},
               {warps * 32}, 0, device_view(out),
               found + std::size_t{i} * count * part.tiles * blocks * (found_bytes / sizeof(uint4)), rows,
               blocks, count, component, limb,
               launcher.tables->moduli() + limb_moduli(base, limb, 1).ring_index[0], part,
               joining_of(count, base.modulus(limb)));
      }
    }
  }
}

}  // namespace hemera::poly::cuda
