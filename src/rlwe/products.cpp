// Products of an evaluator, and their sums.
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/tuning.hpp"

namespace hemera::rlwe {
namespace {

std::size_t held_bytes(const Context& context, const Factors& product) {
  std::size_t bytes = 0;
  for (const poly::Poly& copy : product.held) bytes += copy.bytes();
  if (product.integers.data == nullptr) return bytes;
  return bytes +
         product.integers.shape.words() * context.base(product.meta.level).size() * sizeof(std::uint64_t);
}

}  // namespace

Factors Evaluator::checked_factors(const Ciphertext& a, const Ciphertext& b, OperandCopies& copies,
                                   const char* operation) const {
  require(a, operation);
  require(b, operation);
  if (a.meta.encoding != b.meta.encoding) {
    throw MismatchError(std::string(operation) +
                        ": one operand is encoded in slots, the other in coefficients; encode both alike");
  }
  for (const Ciphertext* operand : {&a, &b}) {
    if (copies.of(*operand).size() == 2) continue;
    Ciphertext copy;
    at_size_two(*operand, copy);
    copies.keep(*operand, std::move(copy));
  }
  return factors(a, b, copies);
}

Factors Evaluator::checked_factors(const Ciphertext& a, const Plaintext& b, OperandCopies& copies,
                                   const char* operation) const {
  require(a, operation);
  return factors(a, b, copies);
}

Ciphertext Evaluator::sum_aligned(std::span<const Factors> products, const SwitchingKey* key,
                                  const char* operation) const {
  const Factors& first = products.front();
  Metadata meta = first.meta;
  for (const Factors& product : products.subspan(1)) {
    meta.batch = broadcast(meta.batch, product.meta.batch, operation);
    // Takes the numbers of slots before they are joined.
    join_filling(meta, meta, product.meta, false);
    meta.slots = std::max(meta.slots, product.meta.slots);
    meta.largest += product.meta.largest;
    if (traits(context_->scheme()).two_rows)
      meta.filled = filled_slots(meta, context_->parameters().max_slots());
    if (meta.filled == 0) count_all(meta);
    meta.noise_log2 = sum_noise_log2(*context_, meta.noise_log2, product.meta.noise_log2);
  }
  return noticed(sum_products(products, std::move(meta), key), operation);
}

Ciphertext Evaluator::sum_products(std::span<const Factors> products, Metadata meta,
                                   const SwitchingKey* key) const {
  if (key != nullptr && products.size() == 1 && context_->multiplier() == nullptr) {
    return multiply_relinearize(context_, products.front().a, products.front().b, std::move(meta), *key);
  }
  std::vector<poly::ConstPolyView> a, b;
  for (const Factors& product : products) {
    a.push_back(product.a);
    b.push_back(product.b);
  }
  Ciphertext sum = make_ciphertext(context_, std::move(meta), products.front().size());
  context_->inner_product(sum.poly.view(), a, b, context_->base(sum.meta.level));
  if (key != nullptr) relinearize(sum, *key);
  return sum;
}

void Evaluator::add_products(Ciphertext& sum, std::vector<Factors> products) const {
  while (!products.empty()) {
    const std::size_t size = products.front().size();
    const Metadata meta = products.front().meta;
    const auto rest = std::stable_partition(products.begin(), products.end(), [&](const Factors& product) {
      return product.size() == size && context_->scales().is_aligned(product.meta, meta) &&
             product.meta.encoding == meta.encoding;
    });
    Ciphertext part = sum_aligned(std::span(products.begin(), rest), nullptr, "dot");
    if (sum.poly) {
      add_inplace(sum, part);
    } else {
      sum = std::move(part);
    }
    products.erase(products.begin(), rest);
  }
}

template <typename Operand>
Ciphertext Evaluator::sum_of_products(std::span<const Ciphertext* const> a,
                                      std::span<const Operand* const> b) const {
  if (a.empty() || a.size() != b.size()) {
    throw ParameterError("dot: got " + std::to_string(a.size()) + " and " + std::to_string(b.size()) +
                         " operands; give equally many on both sides, at least one");
  }
  require_each(a, "dot");
  require_each(b, "dot");
  Ciphertext sum;
  std::vector<Factors> products;
  OperandCopies copies(a.size());
  copies.count(a);
  if constexpr (std::is_same_v<Operand, Ciphertext>) copies.count(b);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    products.push_back(checked_factors(*a[i], *b[i], copies, "dot"));
    bytes += held_bytes(*context_, products.back());
    if (bytes + copies.bytes() < tuning::most_held_bytes && i + 1 < a.size()) continue;
    add_products(sum, std::move(products));
    products.clear();
    copies.clear();
    bytes = 0;
  }
  return sum;
}

Ciphertext Evaluator::dot(std::span<const Ciphertext* const> a, std::span<const Plaintext* const> b) const {
  return sum_of_products(a, b);
}

Ciphertext Evaluator::dot(std::span<const Ciphertext* const> a, std::span<const Ciphertext* const> b) const {
  Ciphertext sum = sum_of_products(a, b);
  if (relinearization_ == Relinearization::eager) relinearize_inplace(sum);
  return sum;
}

Ciphertext Evaluator::multiply_plain(const Ciphertext& a, const Plaintext& b) const {
  OperandCopies copies;
  const Factors product = checked_factors(a, b, copies, "multiply_plain");
  return sum_aligned(std::span(&product, 1), nullptr, "multiply_plain");
}

Ciphertext Evaluator::multiply(const Ciphertext& a, const Ciphertext& b) const {
  OperandCopies copies;
  const Factors product = checked_factors(a, b, copies, "multiply");
  const SwitchingKey* key =
      relinearization_ == Relinearization::eager ? &relinearization_key(product.meta.level) : nullptr;
  return sum_aligned(std::span(&product, 1), key, "multiply");
}

}  // namespace hemera::rlwe
