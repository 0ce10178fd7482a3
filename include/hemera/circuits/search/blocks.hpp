// Memory that grows and shrinks by blocks of polynomials.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::circuits::search {

/// Arrays [rows, columns, limb, N], one for each block, in evaluation form at a context's top level, and
/// bytes of each block beside them. Blocks that came together share an allocation, which goes when all of
/// them are gone.
class Blocks {
 public:
  /// `bytes`: of each block.
  Blocks(rlwe::ContextPointer context, std::size_t rows, std::size_t columns, std::size_t bytes = 0);

  [[nodiscard]] std::size_t count() const { return count_; }
  /// Bytes in the context's memory.
  [[nodiscard]] std::size_t memory_bytes() const;
  /// Makes room for this many blocks, or gives back memory. The contents of new blocks are unspecified.
  void resize(std::size_t count);
  /// A block that is there.
  [[nodiscard]] poly::PolyView at(std::size_t block);
  [[nodiscard]] poly::ConstPolyView at(std::size_t block) const;
  /// The bytes of a block that is there.
  [[nodiscard]] std::span<std::byte> bytes_at(std::size_t block);
  /// Calls `take` for parts of all blocks in order: [block * rows, columns, limb, N] from block `first` on.
  void for_each_part(
      const std::function<void(std::size_t first, const poly::ConstPolyView& part)>& take) const;
  /// Calls `take` for the bytes of `size` blocks from `begin` on, which are there, in runs of `count` blocks
  /// from block `first` on, in their order.
  void for_each_bytes(
      std::size_t begin, std::size_t size,
      const std::function<void(std::size_t first, std::size_t count, const std::byte* bytes)>& take) const;

 private:
  struct Part {
    poly::Poly polynomials;
    runtime::Buffer bytes;

    [[nodiscard]] std::size_t blocks(std::size_t rows) const { return polynomials.shape().batch / rows; }
  };

  /// The part that a block is in, and its number there.
  [[nodiscard]] std::pair<std::size_t, std::size_t> find(std::size_t block) const;

  rlwe::ContextPointer context_;
  std::size_t rows_, columns_, bytes_;
  std::size_t count_ = 0;
  std::vector<Part> parts_;
};

}  // namespace hemera::circuits::search
