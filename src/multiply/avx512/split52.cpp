// The split form of the discrete Galois transform for primes below 2^50, with 52-bit multiplies.
#include <algorithm>
#include <bit>
#include <vector>

#include "multiply/avx512/split52_passes.hpp"
#include "multiply/diagonal.hpp"
#include "multiply/galois_avx512.hpp"

namespace hemera::multiply {
namespace {

using namespace split52;

class Avx512Split final : public GaloisTransform {
 public:
  Avx512Split(std::size_t degree, const Modulus& p, Word psi)
      : p_(p),
        pairs_(degree / pair),
        weights_(pairs_),
        inverse_weights_(pairs_),
        first_(4),
        inverse_first_(4),
        twiddles_(degree / 2),
        inverse_twiddles_(degree / 2) {
    const std::size_t half = degree / 2;
    const Gaussian h = split_root(degree, psi, p);
    const Word scale = arith::inverse(half, p.value());
    Gaussian weight{1, 0};
    for (std::size_t j = 0; j < half; ++j) {
      weights_.set(j, weight, p);
      inverse_weights_.set(j, {p.multiply(weight.re, scale), p.negate(p.multiply(weight.im, scale))}, p);
      weight = multiply::multiply(weight, h, p);
    }
    // Block k of any level has the factor omega^reverse_bits(k), omega of order N/2, k < N/4.
    const ShoupFactor omega(p.power(psi, 4), p);
    std::vector<Word> powers(half);
    powers[0] = 1;
    for (std::size_t j = 1; j < half; ++j) powers[j] = arith::multiply(powers[j - 1], omega, p.value());
    const int log = static_cast<int>(std::bit_width(half)) - 2;
    const auto set = [&](Factors& factors, Factors& inverses, std::size_t index, std::size_t k) {
      const std::size_t exponent = arith::reverse_bits(k, log);
      factors.set(index, powers[exponent], p);
      inverses.set(index, powers[(half - exponent) % half], p);
    };
    for (std::size_t k = 0; k < 4; ++k) set(first_, inverse_first_, k, k);
    for (std::size_t blocks = 1; blocks < pairs_; blocks *= 2) {
      for (std::size_t k = 0; k < blocks; ++k) {
        for (std::size_t l = 0; l < lanes; ++l) {
          set(twiddles_, inverse_twiddles_, lanes * (blocks + k) + l, l * blocks + k);
        }
      }
    }
    // Passes of three stages, and up to two of two stages last.
    const int levels = static_cast<int>(std::bit_width(pairs_)) - 1;
    const int twos = (3 - levels % 3) % 3;
    for (int left = levels - 2 * twos; left > 0; left -= 3) stages_.push_back(3);
    for (int i = 0; i < twos; ++i) stages_.push_back(2);
  }

  [[nodiscard]] Form form() const override { return Form::split; }
  [[nodiscard]] std::size_t degree() const override { return pair * pairs_; }
  [[nodiscard]] const Modulus& modulus() const override { return p_; }

  void forward(Word* values, const Word* coefficients) const override {
    if (p_.bits() == 50) {
      run_forward<2>(values, coefficients);
    } else {
      run_forward<3>(values, coefficients);
    }
  }

  void inverse(Word* coefficients, Word* values) const override {
    if (p_.bits() == 50) {
      run_inverse<2>(coefficients, values);
    } else {
      run_inverse<3>(coefficients, values);
    }
  }

  void sum_of_products(Word* out, const Word* const* a, const Word* const* b,
                       std::size_t terms) const override {
    split52::sum_of_products(out, a, b, terms, degree(), p_);
  }

  void tensor_product(std::span<Word* const> out, std::span<const Word* const> a,
                      std::span<const Word* const> b, std::span<Word> scratch) const override {
    check_tensor_product(out.size(), a.size(), b.size(), scratch.size());
    if (p_.bits() == 50) {
      run_tensor_product<2>(out, a, b, scratch.data());
    } else {
      run_tensor_product<3>(out, a, b, scratch.data());
    }
  }

 private:
  // Pairs that are worked off pass by pass: half of the first-level cache. Larger blocks go down one pass and
  // are divided.
  static constexpr std::size_t together = 256;

  template <int headroom>
  void run_forward(Word* values, const Word* coefficients) const {
    const auto constants = forward::Constants::make<headroom>(p_);
    forward_sweep<headroom>(values, coefficients, pairs_, weights_.data(), first_.pointers(), constants);
    forward_blocks<headroom>(values, {0, 1, 1, pairs_}, true, constants);
  }

  template <int headroom>
  void run_inverse(Word* coefficients, Word* values) const {
    const auto constants = inverse::Constants::make(p_, headroom);
    inverse_blocks<headroom>(values, {0, 1, 1, pairs_}, constants);
    inverse_sweep<headroom>(coefficients, values, pairs_, inverse_weights_.data(), inverse_first_.pointers(),
                            constants);
  }

