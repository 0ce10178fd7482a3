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
void __heir_debug(CryptoContext, SecretKey, std::vector<Ciphertext>, const std::map<std::string, std::string>&);
std::vector<Ciphertext> test_validate_lower(CryptoContext cc, SecretKey sk, std::vector<Ciphertext> v0);
std::vector<Ciphertext> test_validate_lower__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk);
std::vector<float> test_validate_lower__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters test_validate_lower__parameters();
CryptoContext test_validate_lower__generate_crypto_context();
CryptoContext test_validate_lower__configure_crypto_context(CryptoContext cc, SecretKey sk);
