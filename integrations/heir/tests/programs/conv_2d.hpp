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
std::vector<Plaintext> conv_2d__preprocessing(CryptoContext cc, std::vector<float> v0);
std::vector<Ciphertext> conv_2d__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, const std::vector<Plaintext>& v2);
std::vector<Ciphertext> conv_2d(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1);
std::vector<Ciphertext> conv_2d__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk);
std::vector<float> conv_2d__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters conv_2d__parameters();
CryptoContext conv_2d__generate_crypto_context();
CryptoContext conv_2d__configure_crypto_context(CryptoContext cc, SecretKey sk);
