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
  auto v0 = runs<float>({{64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {384, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}});
  auto v1 = runs<float>({{64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {1216, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}});
  auto v2 = runs<float>({{64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {1216, 0}, {64, 1}});
  auto v3 = runs<float>({{64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {1216, 0}});
  auto v4 = runs<float>({{64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {384, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}});
  auto v5 = runs<float>({{64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {1344, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}});
  auto v6 = runs<float>({{64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {1344, 0}});
  auto v7 = runs<float>({{64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {1280, 0}});
  auto v8 = runs<float>({{64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {64, 1}, {64, 0}, {384, 1}, {832, 0}});
  [[maybe_unused]] size_t v9 = 0;
  [[maybe_unused]] size_t v10 = 1;
  [[maybe_unused]] size_t v11 = 2;
  [[maybe_unused]] size_t v12 = 3;
  [[maybe_unused]] size_t v13 = 4;
  [[maybe_unused]] size_t v14 = 5;
  [[maybe_unused]] size_t v15 = 6;
  [[maybe_unused]] size_t v16 = 7;
  [[maybe_unused]] size_t v17 = 8;
  std::vector<Plaintext> v18(9);
  const auto pt = cc.encode(v8);
  v18[0] = pt;
  const auto pt1 = cc.encode(v7);
  v18[1] = pt1;
  const auto pt2 = cc.encode(v6);
  v18[2] = pt2;
  const auto pt3 = cc.encode(v5);
  v18[3] = pt3;
  const auto pt4 = cc.encode(v4);
  v18[4] = pt4;
  const auto pt5 = cc.encode(v3);
  v18[5] = pt5;
  const auto pt6 = cc.encode(v2);
  v18[6] = pt6;
  const auto pt7 = cc.encode(v1);
  v18[7] = pt7;
  const auto pt8 = cc.encode(v0);
  v18[8] = pt8;
  return v18;
}
std::vector<Ciphertext> bicyclic_matmul__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 64;
  [[maybe_unused]] size_t v5 = 80;
  [[maybe_unused]] size_t v6 = 160;
  [[maybe_unused]] size_t v7 = 240;
  [[maybe_unused]] size_t v8 = 256;
  [[maybe_unused]] size_t v9 = 512;
  [[maybe_unused]] size_t v10 = 1;
  [[maybe_unused]] size_t v11 = 2;
  [[maybe_unused]] size_t v12 = 3;
  [[maybe_unused]] size_t v13 = 4;
  [[maybe_unused]] size_t v14 = 5;
  [[maybe_unused]] size_t v15 = 6;
  [[maybe_unused]] size_t v16 = 7;
  [[maybe_unused]] size_t v17 = 8;
  Ciphertext ct = v1[0];
  Ciphertext ct1 = v0[0];
  const auto ct2 = cc.multiply(ct, ct1);
  const auto ct3_rotations = cc.rotate_hoisted(ct, {152, 304, 133, 285, 34, 186, 15, 167, 319, 68, 220, 49, 201, 30, 102, 254});
  const auto ct3 = ct3_rotations[0];
  const auto ct4 = ct3_rotations[1];
  const auto ct5 = ct3_rotations[2];
  const auto ct6 = ct3_rotations[3];
  const auto ct7 = ct3_rotations[4];
  const auto ct8 = ct3_rotations[5];
  const auto ct9 = ct3_rotations[6];
  const auto ct10 = ct3_rotations[7];
  const auto ct11 = ct3_rotations[8];
  const auto ct12 = ct3_rotations[9];
  const auto ct13 = ct3_rotations[10];
  const auto ct14 = ct3_rotations[11];
  const auto ct15 = ct3_rotations[12];
  const auto ct16 = ct3_rotations[13];
  const auto ct17 = ct3_rotations[14];
  const auto ct18 = ct3_rotations[15];
  const auto ct19_rotations = cc.rotate_hoisted(ct1, {16, 32, 48, 64});
  const auto ct19 = ct19_rotations[0];
  const auto ct20 = ct19_rotations[1];
  const auto ct21 = ct19_rotations[2];
  const auto ct22 = ct19_rotations[3];
  const auto ct23 = cc.multiply(ct3, ct19);
  const auto ct24 = cc.multiply(ct4, ct20);
  const auto ct25 = cc.multiply(ct5, ct21);
  const auto ct26 = cc.multiply(ct6, ct22);
  const auto ct27 = cc.relinearize(ct26);
  const auto ct28 = cc.multiply(ct7, ct1);
  const auto ct29 = cc.multiply(ct8, ct19);
  const auto ct30 = cc.multiply(ct9, ct20);
  const auto ct31 = cc.multiply(ct10, ct21);
  const auto ct32 = cc.multiply(ct11, ct22);
  const auto ct33 = cc.add(ct28, ct29);
  const auto ct34 = cc.add(ct30, ct31);
  const auto ct35 = cc.add(ct34, ct32);
  const auto ct36 = cc.add(ct33, ct35);
  const auto ct37 = cc.relinearize(ct36);
  const auto ct38 = cc.rotate(ct37, 80);
  const auto ct39 = cc.multiply(ct12, ct1);
  const auto ct40 = cc.multiply(ct13, ct19);
  const auto ct41 = cc.multiply(ct14, ct20);
  const auto ct42 = cc.multiply(ct15, ct21);
  const auto ct43 = cc.multiply(ct16, ct22);
  const auto ct44 = cc.add(ct39, ct40);
  const auto ct45 = cc.add(ct41, ct42);
  const auto ct46 = cc.add(ct45, ct43);
  const auto ct47 = cc.add(ct44, ct46);
  const auto ct48 = cc.relinearize(ct47);
  const auto ct49 = cc.rotate(ct48, 160);
  const auto ct50 = cc.multiply(ct17, ct1);
  const auto ct51 = cc.multiply(ct18, ct19);
  const auto ct52 = cc.add(ct50, ct51);
  const auto ct53 = cc.relinearize(ct52);
  const auto ct54 = cc.rotate(ct53, 240);
  const auto ct55 = cc.add(ct2, ct23);
  const auto ct56 = cc.add(ct24, ct25);
  const auto ct57 = cc.add(ct55, ct56);
  const auto ct58 = cc.relinearize(ct57);
  const auto ct59 = cc.add(ct27, ct38);
  const auto ct60 = cc.add(ct49, ct54);
  const auto ct61 = cc.add(ct59, ct60);
  const auto ct62 = cc.add(ct58, ct61);
  const auto ct63 = cc.rescale(ct62);
  Plaintext pt = v2[0];
  const auto ct64 = cc.multiply(ct63, pt);
  Plaintext pt1 = v2[1];
  const auto ct65 = cc.multiply(ct63, pt1);
  const auto ct66 = cc.rotate(ct65, 64);
  const auto ct67 = cc.add(ct64, ct66);
  const auto ct68 = cc.rescale(ct67);
  const auto ct69 = cc.multiply(ct68, pt);
  Plaintext pt2 = v2[2];
  const auto ct70 = cc.multiply(ct68, pt2);
  const auto ct71 = cc.rotate(ct70, 256);
  const auto ct72 = cc.add(ct69, ct71);
  const auto ct73 = cc.rescale(ct72);
  const auto ct74 = cc.multiply(ct73, pt);
  Plaintext pt3 = v2[3];
  const auto ct75 = cc.multiply(ct73, pt3);
  const auto ct76 = cc.rotate(ct75, 512);
  const auto ct77 = cc.add(ct74, ct76);
  const auto ct78 = cc.rescale(ct77);
  Plaintext pt4 = v2[4];
  const auto ct79 = cc.multiply(ct78, pt4);
  Plaintext pt5 = v2[5];
  const auto ct80 = cc.multiply(ct63, pt5);
  const auto ct81 = cc.rotate(ct80, 64);
  const auto ct82 = cc.add(ct80, ct81);
  const auto ct83 = cc.rescale(ct82);
  const auto ct84 = cc.multiply(ct83, pt5);
  Plaintext pt6 = v2[6];
  const auto ct85 = cc.multiply(ct83, pt6);
  const auto ct86 = cc.rotate(ct85, 256);
  const auto ct87 = cc.add(ct84, ct86);
  const auto ct88 = cc.rescale(ct87);
  const auto ct89 = cc.multiply(ct88, pt5);
  Plaintext pt7 = v2[7];
  const auto ct90 = cc.multiply(ct88, pt7);
  const auto ct91 = cc.rotate(ct90, 512);
  const auto ct92 = cc.add(ct89, ct91);
  const auto ct93 = cc.rescale(ct92);
  Plaintext pt8 = v2[8];
  const auto ct94 = cc.multiply(ct93, pt8);
  const auto ct95 = cc.add(ct79, ct94);
  std::vector<Ciphertext> v18(1);
  const auto ct96 = cc.rescale(ct95);
  v18[0] = ct96;
  return v18;
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
  params.depth = 5;
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
  const auto cc1 = cc.with_keys(sk, ProgramKeys{true, {15, 16, 30, 32, 34, 48, 49, 64, 68, 80, 102, 133, 152, 160, 167, 186, 201, 220, 240, 254, 256, 285, 304, 319, 512}});
  return cc1;
}
