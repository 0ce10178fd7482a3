// The transforms of the embedding over a vector type: one graph of IEEE operations for every instruction set.
//
// V has the register type V::Register of V::width doubles (a power of two), V::max_levels (how many levels a
// pass may merge: its 2^max_levels complex values and the roots should fit the registers) and
//   load, store, load_complex, store_complex (split and join interleaved values), broadcast, add, subtract,
//   multiply, transpose (a square of V::width registers).
// V must belong to an anonymous namespace: this header is compiled with several sets of machine flags.
//
// The tree and its roots are described in poly/embedding_tables.hpp. A butterfly of the block `node` maps
// (a, b) to (a + b psi, a - b psi); the inverse one maps (a, b) to (a + b, (a - b) conj(psi)).
#pragma once

#include <cstddef>

#include "poly/cpu/embedding_kernels.hpp"
#include "poly/cpu/embedding_scalar.hpp"

namespace hemera::poly::cpu {

template <class V>
struct EmbeddingTransform {
  using R = typename V::Register;
  static constexpr std::size_t width = V::width;
  static constexpr int log_width = width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3;

  struct Complex {
    R real;
    R imaginary;
  };

  static void forward_butterfly(Complex& a, Complex& b, const Complex& root) {
    const R real = V::subtract(V::multiply(b.real, root.real), V::multiply(b.imaginary, root.imaginary));
    const R imaginary = V::add(V::multiply(b.real, root.imaginary), V::multiply(b.imaginary, root.real));
    b.real = V::subtract(a.real, real);
    b.imaginary = V::subtract(a.imaginary, imaginary);
    a.real = V::add(a.real, real);
    a.imaginary = V::add(a.imaginary, imaginary);
  }

  static void inverse_butterfly(Complex& a, Complex& b, const Complex& root) {
    const R real = V::subtract(a.real, b.real);
    const R imaginary = V::subtract(a.imaginary, b.imaginary);
    a.real = V::add(a.real, b.real);
    a.imaginary = V::add(a.imaginary, b.imaginary);
    b.real = V::add(V::multiply(real, root.real), V::multiply(imaginary, root.imaginary));
    b.imaginary = V::subtract(V::multiply(imaginary, root.real), V::multiply(real, root.imaginary));
  }

  // `levels` levels on the 2^levels values x; root(level, block) is the one of a block of that level.
  template <int levels, class Root>
  static void forward_tree(Complex (&x)[std::size_t{1} << levels], const Root& root) {
#pragma GCC unroll 3
    for (int level = 0; level < levels; ++level) {
      const std::size_t half = std::size_t{1} << (levels - level - 1);
      const std::size_t blocks = std::size_t{1} << level;
#pragma GCC unroll 4
      for (std::size_t block = 0; block < blocks; ++block) {
#pragma GCC unroll 4
        for (std::size_t i = 0; i < half; ++i) {
          forward_butterfly(x[2 * half * block + i], x[2 * half * block + i + half], root(level, block));
        }
      }
    }
  }

  template <int levels, class Root>
  static void inverse_tree(Complex (&x)[std::size_t{1} << levels], const Root& root) {
#pragma GCC unroll 3
    for (int level = levels - 1; level >= 0; --level) {
      const std::size_t half = std::size_t{1} << (levels - level - 1);
      const std::size_t blocks = std::size_t{1} << level;
#pragma GCC unroll 4
      for (std::size_t block = 0; block < blocks; ++block) {
#pragma GCC unroll 4
        for (std::size_t i = 0; i < half; ++i) {
          inverse_butterfly(x[2 * half * block + i], x[2 * half * block + i + half], root(level, block));
        }
      }
    }
  }

