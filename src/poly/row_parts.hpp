// Arrays of polynomials in parts of a few rows.
#pragma once

#include <algorithm>
#include <cstddef>

#include "hemera/poly/poly.hpp"

namespace hemera::poly {

/// The rows of an array [batch, component, limb], N words each, cut into parts of rows that follow each other
/// and are a view: whole elements of the batch, or limbs of one polynomial. The last ones may be smaller.
class RowParts {
 public:
  /// `most_rows`: of a part, at least 1.
  RowParts(const PolyShape& shape, std::size_t most_rows) : shape_(shape) {
    if (shape.words() == 0) return;
    const std::size_t element = shape.components * shape.limbs;
    if (element <= most_rows) {
      elements_ = std::min(most_rows / element, shape.batch);
      count_ = (shape.batch + elements_ - 1) / elements_;
      return;
    }
    // As even as can be.
    parts_ = (shape.limbs + most_rows - 1) / most_rows;
    limbs_ = (shape.limbs + parts_ - 1) / parts_;
    parts_ = (shape.limbs + limbs_ - 1) / limbs_;
    count_ = shape.batch * shape.components * parts_;
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  /// Rows of the largest part.
  [[nodiscard]] std::size_t most() const {
    return elements_ != 0 ? elements_ * shape_.components * shape_.limbs : limbs_;
  }
  /// Index of the first row.
  [[nodiscard]] std::size_t first(std::size_t part) const {
    if (elements_ != 0) return part * most();
    return part / parts_ * shape_.limbs + part % parts_ * limbs_;
  }
  /// The part of a view of this shape.
  template <typename Byte>
  [[nodiscard]] BasicPolyView<Byte> of(const BasicPolyView<Byte>& view, std::size_t part) const {
    if (elements_ != 0) {
      const std::size_t first = part * elements_;
      return view.batches(first, std::min(elements_, shape_.batch - first));
    }
    const std::size_t polynomial = part / parts_;
    const std::size_t first = part % parts_ * limbs_;
    return view.batches(polynomial / shape_.components, 1)
        .components(polynomial % shape_.components, 1)
        .limbs(first, std::min(limbs_, shape_.limbs - first));
  }

 private:
  PolyShape shape_;
  std::size_t elements_ = 0;  // of the batch in a part; 0: parts of polynomials
  std::size_t parts_ = 0;     // of a polynomial
  std::size_t limbs_ = 0;     // in a part
  std::size_t count_ = 0;
};

}  // namespace hemera::poly
