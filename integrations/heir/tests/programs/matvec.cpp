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
std::vector<Plaintext> matvec__preprocessing(CryptoContext cc) {
  auto v0 = repeated<float>(1024, {-0.45141533, -0.0277900472, 0.311195374, 0.18254894, -0.258809537, 0.497506738, 0.00115649134, -0.194445714, 0.158549473, 0, 0.310650676, -0.214976981, -0.023661999, -0.392960966, 0.647287011, 0.831665277});
  auto v1 = repeated<float>(1024, {0.064757444, -1.24775183, 1.07196343, 0.607029676, 0.584364653, -2.3380034, 0.161590248, -0.819893181, -0.321492225, -0.00216138293, -0.638892055, -0.441321522, -0.794038355, -0.381407768, 0.454538226, 0.394202143});
  auto v2 = repeated<float>(1024, {0.313313752, 1.29883456, 0.48631376, 0.141853333, 0.255487353, -0.0788015499, -1.24023795, -0.185381308, 0.21442616, 0.292922527, -0.0227817241, -0.0453558639, -0.137271598, 0.0650914758, 0.181312144, 0.275503069});
  auto v3 = repeated<float>(1024, {-0.370172888, -0.327790231, -0.249753788, 1.42427027, -0.772574305, 0.156113848, -0.0339187346, 0.60860002, 0.354834914, 0.0923027768, 0.042693194, -0.552195013, 0.260872364, -1.05352545, -0.208183318, -0.157960042});
  auto v4 = repeated<float>(1024, {-0.9646492, -0.72272265, -0.0738262832, 0.0324916467, -0.715733826, 0.347885787, 0.246206611, -0.612099587, -2.4022584, -0.842383623, 1.52375555, -0.424889356, 0.60777837, 0.539456129, -0.955740272, 0.530687094});
  auto v5 = repeated<float>(1024, {1.58761895, -0.831791877, 0.124043159, 0.095811963, 0.598950267, 1.17313588, -0.181547076, -0.598543823, -0.667416632, 0.563138723, 0.55316484, 0.480629742, -0.392955244, 0.275448829, -0.333166063, -0.509723186});
  auto v6 = repeated<float>(1024, {0.286297977, -0.189009756, 1.86286163, 0.0139037305, -0.712347388, -0.243274495, -1.48157644, 0.684201002, 0.588923454, 0.454489142, -1.12894738, -0.189138919, 0.49015525, -0.384786665, 0.114905454, -0.284750372});
  auto v7 = repeated<float>(1024, {0.330806047, 0.396501184, -0.362113357, -1.26488256, 0.946358561, 0.0857260748, 0.240273148, 0.152525589, 0.256206632, 0.574271679, 0.555918574, -0.162624538, 0.0274777915, -0.334315628, -0.20700185, 0.197146744});
  auto v8 = repeated<float>(1024, {-0.73823446, -0.287197322, 0.139947563, 0.63514477, -1.2275182, 0.806710064, -0.205765828, -0.834818065, -2.89954758, -0.986824989, -0.369369656, 0.545576334, 0.598540485, -0.896526813, -1.12681853E-4, 0.428382337});
  auto v9 = repeated<float>(1024, {-0.0506787896, 1.52065754, -0.488904893, 0.271623254, 0.0226964187, 1.13260627, -0.123041019, -0.818917513, 0.142105132, -0.563671887, -0.0716918483, -0.300572067, 0.220496818, -0.195044488, -0.626607358, -0.500115216});
  auto v10 = repeated<float>(1024, {0.185905829, -0.0191589147, 0.972919225, 0.562415779, -1.26457107, 0.191955298, -0.543793797, 0.131586418, 1.511814, 0.240271449, -0.230641246, 0.32624355, -0.2265708, -0.148206532, -0.00554171437, 0.533514142});
  auto v11 = repeated<float>(1024, {0.0554278344, -0.555401444, 1.04437649, -0.666052341, -0.211862609, -0.431416899, -0.0720636546, -2.48991799, 0.427547336, -0.964258134, -0.101779692, 0.546912789, 0.233622894, -0.458309591, -0.320211202, 0.282270938});
  auto v12 = repeated<float>(1024, {-0.15196459, -0.0970092639, -0.148111045, 1.00754237, 1.1475141, 0.938824236, -0.141457215, -0.732523918, 0.922843158, -0.114400379, -0.645231425, -0.160905048, -0.317237884, -0.547497034, 0.123686247, 0.934989273});
  auto v13 = repeated<float>(1024, {-0.661866903, -1.24268174, 0.527348399, -0.0778019726, -0.385623902, 1.74449313, 0.848621785, 1.33680928, 0.26154384, 0.480570585, -0.258321822, -0.600519955, 0.721896588, -0.035896223, 0.643704891, 0.261706442});
  auto v14 = repeated<float>(1024, {1.11323214, 0.718836427, 0.601066172, 0.868726789, -0.16672188, 0.330862075, -2.70876336, -0.0362475254, 0.0473451875, 0.51305908, 0.0366545655, -0.246530384, 1.56523979, 0.0427541137, -0.596498668, -0.189398453});
  auto v15 = repeated<float>(1024, {0.186927512, 0.0578776859, -0.470207602, -0.716345906, -0.513711691, -0.948979198, -0.0841916725, 1.10566747, 0.109442748, -0.494833648, -0.209617928, 0.0450635366, 0.511211693, 0.420725167, -0.17439878, 0.23090896});
  auto v16 = repeated<float>(1024, {0.0992246866, -0.946523189, 0.122071698, 1.58992755, 1.96434772, -0.0562853105, 0.315511167, 0.509273469, 1.22524285, -0.104814142, 1.26691663, -0.187680513, -0.458649457, -0.360774785, -0.713748395, -0.1546368});
  [[maybe_unused]] size_t v17 = 0;
  [[maybe_unused]] size_t v18 = 1;
  [[maybe_unused]] size_t v19 = 2;
  [[maybe_unused]] size_t v20 = 3;
  [[maybe_unused]] size_t v21 = 4;
  [[maybe_unused]] size_t v22 = 5;
  [[maybe_unused]] size_t v23 = 6;
  [[maybe_unused]] size_t v24 = 7;
  [[maybe_unused]] size_t v25 = 8;
  [[maybe_unused]] size_t v26 = 9;
  [[maybe_unused]] size_t v27 = 10;
  [[maybe_unused]] size_t v28 = 11;
  [[maybe_unused]] size_t v29 = 12;
  [[maybe_unused]] size_t v30 = 13;
  [[maybe_unused]] size_t v31 = 14;
  [[maybe_unused]] size_t v32 = 15;
  [[maybe_unused]] size_t v33 = 16;
  std::vector<Plaintext> v34(17);
  const auto pt = cc.encode(v16);
  v34[0] = pt;
  const auto pt1 = cc.encode(v15);
  v34[1] = pt1;
  const auto pt2 = cc.encode(v14);
  v34[2] = pt2;
  const auto pt3 = cc.encode(v13);
  v34[3] = pt3;
  const auto pt4 = cc.encode(v12);
  v34[4] = pt4;
  const auto pt5 = cc.encode(v11);
  v34[5] = pt5;
  const auto pt6 = cc.encode(v10);
  v34[6] = pt6;
  const auto pt7 = cc.encode(v9);
  v34[7] = pt7;
  const auto pt8 = cc.encode(v8);
  v34[8] = pt8;
  const auto pt9 = cc.encode(v7);
  v34[9] = pt9;
  const auto pt10 = cc.encode(v6);
  v34[10] = pt10;
  const auto pt11 = cc.encode(v5);
  v34[11] = pt11;
  const auto pt12 = cc.encode(v4);
  v34[12] = pt12;
  const auto pt13 = cc.encode(v3);
  v34[13] = pt13;
  const auto pt14 = cc.encode(v2);
  v34[14] = pt14;
  const auto pt15 = cc.encode(v1);
  v34[15] = pt15;
  const auto pt16 = cc.encode(v0);
  v34[16] = pt16;
  return v34;
}
std::vector<Ciphertext> matvec__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, const std::vector<Plaintext>& v1) {
  [[maybe_unused]] size_t v2 = 0;
  [[maybe_unused]] size_t v3 = 1;
  [[maybe_unused]] size_t v4 = 2;
  [[maybe_unused]] size_t v5 = 3;
  [[maybe_unused]] size_t v6 = 4;
  [[maybe_unused]] size_t v7 = 8;
  [[maybe_unused]] size_t v8 = 12;
  [[maybe_unused]] size_t v9 = 5;
  [[maybe_unused]] size_t v10 = 6;
  [[maybe_unused]] size_t v11 = 7;
  [[maybe_unused]] size_t v12 = 9;
  [[maybe_unused]] size_t v13 = 10;
  [[maybe_unused]] size_t v14 = 11;
  [[maybe_unused]] size_t v15 = 13;
  [[maybe_unused]] size_t v16 = 14;
  [[maybe_unused]] size_t v17 = 15;
  [[maybe_unused]] size_t v18 = 16;
  Plaintext pt = v1[0];
  Ciphertext ct = v0[0];
  const auto ct1 = cc.multiply(ct, pt);
  const auto ct2_rotations = cc.rotate_hoisted(ct, {1, 2, 3});
  const auto ct2 = ct2_rotations[0];
  const auto ct3 = ct2_rotations[1];
  const auto ct4 = ct2_rotations[2];
  Plaintext pt1 = v1[1];
  const auto ct5 = cc.multiply(ct2, pt1);
  Plaintext pt2 = v1[2];
  const auto ct6 = cc.multiply(ct3, pt2);
  Plaintext pt3 = v1[3];
  const auto ct7 = cc.multiply(ct4, pt3);
  Plaintext pt4 = v1[4];
  const auto ct8 = cc.multiply(ct, pt4);
  Plaintext pt5 = v1[5];
  const auto ct9 = cc.multiply(ct2, pt5);
  Plaintext pt6 = v1[6];
  const auto ct10 = cc.multiply(ct3, pt6);
  Plaintext pt7 = v1[7];
  const auto ct11 = cc.multiply(ct4, pt7);
  const auto ct12 = cc.add(ct8, ct9);
  const auto ct13 = cc.add(ct10, ct11);
  const auto ct14 = cc.add(ct12, ct13);
  const auto ct15 = cc.rotate(ct14, 4);
  Plaintext pt8 = v1[8];
  const auto ct16 = cc.multiply(ct, pt8);
  Plaintext pt9 = v1[9];
  const auto ct17 = cc.multiply(ct2, pt9);
  Plaintext pt10 = v1[10];
  const auto ct18 = cc.multiply(ct3, pt10);
  Plaintext pt11 = v1[11];
  const auto ct19 = cc.multiply(ct4, pt11);
  const auto ct20 = cc.add(ct16, ct17);
  const auto ct21 = cc.add(ct18, ct19);
  const auto ct22 = cc.add(ct20, ct21);
  const auto ct23 = cc.rotate(ct22, 8);
  Plaintext pt12 = v1[12];
  const auto ct24 = cc.multiply(ct, pt12);
  Plaintext pt13 = v1[13];
  const auto ct25 = cc.multiply(ct2, pt13);
  Plaintext pt14 = v1[14];
  const auto ct26 = cc.multiply(ct3, pt14);
  Plaintext pt15 = v1[15];
  const auto ct27 = cc.multiply(ct4, pt15);
  const auto ct28 = cc.add(ct24, ct25);
  const auto ct29 = cc.add(ct26, ct27);
  const auto ct30 = cc.add(ct28, ct29);
  const auto ct31 = cc.rotate(ct30, 12);
  Plaintext pt16 = v1[16];
  const auto ct32 = cc.add(ct1, pt16);
  const auto ct33 = cc.add(ct5, ct6);
  const auto ct34 = cc.add(ct32, ct33);
  const auto ct35 = cc.add(ct7, ct15);
  const auto ct36 = cc.add(ct23, ct31);
  const auto ct37 = cc.add(ct35, ct36);
  const auto ct38 = cc.add(ct34, ct37);
  std::vector<Ciphertext> v19(1);
  const auto ct39 = cc.rescale(ct38);
  v19[0] = ct39;
  return v19;
}
std::vector<Ciphertext> matvec(CryptoContext cc, std::vector<Ciphertext> v0) {
  const auto& v1 = matvec__preprocessing(cc);
  const auto& v2 = matvec__preprocessed(cc, v0, v1);
  return v2;
}
std::vector<Ciphertext> matvec__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<float> v3(1024, 0);
  [[maybe_unused]] int32_t v4 = 16;
  [[maybe_unused]] int32_t v5 = 1024;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<float> v7 = std::move(v3);
  for (auto v8 = 0; v8 < 16; v8 += 1) {
    std::vector<float> v10 = std::move(v7);
    for (auto v11 = v8; v11 < 1024; v11 += 16) {
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
std::vector<float> matvec__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] int32_t v1 = 1008;
  std::vector<float> v2(16, 0);
  [[maybe_unused]] int32_t v3 = 0;
  [[maybe_unused]] int32_t v4 = 15;
  [[maybe_unused]] int32_t v5 = 1;
  [[maybe_unused]] int32_t v6 = 16;
  [[maybe_unused]] int32_t v7 = 1024;
  [[maybe_unused]] size_t v8 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v9 = cc.decode<float>(pt, 1024);
  std::vector<float> v10 = std::move(v2);
  for (auto v11 = 0; v11 < 16; v11 += 1) {
    int32_t v13 = v4 - v11;
    std::vector<float> v14 = std::move(v10);
    for (auto v15 = v13; v15 < 1024; v15 += 16) {
      int32_t v17 = v11 + v1;
      int32_t v18 = (v17 / v6) - ((v17 % v6 != 0) && ((v17 < 0) != (v6 < 0)));
      int32_t v19 = v18 * v6;
      int32_t v20 = v13 + v19;
      int32_t v21 = v15 - v13;
      int32_t v22 = v20 - v21;
      size_t v23 = static_cast<size_t>(v22);
      float v24 = v9[v23 + 1024 * (0)];
      size_t v25 = static_cast<size_t>(v13);
      v14[v25] = v24;
    }
    v10 = std::move(v14);
  }
  return v10;
}
Parameters matvec__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 1;
  params.slots = 1024;
  params.scale_bits = 45;
  params.first_bits = 55;
  return params;
}
CryptoContext matvec__generate_crypto_context() {
  const auto& params = matvec__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext matvec__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {1, 2, 3, 4, 8, 12}});
  return cc1;
}
