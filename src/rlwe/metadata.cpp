#include "hemera/rlwe/metadata.hpp"

#include <algorithm>
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
  std::string text = "{";
  for (const std::size_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "}";
}

// 0 times an unknown bound is 0.
double largest_product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

namespace {

// Whether all slots of the other operand meet one value. A single value of BFV and BGV is in one slot, which
// is filled, and a single one of CKKS in all.
bool is_uniform(const Metadata& a, const Metadata& other) {
  return a.padding == Padding::uniform || (a.slots == 1 && a.filled == 0 && other.slots > 1);
}

// The padding as the other operand meets it. With CKKS fewer slots repeat in more, values among them; with
// BFV and BGV, where `filled` is `slots`, none does.
Padding padding_met(const Metadata& a, const Metadata& other) {
  return a.filled < a.slots && a.slots < other.slots ? no_longer_zeros(a) : a.padding;
}

std::size_t joined_count(const Metadata& a, const Metadata& b) {
  return a.filled == 0 || b.filled == 0 ? 0 : std::max(a.filled, b.filled);
}

Padding joined_padding(Padding a, Padding b, bool is_product) {
  const bool any_zeros = a == Padding::zeros || b == Padding::zeros;
  if (is_product ? any_zeros : a == Padding::zeros && b == Padding::zeros) return Padding::zeros;
  return a == Padding::values || b == Padding::values ? Padding::values : Padding::unknown;
}

}  // namespace

void count_all(Metadata& meta) {
  meta.filled = 0;
  if (meta.padding != Padding::uniform) meta.padding = Padding::zeros;
}

void copy_filling(Metadata& to, const Metadata& from) {
  to.filled = from.filled;
  to.padding = from.padding;
  to.is_complex = from.is_complex;
}

void copy_declarations(Metadata& to, const Metadata& from) {
  to.largest = from.largest;
  copy_filling(to, from);
}

std::size_t filled_slots(const Metadata& meta, std::size_t slots) {
  return meta.encoding == Encoding::slots && meta.slots < slots ? meta.slots : 0;
}

Padding no_longer_zeros(const Metadata& a) {
  return a.filled != 0 && a.padding == Padding::zeros ? Padding::unknown : a.padding;
}

// Zeros stay zeros in sums with zeros, and in products. Where other padding of a part meets values of all
// slots, all are filled. One value in all slots goes with any count.
void join_filling(Metadata& result, const Metadata& a, const Metadata& b, bool is_product) {
  // `result` may be one of the operands.
  const bool is_complex = a.is_complex || b.is_complex;
  const bool spent = a.spent || b.spent;
  std::size_t filled = 0;
  Padding padding = Padding::zeros;
  const bool uniform_a = is_uniform(a, b), uniform_b = is_uniform(b, a);
  const Padding of_a = padding_met(a, b), of_b = padding_met(b, a);
  if (uniform_a && uniform_b) {
    filled = a.filled == 0 || b.filled == 0 ? a.filled + b.filled : std::min(a.filled, b.filled);
    padding = Padding::uniform;
  } else if (uniform_a || uniform_b) {
    filled = (uniform_a ? b : a).filled;
    padding = is_product ? (uniform_a ? of_b : of_a) : no_longer_zeros(uniform_a ? b : a);
  } else if (a.filled != 0 && b.filled != 0) {
    filled = joined_count(a, b);
    padding = joined_padding(of_a, of_b, is_product);
  } else if (is_product && (a.filled != 0 || b.filled != 0)) {
    // Anything but zeros counts like the values that it meets.
    const bool is_part_a = a.filled != 0;
    if ((is_part_a ? of_a : of_b) == Padding::zeros) filled = (is_part_a ? a : b).filled;
  }
  result.filled = filled;
  result.padding = padding;
  result.is_complex = is_complex;
  result.spent = spent;
}

BatchShape broadcast(const BatchShape& a, const BatchShape& b, const char* operation) {
  if (a == b || batch_count(b) == 1) return a.size() >= b.size() || batch_count(a) != 1 ? a : b;
  if (batch_count(a) == 1) return b;
  throw MismatchError(std::string(operation) + ": batches of shape " + to_text(a) + " and " + to_text(b) +
                      " do not fit; they must be equal, or one a single object");
}

}  // namespace hemera::rlwe
