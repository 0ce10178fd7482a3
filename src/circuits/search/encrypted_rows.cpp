#include <cstdint>
#include <string>

#include "circuits/search/message.hpp"
#include "hemera/circuits/search/encrypted_database.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {

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

}  // namespace hemera::circuits::search
