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
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, std::vector<Ciphertext>, const std::map<std::string, std::string>&);
std::vector<Plaintext> dot_product__preprocessing(CryptoContext cc);
std::vector<Ciphertext> dot_product__preprocessed(CryptoContext cc, SecretKey sk, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1, const std::vector<Plaintext>& v2);
std::vector<Ciphertext> dot_product(CryptoContext cc, SecretKey sk, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1);
std::vector<Ciphertext> dot_product__encrypt__arg0(CryptoContext cc, std::vector<int16_t> v0, PublicKey pk);
std::vector<Ciphertext> dot_product__encrypt__arg1(CryptoContext cc, std::vector<int16_t> v0, PublicKey pk);
int16_t dot_product__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters dot_product__parameters();
CryptoContext dot_product__generate_crypto_context();
CryptoContext dot_product__configure_crypto_context(CryptoContext cc, SecretKey sk);
