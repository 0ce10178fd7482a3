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
std::vector<float> _assign_layout_3788113863225014998(std::vector<float> v0) {
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
  [[maybe_unused]] size_t v1 = 0;
  [[maybe_unused]] size_t v2 = 1;
  [[maybe_unused]] size_t v3 = 2;
  [[maybe_unused]] size_t v4 = 3;
  [[maybe_unused]] size_t v5 = 4;
  [[maybe_unused]] size_t v6 = 5;
  [[maybe_unused]] size_t v7 = 6;
  [[maybe_unused]] size_t v8 = 7;
  std::vector<Plaintext> v9(8);
  const auto& v10 = _assign_layout_3788113863225014998(v0);
  std::vector<float> v11(1 * 1024);
  for (int64_t v11_i0 = 0; v11_i0 < 1; ++v11_i0) {
    for (int64_t v11_i1 = 0; v11_i1 < 1024; ++v11_i1) {
      v11[v11_i1 + 1024 * (v11_i0)] = v10[0 + v11_i1 * 1 + 1024 * (3 + v11_i0 * 1)];
    }
  }
  std::vector<float> v12(1 * 1024);
  for (int64_t v12_i0 = 0; v12_i0 < 1; ++v12_i0) {
    for (int64_t v12_i1 = 0; v12_i1 < 1024; ++v12_i1) {
      v12[v12_i1 + 1024 * (v12_i0)] = v10[0 + v12_i1 * 1 + 1024 * (4 + v12_i0 * 1)];
    }
  }
  std::vector<float> v13(1 * 1024);
  for (int64_t v13_i0 = 0; v13_i0 < 1; ++v13_i0) {
    for (int64_t v13_i1 = 0; v13_i1 < 1024; ++v13_i1) {
      v13[v13_i1 + 1024 * (v13_i0)] = v10[0 + v13_i1 * 1 + 1024 * (5 + v13_i0 * 1)];
    }
  }
  std::vector<float> v14(1 * 1024);
  for (int64_t v14_i0 = 0; v14_i0 < 1; ++v14_i0) {
    for (int64_t v14_i1 = 0; v14_i1 < 1024; ++v14_i1) {
      v14[v14_i1 + 1024 * (v14_i0)] = v10[0 + v14_i1 * 1 + 1024 * (6 + v14_i0 * 1)];
    }
  }
  std::vector<float> v15(1 * 1024);
  for (int64_t v15_i0 = 0; v15_i0 < 1; ++v15_i0) {
    for (int64_t v15_i1 = 0; v15_i1 < 1024; ++v15_i1) {
      v15[v15_i1 + 1024 * (v15_i0)] = v10[0 + v15_i1 * 1 + 1024 * (7 + v15_i0 * 1)];
    }
  }
  std::vector<float> v16(1 * 1021);
  for (int64_t v16_i0 = 0; v16_i0 < 1; ++v16_i0) {
    for (int64_t v16_i1 = 0; v16_i1 < 1021; ++v16_i1) {
      v16[v16_i1 + 1021 * (v16_i0)] = v10[0 + v16_i1 * 1 + 1024 * (3 + v16_i0 * 1)];
    }
  }
  std::vector<float> v17(1 * 3);
  for (int64_t v17_i0 = 0; v17_i0 < 1; ++v17_i0) {
    for (int64_t v17_i1 = 0; v17_i1 < 3; ++v17_i1) {
      v17[v17_i1 + 3 * (v17_i0)] = v10[1021 + v17_i1 * 1 + 1024 * (3 + v17_i0 * 1)];
    }
  }
  std::vector<float> v18(v11);
  int64_t v16_0 = 0;
  for (int64_t v11_0 = 0; v11_0 < 0 + 1 * 1; v11_0 += 1) {
    int64_t v16_1 = 0;
    for (int64_t v11_1 = 3; v11_1 < 3 + 1021 * 1; v11_1 += 1) {
      v18[v11_1 + 1024 * (v11_0)] = v16[v16_1 + 1021 * (v16_0)];
      v16_1 += 1;
    }
    v16_0 += 1;
  }
  std::vector<float> v19(v18);
  int64_t v17_0 = 0;
  for (int64_t v18_0 = 0; v18_0 < 0 + 1 * 1; v18_0 += 1) {
    int64_t v17_1 = 0;
    for (int64_t v18_1 = 0; v18_1 < 0 + 3 * 1; v18_1 += 1) {
      v19[v18_1 + 1024 * (v18_0)] = v17[v17_1 + 3 * (v17_0)];
      v17_1 += 1;
    }
    v17_0 += 1;
  }
  std::vector<float> v20(1 * 1021);
  for (int64_t v20_i0 = 0; v20_i0 < 1; ++v20_i0) {
    for (int64_t v20_i1 = 0; v20_i1 < 1021; ++v20_i1) {
      v20[v20_i1 + 1021 * (v20_i0)] = v10[0 + v20_i1 * 1 + 1024 * (4 + v20_i0 * 1)];
    }
  }
  std::vector<float> v21(1 * 3);
  for (int64_t v21_i0 = 0; v21_i0 < 1; ++v21_i0) {
    for (int64_t v21_i1 = 0; v21_i1 < 3; ++v21_i1) {
      v21[v21_i1 + 3 * (v21_i0)] = v10[1021 + v21_i1 * 1 + 1024 * (4 + v21_i0 * 1)];
    }
  }
  std::vector<float> v22(v12);
  int64_t v20_0 = 0;
  for (int64_t v12_0 = 0; v12_0 < 0 + 1 * 1; v12_0 += 1) {
    int64_t v20_1 = 0;
    for (int64_t v12_1 = 3; v12_1 < 3 + 1021 * 1; v12_1 += 1) {
      v22[v12_1 + 1024 * (v12_0)] = v20[v20_1 + 1021 * (v20_0)];
      v20_1 += 1;
    }
    v20_0 += 1;
  }
  std::vector<float> v23(v22);
  int64_t v21_0 = 0;
  for (int64_t v22_0 = 0; v22_0 < 0 + 1 * 1; v22_0 += 1) {
    int64_t v21_1 = 0;
    for (int64_t v22_1 = 0; v22_1 < 0 + 3 * 1; v22_1 += 1) {
      v23[v22_1 + 1024 * (v22_0)] = v21[v21_1 + 3 * (v21_0)];
      v21_1 += 1;
    }
    v21_0 += 1;
  }
  std::vector<float> v24(1 * 1021);
  for (int64_t v24_i0 = 0; v24_i0 < 1; ++v24_i0) {
    for (int64_t v24_i1 = 0; v24_i1 < 1021; ++v24_i1) {
      v24[v24_i1 + 1021 * (v24_i0)] = v10[0 + v24_i1 * 1 + 1024 * (5 + v24_i0 * 1)];
    }
  }
  std::vector<float> v25(1 * 3);
  for (int64_t v25_i0 = 0; v25_i0 < 1; ++v25_i0) {
    for (int64_t v25_i1 = 0; v25_i1 < 3; ++v25_i1) {
      v25[v25_i1 + 3 * (v25_i0)] = v10[1021 + v25_i1 * 1 + 1024 * (5 + v25_i0 * 1)];
    }
  }
  std::vector<float> v26(v13);
  int64_t v24_0 = 0;
  for (int64_t v13_0 = 0; v13_0 < 0 + 1 * 1; v13_0 += 1) {
    int64_t v24_1 = 0;
    for (int64_t v13_1 = 3; v13_1 < 3 + 1021 * 1; v13_1 += 1) {
      v26[v13_1 + 1024 * (v13_0)] = v24[v24_1 + 1021 * (v24_0)];
      v24_1 += 1;
    }
    v24_0 += 1;
  }
  std::vector<float> v27(v26);
  int64_t v25_0 = 0;
  for (int64_t v26_0 = 0; v26_0 < 0 + 1 * 1; v26_0 += 1) {
    int64_t v25_1 = 0;
    for (int64_t v26_1 = 0; v26_1 < 0 + 3 * 1; v26_1 += 1) {
      v27[v26_1 + 1024 * (v26_0)] = v25[v25_1 + 3 * (v25_0)];
      v25_1 += 1;
    }
    v25_0 += 1;
  }
  std::vector<float> v28(1 * 1018);
  for (int64_t v28_i0 = 0; v28_i0 < 1; ++v28_i0) {
    for (int64_t v28_i1 = 0; v28_i1 < 1018; ++v28_i1) {
      v28[v28_i1 + 1018 * (v28_i0)] = v10[0 + v28_i1 * 1 + 1024 * (6 + v28_i0 * 1)];
    }
  }
  std::vector<float> v29(1 * 6);
  for (int64_t v29_i0 = 0; v29_i0 < 1; ++v29_i0) {
    for (int64_t v29_i1 = 0; v29_i1 < 6; ++v29_i1) {
      v29[v29_i1 + 6 * (v29_i0)] = v10[1018 + v29_i1 * 1 + 1024 * (6 + v29_i0 * 1)];
    }
  }
  std::vector<float> v30(v14);
  int64_t v28_0 = 0;
  for (int64_t v14_0 = 0; v14_0 < 0 + 1 * 1; v14_0 += 1) {
    int64_t v28_1 = 0;
    for (int64_t v14_1 = 6; v14_1 < 6 + 1018 * 1; v14_1 += 1) {
      v30[v14_1 + 1024 * (v14_0)] = v28[v28_1 + 1018 * (v28_0)];
      v28_1 += 1;
    }
    v28_0 += 1;
  }
  std::vector<float> v31(v30);
  int64_t v29_0 = 0;
  for (int64_t v30_0 = 0; v30_0 < 0 + 1 * 1; v30_0 += 1) {
    int64_t v29_1 = 0;
    for (int64_t v30_1 = 0; v30_1 < 0 + 6 * 1; v30_1 += 1) {
      v31[v30_1 + 1024 * (v30_0)] = v29[v29_1 + 6 * (v29_0)];
      v29_1 += 1;
    }
    v29_0 += 1;
  }
  std::vector<float> v32(1 * 1018);
  for (int64_t v32_i0 = 0; v32_i0 < 1; ++v32_i0) {
    for (int64_t v32_i1 = 0; v32_i1 < 1018; ++v32_i1) {
      v32[v32_i1 + 1018 * (v32_i0)] = v10[0 + v32_i1 * 1 + 1024 * (7 + v32_i0 * 1)];
    }
  }
  std::vector<float> v33(1 * 6);
  for (int64_t v33_i0 = 0; v33_i0 < 1; ++v33_i0) {
    for (int64_t v33_i1 = 0; v33_i1 < 6; ++v33_i1) {
      v33[v33_i1 + 6 * (v33_i0)] = v10[1018 + v33_i1 * 1 + 1024 * (7 + v33_i0 * 1)];
    }
  }
  std::vector<float> v34(v15);
  int64_t v32_0 = 0;
  for (int64_t v15_0 = 0; v15_0 < 0 + 1 * 1; v15_0 += 1) {
    int64_t v32_1 = 0;
    for (int64_t v15_1 = 6; v15_1 < 6 + 1018 * 1; v15_1 += 1) {
      v34[v15_1 + 1024 * (v15_0)] = v32[v32_1 + 1018 * (v32_0)];
      v32_1 += 1;
    }
    v32_0 += 1;
  }
  std::vector<float> v35(v34);
  int64_t v33_0 = 0;
  for (int64_t v34_0 = 0; v34_0 < 0 + 1 * 1; v34_0 += 1) {
    int64_t v33_1 = 0;
    for (int64_t v34_1 = 0; v34_1 < 0 + 6 * 1; v34_1 += 1) {
      v35[v34_1 + 1024 * (v34_0)] = v33[v33_1 + 6 * (v33_0)];
      v33_1 += 1;
    }
    v33_0 += 1;
  }
  std::vector<float> v36(1 * 1024);
  for (int64_t v36_i0 = 0; v36_i0 < 1; ++v36_i0) {
    for (int64_t v36_i1 = 0; v36_i1 < 1024; ++v36_i1) {
      v36[v36_i1 + 1024 * (v36_i0)] = v10[0 + v36_i1 * 1 + 1024 * (0 + v36_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v36);
  v9[0] = pt;
  std::vector<float> v37(1 * 1024);
  for (int64_t v37_i0 = 0; v37_i0 < 1; ++v37_i0) {
    for (int64_t v37_i1 = 0; v37_i1 < 1024; ++v37_i1) {
      v37[v37_i1 + 1024 * (v37_i0)] = v10[0 + v37_i1 * 1 + 1024 * (1 + v37_i0 * 1)];
    }
  }
  const auto pt1 = cc.encode(v37);
  v9[1] = pt1;
  std::vector<float> v38(1 * 1024);
  for (int64_t v38_i0 = 0; v38_i0 < 1; ++v38_i0) {
    for (int64_t v38_i1 = 0; v38_i1 < 1024; ++v38_i1) {
      v38[v38_i1 + 1024 * (v38_i0)] = v10[0 + v38_i1 * 1 + 1024 * (2 + v38_i0 * 1)];
    }
  }
  const auto pt2 = cc.encode(v38);
  v9[2] = pt2;
  std::vector<float> v39(1 * 1024);
  for (int64_t v39_i0 = 0; v39_i0 < 1; ++v39_i0) {
    for (int64_t v39_i1 = 0; v39_i1 < 1024; ++v39_i1) {
      v39[v39_i1 + 1024 * (v39_i0)] = v19[0 + v39_i1 * 1 + 1024 * (0 + v39_i0 * 1)];
    }
  }
  const auto pt3 = cc.encode(v39);
  v9[3] = pt3;
  std::vector<float> v40(1 * 1024);
  for (int64_t v40_i0 = 0; v40_i0 < 1; ++v40_i0) {
    for (int64_t v40_i1 = 0; v40_i1 < 1024; ++v40_i1) {
      v40[v40_i1 + 1024 * (v40_i0)] = v23[0 + v40_i1 * 1 + 1024 * (0 + v40_i0 * 1)];
    }
  }
  const auto pt4 = cc.encode(v40);
  v9[4] = pt4;
  std::vector<float> v41(1 * 1024);
  for (int64_t v41_i0 = 0; v41_i0 < 1; ++v41_i0) {
    for (int64_t v41_i1 = 0; v41_i1 < 1024; ++v41_i1) {
      v41[v41_i1 + 1024 * (v41_i0)] = v27[0 + v41_i1 * 1 + 1024 * (0 + v41_i0 * 1)];
    }
  }
  const auto pt5 = cc.encode(v41);
  v9[5] = pt5;
  std::vector<float> v42(1 * 1024);
  for (int64_t v42_i0 = 0; v42_i0 < 1; ++v42_i0) {
    for (int64_t v42_i1 = 0; v42_i1 < 1024; ++v42_i1) {
      v42[v42_i1 + 1024 * (v42_i0)] = v31[0 + v42_i1 * 1 + 1024 * (0 + v42_i0 * 1)];
    }
  }
  const auto pt6 = cc.encode(v42);
  v9[6] = pt6;
  std::vector<float> v43(1 * 1024);
  for (int64_t v43_i0 = 0; v43_i0 < 1; ++v43_i0) {
    for (int64_t v43_i1 = 0; v43_i1 < 1024; ++v43_i1) {
      v43[v43_i1 + 1024 * (v43_i0)] = v35[0 + v43_i1 * 1 + 1024 * (0 + v43_i0 * 1)];
    }
  }
  const auto pt7 = cc.encode(v43);
  v9[7] = pt7;
  return v9;
}
std::vector<Ciphertext> convolution__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 1;
  [[maybe_unused]] size_t v5 = 2;
  [[maybe_unused]] size_t v6 = 3;
  [[maybe_unused]] size_t v7 = 6;
  [[maybe_unused]] size_t v8 = 8;
  [[maybe_unused]] size_t v9 = 4;
  [[maybe_unused]] size_t v10 = 5;
  [[maybe_unused]] size_t v11 = 7;
  const auto& v12 = _assign_layout_3788113863225014998(v1);
  Plaintext pt = v2[0];
  Ciphertext ct = v0[0];
  const auto ct1 = cc.multiply(ct, pt);
  const auto ct2_rotations = cc.rotate_hoisted(ct, {1, 2});
  const auto ct2 = ct2_rotations[0];
  const auto ct3 = ct2_rotations[1];
  Plaintext pt1 = v2[1];
  const auto ct4 = cc.multiply(ct2, pt1);
  Plaintext pt2 = v2[2];
  const auto ct5 = cc.multiply(ct3, pt2);
  Plaintext pt3 = v2[3];
  const auto ct6 = cc.multiply(ct, pt3);
  Plaintext pt4 = v2[4];
  const auto ct7 = cc.multiply(ct2, pt4);
  Plaintext pt5 = v2[5];
  const auto ct8 = cc.multiply(ct3, pt5);
  const auto ct9 = cc.add(ct6, ct7);
  const auto ct10 = cc.add(ct9, ct8);
  const auto ct11 = cc.rotate(ct10, 3);
  Plaintext pt6 = v2[6];
  const auto ct12 = cc.multiply(ct, pt6);
  Plaintext pt7 = v2[7];
  const auto ct13 = cc.multiply(ct2, pt7);
  const auto ct14 = cc.add(ct12, ct13);
  const auto ct15 = cc.rotate(ct14, 6);
  const auto ct16 = cc.add(ct1, ct4);
  const auto ct17 = cc.add(ct5, ct11);
  const auto ct18 = cc.add(ct17, ct15);
  const auto ct19 = cc.add(ct16, ct18);
  const auto ct20 = cc.rotate(ct19, 8);
  const auto ct21 = cc.add(ct19, ct20);
  std::vector<Ciphertext> v13(1);
  const auto ct22 = cc.rescale(ct21);
  v13[0] = ct22;
  return v13;
}
std::vector<Ciphertext> convolution(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1) {
  const auto& v2 = convolution__preprocessing(cc, v1);
  const auto& v3 = convolution__preprocessed(cc, v0, v1, v2);
  return v3;
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
