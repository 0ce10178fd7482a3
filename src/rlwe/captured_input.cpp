#include "hemera/rlwe/captured_input.hpp"

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "runtime/decimal.hpp"

namespace hemera::rlwe {

std::string difference(const Ciphertext& example, const Ciphertext& given) {
  const Metadata& a = example.meta;
  const Metadata& b = given.meta;
  if (given.size() != example.size())
    return "its size is " + std::to_string(given.size()) + "; relinearize it";
  if (b.batch != a.batch) return "its batch is " + to_text(b.batch) + " and not " + to_text(a.batch);
  if (b.level != a.level) {
    return "its level is " + std::to_string(b.level) + " and not " + std::to_string(a.level);
  }
  if (b.scale != a.scale || b.noise_scale_degree != a.noise_scale_degree || b.correction != a.correction) {
    return "its scale or correction factor is another";
  }
  if (b.slots != a.slots || b.encoding != a.encoding) {
    return "it holds other numbers of values, or is encoded differently";
  }
  const bool is_padded_alike = a.padding == b.padding || a.padding == Padding::unknown;
  if (b.filled != a.filled || !is_padded_alike || b.is_complex != a.is_complex) {
    return "other slots of it are filled, or its values are of another type";
  }
  if (b.largest > a.largest) {
    return "its values may be as large as " + decimal(b.largest) + " and not at most " + decimal(a.largest);
  }
  if (b.noise_log2 > a.noise_log2) {
    return "its noise may be 2^" + decimal(b.noise_log2) + " and not at most 2^" + decimal(a.noise_log2);
  }
  return {};
}

void assign_input(Ciphertext& input, const Ciphertext& given) {
  require_same_context(*input.context, *given.context, "graph");
  const std::string problem = difference(input, given);
  if (!problem.empty()) {
    throw MismatchError("graph: an input is not like the example of the capture: " + problem +
                        "; bring it to the example's shape, level and scale, or capture another graph");
  }
  input.context->backend().copy(input.context->queue(), input.poly.view(), given.poly.view());
}

}  // namespace hemera::rlwe
