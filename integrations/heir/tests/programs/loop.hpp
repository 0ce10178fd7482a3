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
void __heir_debug(CryptoContext, SecretKey, std::vector<Ciphertext>, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, std::vector<Ciphertext>, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, std::vector<Ciphertext>, const std::map<std::string, std::string>&);
std::vector<Plaintext> loop__preprocessing(CryptoContext cc);
std::vector<Ciphertext> loop__preprocessed(CryptoContext cc, SecretKey sk, std::vector<Ciphertext> v0, const std::vector<Plaintext>& v1);
std::vector<Ciphertext> loop(CryptoContext cc, SecretKey sk, std::vector<Ciphertext> v0);
std::vector<Ciphertext> loop__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk);
std::vector<float> loop__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters loop__parameters();
CryptoContext loop__generate_crypto_context();
CryptoContext loop__configure_crypto_context(CryptoContext cc, SecretKey sk);
