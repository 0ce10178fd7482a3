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
std::vector<Plaintext> dot_product__preprocessing(CryptoContext cc) {
  auto v0 = runs<float>({{1, 1}, {1023, 0}});
  std::vector<float> v1(1024, 0.100000001);
  [[maybe_unused]] size_t v2 = 0;
  [[maybe_unused]] size_t v3 = 1;
  std::vector<Plaintext> v4(2);
  const auto pt = cc.encode(v1);
  v4[0] = pt;
  const auto pt1 = cc.encode(v0);
  v4[1] = pt1;
  return v4;
}
std::vector<Ciphertext> dot_product__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 1;
  [[maybe_unused]] size_t v5 = 2;
  [[maybe_unused]] size_t v6 = 4;
  Ciphertext ct = v0[0];
  Ciphertext ct1 = v1[0];
  const auto ct2 = cc.multiply(ct, ct1);
  const auto ct3 = cc.relinearize(ct2);
  const auto ct4 = cc.rotate(ct3, 1);
  const auto ct5 = cc.add(ct3, ct4);
  const auto ct6 = cc.rotate(ct5, 2);
  const auto ct7 = cc.add(ct5, ct6);
  const auto ct8 = cc.rotate(ct7, 4);
  Plaintext pt = v2[0];
  const auto ct9 = cc.add(ct7, pt);
  const auto ct10 = cc.add(ct9, ct8);
  const auto ct11 = cc.rescale(ct10);
  Plaintext pt1 = v2[1];
  const auto ct12 = cc.multiply(ct11, pt1);
  std::vector<Ciphertext> v7(1);
  const auto ct13 = cc.rescale(ct12);
  v7[0] = ct13;
  return v7;
}
std::vector<Ciphertext> dot_product(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1) {
  const auto& v2 = dot_product__preprocessing(cc);
  const auto& v3 = dot_product__preprocessed(cc, v0, v1, v2);
  return v3;
}
std::vector<Ciphertext> dot_product__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<float> v3(1024, 0);
  [[maybe_unused]] int32_t v4 = 8;
  [[maybe_unused]] int32_t v5 = 1024;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<float> v7 = std::move(v3);
  for (auto v8 = 0; v8 < 8; v8 += 1) {
    std::vector<float> v10 = std::move(v7);
    for (auto v11 = v8; v11 < 1024; v11 += 8) {
      size_t v13 = static_cast<size_t>(v8);
      float v14 = v0[v13];
      size_t v15 = static_cast<size_t>(v11);
      v10[v15 + 1024 * (0)] = v14;
    }
    v7 = std::move(v10);
  }
  std::vector<float> v17(1 * 1024);
  for (int64_t v17_i0 = 0; v17_i0 < 1; ++v17_i0) {
    for (int64_t v17_i1 = 0; v17_i1 < 1024; ++v17_i1) {
      v17[v17_i1 + 1024 * (v17_i0)] = v7[0 + v17_i1 * 1 + 1024 * (0 + v17_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v17);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v18 = {ct};
  return v18;
}
std::vector<Ciphertext> dot_product__encrypt__arg1(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<float> v3(1024, 0);
  [[maybe_unused]] int32_t v4 = 8;
  [[maybe_unused]] int32_t v5 = 1024;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<float> v7 = std::move(v3);
  for (auto v8 = 0; v8 < 8; v8 += 1) {
    std::vector<float> v10 = std::move(v7);
    for (auto v11 = v8; v11 < 1024; v11 += 8) {
      size_t v13 = static_cast<size_t>(v8);
      float v14 = v0[v13];
      size_t v15 = static_cast<size_t>(v11);
      v10[v15 + 1024 * (0)] = v14;
    }
    v7 = std::move(v10);
  }
  std::vector<float> v17(1 * 1024);
  for (int64_t v17_i0 = 0; v17_i0 < 1; ++v17_i0) {
    for (int64_t v17_i1 = 0; v17_i1 < 1024; ++v17_i1) {
      v17[v17_i1 + 1024 * (v17_i0)] = v7[0 + v17_i1 * 1 + 1024 * (0 + v17_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v17);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v18 = {ct};
  return v18;
}
float dot_product__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] size_t v1 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v2 = cc.decode<float>(pt, 1024);
  float v3 = v2[0 + 1024 * (0)];
  return v3;
}
Parameters dot_product__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 2;
  params.slots = 1024;
  params.scale_bits = 45;
  params.first_bits = 55;
  return params;
}
CryptoContext dot_product__generate_crypto_context() {
  const auto& params = dot_product__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext dot_product__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{true, {1, 2, 4}});
  return cc1;
}
