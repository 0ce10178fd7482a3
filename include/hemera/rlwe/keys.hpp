// Secret, public and evaluation keys.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// The secret polynomial s, in evaluation form over U u P. Its memory is zeroed on release.
struct SecretKey {
  std::shared_ptr<const Context> context;
  poly::Poly poly;  // [1, 1, limb, N]
};

/// An encryption of zero over Context::public_key_base(): (-a s + e, a) (BGV: t e).
struct PublicKey {
  std::shared_ptr<const Context> context;
  poly::Poly poly;  // [1, 2, limb, N], evaluation form
  /// The uniform half a is this stream.
  std::optional<poly::RandomStream> seed;
};

/// Turns a ciphertext part under one secret into one under another, at levels up to `level`:
/// digit d holds (-a_d s_to + e_d + P g_d s_from, a_d) over key_base(level) (BGV: t e_d), where the gadget
/// element g_d is 2^shift modulo the digit's primes and 0 modulo the others.
struct SwitchingKey {
  std::shared_ptr<const Context> context;
  std::size_t level = 0;
  poly::Poly poly;  // [digit, 2, limb, N], evaluation form
  std::optional<poly::RandomStream> seed;
};

/// What a server needs to evaluate: nothing in it decrypts.
struct EvaluationKeys {
  std::shared_ptr<const Context> context;
  std::shared_ptr<const PublicKey> public_key;          // may be null
  std::shared_ptr<const SwitchingKey> relinearization;  // s^2 -> s; may be null
  /// By Galois element g: s -> image of s under 1/g.
  std::map<std::uint64_t, std::shared_ptr<const SwitchingKey>> galois;
};

/// A fresh secret of the context's distribution.
SecretKey generate_secret_key(const std::shared_ptr<const Context>& context);

PublicKey generate_public_key(const SecretKey& secret);

/// A key from s_from to s_to for levels up to `level`. Both secrets over key_base().
SwitchingKey generate_switching_key(const SecretKey& from, const SecretKey& to, std::size_t level);

/// s^2 -> s.
SwitchingKey generate_relinearization_key(const SecretKey& secret, std::size_t level);

/// Key of one Galois element (odd, below 2N; ParameterError otherwise).
SwitchingKey generate_galois_key(const SecretKey& secret, std::uint64_t galois_element, std::size_t level);

struct KeyRequest {
  bool public_key = true;
  bool relinearization = true;
  /// Slot rotations; each gets the key of its Galois element.
  std::vector<std::int64_t> rotations = {};
  /// CKKS conjugation, BFV and BGV exchange of rows.
  bool conjugation = false;
  /// Highest level of the Galois keys; empty: the top.
  std::optional<std::size_t> galois_level = std::nullopt;
};
EvaluationKeys generate_keys(const SecretKey& secret, const KeyRequest& request);

/// Fills the uniform half (component 1) of a key's or ciphertext's polynomial from its seed: the rule of
/// poly/random.hpp with polynomial index = batch index.
void expand_uniform_half(const Context& context, poly::Poly& poly, const poly::RandomStream& seed);

}  // namespace hemera::rlwe
