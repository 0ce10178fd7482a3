#include "circuits/imaginary_unit.hpp"

#include <complex>
#include <span>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/schemes/ckks.hpp"
#include "rlwe/key_storage.hpp"

namespace hemera::circuits {

using rlwe::Ciphertext;

rlwe::Plaintext imaginary_unit(const rlwe::ContextPointer& context, std::size_t level, int sign) {
  const std::complex<double> i(0, sign);
  return rlwe::stored_plaintext(ckks::Encoder(context).encode_over(context->base(level), std::span(&i, 1), {},
                                                                   level, 1, ckks::Stored::one_period, 1));
}

Ciphertext times_i(const Ciphertext& x, const rlwe::Plaintext& i) {
  const rlwe::Context& context = *x.context;
  Ciphertext result = rlwe::make_ciphertext(x.context, x.meta, x.size());
  context.backend().multiply(context.queue(), result.poly.view(), x.poly.view(), i.poly.view(),
                             context.base(x.meta.level));
  return result;
}

}  // namespace hemera::circuits
