// The kernels of each instruction set, one limb at a time on one thread.
//
// Names: kernel/instruction set/log2 N/bits of the modulus[/terms]. Times are of one limb of N words.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu {
namespace {

// One modulus with its tables, and rows of random residues.
class Limb {
 public:
  Limb(int log_degree, int bits, std::size_t rows)
      : degree_(std::size_t{1} << log_degree),
        modulus_(arith::primes_below(std::uint64_t{1} << bits, 2 * degree_, 1).at(0)),
        tables_(make_limb_tables({modulus_, arith::minimal_primitive_root(2 * degree_, modulus_)}, degree_)),
        buffer_(runtime::make_host_memory(), rows * degree_ * sizeof(std::uint64_t)) {
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t n = 0; n < degree_; ++n) row(i)[n] = random() % modulus_.value();
    }
  }

  [[nodiscard]] std::size_t degree() const { return degree_; }
  [[nodiscard]] const arith::Modulus& modulus() const { return modulus_; }
  [[nodiscard]] const LimbTables& tables() const { return tables_; }
  [[nodiscard]] std::uint64_t* row(std::size_t i) {
    return reinterpret_cast<std::uint64_t*>(buffer_.data()) + i * degree_;
  }

 private:
  std::size_t degree_;
  arith::Modulus modulus_;
  LimbTables tables_;
  runtime::Buffer buffer_;
};

using Body = void (*)(benchmark::State&, const Kernels&, Limb&, std::size_t terms);

void forward_transform(benchmark::State& state, const Kernels& kernels, Limb& limb, std::size_t) {
  for (auto _ : state) kernels.forward_transform(limb.row(0), limb.row(0), limb.tables());
}

void inverse_transform(benchmark::State& state, const Kernels& kernels, Limb& limb, std::size_t) {
  for (auto _ : state) kernels.inverse_transform(limb.row(0), limb.row(0), limb.tables());
}

void add(benchmark::State& state, const Kernels& kernels, Limb& limb, std::size_t) {
  for (auto _ : state) kernels.add(limb.row(2), limb.row(0), limb.row(1), limb.degree(), limb.modulus());
}

void multiply(benchmark::State& state, const Kernels& kernels, Limb& limb, std::size_t) {
  for (auto _ : state) kernels.multiply(limb.row(2), limb.row(0), limb.row(1), limb.degree(), limb.modulus());
}

void multiply_scalar(benchmark::State& state, const Kernels& kernels, Limb& limb, std::size_t) {
  const arith::ShoupFactor factor(limb.modulus().value() / 3, limb.modulus());
  for (auto _ : state)
    kernels.multiply_scalar(limb.row(1), limb.row(0), factor, limb.degree(), limb.modulus());
}

void tensor_2x2(benchmark::State& state, const Kernels& kernels, Limb& limb, std::size_t) {
  for (auto _ : state) {
    kernels.tensor_2x2(limb.row(4), limb.row(5), limb.row(6), limb.row(0), limb.row(1), limb.row(2),
                       limb.row(3), limb.degree(), limb.modulus());
  }
}

void inner_product(benchmark::State& state, const Kernels& kernels, Limb& limb, std::size_t terms) {
  std::vector<const std::uint64_t*> a;
  std::vector<const std::uint64_t*> b;
  for (std::size_t i = 0; i < terms; ++i) {
    a.push_back(limb.row(1 + i));
    b.push_back(limb.row(1 + terms + i));
  }
  for (auto _ : state) {
    kernels.inner_product(limb.row(0), a.data(), b.data(), terms, limb.degree(), limb.modulus());
  }
}

// The backend's way: block by block, so that the sources come from the cache.
constexpr std::size_t block = 512;

void weighted_sum(benchmark::State& state, const Kernels& kernels, Limb& limb, std::size_t terms) {
  std::vector<const std::uint64_t*> y;
  std::vector<std::uint64_t> weights;
  for (std::size_t i = 0; i < terms; ++i) {
    y.push_back(limb.row(1 + i));
    weights.push_back(limb.modulus().value() / (i + 2));
  }
  for (auto _ : state) {
    for (std::size_t first = 0; first < limb.degree(); first += block) {
      kernels.weighted_sum(limb.row(0) + first, y.data(), weights.data(), terms, limb.modulus().value(),
                           nullptr, 0, 1, block, limb.modulus());
    }
  }
}

