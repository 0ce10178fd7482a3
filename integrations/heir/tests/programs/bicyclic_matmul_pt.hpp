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
std::vector<float> _assign_layout_0(std::vector<float> v0);
std::vector<Plaintext> bicyclic_matmul_pt__preprocessing(CryptoContext cc, std::vector<float> v0);
std::vector<Ciphertext> bicyclic_matmul_pt__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, const std::vector<Plaintext>& v2);
std::vector<Ciphertext> bicyclic_matmul_pt(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1);
std::vector<Ciphertext> bicyclic_matmul_pt__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk);
std::vector<float> bicyclic_matmul_pt__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters bicyclic_matmul_pt__parameters();
CryptoContext bicyclic_matmul_pt__generate_crypto_context();
CryptoContext bicyclic_matmul_pt__configure_crypto_context(CryptoContext cc, SecretKey sk);
