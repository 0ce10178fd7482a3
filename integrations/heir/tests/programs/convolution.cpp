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
  [[maybe_unused]] int32_t v4 = 2;
  [[maybe_unused]] int32_t v5 = 4;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<float> v7(128, 0);
  [[maybe_unused]] int32_t v8 = 15;
  std::vector<float> v9(128, 0);
  [[maybe_unused]] int32_t v10 = 7;
  std::vector<float> v11(8192, 0);
  [[maybe_unused]] int32_t v12 = 8;
  [[maybe_unused]] int32_t v13 = 16;
  [[maybe_unused]] int32_t v14 = 1024;
  [[maybe_unused]] int32_t v15 = 3;
  std::vector<float> v16 = std::move(v3);
  for (auto v17 = 0; v17 < 2; v17 += 1) {
    std::vector<float> v19 = std::move(v16);
    for (auto v20 = 0; v20 < 3; v20 += 1) {
      std::vector<float> v22 = std::move(v19);
      for (auto v23 = 0; v23 < 3; v23 += 1) {
        std::vector<float> v25 = std::move(v22);
        for (auto v26 = 0; v26 < 2; v26 += 1) {
          std::vector<float> v28 = std::move(v25);
          for (auto v29 = 0; v29 < 2; v29 += 1) {
            int32_t v31 = v20 * v5;
            int32_t v32 = v31 + v23;
            int32_t v33 = v26 * v5;
            int32_t v34 = v32 + v33;
            int32_t v35 = v34 + v29;
            size_t v36 = static_cast<size_t>(v17);
            size_t v37 = static_cast<size_t>(v20);
            size_t v38 = static_cast<size_t>(v23);
            float v39 = v0[v38 + 3 * (v37 + 3 * (0 + 1 * (v36)))];
            size_t v40 = static_cast<size_t>(v26);
            size_t v41 = static_cast<size_t>(v29);
            size_t v42 = static_cast<size_t>(v35);
            v28[v42 + 16 * (v41 + 2 * (v40 + 2 * (0 + 1 * (v36))))] = v39;
          }
          v25 = std::move(v28);
        }
        v22 = std::move(v25);
      }
      v19 = std::move(v22);
    }
    v16 = std::move(v19);
  }
  std::vector<float> v44 = std::move(v7);
  for (auto v45 = 0; v45 < 2; v45 += 1) {
    std::vector<float> v47 = std::move(v44);
    for (auto v48 = 0; v48 < 2; v48 += 1) {
      std::vector<float> v50 = std::move(v47);
      for (auto v51 = 0; v51 < 2; v51 += 1) {
        std::vector<float> v53 = std::move(v50);
        for (auto v54 = 0; v54 < 16; v54 += 1) {
          int32_t v56 = v45 * v5;
          int32_t v57 = v48 * v4;
          int32_t v58 = v56 + v57;
          int32_t v59 = v58 + v51;
          size_t v60 = static_cast<size_t>(v45);
          size_t v61 = static_cast<size_t>(v48);
          size_t v62 = static_cast<size_t>(v51);
          size_t v63 = static_cast<size_t>(v54);
          float v64 = v16[v63 + 16 * (v62 + 2 * (v61 + 2 * (0 + 1 * (v60))))];
          size_t v65 = static_cast<size_t>(v59);
          v53[v63 + 16 * (0 + 1 * (v65))] = v64;
        }
        v50 = std::move(v53);
      }
      v47 = std::move(v50);
    }
    v44 = std::move(v47);
  }
  std::vector<float> v67 = std::move(v9);
  for (auto v68 = 0; v68 < 8; v68 += 1) {
    std::vector<float> v70 = std::move(v67);
    for (auto v71 = 0; v71 < 16; v71 += 1) {
      size_t v73 = static_cast<size_t>(v68);
      size_t v74 = static_cast<size_t>(v71);
      float v75 = v44[v74 + 16 * (0 + 1 * (v73))];
      v70[v74 + 16 * (v73)] = v75;
    }
    v67 = std::move(v70);
  }
  std::vector<float> v77 = std::move(v11);
  for (auto v78 = 0; v78 < 8; v78 += 1) {
    std::vector<float> v80 = std::move(v77);
    for (auto v81 = 0; v81 < 16; v81 += 1) {
      std::vector<float> v83 = std::move(v80);
      for (auto v84 = v78; v84 < 1024; v84 += 8) {
        int32_t v86 = v78 - v81;
        int32_t v87 = v86 + v8;
        int32_t v88 = (v87 / v12) - ((v87 % v12 != 0) && ((v87 < 0) != (v12 < 0)));
        int32_t v89 = v88 * v12;
        int32_t v90 = v87 - v89;
        int32_t v91 = v90 + v81;
        int32_t v92 = v91 - v84;
        int32_t v93 = v92 - v10;
        int32_t v94 = v93 % v13;
        bool v95 = v94 == v2;
        std::vector<float> v96;
        if (v95) {
          int32_t v97 = v81 - v84;
          int32_t v98 = v97 + v14;
          int32_t v99 = (v98 / v13) - ((v98 % v13 != 0) && ((v98 < 0) != (v13 < 0)));
          int32_t v100 = v99 * v13;
          int32_t v101 = v98 - v100;
          size_t v102 = static_cast<size_t>(v78);
          size_t v103 = static_cast<size_t>(v81);
          float v104 = v67[v103 + 16 * (v102)];
          size_t v105 = static_cast<size_t>(v101);
          size_t v106 = static_cast<size_t>(v84);
          v83[v106 + 1024 * (v105)] = v104;
          v96 = std::move(v83);
        } else {
          v96 = std::move(v83);
        }
        v83 = std::move(v96);
      }
      v80 = std::move(v83);
    }
    v77 = std::move(v80);
  }
  return v77;
}
std::vector<Plaintext> convolution__preprocessing(CryptoContext cc, std::vector<float> v0) {
  [[maybe_unused]] size_t v1 = 1024;
  [[maybe_unused]] size_t v2 = -3;
  [[maybe_unused]] size_t v3 = 8;
  [[maybe_unused]] size_t v4 = 1;
  [[maybe_unused]] size_t v5 = 3;
  std::vector<float> v6(1024, 0);
  [[maybe_unused]] size_t v7 = 0;
  [[maybe_unused]] size_t v8 = 2;
  [[maybe_unused]] size_t v9 = 5;
  [[maybe_unused]] size_t v10 = 7;
  std::vector<Plaintext> v11(12);
  const auto& v12 = _assign_layout_0(v0);
  std::vector<float> v13(1 * 1024);
  for (int64_t v13_i0 = 0; v13_i0 < 1; ++v13_i0) {
    for (int64_t v13_i1 = 0; v13_i1 < 1024; ++v13_i1) {
      v13[v13_i1 + 1024 * (v13_i0)] = v12[0 + v13_i1 * 1 + 1024 * (0 + v13_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v13);
  v11[0] = pt;
  const auto pt1 = cc.encode(v6);
  v11[1] = pt1;
  for (auto v14 = 1; v14 < 3; v14 += 1) {
    bool v15 = v14 < v3;
    if (v15) {
      std::vector<float> v16(1 * 1024);
      for (int64_t v16_i0 = 0; v16_i0 < 1; ++v16_i0) {
        for (int64_t v16_i1 = 0; v16_i1 < 1024; ++v16_i1) {
          v16[v16_i1 + 1024 * (v16_i0)] = v12[0 + v16_i1 * 1 + 1024 * (v14 + v16_i0 * 1)];
        }
      }
      const auto pt2 = cc.encode(v16);
      size_t v17 = v14 + v4;
      v11[v17] = pt2;
    }
  }
  for (auto v18 = 1; v18 < 3; v18 += 1) {
    size_t v19 = v18 * v5;
    bool v20 = v19 < v3;
    if (v20) {
      std::vector<float> v21(1 * 1024);
      for (int64_t v21_i0 = 0; v21_i0 < 1; ++v21_i0) {
        for (int64_t v21_i1 = 0; v21_i1 < 1024; ++v21_i1) {
          v21[v21_i1 + 1024 * (v21_i0)] = v12[0 + v21_i1 * 1 + 1024 * (v19 + v21_i0 * 1)];
        }
      }
      size_t v22 = v18 * v2;
      size_t v23 = v22 % v1;
      size_t v24 = v23 + v1;
      size_t v25 = v24 % v1;
      size_t v26 = v1 - v25;
      std::vector<float> v27(1 * v25);
      for (int64_t v27_i0 = 0; v27_i0 < 1; ++v27_i0) {
        for (int64_t v27_i1 = 0; v27_i1 < v25; ++v27_i1) {
          v27[v27_i1 + v25 * (v27_i0)] = v12[0 + v27_i1 * 1 + 1024 * (v19 + v27_i0 * 1)];
        }
      }
      std::vector<float> v28(1 * v26);
      for (int64_t v28_i0 = 0; v28_i0 < 1; ++v28_i0) {
        for (int64_t v28_i1 = 0; v28_i1 < v26; ++v28_i1) {
          v28[v28_i1 + v26 * (v28_i0)] = v12[v25 + v28_i1 * 1 + 1024 * (v19 + v28_i0 * 1)];
        }
      }
      std::vector<float> v29(v21);
      int64_t v27_0 = 0;
      for (int64_t v21_0 = 0; v21_0 < 0 + 1 * 1; v21_0 += 1) {
        int64_t v27_1 = 0;
        for (int64_t v21_1 = v26; v21_1 < v26 + v25 * 1; v21_1 += 1) {
          v29[v21_1 + 1024 * (v21_0)] = v27[v27_1 + v25 * (v27_0)];
          v27_1 += 1;
        }
        v27_0 += 1;
      }
      std::vector<float> v30(v29);
      int64_t v28_0 = 0;
      for (int64_t v29_0 = 0; v29_0 < 0 + 1 * 1; v29_0 += 1) {
        int64_t v28_1 = 0;
        for (int64_t v29_1 = 0; v29_1 < 0 + v26 * 1; v29_1 += 1) {
          v30[v29_1 + 1024 * (v29_0)] = v28[v28_1 + v26 * (v28_0)];
          v28_1 += 1;
        }
        v28_0 += 1;
      }
      std::vector<float> v31(1 * 1024);
      for (int64_t v31_i0 = 0; v31_i0 < 1; ++v31_i0) {
        for (int64_t v31_i1 = 0; v31_i1 < 1024; ++v31_i1) {
          v31[v31_i1 + 1024 * (v31_i0)] = v30[0 + v31_i1 * 1 + 1024 * (0 + v31_i0 * 1)];
        }
      }
      const auto pt3 = cc.encode(v31);
      size_t v32 = v18 + v5;
      v11[v32] = pt3;
    } else {
      size_t v33 = v18 + v9;
      v11[v33] = pt1;
    }
    for (auto v34 = 1; v34 < 3; v34 += 1) {
      size_t v35 = v34 + v19;
      bool v36 = v35 < v3;
      if (v36) {
        std::vector<float> v37(1 * 1024);
        for (int64_t v37_i0 = 0; v37_i0 < 1; ++v37_i0) {
          for (int64_t v37_i1 = 0; v37_i1 < 1024; ++v37_i1) {
            v37[v37_i1 + 1024 * (v37_i0)] = v12[0 + v37_i1 * 1 + 1024 * (v35 + v37_i0 * 1)];
          }
        }
        size_t v38 = v18 * v2;
        size_t v39 = v38 % v1;
        size_t v40 = v39 + v1;
        size_t v41 = v40 % v1;
        size_t v42 = v1 - v41;
        std::vector<float> v43(1 * v41);
        for (int64_t v43_i0 = 0; v43_i0 < 1; ++v43_i0) {
          for (int64_t v43_i1 = 0; v43_i1 < v41; ++v43_i1) {
            v43[v43_i1 + v41 * (v43_i0)] = v12[0 + v43_i1 * 1 + 1024 * (v35 + v43_i0 * 1)];
          }
        }
        std::vector<float> v44(1 * v42);
        for (int64_t v44_i0 = 0; v44_i0 < 1; ++v44_i0) {
          for (int64_t v44_i1 = 0; v44_i1 < v42; ++v44_i1) {
            v44[v44_i1 + v42 * (v44_i0)] = v12[v41 + v44_i1 * 1 + 1024 * (v35 + v44_i0 * 1)];
          }
        }
        std::vector<float> v45(v37);
        int64_t v43_0 = 0;
        for (int64_t v37_0 = 0; v37_0 < 0 + 1 * 1; v37_0 += 1) {
          int64_t v43_1 = 0;
          for (int64_t v37_1 = v42; v37_1 < v42 + v41 * 1; v37_1 += 1) {
            v45[v37_1 + 1024 * (v37_0)] = v43[v43_1 + v41 * (v43_0)];
            v43_1 += 1;
          }
          v43_0 += 1;
        }
        std::vector<float> v46(v45);
        int64_t v44_0 = 0;
        for (int64_t v45_0 = 0; v45_0 < 0 + 1 * 1; v45_0 += 1) {
          int64_t v44_1 = 0;
          for (int64_t v45_1 = 0; v45_1 < 0 + v42 * 1; v45_1 += 1) {
            v46[v45_1 + 1024 * (v45_0)] = v44[v44_1 + v42 * (v44_0)];
            v44_1 += 1;
          }
          v44_0 += 1;
        }
        std::vector<float> v47(1 * 1024);
        for (int64_t v47_i0 = 0; v47_i0 < 1; ++v47_i0) {
          for (int64_t v47_i1 = 0; v47_i1 < 1024; ++v47_i1) {
            v47[v47_i1 + 1024 * (v47_i0)] = v46[0 + v47_i1 * 1 + 1024 * (0 + v47_i0 * 1)];
          }
        }
        const auto pt4 = cc.encode(v47);
        size_t v48 = v34 + v10;
        size_t v49 = v18 - v4;
        size_t v50 = v49 * v8;
        size_t v51 = v48 + v50;
        v11[v51] = pt4;
      }
    }
  }
  return v11;
}
std::vector<Ciphertext> convolution__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, Ciphertext ct, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 3;
  [[maybe_unused]] size_t v5 = 1;
  [[maybe_unused]] size_t v6 = 8;
  [[maybe_unused]] size_t v7 = 2;
  [[maybe_unused]] size_t v8 = 5;
  [[maybe_unused]] size_t v9 = 7;
  const auto& v10 = _assign_layout_0(v1);
  std::vector<Ciphertext> v11(3);
  std::vector<Ciphertext> v12(v11);
  std::copy(v0.begin(), v0.end(), v12.begin() + 0);
  std::vector<Ciphertext> v13 = std::move(v12);
  for (auto v14 = 1; v14 < 3; v14 += 1) {
    std::vector<Ciphertext> v16(1);
    Ciphertext ct1 = v0[0];
    const auto ct2 = cc.rotate(ct1, v14);
    v16[0] = ct2;
    std::vector<Ciphertext> v18(v13);
    std::copy(v16.begin(), v16.end(), v18.begin() + v14);
    v13 = std::move(v18);
  }
  Plaintext pt = v2[0];
  Ciphertext ct3 = v13[0];
  const auto ct4 = cc.multiply(ct3, pt);
  Plaintext pt1 = v2[1];
  std::vector<Ciphertext> v19(1);
  const auto ct5 = cc.add(ct4, pt1);
  auto v20 = v19;
  v20[0] = ct5;
  std::vector<Ciphertext> v21 = std::move(v20);
  for (auto v22 = 1; v22 < 3; v22 += 1) {
    bool v24 = v22 < v6;
    std::vector<Ciphertext> v25;
    if (v24) {
      size_t v26 = v22 + v5;
      Plaintext pt2 = v2[v26];
      Ciphertext ct6 = v13[v22];
      const auto ct7 = cc.multiply(ct6, pt2);
      Ciphertext ct8 = v21[0];
      const auto ct9 = cc.add(ct8, ct7);
      auto v27 = v19;
      v27[0] = ct9;
      v25 = std::move(v27);
    } else {
      v25 = std::move(v21);
    }
    v21 = std::move(v25);
  }
  Ciphertext ct10 = v21[0];
  const auto ct11 = cc.add(ct10, pt1);
  auto v28 = v19;
  v28[0] = ct11;
  std::vector<Ciphertext> v29 = std::move(v28);
  for (auto v30 = 1; v30 < 3; v30 += 1) {
    size_t v32 = v30 * v4;
    bool v33 = v32 < v6;
    std::vector<Ciphertext> v34;
    if (v33) {
      size_t v35 = v30 + v4;
      Plaintext pt3 = v2[v35];
      const auto ct12 = cc.multiply(ct3, pt3);
      const auto ct13 = cc.add(ct12, pt1);
      auto v36 = v19;
      v36[0] = ct13;
      v34 = std::move(v36);
    } else {
      size_t v37 = v30 + v8;
      Plaintext pt4 = v2[v37];
      std::vector<Ciphertext> v38(1, ct);
      Ciphertext ct14 = v38[0];
      const auto ct15 = cc.add(ct14, pt4);
      auto v39 = v19;
      v39[0] = ct15;
      v34 = std::move(v39);
    }
    std::vector<Ciphertext> v40 = std::move(v34);
    for (auto v41 = 1; v41 < 3; v41 += 1) {
      size_t v43 = v41 + v32;
      bool v44 = v43 < v6;
      std::vector<Ciphertext> v45;
      if (v44) {
        size_t v46 = v41 + v9;
        size_t v47 = v30 - v5;
        size_t v48 = v47 * v7;
        size_t v49 = v46 + v48;
        Plaintext pt5 = v2[v49];
        Ciphertext ct16 = v13[v41];
        const auto ct17 = cc.multiply(ct16, pt5);
        Ciphertext ct18 = v40[0];
        const auto ct19 = cc.add(ct18, ct17);
        auto v50 = v19;
        v50[0] = ct19;
        v45 = std::move(v50);
      } else {
        v45 = std::move(v40);
      }
      v40 = std::move(v45);
    }
    Ciphertext ct20 = v40[0];
    const auto ct21 = cc.rotate(ct20, v32);
    Ciphertext ct22 = v29[0];
    const auto ct23 = cc.add(ct22, ct21);
    auto v51 = v19;
    v51[0] = ct23;
    v29 = std::move(v51);
  }
  Ciphertext ct24 = v29[0];
  const auto ct25 = cc.rotate(ct24, 8);
  const auto ct26 = cc.add(ct24, ct25);
  const auto ct27 = cc.rescale(ct26);
  auto v52 = v19;
  v52[0] = ct27;
  return v52;
}
std::vector<Ciphertext> convolution(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, Ciphertext ct) {
  const auto& v2 = convolution__preprocessing(cc, v1);
  const auto& v3 = convolution__preprocessed(cc, v0, v1, ct, v2);
  return v3;
}
Ciphertext convolution__encrypt__zero__0(CryptoContext cc, PublicKey pk) {
  std::vector<double> v0(1024, 0);
  const auto pt = cc.encode(v0);
  const auto ct = cc.encrypt(pt, pk);
  return ct;
}
std::vector<Ciphertext> convolution__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<float> v3(1024, 0);
  [[maybe_unused]] int32_t v4 = 4;
  [[maybe_unused]] int32_t v5 = 16;
  [[maybe_unused]] int32_t v6 = 1024;
  [[maybe_unused]] size_t v7 = 0;
  std::vector<float> v8 = std::move(v3);
  for (auto v9 = 0; v9 < 4; v9 += 1) {
    std::vector<float> v11 = std::move(v8);
    for (auto v12 = 0; v12 < 4; v12 += 1) {
      int32_t v14 = v9 * v4;
      int32_t v15 = v14 + v12;
      std::vector<float> v16 = std::move(v11);
      for (auto v17 = v15; v17 < 1024; v17 += 16) {
        size_t v19 = static_cast<size_t>(v9);
        size_t v20 = static_cast<size_t>(v12);
        float v21 = v0[v20 + 4 * (v19 + 4 * (0 + 1 * (0)))];
        size_t v22 = static_cast<size_t>(v17);
        v16[v22 + 1024 * (0)] = v21;
      }
      v11 = std::move(v16);
    }
    v8 = std::move(v11);
  }
  std::vector<float> v24(1 * 1024);
  for (int64_t v24_i0 = 0; v24_i0 < 1; ++v24_i0) {
    for (int64_t v24_i1 = 0; v24_i1 < 1024; ++v24_i1) {
      v24[v24_i1 + 1024 * (v24_i0)] = v8[0 + v24_i1 * 1 + 1024 * (0 + v24_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v24);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v25 = {ct};
  return v25;
}
std::vector<float> convolution__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  std::vector<float> v1(8, 0);
  [[maybe_unused]] int32_t v2 = 0;
  [[maybe_unused]] int32_t v3 = 1;
  [[maybe_unused]] int32_t v4 = 4;
  [[maybe_unused]] int32_t v5 = 2;
  [[maybe_unused]] int32_t v6 = 1023;
  [[maybe_unused]] int32_t v7 = 8;
  [[maybe_unused]] int32_t v8 = 1024;
  [[maybe_unused]] size_t v9 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v10 = cc.decode<float>(pt, 1024);
  std::vector<float> v11 = std::move(v1);
  for (auto v12 = 0; v12 < 2; v12 += 1) {
    int32_t v14 = v3 - v12;
    std::vector<float> v15 = std::move(v11);
    for (auto v16 = 0; v16 < 2; v16 += 1) {
      int32_t v18 = v3 - v16;
      std::vector<float> v19 = std::move(v15);
      for (auto v20 = 0; v20 < 2; v20 += 1) {
        int32_t v22 = v3 - v20;
        int32_t v23 = v14 * v4;
        int32_t v24 = v18 * v5;
        int32_t v25 = v23 + v24;
        int32_t v26 = v25 + v22;
        std::vector<float> v27 = std::move(v19);
        for (auto v28 = v26; v28 < 1024; v28 += 8) {
          int32_t v30 = v6 - v26;
          int32_t v31 = (v30 / v7) - ((v30 % v7 != 0) && ((v30 < 0) != (v7 < 0)));
          int32_t v32 = v31 * v7;
          int32_t v33 = v26 + v32;
          int32_t v34 = v28 - v26;
          int32_t v35 = v33 - v34;
          size_t v36 = static_cast<size_t>(v35);
          float v37 = v10[v36 + 1024 * (0)];
          size_t v38 = static_cast<size_t>(v14);
          size_t v39 = static_cast<size_t>(v18);
          size_t v40 = static_cast<size_t>(v22);
          v27[v40 + 2 * (v39 + 2 * (v38 + 2 * (0)))] = v37;
        }
        v19 = std::move(v27);
      }
      v15 = std::move(v19);
    }
    v11 = std::move(v15);
  }
  return v11;
}
Parameters convolution__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 1;
  params.slots = 1024;
  params.scale_bits = 45;
  params.first_bits = 55;
  return params;
}
CryptoContext convolution__generate_crypto_context() {
  const auto& params = convolution__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext convolution__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {1, 2, 3, 6, 8}});
  return cc1;
}
