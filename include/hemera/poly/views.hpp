// Arguments of a backend's operations: views of its memory, and structs of such views.
#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "hemera/poly/ring.hpp"

namespace hemera::poly {

/// The fewest entries that a limb is stored by.
inline constexpr std::size_t min_entries = 64;
/// Whether a limb of `degree` entries may be stored by `entries` (PolyShape).
constexpr bool is_entry_count(std::size_t entries, std::size_t degree) {
  return std::has_single_bit(entries) && entries >= min_entries && entries <= degree;
}

/// Extents of an array of polynomials, [batch, component, limb, N]. A polynomial in X^(N/n), n a power of two
/// from min_entries on, has in standard evaluation order runs of N/n equal values: it may be stored by n
/// entries, one of each run, in standard order on every backend. Its `degree` is then n. Only the operations
/// that say so take such arrays.
struct PolyShape {
  std::size_t batch = 1;
  std::size_t components = 1;
  std::size_t limbs = 1;
  std::size_t degree = 0;

  [[nodiscard]] std::size_t words() const { return batch * components * limbs * degree; }
  friend bool operator==(const PolyShape&, const PolyShape&) = default;
};

/// A strided view of residues in a backend's memory, [batch, component, limb, N]; the N entries of a limb are
/// contiguous, strides count words. `Byte` is std::byte, or const std::byte for a view to read only.
template <typename Byte>
struct BasicPolyView {
  Byte* data = nullptr;
  PolyShape shape;
  std::size_t batch_stride = 0;
  std::size_t component_stride = 0;
  std::size_t limb_stride = 0;
  Word word = Word::u64;

  BasicPolyView() = default;
  /// A contiguous array.
  BasicPolyView(Byte* bytes, const PolyShape& extents, Word word_size)
      : data(bytes),
        shape(extents),
        batch_stride(extents.components * extents.limbs * extents.degree),
        component_stride(extents.limbs * extents.degree),
        limb_stride(extents.degree),
        word(word_size) {}

  /// A view to read from a view to write.
  operator BasicPolyView<const std::byte>() const {  // NOLINT(google-explicit-constructor)
    BasicPolyView<const std::byte> view;
    view.data = data;
    view.shape = shape;
    view.batch_stride = batch_stride;
    view.component_stride = component_stride;
    view.limb_stride = limb_stride;
    view.word = word;
    return view;
  }

  /// Pointer to the entries of one limb; W must be the view's word. An extent of 1 broadcasts: its index is
  /// taken as 0.
  template <typename W>
  [[nodiscard]] auto* limb(std::size_t batch, std::size_t component, std::size_t limb_index) const {
    using Pointer = std::conditional_t<std::is_const_v<Byte>, const W*, W*>;
    const std::size_t b = shape.batch == 1 ? 0 : batch;
    const std::size_t c = shape.components == 1 ? 0 : component;
    return reinterpret_cast<Pointer>(data) + b * batch_stride + c * component_stride +
           limb_index * limb_stride;
  }

  [[nodiscard]] BasicPolyView batches(std::size_t first, std::size_t count) const {
    BasicPolyView part = *this;
    part.data += stored_bytes(word, first * batch_stride);
    part.shape.batch = count;
    return part;
  }
  [[nodiscard]] BasicPolyView components(std::size_t first, std::size_t count) const {
    BasicPolyView part = *this;
    part.data += stored_bytes(word, first * component_stride);
    part.shape.components = count;
    return part;
  }
  [[nodiscard]] BasicPolyView limbs(std::size_t first, std::size_t count) const {
    BasicPolyView part = *this;
    part.data += stored_bytes(word, first * limb_stride);
    part.shape.limbs = count;
    return part;
  }
  /// The same polynomials in their order with another extent of the batch, which divides their number. They
  /// lie one behind the other: batch_stride is component_stride times the components.
  [[nodiscard]] BasicPolyView with_batch(std::size_t batch) const {
    BasicPolyView whole = *this;
    whole.shape.batch = batch;
    whole.shape.components = shape.batch * shape.components / batch;
    whole.batch_stride = whole.shape.components * component_stride;
    return whole;
  }
  /// Batch and components change places.
  [[nodiscard]] BasicPolyView transposed() const {
    BasicPolyView turned = *this;
    turned.shape.batch = shape.components;
    turned.shape.components = shape.batch;
    turned.batch_stride = component_stride;
    turned.component_stride = batch_stride;
    return turned;
  }
};

using PolyView = BasicPolyView<std::byte>;
using ConstPolyView = BasicPolyView<const std::byte>;

/// Complex slot values in a backend's memory, [batch, slot]; each batch row is contiguous.
struct SlotView {
  std::complex<double>* data = nullptr;
  std::size_t batch = 1;
  std::size_t slots = 0;

