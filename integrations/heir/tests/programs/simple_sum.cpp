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
std::vector<Plaintext> simple_sum__preprocessing(CryptoContext cc) {
  auto v0 = runs<int16_t>({{1, 1}, {1023, 0}});
  auto v1 = runs<int16_t>({{31, 0}, {1, 1}, {992, 0}});
  [[maybe_unused]] size_t v2 = 0;
  [[maybe_unused]] size_t v3 = 1;
  std::vector<Plaintext> v4(2);
  const auto pt = cc.encode(v1);
  v4[0] = pt;
  const auto pt1 = cc.encode(v0);
  v4[1] = pt1;
  return v4;
}
std::vector<Ciphertext> simple_sum__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, const std::vector<Plaintext>& v1) {
  [[maybe_unused]] size_t v2 = 0;
  [[maybe_unused]] size_t v3 = 31;
  [[maybe_unused]] size_t v4 = 1;
  [[maybe_unused]] size_t v5 = 2;
  [[maybe_unused]] size_t v6 = 4;
  [[maybe_unused]] size_t v7 = 8;
  [[maybe_unused]] size_t v8 = 16;
  Ciphertext ct = v0[0];
  const auto ct1 = cc.rotate(ct, 1);
  const auto ct2 = cc.add(ct, ct1);
  const auto ct3 = cc.rotate(ct2, 2);
  const auto ct4 = cc.add(ct2, ct3);
  const auto ct5 = cc.rotate(ct4, 4);
  const auto ct6 = cc.add(ct4, ct5);
  const auto ct7 = cc.rotate(ct6, 8);
  const auto ct8 = cc.add(ct6, ct7);
  const auto ct9 = cc.rotate(ct8, 16);
  const auto ct10 = cc.add(ct8, ct9);
  Plaintext pt = v1[0];
  const auto ct11 = cc.multiply(ct10, pt);
  const auto ct12 = cc.rotate(ct11, 31);
  Plaintext pt1 = v1[1];
  std::vector<Ciphertext> v9(1);
  const auto ct13 = cc.multiply(ct12, pt1);
  v9[0] = ct13;
  return v9;
}
std::vector<Ciphertext> simple_sum(CryptoContext cc, std::vector<Ciphertext> v0) {
  const auto& v1 = simple_sum__preprocessing(cc);
  const auto& v2 = simple_sum__preprocessed(cc, v0, v1);
  return v2;
}
std::vector<Ciphertext> simple_sum__encrypt__arg0(CryptoContext cc, std::vector<int16_t> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<int16_t> v3(1024, 0);
  [[maybe_unused]] int32_t v4 = 32;
  [[maybe_unused]] int32_t v5 = 1024;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<int16_t> v7 = std::move(v3);
  for (auto v8 = 0; v8 < 32; v8 += 1) {
    std::vector<int16_t> v10 = std::move(v7);
    for (auto v11 = v8; v11 < 1024; v11 += 32) {
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
int16_t simple_sum__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] size_t v1 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v2 = cc.decode<int16_t>(pt, 1024);
  int16_t v3 = v2[0 + 1024 * (0)];
  return v3;
}
Parameters simple_sum__parameters() {
  Parameters params;
  params.scheme = Scheme::bgv;
  params.depth = 2;
  params.slots = 1024;
  params.plain_modulus = 65537;
  params.terms = 11;
  return params;
}
CryptoContext simple_sum__generate_crypto_context() {
  const auto& params = simple_sum__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext simple_sum__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {1, 2, 4, 8, 16, 31}});
  return cc1;
}
