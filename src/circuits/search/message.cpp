#include "circuits/search/message.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"

namespace hemera::circuits::search {

rlwe::Ciphertext encrypt_coefficients(
    const rlwe::SecretKey& secret, std::size_t polynomials, std::size_t count, std::size_t stride, int shift,
    const std::function<std::int64_t(std::size_t polynomial, std::size_t i)>& value) {
  using poly::Form;
  const rlwe::Context& context = *secret.context;
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::RnsBase& base = context.base(context.top_level());
  const std::size_t limbs = base.size(), degree = context.degree();
  poly::Poly message = context.make_poly(polynomials, 1, base, Form::coefficient, runtime::Secrecy::secret);
  backend.upload_rows(queue, message.view(), Form::coefficient,
                      [&](std::size_t first, std::span<std::uint64_t> rows) {
                        std::fill(rows.begin(), rows.end(), 0);
                        for (std::size_t row = first; row < first + rows.size() / degree; ++row) {
                          const arith::Modulus& q = base.modulus(row % limbs);
                          const std::uint64_t factor = q.power(2, static_cast<std::uint64_t>(shift));
                          for (std::size_t i = 0; i < count; ++i) {
                            rows[(row - first) * degree + i * stride] =
                                q.multiply(q.reduce_signed(value(row / limbs, i)), factor);
                          }
                        }
                      });
  backend.forward_transform(queue, message.view(), message.view(), base);
  rlwe::Metadata meta;
  meta.batch = {polynomials};
  meta.level = context.top_level();
  meta.scale = context.parameters().scale();
  meta.slots = context.parameters().max_slots();
  return rlwe::encrypt_zero(secret, std::move(meta), std::as_const(message).view());
}

}  // namespace hemera::circuits::search
