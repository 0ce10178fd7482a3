// Polynomials in residue form: the owning array.
#pragma once

#include <cstddef>
#include <memory>

#include "hemera/poly/ring.hpp"
#include "hemera/poly/views.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::poly {

/// Whether residues of all limbs fit into such words.
bool fits(const RnsBase& base, Word word);
/// Throws ParameterError, with the modulus that is too large, unless they fit.
void require_fits(const RnsBase& base, Word word);

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
