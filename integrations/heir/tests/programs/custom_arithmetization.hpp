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
std::vector<Plaintext> matmul__preprocessing(CryptoContext cc, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3);
Ciphertext matmul__preprocessed(CryptoContext cc, Ciphertext ct, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3, const std::vector<Plaintext>& v4);
Ciphertext matmul(CryptoContext cc, Ciphertext ct, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3);
Ciphertext matmul__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk);
std::vector<float> matmul__decrypt__result0(CryptoContext cc, Ciphertext ct, SecretKey sk);
Parameters matmul__parameters();
CryptoContext matmul__generate_crypto_context();
CryptoContext matmul__configure_crypto_context(CryptoContext cc, SecretKey sk);
