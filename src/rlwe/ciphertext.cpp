#include "hemera/rlwe/ciphertext.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::rlwe {
namespace {

void require_joinable(const Ciphertext& first, const Ciphertext& other, const char* operation) {
  require_same_context(*first.context, *other.context, operation);
  const Metadata& a = first.meta;
  const Metadata& b = other.meta;
  const std::string prefix = std::string(operation) + ": ciphertexts ";
  if (a.level != b.level) {
    throw MismatchError(prefix + "are at levels " + std::to_string(a.level) + " and " +
                        std::to_string(b.level) + "; bring them to one level first");
  }
  if (first.size() != other.size()) {
    throw MismatchError(prefix + "have sizes " + std::to_string(first.size()) + " and " +
                        std::to_string(other.size()) + "; relinearize them first");
  }
  // Scales may differ by as much as those of sums.
  const bool is_aligned = first.context->scales().is_aligned(a, b) && a.correction == b.correction;
  if (!is_aligned || a.noise_scale_degree != b.noise_scale_degree) {
    throw MismatchError(
        prefix + "have different scales or correction factors; bring them to one level and scale first");
  }
  if (a.slots != b.slots || a.encoding != b.encoding) {
    throw MismatchError(prefix + "hold " + std::to_string(a.slots) + " and " + std::to_string(b.slots) +
                        " values or are encoded differently; encode them alike");
  }
}

// Copies the batches of `part` into `out` from `first` on.
void copy_batches(Ciphertext& out, std::size_t first, const Ciphertext& part) {
  const Context& context = *out.context;
  context.backend().copy(context.queue(), out.poly.view().batches(first, part.poly.shape().batch),
                         part.poly.view());
}

Ciphertext join(const std::vector<const Ciphertext*>& parts, BatchShape shape, const char* operation) {
  Metadata meta = parts.front()->meta;
  meta.batch = std::move(shape);
  for (const Ciphertext* part : parts) {
    require_joinable(*parts.front(), *part, operation);
    meta.noise_log2 = std::max(meta.noise_log2, part->meta.noise_log2);
    meta.largest = std::max(meta.largest, part->meta.largest);
    join_filling(meta, meta, part->meta, false);
  }
  Ciphertext out = make_ciphertext(parts.front()->context, std::move(meta), parts.front()->size());
  std::size_t first = 0;
  for (const Ciphertext* part : parts) {
    copy_batches(out, first, *part);
    first += part->poly.shape().batch;
  }
  return out;
}

// Throws unless these elements of a batch of `count` fill a batch of this shape.
void require_gatherable(std::span<const std::size_t> indices, std::size_t count, const BatchShape& shape) {
  if (indices.empty() || batch_count(shape) != indices.size()) {
    throw MismatchError("gather: " + std::to_string(indices.size()) +
                        " elements do not fill a batch of shape " + to_text(shape));
  }
  const std::size_t last = *std::max_element(indices.begin(), indices.end());
  if (last >= count) {
    throw MismatchError("gather: element " + std::to_string(last) + " is not in a batch of " +
                        std::to_string(count));
  }
}

// These elements of `from`: one copy for each run of consecutive ones.
poly::Poly gather_elements(const Context& context, const poly::Poly& from,
                           std::span<const std::size_t> indices) {
  const poly::PolyShape& shape = from.shape();
  poly::Poly out = context.make_poly(indices.size(), shape.components, from.base(), from.form(),
                                     from.secrecy(), shape.degree);
  for (std::size_t first = 0; first < indices.size();) {
    std::size_t length = 1;
    while (first + length < indices.size() && indices[first + length] == indices[first] + length) ++length;
    context.backend().copy(context.queue(), out.view().batches(first, length),
                           from.view().batches(indices[first], length));
    first += length;
  }
  return out;
}

// Plaintext::doubtful of these elements: each keeps its own.
std::shared_ptr<const runtime::Buffer> gather_doubts(const Plaintext& a,
                                                     std::span<const std::size_t> indices) {
  if (!a.doubtful) return nullptr;
  const Context& context = *a.context;
  const std::span<const std::int64_t> numbers = doubts(a);
  std::vector<std::int64_t> all(numbers.size());
  const std::size_t each = all.size() / a.poly.shape().batch;
  std::vector<std::int64_t> taken(indices.size() * each);
  const runtime::ZeroedAtEnd wiped_all{std::span(all)}, wiped_taken{std::span(taken)};
  context.backend().download_values(context.queue(), std::as_writable_bytes(std::span(all)),
                                    std::as_bytes(numbers));
  context.queue().synchronize();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(indices[i] * each), each,
                taken.begin() + static_cast<std::ptrdiff_t>(i * each));
  }
  runtime::Buffer buffer(context.memory(), taken.size() * sizeof(std::int64_t), runtime::Secrecy::secret);
  context.backend().upload_values(context.queue(), {buffer.data(), buffer.size()},
                                  std::as_bytes(std::span(taken)));
  context.queue().synchronize();
  return std::make_shared<const runtime::Buffer>(std::move(buffer));
}

}  // namespace

