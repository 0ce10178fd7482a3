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
std::vector<Plaintext> matvec__preprocessing(CryptoContext cc);
std::vector<Ciphertext> matvec__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, Ciphertext ct, const std::vector<Plaintext>& v1);
std::vector<Ciphertext> matvec(CryptoContext cc, std::vector<Ciphertext> v0, Ciphertext ct);
Ciphertext matvec__encrypt__zero__0(CryptoContext cc, PublicKey pk);
std::vector<Ciphertext> matvec__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk);
std::vector<float> matvec__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters matvec__parameters();
CryptoContext matvec__generate_crypto_context();
CryptoContext matvec__configure_crypto_context(CryptoContext cc, SecretKey sk);
