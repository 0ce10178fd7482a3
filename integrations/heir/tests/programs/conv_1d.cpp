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
  [[maybe_unused]] size_t v1 = 32;
  [[maybe_unused]] size_t v2 = -3;
  double v3 = 0;
  auto v4 = runs<double>({{4, 1}, {4, 0}});
  [[maybe_unused]] size_t v5 = 8;
  [[maybe_unused]] size_t v6 = 1;
  [[maybe_unused]] size_t v7 = 3;
  std::vector<float> v8(32, 0);
  [[maybe_unused]] size_t v9 = 0;
  [[maybe_unused]] size_t v10 = 2;
  [[maybe_unused]] size_t v11 = 5;
  [[maybe_unused]] size_t v12 = 7;
  [[maybe_unused]] size_t v13 = 9;
  std::vector<Plaintext> v14(14);
  const auto& v15 = _assign_layout_0(v0);
  std::vector<float> v16(1 * 32);
  for (int64_t v16_i0 = 0; v16_i0 < 1; ++v16_i0) {
    for (int64_t v16_i1 = 0; v16_i1 < 32; ++v16_i1) {
      v16[v16_i1 + 32 * (v16_i0)] = v15[0 + v16_i1 * 1 + 32 * (0 + v16_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v16);
  v14[0] = pt;
  const auto pt1 = cc.encode(v8);
  v14[1] = pt1;
  for (auto v17 = 1; v17 < 3; v17 += 1) {
    bool v18 = v17 < v5;
    if (v18) {
      double v19 = v4[v17];
      bool v20 = v19 != v3;
      if (v20) {
        std::vector<float> v21(1 * 32);
        for (int64_t v21_i0 = 0; v21_i0 < 1; ++v21_i0) {
          for (int64_t v21_i1 = 0; v21_i1 < 32; ++v21_i1) {
            v21[v21_i1 + 32 * (v21_i0)] = v15[0 + v21_i1 * 1 + 32 * (v17 + v21_i0 * 1)];
          }
        }
        const auto pt2 = cc.encode(v21);
        size_t v22 = v17 + v6;
        v14[v22] = pt2;
      }
    }
  }
  for (auto v23 = 1; v23 < 3; v23 += 1) {
    size_t v24 = v23 * v7;
    bool v25 = v24 < v5;
    if (v25) {
      double v26 = v4[v24];
      bool v27 = v26 != v3;
      if (v27) {
        std::vector<float> v28(1 * 32);
        for (int64_t v28_i0 = 0; v28_i0 < 1; ++v28_i0) {
          for (int64_t v28_i1 = 0; v28_i1 < 32; ++v28_i1) {
            v28[v28_i1 + 32 * (v28_i0)] = v15[0 + v28_i1 * 1 + 32 * (v24 + v28_i0 * 1)];
          }
        }
        size_t v29 = v23 * v2;
        size_t v30 = v29 % v1;
        size_t v31 = v30 + v1;
        size_t v32 = v31 % v1;
        size_t v33 = v1 - v32;
        std::vector<float> v34(1 * v32);
        for (int64_t v34_i0 = 0; v34_i0 < 1; ++v34_i0) {
          for (int64_t v34_i1 = 0; v34_i1 < v32; ++v34_i1) {
            v34[v34_i1 + v32 * (v34_i0)] = v15[0 + v34_i1 * 1 + 32 * (v24 + v34_i0 * 1)];
          }
        }
        std::vector<float> v35(1 * v33);
        for (int64_t v35_i0 = 0; v35_i0 < 1; ++v35_i0) {
          for (int64_t v35_i1 = 0; v35_i1 < v33; ++v35_i1) {
            v35[v35_i1 + v33 * (v35_i0)] = v15[v32 + v35_i1 * 1 + 32 * (v24 + v35_i0 * 1)];
          }
        }
        std::vector<float> v36(v28);
        int64_t v34_0 = 0;
        for (int64_t v28_0 = 0; v28_0 < 0 + 1 * 1; v28_0 += 1) {
          int64_t v34_1 = 0;
          for (int64_t v28_1 = v33; v28_1 < v33 + v32 * 1; v28_1 += 1) {
            v36[v28_1 + 32 * (v28_0)] = v34[v34_1 + v32 * (v34_0)];
            v34_1 += 1;
          }
          v34_0 += 1;
        }
        std::vector<float> v37(v36);
        int64_t v35_0 = 0;
        for (int64_t v36_0 = 0; v36_0 < 0 + 1 * 1; v36_0 += 1) {
          int64_t v35_1 = 0;
          for (int64_t v36_1 = 0; v36_1 < 0 + v33 * 1; v36_1 += 1) {
            v37[v36_1 + 32 * (v36_0)] = v35[v35_1 + v33 * (v35_0)];
            v35_1 += 1;
          }
          v35_0 += 1;
        }
        std::vector<float> v38(1 * 32);
        for (int64_t v38_i0 = 0; v38_i0 < 1; ++v38_i0) {
          for (int64_t v38_i1 = 0; v38_i1 < 32; ++v38_i1) {
            v38[v38_i1 + 32 * (v38_i0)] = v37[0 + v38_i1 * 1 + 32 * (0 + v38_i0 * 1)];
          }
        }
        const auto pt3 = cc.encode(v38);
        size_t v39 = v23 + v7;
        v14[v39] = pt3;
      } else {
        size_t v40 = v23 + v11;
        v14[v40] = pt1;
      }
    } else {
      size_t v41 = v23 + v12;
      v14[v41] = pt1;
    }
    for (auto v42 = 1; v42 < 3; v42 += 1) {
      size_t v43 = v42 + v24;
      bool v44 = v43 < v5;
      if (v44) {
        double v45 = v4[v43];
        bool v46 = v45 != v3;
        if (v46) {
          std::vector<float> v47(1 * 32);
          for (int64_t v47_i0 = 0; v47_i0 < 1; ++v47_i0) {
            for (int64_t v47_i1 = 0; v47_i1 < 32; ++v47_i1) {
              v47[v47_i1 + 32 * (v47_i0)] = v15[0 + v47_i1 * 1 + 32 * (v43 + v47_i0 * 1)];
            }
          }
          size_t v48 = v23 * v2;
          size_t v49 = v48 % v1;
          size_t v50 = v49 + v1;
          size_t v51 = v50 % v1;
          size_t v52 = v1 - v51;
          std::vector<float> v53(1 * v51);
          for (int64_t v53_i0 = 0; v53_i0 < 1; ++v53_i0) {
            for (int64_t v53_i1 = 0; v53_i1 < v51; ++v53_i1) {
              v53[v53_i1 + v51 * (v53_i0)] = v15[0 + v53_i1 * 1 + 32 * (v43 + v53_i0 * 1)];
            }
          }
          std::vector<float> v54(1 * v52);
          for (int64_t v54_i0 = 0; v54_i0 < 1; ++v54_i0) {
            for (int64_t v54_i1 = 0; v54_i1 < v52; ++v54_i1) {
              v54[v54_i1 + v52 * (v54_i0)] = v15[v51 + v54_i1 * 1 + 32 * (v43 + v54_i0 * 1)];
            }
          }
          std::vector<float> v55(v47);
          int64_t v53_0 = 0;
          for (int64_t v47_0 = 0; v47_0 < 0 + 1 * 1; v47_0 += 1) {
            int64_t v53_1 = 0;
            for (int64_t v47_1 = v52; v47_1 < v52 + v51 * 1; v47_1 += 1) {
              v55[v47_1 + 32 * (v47_0)] = v53[v53_1 + v51 * (v53_0)];
              v53_1 += 1;
            }
            v53_0 += 1;
          }
          std::vector<float> v56(v55);
          int64_t v54_0 = 0;
          for (int64_t v55_0 = 0; v55_0 < 0 + 1 * 1; v55_0 += 1) {
            int64_t v54_1 = 0;
            for (int64_t v55_1 = 0; v55_1 < 0 + v52 * 1; v55_1 += 1) {
              v56[v55_1 + 32 * (v55_0)] = v54[v54_1 + v52 * (v54_0)];
              v54_1 += 1;
            }
            v54_0 += 1;
          }
          std::vector<float> v57(1 * 32);
          for (int64_t v57_i0 = 0; v57_i0 < 1; ++v57_i0) {
            for (int64_t v57_i1 = 0; v57_i1 < 32; ++v57_i1) {
              v57[v57_i1 + 32 * (v57_i0)] = v56[0 + v57_i1 * 1 + 32 * (0 + v57_i0 * 1)];
            }
          }
          const auto pt4 = cc.encode(v57);
          size_t v58 = v42 + v13;
          size_t v59 = v23 - v6;
          size_t v60 = v59 * v10;
          size_t v61 = v58 + v60;
          v14[v61] = pt4;
        }
      }
    }
  }
  return v14;
}
std::vector<Ciphertext> conv_1d__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, Ciphertext ct, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 3;
  [[maybe_unused]] size_t v5 = 1;
  [[maybe_unused]] size_t v6 = 8;
  auto v7 = runs<double>({{4, 1}, {4, 0}});
  double v8 = 0;
  [[maybe_unused]] size_t v9 = 2;
  [[maybe_unused]] size_t v10 = 5;
  [[maybe_unused]] size_t v11 = 7;
  [[maybe_unused]] size_t v12 = 9;
  const auto& v13 = _assign_layout_0(v1);
  std::vector<Ciphertext> v14(3);
  std::vector<Ciphertext> v15(v14);
  std::copy(v0.begin(), v0.end(), v15.begin() + 0);
  std::vector<Ciphertext> v16 = std::move(v15);
  for (auto v17 = 1; v17 < 3; v17 += 1) {
    std::vector<Ciphertext> v19(1);
    Ciphertext ct1 = v0[0];
    const auto ct2 = cc.rotate(ct1, v17);
    v19[0] = ct2;
    std::vector<Ciphertext> v21(v16);
    std::copy(v19.begin(), v19.end(), v21.begin() + v17);
    v16 = std::move(v21);
  }
  Plaintext pt = v2[0];
  Ciphertext ct3 = v16[0];
  const auto ct4 = cc.multiply(ct3, pt);
  Plaintext pt1 = v2[1];
  std::vector<Ciphertext> v22(1);
  const auto ct5 = cc.add(ct4, pt1);
  auto v23 = v22;
  v23[0] = ct5;
  std::vector<Ciphertext> v24 = std::move(v23);
  for (auto v25 = 1; v25 < 3; v25 += 1) {
    bool v27 = v25 < v6;
    std::vector<Ciphertext> v28;
    if (v27) {
      double v29 = v7[v25];
      bool v30 = v29 != v8;
      std::vector<Ciphertext> v31;
      if (v30) {
        size_t v32 = v25 + v5;
        Plaintext pt2 = v2[v32];
        Ciphertext ct6 = v16[v25];
        const auto ct7 = cc.multiply(ct6, pt2);
        Ciphertext ct8 = v24[0];
        const auto ct9 = cc.add(ct8, ct7);
        auto v33 = v22;
        v33[0] = ct9;
        v31 = std::move(v33);
      } else {
        v31 = v24;
      }
      v28 = std::move(v31);
    } else {
      v28 = v24;
    }
    v24 = std::move(v28);
  }
  Ciphertext ct10 = v24[0];
  const auto ct11 = cc.add(ct10, pt1);
  auto v34 = v22;
  v34[0] = ct11;
  std::vector<Ciphertext> v35 = std::move(v34);
  for (auto v36 = 1; v36 < 3; v36 += 1) {
    size_t v38 = v36 * v4;
    bool v39 = v38 < v6;
    std::vector<Ciphertext> v40;
    if (v39) {
      double v41 = v7[v38];
      bool v42 = v41 != v8;
      std::vector<Ciphertext> v43;
      if (v42) {
        size_t v44 = v36 + v4;
        Plaintext pt3 = v2[v44];
        const auto ct12 = cc.multiply(ct3, pt3);
        const auto ct13 = cc.add(ct12, pt1);
        auto v45 = v22;
        v45[0] = ct13;
        v43 = std::move(v45);
      } else {
        size_t v46 = v36 + v10;
        Plaintext pt4 = v2[v46];
        std::vector<Ciphertext> v47(1, ct);
        Ciphertext ct14 = v47[0];
        const auto ct15 = cc.add(ct14, pt4);
        auto v48 = v22;
        v48[0] = ct15;
        v43 = std::move(v48);
      }
      v40 = std::move(v43);
    } else {
      size_t v49 = v36 + v11;
      Plaintext pt5 = v2[v49];
      std::vector<Ciphertext> v50(1, ct);
      Ciphertext ct16 = v50[0];
      const auto ct17 = cc.add(ct16, pt5);
      auto v51 = v22;
      v51[0] = ct17;
      v40 = std::move(v51);
    }
    std::vector<Ciphertext> v52 = std::move(v40);
    for (auto v53 = 1; v53 < 3; v53 += 1) {
      size_t v55 = v53 + v38;
      bool v56 = v55 < v6;
      std::vector<Ciphertext> v57;
      if (v56) {
        double v58 = v7[v55];
        bool v59 = v58 != v8;
        std::vector<Ciphertext> v60;
        if (v59) {
          size_t v61 = v53 + v12;
          size_t v62 = v36 - v5;
          size_t v63 = v62 * v9;
          size_t v64 = v61 + v63;
          Plaintext pt6 = v2[v64];
          Ciphertext ct18 = v16[v53];
          const auto ct19 = cc.multiply(ct18, pt6);
          Ciphertext ct20 = v52[0];
          const auto ct21 = cc.add(ct20, ct19);
          auto v65 = v22;
          v65[0] = ct21;
          v60 = std::move(v65);
        } else {
          v60 = v52;
        }
        v57 = std::move(v60);
      } else {
        v57 = v52;
      }
      v52 = std::move(v57);
    }
    Ciphertext ct22 = v52[0];
    const auto ct23 = cc.rotate(ct22, v38);
    Ciphertext ct24 = v35[0];
    const auto ct25 = cc.add(ct24, ct23);
    auto v66 = v22;
    v66[0] = ct25;
    v35 = std::move(v66);
  }
  Ciphertext ct26 = v35[0];
  const auto ct27 = cc.rescale(ct26);
  auto v67 = v22;
  v67[0] = ct27;
  return v67;
}
std::vector<Ciphertext> conv_1d(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, Ciphertext ct) {
  const auto& v2 = conv_1d__preprocessing(cc, v1);
  const auto& v3 = conv_1d__preprocessed(cc, v0, v1, ct, v2);
  return v3;
}
Ciphertext conv_1d__encrypt__zero__0(CryptoContext cc, PublicKey pk) {
  std::vector<double> v0(32, 0);
  const auto pt = cc.encode(v0);
  const auto ct = cc.encrypt(pt, pk);
  return ct;
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
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {1, 2, 3, 6}});
  return cc1;
}
