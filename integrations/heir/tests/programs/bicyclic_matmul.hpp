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
std::vector<Plaintext> bicyclic_matmul__preprocessing(CryptoContext cc);
std::vector<Ciphertext> bicyclic_matmul__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1, const std::vector<Plaintext>& v2);
std::vector<Ciphertext> bicyclic_matmul(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1);
std::vector<Ciphertext> bicyclic_matmul__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk);
std::vector<Ciphertext> bicyclic_matmul__encrypt__arg1(CryptoContext cc, std::vector<float> v0, PublicKey pk);
std::vector<float> bicyclic_matmul__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters bicyclic_matmul__parameters();
CryptoContext bicyclic_matmul__generate_crypto_context();
CryptoContext bicyclic_matmul__configure_crypto_context(CryptoContext cc, SecretKey sk);