  // `levels` levels of the block `node` on columns [begin, end): the values at column + k step, k < 2^levels.
  template <int levels, bool forward>
  static void pass(double* real, double* imaginary, std::size_t step, std::size_t begin, std::size_t end,
                   const double* roots, std::size_t node) {
    constexpr std::size_t points = std::size_t{1} << levels;
    Complex root[points];
#pragma GCC unroll 3
    for (int level = 0; level < levels; ++level) {
      const std::size_t blocks = std::size_t{1} << level;
#pragma GCC unroll 4
      for (std::size_t block = 0; block < blocks; ++block) {
        const double* value = roots + 2 * (node * blocks + block);
        root[blocks + block] = {V::broadcast(value[0]), V::broadcast(value[1])};
      }
    }
    const auto root_of = [&](int level, std::size_t block) -> const Complex& {
      return root[(std::size_t{1} << level) + block];
    };
    for (std::size_t column = begin; column < end; column += width) {
      Complex x[points];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < points; ++k) {
        x[k] = {V::load(real + k * step + column), V::load(imaginary + k * step + column)};
      }
      if constexpr (forward) {
        forward_tree<levels>(x, root_of);
      } else {
        inverse_tree<levels>(x, root_of);
      }
#pragma GCC unroll 8
      for (std::size_t k = 0; k < points; ++k) {
        V::store(real + k * step + column, x[k].real);
        V::store(imaginary + k * step + column, x[k].imaginary);
      }
    }
  }

  // One pass over all `blocks` blocks of a level, the first of which is `node`.
  template <int levels, bool forward>
  static void level_pass(double* real, double* imaginary, std::size_t length, std::size_t blocks,
                         const double* roots, std::size_t node) {
    const std::size_t step = length >> levels;
    for (std::size_t block = 0; block < blocks; ++block) {
      pass<levels, forward>(real + block * length, imaginary + block * length, step, 0, step, roots,
                            node + block);
    }
  }

  template <bool forward>
  static void level_passes(double* real, double* imaginary, std::size_t length, std::size_t blocks,
                           int levels, const double* roots, std::size_t node) {
    switch (levels) {
      case 1:
        return level_pass<1, forward>(real, imaginary, length, blocks, roots, node);
      case 2:
        return level_pass<2, forward>(real, imaginary, length, blocks, roots, node);
      default:
        if constexpr (V::max_levels >= 3)
          level_pass<3, forward>(real, imaginary, length, blocks, roots, node);
    }
  }

  static void forward_top(double* real, double* imaginary, std::size_t n, std::size_t begin, std::size_t end,
                          const double* roots) {
    pass<V::max_levels, true>(real, imaginary, n >> V::max_levels, begin, end, roots, 1);
  }

  static void inverse_top(double* real, double* imaginary, std::size_t n, std::size_t begin, std::size_t end,
                          const double* roots) {
    pass<V::max_levels, false>(real, imaginary, n >> V::max_levels, begin, end, roots, 1);
  }

  static void forward_block(double* real, double* imaginary, std::size_t length, int levels,
                            const double* roots, std::size_t node) {
    std::size_t blocks = 1;
    while (levels > 0) {
      const int merged = levels % V::max_levels == 0 ? V::max_levels : levels % V::max_levels;
      level_passes<true>(real, imaginary, length, blocks, merged, roots, node);
      levels -= merged;
      length >>= merged;
      blocks <<= merged;
      node <<= merged;
    }
  }

  static void inverse_block(double* real, double* imaginary, std::size_t length, int levels,
                            const double* roots, std::size_t node) {
    length >>= levels;
    node <<= levels;
    std::size_t blocks = std::size_t{1} << levels;
    while (levels > 0) {
      const int merged = levels < V::max_levels ? levels : V::max_levels;
      levels -= merged;
      length <<= merged;
      blocks >>= merged;
      node >>= merged;
      level_passes<false>(real, imaginary, length, blocks, merged, roots, node);
    }
  }

  static constexpr std::size_t reverse(std::size_t value, int bits) {
    value = ((value >> 1) & 0x55555555) | ((value & 0x55555555) << 1);
    value = ((value >> 2) & 0x33333333) | ((value & 0x33333333) << 2);
    value = ((value >> 4) & 0x0f0f0f0f) | ((value & 0x0f0f0f0f) << 4);
    value = ((value >> 8) & 0x00ff00ff) | ((value & 0x00ff00ff) << 8);
    value = ((value >> 16) & 0x0000ffff) | ((value & 0x0000ffff) << 16);
    return value >> (32 - bits);
  }

