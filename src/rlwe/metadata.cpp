#include "hemera/rlwe/metadata.hpp"

#include <functional>
#include <numeric>

#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {

std::size_t batch_count(const BatchShape& shape) {
  if (shape.size() > most_batch_axes) {
    throw ParameterError("a batch of " + std::to_string(shape.size()) + " axes; at most " +
                         std::to_string(most_batch_axes) + " are possible: reshape it to fewer");
  }
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::string to_text(const BatchShape& shape) {
  std::string text = "(";
  for (const std::size_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + (shape.size() == 1 ? ",)" : ")");
}

// 0 times an unknown bound is 0.
double largest_product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

BatchShape broadcast(const BatchShape& a, const BatchShape& b, const char* operation) {
  if (a == b || batch_count(b) == 1) return a.size() >= b.size() || batch_count(a) != 1 ? a : b;
  if (batch_count(a) == 1) return b;
  throw MismatchError(std::string(operation) + ": batches of shape " + to_text(a) + " and " + to_text(b) +
                      " do not fit; they must be equal, or one a single object");
}

}  // namespace hemera::rlwe
