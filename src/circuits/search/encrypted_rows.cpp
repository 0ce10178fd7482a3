#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "hemera/arith/modulus.hpp"
#include "hemera/circuits/search/encrypted_database.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {

EncryptedRows encrypt_rows(const rlwe::SecretKey& secret, std::span<const std::int64_t> values,
                           std::size_t dims, int shift) {
  using poly::Form;
  const rlwe::Context& context = *secret.context;
  const std::size_t degree = context.degree();
  const std::size_t count = values.size() / QueryLayout(degree, dims).dims;
  if (count < 1 || count > degree || count * dims != values.size()) {
    throw ParameterError("search: " + std::to_string(values.size()) + " numbers are no whole rows of " +
                         std::to_string(dims) + ", of which a block has 1 to " + std::to_string(degree));
  }
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::RnsBase& base = context.base(context.top_level());
  const std::size_t limbs = base.size();
  poly::Poly message = context.make_poly(dims, 1, base, Form::coefficient, runtime::Secrecy::secret);
  backend.upload_rows(queue, message.view(), Form::coefficient,
                      [&](std::size_t first, std::span<std::uint64_t> rows) {
                        std::fill(rows.begin(), rows.end(), 0);
                        for (std::size_t row = first; row < first + rows.size() / degree; ++row) {
                          const arith::Modulus& q = base.modulus(row % limbs);
                          const std::uint64_t factor = q.power(2, static_cast<std::uint64_t>(shift));
                          for (std::size_t r = 0; r < count; ++r) {
                            rows[(row - first) * degree + r] =
                                q.multiply(q.reduce_signed(values[r * dims + row / limbs]), factor);
                          }
                        }
                      });
  backend.forward_transform(queue, message.view(), message.view(), base);
  rlwe::Metadata meta;
  meta.batch = {dims};
  meta.level = context.top_level();
  meta.scale = context.parameters().scale();
  meta.slots = context.parameters().max_slots();
  const rlwe::Ciphertext encrypted =
      rlwe::encrypt_zero(secret, std::move(meta), std::as_const(message).view());
  EncryptedRows rows{.count = count, .dims = dims, .seed = encrypted.seed.value(), .numbers = {}};
  rows.numbers.resize(dims * limbs * degree);
  backend.download(queue, rows.numbers, encrypted.poly.view().components(0, 1), Form::evaluation);
  queue.synchronize();
  return rows;
}

}  // namespace hemera::circuits::search
