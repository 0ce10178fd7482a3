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
std::vector<Plaintext> batch_matmul__preprocessing(CryptoContext cc) {
  auto v0 = runs<float>({{2142, 0}, {1954, 1}});
  auto v1 = runs<float>({{2142, 1}, {1954, 0}});
  [[maybe_unused]] size_t v2 = 0;
  [[maybe_unused]] size_t v3 = 1;
  std::vector<Plaintext> v4(2);
  const auto pt = cc.encode(v1);
  v4[0] = pt;
  const auto pt1 = cc.encode(v0);
  v4[1] = pt1;
  return v4;
}
std::vector<Ciphertext> batch_matmul__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 170;
  [[maybe_unused]] size_t v5 = 340;
  [[maybe_unused]] size_t v6 = 510;
  [[maybe_unused]] size_t v7 = 1954;
  [[maybe_unused]] size_t v8 = 1;
  Ciphertext ct = v1[0];
  Ciphertext ct1 = v0[0];
  const auto ct2 = cc.multiply(ct, ct1);
  const auto ct3 = cc.relinearize(ct2);
  const auto ct4_rotations = cc.rotate_hoisted(ct, {756, 714, 672, 630, 418, 376, 334, 292, 250, 38, 794, 752, 710, 668, 456, 414, 372, 330});
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
  const auto ct20 = ct4_rotations[16];
  const auto ct21 = ct4_rotations[17];
  const auto ct22_rotations = cc.rotate_hoisted(ct1, {34, 68, 102, 136});
  const auto ct22 = ct22_rotations[0];
  const auto ct23 = ct22_rotations[1];
  const auto ct24 = ct22_rotations[2];
  const auto ct25 = ct22_rotations[3];
  const auto ct26 = cc.multiply(ct4, ct22);
  const auto ct27 = cc.relinearize(ct26);
  const auto ct28 = cc.multiply(ct5, ct23);
  const auto ct29 = cc.relinearize(ct28);
  const auto ct30 = cc.multiply(ct6, ct24);
  const auto ct31 = cc.relinearize(ct30);
  const auto ct32 = cc.multiply(ct7, ct25);
  const auto ct33 = cc.relinearize(ct32);
  const auto ct34 = cc.multiply(ct8, ct1);
  const auto ct35 = cc.relinearize(ct34);
  const auto ct36 = cc.multiply(ct9, ct22);
  const auto ct37 = cc.relinearize(ct36);
  const auto ct38 = cc.multiply(ct10, ct23);
  const auto ct39 = cc.relinearize(ct38);
  const auto ct40 = cc.multiply(ct11, ct24);
  const auto ct41 = cc.relinearize(ct40);
  const auto ct42 = cc.multiply(ct12, ct25);
  const auto ct43 = cc.relinearize(ct42);
  const auto ct44 = cc.add(ct35, ct37);
  const auto ct45 = cc.add(ct39, ct41);
  const auto ct46 = cc.add(ct45, ct43);
  const auto ct47 = cc.add(ct44, ct46);
  const auto ct48 = cc.rotate(ct47, 170);
  const auto ct49 = cc.multiply(ct13, ct1);
  const auto ct50 = cc.relinearize(ct49);
  const auto ct51 = cc.multiply(ct14, ct22);
  const auto ct52 = cc.relinearize(ct51);
  const auto ct53 = cc.multiply(ct15, ct23);
  const auto ct54 = cc.relinearize(ct53);
  const auto ct55 = cc.multiply(ct16, ct24);
  const auto ct56 = cc.relinearize(ct55);
  const auto ct57 = cc.multiply(ct17, ct25);
  const auto ct58 = cc.relinearize(ct57);
  const auto ct59 = cc.add(ct50, ct52);
  const auto ct60 = cc.add(ct54, ct56);
  const auto ct61 = cc.add(ct60, ct58);
  const auto ct62 = cc.add(ct59, ct61);
  const auto ct63 = cc.rotate(ct62, 340);
  const auto ct64 = cc.multiply(ct18, ct1);
  const auto ct65 = cc.relinearize(ct64);
  const auto ct66 = cc.multiply(ct19, ct22);
  const auto ct67 = cc.relinearize(ct66);
  const auto ct68 = cc.multiply(ct20, ct23);
  const auto ct69 = cc.relinearize(ct68);
  const auto ct70 = cc.multiply(ct21, ct24);
  const auto ct71 = cc.relinearize(ct70);
  const auto ct72 = cc.add(ct65, ct67);
  const auto ct73 = cc.add(ct69, ct71);
  const auto ct74 = cc.add(ct72, ct73);
  const auto ct75 = cc.rotate(ct74, 510);
  const auto ct76 = cc.add(ct3, ct27);
  const auto ct77 = cc.add(ct29, ct31);
  const auto ct78 = cc.add(ct76, ct77);
  const auto ct79 = cc.add(ct33, ct48);
  const auto ct80 = cc.add(ct63, ct75);
  const auto ct81 = cc.add(ct79, ct80);
  const auto ct82 = cc.add(ct78, ct81);
  const auto ct83 = cc.rescale(ct82);
  Plaintext pt = v2[0];
  const auto ct84 = cc.multiply(ct83, pt);
  const auto ct85 = cc.rotate(ct82, 1954);
  const auto ct86 = cc.rescale(ct85);
  Plaintext pt1 = v2[1];
  const auto ct87 = cc.multiply(ct86, pt1);
  const auto ct88 = cc.add(ct84, ct87);
  std::vector<Ciphertext> v9(1);
  const auto ct89 = cc.rescale(ct88);
  v9[0] = ct89;
  return v9;
}
std::vector<Ciphertext> batch_matmul(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1) {
  const auto& v2 = batch_matmul__preprocessing(cc);
  const auto& v3 = batch_matmul__preprocessed(cc, v0, v1, v2);
  return v3;
}
std::vector<Ciphertext> batch_matmul__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] size_t v1 = 19;
  [[maybe_unused]] size_t v2 = 17;
  [[maybe_unused]] size_t v3 = 2;
  [[maybe_unused]] size_t v4 = 4096;
  [[maybe_unused]] size_t v5 = 1;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<float> v7(4096, 0);
  std::vector<float> v8 = std::move(v7);
  for (auto v9 = 0; v9 < 4096; v9 += 1) {
    size_t v11 = v9 % v3;
    size_t v12 = v9 % v2;
    size_t v13 = v9 % v1;
    float v14 = v0[v13 + 19 * (v12 + 17 * (v11))];
    v8[v9 + 4096 * (0)] = v14;
  }
  std::vector<float> v16(1 * 4096);
  for (int64_t v16_i0 = 0; v16_i0 < 1; ++v16_i0) {
    for (int64_t v16_i1 = 0; v16_i1 < 4096; ++v16_i1) {
      v16[v16_i1 + 4096 * (v16_i0)] = v8[0 + v16_i1 * 1 + 4096 * (0 + v16_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v16);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v17 = {ct};
  return v17;
}
std::vector<Ciphertext> batch_matmul__encrypt__arg1(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] size_t v1 = 21;
  [[maybe_unused]] size_t v2 = 19;
  [[maybe_unused]] size_t v3 = 2;
  [[maybe_unused]] size_t v4 = 4096;
  [[maybe_unused]] size_t v5 = 1;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<float> v7(4096, 0);
  std::vector<float> v8 = std::move(v7);
  for (auto v9 = 0; v9 < 4096; v9 += 1) {
    size_t v11 = v9 % v3;
    size_t v12 = v9 % v2;
    size_t v13 = v9 % v1;
    float v14 = v0[v13 + 21 * (v12 + 19 * (v11))];
    v8[v9 + 4096 * (0)] = v14;
  }
  std::vector<float> v16(1 * 4096);
  for (int64_t v16_i0 = 0; v16_i0 < 1; ++v16_i0) {
    for (int64_t v16_i1 = 0; v16_i1 < 4096; ++v16_i1) {
      v16[v16_i1 + 4096 * (v16_i0)] = v8[0 + v16_i1 * 1 + 4096 * (0 + v16_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v16);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v17 = {ct};
  return v17;
}
std::vector<float> batch_matmul__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] int32_t v1 = 3382;
  std::vector<float> v2(714, 0);
  [[maybe_unused]] int32_t v3 = 0;
  [[maybe_unused]] int32_t v4 = 1;
  [[maybe_unused]] int32_t v5 = 357;
  [[maybe_unused]] int32_t v6 = 84;
  [[maybe_unused]] int32_t v7 = 272;
  [[maybe_unused]] int32_t v8 = 713;
  [[maybe_unused]] int32_t v9 = 714;
  [[maybe_unused]] int32_t v10 = 2;
  [[maybe_unused]] int32_t v11 = 17;
  [[maybe_unused]] int32_t v12 = 16;
  [[maybe_unused]] int32_t v13 = 21;
  [[maybe_unused]] int32_t v14 = 20;
  [[maybe_unused]] int32_t v15 = 4096;
  [[maybe_unused]] size_t v16 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v17 = cc.decode<float>(pt, 4096);
  std::vector<float> v18 = std::move(v2);
  for (auto v19 = 0; v19 < 2; v19 += 1) {
    int32_t v21 = v4 - v19;
    std::vector<float> v22 = std::move(v18);
    for (auto v23 = 0; v23 < 17; v23 += 1) {
      int32_t v25 = v12 - v23;
      std::vector<float> v26 = std::move(v22);
      for (auto v27 = 0; v27 < 21; v27 += 1) {
        int32_t v29 = v14 - v27;
        int32_t v30 = v21 * v5;
        int32_t v31 = v25 * v6;
        int32_t v32 = v30 + v31;
        int32_t v33 = v29 * v7;
        int32_t v34 = v32 + v33;
        int32_t v35 = v34 + v8;
        int32_t v36 = (v35 / v9) - ((v35 % v9 != 0) && ((v35 < 0) != (v9 < 0)));
        int32_t v37 = v36 * v9;
        int32_t v38 = v35 - v37;
        int32_t v39 = v8 - v38;
        std::vector<float> v40 = std::move(v26);
        for (auto v41 = v39; v41 < 4096; v41 += 714) {
          int32_t v43 = v38 + v1;
          int32_t v44 = (v43 / v9) - ((v43 % v9 != 0) && ((v43 < 0) != (v9 < 0)));
          int32_t v45 = v44 * v9;
          int32_t v46 = v39 + v45;
          int32_t v47 = v41 - v39;
          int32_t v48 = v46 - v47;
          size_t v49 = static_cast<size_t>(v48);
          float v50 = v17[v49 + 4096 * (0)];
          size_t v51 = static_cast<size_t>(v21);
          size_t v52 = static_cast<size_t>(v25);
          size_t v53 = static_cast<size_t>(v29);
          v40[v53 + 21 * (v52 + 17 * (v51))] = v50;
        }
        v26 = std::move(v40);
      }
      v22 = std::move(v26);
    }
    v18 = std::move(v22);
  }
  return v18;
}
Parameters batch_matmul__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 2;
  params.slots = 4096;
  params.scale_bits = 50;
  params.first_bits = 60;
  return params;
}
CryptoContext batch_matmul__generate_crypto_context() {
  const auto& params = batch_matmul__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext batch_matmul__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{true, {34, 38, 68, 102, 136, 170, 250, 292, 330, 334, 340, 372, 376, 414, 418, 456, 510, 630, 668, 672, 710, 714, 752, 756, 794, 1954}});
  return cc1;
}