  // Everything from the second pass of the forward transforms to the last but one of the inverse ones is done
  // on one eighth of the values at a time, which then stays in the cache.
  template <int headroom>
  void run_tensor_product(std::span<Word* const> out, std::span<const Word* const> a,
                          std::span<const Word* const> b, Word* scratch) const {
    const auto constants = forward::Constants::make<headroom>(p_);
    const auto inverse_constants = inverse::Constants::make(p_, headroom);
    const bool square = a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
    std::vector<Word*> values, products;
    const auto begin = [&](const Word* coefficients) {
      forward_sweep<headroom>(scratch, coefficients, pairs_, weights_.data(), first_.pointers(), constants);
      forward_one_pass<headroom>(scratch, {0, 1, 1, pairs_}, true, constants);
      values.push_back(scratch);
      scratch += degree();
    };
    for (const Word* operand : a) begin(operand);
    if (!square) {
      for (const Word* operand : b) begin(operand);
    }
    for (std::size_t c = 0; c < out.size(); ++c, scratch += degree()) products.push_back(scratch);

    const std::size_t parts = std::size_t{1} << stages_[0];
    const std::size_t stride = pairs_ >> stages_[0];
    std::vector<const Word*> left(a.size()), right(b.size());
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t at = pair * stride * part;
      const Blocks block{1, parts + part, 1, stride};
      for (std::size_t i = 0; i < values.size(); ++i) {
        // Below 2^49 one factor of a product need not be canonical.
        const bool canonical = headroom == 2 || square || i >= a.size();
        forward_blocks<headroom>(values[i] + at, block, canonical, constants);
      }
      for (std::size_t i = 0; i < a.size(); ++i) left[i] = values[i] + at;
      // In reverse, so that the terms of a component are two rows of neighbours.
      for (std::size_t j = 0; j < b.size(); ++j) {
        right[b.size() - 1 - j] = values[(square ? 0 : a.size()) + j] + at;
      }
      for (std::size_t c = 0; c < out.size(); ++c) {
        const Diagonal terms = diagonal(c, a.size(), b.size());
        split52::sum_of_products(products[c] + at, left.data() + terms.first,
                                 right.data() + (b.size() - 1 + terms.first - c), terms.count, pair * stride,
                                 p_);
        inverse_blocks<headroom>(products[c] + at, block, inverse_constants);
      }
    }
    for (std::size_t c = 0; c < out.size(); ++c) {
      inverse_one_pass<headroom>(products[c], {0, 1, 1, pairs_}, inverse_constants);
      inverse_sweep<headroom>(out[c], products[c], pairs_, inverse_weights_.data(), inverse_first_.pointers(),
                              inverse_constants);
    }
  }

  // Neighbouring blocks of `length` pairs before pass number `pass`; first: 2^level + block of the first one.
  struct Blocks {
    std::size_t pass;
    std::size_t first;
    std::size_t count;
    std::size_t length;
  };

  template <int headroom>
  void forward_one_pass(Word* values, const Blocks& blocks, bool canonical,
                        const forward::Constants& constants) const {
    const bool last = canonical && blocks.pass + 1 == stages_.size();
    const int stages = stages_[blocks.pass];
    // A reduction at every stage, or one a pass.
    constexpr unsigned in_two = headroom == 2 ? 0b11 : 0b1;
    constexpr unsigned in_three = headroom == 2 ? 0b111 : 0b1;
    auto* pass = last ? forward_pass<3, in_three, true> : forward_pass<3, in_three, false>;
    if (stages == 2) pass = last ? forward_pass<2, in_two, true> : forward_pass<2, in_two, false>;
    pass(values, blocks.first, blocks.count, blocks.length >> stages, twiddles_.pointers(), constants);
  }

  template <int headroom>
  void inverse_one_pass(Word* values, const Blocks& blocks, const inverse::Constants& constants) const {
    const int stages = stages_[blocks.pass];
    auto* pass = stages == 2 ? inverse_pass<headroom, 2> : inverse_pass<headroom, 3>;
    pass(values, blocks.first, blocks.count, blocks.length >> stages, inverse_twiddles_.pointers(),
         constants);
  }

  // body(words before it, blocks) for each group of blocks that the next pass works on together.
  template <typename Body>
  void for_each_group(const Blocks& blocks, const Body& body) const {
    const int stages = stages_[blocks.pass];
    const std::size_t parts = blocks.count << stages;
    const std::size_t length = blocks.length >> stages;
    const std::size_t group = blocks.count * blocks.length <= together
                                  ? parts
                                  : std::max<std::size_t>(1, std::min(parts, together / length));
    for (std::size_t part = 0; part < parts; part += group) {
      body(pair * length * part, Blocks{blocks.pass + 1, (blocks.first << stages) + part, group, length});
    }
  }

  // All passes from blocks.pass on.
  template <int headroom>
  void forward_blocks(Word* values, const Blocks& blocks, bool canonical,
                      const forward::Constants& constants) const {
    forward_one_pass<headroom>(values, blocks, canonical, constants);
    if (blocks.pass + 1 == stages_.size()) return;
    for_each_group(blocks, [&](std::size_t at, const Blocks& next) {
      forward_blocks<headroom>(values + at, next, canonical, constants);
    });
  }

  // The same backwards.
  template <int headroom>
  void inverse_blocks(Word* values, const Blocks& blocks, const inverse::Constants& constants) const {
    if (blocks.pass + 1 < stages_.size()) {
      for_each_group(blocks, [&](std::size_t at, const Blocks& next) {
        inverse_blocks<headroom>(values + at, next, constants);
      });
    }
    inverse_one_pass<headroom>(values, blocks, constants);
  }

  Modulus p_;
  std::size_t pairs_;
  Weights weights_;                      // h^j, j < N/2
  Weights inverse_weights_;              // h^-j 2/N
  Factors first_, inverse_first_;        // of the first three stages, by block
  Factors twiddles_, inverse_twiddles_;  // [2^level + block, lane]
  std::vector<int> stages_;              // of each pass
};

}  // namespace

std::unique_ptr<const GaloisTransform> make_avx512_split(std::size_t degree, const Modulus& p,
                                                         std::uint64_t psi) {
  return std::make_unique<const Avx512Split>(degree, p, psi);
}

}  // namespace hemera::multiply
