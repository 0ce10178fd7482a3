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
  auto v1 = repeated<float>(1024, {0.0992246866, -0.946523189, 0.122071698, 1.58992755, 1.96434772, -0.0562853105, 0.315511167, 0.509273469, 1.22524285, -0.104814142, 1.26691663, -0.187680513, -0.458649457, -0.360774785, -0.713748395, -0.1546368});
  [[maybe_unused]] size_t v2 = 1024;
  [[maybe_unused]] size_t v3 = -4;
  [[maybe_unused]] size_t v4 = 16;
  [[maybe_unused]] size_t v5 = 1;
  [[maybe_unused]] size_t v6 = 4;
  auto v7 = repeated_rows<float>(1024, {{0.0992246866, -0.946523189, 0.122071698, 1.58992755, 1.96434772, -0.0562853105, 0.315511167, 0.509273469, 1.22524285, -0.104814142, 1.26691663, -0.187680513, -0.458649457, -0.360774785, -0.713748395, -0.1546368}, {0.186927512, 0.0578776859, -0.470207602, -0.716345906, -0.513711691, -0.948979198, -0.0841916725, 1.10566747, 0.109442748, -0.494833648, -0.209617928, 0.0450635366, 0.511211693, 0.420725167, -0.17439878, 0.23090896}, {1.11323214, 0.718836427, 0.601066172, 0.868726789, -0.16672188, 0.330862075, -2.70876336, -0.0362475254, 0.0473451875, 0.51305908, 0.0366545655, -0.246530384, 1.56523979, 0.0427541137, -0.596498668, -0.189398453}, {-0.661866903, -1.24268174, 0.527348399, -0.0778019726, -0.385623902, 1.74449313, 0.848621785, 1.33680928, 0.26154384, 0.480570585, -0.258321822, -0.600519955, 0.721896588, -0.035896223, 0.643704891, 0.261706442}, {1.1475141, 0.938824236, -0.141457215, -0.732523918, 0.922843158, -0.114400379, -0.645231425, -0.160905048, -0.317237884, -0.547497034, 0.123686247, 0.934989273, -0.15196459, -0.0970092639, -0.148111045, 1.00754237}, {-0.211862609, -0.431416899, -0.0720636546, -2.48991799, 0.427547336, -0.964258134, -0.101779692, 0.546912789, 0.233622894, -0.458309591, -0.320211202, 0.282270938, 0.0554278344, -0.555401444, 1.04437649, -0.666052341}, {-1.26457107, 0.191955298, -0.543793797, 0.131586418, 1.511814, 0.240271449, -0.230641246, 0.32624355, -0.2265708, -0.148206532, -0.00554171437, 0.533514142, 0.185905829, -0.0191589147, 0.972919225, 0.562415779}, {0.0226964187, 1.13260627, -0.123041019, -0.818917513, 0.142105132, -0.563671887, -0.0716918483, -0.300572067, 0.220496818, -0.195044488, -0.626607358, -0.500115216, -0.0506787896, 1.52065754, -0.488904893, 0.271623254}, {-2.89954758, -0.986824989, -0.369369656, 0.545576334, 0.598540485, -0.896526813, -1.12681853E-4, 0.428382337, -0.73823446, -0.287197322, 0.139947563, 0.63514477, -1.2275182, 0.806710064, -0.205765828, -0.834818065}, {0.256206632, 0.574271679, 0.555918574, -0.162624538, 0.0274777915, -0.334315628, -0.20700185, 0.197146744, 0.330806047, 0.396501184, -0.362113357, -1.26488256, 0.946358561, 0.0857260748, 0.240273148, 0.152525589}, {0.588923454, 0.454489142, -1.12894738, -0.189138919, 0.49015525, -0.384786665, 0.114905454, -0.284750372, 0.286297977, -0.189009756, 1.86286163, 0.0139037305, -0.712347388, -0.243274495, -1.48157644, 0.684201002}, {-0.667416632, 0.563138723, 0.55316484, 0.480629742, -0.392955244, 0.275448829, -0.333166063, -0.509723186, 1.58761895, -0.831791877, 0.124043159, 0.095811963, 0.598950267, 1.17313588, -0.181547076, -0.598543823}, {0.60777837, 0.539456129, -0.955740272, 0.530687094, -0.9646492, -0.72272265, -0.0738262832, 0.0324916467, -0.715733826, 0.347885787, 0.246206611, -0.612099587, -2.4022584, -0.842383623, 1.52375555, -0.424889356}, {0.260872364, -1.05352545, -0.208183318, -0.157960042, -0.370172888, -0.327790231, -0.249753788, 1.42427027, -0.772574305, 0.156113848, -0.0339187346, 0.60860002, 0.354834914, 0.0923027768, 0.042693194, -0.552195013}, {-0.137271598, 0.0650914758, 0.181312144, 0.275503069, 0.313313752, 1.29883456, 0.48631376, 0.141853333, 0.255487353, -0.0788015499, -1.24023795, -0.185381308, 0.21442616, 0.292922527, -0.0227817241, -0.0453558639}, {-0.794038355, -0.381407768, 0.454538226, 0.394202143, 0.064757444, -1.24775183, 1.07196343, 0.607029676, 0.584364653, -2.3380034, 0.161590248, -0.819893181, -0.321492225, -0.00216138293, -0.638892055, -0.441321522}});
  std::vector<float> v8(1024, 0);
  [[maybe_unused]] size_t v9 = 0;
  [[maybe_unused]] size_t v10 = 3;
  [[maybe_unused]] size_t v11 = 20;
  [[maybe_unused]] size_t v12 = 7;
  [[maybe_unused]] size_t v13 = 10;
  std::vector<Plaintext> v14(21);
  const auto pt = cc.encode(v1);
  v14[0] = pt;
  const auto pt1 = cc.encode(v8);
  v14[1] = pt1;
  for (auto v15 = 1; v15 < 4; v15 += 1) {
    bool v16 = v15 < v4;
    if (v16) {
      std::vector<float> v17(1 * 1024);
      for (int64_t v17_i0 = 0; v17_i0 < 1; ++v17_i0) {
        for (int64_t v17_i1 = 0; v17_i1 < 1024; ++v17_i1) {
          v17[v17_i1 + 1024 * (v17_i0)] = v7[0 + v17_i1 * 1 + 1024 * (v15 + v17_i0 * 1)];
        }
      }
      const auto pt2 = cc.encode(v17);
      size_t v18 = v15 + v5;
      v14[v18] = pt2;
    }
  }
  for (auto v19 = 1; v19 < 4; v19 += 1) {
    size_t v20 = v19 * v6;
    bool v21 = v20 < v4;
    if (v21) {
      std::vector<float> v22(1 * 1024);
      for (int64_t v22_i0 = 0; v22_i0 < 1; ++v22_i0) {
        for (int64_t v22_i1 = 0; v22_i1 < 1024; ++v22_i1) {
          v22[v22_i1 + 1024 * (v22_i0)] = v7[0 + v22_i1 * 1 + 1024 * (v20 + v22_i0 * 1)];
        }
      }
      size_t v23 = v19 * v3;
      size_t v24 = v23 % v2;
      size_t v25 = v24 + v2;
      size_t v26 = v25 % v2;
      size_t v27 = v2 - v26;
      std::vector<float> v28(1 * v26);
      for (int64_t v28_i0 = 0; v28_i0 < 1; ++v28_i0) {
        for (int64_t v28_i1 = 0; v28_i1 < v26; ++v28_i1) {
          v28[v28_i1 + v26 * (v28_i0)] = v7[0 + v28_i1 * 1 + 1024 * (v20 + v28_i0 * 1)];
        }
      }
      std::vector<float> v29(1 * v27);
      for (int64_t v29_i0 = 0; v29_i0 < 1; ++v29_i0) {
        for (int64_t v29_i1 = 0; v29_i1 < v27; ++v29_i1) {
          v29[v29_i1 + v27 * (v29_i0)] = v7[v26 + v29_i1 * 1 + 1024 * (v20 + v29_i0 * 1)];
        }
      }
      std::vector<float> v30(v22);
      int64_t v28_0 = 0;
      for (int64_t v22_0 = 0; v22_0 < 0 + 1 * 1; v22_0 += 1) {
        int64_t v28_1 = 0;
        for (int64_t v22_1 = v27; v22_1 < v27 + v26 * 1; v22_1 += 1) {
          v30[v22_1 + 1024 * (v22_0)] = v28[v28_1 + v26 * (v28_0)];
          v28_1 += 1;
        }
        v28_0 += 1;
      }
      std::vector<float> v31(v30);
      int64_t v29_0 = 0;
      for (int64_t v30_0 = 0; v30_0 < 0 + 1 * 1; v30_0 += 1) {
        int64_t v29_1 = 0;
        for (int64_t v30_1 = 0; v30_1 < 0 + v27 * 1; v30_1 += 1) {
          v31[v30_1 + 1024 * (v30_0)] = v29[v29_1 + v27 * (v29_0)];
          v29_1 += 1;
        }
        v29_0 += 1;
      }
      std::vector<float> v32(1 * 1024);
      for (int64_t v32_i0 = 0; v32_i0 < 1; ++v32_i0) {
        for (int64_t v32_i1 = 0; v32_i1 < 1024; ++v32_i1) {
          v32[v32_i1 + 1024 * (v32_i0)] = v31[0 + v32_i1 * 1 + 1024 * (0 + v32_i0 * 1)];
        }
      }
      const auto pt3 = cc.encode(v32);
      size_t v33 = v19 + v6;
      v14[v33] = pt3;
    } else {
      size_t v34 = v19 + v12;
      v14[v34] = pt1;
    }
    for (auto v35 = 1; v35 < 4; v35 += 1) {
      size_t v36 = v35 + v20;
      bool v37 = v36 < v4;
      if (v37) {
        std::vector<float> v38(1 * 1024);
        for (int64_t v38_i0 = 0; v38_i0 < 1; ++v38_i0) {
          for (int64_t v38_i1 = 0; v38_i1 < 1024; ++v38_i1) {
            v38[v38_i1 + 1024 * (v38_i0)] = v7[0 + v38_i1 * 1 + 1024 * (v36 + v38_i0 * 1)];
          }
        }
        size_t v39 = v19 * v3;
        size_t v40 = v39 % v2;
        size_t v41 = v40 + v2;
        size_t v42 = v41 % v2;
        size_t v43 = v2 - v42;
        std::vector<float> v44(1 * v42);
        for (int64_t v44_i0 = 0; v44_i0 < 1; ++v44_i0) {
          for (int64_t v44_i1 = 0; v44_i1 < v42; ++v44_i1) {
            v44[v44_i1 + v42 * (v44_i0)] = v7[0 + v44_i1 * 1 + 1024 * (v36 + v44_i0 * 1)];
          }
        }
        std::vector<float> v45(1 * v43);
        for (int64_t v45_i0 = 0; v45_i0 < 1; ++v45_i0) {
          for (int64_t v45_i1 = 0; v45_i1 < v43; ++v45_i1) {
            v45[v45_i1 + v43 * (v45_i0)] = v7[v42 + v45_i1 * 1 + 1024 * (v36 + v45_i0 * 1)];
          }
        }
        std::vector<float> v46(v38);
        int64_t v44_0 = 0;
        for (int64_t v38_0 = 0; v38_0 < 0 + 1 * 1; v38_0 += 1) {
          int64_t v44_1 = 0;
          for (int64_t v38_1 = v43; v38_1 < v43 + v42 * 1; v38_1 += 1) {
            v46[v38_1 + 1024 * (v38_0)] = v44[v44_1 + v42 * (v44_0)];
            v44_1 += 1;
          }
          v44_0 += 1;
        }
        std::vector<float> v47(v46);
        int64_t v45_0 = 0;
        for (int64_t v46_0 = 0; v46_0 < 0 + 1 * 1; v46_0 += 1) {
          int64_t v45_1 = 0;
          for (int64_t v46_1 = 0; v46_1 < 0 + v43 * 1; v46_1 += 1) {
            v47[v46_1 + 1024 * (v46_0)] = v45[v45_1 + v43 * (v45_0)];
            v45_1 += 1;
          }
          v45_0 += 1;
        }
        std::vector<float> v48(1 * 1024);
        for (int64_t v48_i0 = 0; v48_i0 < 1; ++v48_i0) {
          for (int64_t v48_i1 = 0; v48_i1 < 1024; ++v48_i1) {
            v48[v48_i1 + 1024 * (v48_i0)] = v47[0 + v48_i1 * 1 + 1024 * (0 + v48_i0 * 1)];
          }
        }
        const auto pt4 = cc.encode(v48);
        size_t v49 = v35 + v13;
        size_t v50 = v19 - v5;
        size_t v51 = v50 * v10;
        size_t v52 = v49 + v51;
        v14[v52] = pt4;
      }
    }
  }
  const auto pt5 = cc.encode(v0);
  v14[20] = pt5;
  return v14;
}
std::vector<Ciphertext> matvec__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, Ciphertext ct, const std::vector<Plaintext>& v1) {
  [[maybe_unused]] size_t v2 = 0;
  [[maybe_unused]] size_t v3 = 4;
  [[maybe_unused]] size_t v4 = 1;
  [[maybe_unused]] size_t v5 = 16;
  [[maybe_unused]] size_t v6 = 3;
  [[maybe_unused]] size_t v7 = 20;
  [[maybe_unused]] size_t v8 = 7;
  [[maybe_unused]] size_t v9 = 10;
  std::vector<Ciphertext> v10(4);
  std::vector<Ciphertext> v11(v10);
  std::copy(v0.begin(), v0.end(), v11.begin() + 0);
  std::vector<Ciphertext> v12 = std::move(v11);
  for (auto v13 = 1; v13 < 4; v13 += 1) {
    std::vector<Ciphertext> v15(1);
    Ciphertext ct1 = v0[0];
    const auto ct2 = cc.rotate(ct1, v13);
    v15[0] = ct2;
    std::vector<Ciphertext> v17(v12);
    std::copy(v15.begin(), v15.end(), v17.begin() + v13);
    v12 = std::move(v17);
  }
  Plaintext pt = v1[0];
  Ciphertext ct3 = v12[0];
  const auto ct4 = cc.multiply(ct3, pt);
  Plaintext pt1 = v1[1];
  std::vector<Ciphertext> v18(1);
  const auto ct5 = cc.add(ct4, pt1);
  auto v19 = v18;
  v19[0] = ct5;
  std::vector<Ciphertext> v20 = std::move(v19);
  for (auto v21 = 1; v21 < 4; v21 += 1) {
    bool v23 = v21 < v5;
    std::vector<Ciphertext> v24;
    if (v23) {
      size_t v25 = v21 + v4;
      Plaintext pt2 = v1[v25];
      Ciphertext ct6 = v12[v21];
      const auto ct7 = cc.multiply(ct6, pt2);
      Ciphertext ct8 = v20[0];
      const auto ct9 = cc.add(ct8, ct7);
      auto v26 = v18;
      v26[0] = ct9;
      v24 = std::move(v26);
    } else {
      v24 = std::move(v20);
    }
    v20 = std::move(v24);
  }
  Ciphertext ct10 = v20[0];
  const auto ct11 = cc.add(ct10, pt1);
  auto v27 = v18;
  v27[0] = ct11;
  std::vector<Ciphertext> v28 = std::move(v27);
  for (auto v29 = 1; v29 < 4; v29 += 1) {
    size_t v31 = v29 * v3;
    bool v32 = v31 < v5;
    std::vector<Ciphertext> v33;
    if (v32) {
      size_t v34 = v29 + v3;
      Plaintext pt3 = v1[v34];
      const auto ct12 = cc.multiply(ct3, pt3);
      const auto ct13 = cc.add(ct12, pt1);
      auto v35 = v18;
      v35[0] = ct13;
      v33 = std::move(v35);
    } else {
      size_t v36 = v29 + v8;
      Plaintext pt4 = v1[v36];
      std::vector<Ciphertext> v37(1, ct);
      Ciphertext ct14 = v37[0];
      const auto ct15 = cc.add(ct14, pt4);
      auto v38 = v18;
      v38[0] = ct15;
      v33 = std::move(v38);
    }
    std::vector<Ciphertext> v39 = std::move(v33);
    for (auto v40 = 1; v40 < 4; v40 += 1) {
      size_t v42 = v40 + v31;
      bool v43 = v42 < v5;
      std::vector<Ciphertext> v44;
      if (v43) {
        size_t v45 = v40 + v9;
        size_t v46 = v29 - v4;
        size_t v47 = v46 * v6;
        size_t v48 = v45 + v47;
        Plaintext pt5 = v1[v48];
        Ciphertext ct16 = v12[v40];
        const auto ct17 = cc.multiply(ct16, pt5);
        Ciphertext ct18 = v39[0];
        const auto ct19 = cc.add(ct18, ct17);
        auto v49 = v18;
        v49[0] = ct19;
        v44 = std::move(v49);
      } else {
        v44 = std::move(v39);
      }
      v39 = std::move(v44);
    }
    Ciphertext ct20 = v39[0];
    const auto ct21 = cc.rotate(ct20, v31);
    Ciphertext ct22 = v28[0];
    const auto ct23 = cc.add(ct22, ct21);
    auto v50 = v18;
    v50[0] = ct23;
    v28 = std::move(v50);
  }
  Plaintext pt6 = v1[20];
  Ciphertext ct24 = v28[0];
  const auto ct25 = cc.add(ct24, pt6);
  const auto ct26 = cc.rescale(ct25);
  auto v51 = v18;
  v51[0] = ct26;
  return v51;
}
std::vector<Ciphertext> matvec(CryptoContext cc, std::vector<Ciphertext> v0, Ciphertext ct) {
  const auto& v1 = matvec__preprocessing(cc);
  const auto& v2 = matvec__preprocessed(cc, v0, ct, v1);
  return v2;
}
Ciphertext matvec__encrypt__zero__0(CryptoContext cc, PublicKey pk) {
  std::vector<double> v0(1024, 0);
  const auto pt = cc.encode(v0);
  const auto ct = cc.encrypt(pt, pk);
  return ct;
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
