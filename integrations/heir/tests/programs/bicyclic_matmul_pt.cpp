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
  [[maybe_unused]] int32_t v1 = 14;
  [[maybe_unused]] int32_t v2 = 1;
  [[maybe_unused]] int32_t v3 = 0;
  std::vector<float> v4(28672, 0);
  [[maybe_unused]] int32_t v5 = 2;
  [[maybe_unused]] int32_t v6 = -8;
  [[maybe_unused]] int32_t v7 = 7;
  [[maybe_unused]] int32_t v8 = 8;
  [[maybe_unused]] int32_t v9 = 223;
  [[maybe_unused]] int32_t v10 = 112;
  [[maybe_unused]] int32_t v11 = 16;
  [[maybe_unused]] int32_t v12 = 2048;
  [[maybe_unused]] int32_t v13 = 111;
  std::vector<float> v14 = std::move(v4);
  for (auto v15 = 0; v15 < 14; v15 += 1) {
    std::vector<float> v17 = std::move(v14);
    for (auto v18 = 0; v18 < 16; v18 += 1) {
      int32_t v20 = v15 + v18;
      int32_t v21 = v20 + v2;
      int32_t v22 = (v21 / v5) - ((v21 % v5 != 0) && ((v21 < 0) != (v5 < 0)));
      int32_t v23 = v22 * v5;
      int32_t v24 = v21 - v23;
      int32_t v25 = v2 - v24;
      std::vector<float> v26 = std::move(v17);
      for (auto v27 = v25; v27 < 14; v27 += 2) {
        int32_t v29 = v15 * v6;
        int32_t v30 = v18 * v7;
        int32_t v31 = v29 + v30;
        int32_t v32 = v27 * v8;
        int32_t v33 = v31 - v32;
        int32_t v34 = v33 + v9;
        int32_t v35 = (v34 / v10) - ((v34 % v10 != 0) && ((v34 < 0) != (v10 < 0)));
        int32_t v36 = v35 * v10;
        int32_t v37 = v34 - v36;
        int32_t v38 = v13 - v37;
        std::vector<float> v39 = std::move(v26);
        for (auto v40 = v38; v40 < 2048; v40 += 112) {
          size_t v42 = static_cast<size_t>(v15);
          size_t v43 = static_cast<size_t>(v18);
          float v44 = v0[v43 + 16 * (v42)];
          size_t v45 = static_cast<size_t>(v27);
          size_t v46 = static_cast<size_t>(v40);
          v39[v46 + 2048 * (v45)] = v44;
        }
        v26 = std::move(v39);
      }
      v17 = std::move(v26);
    }
    v14 = std::move(v17);
  }
  return v14;
}
std::vector<Plaintext> bicyclic_matmul_pt__preprocessing(CryptoContext cc, std::vector<float> v0) {
  auto v1 = runs<float>({{1872, 0}, {176, 1}});
  auto v2 = runs<float>({{1872, 1}, {176, 0}});
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 1;
  [[maybe_unused]] size_t v5 = 2;
  [[maybe_unused]] size_t v6 = 3;
  [[maybe_unused]] size_t v7 = 4;
  [[maybe_unused]] size_t v8 = 5;
  [[maybe_unused]] size_t v9 = 6;
  [[maybe_unused]] size_t v10 = 7;
  [[maybe_unused]] size_t v11 = 8;
  [[maybe_unused]] size_t v12 = 9;
  [[maybe_unused]] size_t v13 = 10;
  [[maybe_unused]] size_t v14 = 11;
  [[maybe_unused]] size_t v15 = 12;
  [[maybe_unused]] size_t v16 = 13;
  [[maybe_unused]] size_t v17 = 14;
  [[maybe_unused]] size_t v18 = 15;
  std::vector<Plaintext> v19(16);
  const auto& v20 = _assign_layout_0(v0);
  std::vector<float> v21(1 * 2048);
  for (int64_t v21_i0 = 0; v21_i0 < 1; ++v21_i0) {
    for (int64_t v21_i1 = 0; v21_i1 < 2048; ++v21_i1) {
      v21[v21_i1 + 2048 * (v21_i0)] = v20[0 + v21_i1 * 1 + 2048 * (4 + v21_i0 * 1)];
    }
  }
  std::vector<float> v22(1 * 2048);
  for (int64_t v22_i0 = 0; v22_i0 < 1; ++v22_i0) {
    for (int64_t v22_i1 = 0; v22_i1 < 2048; ++v22_i1) {
      v22[v22_i1 + 2048 * (v22_i0)] = v20[0 + v22_i1 * 1 + 2048 * (5 + v22_i0 * 1)];
    }
  }
  std::vector<float> v23(1 * 2048);
  for (int64_t v23_i0 = 0; v23_i0 < 1; ++v23_i0) {
    for (int64_t v23_i1 = 0; v23_i1 < 2048; ++v23_i1) {
      v23[v23_i1 + 2048 * (v23_i0)] = v20[0 + v23_i1 * 1 + 2048 * (6 + v23_i0 * 1)];
    }
  }
  std::vector<float> v24(1 * 2048);
  for (int64_t v24_i0 = 0; v24_i0 < 1; ++v24_i0) {
    for (int64_t v24_i1 = 0; v24_i1 < 2048; ++v24_i1) {
      v24[v24_i1 + 2048 * (v24_i0)] = v20[0 + v24_i1 * 1 + 2048 * (7 + v24_i0 * 1)];
    }
  }
  std::vector<float> v25(1 * 2048);
  for (int64_t v25_i0 = 0; v25_i0 < 1; ++v25_i0) {
    for (int64_t v25_i1 = 0; v25_i1 < 2048; ++v25_i1) {
      v25[v25_i1 + 2048 * (v25_i0)] = v20[0 + v25_i1 * 1 + 2048 * (8 + v25_i0 * 1)];
    }
  }
  std::vector<float> v26(1 * 2048);
  for (int64_t v26_i0 = 0; v26_i0 < 1; ++v26_i0) {
    for (int64_t v26_i1 = 0; v26_i1 < 2048; ++v26_i1) {
      v26[v26_i1 + 2048 * (v26_i0)] = v20[0 + v26_i1 * 1 + 2048 * (9 + v26_i0 * 1)];
    }
  }
  std::vector<float> v27(1 * 2048);
  for (int64_t v27_i0 = 0; v27_i0 < 1; ++v27_i0) {
    for (int64_t v27_i1 = 0; v27_i1 < 2048; ++v27_i1) {
      v27[v27_i1 + 2048 * (v27_i0)] = v20[0 + v27_i1 * 1 + 2048 * (10 + v27_i0 * 1)];
    }
  }
  std::vector<float> v28(1 * 2048);
  for (int64_t v28_i0 = 0; v28_i0 < 1; ++v28_i0) {
    for (int64_t v28_i1 = 0; v28_i1 < 2048; ++v28_i1) {
      v28[v28_i1 + 2048 * (v28_i0)] = v20[0 + v28_i1 * 1 + 2048 * (11 + v28_i0 * 1)];
    }
  }
  std::vector<float> v29(1 * 2048);
  for (int64_t v29_i0 = 0; v29_i0 < 1; ++v29_i0) {
    for (int64_t v29_i1 = 0; v29_i1 < 2048; ++v29_i1) {
      v29[v29_i1 + 2048 * (v29_i0)] = v20[0 + v29_i1 * 1 + 2048 * (12 + v29_i0 * 1)];
    }
  }
  std::vector<float> v30(1 * 2048);
  for (int64_t v30_i0 = 0; v30_i0 < 1; ++v30_i0) {
    for (int64_t v30_i1 = 0; v30_i1 < 2048; ++v30_i1) {
      v30[v30_i1 + 2048 * (v30_i0)] = v20[0 + v30_i1 * 1 + 2048 * (13 + v30_i0 * 1)];
    }
  }
  std::vector<float> v31(1 * 1996);
  for (int64_t v31_i0 = 0; v31_i0 < 1; ++v31_i0) {
    for (int64_t v31_i1 = 0; v31_i1 < 1996; ++v31_i1) {
      v31[v31_i1 + 1996 * (v31_i0)] = v20[0 + v31_i1 * 1 + 2048 * (4 + v31_i0 * 1)];
    }
  }
  std::vector<float> v32(1 * 52);
  for (int64_t v32_i0 = 0; v32_i0 < 1; ++v32_i0) {
    for (int64_t v32_i1 = 0; v32_i1 < 52; ++v32_i1) {
      v32[v32_i1 + 52 * (v32_i0)] = v20[1996 + v32_i1 * 1 + 2048 * (4 + v32_i0 * 1)];
    }
  }
  std::vector<float> v33(v21);
  int64_t v31_0 = 0;
  for (int64_t v21_0 = 0; v21_0 < 0 + 1 * 1; v21_0 += 1) {
    int64_t v31_1 = 0;
    for (int64_t v21_1 = 52; v21_1 < 52 + 1996 * 1; v21_1 += 1) {
      v33[v21_1 + 2048 * (v21_0)] = v31[v31_1 + 1996 * (v31_0)];
      v31_1 += 1;
    }
    v31_0 += 1;
  }
  std::vector<float> v34(v33);
  int64_t v32_0 = 0;
  for (int64_t v33_0 = 0; v33_0 < 0 + 1 * 1; v33_0 += 1) {
    int64_t v32_1 = 0;
    for (int64_t v33_1 = 0; v33_1 < 0 + 52 * 1; v33_1 += 1) {
      v34[v33_1 + 2048 * (v33_0)] = v32[v32_1 + 52 * (v32_0)];
      v32_1 += 1;
    }
    v32_0 += 1;
  }
  std::vector<float> v35(1 * 1996);
  for (int64_t v35_i0 = 0; v35_i0 < 1; ++v35_i0) {
    for (int64_t v35_i1 = 0; v35_i1 < 1996; ++v35_i1) {
      v35[v35_i1 + 1996 * (v35_i0)] = v20[0 + v35_i1 * 1 + 2048 * (5 + v35_i0 * 1)];
    }
  }
  std::vector<float> v36(1 * 52);
  for (int64_t v36_i0 = 0; v36_i0 < 1; ++v36_i0) {
    for (int64_t v36_i1 = 0; v36_i1 < 52; ++v36_i1) {
      v36[v36_i1 + 52 * (v36_i0)] = v20[1996 + v36_i1 * 1 + 2048 * (5 + v36_i0 * 1)];
    }
  }
  std::vector<float> v37(v22);
  int64_t v35_0 = 0;
  for (int64_t v22_0 = 0; v22_0 < 0 + 1 * 1; v22_0 += 1) {
    int64_t v35_1 = 0;
    for (int64_t v22_1 = 52; v22_1 < 52 + 1996 * 1; v22_1 += 1) {
      v37[v22_1 + 2048 * (v22_0)] = v35[v35_1 + 1996 * (v35_0)];
      v35_1 += 1;
    }
    v35_0 += 1;
  }
  std::vector<float> v38(v37);
  int64_t v36_0 = 0;
  for (int64_t v37_0 = 0; v37_0 < 0 + 1 * 1; v37_0 += 1) {
    int64_t v36_1 = 0;
    for (int64_t v37_1 = 0; v37_1 < 0 + 52 * 1; v37_1 += 1) {
      v38[v37_1 + 2048 * (v37_0)] = v36[v36_1 + 52 * (v36_0)];
      v36_1 += 1;
    }
    v36_0 += 1;
  }
  std::vector<float> v39(1 * 1996);
  for (int64_t v39_i0 = 0; v39_i0 < 1; ++v39_i0) {
    for (int64_t v39_i1 = 0; v39_i1 < 1996; ++v39_i1) {
      v39[v39_i1 + 1996 * (v39_i0)] = v20[0 + v39_i1 * 1 + 2048 * (6 + v39_i0 * 1)];
    }
  }
  std::vector<float> v40(1 * 52);
  for (int64_t v40_i0 = 0; v40_i0 < 1; ++v40_i0) {
    for (int64_t v40_i1 = 0; v40_i1 < 52; ++v40_i1) {
      v40[v40_i1 + 52 * (v40_i0)] = v20[1996 + v40_i1 * 1 + 2048 * (6 + v40_i0 * 1)];
    }
  }
  std::vector<float> v41(v23);
  int64_t v39_0 = 0;
  for (int64_t v23_0 = 0; v23_0 < 0 + 1 * 1; v23_0 += 1) {
    int64_t v39_1 = 0;
    for (int64_t v23_1 = 52; v23_1 < 52 + 1996 * 1; v23_1 += 1) {
      v41[v23_1 + 2048 * (v23_0)] = v39[v39_1 + 1996 * (v39_0)];
      v39_1 += 1;
    }
    v39_0 += 1;
  }
  std::vector<float> v42(v41);
  int64_t v40_0 = 0;
  for (int64_t v41_0 = 0; v41_0 < 0 + 1 * 1; v41_0 += 1) {
    int64_t v40_1 = 0;
    for (int64_t v41_1 = 0; v41_1 < 0 + 52 * 1; v41_1 += 1) {
      v42[v41_1 + 2048 * (v41_0)] = v40[v40_1 + 52 * (v40_0)];
      v40_1 += 1;
    }
    v40_0 += 1;
  }
  std::vector<float> v43(1 * 1996);
  for (int64_t v43_i0 = 0; v43_i0 < 1; ++v43_i0) {
    for (int64_t v43_i1 = 0; v43_i1 < 1996; ++v43_i1) {
      v43[v43_i1 + 1996 * (v43_i0)] = v20[0 + v43_i1 * 1 + 2048 * (7 + v43_i0 * 1)];
    }
  }
  std::vector<float> v44(1 * 52);
  for (int64_t v44_i0 = 0; v44_i0 < 1; ++v44_i0) {
    for (int64_t v44_i1 = 0; v44_i1 < 52; ++v44_i1) {
      v44[v44_i1 + 52 * (v44_i0)] = v20[1996 + v44_i1 * 1 + 2048 * (7 + v44_i0 * 1)];
    }
  }
  std::vector<float> v45(v24);
  int64_t v43_0 = 0;
  for (int64_t v24_0 = 0; v24_0 < 0 + 1 * 1; v24_0 += 1) {
    int64_t v43_1 = 0;
    for (int64_t v24_1 = 52; v24_1 < 52 + 1996 * 1; v24_1 += 1) {
      v45[v24_1 + 2048 * (v24_0)] = v43[v43_1 + 1996 * (v43_0)];
      v43_1 += 1;
    }
    v43_0 += 1;
  }
  std::vector<float> v46(v45);
  int64_t v44_0 = 0;
  for (int64_t v45_0 = 0; v45_0 < 0 + 1 * 1; v45_0 += 1) {
    int64_t v44_1 = 0;
    for (int64_t v45_1 = 0; v45_1 < 0 + 52 * 1; v45_1 += 1) {
      v46[v45_1 + 2048 * (v45_0)] = v44[v44_1 + 52 * (v44_0)];
      v44_1 += 1;
    }
    v44_0 += 1;
  }
  std::vector<float> v47(1 * 1944);
  for (int64_t v47_i0 = 0; v47_i0 < 1; ++v47_i0) {
    for (int64_t v47_i1 = 0; v47_i1 < 1944; ++v47_i1) {
      v47[v47_i1 + 1944 * (v47_i0)] = v20[0 + v47_i1 * 1 + 2048 * (8 + v47_i0 * 1)];
    }
  }
  std::vector<float> v48(1 * 104);
  for (int64_t v48_i0 = 0; v48_i0 < 1; ++v48_i0) {
    for (int64_t v48_i1 = 0; v48_i1 < 104; ++v48_i1) {
      v48[v48_i1 + 104 * (v48_i0)] = v20[1944 + v48_i1 * 1 + 2048 * (8 + v48_i0 * 1)];
    }
  }
  std::vector<float> v49(v25);
  int64_t v47_0 = 0;
  for (int64_t v25_0 = 0; v25_0 < 0 + 1 * 1; v25_0 += 1) {
    int64_t v47_1 = 0;
    for (int64_t v25_1 = 104; v25_1 < 104 + 1944 * 1; v25_1 += 1) {
      v49[v25_1 + 2048 * (v25_0)] = v47[v47_1 + 1944 * (v47_0)];
      v47_1 += 1;
    }
    v47_0 += 1;
  }
  std::vector<float> v50(v49);
  int64_t v48_0 = 0;
  for (int64_t v49_0 = 0; v49_0 < 0 + 1 * 1; v49_0 += 1) {
    int64_t v48_1 = 0;
    for (int64_t v49_1 = 0; v49_1 < 0 + 104 * 1; v49_1 += 1) {
      v50[v49_1 + 2048 * (v49_0)] = v48[v48_1 + 104 * (v48_0)];
      v48_1 += 1;
    }
    v48_0 += 1;
  }
  std::vector<float> v51(1 * 1944);
  for (int64_t v51_i0 = 0; v51_i0 < 1; ++v51_i0) {
    for (int64_t v51_i1 = 0; v51_i1 < 1944; ++v51_i1) {
      v51[v51_i1 + 1944 * (v51_i0)] = v20[0 + v51_i1 * 1 + 2048 * (9 + v51_i0 * 1)];
    }
  }
  std::vector<float> v52(1 * 104);
  for (int64_t v52_i0 = 0; v52_i0 < 1; ++v52_i0) {
    for (int64_t v52_i1 = 0; v52_i1 < 104; ++v52_i1) {
      v52[v52_i1 + 104 * (v52_i0)] = v20[1944 + v52_i1 * 1 + 2048 * (9 + v52_i0 * 1)];
    }
  }
  std::vector<float> v53(v26);
  int64_t v51_0 = 0;
  for (int64_t v26_0 = 0; v26_0 < 0 + 1 * 1; v26_0 += 1) {
    int64_t v51_1 = 0;
    for (int64_t v26_1 = 104; v26_1 < 104 + 1944 * 1; v26_1 += 1) {
      v53[v26_1 + 2048 * (v26_0)] = v51[v51_1 + 1944 * (v51_0)];
      v51_1 += 1;
    }
    v51_0 += 1;
  }
  std::vector<float> v54(v53);
  int64_t v52_0 = 0;
  for (int64_t v53_0 = 0; v53_0 < 0 + 1 * 1; v53_0 += 1) {
    int64_t v52_1 = 0;
    for (int64_t v53_1 = 0; v53_1 < 0 + 104 * 1; v53_1 += 1) {
      v54[v53_1 + 2048 * (v53_0)] = v52[v52_1 + 104 * (v52_0)];
      v52_1 += 1;
    }
    v52_0 += 1;
  }
  std::vector<float> v55(1 * 1944);
  for (int64_t v55_i0 = 0; v55_i0 < 1; ++v55_i0) {
    for (int64_t v55_i1 = 0; v55_i1 < 1944; ++v55_i1) {
      v55[v55_i1 + 1944 * (v55_i0)] = v20[0 + v55_i1 * 1 + 2048 * (10 + v55_i0 * 1)];
    }
  }
  std::vector<float> v56(1 * 104);
  for (int64_t v56_i0 = 0; v56_i0 < 1; ++v56_i0) {
    for (int64_t v56_i1 = 0; v56_i1 < 104; ++v56_i1) {
      v56[v56_i1 + 104 * (v56_i0)] = v20[1944 + v56_i1 * 1 + 2048 * (10 + v56_i0 * 1)];
    }
  }
  std::vector<float> v57(v27);
  int64_t v55_0 = 0;
  for (int64_t v27_0 = 0; v27_0 < 0 + 1 * 1; v27_0 += 1) {
    int64_t v55_1 = 0;
    for (int64_t v27_1 = 104; v27_1 < 104 + 1944 * 1; v27_1 += 1) {
      v57[v27_1 + 2048 * (v27_0)] = v55[v55_1 + 1944 * (v55_0)];
      v55_1 += 1;
    }
    v55_0 += 1;
  }
  std::vector<float> v58(v57);
  int64_t v56_0 = 0;
  for (int64_t v57_0 = 0; v57_0 < 0 + 1 * 1; v57_0 += 1) {
    int64_t v56_1 = 0;
    for (int64_t v57_1 = 0; v57_1 < 0 + 104 * 1; v57_1 += 1) {
      v58[v57_1 + 2048 * (v57_0)] = v56[v56_1 + 104 * (v56_0)];
      v56_1 += 1;
    }
    v56_0 += 1;
  }
  std::vector<float> v59(1 * 1944);
  for (int64_t v59_i0 = 0; v59_i0 < 1; ++v59_i0) {
    for (int64_t v59_i1 = 0; v59_i1 < 1944; ++v59_i1) {
      v59[v59_i1 + 1944 * (v59_i0)] = v20[0 + v59_i1 * 1 + 2048 * (11 + v59_i0 * 1)];
    }
  }
  std::vector<float> v60(1 * 104);
  for (int64_t v60_i0 = 0; v60_i0 < 1; ++v60_i0) {
    for (int64_t v60_i1 = 0; v60_i1 < 104; ++v60_i1) {
      v60[v60_i1 + 104 * (v60_i0)] = v20[1944 + v60_i1 * 1 + 2048 * (11 + v60_i0 * 1)];
    }
  }
  std::vector<float> v61(v28);
  int64_t v59_0 = 0;
  for (int64_t v28_0 = 0; v28_0 < 0 + 1 * 1; v28_0 += 1) {
    int64_t v59_1 = 0;
    for (int64_t v28_1 = 104; v28_1 < 104 + 1944 * 1; v28_1 += 1) {
      v61[v28_1 + 2048 * (v28_0)] = v59[v59_1 + 1944 * (v59_0)];
      v59_1 += 1;
    }
    v59_0 += 1;
  }
  std::vector<float> v62(v61);
  int64_t v60_0 = 0;
  for (int64_t v61_0 = 0; v61_0 < 0 + 1 * 1; v61_0 += 1) {
    int64_t v60_1 = 0;
    for (int64_t v61_1 = 0; v61_1 < 0 + 104 * 1; v61_1 += 1) {
      v62[v61_1 + 2048 * (v61_0)] = v60[v60_1 + 104 * (v60_0)];
      v60_1 += 1;
    }
    v60_0 += 1;
  }
  std::vector<float> v63(1 * 1892);
  for (int64_t v63_i0 = 0; v63_i0 < 1; ++v63_i0) {
    for (int64_t v63_i1 = 0; v63_i1 < 1892; ++v63_i1) {
      v63[v63_i1 + 1892 * (v63_i0)] = v20[0 + v63_i1 * 1 + 2048 * (12 + v63_i0 * 1)];
    }
  }
  std::vector<float> v64(1 * 156);
  for (int64_t v64_i0 = 0; v64_i0 < 1; ++v64_i0) {
    for (int64_t v64_i1 = 0; v64_i1 < 156; ++v64_i1) {
      v64[v64_i1 + 156 * (v64_i0)] = v20[1892 + v64_i1 * 1 + 2048 * (12 + v64_i0 * 1)];
    }
  }
  std::vector<float> v65(v29);
  int64_t v63_0 = 0;
  for (int64_t v29_0 = 0; v29_0 < 0 + 1 * 1; v29_0 += 1) {
    int64_t v63_1 = 0;
    for (int64_t v29_1 = 156; v29_1 < 156 + 1892 * 1; v29_1 += 1) {
      v65[v29_1 + 2048 * (v29_0)] = v63[v63_1 + 1892 * (v63_0)];
      v63_1 += 1;
    }
    v63_0 += 1;
  }
  std::vector<float> v66(v65);
  int64_t v64_0 = 0;
  for (int64_t v65_0 = 0; v65_0 < 0 + 1 * 1; v65_0 += 1) {
    int64_t v64_1 = 0;
    for (int64_t v65_1 = 0; v65_1 < 0 + 156 * 1; v65_1 += 1) {
      v66[v65_1 + 2048 * (v65_0)] = v64[v64_1 + 156 * (v64_0)];
      v64_1 += 1;
    }
    v64_0 += 1;
  }
  std::vector<float> v67(1 * 1892);
  for (int64_t v67_i0 = 0; v67_i0 < 1; ++v67_i0) {
    for (int64_t v67_i1 = 0; v67_i1 < 1892; ++v67_i1) {
      v67[v67_i1 + 1892 * (v67_i0)] = v20[0 + v67_i1 * 1 + 2048 * (13 + v67_i0 * 1)];
    }
  }
  std::vector<float> v68(1 * 156);
  for (int64_t v68_i0 = 0; v68_i0 < 1; ++v68_i0) {
    for (int64_t v68_i1 = 0; v68_i1 < 156; ++v68_i1) {
      v68[v68_i1 + 156 * (v68_i0)] = v20[1892 + v68_i1 * 1 + 2048 * (13 + v68_i0 * 1)];
    }
  }
  std::vector<float> v69(v30);
  int64_t v67_0 = 0;
  for (int64_t v30_0 = 0; v30_0 < 0 + 1 * 1; v30_0 += 1) {
    int64_t v67_1 = 0;
    for (int64_t v30_1 = 156; v30_1 < 156 + 1892 * 1; v30_1 += 1) {
      v69[v30_1 + 2048 * (v30_0)] = v67[v67_1 + 1892 * (v67_0)];
      v67_1 += 1;
    }
    v67_0 += 1;
  }
  std::vector<float> v70(v69);
  int64_t v68_0 = 0;
  for (int64_t v69_0 = 0; v69_0 < 0 + 1 * 1; v69_0 += 1) {
    int64_t v68_1 = 0;
    for (int64_t v69_1 = 0; v69_1 < 0 + 156 * 1; v69_1 += 1) {
      v70[v69_1 + 2048 * (v69_0)] = v68[v68_1 + 156 * (v68_0)];
      v68_1 += 1;
    }
    v68_0 += 1;
  }
  std::vector<float> v71(1 * 2048);
  for (int64_t v71_i0 = 0; v71_i0 < 1; ++v71_i0) {
    for (int64_t v71_i1 = 0; v71_i1 < 2048; ++v71_i1) {
      v71[v71_i1 + 2048 * (v71_i0)] = v20[0 + v71_i1 * 1 + 2048 * (0 + v71_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v71);
  v19[0] = pt;
  std::vector<float> v72(1 * 2048);
  for (int64_t v72_i0 = 0; v72_i0 < 1; ++v72_i0) {
    for (int64_t v72_i1 = 0; v72_i1 < 2048; ++v72_i1) {
      v72[v72_i1 + 2048 * (v72_i0)] = v20[0 + v72_i1 * 1 + 2048 * (1 + v72_i0 * 1)];
    }
  }
  const auto pt1 = cc.encode(v72);
  v19[1] = pt1;
  std::vector<float> v73(1 * 2048);
  for (int64_t v73_i0 = 0; v73_i0 < 1; ++v73_i0) {
    for (int64_t v73_i1 = 0; v73_i1 < 2048; ++v73_i1) {
      v73[v73_i1 + 2048 * (v73_i0)] = v20[0 + v73_i1 * 1 + 2048 * (2 + v73_i0 * 1)];
    }
  }
  const auto pt2 = cc.encode(v73);
  v19[2] = pt2;
  std::vector<float> v74(1 * 2048);
  for (int64_t v74_i0 = 0; v74_i0 < 1; ++v74_i0) {
    for (int64_t v74_i1 = 0; v74_i1 < 2048; ++v74_i1) {
      v74[v74_i1 + 2048 * (v74_i0)] = v20[0 + v74_i1 * 1 + 2048 * (3 + v74_i0 * 1)];
    }
  }
  const auto pt3 = cc.encode(v74);
  v19[3] = pt3;
  std::vector<float> v75(1 * 2048);
  for (int64_t v75_i0 = 0; v75_i0 < 1; ++v75_i0) {
    for (int64_t v75_i1 = 0; v75_i1 < 2048; ++v75_i1) {
      v75[v75_i1 + 2048 * (v75_i0)] = v34[0 + v75_i1 * 1 + 2048 * (0 + v75_i0 * 1)];
    }
  }
  const auto pt4 = cc.encode(v75);
  v19[4] = pt4;
  std::vector<float> v76(1 * 2048);
  for (int64_t v76_i0 = 0; v76_i0 < 1; ++v76_i0) {
    for (int64_t v76_i1 = 0; v76_i1 < 2048; ++v76_i1) {
      v76[v76_i1 + 2048 * (v76_i0)] = v38[0 + v76_i1 * 1 + 2048 * (0 + v76_i0 * 1)];
    }
  }
  const auto pt5 = cc.encode(v76);
  v19[5] = pt5;
  std::vector<float> v77(1 * 2048);
  for (int64_t v77_i0 = 0; v77_i0 < 1; ++v77_i0) {
    for (int64_t v77_i1 = 0; v77_i1 < 2048; ++v77_i1) {
      v77[v77_i1 + 2048 * (v77_i0)] = v42[0 + v77_i1 * 1 + 2048 * (0 + v77_i0 * 1)];
    }
  }
  const auto pt6 = cc.encode(v77);
  v19[6] = pt6;
  std::vector<float> v78(1 * 2048);
  for (int64_t v78_i0 = 0; v78_i0 < 1; ++v78_i0) {
    for (int64_t v78_i1 = 0; v78_i1 < 2048; ++v78_i1) {
      v78[v78_i1 + 2048 * (v78_i0)] = v46[0 + v78_i1 * 1 + 2048 * (0 + v78_i0 * 1)];
    }
  }
  const auto pt7 = cc.encode(v78);
  v19[7] = pt7;
  std::vector<float> v79(1 * 2048);
  for (int64_t v79_i0 = 0; v79_i0 < 1; ++v79_i0) {
    for (int64_t v79_i1 = 0; v79_i1 < 2048; ++v79_i1) {
      v79[v79_i1 + 2048 * (v79_i0)] = v50[0 + v79_i1 * 1 + 2048 * (0 + v79_i0 * 1)];
    }
  }
  const auto pt8 = cc.encode(v79);
  v19[8] = pt8;
  std::vector<float> v80(1 * 2048);
  for (int64_t v80_i0 = 0; v80_i0 < 1; ++v80_i0) {
    for (int64_t v80_i1 = 0; v80_i1 < 2048; ++v80_i1) {
      v80[v80_i1 + 2048 * (v80_i0)] = v54[0 + v80_i1 * 1 + 2048 * (0 + v80_i0 * 1)];
    }
  }
  const auto pt9 = cc.encode(v80);
  v19[9] = pt9;
  std::vector<float> v81(1 * 2048);
  for (int64_t v81_i0 = 0; v81_i0 < 1; ++v81_i0) {
    for (int64_t v81_i1 = 0; v81_i1 < 2048; ++v81_i1) {
      v81[v81_i1 + 2048 * (v81_i0)] = v58[0 + v81_i1 * 1 + 2048 * (0 + v81_i0 * 1)];
    }
  }
  const auto pt10 = cc.encode(v81);
  v19[10] = pt10;
  std::vector<float> v82(1 * 2048);
  for (int64_t v82_i0 = 0; v82_i0 < 1; ++v82_i0) {
    for (int64_t v82_i1 = 0; v82_i1 < 2048; ++v82_i1) {
      v82[v82_i1 + 2048 * (v82_i0)] = v62[0 + v82_i1 * 1 + 2048 * (0 + v82_i0 * 1)];
    }
  }
  const auto pt11 = cc.encode(v82);
  v19[11] = pt11;
  std::vector<float> v83(1 * 2048);
  for (int64_t v83_i0 = 0; v83_i0 < 1; ++v83_i0) {
    for (int64_t v83_i1 = 0; v83_i1 < 2048; ++v83_i1) {
      v83[v83_i1 + 2048 * (v83_i0)] = v66[0 + v83_i1 * 1 + 2048 * (0 + v83_i0 * 1)];
    }
  }
  const auto pt12 = cc.encode(v83);
  v19[12] = pt12;
  std::vector<float> v84(1 * 2048);
  for (int64_t v84_i0 = 0; v84_i0 < 1; ++v84_i0) {
    for (int64_t v84_i1 = 0; v84_i1 < 2048; ++v84_i1) {
      v84[v84_i1 + 2048 * (v84_i0)] = v70[0 + v84_i1 * 1 + 2048 * (0 + v84_i0 * 1)];
    }
  }
  const auto pt13 = cc.encode(v84);
  v19[13] = pt13;
  const auto pt14 = cc.encode(v2);
  v19[14] = pt14;
  const auto pt15 = cc.encode(v1);
  v19[15] = pt15;
  return v19;
}
std::vector<Ciphertext> bicyclic_matmul_pt__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 13;
  [[maybe_unused]] size_t v5 = 52;
  [[maybe_unused]] size_t v6 = 104;
  [[maybe_unused]] size_t v7 = 156;
  [[maybe_unused]] size_t v8 = 176;
  [[maybe_unused]] size_t v9 = 1;
  [[maybe_unused]] size_t v10 = 2;
  [[maybe_unused]] size_t v11 = 3;
  [[maybe_unused]] size_t v12 = 4;
  [[maybe_unused]] size_t v13 = 5;
  [[maybe_unused]] size_t v14 = 6;
  [[maybe_unused]] size_t v15 = 7;
  [[maybe_unused]] size_t v16 = 8;
  [[maybe_unused]] size_t v17 = 9;
  [[maybe_unused]] size_t v18 = 10;
  [[maybe_unused]] size_t v19 = 11;
  [[maybe_unused]] size_t v20 = 12;
  [[maybe_unused]] size_t v21 = 14;
  [[maybe_unused]] size_t v22 = 15;
  const auto& v23 = _assign_layout_0(v1);
  Plaintext pt = v2[0];
  Ciphertext ct = v0[0];
  const auto ct1 = cc.multiply(ct, pt);
  const auto ct2_rotations = cc.rotate_hoisted(ct, {13, 26, 39});
  const auto ct2 = ct2_rotations[0];
  const auto ct3 = ct2_rotations[1];
  const auto ct4 = ct2_rotations[2];
  Plaintext pt1 = v2[1];
  const auto ct5 = cc.multiply(ct2, pt1);
  Plaintext pt2 = v2[2];
  const auto ct6 = cc.multiply(ct3, pt2);
  Plaintext pt3 = v2[3];
  const auto ct7 = cc.multiply(ct4, pt3);
  Plaintext pt4 = v2[4];
  const auto ct8 = cc.multiply(ct, pt4);
  Plaintext pt5 = v2[5];
  const auto ct9 = cc.multiply(ct2, pt5);
  Plaintext pt6 = v2[6];
  const auto ct10 = cc.multiply(ct3, pt6);
  Plaintext pt7 = v2[7];
  const auto ct11 = cc.multiply(ct4, pt7);
  const auto ct12 = cc.add(ct8, ct9);
  const auto ct13 = cc.add(ct10, ct11);
  const auto ct14 = cc.add(ct12, ct13);
  const auto ct15 = cc.rotate(ct14, 52);
  Plaintext pt8 = v2[8];
  const auto ct16 = cc.multiply(ct, pt8);
  Plaintext pt9 = v2[9];
  const auto ct17 = cc.multiply(ct2, pt9);
  Plaintext pt10 = v2[10];
  const auto ct18 = cc.multiply(ct3, pt10);
  Plaintext pt11 = v2[11];
  const auto ct19 = cc.multiply(ct4, pt11);
  const auto ct20 = cc.add(ct16, ct17);
  const auto ct21 = cc.add(ct18, ct19);
  const auto ct22 = cc.add(ct20, ct21);
  const auto ct23 = cc.rotate(ct22, 104);
  Plaintext pt12 = v2[12];
  const auto ct24 = cc.multiply(ct, pt12);
  Plaintext pt13 = v2[13];
  const auto ct25 = cc.multiply(ct2, pt13);
  const auto ct26 = cc.add(ct24, ct25);
  const auto ct27 = cc.rotate(ct26, 156);
  const auto ct28 = cc.add(ct1, ct5);
  const auto ct29 = cc.add(ct28, ct6);
  const auto ct30 = cc.add(ct7, ct15);
  const auto ct31 = cc.add(ct23, ct27);
  const auto ct32 = cc.add(ct30, ct31);
  const auto ct33 = cc.add(ct29, ct32);
  const auto ct34 = cc.rescale(ct33);
  Plaintext pt14 = v2[14];
  const auto ct35 = cc.multiply(ct34, pt14);
  const auto ct36 = cc.rotate(ct33, 176);
  const auto ct37 = cc.rescale(ct36);
  Plaintext pt15 = v2[15];
  const auto ct38 = cc.multiply(ct37, pt15);
  const auto ct39 = cc.add(ct35, ct38);
  std::vector<Ciphertext> v24(1);
  const auto ct40 = cc.rescale(ct39);
  v24[0] = ct40;
  return v24;
}
std::vector<Ciphertext> bicyclic_matmul_pt(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1) {
  const auto& v2 = bicyclic_matmul_pt__preprocessing(cc, v1);
  const auto& v3 = bicyclic_matmul_pt__preprocessed(cc, v0, v1, v2);
  return v3;
}
std::vector<Ciphertext> bicyclic_matmul_pt__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] size_t v1 = 14;
  [[maybe_unused]] size_t v2 = 13;
  [[maybe_unused]] size_t v3 = 2048;
  [[maybe_unused]] size_t v4 = 1;
  [[maybe_unused]] size_t v5 = 0;
  std::vector<float> v6(2048, 0);
  std::vector<float> v7 = std::move(v6);
  for (auto v8 = 0; v8 < 2048; v8 += 1) {
    size_t v10 = v8 % v2;
    size_t v11 = v8 % v1;
    float v12 = v0[v11 + 14 * (v10)];
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
std::vector<float> bicyclic_matmul_pt__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] int32_t v1 = 1840;
  [[maybe_unused]] int32_t v2 = 207;
  std::vector<float> v3(208, 0);
  [[maybe_unused]] int32_t v4 = 0;
  [[maybe_unused]] int32_t v5 = 12;
  [[maybe_unused]] int32_t v6 = 1;
  [[maybe_unused]] int32_t v7 = 64;
  [[maybe_unused]] int32_t v8 = 65;
  [[maybe_unused]] int32_t v9 = 1039;
  [[maybe_unused]] int32_t v10 = 208;
  [[maybe_unused]] int32_t v11 = 13;
  [[maybe_unused]] int32_t v12 = 16;
  [[maybe_unused]] int32_t v13 = 15;
  [[maybe_unused]] int32_t v14 = 2048;
  [[maybe_unused]] size_t v15 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v16 = cc.decode<float>(pt, 2048);
  std::vector<float> v17 = std::move(v3);
  for (auto v18 = 0; v18 < 13; v18 += 1) {
    int32_t v20 = v5 - v18;
    std::vector<float> v21 = std::move(v17);
    for (auto v22 = 0; v22 < 16; v22 += 1) {
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
      for (auto v34 = v32; v34 < 2048; v34 += 208) {
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
        v33[v45 + 16 * (v44)] = v43;
      }
      v21 = std::move(v33);
    }
    v17 = std::move(v21);
  }
  return v17;
}
Parameters bicyclic_matmul_pt__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 2;
  params.slots = 2048;
  params.scale_bits = 45;
  params.first_bits = 55;
  return params;
}
CryptoContext bicyclic_matmul_pt__generate_crypto_context() {
  const auto& params = bicyclic_matmul_pt__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext bicyclic_matmul_pt__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {13, 26, 39, 52, 104, 156, 176}});
  return cc1;
}