Ciphertext make_ciphertext(ContextPointer context, Metadata meta, std::size_t size) {
  Ciphertext result;
  result.poly =
      context->make_poly(batch_count(meta.batch), size, context->base(meta.level), poly::Form::evaluation);
  result.context = std::move(context);
  result.meta = std::move(meta);
  return result;
}

Ciphertext Ciphertext::clone() const {
  require_filled(*this, "clone");
  Ciphertext copy = make_ciphertext(context, meta, size());
  copy_batches(copy, 0, *this);
  copy.seed = seed;
  return copy;
}

Ciphertext slice(const Ciphertext& a, std::size_t first, std::size_t count) {
  require_filled(a, "slice");
  const BatchShape& shape = a.meta.batch;
  if (shape.empty()) throw MismatchError("slice: a single ciphertext has no batch to take a part of");
  if (first > shape.front() || count > shape.front() - first || count == 0) {
    throw MismatchError("slice: elements " + std::to_string(first) + " to " + std::to_string(first + count) +
                        " are not in a batch of shape " + to_text(shape));
  }
  Metadata meta = a.meta;
  meta.batch.front() = count;
  const std::size_t inner = batch_count(shape) / shape.front();
  Ciphertext out = make_ciphertext(a.context, std::move(meta), a.size());
  const Context& context = *a.context;
  context.backend().copy(context.queue(), out.poly.view(),
                         a.poly.view().batches(first * inner, count * inner));
  return out;
}

Ciphertext take(const Ciphertext& a, std::size_t index) {
  Ciphertext out = slice(a, index, 1);
  out.meta.batch.erase(out.meta.batch.begin());
  return out;
}

Ciphertext gather(const Ciphertext& a, std::span<const std::size_t> indices, BatchShape shape) {
  require_filled(a, "gather");
  require_gatherable(indices, a.poly.shape().batch, shape);
  Ciphertext out{a.context, a.meta, gather_elements(*a.context, a.poly, indices), {}};
  out.meta.batch = std::move(shape);
  return out;
}

Plaintext gather(const Plaintext& a, std::span<const std::size_t> indices, BatchShape shape) {
  require_filled(a, "gather");
  require_gatherable(indices, a.poly.shape().batch, shape);
  Plaintext out{a.context, a.meta, gather_elements(*a.context, a.poly, indices), gather_doubts(a, indices)};
  out.meta.batch = std::move(shape);
  const auto gathered = [&](const std::shared_ptr<const Plaintext::Lifted>& of) {
    if (of == nullptr) return of;
    return std::make_shared<const Plaintext::Lifted>(
        Plaintext::Lifted{of->level, gather_elements(*a.context, of->poly, indices)});
  };
  out.lifted = gathered(a.lifted);
  out.placed = gathered(a.placed);
  return out;
}

Ciphertext stack(const std::vector<const Ciphertext*>& parts) {
  if (parts.empty()) throw ParameterError("stack: needs at least one ciphertext");
  require_each(std::span(parts), "stack");
  BatchShape shape = parts.front()->meta.batch;
  for (const Ciphertext* part : parts) {
    if (part->meta.batch != shape) {
      throw MismatchError("stack: batches of shape " + to_text(shape) + " and " + to_text(part->meta.batch) +
                          " differ; stack equal shapes, or concatenate");
    }
  }
  shape.insert(shape.begin(), parts.size());
  return join(parts, std::move(shape), "stack");
}

Ciphertext concatenate(const std::vector<const Ciphertext*>& parts) {
  if (parts.empty()) throw ParameterError("concatenate: needs at least one ciphertext");
  require_each(std::span(parts), "concatenate");
  BatchShape shape = parts.front()->meta.batch;
  if (shape.empty())
    throw MismatchError("concatenate: single ciphertexts have no axis to join along; use stack");
  std::size_t total = 0;
  for (const Ciphertext* part : parts) {
    const BatchShape& other = part->meta.batch;
    if (other.size() != shape.size() || !std::equal(other.begin() + 1, other.end(), shape.begin() + 1)) {
      throw MismatchError("concatenate: batches of shape " + to_text(shape) + " and " + to_text(other) +
                          " differ beyond the first axis");
    }
    total += other.front();
  }
  shape.front() = total;
  return join(parts, std::move(shape), "concatenate");
}

void reshape_inplace(Ciphertext& a, BatchShape shape) {
  require_filled(a, "reshape");
  if (batch_count(shape) != batch_count(a.meta.batch)) {
    throw MismatchError("reshape: a batch of shape " + to_text(a.meta.batch) + " cannot become " +
                        to_text(shape) + "; the number of elements must stay");
  }
  a.meta.batch = std::move(shape);
}

}  // namespace hemera::rlwe
