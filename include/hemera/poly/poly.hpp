// Polynomials in residue form: views for backends, and the owning array.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "hemera/poly/ring.hpp"
#include "hemera/runtime/memory.hpp"

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
    part.data += first * batch_stride * static_cast<std::size_t>(word);
    part.shape.batch = count;
    return part;
  }
  [[nodiscard]] BasicPolyView components(std::size_t first, std::size_t count) const {
    BasicPolyView part = *this;
    part.data += first * component_stride * static_cast<std::size_t>(word);
    part.shape.components = count;
    return part;
  }
  [[nodiscard]] BasicPolyView limbs(std::size_t first, std::size_t count) const {
    BasicPolyView part = *this;
    part.data += first * limb_stride * static_cast<std::size_t>(word);
    part.shape.limbs = count;
    return part;
  }
};

using PolyView = BasicPolyView<std::byte>;
using ConstPolyView = BasicPolyView<const std::byte>;

/// Throws ParameterError unless residues modulo it fit into such words.
void require_fits(const arith::Modulus& modulus, Word word);

/// An owning, contiguous array of polynomials [batch, component, limb, N] over a base.
class Poly {
 public:
  Poly() = default;
  /// Contents unspecified; `entries` of a limb are stored (0: all N). Throws OutOfMemoryError, and
  /// ParameterError for entries that are no power of two from min_entries to N, or too few for the
  /// coefficient form or a word other than u64, and for a modulus that the word is too small for.
  Poly(const std::shared_ptr<runtime::Memory>& memory, std::size_t batch, std::size_t components,
       RnsBase base, Form form, runtime::Secrecy secrecy = runtime::Secrecy::open, std::size_t entries = 0,
       Word word = Word::u64);

  [[nodiscard]] const PolyShape& shape() const { return shape_; }
  [[nodiscard]] const RnsBase& base() const { return base_; }
  [[nodiscard]] Word word() const { return word_; }
  [[nodiscard]] Form form() const { return form_; }
  void set_form(Form form) { form_ = form; }
  [[nodiscard]] std::size_t bytes() const { return buffer_.size(); }
  [[nodiscard]] runtime::Secrecy secrecy() const { return buffer_.secrecy(); }
  /// Whether a limb has all its N entries.
  [[nodiscard]] bool is_whole() const { return shape_.degree == base_.ring()->degree(); }
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(buffer_); }

  [[nodiscard]] PolyView view() { return {buffer_.data(), shape_, word_}; }
  [[nodiscard]] ConstPolyView view() const { return {buffer_.data(), shape_, word_}; }

 private:
  runtime::Buffer buffer_;
  PolyShape shape_;
  RnsBase base_;
  Form form_ = Form::coefficient;
  Word word_ = Word::u64;
};

}  // namespace hemera::poly
