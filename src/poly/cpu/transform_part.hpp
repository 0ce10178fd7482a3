// One of several equal parts of a limb's transform, which for_each_transform gives to threads in two steps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu {

/// Part `part` of `parts` (a power of two, at most tuning::most_transform_parts). The forward transform has
/// its columns first, then its rows; the inverse one its rows first.
class TransformPart {
 public:
  TransformPart(const Kernels& kernels, const LimbTables& tables, std::size_t part, std::size_t parts)
      : kernels_(kernels),
        tables_(tables),
        length_(tables.degree / transform_rows),
        part_(part),
        rows_(transform_rows / parts),
        columns_(length_ / parts) {}

  void forward_columns(std::uint64_t* out, const std::uint64_t* in) const {
    kernels_.forward_columns(out, in, tables_, part_ * columns_, columns_);
  }
  void forward_rows(std::uint64_t* data) const {
    for (std::size_t r = 0; r < rows_; ++r) kernels_.forward_row(data, tables_, part_ * rows_ + r);
  }
  void inverse_rows(std::uint64_t* out, const std::uint64_t* in) const {
    for (std::size_t r = 0; r < rows_; ++r) kernels_.inverse_row(out, in, tables_, part_ * rows_ + r);
  }
  void inverse_columns(std::uint64_t* data) const {
    kernels_.inverse_columns(data, tables_, part_ * columns_, columns_);
  }

  /// body(first, count) for the runs of entries in the part's columns.
  template <typename Body>
  void for_each_column_run(const Body& body) const {
    for (std::size_t r = 0; r < transform_rows; ++r) body(r * length_ + part_ * columns_, columns_);
  }
  /// The same for its rows.
  template <typename Body>
  void for_rows(const Body& body) const {
    body(part_ * rows_ * length_, rows_ * length_);
  }

  /// Step 0 or 1 of a forward transform in place: begin(first, count) makes runs of entries before their
  /// columns, end(first, count) takes them after their rows.
  template <typename Begin, typename End>
  void forward_step(std::size_t step, std::uint64_t* data, const Begin& begin, const End& end) const {
    if (step == 0) {
      for_each_column_run(begin);
      forward_columns(data, data);
    } else {
      forward_rows(data);
      for_rows(end);
    }
  }
  template <typename Begin>
  void forward_step(std::size_t step, std::uint64_t* data, const Begin& begin) const {
    forward_step(step, data, begin, [](std::size_t, std::size_t) {});
  }

 private:
  const Kernels& kernels_;
  const LimbTables& tables_;
  std::size_t length_;  // of a row
  std::size_t part_;
  std::size_t rows_;
  std::size_t columns_;
};

}  // namespace hemera::poly::cpu
