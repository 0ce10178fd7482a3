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
std::vector<float> _assign_layout_2622016616426190590(std::vector<float> v0) {
  [[maybe_unused]] int32_t v1 = 4;
  [[maybe_unused]] int32_t v2 = 1;
  [[maybe_unused]] int32_t v3 = 3;
  [[maybe_unused]] int32_t v4 = 0;
  std::vector<float> v5(256, 0);
  [[maybe_unused]] int32_t v6 = 8;
  [[maybe_unused]] int32_t v7 = 32;
  std::vector<float> v8 = std::move(v5);
  for (auto v9 = 0; v9 < 4; v9 += 1) {
    std::vector<float> v11 = std::move(v8);
    for (auto v12 = 0; v12 < 32; v12 += 1) {
      int32_t v14 = v12 + v3;
      int32_t v15 = (v14 / v6) - ((v14 % v6 != 0) && ((v14 < 0) != (v6 < 0)));
      int32_t v16 = v15 * v6;
      int32_t v17 = v14 - v16;
      bool v18 = v17 >= v3;
      std::vector<float> v19;
      if (v18) {
        size_t v20 = static_cast<size_t>(v9);
        float v21 = v0[v20];
        size_t v22 = static_cast<size_t>(v12);
        v11[v22 + 32 * (v20)] = v21;
        v19 = std::move(v11);
      } else {
        v19 = std::move(v11);
      }
      v11 = std::move(v19);
    }
    v8 = std::move(v11);
  }
  return v8;
}
std::vector<Plaintext> conv_1d__preprocessing(CryptoContext cc, std::vector<float> v0) {
  [[maybe_unused]] size_t v1 = 0;
  [[maybe_unused]] size_t v2 = 1;
  [[maybe_unused]] size_t v3 = 2;
  [[maybe_unused]] size_t v4 = 3;
  std::vector<Plaintext> v5(4);
  const auto& v6 = _assign_layout_2622016616426190590(v0);
  std::vector<float> v7(1 * 32);
  for (int64_t v7_i0 = 0; v7_i0 < 1; ++v7_i0) {
    for (int64_t v7_i1 = 0; v7_i1 < 32; ++v7_i1) {
      v7[v7_i1 + 32 * (v7_i0)] = v6[0 + v7_i1 * 1 + 32 * (0 + v7_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v7);
  v5[0] = pt;
  std::vector<float> v8(1 * 32);
  for (int64_t v8_i0 = 0; v8_i0 < 1; ++v8_i0) {
    for (int64_t v8_i1 = 0; v8_i1 < 32; ++v8_i1) {
      v8[v8_i1 + 32 * (v8_i0)] = v6[0 + v8_i1 * 1 + 32 * (1 + v8_i0 * 1)];
    }
  }
  const auto pt1 = cc.encode(v8);
  v5[1] = pt1;
  std::vector<float> v9(1 * 32);
  for (int64_t v9_i0 = 0; v9_i0 < 1; ++v9_i0) {
    for (int64_t v9_i1 = 0; v9_i1 < 32; ++v9_i1) {
      v9[v9_i1 + 32 * (v9_i0)] = v6[0 + v9_i1 * 1 + 32 * (2 + v9_i0 * 1)];
    }
  }
  const auto pt2 = cc.encode(v9);
  v5[2] = pt2;
  std::vector<float> v10(1 * 32);
  for (int64_t v10_i0 = 0; v10_i0 < 1; ++v10_i0) {
    for (int64_t v10_i1 = 0; v10_i1 < 32; ++v10_i1) {
      v10[v10_i1 + 32 * (v10_i0)] = v6[0 + v10_i1 * 1 + 32 * (3 + v10_i0 * 1)];
    }
  }
  const auto pt3 = cc.encode(v10);
  v5[3] = pt3;
  return v5;
}
std::vector<Ciphertext> conv_1d__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 1;
  [[maybe_unused]] size_t v5 = 2;
  [[maybe_unused]] size_t v6 = 3;
  const auto& v7 = _assign_layout_2622016616426190590(v1);
  Plaintext pt = v2[0];
  Ciphertext ct = v0[0];
  const auto ct1 = cc.multiply(ct, pt);
  const auto ct2_rotations = cc.rotate_hoisted(ct, {1, 2, 3});
  const auto ct2 = ct2_rotations[0];
  const auto ct3 = ct2_rotations[1];
  const auto ct4 = ct2_rotations[2];
  Plaintext pt1 = v2[1];
  const auto ct5 = cc.multiply(ct2, pt1);
  Plaintext pt2 = v2[2];
  const auto ct6 = cc.multiply(ct3, pt2);
  Plaintext pt3 = v2[3];
  const auto ct7 = cc.multiply(ct4, pt3);
  const auto ct8 = cc.add(ct1, ct5);
  const auto ct9 = cc.add(ct6, ct7);
  const auto ct10 = cc.add(ct8, ct9);
  std::vector<Ciphertext> v8(1);
  const auto ct11 = cc.rescale(ct10);
  v8[0] = ct11;
  return v8;
}
std::vector<Ciphertext> conv_1d(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1) {
  const auto& v2 = conv_1d__preprocessing(cc, v1);
  const auto& v3 = conv_1d__preprocessed(cc, v0, v1, v2);
  return v3;
}
std::vector<Ciphertext> conv_1d__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<float> v3(32, 0);
  [[maybe_unused]] int32_t v4 = 8;
  [[maybe_unused]] int32_t v5 = 32;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<float> v7 = std::move(v3);
  for (auto v8 = 0; v8 < 8; v8 += 1) {
    std::vector<float> v10 = std::move(v7);
    for (auto v11 = v8; v11 < 32; v11 += 8) {
      size_t v13 = static_cast<size_t>(v8);
      float v14 = v0[v13];
      size_t v15 = static_cast<size_t>(v11);
      v10[v15 + 32 * (0)] = v14;
    }
    v7 = std::move(v10);
  }
  std::vector<float> v17(1 * 32);
  for (int64_t v17_i0 = 0; v17_i0 < 1; ++v17_i0) {
    for (int64_t v17_i1 = 0; v17_i1 < 32; ++v17_i1) {
      v17[v17_i1 + 32 * (v17_i0)] = v7[0 + v17_i1 * 1 + 32 * (0 + v17_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v17);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v18 = {ct};
  return v18;
}
std::vector<float> conv_1d__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] int32_t v1 = 27;
  std::vector<float> v2(5, 0);
  [[maybe_unused]] int32_t v3 = 0;
  [[maybe_unused]] int32_t v4 = 4;
  [[maybe_unused]] int32_t v5 = 1;
  [[maybe_unused]] int32_t v6 = 8;
  [[maybe_unused]] int32_t v7 = 5;
  [[maybe_unused]] int32_t v8 = 32;
  [[maybe_unused]] size_t v9 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v10 = cc.decode<float>(pt, 32);
  std::vector<float> v11 = std::move(v2);
  for (auto v12 = 0; v12 < 5; v12 += 1) {
    int32_t v14 = v4 - v12;
    std::vector<float> v15 = std::move(v11);
    for (auto v16 = v14; v16 < 32; v16 += 8) {
      int32_t v18 = v12 + v1;
      int32_t v19 = (v18 / v6) - ((v18 % v6 != 0) && ((v18 < 0) != (v6 < 0)));
      int32_t v20 = v19 * v6;
      int32_t v21 = v14 + v20;
      int32_t v22 = v16 - v14;
      int32_t v23 = v21 - v22;
      size_t v24 = static_cast<size_t>(v23);
      float v25 = v10[v24 + 32 * (0)];
      size_t v26 = static_cast<size_t>(v14);
      v15[v26] = v25;
    }
    v11 = std::move(v15);
  }
  return v11;
}
Parameters conv_1d__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 1;
  params.slots = 32;
  params.scale_bits = 45;
  params.first_bits = 55;
  return params;
}
CryptoContext conv_1d__generate_crypto_context() {
  const auto& params = conv_1d__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext conv_1d__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {1, 2, 3}});
  return cc1;
}
