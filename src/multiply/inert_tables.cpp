#include "multiply/inert_tables.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>

#include "hemera/multiply/galois_transform.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::multiply {
namespace {

using Word = std::uint64_t;

constexpr std::size_t lanes = inert_lanes;

// The words of a twiddle, `step` words apart.
void set_twiddle(Word* at, std::size_t step, const Gaussian& w, const arith::Modulus& p,
                 InertFactorForm form) {
  switch (form) {
    case InertFactorForm::quotients52: {
      const arith::ShoupFactor cosine(w.re, p), sine(w.im, p);
      at[0] = cosine.operand;
      at[step] = cosine.quotient >> 12;
      at[2 * step] = sine.operand;
      at[3 * step] = sine.quotient >> 12;
      break;
    }
    case InertFactorForm::doubles: {
      const auto centered = [&](Word x) {
        const auto residue =
            static_cast<std::int64_t>(x) - static_cast<std::int64_t>(x > p.value() / 2 ? p.value() : 0);
        return std::bit_cast<Word>(static_cast<double>(residue));
      };
      at[0] = centered(w.re);
      at[step] = centered(p.add(w.re, w.im));
      at[2 * step] = centered(p.subtract(w.im, w.re));
      break;
    }
  }
}

Word* words_of(runtime::Buffer& table) { return reinterpret_cast<Word*>(table.data()); }
const Word* words_of(const runtime::Buffer& table) { return reinterpret_cast<const Word*>(table.data()); }

std::uint64_t reversed_lane(std::size_t lane) { return arith::reverse_bits(lane, 3); }

}  // namespace

const InertKernels& select_inert_kernels() {
#if defined(HEMERA_X86_KERNELS)
  const std::string_view set = poly::cpu::select_kernels(std::getenv("HEMERA_ISA")).name;
  if (set == "avx512") return avx512_inert_kernels();
  if (set == "avx2") return avx2_inert_kernels();
#endif
  return portable_inert_kernels();
}

InertPrime make_inert_prime(const arith::Modulus& p, int log_order) {
  InertPrime prime{p, {}};
  prime.roots[log_order] = inert_root(std::size_t{1} << (log_order - 1), p);
  for (int j = log_order; j > 0; --j) prime.roots[j - 1] = multiply(prime.roots[j], prime.roots[j], p);
  return prime;
}

std::vector<InertPrime> make_inert_primes(std::size_t count) {
  std::vector<InertPrime> primes;
  std::uint64_t bound = std::uint64_t{1} << 48;
  while (primes.size() < count) {
    bound = inert_prime_below(bound, std::size_t{1} << 32);
    if ((bound + 1) % (std::uint64_t{1} << inert_log_order) != 0) continue;
    primes.push_back(make_inert_prime(arith::Modulus(bound), inert_log_order));
  }
  return primes;
}

std::shared_ptr<InertTwiddles::Table> InertTwiddles::make_table(std::size_t words) const {
  return std::make_shared<Table>(memory_, words * sizeof(Word));
}

// Block k of level l has the root e(angle), angle = (1/4 + reverse_bits(k)) / 2^l; a stage of it needs the
// square root w = e(angle / 2), two stages v = e(angle / 4), v^2 = w and v^3. Blocks of lane level m are k =
// lane 2^m + k'.
std::shared_ptr<const InertTwiddles::Table> InertTwiddles::make_levels(int log_pairs) const {
  const int parity = log_pairs & 1;
  // Levels parity, parity + 2, ..., log_pairs - 2.
  const std::size_t entry = inert_entry(kernels_.form);
  const auto table = make_table(entry * inert_entry_at(log_pairs, 0));
  Word* const entries = words_of(*table);
  // The first level, from an entry whose v is 1: v = e((1 + 4 reverse(lane) + 32 k') / 2^(7 + m)).
  std::vector<Word> unit(entry), units(4 * inert_pair), made(4 * entry);
  for (std::size_t l = 0; l < lanes; ++l) {
    set_twiddle(unit.data() + l, lanes, {1, 0}, prime_.modulus, kernels_.form);
  }
  const auto set_units = [&](int log_denominator, const auto& numerator) {
    for (std::size_t part = 0; part < 4; ++part) {
      for (std::size_t l = 0; l < lanes; ++l) {
        const Gaussian w = prime_.unit(numerator(part, reversed_lane(l)), log_denominator);
        units[inert_pair * part + l] = w.re;
        units[inert_pair * part + lanes + l] = w.im;
      }
    }
  };
  set_units(7 + parity, [](Word part, Word lane) { return 1 + 4 * lane + 32 * part; });
  kernels_.next_level(made.data(), unit.data(), 1, units.data(), prime_.modulus);
  std::copy_n(made.data(), entry << parity, entries + entry * inert_entry_at(parity, 0));
  // Two bits c_1 c_2 put before k' turn v by e((32 c_1 + 64 c_2 - 3 - 12 reverse(lane)) / 2^(9 + m)).
  for (int level = parity; level + 4 <= log_pairs; level += 2) {
    set_units(9 + level,
              [](Word part, Word lane) { return 32 * (part >> 1) + 64 * (part & 1) - 3 - 12 * lane; });
    kernels_.next_level(entries + entry * inert_entry_at(level + 2, 0),
                        entries + entry * inert_entry_at(level, 0), std::size_t{1} << level, units.data(),
                        prime_.modulus);
  }
  return table;
}

std::shared_ptr<const InertTwiddles::Table> InertTwiddles::make_first() const {
  const auto table = make_table(inert_first_words);
  Word* const words = words_of(*table);
  const arith::Modulus& p = prime_.modulus;
  set_twiddle(words, 1, prime_.unit(1, 3), p, kernels_.form);
  for (std::size_t block = 0; block < 2; ++block) {
    for (Word power = 1; power <= 3; ++power) {
      set_twiddle(words + 4 * (3 * block + power), 1, prime_.unit(power * (1 + 4 * block), 5), p,
                  kernels_.form);
    }
  }
  for (std::size_t l = 0; l < lanes; ++l) {
    set_twiddle(words + 32 + l, lanes, prime_.unit(1 + 4 * reversed_lane(l), 6), p, kernels_.form);
  }
  return table;
}

InertTwiddles::Tables InertTwiddles::get(std::size_t pairs) const {
  const int log_pairs = static_cast<int>(std::bit_width(pairs)) - 1;
  const int parity = log_pairs & 1;
  const std::lock_guard lock(mutex_);
  if (log_pairs_[parity] < log_pairs) {
    levels_[parity] = make_levels(log_pairs);
    log_pairs_[parity] = log_pairs;
  }
  if (!first_) first_ = make_first();
  const arith::Modulus& p = prime_.modulus;
  const arith::ShoupFactor inverse_length(arith::inverse(inert_lanes * pairs, p.value()), p);
  return {levels_[parity],
          first_,
          {&prime_, words_of(*levels_[parity]), words_of(*first_), pairs, inverse_length}};
}

}  // namespace hemera::multiply