  static constexpr int log2(std::size_t n) {
    int bits = 0;
    while (n >> (bits + 1) != 0) ++bits;
    return bits;
  }

  // Leaves. With log2(w) = k, position p of the tree has the bits (h: k, m, l: k), slot reverse(p) has
  // (reverse(l), reverse(m), reverse(h)). The tile of one m is a square of w rows h and w columns l; after
  // transposition the registers are the columns l and the lanes reverse(h), so the k last levels work across
  // registers, with a vector of roots, and slots come out in contiguous runs.
  static auto leaf_root(const double* leaf, std::size_t tile) {
    const double* base = leaf + 2 * width * (width - 1) * tile;
    return [base](int level, std::size_t block) -> Complex {
      const double* value = base + 2 * width * ((std::size_t{1} << level) - 1 + block);
      return {V::load(value), V::load(value + width)};
    };
  }

  static void forward_leaf(double* slots, const double* real, const double* imaginary, std::size_t n,
                           std::size_t begin, std::size_t end, const double* leaf) {
    const int middle_bits = log2(n) - 2 * log_width;
    for (std::size_t tile = begin; tile < end; ++tile) {
      Complex x[width];
      R square[width];
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < width; ++lane) {
        square[lane] = V::load(real + (reverse(lane, log_width) * (n / width) + tile * width));
      }
      V::transpose(square);
#pragma GCC unroll 8
      for (std::size_t column = 0; column < width; ++column) x[column].real = square[column];
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < width; ++lane) {
        square[lane] = V::load(imaginary + (reverse(lane, log_width) * (n / width) + tile * width));
      }
      V::transpose(square);
#pragma GCC unroll 8
      for (std::size_t column = 0; column < width; ++column) x[column].imaginary = square[column];
      forward_tree<log_width>(x, leaf_root(leaf, tile));
      double* out = slots + 2 * width * reverse(tile, middle_bits);
#pragma GCC unroll 8
      for (std::size_t column = 0; column < width; ++column) {
        V::store_complex(out + 2 * (n / width) * reverse(column, log_width), x[column].real,
                         x[column].imaginary);
      }
    }
  }

  static void inverse_leaf(double* real, double* imaginary, const double* slots, std::size_t n,
                           std::size_t begin, std::size_t end, const double* leaf) {
    const int middle_bits = log2(n) - 2 * log_width;
    for (std::size_t tile = begin; tile < end; ++tile) {
      Complex x[width];
      R square[width];
      const double* in = slots + 2 * width * reverse(tile, middle_bits);
#pragma GCC unroll 8
      for (std::size_t column = 0; column < width; ++column) {
        V::load_complex(in + 2 * (n / width) * reverse(column, log_width), x[column].real,
                        x[column].imaginary);
      }
      inverse_tree<log_width>(x, leaf_root(leaf, tile));
#pragma GCC unroll 8
      for (std::size_t column = 0; column < width; ++column) square[column] = x[column].real;
      V::transpose(square);
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < width; ++lane) {
        V::store(real + (reverse(lane, log_width) * (n / width) + tile * width), square[lane]);
      }
#pragma GCC unroll 8
      for (std::size_t column = 0; column < width; ++column) square[column] = x[column].imaginary;
      V::transpose(square);
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < width; ++lane) {
        V::store(imaginary + (reverse(lane, log_width) * (n / width) + tile * width), square[lane]);
      }
    }
  }

  /// The table of these transforms, with the scalar kernels for the rest.
  static EmbeddingKernels table(const char* name) {
    return {.name = name,
            .log_width = log_width,
            .top_levels = V::max_levels,
            .word_bits = 64,
            .forward_top = forward_top,
            .forward_block = forward_block,
            .forward_leaf = forward_leaf,
            .inverse_leaf = inverse_leaf,
            .inverse_block = inverse_block,
            .inverse_top = inverse_top,
            .largest = largest_scalar,
            .round_scaled = round_scaled_scalar,
            .reduce = reduce_scalar,
            .center = center_scalar};
  }
};

}  // namespace hemera::poly::cpu
