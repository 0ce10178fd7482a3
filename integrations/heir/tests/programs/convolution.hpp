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
std::vector<Plaintext> convolution__preprocessing(CryptoContext cc, std::vector<float> v0);
std::vector<Ciphertext> convolution__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, Ciphertext ct, const std::vector<Plaintext>& v2);
std::vector<Ciphertext> convolution(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, Ciphertext ct);
Ciphertext convolution__encrypt__zero__0(CryptoContext cc, PublicKey pk);
std::vector<Ciphertext> convolution__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk);
std::vector<float> convolution__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters convolution__parameters();
CryptoContext convolution__generate_crypto_context();
CryptoContext convolution__configure_crypto_context(CryptoContext cc, SecretKey sk);
