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
std::vector<float> _assign_layout_1(std::vector<float> v0);
std::vector<float> _assign_layout_2(std::vector<float> v0);
std::vector<float> _assign_layout_3(std::vector<float> v0);
std::vector<Plaintext> mnist__preprocessing(CryptoContext cc, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3);
std::vector<Ciphertext> mnist__preprocessed(CryptoContext cc, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3, std::vector<Ciphertext> v4, Ciphertext ct, Ciphertext ct1, const std::vector<Plaintext>& v5);
std::vector<Ciphertext> mnist(CryptoContext cc, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3, std::vector<Ciphertext> v4, Ciphertext ct, Ciphertext ct1);
Ciphertext mnist__encrypt__zero__1(CryptoContext cc, PublicKey pk);
Ciphertext mnist__encrypt__zero__0(CryptoContext cc, PublicKey pk);
std::vector<Ciphertext> mnist__encrypt__arg4(CryptoContext cc, std::vector<float> v0, PublicKey pk);
std::vector<float> mnist__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters mnist__parameters();
CryptoContext mnist__generate_crypto_context();
CryptoContext mnist__configure_crypto_context(CryptoContext cc, SecretKey sk);
