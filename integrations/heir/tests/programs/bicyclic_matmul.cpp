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
std::vector<Plaintext> bicyclic_matmul__preprocessing(CryptoContext cc) {
  auto v0 = runs<float>({{1216, 0}, {832, 1}});
  auto v1 = runs<float>({{1216, 1}, {832, 0}});
  [[maybe_unused]] size_t v2 = 0;
  [[maybe_unused]] size_t v3 = 1;
  std::vector<Plaintext> v4(2);
  const auto pt = cc.encode(v1);
  v4[0] = pt;
  const auto pt1 = cc.encode(v0);
  v4[1] = pt1;
  return v4;
}
std::vector<Ciphertext> bicyclic_matmul__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 80;
  [[maybe_unused]] size_t v5 = 160;
  [[maybe_unused]] size_t v6 = 240;
  [[maybe_unused]] size_t v7 = 832;
  [[maybe_unused]] size_t v8 = 1;
  Ciphertext ct = v1[0];
  Ciphertext ct1 = v0[0];
  const auto ct2 = cc.multiply(ct, ct1);
  const auto ct3 = cc.relinearize(ct2);
  const auto ct4_rotations = cc.rotate_hoisted(ct, {152, 304, 133, 285, 34, 186, 15, 167, 319, 68, 220, 49, 201, 30, 102, 254});
  const auto ct4 = ct4_rotations[0];
  const auto ct5 = ct4_rotations[1];
  const auto ct6 = ct4_rotations[2];
  const auto ct7 = ct4_rotations[3];
  const auto ct8 = ct4_rotations[4];
  const auto ct9 = ct4_rotations[5];
  const auto ct10 = ct4_rotations[6];
  const auto ct11 = ct4_rotations[7];
  const auto ct12 = ct4_rotations[8];
  const auto ct13 = ct4_rotations[9];
  const auto ct14 = ct4_rotations[10];
  const auto ct15 = ct4_rotations[11];
  const auto ct16 = ct4_rotations[12];
  const auto ct17 = ct4_rotations[13];
  const auto ct18 = ct4_rotations[14];
  const auto ct19 = ct4_rotations[15];
  const auto ct20_rotations = cc.rotate_hoisted(ct1, {16, 32, 48, 64});
  const auto ct20 = ct20_rotations[0];
  const auto ct21 = ct20_rotations[1];
  const auto ct22 = ct20_rotations[2];
  const auto ct23 = ct20_rotations[3];
  const auto ct24 = cc.multiply(ct4, ct20);
  const auto ct25 = cc.relinearize(ct24);
  const auto ct26 = cc.multiply(ct5, ct21);
  const auto ct27 = cc.relinearize(ct26);
  const auto ct28 = cc.multiply(ct6, ct22);
  const auto ct29 = cc.relinearize(ct28);
  const auto ct30 = cc.multiply(ct7, ct23);
  const auto ct31 = cc.relinearize(ct30);
  const auto ct32 = cc.multiply(ct8, ct1);
  const auto ct33 = cc.relinearize(ct32);
  const auto ct34 = cc.multiply(ct9, ct20);
  const auto ct35 = cc.relinearize(ct34);
  const auto ct36 = cc.multiply(ct10, ct21);
  const auto ct37 = cc.relinearize(ct36);
  const auto ct38 = cc.multiply(ct11, ct22);
  const auto ct39 = cc.relinearize(ct38);
  const auto ct40 = cc.multiply(ct12, ct23);
  const auto ct41 = cc.relinearize(ct40);
  const auto ct42 = cc.add(ct33, ct35);
  const auto ct43 = cc.add(ct37, ct39);
  const auto ct44 = cc.add(ct43, ct41);
  const auto ct45 = cc.add(ct42, ct44);
  const auto ct46 = cc.rotate(ct45, 80);
  const auto ct47 = cc.multiply(ct13, ct1);
  const auto ct48 = cc.relinearize(ct47);
  const auto ct49 = cc.multiply(ct14, ct20);
  const auto ct50 = cc.relinearize(ct49);
  const auto ct51 = cc.multiply(ct15, ct21);
  const auto ct52 = cc.relinearize(ct51);
  const auto ct53 = cc.multiply(ct16, ct22);
  const auto ct54 = cc.relinearize(ct53);
  const auto ct55 = cc.multiply(ct17, ct23);
  const auto ct56 = cc.relinearize(ct55);
  const auto ct57 = cc.add(ct48, ct50);
  const auto ct58 = cc.add(ct52, ct54);
  const auto ct59 = cc.add(ct58, ct56);
  const auto ct60 = cc.add(ct57, ct59);
  const auto ct61 = cc.rotate(ct60, 160);
  const auto ct62 = cc.multiply(ct18, ct1);
  const auto ct63 = cc.relinearize(ct62);
  const auto ct64 = cc.multiply(ct19, ct20);
  const auto ct65 = cc.relinearize(ct64);
  const auto ct66 = cc.add(ct63, ct65);
  const auto ct67 = cc.rotate(ct66, 240);
  const auto ct68 = cc.add(ct3, ct25);
  const auto ct69 = cc.add(ct27, ct29);
  const auto ct70 = cc.add(ct68, ct69);
  const auto ct71 = cc.add(ct31, ct46);
  const auto ct72 = cc.add(ct61, ct67);
  const auto ct73 = cc.add(ct71, ct72);
  const auto ct74 = cc.add(ct70, ct73);
  const auto ct75 = cc.rescale(ct74);
  Plaintext pt = v2[0];
  const auto ct76 = cc.multiply(ct75, pt);
  const auto ct77 = cc.rotate(ct74, 832);
  const auto ct78 = cc.rescale(ct77);
  Plaintext pt1 = v2[1];
  const auto ct79 = cc.multiply(ct78, pt1);
  const auto ct80 = cc.add(ct76, ct79);
  std::vector<Ciphertext> v9(1);
  const auto ct81 = cc.rescale(ct80);
  v9[0] = ct81;
  return v9;
}
std::vector<Ciphertext> bicyclic_matmul(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1) {
  const auto& v2 = bicyclic_matmul__preprocessing(cc);
  const auto& v3 = bicyclic_matmul__preprocessed(cc, v0, v1, v2);
  return v3;
}
std::vector<Ciphertext> bicyclic_matmul__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] size_t v1 = 17;
  [[maybe_unused]] size_t v2 = 16;
  [[maybe_unused]] size_t v3 = 2048;
  [[maybe_unused]] size_t v4 = 1;
  [[maybe_unused]] size_t v5 = 0;
  std::vector<float> v6(2048, 0);
  std::vector<float> v7 = std::move(v6);
  for (auto v8 = 0; v8 < 2048; v8 += 1) {
    size_t v10 = v8 % v2;
    size_t v11 = v8 % v1;
    float v12 = v0[v11 + 17 * (v10)];
    v7[v8 + 2048 * (0)] = v12;
  }
  std::vector<float> v14(1 * 2048);
  for (int64_t v14_i0 = 0; v14_i0 < 1; ++v14_i0) {
    for (int64_t v14_i1 = 0; v14_i1 < 2048; ++v14_i1) {
      v14[v14_i1 + 2048 * (v14_i0)] = v7[0 + v14_i1 * 1 + 2048 * (0 + v14_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v14);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v15 = {ct};
  return v15;
}
std::vector<Ciphertext> bicyclic_matmul__encrypt__arg1(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] size_t v1 = 19;
  [[maybe_unused]] size_t v2 = 17;
  [[maybe_unused]] size_t v3 = 2048;
  [[maybe_unused]] size_t v4 = 1;
  [[maybe_unused]] size_t v5 = 0;
  std::vector<float> v6(2048, 0);
  std::vector<float> v7 = std::move(v6);
  for (auto v8 = 0; v8 < 2048; v8 += 1) {
    size_t v10 = v8 % v2;
    size_t v11 = v8 % v1;
    float v12 = v0[v11 + 19 * (v10)];
    v7[v8 + 2048 * (0)] = v12;
  }
  std::vector<float> v14(1 * 2048);
  for (int64_t v14_i0 = 0; v14_i0 < 1; ++v14_i0) {
    for (int64_t v14_i1 = 0; v14_i1 < 2048; ++v14_i1) {
      v14[v14_i1 + 2048 * (v14_i0)] = v7[0 + v14_i1 * 1 + 2048 * (0 + v14_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v14);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v15 = {ct};
  return v15;
}
std::vector<float> bicyclic_matmul__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] int32_t v1 = 1744;
  [[maybe_unused]] int32_t v2 = 303;
  std::vector<float> v3(304, 0);
  [[maybe_unused]] int32_t v4 = 0;
  [[maybe_unused]] int32_t v5 = 15;
  [[maybe_unused]] int32_t v6 = 1;
  [[maybe_unused]] int32_t v7 = 95;
  [[maybe_unused]] int32_t v8 = 96;
  [[maybe_unused]] int32_t v9 = 1823;
  [[maybe_unused]] int32_t v10 = 304;
  [[maybe_unused]] int32_t v11 = 16;
  [[maybe_unused]] int32_t v12 = 19;
  [[maybe_unused]] int32_t v13 = 18;
  [[maybe_unused]] int32_t v14 = 2048;
  [[maybe_unused]] size_t v15 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v16 = cc.decode<float>(pt, 2048);
  std::vector<float> v17 = std::move(v3);
  for (auto v18 = 0; v18 < 16; v18 += 1) {
    int32_t v20 = v5 - v18;
    std::vector<float> v21 = std::move(v17);
    for (auto v22 = 0; v22 < 19; v22 += 1) {
      int32_t v24 = v13 - v22;
      int32_t v25 = v20 * v7;
      int32_t v26 = v24 * v8;
      int32_t v27 = v25 - v26;
      int32_t v28 = v27 + v9;
      int32_t v29 = (v28 / v10) - ((v28 % v10 != 0) && ((v28 < 0) != (v10 < 0)));
      int32_t v30 = v29 * v10;
      int32_t v31 = v28 - v30;
      int32_t v32 = v2 - v31;
      std::vector<float> v33 = std::move(v21);
      for (auto v34 = v32; v34 < 2048; v34 += 304) {
        int32_t v36 = v31 + v1;
        int32_t v37 = (v36 / v10) - ((v36 % v10 != 0) && ((v36 < 0) != (v10 < 0)));
        int32_t v38 = v37 * v10;
        int32_t v39 = v32 + v38;
        int32_t v40 = v34 - v32;
        int32_t v41 = v39 - v40;
        size_t v42 = static_cast<size_t>(v41);
        float v43 = v16[v42 + 2048 * (0)];
        size_t v44 = static_cast<size_t>(v20);
        size_t v45 = static_cast<size_t>(v24);
        v33[v45 + 19 * (v44)] = v43;
      }
      v21 = std::move(v33);
    }
    v17 = std::move(v21);
  }
  return v17;
}
Parameters bicyclic_matmul__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 2;
  params.slots = 2048;
  params.scale_bits = 45;
  params.first_bits = 55;
  return params;
}
CryptoContext bicyclic_matmul__generate_crypto_context() {
  const auto& params = bicyclic_matmul__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext bicyclic_matmul__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{true, {15, 16, 30, 32, 34, 48, 49, 64, 68, 80, 102, 133, 152, 160, 167, 186, 201, 220, 240, 254, 285, 304, 319, 832}});
  return cc1;
}
