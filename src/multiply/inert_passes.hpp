// The passes of inert_kernels.hpp, written over an `Arithmetic` on `lanes` values at a time, four or eight:
//  - Value (re and im, a Vector each), Twiddle, Constants(modulus), and the butterflies forward2, forward4,
//    inverse2, inverse4 on them, for values in ranges of its own;
//  - load_value, store_value, load_twiddle, broadcast_twiddle; a part of a pair or of an entry is `lanes`
//  words
//    at a time;
//  - load_digits, store_residues, and load_columns and store_columns, which transpose eight rows of `lanes`
//    columns;
//  - the kernels next_level, multiply and mixed_radix; form, and entry = inert_entry(form).
#pragma once

#include <cstddef>
#include <cstdint>

#include "multiply/inert_kernels.hpp"

namespace hemera::multiply {

template <typename Arithmetic>
struct InertPasses {
  using Word = std::uint64_t;
  using Vector = typename Arithmetic::Vector;
  using Value = typename Arithmetic::Value;
  using Twiddle = typename Arithmetic::Twiddle;
  using Constants = typename Arithmetic::Constants;

  static constexpr std::size_t lanes = Arithmetic::lanes;
  static constexpr std::size_t entry = Arithmetic::entry;

  static Twiddle broadcast(const Word* t) { return Arithmetic::broadcast_twiddle(t); }

  static void forward_sweep(Word* values, const Word* digits, const InertTables& tables, std::size_t first,
                            std::size_t count) {
    const Constants k(tables.prime->modulus);
    const std::size_t pairs = tables.pairs;
    const std::size_t half = inert_lanes * pairs;
    for (std::size_t j = first; j < first + count; j += lanes) {
      Value x[8];
      for (std::size_t l = 0; l < 8; ++l) {
        x[l] = {Arithmetic::load_digits(digits + l * pairs + j, k),
                Arithmetic::load_digits(digits + half + l * pairs + j, k)};
      }
      const Word* t = Arithmetic::reloaded(tables.first);
      for (std::size_t l = 0; l < 4; ++l) Arithmetic::forward2(x[l], x[l + 4], broadcast(t), k);
      for (std::size_t part = 0; part < 2; ++part) {
        const Word* own = t + 4 + 12 * part;
        Value* y = x + 4 * part;
        Arithmetic::forward4(y[0], y[1], y[2], y[3], broadcast(own), broadcast(own + 4), broadcast(own + 8),
                             k);
      }
      Vector re[8], im[8];
      for (std::size_t l = 0; l < 8; ++l) {
        re[l] = x[l].re;
        im[l] = x[l].im;
      }
      Arithmetic::store_columns(values + inert_pair * j, re);
      Arithmetic::store_columns(values + inert_pair * j + inert_lanes, im);
    }
  }

  static void inverse_sweep(Word* out, const Word* values, const InertTables& tables, std::size_t first,
                            std::size_t count) {
    const Constants k(tables.prime->modulus);
    const std::size_t pairs = tables.pairs;
    const std::size_t half = inert_lanes * pairs;
    for (std::size_t j = first; j < first + count; j += lanes) {
      Vector re[8], im[8];
      Arithmetic::load_columns(re, values + inert_pair * j);
      Arithmetic::load_columns(im, values + inert_pair * j + inert_lanes);
      Value x[8];
      for (std::size_t l = 0; l < 8; ++l) x[l] = {re[l], im[l]};
      const Word* t = Arithmetic::reloaded(tables.first);
      for (std::size_t part = 0; part < 2; ++part) {
        const Word* own = t + 4 + 12 * part;
        Value* y = x + 4 * part;
        Arithmetic::inverse4(y[0], y[1], y[2], y[3], broadcast(own), broadcast(own + 4), broadcast(own + 8),
                             k);
      }
      for (std::size_t l = 0; l < 4; ++l) Arithmetic::inverse2(x[l], x[l + 4], broadcast(t), k);
      for (std::size_t l = 0; l < 8; ++l) {
        Arithmetic::store_residues(out + l * pairs + j, x[l].re, k);
        Arithmetic::store_residues(out + half + l * pairs + j, x[l].im, k);
      }
    }
  }

  // The radix-2 stage of lane level 0 that goes before level 1 when log2 P is odd.
  static bool starts_with_three(int level, const InertTables& tables) {
    return level == 0 && (__builtin_ctzll(tables.pairs) & 1) != 0;
  }

