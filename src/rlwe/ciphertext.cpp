#include "hemera/rlwe/ciphertext.hpp"

#include <functional>
#include <numeric>
#include <utility>

#include "hemera/runtime/error.hpp"

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
  if (a.scale != b.scale || a.noise_scale_degree != b.noise_scale_degree || a.correction != b.correction) {
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
  }
  Ciphertext out = make_ciphertext(parts.front()->context, std::move(meta), parts.front()->size());
  std::size_t first = 0;
  for (const Ciphertext* part : parts) {
    copy_batches(out, first, *part);
    first += part->poly.shape().batch;
  }
  return out;
}

}  // namespace

std::size_t batch_count(const BatchShape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::string to_text(const BatchShape& shape) {
  std::string text = "(";
  for (const std::size_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + (shape.size() == 1 ? ",)" : ")");
}

BatchShape broadcast(const BatchShape& a, const BatchShape& b, const char* operation) {
  if (a == b || batch_count(b) == 1) return a.size() >= b.size() || batch_count(a) != 1 ? a : b;
  if (batch_count(a) == 1) return b;
  throw MismatchError(std::string(operation) + ": batches of shape " + to_text(a) + " and " + to_text(b) +
                      " do not fit; they must be equal, or one a single object");
}

Ciphertext make_ciphertext(std::shared_ptr<const Context> context, Metadata meta, std::size_t size) {
  Ciphertext result;
  result.poly =
      context->make_poly(batch_count(meta.batch), size, context->base(meta.level), poly::Form::evaluation);
  result.context = std::move(context);
  result.meta = std::move(meta);
  return result;
}

Ciphertext Ciphertext::clone() const {
  Ciphertext copy = make_ciphertext(context, meta, size());
  copy_batches(copy, 0, *this);
  copy.seed = seed;
  return copy;
}

Ciphertext slice(const Ciphertext& a, std::size_t first, std::size_t count) {
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

Ciphertext stack(const std::vector<const Ciphertext*>& parts) {
  if (parts.empty()) throw ParameterError("stack: needs at least one ciphertext");
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

Ciphertext reshape(Ciphertext a, BatchShape shape) {
  if (batch_count(shape) != batch_count(a.meta.batch)) {
    throw MismatchError("reshape: a batch of shape " + to_text(a.meta.batch) + " cannot become " +
                        to_text(shape) + "; the number of elements must stay");
  }
  a.meta.batch = std::move(shape);
  return a;
}

}  // namespace hemera::rlwe