// packed_row_group rows at a time of `terms` columns that are packed: beside as many of weighted_sum.
void multiply_integers(benchmark::State& state, const Kernels& kernels, Limb& limb, std::size_t terms) {
  constexpr std::size_t packed_block = 32;
  std::vector<std::uint64_t> sums(packed_block);
  for (std::size_t j = 0; j < terms; ++j) {
    for (std::size_t n = 0; n < packed_block; ++n) sums[n] += limb.row(packed_row_group + j)[n];
  }
  // As many words as the block has, in its order; sums of them by column and entry.
  std::vector<std::uint64_t> words(terms * packed_block);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t tile = i / (terms * packed_tile), column = i / packed_tile % terms;
    words[i] = limb.row(packed_row_group + column)[tile * packed_tile + i % packed_tile];
  }
  std::vector<std::int32_t> weights(packed_row_group * terms);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<std::int32_t>(i * 7919 % 65536) - 32768;
  const PackedRows in{words.data(), sums.data(), terms, packed_block};
  for (auto _ : state) {
    for (std::size_t first = 0; first < limb.degree(); first += packed_block) {
      std::uint64_t* out[packed_row_group];
      for (std::size_t r = 0; r < packed_row_group; ++r) out[r] = limb.row(r) + first;
      kernels.multiply_integers(out, in, weights.data(), packed_row_group, false, limb.modulus());
    }
  }
}

void quotient(benchmark::State& state, const Kernels& kernels, Limb& limb, std::size_t terms) {
  std::vector<const std::uint64_t*> y;
  const int bits = limb.modulus().bits();
  for (std::size_t i = 0; i < terms; ++i) y.push_back(limb.row(1 + i));
  const std::vector<std::uint64_t> factors(terms, ~std::uint64_t{0} / 3 * 2);
  const std::vector<int> sizes(terms, bits);
  for (auto _ : state) {
    for (std::size_t first = 0; first < limb.degree(); first += block) {
      kernels.quotient(limb.row(0) + first, y.data(), factors.data(), sizes.data(), terms, block);
    }
  }
}

void add_benchmark(const char* name, Body body, const Kernels& kernels, int log_degree, int bits,
                   std::size_t rows, std::size_t terms) {
  std::string full =
      std::string(name) + "/" + kernels.name + "/" + std::to_string(log_degree) + "/" + std::to_string(bits);
  if (terms != 0) full += "/" + std::to_string(terms);
  benchmark::RegisterBenchmark(full.c_str(), [=, &kernels](benchmark::State& state) {
    Limb limb(log_degree, bits, rows);
    body(state, kernels, limb, terms);
  })->Unit(benchmark::kMicrosecond);
}

bool add_all() {
  for (const Kernels* kernels : available_kernels()) {
    for (const int log_degree : {12, 13, 14, 15, 16}) {
      for (const int bits : {44, 49, 50, 60}) {
        add_benchmark("forward_transform", forward_transform, *kernels, log_degree, bits, 1, 0);
        add_benchmark("inverse_transform", inverse_transform, *kernels, log_degree, bits, 1, 0);
      }
    }
    for (const int bits : {49, 60}) {
      for (const int log_degree : {13, 15}) {
        add_benchmark("add", add, *kernels, log_degree, bits, 3, 0);
        add_benchmark("multiply", multiply, *kernels, log_degree, bits, 3, 0);
        add_benchmark("multiply_scalar", multiply_scalar, *kernels, log_degree, bits, 2, 0);
        add_benchmark("tensor_2x2", tensor_2x2, *kernels, log_degree, bits, 7, 0);
        add_benchmark("multiply_integers", multiply_integers, *kernels, log_degree, bits,
                      packed_row_group + 768, 768);
        add_benchmark("weighted_sum", weighted_sum, *kernels, log_degree, bits, 1 + 768, 768);
        for (const std::size_t terms : {3, 18}) {
          add_benchmark("inner_product", inner_product, *kernels, log_degree, bits, 1 + 2 * terms, terms);
          add_benchmark("weighted_sum", weighted_sum, *kernels, log_degree, bits, 1 + terms, terms);
          add_benchmark("quotient", quotient, *kernels, log_degree, bits, 1 + terms, terms);
        }
      }
    }
  }
  return true;
}

[[maybe_unused]] const bool added = add_all();

}  // namespace
}  // namespace hemera::poly::cpu
