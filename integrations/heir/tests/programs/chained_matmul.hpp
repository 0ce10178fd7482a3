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
std::vector<Plaintext> chained_matmul__preprocessing(CryptoContext cc, std::vector<double> v0, std::vector<double> v1);
std::vector<Ciphertext> chained_matmul__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<double> v1, std::vector<double> v2, const std::vector<Plaintext>& v3);
std::vector<Ciphertext> chained_matmul(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<double> v1, std::vector<double> v2);
std::vector<Ciphertext> chained_matmul__encrypt__arg0(CryptoContext cc, std::vector<double> v0, PublicKey pk);
std::vector<double> chained_matmul__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk);
Parameters chained_matmul__parameters();
CryptoContext chained_matmul__generate_crypto_context();
CryptoContext chained_matmul__configure_crypto_context(CryptoContext cc, SecretKey sk);
