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
std::vector<Plaintext> matmul__preprocessing(CryptoContext cc, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3) {
  [[maybe_unused]] size_t v4 = 0;
  [[maybe_unused]] size_t v5 = 1;
  [[maybe_unused]] size_t v6 = 2;
  [[maybe_unused]] size_t v7 = 3;
  std::vector<Plaintext> v8(4);
  const auto pt = cc.encode(v0);
  v8[0] = pt;
  const auto pt1 = cc.encode(v1);
  v8[1] = pt1;
  const auto pt2 = cc.encode(v2);
  v8[2] = pt2;
  const auto pt3 = cc.encode(v3);
  v8[3] = pt3;
  return v8;
}
Ciphertext matmul__preprocessed(CryptoContext cc, Ciphertext ct, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3, const std::vector<Plaintext>& v4) {
  [[maybe_unused]] size_t v5 = 0;
  [[maybe_unused]] size_t v6 = 8;
  [[maybe_unused]] size_t v7 = 4;
  [[maybe_unused]] size_t v8 = 1;
  [[maybe_unused]] size_t v9 = 2;
  [[maybe_unused]] size_t v10 = 3;
  Plaintext pt = v4[0];
  const auto ct1 = cc.multiply(ct, pt);
  const auto ct2 = cc.rotate(ct, 4);
  Plaintext pt1 = v4[1];
  const auto ct3 = cc.multiply(ct2, pt1);
  const auto ct4 = cc.add(ct1, ct3);
  Plaintext pt2 = v4[2];
  const auto ct5 = cc.multiply(ct, pt2);
  Plaintext pt3 = v4[3];
  const auto ct6 = cc.multiply(ct2, pt3);
  const auto ct7 = cc.add(ct5, ct6);
  const auto ct8 = cc.rotate(ct7, 8);
  const auto ct9 = cc.add(ct4, ct8);
  const auto ct10 = cc.rescale(ct9);
  return ct10;
}
Ciphertext matmul(CryptoContext cc, Ciphertext ct, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3) {
  const auto& v4 = matmul__preprocessing(cc, v0, v1, v2, v3);
  const auto& ct1 = matmul__preprocessed(cc, ct, v0, v1, v2, v3, v4);
  return ct1;
}
Ciphertext matmul__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  const auto pt = cc.encode(v0);
  const auto ct = cc.encrypt(pt, pk);
  return ct;
}
std::vector<float> matmul__decrypt__result0(CryptoContext cc, Ciphertext ct, SecretKey sk) {
  const auto pt = cc.decrypt(ct, sk);
  auto v0 = cc.decode<float>(pt, 16);
  return v0;
}
Parameters matmul__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 1;
  params.slots = 16;
  params.scale_bits = 45;
  params.first_bits = 55;
  return params;
}
CryptoContext matmul__generate_crypto_context() {
  const auto& params = matmul__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext matmul__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {4, 8}});
  return cc1;
}
