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
  auto v0 = runs<int16_t>({{1, 1}, {1023, 0}});
  [[maybe_unused]] size_t v1 = 0;
  std::vector<Plaintext> v2(1);
  const auto pt = cc.encode(v0);
  v2[0] = pt;
  return v2;
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
  const auto ct9 = cc.add(ct7, ct8);
  Plaintext pt = v2[0];
  std::vector<Ciphertext> v7(1);
  const auto ct10 = cc.multiply(ct9, pt);
  v7[0] = ct10;
  return v7;
}
std::vector<Ciphertext> dot_product(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1) {
  const auto& v2 = dot_product__preprocessing(cc);
  const auto& v3 = dot_product__preprocessed(cc, v0, v1, v2);
  return v3;
}
std::vector<Ciphertext> dot_product__encrypt__arg0(CryptoContext cc, std::vector<int16_t> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<int16_t> v3(1024, 0);
  [[maybe_unused]] int32_t v4 = 8;
  [[maybe_unused]] int32_t v5 = 1024;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<int16_t> v7 = std::move(v3);
  for (auto v8 = 0; v8 < 8; v8 += 1) {
    std::vector<int16_t> v10 = std::move(v7);
    for (auto v11 = v8; v11 < 1024; v11 += 8) {
      size_t v13 = static_cast<size_t>(v8);
      int16_t v14 = v0[v13];
      size_t v15 = static_cast<size_t>(v11);
      v10[v15 + 1024 * (0)] = v14;
    }
    v7 = std::move(v10);
  }
  std::vector<int16_t> v17(1 * 1024);
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
std::vector<Ciphertext> dot_product__encrypt__arg1(CryptoContext cc, std::vector<int16_t> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<int16_t> v3(1024, 0);
  [[maybe_unused]] int32_t v4 = 8;
  [[maybe_unused]] int32_t v5 = 1024;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<int16_t> v7 = std::move(v3);
  for (auto v8 = 0; v8 < 8; v8 += 1) {
    std::vector<int16_t> v10 = std::move(v7);
    for (auto v11 = v8; v11 < 1024; v11 += 8) {
      size_t v13 = static_cast<size_t>(v8);
      int16_t v14 = v0[v13];
      size_t v15 = static_cast<size_t>(v11);
      v10[v15 + 1024 * (0)] = v14;
    }
    v7 = std::move(v10);
  }
  std::vector<int16_t> v17(1 * 1024);
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
int16_t dot_product__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] size_t v1 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v2 = cc.decode<int16_t>(pt, 1024);
  int16_t v3 = v2[0 + 1024 * (0)];
  return v3;
}
Parameters dot_product__parameters() {
  Parameters params;
  params.scheme = Scheme::bgv;
  params.depth = 2;
  params.slots = 1024;
  params.plain_modulus = 65537;
  params.terms = 6;
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
