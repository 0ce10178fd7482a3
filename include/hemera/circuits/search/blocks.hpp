// Memory that grows and shrinks by blocks of polynomials.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::circuits::search {

/// Arrays [rows, columns, limb, N], one for each block, in evaluation form at a context's top level. Blocks
/// that came together share an allocation, which goes when all of them are gone.
class Blocks {
 public:
  Blocks(std::shared_ptr<const rlwe::Context> context, std::size_t rows, std::size_t columns);

  [[nodiscard]] std::size_t count() const { return count_; }
  /// Bytes in the context's memory.
  [[nodiscard]] std::size_t memory_bytes() const;
  /// Makes room for so many blocks, or gives back memory. The contents of new blocks are unspecified.
  void resize(std::size_t count);
  /// A block that is there.
  [[nodiscard]] poly::PolyView at(std::size_t block);
  [[nodiscard]] poly::ConstPolyView at(std::size_t block) const;
  /// Calls `take` for parts of all blocks in their order: [block * rows, columns, limb, N] from block `first`
  /// on.
  void for_each_part(
      const std::function<void(std::size_t first, const poly::ConstPolyView& part)>& take) const;

 private:
  /// The part that a block is in, and its row there.
  [[nodiscard]] std::pair<std::size_t, std::size_t> find(std::size_t block) const;

  std::shared_ptr<const rlwe::Context> context_;
  std::size_t rows_, columns_;
  std::size_t count_ = 0;
  std::vector<poly::Poly> parts_;
};

}  // namespace hemera::circuits::search
