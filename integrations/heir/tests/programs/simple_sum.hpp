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
std::vector<Plaintext> simple_sum__preprocessing(CryptoContext cc);
std::vector<Ciphertext> simple_sum__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, const std::vector<Plaintext>& v1);
std::vector<Ciphertext> simple_sum(CryptoContext cc, std::vector<Ciphertext> v0);
std::vector<Ciphertext> simple_sum__encrypt__arg0(CryptoContext cc, std::vector<int16_t> v0, PublicKey pk);
int16_t simple_sum__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters simple_sum__parameters();
CryptoContext simple_sum__generate_crypto_context();
CryptoContext simple_sum__configure_crypto_context(CryptoContext cc, SecretKey sk);
