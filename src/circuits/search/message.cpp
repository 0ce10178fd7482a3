#include "circuits/search/message.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "hemera/arith/modulus.hpp"
#include "hemera/circuits/search/encrypted_database.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"

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

EncryptedRows encrypt_rows(const rlwe::SecretKey& secret, std::span<const std::int64_t> values,
                           std::size_t dims, int shift) {
  const rlwe::Context& context = *secret.context;
  const std::size_t degree = context.degree();
  const std::size_t count = values.size() / QueryLayout(degree, dims).dims;
  if (count < 1 || count > degree || count * dims != values.size()) {
    throw ParameterError("search: " + std::to_string(values.size()) + " numbers are no whole rows of " +
                         std::to_string(dims) + ", of which a block has 1 to " + std::to_string(degree));
  }
  const rlwe::Ciphertext encrypted = encrypt_coefficients(
      secret, dims, count, 1, shift, [&](std::size_t j, std::size_t r) { return values[r * dims + j]; });
  EncryptedRows rows{.count = count, .dims = dims, .seed = encrypted.seed.value(), .numbers = {}};
  rows.numbers.resize(dims * context.base(context.top_level()).size() * degree);
  context.backend().download(context.queue(), rows.numbers, encrypted.poly.view().components(0, 1),
                             poly::Form::evaluation);
  context.queue().synchronize();
  return rows;
}

void require_residues(const Query& query, const poly::RnsBase& base) {
  const std::size_t limbs = base.size(), dims = query.dims;
  if (query.count == 0 || query.numbers.size() != query.count * limbs * dims) {
    throw MismatchError("search: " + std::to_string(query.count) + " queries of " + std::to_string(dims) +
                        " numbers over " + std::to_string(limbs) + " primes come with " +
                        std::to_string(query.numbers.size()) +
                        " residues; at least one whole query is needed");
  }
  for (std::size_t i = 0; i < query.numbers.size(); ++i) {
    if (query.numbers[i] >= base.modulus(i / dims % limbs).value()) {
      throw FormatError("search: the query has a number that is no residue");
    }
  }
}

}  // namespace hemera::circuits::search
