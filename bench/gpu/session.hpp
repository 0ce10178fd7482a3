// Keys, values and ciphertexts of one set on the device, and the calls that are timed on them.
#pragma once

#include <complex>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/timer.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::gpu_bench {

using Complex = std::complex<double>;
using Values = std::vector<Complex>;

/// A client with all keys, which live for all levels and batches of a set.
struct Client {
  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  std::unique_ptr<rlwe::Evaluator> evaluator;

  /// `rotations`: keys for steps 1 to 8, else for step 1 alone.
  Client(const rlwe::Parameters& parameters, runtime::Device device, bool rotations, rlwe::Storage storage);

  [[nodiscard]] bool ckks() const { return context->scheme() == rlwe::Scheme::ckks; }
  /// Slots of one object: N/2 complex numbers, or N integers modulo t.
  [[nodiscard]] std::size_t slots() const { return ckks() ? context->degree() / 2 : context->degree(); }
  [[nodiscard]] rlwe::Plaintext encode(const Values& values, std::size_t batch, std::size_t level) const;
  [[nodiscard]] Values decode(const rlwe::Plaintext& plaintext) const;
  [[nodiscard]] rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, bool with_public_key) const;
  [[nodiscard]] rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext) const;
};

/// Operands of one batch at one level.
struct Operands {
  const Client& client;
  std::size_t batch;
  std::size_t level;
  Values a, b;
  rlwe::Plaintext plain_a, plain_b;
  rlwe::Ciphertext x, y;

  Operands(const Client& owner, std::size_t batch_size, std::size_t at_level);

  /// The values that an operation gives slot by slot, as the scheme sees them.
  [[nodiscard]] Values expected(const std::function<Complex(std::size_t)>& slot) const;
  /// Every slot of this batch index turned left.
  [[nodiscard]] std::size_t rotated(std::size_t slot, std::size_t steps) const;
  [[nodiscard]] bool holds(const rlwe::Ciphertext& ciphertext, const Values& values) const;
  [[nodiscard]] bool same(const Values& values, const Values& wanted) const;
};

/// A GPU beside this one that copies can come from; nothing where it is alone.
std::optional<runtime::Device> other_gpu(runtime::Device device);

/// Names of the operations, as rows have them.
const std::vector<std::string>& operations();

/// Whether the scheme has the operation at this level: `rescale` is of CKKS, `mod_switch` of BFV and BGV; and
/// the machine: `copy_between_gpus` takes two GPUs.
bool has(const Operands& operands, const std::string& operation);

Call make_call(const Operands& operands, const std::string& operation);

/// The steps of a relinearization, and what is around them: "mod_up", "key_inner_product", "mod_down",
/// "relinearize". Without special primes there is no division.
Call make_switch_step(const Operands& operands, const std::string& step);

/// Transforms of the first `limbs` primes.
Call make_transform(const Client& client, std::size_t batch, std::size_t limbs, bool inverse);

}  // namespace hemera::gpu_bench
