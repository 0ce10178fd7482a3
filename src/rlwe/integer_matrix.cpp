#include "hemera/rlwe/integer_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::rlwe {

IntegerMatrix::IntegerMatrix(const ContextPointer& context, std::size_t rows, std::size_t columns,
                             std::span<const std::int16_t> values)
    : context_(context), rows_(rows), columns_(columns) {
  if (rows == 0 || columns == 0 || columns > most_matrix_columns || values.size() / columns != rows ||
      values.size() % columns != 0) {
    throw ParameterError("an integer matrix of " + std::to_string(rows) + " x " + std::to_string(columns) +
                         " with " + std::to_string(values.size()) + " entries; it has 1 to " +
                         std::to_string(most_matrix_columns) + " columns, and an entry for each place");
  }
  for (std::size_t row = 0; row < rows; ++row) {
    double norm = 0;
    for (const std::int16_t value : values.subspan(row * columns, columns)) {
      norm += std::abs(static_cast<double>(value));
      if (value < -128 || value > 127) entry_bytes_ = 2;
    }
    largest_norm_ = std::max(largest_norm_, norm);
  }
  host_.resize(values.size() * static_cast<std::size_t>(entry_bytes_));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = static_cast<std::uint16_t>(values[i]);
    host_[i * static_cast<std::size_t>(entry_bytes_)] = static_cast<std::byte>(bits & 0xff);
    if (entry_bytes_ == 2) host_[2 * i + 1] = static_cast<std::byte>(bits >> 8);
  }
  if (context_->backend().device().kind != runtime::Device::Kind::cuda) return;
  buffer_ = {context_->memory(), host_.size()};
  context_->backend().upload_values(context_->queue(), {buffer_.data(), buffer_.size()}, host_);
}

poly::IntegerMatrixView IntegerMatrix::view() const {
  return {.data = buffer_ ? buffer_.data() : host_.data(),
          .host = host_.data(),
          .rows = rows_,
          .columns = columns_,
          .bytes = entry_bytes_};
}

Ciphertext multiply_matrix(const IntegerMatrix& w, const Ciphertext& x) {
  constexpr const char* operation = "multiply_matrix";
  require_filled(x, operation);
  require_same_context(*w.context(), *x.context, operation);
  if (x.meta.batch.empty() || x.meta.batch.front() != w.columns()) {
    throw MismatchError("multiply_matrix: a matrix of " + std::to_string(w.rows()) + " x " +
                        std::to_string(w.columns()) + " and a batch of shape " + to_text(x.meta.batch) +
                        " do not fit; the batch's first axis must have as many elements as the matrix has "
                        "columns");
  }
  const Context& context = *x.context;
  Metadata meta = x.meta;
  meta.batch.front() = w.rows();
  meta.largest = largest_product(meta.largest, w.largest_norm());
  if (context.parameters().scheme() != Scheme::ckks) {
    meta.noise_log2 += std::log2(std::max(1.0, w.largest_norm()));
  }
  Ciphertext result = make_ciphertext(x.context, std::move(meta), x.size());
  auto workspace = context.make_workspace();
  context.backend().multiply_matrix(context.queue(), result.poly.view().with_batch(w.rows()),
                                    x.poly.view().with_batch(w.columns()), w.view(),
                                    context.base(x.meta.level), workspace);
  return result;
}

}  // namespace hemera::rlwe
