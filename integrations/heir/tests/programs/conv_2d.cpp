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
std::vector<float> _assign_layout_0(std::vector<float> v0) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<float> v3(128, 0);
  [[maybe_unused]] int32_t v4 = 3;
  [[maybe_unused]] int32_t v5 = 4;
  [[maybe_unused]] int32_t v6 = 6;
  [[maybe_unused]] int32_t v7 = 2;
  [[maybe_unused]] int32_t v8 = 14;
  [[maybe_unused]] int32_t v9 = 7;
  [[maybe_unused]] int32_t v10 = 16;
  [[maybe_unused]] int32_t v11 = 13;
  [[maybe_unused]] int32_t v12 = 32;
  std::vector<float> v13 = std::move(v3);
  for (auto v14 = 0; v14 < 2; v14 += 1) {
    std::vector<float> v16 = std::move(v13);
    for (auto v17 = 0; v17 < 2; v17 += 1) {
      std::vector<float> v19 = std::move(v16);
      for (auto v20 = 0; v20 < 4; v20 += 1) {
        std::vector<float> v22 = std::move(v19);
        for (auto v23 = 0; v23 < 32; v23 += 1) {
          int32_t v25 = (v23 / v5) - ((v23 % v5 != 0) && ((v23 < 0) != (v5 < 0)));
          int32_t v26 = v25 * v5;
          int32_t v27 = v23 - v26;
          int32_t v28 = v27 * v4;
          int32_t v29 = v14 * v6;
          int32_t v30 = v28 + v29;
          int32_t v31 = v17 * v7;
          int32_t v32 = v30 + v31;
          int32_t v33 = v32 + v8;
          int32_t v34 = v20 + v23;
          int32_t v35 = v34 + v9;
          int32_t v36 = (v35 / v10) - ((v35 % v10 != 0) && ((v35 < 0) != (v10 < 0)));
          int32_t v37 = v36 * v10;
          int32_t v38 = v35 - v37;
          int32_t v39 = v38 * v7;
          bool v40 = v33 >= v39;
          int32_t v41 = v32 + v11;
          bool v42 = v39 >= v41;
          bool v43 = v40 && v42;
          std::vector<float> v44;
          if (v43) {
            size_t v45 = static_cast<size_t>(v14);
            size_t v46 = static_cast<size_t>(v17);
            float v47 = v0[v46 + 2 * (v45)];
            size_t v48 = static_cast<size_t>(v20);
            size_t v49 = static_cast<size_t>(v23);
            v22[v49 + 32 * (v48)] = v47;
            v44 = std::move(v22);
          } else {
            v44 = std::move(v22);
          }
          v22 = std::move(v44);
        }
        v19 = std::move(v22);
      }
      v16 = std::move(v19);
    }
    v13 = std::move(v16);
  }
  return v13;
}
std::vector<Plaintext> conv_2d__preprocessing(CryptoContext cc, std::vector<float> v0) {
  std::vector<float> v1(32, 0);
  [[maybe_unused]] size_t v2 = 0;
  [[maybe_unused]] size_t v3 = 1;
  [[maybe_unused]] size_t v4 = 2;
  [[maybe_unused]] size_t v5 = 3;
  [[maybe_unused]] size_t v6 = 4;
  std::vector<Plaintext> v7(5);
  const auto& v8 = _assign_layout_0(v0);
  std::vector<float> v9(1 * 32);
  for (int64_t v9_i0 = 0; v9_i0 < 1; ++v9_i0) {
    for (int64_t v9_i1 = 0; v9_i1 < 32; ++v9_i1) {
      v9[v9_i1 + 32 * (v9_i0)] = v8[0 + v9_i1 * 1 + 32 * (2 + v9_i0 * 1)];
    }
  }
  std::vector<float> v10(1 * 30);
  for (int64_t v10_i0 = 0; v10_i0 < 1; ++v10_i0) {
    for (int64_t v10_i1 = 0; v10_i1 < 30; ++v10_i1) {
      v10[v10_i1 + 30 * (v10_i0)] = v8[0 + v10_i1 * 1 + 32 * (2 + v10_i0 * 1)];
    }
  }
  std::vector<float> v11(1 * 2);
  for (int64_t v11_i0 = 0; v11_i0 < 1; ++v11_i0) {
    for (int64_t v11_i1 = 0; v11_i1 < 2; ++v11_i1) {
      v11[v11_i1 + 2 * (v11_i0)] = v8[30 + v11_i1 * 1 + 32 * (2 + v11_i0 * 1)];
    }
  }
  std::vector<float> v12(v9);
  int64_t v10_0 = 0;
  for (int64_t v9_0 = 0; v9_0 < 0 + 1 * 1; v9_0 += 1) {
    int64_t v10_1 = 0;
    for (int64_t v9_1 = 2; v9_1 < 2 + 30 * 1; v9_1 += 1) {
      v12[v9_1 + 32 * (v9_0)] = v10[v10_1 + 30 * (v10_0)];
      v10_1 += 1;
    }
    v10_0 += 1;
  }
  std::vector<float> v13(v12);
  int64_t v11_0 = 0;
  for (int64_t v12_0 = 0; v12_0 < 0 + 1 * 1; v12_0 += 1) {
    int64_t v11_1 = 0;
    for (int64_t v12_1 = 0; v12_1 < 0 + 2 * 1; v12_1 += 1) {
      v13[v12_1 + 32 * (v12_0)] = v11[v11_1 + 2 * (v11_0)];
      v11_1 += 1;
    }
    v11_0 += 1;
  }
  std::vector<float> v14(1 * 32);
  for (int64_t v14_i0 = 0; v14_i0 < 1; ++v14_i0) {
    for (int64_t v14_i1 = 0; v14_i1 < 32; ++v14_i1) {
      v14[v14_i1 + 32 * (v14_i0)] = v8[0 + v14_i1 * 1 + 32 * (3 + v14_i0 * 1)];
    }
  }
  std::vector<float> v15(1 * 30);
  for (int64_t v15_i0 = 0; v15_i0 < 1; ++v15_i0) {
    for (int64_t v15_i1 = 0; v15_i1 < 30; ++v15_i1) {
      v15[v15_i1 + 30 * (v15_i0)] = v8[0 + v15_i1 * 1 + 32 * (3 + v15_i0 * 1)];
    }
  }
  std::vector<float> v16(1 * 2);
  for (int64_t v16_i0 = 0; v16_i0 < 1; ++v16_i0) {
    for (int64_t v16_i1 = 0; v16_i1 < 2; ++v16_i1) {
      v16[v16_i1 + 2 * (v16_i0)] = v8[30 + v16_i1 * 1 + 32 * (3 + v16_i0 * 1)];
    }
  }
  std::vector<float> v17(v14);
  int64_t v15_0 = 0;
  for (int64_t v14_0 = 0; v14_0 < 0 + 1 * 1; v14_0 += 1) {
    int64_t v15_1 = 0;
    for (int64_t v14_1 = 2; v14_1 < 2 + 30 * 1; v14_1 += 1) {
      v17[v14_1 + 32 * (v14_0)] = v15[v15_1 + 30 * (v15_0)];
      v15_1 += 1;
    }
    v15_0 += 1;
  }
  std::vector<float> v18(v17);
  int64_t v16_0 = 0;
  for (int64_t v17_0 = 0; v17_0 < 0 + 1 * 1; v17_0 += 1) {
    int64_t v16_1 = 0;
    for (int64_t v17_1 = 0; v17_1 < 0 + 2 * 1; v17_1 += 1) {
      v18[v17_1 + 32 * (v17_0)] = v16[v16_1 + 2 * (v16_0)];
      v16_1 += 1;
    }
    v16_0 += 1;
  }
  std::vector<float> v19(1 * 32);
  for (int64_t v19_i0 = 0; v19_i0 < 1; ++v19_i0) {
    for (int64_t v19_i1 = 0; v19_i1 < 32; ++v19_i1) {
      v19[v19_i1 + 32 * (v19_i0)] = v8[0 + v19_i1 * 1 + 32 * (0 + v19_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v19);
  v7[0] = pt;
  const auto pt1 = cc.encode(v1);
  v7[1] = pt1;
  std::vector<float> v20(1 * 32);
  for (int64_t v20_i0 = 0; v20_i0 < 1; ++v20_i0) {
    for (int64_t v20_i1 = 0; v20_i1 < 32; ++v20_i1) {
      v20[v20_i1 + 32 * (v20_i0)] = v8[0 + v20_i1 * 1 + 32 * (1 + v20_i0 * 1)];
    }
  }
  const auto pt2 = cc.encode(v20);
  v7[2] = pt2;
  std::vector<float> v21(1 * 32);
  for (int64_t v21_i0 = 0; v21_i0 < 1; ++v21_i0) {
    for (int64_t v21_i1 = 0; v21_i1 < 32; ++v21_i1) {
      v21[v21_i1 + 32 * (v21_i0)] = v13[0 + v21_i1 * 1 + 32 * (0 + v21_i0 * 1)];
    }
  }
  const auto pt3 = cc.encode(v21);
  v7[3] = pt3;
  std::vector<float> v22(1 * 32);
  for (int64_t v22_i0 = 0; v22_i0 < 1; ++v22_i0) {
    for (int64_t v22_i1 = 0; v22_i1 < 32; ++v22_i1) {
      v22[v22_i1 + 32 * (v22_i0)] = v18[0 + v22_i1 * 1 + 32 * (0 + v22_i0 * 1)];
    }
  }
  const auto pt4 = cc.encode(v22);
  v7[4] = pt4;
  return v7;
}
std::vector<Ciphertext> conv_2d__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 2;
  [[maybe_unused]] size_t v5 = 1;
  [[maybe_unused]] size_t v6 = 8;
  [[maybe_unused]] size_t v7 = 3;
  [[maybe_unused]] size_t v8 = 4;
  const auto& v9 = _assign_layout_0(v1);
  Ciphertext ct = v0[0];
  const auto ct1 = cc.rotate(ct, 1);
  Plaintext pt = v2[0];
  const auto ct2 = cc.multiply(ct, pt);
  Plaintext pt1 = v2[1];
  const auto ct3 = cc.add(ct2, pt1);
  Plaintext pt2 = v2[2];
  const auto ct4 = cc.multiply(ct1, pt2);
  const auto ct5 = cc.add(ct3, ct4);
  const auto ct6 = cc.add(ct5, pt1);
  Plaintext pt3 = v2[3];
  const auto ct7 = cc.multiply(ct, pt3);
  const auto ct8 = cc.add(ct7, pt1);
  Plaintext pt4 = v2[4];
  const auto ct9 = cc.multiply(ct1, pt4);
  const auto ct10 = cc.add(ct8, ct9);
  const auto ct11 = cc.rotate(ct10, 2);
  std::vector<Ciphertext> v10(1);
  const auto ct12 = cc.add(ct6, ct11);
  auto v11 = v10;
  v11[0] = ct12;
  std::vector<Ciphertext> v12 = std::move(v11);
  size_t v13 = v6;
  for (auto v14 = 0; v14 < 2; v14 += 1) {
    Ciphertext ct13 = v12[0];
    const auto ct14 = cc.rotate(ct13, v13);
    const auto ct15 = cc.add(ct13, ct14);
    auto v17 = v10;
    v17[0] = ct15;
    size_t v18 = v13 / v4;
    v12 = std::move(v17);
    v13 = v18;
  }
  Ciphertext ct16 = v12[0];
  const auto ct17 = cc.rescale(ct16);
  auto v19 = v10;
  v19[0] = ct17;
  return v19;
}
std::vector<Ciphertext> conv_2d(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1) {
  const auto& v2 = conv_2d__preprocessing(cc, v1);
  const auto& v3 = conv_2d__preprocessed(cc, v0, v1, v2);
  return v3;
}
std::vector<Ciphertext> conv_2d__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<float> v3(32, 0);
  [[maybe_unused]] int32_t v4 = 3;
  [[maybe_unused]] int32_t v5 = 16;
  [[maybe_unused]] int32_t v6 = 32;
  [[maybe_unused]] size_t v7 = 0;
  std::vector<float> v8 = std::move(v3);
  for (auto v9 = 0; v9 < 3; v9 += 1) {
    std::vector<float> v11 = std::move(v8);
    for (auto v12 = 0; v12 < 3; v12 += 1) {
      int32_t v14 = v9 * v4;
      int32_t v15 = v14 + v12;
      std::vector<float> v16 = std::move(v11);
      for (auto v17 = v15; v17 < 32; v17 += 16) {
        size_t v19 = static_cast<size_t>(v9);
        size_t v20 = static_cast<size_t>(v12);
        float v21 = v0[v20 + 3 * (v19)];
        size_t v22 = static_cast<size_t>(v17);
        v16[v22 + 32 * (0)] = v21;
      }
      v11 = std::move(v16);
    }
    v8 = std::move(v11);
  }
  std::vector<float> v24(1 * 32);
  for (int64_t v24_i0 = 0; v24_i0 < 1; ++v24_i0) {
    for (int64_t v24_i1 = 0; v24_i1 < 32; ++v24_i1) {
      v24[v24_i1 + 32 * (v24_i0)] = v8[0 + v24_i1 * 1 + 32 * (0 + v24_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v24);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v25 = {ct};
  return v25;
}
std::vector<float> conv_2d__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  std::vector<float> v1(4, 0);
  [[maybe_unused]] int32_t v2 = 0;
  [[maybe_unused]] int32_t v3 = 1;
  [[maybe_unused]] int32_t v4 = 2;
  [[maybe_unused]] int32_t v5 = 31;
  [[maybe_unused]] int32_t v6 = 4;
  [[maybe_unused]] int32_t v7 = 32;
  [[maybe_unused]] size_t v8 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v9 = cc.decode<float>(pt, 32);
  std::vector<float> v10 = std::move(v1);
  for (auto v11 = 0; v11 < 2; v11 += 1) {
    int32_t v13 = v3 - v11;
    std::vector<float> v14 = std::move(v10);
    for (auto v15 = 0; v15 < 2; v15 += 1) {
      int32_t v17 = v3 - v15;
      int32_t v18 = v13 * v4;
      int32_t v19 = v18 + v17;
      std::vector<float> v20 = std::move(v14);
      for (auto v21 = v19; v21 < 32; v21 += 4) {
        int32_t v23 = v5 - v19;
        int32_t v24 = (v23 / v6) - ((v23 % v6 != 0) && ((v23 < 0) != (v6 < 0)));
        int32_t v25 = v24 * v6;
        int32_t v26 = v19 + v25;
        int32_t v27 = v21 - v19;
        int32_t v28 = v26 - v27;
        size_t v29 = static_cast<size_t>(v28);
        float v30 = v9[v29 + 32 * (0)];
        size_t v31 = static_cast<size_t>(v13);
        size_t v32 = static_cast<size_t>(v17);
        v20[v32 + 2 * (v31)] = v30;
      }
      v14 = std::move(v20);
    }
    v10 = std::move(v14);
  }
  return v10;
}
Parameters conv_2d__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 1;
  params.slots = 32;
  params.scale_bits = 45;
  params.first_bits = 55;
  return params;
}
CryptoContext conv_2d__generate_crypto_context() {
  const auto& params = conv_2d__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext conv_2d__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {1, 2, 4, 8}});
  return cc1;
}
