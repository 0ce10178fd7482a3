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
std::vector<Plaintext> conv_1d__preprocessing(CryptoContext cc, std::vector<float> v0);
std::vector<Ciphertext> conv_1d__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, Ciphertext ct, const std::vector<Plaintext>& v2);
std::vector<Ciphertext> conv_1d(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, Ciphertext ct);
Ciphertext conv_1d__encrypt__zero__0(CryptoContext cc, PublicKey pk);
std::vector<Ciphertext> conv_1d__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk);
std::vector<float> conv_1d__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters conv_1d__parameters();
CryptoContext conv_1d__generate_crypto_context();
CryptoContext conv_1d__configure_crypto_context(CryptoContext cc, SecretKey sk);
