#include "c/handles.hpp"
#include "hemera/schemes/any_scheme.hpp"

using namespace hemera;

namespace {

// One operation on one or two ciphertexts, whose result becomes a handle.
template <typename Operation>
hemera_status evaluated(hemera_ciphertext** out, const Operation& operation) noexcept {
  return c::guarded([&] { c::give(out, operation()); });
}

}  // namespace

// The checks of an operation's handles.
#define HEMERA_C_OPERANDS(out)                         \
  HEMERA_C_RESULT(out);                                \
  HEMERA_C_REQUIRE(evaluator);                         \
  HEMERA_C_REQUIRE(a);                                 \
  const rlwe::Evaluator& with = *evaluator->evaluator; \
  const rlwe::Ciphertext& first = a->ciphertext

hemera_status hemera_evaluator_open(const hemera_keys* keys, hemera_evaluator** evaluator) {
  HEMERA_C_RESULT(evaluator);
  HEMERA_C_REQUIRE(keys);
  return c::guarded([&] { c::give(evaluator, any_scheme::make_evaluator(keys->keys.context, keys->keys)); });
}

void hemera_evaluator_free(hemera_evaluator* evaluator) { delete evaluator; }

hemera_status hemera_add(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                         const hemera_ciphertext* b, hemera_ciphertext** sum) {
  HEMERA_C_OPERANDS(sum);
  HEMERA_C_REQUIRE(b);
  return evaluated(sum, [&] { return with.add(first, b->ciphertext); });
}

hemera_status hemera_subtract(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                              const hemera_ciphertext* b, hemera_ciphertext** difference) {
  HEMERA_C_OPERANDS(difference);
  HEMERA_C_REQUIRE(b);
  return evaluated(difference, [&] { return with.subtract(first, b->ciphertext); });
}

hemera_status hemera_multiply(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                              const hemera_ciphertext* b, hemera_ciphertext** product) {
  HEMERA_C_OPERANDS(product);
  HEMERA_C_REQUIRE(b);
  return evaluated(product, [&] { return with.multiply(first, b->ciphertext); });
}

hemera_status hemera_add_number(const hemera_evaluator* evaluator, const hemera_ciphertext* a, double b,
                                hemera_ciphertext** sum) {
  HEMERA_C_OPERANDS(sum);
  return evaluated(sum, [&] { return with.add_scalar(first, b); });
}

hemera_status hemera_multiply_number(const hemera_evaluator* evaluator, const hemera_ciphertext* a, double b,
                                     hemera_ciphertext** product) {
  HEMERA_C_OPERANDS(product);
  return evaluated(product, [&] { return with.multiply_scalar(first, b); });
}

hemera_status hemera_rotate(const hemera_evaluator* evaluator, const hemera_ciphertext* a, int64_t steps,
                            hemera_ciphertext** turned) {
  HEMERA_C_OPERANDS(turned);
  return evaluated(turned, [&] { return with.rotate(first, steps); });
}

hemera_status hemera_conjugate(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                               hemera_ciphertext** conjugate) {
  HEMERA_C_OPERANDS(conjugate);
  return evaluated(conjugate, [&] { return with.conjugate(first); });
}

hemera_status hemera_shrink(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                            hemera_ciphertext** shrunk) {
  HEMERA_C_OPERANDS(shrunk);
  return evaluated(shrunk, [&] { return with.shrink(first); });
}
