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
std::vector<Plaintext> batchnorm_sigmoid__preprocessing(CryptoContext cc, float v0, float v1, float v2, float v3) {
  float v4 = 0.0000099999997473787516;
  [[maybe_unused]] size_t v5 = 0;
  [[maybe_unused]] size_t v6 = 1;
  [[maybe_unused]] size_t v7 = 2;
  std::vector<Plaintext> v8(3);
  float v9 = v2 + v4;
  const auto& v10 = std::sqrt(v9);
  float v11 = v1 / v10;
  std::vector<float> v12(1024, v3);
  const auto pt = cc.encode(v12);
  v8[0] = pt;
  std::vector<float> v13(1024, v11);
  const auto pt1 = cc.encode(v13);
  v8[1] = pt1;
  std::vector<float> v14(1024, v0);
  const auto pt2 = cc.encode(v14);
  v8[2] = pt2;
  return v8;
}
std::vector<Ciphertext> batchnorm_sigmoid__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, float v1, float v2, float v3, float v4, const std::vector<Plaintext>& v5) {
  [[maybe_unused]] size_t v6 = 0;
  float v7 = 0.0000099999997473787516;
  float v8 = 0;
  [[maybe_unused]] size_t v9 = 1;
  [[maybe_unused]] size_t v10 = 2;
  float v11 = v2 + v7;
  const auto& v12 = std::sqrt(v11);
  bool v13 = v12 != v8;
  assert(v13 && "variance is zero");
  (void)v13;
  Plaintext pt = v5[0];
  Ciphertext ct = v0[0];
  const auto ct1 = cc.subtract(ct, pt);
  Plaintext pt1 = v5[1];
  const auto ct2 = cc.multiply(ct1, pt1);
  Plaintext pt2 = v5[2];
  const auto ct3 = cc.add(ct2, pt2);
  const auto ct4 = cc.rescale(ct3);
  std::vector<Ciphertext> v14(1);
  const auto ct5 = cc.chebyshev(ct4, {0.49999999999999994, 0.23557141392402137, -1.205441055454829E-16, -0.0046200917354978863, -1.0481432972625034E-16, 1.0990368757323968E-4});
  v14[0] = ct5;
  return v14;
}
std::vector<Ciphertext> batchnorm_sigmoid(CryptoContext cc, std::vector<Ciphertext> v0, float v1, float v2, float v3, float v4) {
  const auto& v5 = batchnorm_sigmoid__preprocessing(cc, v4, v3, v2, v1);
  const auto& v6 = batchnorm_sigmoid__preprocessed(cc, v0, v1, v2, v3, v4, v5);
  return v6;
}
std::vector<Ciphertext> batchnorm_sigmoid__encrypt__arg0(CryptoContext cc, float v0, PublicKey pk) {
  std::vector<float> v1(1024, v0);
  const auto pt = cc.encode(v1);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v2 = {ct};
  return v2;
}
float batchnorm_sigmoid__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] size_t v1 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v2 = cc.decode<float>(pt, 1024);
  float v3 = v2[0 + 1024 * (0)];
  return v3;
}
Parameters batchnorm_sigmoid__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 4;
  params.slots = 1024;
  params.scale_bits = 45;
  params.first_bits = 55;
  return params;
}
CryptoContext batchnorm_sigmoid__generate_crypto_context() {
  const auto& params = batchnorm_sigmoid__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext batchnorm_sigmoid__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{true, {}});
  return cc1;
}
