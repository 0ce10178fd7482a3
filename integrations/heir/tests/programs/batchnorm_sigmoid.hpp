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
std::vector<Plaintext> batchnorm_sigmoid__preprocessing(CryptoContext cc, float v0, float v1, float v2, float v3);
std::vector<Ciphertext> batchnorm_sigmoid__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, float v1, float v2, float v3, float v4, const std::vector<Plaintext>& v5);
std::vector<Ciphertext> batchnorm_sigmoid(CryptoContext cc, std::vector<Ciphertext> v0, float v1, float v2, float v3, float v4);
std::vector<Ciphertext> batchnorm_sigmoid__encrypt__arg0(CryptoContext cc, float v0, PublicKey pk);
float batchnorm_sigmoid__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters batchnorm_sigmoid__parameters();
CryptoContext batchnorm_sigmoid__generate_crypto_context();
CryptoContext batchnorm_sigmoid__configure_crypto_context(CryptoContext cc, SecretKey sk);