  [[nodiscard]] std::span<std::byte> bytes() const {
    return std::as_writable_bytes(std::span(data, batch * slots));
  }
};

/// The order of the input of Backend::transform_components; its result has the other. Reversed: by the
/// reversed bits of the numbers.
enum class ComponentOrder : std::uint8_t { natural, reversed };

/// Which coefficients Backend::exponentials takes: for values of a polynomial times a secret in blocks
/// (rlwe/block_secret.hpp). All are powers of two.
struct ExponentialLayout {
  /// Value j is coefficient position(j): j, its bits reversed, and those of the second row after them.
  std::size_t values = 1;
  std::size_t row = 1;  ///< values, or half as many
  std::size_t blocks = 1;
  std::size_t length = 1;  ///< coefficients of a block
  std::size_t places = 1;  ///< of them in one row of slots
  std::size_t stride = 1;  ///< of the block's coefficients

  /// Rows of slots for each element of a batch.
  [[nodiscard]] constexpr std::size_t rows() const { return length / places; }
};

/// Real or complex numbers in a backend's memory, [batch, number]; each batch row is contiguous, a complex
/// number is two doubles.
struct NumberView {
  double* data = nullptr;
  bool is_complex = false;
  std::size_t batch = 1;
  std::size_t count = 0;
};

/// Integers in a backend's memory, [batch, value]; each batch row is contiguous.
struct IntegerView {
  std::int64_t* data = nullptr;
  std::size_t batch = 1;
  std::size_t count = 0;

  [[nodiscard]] std::span<std::byte> bytes() const {
    return std::as_writable_bytes(std::span(data, batch * count));
  }
};

/// Signed integers of 1 or 2 bytes (little-endian), [row, column], contiguous.
struct IntegerMatrixView {
  const std::byte* data = nullptr;  ///< in the backend's memory
  const std::byte* host = nullptr;  ///< the same bytes in the host's memory
  std::size_t rows = 0, columns = 0;
  int bytes = 1;

  /// The integer in a row and a column, from the host's memory.
  [[nodiscard]] int at(std::size_t row, std::size_t column) const {
    const std::byte* entry = host + (row * columns + column) * static_cast<std::size_t>(bytes);
    if (bytes == 1) return static_cast<std::int8_t>(entry[0]);
    return static_cast<std::int16_t>(std::to_integer<unsigned>(entry[0]) | std::to_integer<unsigned>(entry[1])
                                                                               << 8);
  }
};

/// Coefficients in a row that share one of the numbers by which a rounding reports its doubts.
inline constexpr std::size_t coefficients_per_doubt = 64;

/// Numbers that Backend::collect_integers takes along: any[b] becomes the bitwise or of the b-th of as many
/// parts of `numbers` as there are rows of values, each of ceil(numbers / rows) but the last ones, which may
/// be shorter.
struct TakenAlong {
  std::span<const std::int64_t> numbers;
  std::int64_t* any = nullptr;

  [[nodiscard]] std::size_t part_size(std::size_t rows) const { return (numbers.size() + rows - 1) / rows; }
};

/// `factor` times a limb of a polynomial, which is added to that limb of one polynomial of a batch.
struct GadgetTerm {
  std::size_t batch;
  std::size_t limb;
  std::uint64_t factor;
};

/// The operations of two inputs, entry by entry.
enum class Binary : std::uint8_t { add, subtract, multiply, multiply_add };
/// The operations of one input and, but for `negate`, one residue a limb, which is added to all entries or to
/// the first one.
enum class Unary : std::uint8_t { negate, multiply, add_to_all, add_to_first };

/// A term of Backend::hoisted_products.
struct HoistedTerm {
  /// Digits that are switched by the key, as in Backend::key_inner_product; no data: nothing is switched.
  ConstPolyView digits = {};
  ConstPolyView key = {};
  /// Up to two components which are added to the switched ones: over the extended base, or over the
  /// level's, where they are multiplied by the special primes' product P. No data: nothing is added.
  ConstPolyView addend = {};
  std::uint64_t galois_element = 1;
  /// One for each output, of one component over the extended base, whole or stored by fewer entries
  /// (PolyShape); no data: the term is no part of that output. Empty: times one, for every output.
  std::vector<ConstPolyView> factors = {};
};

/// One of several key switches of the same input.
struct KeySwitch {
  PolyView out;
  ConstPolyView key;
  std::uint64_t galois_element = 1;
};

}  // namespace hemera::poly
