#include "hemera/circuits/search/query.hpp"

#include <memory>
#include <string>
#include <utility>

#include "circuits/search/message.hpp"
#include "hemera/arith/modulus.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {

using poly::Form;

rlwe::EvaluationKeys generate_keys(const rlwe::SecretKey& secret, bool encrypted_rows) {
  const rlwe::Context& context = *secret.context;
  rlwe::EvaluationKeys keys;
  keys.context = secret.context;
  for (const std::uint64_t element : galois_elements(context.degree())) {
    keys.add(rlwe::KeyRole::galois(element),
             std::make_shared<const rlwe::SwitchingKey>(
                 rlwe::generate_galois_key(secret, element, context.top_level())));
  }
  if (encrypted_rows) {
    keys.add(rlwe::KeyRole::relinearization(),
             std::make_shared<const rlwe::SwitchingKey>(
                 rlwe::generate_relinearization_key(secret, context.top_level())));
  }
  return keys;
}

Query encrypt(const rlwe::SecretKey& secret, std::span<const std::int64_t> values, std::size_t dims,
              int shift) {
  const rlwe::Context& context = *secret.context;
  const QueryLayout layout(context.degree(), dims);
  const std::size_t count = values.size() / dims;
  if (count == 0 || count * dims != values.size()) {
    throw ParameterError("search: " + std::to_string(values.size()) + " numbers are no whole queries of " +
                         std::to_string(dims));
  }
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::RnsBase& base = context.base(context.top_level());
  const std::size_t limbs = base.size(), degree = context.degree();

  const rlwe::Ciphertext encrypted =
      encrypt_coefficients(secret, count, dims, layout.stride, shift,
                           [&](std::size_t query, std::size_t j) { return values[query * dims + j]; });

  poly::Poly b = context.make_poly(count, 1, base, Form::coefficient);
  backend.inverse_transform(queue, b.view(), encrypted.poly.view().components(0, 1), base);
  Query query{.count = count, .dims = dims, .seed = encrypted.seed.value(), .numbers = {}};
  query.numbers.resize(count * limbs * dims);
  backend.download_rows(queue, std::as_const(b).view(), Form::coefficient,
                        [&](std::size_t first, std::span<const std::uint64_t> rows) {
                          for (std::size_t row = 0; row < rows.size() / degree; ++row) {
                            for (std::size_t j = 0; j < dims; ++j) {
                              query.numbers[(first + row) * dims + j] =
                                  rows[row * degree + j * layout.stride];
                            }
                          }
                        });
  queue.synchronize();
  return query;
}

void add_message(const rlwe::Context& context, Query& query, std::span<const std::int64_t> values,
                 int shift) {
  const poly::RnsBase& base = context.base(context.top_level());
  const std::size_t limbs = base.size(), dims = query.dims;
  if (values.size() != query.count * dims || query.numbers.size() != values.size() * limbs) {
    throw MismatchError("search: " + std::to_string(values.size()) + " numbers for " +
                        std::to_string(query.count) + " queries of " + std::to_string(dims));
  }
  for (std::size_t i = 0; i < query.numbers.size(); ++i) {
    const arith::Modulus& q = base.modulus(i / dims % limbs);
    const std::uint64_t value = q.reduce_signed(values[i / (dims * limbs) * dims + i % dims]);
    const std::uint64_t factor = q.power(2, static_cast<std::uint64_t>(shift));
    query.numbers[i] = q.add(query.numbers[i], q.multiply(value, factor));
  }
}

std::vector<std::int64_t> decrypt(const rlwe::SecretKey& secret, const Answer& answer) {
  const rlwe::Context& context = *secret.context;
  const std::size_t degree = context.degree(), batch = answer.blocks * answer.count;
  const poly::RnsBase& base = context.base(0);
  if (batch == 0 || answer.numbers.size() != batch * 2 * degree) {
    throw MismatchError("search: an answer of " + std::to_string(answer.count) + " queries and " +
                        std::to_string(answer.blocks) + " blocks has " +
                        std::to_string(answer.numbers.size()) + " numbers, not two polynomials for each");
  }
  if (base.size() != 1 || answer.dropped_bits < 0 || answer.dropped_bits > most_dropped_bits) {
    throw MismatchError("search: an answer without its lowest " + std::to_string(answer.dropped_bits) +
                        " bits, over " + std::to_string(base.size()) + " primes; answers lack 0 to " +
                        std::to_string(most_dropped_bits) + " bits, and have one prime");
  }
  const arith::Modulus& q = base.modulus(0);
  const std::uint64_t largest =
      (q.value() - 1 + (std::uint64_t{1} << answer.dropped_bits) / 2) >> answer.dropped_bits;
  if (std::any_of(answer.numbers.begin(), answer.numbers.end(),
                  [&](std::uint64_t number) { return number > largest; })) {
    throw FormatError("search: the answer has a number that no residue rounds to");
  }
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();

  rlwe::Metadata meta;
  meta.batch = {batch};
  meta.scale = context.parameters().scale();
  meta.slots = context.parameters().max_slots();
  rlwe::Ciphertext ciphertext = rlwe::make_ciphertext(secret.context, std::move(meta), 2);
  backend.upload_rows(queue, ciphertext.poly.view(), Form::coefficient,
                      [&](std::size_t first, std::span<std::uint64_t> rows) {
                        for (std::size_t i = 0; i < rows.size(); ++i) {
                          // From [component, batch] to [batch, component].
                          const std::size_t row = first + i / degree;
                          const std::size_t at = (row % 2 * batch + row / 2) * degree + i % degree;
                          rows[i] = q.reduce(answer.numbers[at] << answer.dropped_bits);
                        }
                      });
  backend.forward_transform(queue, ciphertext.poly.view(), ciphertext.poly.view(), base);
  const poly::Poly phase = rlwe::decrypt_phase(ciphertext, secret, Form::coefficient);
  std::vector<std::int64_t> result(batch * degree);
  backend.download_rows(queue, phase.view(), Form::coefficient,
                        [&](std::size_t first, std::span<const std::uint64_t> rows) {
                          for (std::size_t row = first; row < first + rows.size() / degree; ++row) {
                            // From [block, query] to [query, block].
                            const std::size_t block = row / answer.count, query = row % answer.count;
                            std::int64_t* out = result.data() + (query * answer.blocks + block) * degree;
                            for (std::size_t i = 0; i < degree; ++i)
                              out[i] = q.centered(rows[(row - first) * degree + i]);
                          }
                        });
  queue.synchronize();
  return result;
}

}  // namespace hemera::circuits::search
