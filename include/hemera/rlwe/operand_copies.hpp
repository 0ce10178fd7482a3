// Copies that products multiply in place of operands.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "hemera/rlwe/ciphertext.hpp"

namespace hemera::rlwe {

/// Copies of the operands of one sum of products, relinearized or refreshed. An operand that is in several
/// products is copied once, and others' copies are freed when their products are summed.
class OperandCopies {
 public:
  explicit OperandCopies(std::size_t products = 1) : products_(products) {}

  /// The number of products of the sum.
  [[nodiscard]] std::size_t products() const { return products_; }
  /// Notes operands: those that come more than once are in several products.
  void count(std::span<const Ciphertext* const> operands) {
    for (const Ciphertext* operand : operands) ++uses_[operand];
  }
  /// The newest copy of an operand, or the operand itself.
  [[nodiscard]] const Ciphertext& of(const Ciphertext& operand) const {
    const auto found = newest_.find(&operand);
    return found == newest_.end() ? operand : *found->second;
  }
  /// Keeps a copy, which `of` returns from now on. Older ones stay, as factors may see them.
  void keep(const Ciphertext& operand, Ciphertext copy) {
    std::deque<Ciphertext>& place = is_shared(&operand) ? shared_ : single_;
    if (&place == &single_) bytes_ += copy.poly.bytes();
    place.push_back(std::move(copy));
    newest_[&operand] = &place.back();
  }
  /// Bytes of the copies that `clear` frees.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Frees the copies of operands that are in one product.
  void clear() {
    std::erase_if(newest_, [&](const auto& entry) { return !is_shared(entry.first); });
    single_.clear();
    bytes_ = 0;
  }

 private:
  [[nodiscard]] bool is_shared(const Ciphertext* operand) const {
    const auto found = uses_.find(operand);
    return found != uses_.end() && found->second > 1;
  }

  std::size_t products_;
  std::map<const Ciphertext*, std::size_t> uses_;
  std::map<const Ciphertext*, const Ciphertext*> newest_;
  std::deque<Ciphertext> shared_, single_;
  std::size_t bytes_ = 0;
};

}  // namespace hemera::rlwe
