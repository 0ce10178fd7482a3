#include "hemera/multiply/integer.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "multiply/digits.hpp"
#include "multiply/inert_tables.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::multiply {
namespace {

using Word = std::uint64_t;

constexpr std::size_t max_primes = 4;
// Pairs of the blocks that are transformed forward, multiplied and transformed back while they are in the
// cache.
constexpr std::size_t block_pairs = 1024;
// Below this many words of the smaller factor, N^2 products are faster.
constexpr std::size_t schoolbook_words = 48;

const InertKernels& select_inert_kernels() {
#if defined(HEMERA_X86_KERNELS)
  if (poly::cpu::select_kernels(std::getenv("HEMERA_ISA")).name == std::string_view("avx512")) {
    return avx512_inert_kernels();
  }
#endif
  return portable_inert_kernels();
}

std::span<const Word> trimmed(std::span<const Word> a) {
  while (!a.empty() && a.back() == 0) a = a.first(a.size() - 1);
  return a;
}

std::size_t bits(std::span<const Word> a) {
  return a.empty() ? 0 : 64 * (a.size() - 1) + static_cast<std::size_t>(std::bit_width(a.back()));
}

void multiply_schoolbook(std::span<Word> out, std::span<const Word> a, std::span<const Word> b) {
  std::fill(out.begin(), out.end(), 0);
  for (std::size_t i = 0; i < b.size(); ++i) {
    Word carry = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
      const arith::uint128 sum = static_cast<arith::uint128>(a[j]) * b[i] + out[i + j] + carry;
      out[i + j] = static_cast<Word>(sum);
      carry = static_cast<Word>(sum >> 64);
    }
    out[i + a.size()] = carry;
  }
}

}  // namespace

struct IntegerMultiplier::State {
  const InertKernels& kernels = select_inert_kernels();
  std::vector<InertPrime> primes = make_inert_primes(max_primes);
  std::vector<std::unique_ptr<const InertTwiddles>> twiddles;
  std::vector<arith::Modulus> moduli;
  std::vector<std::vector<arith::ShoupFactor>> inverses;  // [i][j]: p_j^-1 modulo p_i, j < i
  std::shared_ptr<runtime::Memory> memory = runtime::make_host_memory();

  State() {
    for (const InertPrime& prime : primes) {
      twiddles.push_back(std::make_unique<const InertTwiddles>(prime, kernels, memory));
      auto& row = inverses.emplace_back();
      for (const arith::Modulus& lower : moduli) {
        row.emplace_back(arith::inverse(lower.value() % prime.modulus.value(), prime.modulus.value()),
                         prime.modulus);
      }
      moduli.push_back(prime.modulus);
    }
  }

  void multiply(std::span<Word> out, std::span<const Word> a, std::span<const Word> b,
                runtime::ThreadPool& pool) const;
};

namespace {

// One product: arrays of values and the passes over them.
class Product {
 public:
  Product(const IntegerProductPlan& plan, const InertKernels& kernels,
          std::vector<InertTwiddles::Tables> tables, Word* scratch, runtime::ThreadPool& pool, bool square)
      : kernels_(kernels),
        tables_(std::move(tables)),
        pool_(pool),
        length_(plan.length),
        pairs_(plan.length / inert_pair),
        operands_(square ? 1 : 2) {
    for (std::size_t i = 0; i < 2; ++i) digits_[i] = take(scratch);
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      for (std::size_t i = 0; i < 2; ++i) values_[t][i] = take(scratch);
    }
    // The large passes, each on whole arrays, until blocks are small enough.
    std::size_t pairs = pairs_;
    while (pairs > block_pairs) {
      passes_.push_back({level_, pairs});
      const int stages = level_ == 0 && (std::countr_zero(pairs_) & 1) != 0 ? 3 : 2;
      level_ += stages;
      pairs >>= stages;
      passes_.back().part = pairs;
    }
    block_ = pairs;
  }

  void split(std::size_t operand, std::span<const Word> integer, int digit_bits) {
    constexpr std::size_t chunk = 1 << 13;
    pool_.parallel_for((length_ + chunk - 1) / chunk, [&](std::size_t c) {
      split_digits(digits_[operand] + c * chunk, integer, digit_bits, c * chunk,
                   std::min(chunk, length_ - c * chunk));
    });
  }

  // Residues of the coefficients, [prime] rows in natural order.
  void convolve() {
    const std::size_t n = tables_.size();
    for_columns(n * operands_, pairs_, [&](std::size_t row, std::size_t first, std::size_t count) {
      const std::size_t t = row / operands_, i = row % operands_;
      kernels_.forward_sweep(values_[t][i], digits_[i], tables_[t].view, first, count);
    });
    for (const Pass& pass : passes_) {
      run_pass(pass, operands_, kernels_.forward_pass);
    }
    pool_.parallel_for(n * (pairs_ / block_), [&](std::size_t index) {
      const std::size_t t = index / (pairs_ / block_), block = index % (pairs_ / block_);
      const std::size_t at = inert_pair * block_ * block;
      const InertTables& tables = tables_[t].view;
      for (std::size_t i = 0; i < operands_; ++i) {
        kernels_.forward_block(values_[t][i] + at, level_, block, block_, tables);
      }
      kernels_.multiply(values_[t][0] + at, values_[t][operands_ - 1] + at, block_, tables);
      kernels_.inverse_block(values_[t][0] + at, level_, block, block_, tables);
    });
    for (auto pass = passes_.rbegin(); pass != passes_.rend(); ++pass) {
      run_pass(*pass, 1, kernels_.inverse_pass);
    }
    for_columns(n, pairs_, [&](std::size_t t, std::size_t first, std::size_t count) {
      kernels_.inverse_sweep(values_[t][1], values_[t][0], tables_[t].view, first, count);
    });
  }

