#include "host_words.hpp"

#include "hemera/poly/backend.hpp"

namespace hemera::tests {

std::vector<std::uint64_t> host_words(const rlwe::Context& context, const poly::Poly& poly) {
  std::vector<std::uint64_t> words(poly.shape().words());
  context.backend().download(context.queue(), words, poly.view(), poly.form());
  context.queue().synchronize();
  return words;
}

}  // namespace hemera::tests
