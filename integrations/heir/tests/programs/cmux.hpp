#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hemera_heir/hemera_heir.hpp"  // of Hemera: integrations/heir/include

                                     using namespace hemera::heir;
std::vector<Plaintext> cmux__preprocessing(CryptoContext cc, int64_t v0, int64_t v1);
std::vector<Ciphertext> cmux__preprocessed(CryptoContext cc, int64_t v0, int64_t v1, std::vector<Ciphertext> v2, const std::vector<Plaintext>& v3);
std::vector<Ciphertext> cmux(CryptoContext cc, int64_t v0, int64_t v1, std::vector<Ciphertext> v2);
std::vector<Ciphertext> cmux__encrypt__arg2(CryptoContext cc, bool v0, PublicKey pk);
int64_t cmux__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters cmux__parameters();
CryptoContext cmux__generate_crypto_context();
CryptoContext cmux__configure_crypto_context(CryptoContext cc, SecretKey sk);