  // Residues to the integer.
  void recombine(std::span<Word> out, int digit_bits, const arith::Modulus* primes,
                 const arith::ShoupFactor* const* inverses) {
    constexpr std::size_t chunk = 1 << 12;
    const std::size_t chunk_words = chunk / 64 * static_cast<std::size_t>(digit_bits);
    const std::size_t chunks = (out.size() + chunk_words - 1) / chunk_words;
    std::vector<Carry> carries(chunks);
    pool_.parallel_for(chunks, [&](std::size_t c) {
      Word* rows[max_primes];
      const std::size_t first = std::min(length_, c * chunk);
      const std::size_t count = std::min(chunk, length_ - first);
      for (std::size_t t = 0; t < tables_.size(); ++t) rows[t] = values_[t][1] + first;
      kernels_.mixed_radix(rows, primes, inverses, tables_.size(), count);
      carries[c] =
          add_coefficients(out.subspan(c * chunk_words, std::min(chunk_words, out.size() - c * chunk_words)),
                           rows, primes, tables_.size(), count, digit_bits);
    });
    for (std::size_t c = 0; c + 1 < chunks; ++c) add_carry(out.subspan((c + 1) * chunk_words), carries[c]);
  }

 private:
  // Lane level, pairs of a block before it, and of a part after it.
  struct Pass {
    int level;
    std::size_t length;
    std::size_t part = 0;
  };
  using PassKernel = void (*)(Word*, int, std::size_t, std::size_t, std::size_t, std::size_t,
                              const InertTables&);

  Word* take(Word*& scratch) const {
    Word* const taken = scratch;
    scratch += length_;
    return taken;
  }

  // body(row, first column, columns) for all columns of all rows.
  template <typename Body>
  void for_columns(std::size_t rows, std::size_t columns, const Body& body) {
    const std::size_t chunk = std::min<std::size_t>(columns, 512);
    const std::size_t chunks = columns / chunk;
    pool_.parallel_for(rows * chunks,
                       [&](std::size_t index) { body(index / chunks, index % chunks * chunk, chunk); });
  }

  void run_pass(const Pass& pass, std::size_t operands, PassKernel kernel) {
    const std::size_t blocks = pairs_ / pass.length;
    for_columns(tables_.size() * operands * blocks, pass.part,
                [&](std::size_t row, std::size_t first, std::size_t count) {
                  const std::size_t block = row % blocks, t = row / blocks / operands,
                                    i = row / blocks % operands;
                  kernel(values_[t][i] + inert_pair * pass.length * block, pass.level, block, pass.length,
                         first, count, tables_[t].view);
                });
  }

  const InertKernels& kernels_;
  std::vector<InertTwiddles::Tables> tables_;
  runtime::ThreadPool& pool_;
  std::size_t length_;
  std::size_t pairs_;
  std::size_t operands_;
  Word* digits_[2] = {};
  Word* values_[max_primes][2] = {};
  std::vector<Pass> passes_;
  int level_ = 0;  // of the blocks after all passes
  std::size_t block_ = 0;
};

}  // namespace

void IntegerMultiplier::State::multiply(std::span<Word> out, std::span<const Word> a, std::span<const Word> b,
                                        runtime::ThreadPool& pool) const {
  const IntegerProductPlan plan = plan_integer_product(bits(a), bits(b));
  const auto count = static_cast<std::size_t>(plan.primes);
  std::vector<InertTwiddles::Tables> tables(count);
  pool.parallel_for(count, [&](std::size_t t) { tables[t] = twiddles[t]->get(plan.length / inert_pair); });
  runtime::Buffer scratch(memory, plan.bytes);
  const bool square = a.data() == b.data() && a.size() == b.size();
  Product product(plan, kernels, std::move(tables), reinterpret_cast<Word*>(scratch.data()), pool, square);
  product.split(0, a, plan.digit_bits);
  if (!square) product.split(1, b, plan.digit_bits);
  product.convolve();
  const arith::ShoupFactor* rows[max_primes];
  for (std::size_t i = 0; i < max_primes; ++i) rows[i] = inverses[i].data();
  product.recombine(out, plan.digit_bits, moduli.data(), rows);
}

IntegerMultiplier::IntegerMultiplier() : state_(std::make_unique<State>()) {}
IntegerMultiplier::~IntegerMultiplier() = default;

void IntegerMultiplier::multiply(std::span<Word> out, std::span<const Word> a, std::span<const Word> b,
                                 runtime::ThreadPool& pool) const {
  if (out.size() != a.size() + b.size()) {
    throw MismatchError("the product of integers of " + std::to_string(a.size()) + " and " +
                        std::to_string(b.size()) + " words needs " + std::to_string(a.size() + b.size()) +
                        " words, not " + std::to_string(out.size()));
  }
  const auto overlaps = [&](std::span<const Word> in) {
    return std::less<>()(in.data(), out.data() + out.size()) &&
           std::less<>()(out.data(), in.data() + in.size());
  };
  if (overlaps(a) || overlaps(b)) {
    throw MismatchError("the product overlaps a factor; write it to memory of its own");
  }
  a = trimmed(a);
  b = trimmed(b);
  const std::span<Word> low = out.first(a.size() + b.size());
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(low.size()), out.end(), 0);
  if (std::min(a.size(), b.size()) < schoolbook_words) {
    multiply_schoolbook(low, a, b);
  } else {
    state_->multiply(low, a, b, pool);
  }
}

}  // namespace hemera::multiply
