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
std::vector<Ciphertext> box_blur(CryptoContext cc, std::vector<Ciphertext> v0);
std::vector<Ciphertext> box_blur__encrypt__arg0(CryptoContext cc, std::vector<int16_t> v0, PublicKey pk);
std::vector<int16_t> box_blur__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters box_blur__parameters();
CryptoContext box_blur__generate_crypto_context();
CryptoContext box_blur__configure_crypto_context(CryptoContext cc, SecretKey sk);
