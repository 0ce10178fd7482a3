#include "gpu/session.hpp"

#include <cmath>
#include <random>
#include <stdexcept>

#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"

namespace hemera::gpu_bench {
namespace {

using rlwe::Ciphertext;
using rlwe::Plaintext;

// For slots of magnitude 1 with CKKS: the sets differ in scale, and wrong results are off by far more.
constexpr double tolerance = 0x1p-7;

}  // namespace

Client::Client(const rlwe::Parameters& parameters, runtime::Device device, bool rotations,
               rlwe::Storage storage)
    : context(rlwe::Context::make(parameters, device, {.storage = storage})),
      secret(rlwe::generate_secret_key(context)) {
  rlwe::KeyRequest request;
  for (std::int64_t step = 1; step <= (rotations ? 8 : 1); ++step) request.rotations.push_back(step);
  evaluator = any_scheme::make_evaluator(context, rlwe::generate_keys(secret, request));
}

Plaintext Client::encode(const Values& values, std::size_t batch, std::size_t level) const {
  // At the scale of the top level everywhere: primes larger than the scale would let that of a low level
  // vanish.
  if (ckks()) return ckks::Encoder(context).encode(values, {batch}, level, context->parameters().scale());
  std::vector<std::int64_t> integers;
  for (const Complex& value : values) integers.push_back(static_cast<std::int64_t>(value.real()));
  return integer::Encoder(context).encode(integers, {batch});
}

Values Client::decode(const Plaintext& plaintext) const {
  if (ckks()) return ckks::Encoder(context).decode(plaintext);
  Values values;
  for (const std::int64_t value : integer::Encoder(context).decode(plaintext, false)) {
    values.emplace_back(static_cast<double>(value));
  }
  return values;
}

Ciphertext Client::encrypt(const Plaintext& plaintext, bool with_public_key) const {
  return with_public_key ? any_scheme::encrypt(plaintext, *evaluator->keys().public_key)
                         : any_scheme::encrypt(plaintext, secret);
}

Plaintext Client::decrypt(const Ciphertext& ciphertext) const {
  return any_scheme::decrypt(ciphertext, secret);
}

Operands::Operands(const Client& owner, std::size_t batch_size, std::size_t at_level)
    : client(owner), batch(batch_size), level(at_level) {
  std::mt19937_64 random(20261120);
  const std::uint64_t t = client.context->parameters().plain_modulus();
  const auto draw = [&] {
    Values values(batch * client.slots());
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (Complex& value : values) {
      value = client.ckks() ? Complex(uniform(random), uniform(random))
                            : Complex(static_cast<double>(random() % t));
    }
    return values;
  };
  a = draw();
  b = draw();
  plain_a = client.encode(a, batch, level);
  plain_b = client.encode(b, batch, level);
  x = client.encrypt(plain_a, true);
  y = client.encrypt(plain_b, false);
  for (Ciphertext* ciphertext : {&x, &y}) {
    if (ciphertext->meta.level > level) client.evaluator->drop_to_level_inplace(*ciphertext, level);
  }
}

Values Operands::expected(const std::function<Complex(std::size_t)>& slot) const {
  Values values(a.size());
  const auto t = static_cast<double>(client.context->parameters().plain_modulus());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = slot(i);
    if (!client.ckks()) values[i] = std::fmod(values[i].real(), t);
  }
  return values;
}

std::size_t Operands::rotated(std::size_t slot, std::size_t steps) const {
  const std::size_t row = client.context->degree() / 2;
  return slot / row * row + (slot + steps) % row;
}

bool Operands::same(const Values& values, const Values& wanted) const {
  if (values.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Written so that NaN is wrong.
    if (!(std::abs(values[i] - wanted[i]) <= (client.ckks() ? tolerance : 0))) return false;
  }
  return true;
}

bool Operands::holds(const Ciphertext& ciphertext, const Values& values) const {
  return same(client.decode(client.decrypt(ciphertext)), values);
}

}  // namespace hemera::gpu_bench
