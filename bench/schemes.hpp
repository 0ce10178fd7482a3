// Operations under the same names for every scheme, for their benchmarks.
#pragma once

#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::bench {

struct Ckks {
  using Evaluator = ckks::Evaluator;
  using Encoder = ckks::Encoder;
  static rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key) {
    return ckks::encrypt(plaintext, key);
  }
  static rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key) {
    return ckks::decrypt(ciphertext, key);
  }
};

struct Bfv {
  using Evaluator = bfv::Evaluator;
  using Encoder = integer::Encoder;
  static rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key) {
    return bfv::encrypt(plaintext, key);
  }
  static rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key) {
    return bfv::decrypt(ciphertext, key);
  }
};

struct Bgv {
  using Evaluator = bgv::Evaluator;
  using Encoder = integer::Encoder;
  static rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key) {
    return bgv::encrypt(plaintext, key);
  }
  static rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key) {
    return bgv::decrypt(ciphertext, key);
  }
};

}  // namespace hemera::bench
