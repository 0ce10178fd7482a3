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
std::vector<Ciphertext> box_blur(CryptoContext cc, std::vector<Ciphertext> v0) {
  [[maybe_unused]] size_t v1 = 0;
  [[maybe_unused]] size_t v2 = 15;
  [[maybe_unused]] size_t v3 = 224;
  [[maybe_unused]] size_t v4 = 17;
  Ciphertext ct = v0[0];
  const auto ct1_rotations = cc.rotate_hoisted(ct, {224, 240, 31});
  const auto ct1 = ct1_rotations[0];
  const auto ct2 = ct1_rotations[1];
  const auto ct3 = ct1_rotations[2];
  const auto ct4 = cc.add(ct1, ct2);
  const auto ct5 = cc.add(ct4, ct);
  const auto ct6 = cc.rotate(ct5, 15);
  const auto ct7 = cc.add(ct6, ct2);
  const auto ct8 = cc.add(ct7, ct);
  const auto ct9 = cc.rotate(ct8, 15);
  const auto ct10 = cc.add(ct9, ct3);
  const auto ct11 = cc.add(ct10, ct);
  const auto ct12 = cc.rotate(ct11, 224);
  const auto ct13 = cc.add(ct12, ct2);
  const auto ct14 = cc.add(ct13, ct);
  std::vector<Ciphertext> v5(1);
  const auto ct15 = cc.rotate(ct14, 17);
  v5[0] = ct15;
  return v5;
}
std::vector<Ciphertext> box_blur__encrypt__arg0(CryptoContext cc, std::vector<int16_t> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<int16_t> v3(1024, 0);
  [[maybe_unused]] int32_t v4 = 256;
  [[maybe_unused]] int32_t v5 = 1024;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<int16_t> v7 = std::move(v3);
  for (auto v8 = 0; v8 < 256; v8 += 1) {
    std::vector<int16_t> v10 = std::move(v7);
    for (auto v11 = v8; v11 < 1024; v11 += 256) {
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
std::vector<int16_t> box_blur__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] int32_t v1 = 768;
  std::vector<int16_t> v2(256, 0);
  [[maybe_unused]] int32_t v3 = 0;
  [[maybe_unused]] int32_t v4 = 255;
  [[maybe_unused]] int32_t v5 = 1;
  [[maybe_unused]] int32_t v6 = 256;
  [[maybe_unused]] int32_t v7 = 1024;
  [[maybe_unused]] size_t v8 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v9 = cc.decode<int16_t>(pt, 1024);
  std::vector<int16_t> v10 = std::move(v2);
  for (auto v11 = 0; v11 < 256; v11 += 1) {
    int32_t v13 = v4 - v11;
    std::vector<int16_t> v14 = std::move(v10);
    for (auto v15 = v13; v15 < 1024; v15 += 256) {
      int32_t v17 = v11 + v1;
      int32_t v18 = (v17 / v6) - ((v17 % v6 != 0) && ((v17 < 0) != (v6 < 0)));
      int32_t v19 = v18 * v6;
      int32_t v20 = v13 + v19;
      int32_t v21 = v15 - v13;
      int32_t v22 = v20 - v21;
      size_t v23 = static_cast<size_t>(v22);
      int16_t v24 = v9[v23 + 1024 * (0)];
      size_t v25 = static_cast<size_t>(v13);
      v14[v25] = v24;
    }
    v10 = std::move(v14);
  }
  return v10;
}
Parameters box_blur__parameters() {
  Parameters params;
  params.scheme = Scheme::bgv;
  params.depth = 0;
  params.slots = 1024;
  params.plain_modulus = 786433;
  params.terms = 15;
  return params;
}
CryptoContext box_blur__generate_crypto_context() {
  const auto& params = box_blur__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext box_blur__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {15, 17, 31, 224, 240}});
  return cc1;
}