  // Eight rows of the stage of lane level 0 and the two of level 1, or four rows of two stages.
  template <bool inverse>
  static void three_stages(Word* at, std::size_t stride, std::size_t lane, const InertTables& tables,
                           const Constants& k) {
    Value x[8];
    for (std::size_t l = 0; l < 8; ++l) x[l] = Arithmetic::load_value(at + stride * l);
    const Twiddle w = Arithmetic::load_twiddle(tables.first + 32 + lane);
    if constexpr (!inverse) {
      for (std::size_t l = 0; l < 4; ++l) Arithmetic::forward2(x[l], x[l + 4], w, k);
    }
    for (std::size_t part = 0; part < 2; ++part) {
      four<inverse>(x + 4 * part, tables.twiddles + entry * inert_entry_at(1, part) + lane, k);
    }
    if constexpr (inverse) {
      for (std::size_t l = 0; l < 4; ++l) Arithmetic::inverse2(x[l], x[l + 4], w, k);
    }
    for (std::size_t l = 0; l < 8; ++l) Arithmetic::store_value(at + stride * l, x[l]);
  }
  template <bool inverse>
  static void two_stages(Word* at, std::size_t stride, const Word* table, const Constants& k) {
    Value x[4];
    for (std::size_t l = 0; l < 4; ++l) x[l] = Arithmetic::load_value(at + stride * l);
    four<inverse>(x, Arithmetic::reloaded(table), k);
    for (std::size_t l = 0; l < 4; ++l) Arithmetic::store_value(at + stride * l, x[l]);
  }
  template <bool inverse>
  static void four(Value* x, const Word* t, const Constants& k) {
    const Twiddle v = Arithmetic::load_twiddle(t), v2 = Arithmetic::load_twiddle(t + entry / 3),
                  v3 = Arithmetic::load_twiddle(t + 2 * (entry / 3));
    if constexpr (inverse) {
      Arithmetic::inverse4(x[0], x[1], x[2], x[3], v, v2, v3, k);
    } else {
      Arithmetic::forward4(x[0], x[1], x[2], x[3], v, v2, v3, k);
    }
  }

  // Columns [first, first + count) of one block.
  template <bool inverse>
  static void columns(Word* data, int level, std::size_t block, std::size_t length, std::size_t first,
                      std::size_t count, const InertTables& tables, const Constants& k) {
    const auto on_all = [&](const auto& stages) {
      for (std::size_t j = first; j < first + count; ++j) {
        for (std::size_t lane = 0; lane < inert_lanes; lane += lanes) {
          stages(data + inert_pair * j + lane, lane);
        }
      }
    };
    if (starts_with_three(level, tables)) {
      on_all([&](Word* at, std::size_t lane) {
        three_stages<inverse>(at, inert_pair * (length / 8), lane, tables, k);
      });
    } else {
      const Word* table = tables.twiddles + entry * inert_entry_at(level, block);
      on_all([&](Word* at, std::size_t lane) {
        two_stages<inverse>(at, inert_pair * (length / 4), table + lane, k);
      });
    }
  }
  template <bool inverse>
  static void pass(Word* data, int level, std::size_t block, std::size_t length, std::size_t first,
                   std::size_t count, const InertTables& tables) {
    columns<inverse>(data, level, block, length, first, count, tables, Constants(tables.prime->modulus));
  }

  // All passes from `level` on, on `count` neighbouring blocks; as a whole if they fit half the first-level
  // cache.
  template <bool inverse>
  static void levels(Word* data, int level, std::size_t block, std::size_t count, std::size_t length,
                     const InertTables& tables, const Constants& k) {
    const int stages = starts_with_three(level, tables) ? 3 : 2;
    const std::size_t part = length >> stages;
    const auto here = [&] {
      for (std::size_t b = 0; b < count; ++b) {
        columns<inverse>(data + inert_pair * length * b, level, block + b, length, 0, part, tables, k);
      }
    };
    const auto below = [&] {
      if (part == 1) return;
      const std::size_t parts = count << stages;
      const std::size_t together = part * parts <= 128 ? parts : 1;
      for (std::size_t b = 0; b < parts; b += together) {
        levels<inverse>(data + inert_pair * part * b, level + stages, (block << stages) + b, together, part,
                        tables, k);
      }
    };
    if constexpr (inverse) {
      below();
      here();
    } else {
      here();
      below();
    }
  }
  template <bool inverse>
  static void blocks(Word* data, int level, std::size_t block, std::size_t length,
                     const InertTables& tables) {
    levels<inverse>(data, level, block, 1, length, tables, Constants(tables.prime->modulus));
  }

  static constexpr InertKernels table(const char* name) {
    return {name,
            Arithmetic::form,
            Arithmetic::next_level,
            forward_sweep,
            pass<false>,
            pass<true>,
            blocks<false>,
            blocks<true>,
            Arithmetic::multiply,
            inverse_sweep,
            Arithmetic::mixed_radix};
  }
};

}  // namespace hemera::multiply
