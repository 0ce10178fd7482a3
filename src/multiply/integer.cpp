#include "hemera/multiply/integer.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "multiply/inert_tables.hpp"
#include "multiply/integer_product.hpp"

namespace hemera::multiply {
namespace {

using Word = std::uint64_t;

constexpr std::size_t max_primes = 4;
// Below this many words of the smaller factor, N^2 products are faster.
constexpr std::size_t schoolbook_words = 48;

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
  std::shared_ptr<runtime::Memory> memory = runtime::make_host_memory();
  std::vector<InertPrime> primes = make_inert_primes(max_primes);
  std::vector<std::unique_ptr<const InertTwiddles>> twiddles;
  RemainderConstants remainders;

  State() {
    for (const InertPrime& prime : primes) {
      twiddles.push_back(std::make_unique<const InertTwiddles>(prime, kernels, memory));
      const std::uint64_t p = prime.modulus.value();
      auto& row = remainders.inverses.emplace_back();
      for (const arith::Modulus& lower : remainders.moduli) {
        row.emplace_back(arith::inverse(lower.value() % p, p), prime.modulus);
      }
      remainders.moduli.push_back(prime.modulus);
    }
  }

  void multiply(const IntegerProductPlan& plan, Wrapping wrapping, IntegerOutputs out, IntegerFactors a,
                IntegerFactors b, runtime::ThreadPool& pool) const {
    const auto count = static_cast<std::size_t>(plan.primes);
    std::vector<InertTwiddles::Tables> tables(count);
    pool.parallel_for(count, [&](std::size_t t) { tables[t] = twiddles[t]->get(plan.length / inert_pair); });
    runtime::Buffer scratch(memory, plan.bytes);
    const bool square = std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
      return x.data() == y.data() && x.size() == y.size();
    });
    IntegerProduct(plan, wrapping, a.size(), b.size(), square, kernels, std::move(tables), remainders,
                   reinterpret_cast<Word*>(scratch.data()), pool)
        .run(out, a, b);
  }
};

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
    state_->multiply(plan_integer_product(bits(a), bits(b)), Wrapping::none, {&low, 1}, {&a, 1}, {&b, 1},
                     pool);
  }
}

void IntegerMultiplier::tensor_product_modulo(std::span<const std::span<Word>> out,
                                              std::span<const std::span<const Word>> a,
                                              std::span<const std::span<const Word>> b, std::size_t exponent,
                                              runtime::ThreadPool& pool) const {
  if (a.empty() || b.empty() || out.size() != a.size() + b.size() - 1) {
    throw MismatchError("a product of " + std::to_string(a.size()) + " by " + std::to_string(b.size()) +
                        " integers into " + std::to_string(out.size()) +
                        "; the product has one integer less than both factors");
  }
  const IntegerProductPlan plan = plan_product_modulo_exactly(exponent, a.size(), b.size());
  const std::size_t words = exponent / 64 + 1;
  const auto check_size = [&](std::size_t size) {
    if (size != words) {
      throw MismatchError("an integer modulo 2^" + std::to_string(exponent) + " + 1 has " +
                          std::to_string(words) + " words, not " + std::to_string(size));
    }
  };
  for (const auto& each : out) check_size(each.size());
  for (const auto& factor : {a, b}) {
    for (const auto& each : factor) {
      check_size(each.size());
      if (each.back() > 1 || (each.back() == 1 && trimmed(each.first(words - 1)).size() != 0)) {
        throw ParameterError("an integer is above 2^" + std::to_string(exponent) + "; reduce it modulo 2^" +
                             std::to_string(exponent) + " + 1 first");
      }
    }
  }
  state_->multiply(plan, Wrapping::modulo, out, a, b, pool);
}

}  // namespace hemera::multiply
