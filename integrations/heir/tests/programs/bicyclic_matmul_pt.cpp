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
std::vector<float> _assign_layout_5252338511032200702(std::vector<float> v0) {
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
  auto v1 = runs<float>({{16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {1696, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}});
  auto v2 = runs<float>({{16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {1872, 0}, {16, 1}, {16, 0}, {16, 1}});
  auto v3 = runs<float>({{16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {1872, 0}, {16, 1}});
  auto v4 = runs<float>({{16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {1872, 0}});
  auto v5 = runs<float>({{16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {1696, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}});
  auto v6 = runs<float>({{16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {1904, 0}, {16, 1}, {16, 0}});
  auto v7 = runs<float>({{16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {1904, 0}});
  auto v8 = runs<float>({{16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {1888, 0}});
  auto v9 = runs<float>({{16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {16, 1}, {16, 0}, {1696, 1}, {176, 0}});
  [[maybe_unused]] size_t v10 = 0;
  [[maybe_unused]] size_t v11 = 1;
  [[maybe_unused]] size_t v12 = 2;
  [[maybe_unused]] size_t v13 = 3;
  [[maybe_unused]] size_t v14 = 4;
  [[maybe_unused]] size_t v15 = 5;
  [[maybe_unused]] size_t v16 = 6;
  [[maybe_unused]] size_t v17 = 7;
  [[maybe_unused]] size_t v18 = 8;
  [[maybe_unused]] size_t v19 = 9;
  [[maybe_unused]] size_t v20 = 10;
  [[maybe_unused]] size_t v21 = 11;
  [[maybe_unused]] size_t v22 = 12;
  [[maybe_unused]] size_t v23 = 13;
  [[maybe_unused]] size_t v24 = 14;
  [[maybe_unused]] size_t v25 = 15;
  [[maybe_unused]] size_t v26 = 16;
  [[maybe_unused]] size_t v27 = 17;
  [[maybe_unused]] size_t v28 = 18;
  [[maybe_unused]] size_t v29 = 19;
  [[maybe_unused]] size_t v30 = 20;
  [[maybe_unused]] size_t v31 = 21;
  [[maybe_unused]] size_t v32 = 22;
  std::vector<Plaintext> v33(23);
  const auto& v34 = _assign_layout_5252338511032200702(v0);
  std::vector<float> v35(1 * 2048);
  for (int64_t v35_i0 = 0; v35_i0 < 1; ++v35_i0) {
    for (int64_t v35_i1 = 0; v35_i1 < 2048; ++v35_i1) {
      v35[v35_i1 + 2048 * (v35_i0)] = v34[0 + v35_i1 * 1 + 2048 * (4 + v35_i0 * 1)];
    }
  }
  std::vector<float> v36(1 * 2048);
  for (int64_t v36_i0 = 0; v36_i0 < 1; ++v36_i0) {
    for (int64_t v36_i1 = 0; v36_i1 < 2048; ++v36_i1) {
      v36[v36_i1 + 2048 * (v36_i0)] = v34[0 + v36_i1 * 1 + 2048 * (5 + v36_i0 * 1)];
    }
  }
  std::vector<float> v37(1 * 2048);
  for (int64_t v37_i0 = 0; v37_i0 < 1; ++v37_i0) {
    for (int64_t v37_i1 = 0; v37_i1 < 2048; ++v37_i1) {
      v37[v37_i1 + 2048 * (v37_i0)] = v34[0 + v37_i1 * 1 + 2048 * (6 + v37_i0 * 1)];
    }
  }
  std::vector<float> v38(1 * 2048);
  for (int64_t v38_i0 = 0; v38_i0 < 1; ++v38_i0) {
    for (int64_t v38_i1 = 0; v38_i1 < 2048; ++v38_i1) {
      v38[v38_i1 + 2048 * (v38_i0)] = v34[0 + v38_i1 * 1 + 2048 * (7 + v38_i0 * 1)];
    }
  }
  std::vector<float> v39(1 * 2048);
  for (int64_t v39_i0 = 0; v39_i0 < 1; ++v39_i0) {
    for (int64_t v39_i1 = 0; v39_i1 < 2048; ++v39_i1) {
      v39[v39_i1 + 2048 * (v39_i0)] = v34[0 + v39_i1 * 1 + 2048 * (8 + v39_i0 * 1)];
    }
  }
  std::vector<float> v40(1 * 2048);
  for (int64_t v40_i0 = 0; v40_i0 < 1; ++v40_i0) {
    for (int64_t v40_i1 = 0; v40_i1 < 2048; ++v40_i1) {
      v40[v40_i1 + 2048 * (v40_i0)] = v34[0 + v40_i1 * 1 + 2048 * (9 + v40_i0 * 1)];
    }
  }
  std::vector<float> v41(1 * 2048);
  for (int64_t v41_i0 = 0; v41_i0 < 1; ++v41_i0) {
    for (int64_t v41_i1 = 0; v41_i1 < 2048; ++v41_i1) {
      v41[v41_i1 + 2048 * (v41_i0)] = v34[0 + v41_i1 * 1 + 2048 * (10 + v41_i0 * 1)];
    }
  }
  std::vector<float> v42(1 * 2048);
  for (int64_t v42_i0 = 0; v42_i0 < 1; ++v42_i0) {
    for (int64_t v42_i1 = 0; v42_i1 < 2048; ++v42_i1) {
      v42[v42_i1 + 2048 * (v42_i0)] = v34[0 + v42_i1 * 1 + 2048 * (11 + v42_i0 * 1)];
    }
  }
  std::vector<float> v43(1 * 2048);
  for (int64_t v43_i0 = 0; v43_i0 < 1; ++v43_i0) {
    for (int64_t v43_i1 = 0; v43_i1 < 2048; ++v43_i1) {
      v43[v43_i1 + 2048 * (v43_i0)] = v34[0 + v43_i1 * 1 + 2048 * (12 + v43_i0 * 1)];
    }
  }
  std::vector<float> v44(1 * 2048);
  for (int64_t v44_i0 = 0; v44_i0 < 1; ++v44_i0) {
    for (int64_t v44_i1 = 0; v44_i1 < 2048; ++v44_i1) {
      v44[v44_i1 + 2048 * (v44_i0)] = v34[0 + v44_i1 * 1 + 2048 * (13 + v44_i0 * 1)];
    }
  }
  std::vector<float> v45(1 * 1996);
  for (int64_t v45_i0 = 0; v45_i0 < 1; ++v45_i0) {
    for (int64_t v45_i1 = 0; v45_i1 < 1996; ++v45_i1) {
      v45[v45_i1 + 1996 * (v45_i0)] = v34[0 + v45_i1 * 1 + 2048 * (4 + v45_i0 * 1)];
    }
  }
  std::vector<float> v46(1 * 52);
  for (int64_t v46_i0 = 0; v46_i0 < 1; ++v46_i0) {
    for (int64_t v46_i1 = 0; v46_i1 < 52; ++v46_i1) {
      v46[v46_i1 + 52 * (v46_i0)] = v34[1996 + v46_i1 * 1 + 2048 * (4 + v46_i0 * 1)];
    }
  }
  std::vector<float> v47(v35);
  int64_t v45_0 = 0;
  for (int64_t v35_0 = 0; v35_0 < 0 + 1 * 1; v35_0 += 1) {
    int64_t v45_1 = 0;
    for (int64_t v35_1 = 52; v35_1 < 52 + 1996 * 1; v35_1 += 1) {
      v47[v35_1 + 2048 * (v35_0)] = v45[v45_1 + 1996 * (v45_0)];
      v45_1 += 1;
    }
    v45_0 += 1;
  }
  std::vector<float> v48(v47);
  int64_t v46_0 = 0;
  for (int64_t v47_0 = 0; v47_0 < 0 + 1 * 1; v47_0 += 1) {
    int64_t v46_1 = 0;
    for (int64_t v47_1 = 0; v47_1 < 0 + 52 * 1; v47_1 += 1) {
      v48[v47_1 + 2048 * (v47_0)] = v46[v46_1 + 52 * (v46_0)];
      v46_1 += 1;
    }
    v46_0 += 1;
  }
  std::vector<float> v49(1 * 1996);
  for (int64_t v49_i0 = 0; v49_i0 < 1; ++v49_i0) {
    for (int64_t v49_i1 = 0; v49_i1 < 1996; ++v49_i1) {
      v49[v49_i1 + 1996 * (v49_i0)] = v34[0 + v49_i1 * 1 + 2048 * (5 + v49_i0 * 1)];
    }
  }
  std::vector<float> v50(1 * 52);
  for (int64_t v50_i0 = 0; v50_i0 < 1; ++v50_i0) {
    for (int64_t v50_i1 = 0; v50_i1 < 52; ++v50_i1) {
      v50[v50_i1 + 52 * (v50_i0)] = v34[1996 + v50_i1 * 1 + 2048 * (5 + v50_i0 * 1)];
    }
  }
  std::vector<float> v51(v36);
  int64_t v49_0 = 0;
  for (int64_t v36_0 = 0; v36_0 < 0 + 1 * 1; v36_0 += 1) {
    int64_t v49_1 = 0;
    for (int64_t v36_1 = 52; v36_1 < 52 + 1996 * 1; v36_1 += 1) {
      v51[v36_1 + 2048 * (v36_0)] = v49[v49_1 + 1996 * (v49_0)];
      v49_1 += 1;
    }
    v49_0 += 1;
  }
  std::vector<float> v52(v51);
  int64_t v50_0 = 0;
  for (int64_t v51_0 = 0; v51_0 < 0 + 1 * 1; v51_0 += 1) {
    int64_t v50_1 = 0;
    for (int64_t v51_1 = 0; v51_1 < 0 + 52 * 1; v51_1 += 1) {
      v52[v51_1 + 2048 * (v51_0)] = v50[v50_1 + 52 * (v50_0)];
      v50_1 += 1;
    }
    v50_0 += 1;
  }
  std::vector<float> v53(1 * 1996);
  for (int64_t v53_i0 = 0; v53_i0 < 1; ++v53_i0) {
    for (int64_t v53_i1 = 0; v53_i1 < 1996; ++v53_i1) {
      v53[v53_i1 + 1996 * (v53_i0)] = v34[0 + v53_i1 * 1 + 2048 * (6 + v53_i0 * 1)];
    }
  }
  std::vector<float> v54(1 * 52);
  for (int64_t v54_i0 = 0; v54_i0 < 1; ++v54_i0) {
    for (int64_t v54_i1 = 0; v54_i1 < 52; ++v54_i1) {
      v54[v54_i1 + 52 * (v54_i0)] = v34[1996 + v54_i1 * 1 + 2048 * (6 + v54_i0 * 1)];
    }
  }
  std::vector<float> v55(v37);
  int64_t v53_0 = 0;
  for (int64_t v37_0 = 0; v37_0 < 0 + 1 * 1; v37_0 += 1) {
    int64_t v53_1 = 0;
    for (int64_t v37_1 = 52; v37_1 < 52 + 1996 * 1; v37_1 += 1) {
      v55[v37_1 + 2048 * (v37_0)] = v53[v53_1 + 1996 * (v53_0)];
      v53_1 += 1;
    }
    v53_0 += 1;
  }
  std::vector<float> v56(v55);
  int64_t v54_0 = 0;
  for (int64_t v55_0 = 0; v55_0 < 0 + 1 * 1; v55_0 += 1) {
    int64_t v54_1 = 0;
    for (int64_t v55_1 = 0; v55_1 < 0 + 52 * 1; v55_1 += 1) {
      v56[v55_1 + 2048 * (v55_0)] = v54[v54_1 + 52 * (v54_0)];
      v54_1 += 1;
    }
    v54_0 += 1;
  }
  std::vector<float> v57(1 * 1996);
  for (int64_t v57_i0 = 0; v57_i0 < 1; ++v57_i0) {
    for (int64_t v57_i1 = 0; v57_i1 < 1996; ++v57_i1) {
      v57[v57_i1 + 1996 * (v57_i0)] = v34[0 + v57_i1 * 1 + 2048 * (7 + v57_i0 * 1)];
    }
  }
  std::vector<float> v58(1 * 52);
  for (int64_t v58_i0 = 0; v58_i0 < 1; ++v58_i0) {
    for (int64_t v58_i1 = 0; v58_i1 < 52; ++v58_i1) {
      v58[v58_i1 + 52 * (v58_i0)] = v34[1996 + v58_i1 * 1 + 2048 * (7 + v58_i0 * 1)];
    }
  }
  std::vector<float> v59(v38);
  int64_t v57_0 = 0;
  for (int64_t v38_0 = 0; v38_0 < 0 + 1 * 1; v38_0 += 1) {
    int64_t v57_1 = 0;
    for (int64_t v38_1 = 52; v38_1 < 52 + 1996 * 1; v38_1 += 1) {
      v59[v38_1 + 2048 * (v38_0)] = v57[v57_1 + 1996 * (v57_0)];
      v57_1 += 1;
    }
    v57_0 += 1;
  }
  std::vector<float> v60(v59);
  int64_t v58_0 = 0;
  for (int64_t v59_0 = 0; v59_0 < 0 + 1 * 1; v59_0 += 1) {
    int64_t v58_1 = 0;
    for (int64_t v59_1 = 0; v59_1 < 0 + 52 * 1; v59_1 += 1) {
      v60[v59_1 + 2048 * (v59_0)] = v58[v58_1 + 52 * (v58_0)];
      v58_1 += 1;
    }
    v58_0 += 1;
  }
  std::vector<float> v61(1 * 1944);
  for (int64_t v61_i0 = 0; v61_i0 < 1; ++v61_i0) {
    for (int64_t v61_i1 = 0; v61_i1 < 1944; ++v61_i1) {
      v61[v61_i1 + 1944 * (v61_i0)] = v34[0 + v61_i1 * 1 + 2048 * (8 + v61_i0 * 1)];
    }
  }
  std::vector<float> v62(1 * 104);
  for (int64_t v62_i0 = 0; v62_i0 < 1; ++v62_i0) {
    for (int64_t v62_i1 = 0; v62_i1 < 104; ++v62_i1) {
      v62[v62_i1 + 104 * (v62_i0)] = v34[1944 + v62_i1 * 1 + 2048 * (8 + v62_i0 * 1)];
    }
  }
  std::vector<float> v63(v39);
  int64_t v61_0 = 0;
  for (int64_t v39_0 = 0; v39_0 < 0 + 1 * 1; v39_0 += 1) {
    int64_t v61_1 = 0;
    for (int64_t v39_1 = 104; v39_1 < 104 + 1944 * 1; v39_1 += 1) {
      v63[v39_1 + 2048 * (v39_0)] = v61[v61_1 + 1944 * (v61_0)];
      v61_1 += 1;
    }
    v61_0 += 1;
  }
  std::vector<float> v64(v63);
  int64_t v62_0 = 0;
  for (int64_t v63_0 = 0; v63_0 < 0 + 1 * 1; v63_0 += 1) {
    int64_t v62_1 = 0;
    for (int64_t v63_1 = 0; v63_1 < 0 + 104 * 1; v63_1 += 1) {
      v64[v63_1 + 2048 * (v63_0)] = v62[v62_1 + 104 * (v62_0)];
      v62_1 += 1;
    }
    v62_0 += 1;
  }
  std::vector<float> v65(1 * 1944);
  for (int64_t v65_i0 = 0; v65_i0 < 1; ++v65_i0) {
    for (int64_t v65_i1 = 0; v65_i1 < 1944; ++v65_i1) {
      v65[v65_i1 + 1944 * (v65_i0)] = v34[0 + v65_i1 * 1 + 2048 * (9 + v65_i0 * 1)];
    }
  }
  std::vector<float> v66(1 * 104);
  for (int64_t v66_i0 = 0; v66_i0 < 1; ++v66_i0) {
    for (int64_t v66_i1 = 0; v66_i1 < 104; ++v66_i1) {
      v66[v66_i1 + 104 * (v66_i0)] = v34[1944 + v66_i1 * 1 + 2048 * (9 + v66_i0 * 1)];
    }
  }
  std::vector<float> v67(v40);
  int64_t v65_0 = 0;
  for (int64_t v40_0 = 0; v40_0 < 0 + 1 * 1; v40_0 += 1) {
    int64_t v65_1 = 0;
    for (int64_t v40_1 = 104; v40_1 < 104 + 1944 * 1; v40_1 += 1) {
      v67[v40_1 + 2048 * (v40_0)] = v65[v65_1 + 1944 * (v65_0)];
      v65_1 += 1;
    }
    v65_0 += 1;
  }
  std::vector<float> v68(v67);
  int64_t v66_0 = 0;
  for (int64_t v67_0 = 0; v67_0 < 0 + 1 * 1; v67_0 += 1) {
    int64_t v66_1 = 0;
    for (int64_t v67_1 = 0; v67_1 < 0 + 104 * 1; v67_1 += 1) {
      v68[v67_1 + 2048 * (v67_0)] = v66[v66_1 + 104 * (v66_0)];
      v66_1 += 1;
    }
    v66_0 += 1;
  }
  std::vector<float> v69(1 * 1944);
  for (int64_t v69_i0 = 0; v69_i0 < 1; ++v69_i0) {
    for (int64_t v69_i1 = 0; v69_i1 < 1944; ++v69_i1) {
      v69[v69_i1 + 1944 * (v69_i0)] = v34[0 + v69_i1 * 1 + 2048 * (10 + v69_i0 * 1)];
    }
  }
  std::vector<float> v70(1 * 104);
  for (int64_t v70_i0 = 0; v70_i0 < 1; ++v70_i0) {
    for (int64_t v70_i1 = 0; v70_i1 < 104; ++v70_i1) {
      v70[v70_i1 + 104 * (v70_i0)] = v34[1944 + v70_i1 * 1 + 2048 * (10 + v70_i0 * 1)];
    }
  }
  std::vector<float> v71(v41);
  int64_t v69_0 = 0;
  for (int64_t v41_0 = 0; v41_0 < 0 + 1 * 1; v41_0 += 1) {
    int64_t v69_1 = 0;
    for (int64_t v41_1 = 104; v41_1 < 104 + 1944 * 1; v41_1 += 1) {
      v71[v41_1 + 2048 * (v41_0)] = v69[v69_1 + 1944 * (v69_0)];
      v69_1 += 1;
    }
    v69_0 += 1;
  }
  std::vector<float> v72(v71);
  int64_t v70_0 = 0;
  for (int64_t v71_0 = 0; v71_0 < 0 + 1 * 1; v71_0 += 1) {
    int64_t v70_1 = 0;
    for (int64_t v71_1 = 0; v71_1 < 0 + 104 * 1; v71_1 += 1) {
      v72[v71_1 + 2048 * (v71_0)] = v70[v70_1 + 104 * (v70_0)];
      v70_1 += 1;
    }
    v70_0 += 1;
  }
  std::vector<float> v73(1 * 1944);
  for (int64_t v73_i0 = 0; v73_i0 < 1; ++v73_i0) {
    for (int64_t v73_i1 = 0; v73_i1 < 1944; ++v73_i1) {
      v73[v73_i1 + 1944 * (v73_i0)] = v34[0 + v73_i1 * 1 + 2048 * (11 + v73_i0 * 1)];
    }
  }
  std::vector<float> v74(1 * 104);
  for (int64_t v74_i0 = 0; v74_i0 < 1; ++v74_i0) {
    for (int64_t v74_i1 = 0; v74_i1 < 104; ++v74_i1) {
      v74[v74_i1 + 104 * (v74_i0)] = v34[1944 + v74_i1 * 1 + 2048 * (11 + v74_i0 * 1)];
    }
  }
  std::vector<float> v75(v42);
  int64_t v73_0 = 0;
  for (int64_t v42_0 = 0; v42_0 < 0 + 1 * 1; v42_0 += 1) {
    int64_t v73_1 = 0;
    for (int64_t v42_1 = 104; v42_1 < 104 + 1944 * 1; v42_1 += 1) {
      v75[v42_1 + 2048 * (v42_0)] = v73[v73_1 + 1944 * (v73_0)];
      v73_1 += 1;
    }
    v73_0 += 1;
  }
  std::vector<float> v76(v75);
  int64_t v74_0 = 0;
  for (int64_t v75_0 = 0; v75_0 < 0 + 1 * 1; v75_0 += 1) {
    int64_t v74_1 = 0;
    for (int64_t v75_1 = 0; v75_1 < 0 + 104 * 1; v75_1 += 1) {
      v76[v75_1 + 2048 * (v75_0)] = v74[v74_1 + 104 * (v74_0)];
      v74_1 += 1;
    }
    v74_0 += 1;
  }
  std::vector<float> v77(1 * 1892);
  for (int64_t v77_i0 = 0; v77_i0 < 1; ++v77_i0) {
    for (int64_t v77_i1 = 0; v77_i1 < 1892; ++v77_i1) {
      v77[v77_i1 + 1892 * (v77_i0)] = v34[0 + v77_i1 * 1 + 2048 * (12 + v77_i0 * 1)];
    }
  }
  std::vector<float> v78(1 * 156);
  for (int64_t v78_i0 = 0; v78_i0 < 1; ++v78_i0) {
    for (int64_t v78_i1 = 0; v78_i1 < 156; ++v78_i1) {
      v78[v78_i1 + 156 * (v78_i0)] = v34[1892 + v78_i1 * 1 + 2048 * (12 + v78_i0 * 1)];
    }
  }
  std::vector<float> v79(v43);
  int64_t v77_0 = 0;
  for (int64_t v43_0 = 0; v43_0 < 0 + 1 * 1; v43_0 += 1) {
    int64_t v77_1 = 0;
    for (int64_t v43_1 = 156; v43_1 < 156 + 1892 * 1; v43_1 += 1) {
      v79[v43_1 + 2048 * (v43_0)] = v77[v77_1 + 1892 * (v77_0)];
      v77_1 += 1;
    }
    v77_0 += 1;
  }
  std::vector<float> v80(v79);
  int64_t v78_0 = 0;
  for (int64_t v79_0 = 0; v79_0 < 0 + 1 * 1; v79_0 += 1) {
    int64_t v78_1 = 0;
    for (int64_t v79_1 = 0; v79_1 < 0 + 156 * 1; v79_1 += 1) {
      v80[v79_1 + 2048 * (v79_0)] = v78[v78_1 + 156 * (v78_0)];
      v78_1 += 1;
    }
    v78_0 += 1;
  }
  std::vector<float> v81(1 * 1892);
  for (int64_t v81_i0 = 0; v81_i0 < 1; ++v81_i0) {
    for (int64_t v81_i1 = 0; v81_i1 < 1892; ++v81_i1) {
      v81[v81_i1 + 1892 * (v81_i0)] = v34[0 + v81_i1 * 1 + 2048 * (13 + v81_i0 * 1)];
    }
  }
  std::vector<float> v82(1 * 156);
  for (int64_t v82_i0 = 0; v82_i0 < 1; ++v82_i0) {
    for (int64_t v82_i1 = 0; v82_i1 < 156; ++v82_i1) {
      v82[v82_i1 + 156 * (v82_i0)] = v34[1892 + v82_i1 * 1 + 2048 * (13 + v82_i0 * 1)];
    }
  }
  std::vector<float> v83(v44);
  int64_t v81_0 = 0;
  for (int64_t v44_0 = 0; v44_0 < 0 + 1 * 1; v44_0 += 1) {
    int64_t v81_1 = 0;
    for (int64_t v44_1 = 156; v44_1 < 156 + 1892 * 1; v44_1 += 1) {
      v83[v44_1 + 2048 * (v44_0)] = v81[v81_1 + 1892 * (v81_0)];
      v81_1 += 1;
    }
    v81_0 += 1;
  }
  std::vector<float> v84(v83);
  int64_t v82_0 = 0;
  for (int64_t v83_0 = 0; v83_0 < 0 + 1 * 1; v83_0 += 1) {
    int64_t v82_1 = 0;
    for (int64_t v83_1 = 0; v83_1 < 0 + 156 * 1; v83_1 += 1) {
      v84[v83_1 + 2048 * (v83_0)] = v82[v82_1 + 156 * (v82_0)];
      v82_1 += 1;
    }
    v82_0 += 1;
  }
  std::vector<float> v85(1 * 2048);
  for (int64_t v85_i0 = 0; v85_i0 < 1; ++v85_i0) {
    for (int64_t v85_i1 = 0; v85_i1 < 2048; ++v85_i1) {
      v85[v85_i1 + 2048 * (v85_i0)] = v34[0 + v85_i1 * 1 + 2048 * (0 + v85_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v85);
  v33[0] = pt;
  std::vector<float> v86(1 * 2048);
  for (int64_t v86_i0 = 0; v86_i0 < 1; ++v86_i0) {
    for (int64_t v86_i1 = 0; v86_i1 < 2048; ++v86_i1) {
      v86[v86_i1 + 2048 * (v86_i0)] = v34[0 + v86_i1 * 1 + 2048 * (1 + v86_i0 * 1)];
    }
  }
  const auto pt1 = cc.encode(v86);
  v33[1] = pt1;
  std::vector<float> v87(1 * 2048);
  for (int64_t v87_i0 = 0; v87_i0 < 1; ++v87_i0) {
    for (int64_t v87_i1 = 0; v87_i1 < 2048; ++v87_i1) {
      v87[v87_i1 + 2048 * (v87_i0)] = v34[0 + v87_i1 * 1 + 2048 * (2 + v87_i0 * 1)];
    }
  }
  const auto pt2 = cc.encode(v87);
  v33[2] = pt2;
  std::vector<float> v88(1 * 2048);
  for (int64_t v88_i0 = 0; v88_i0 < 1; ++v88_i0) {
    for (int64_t v88_i1 = 0; v88_i1 < 2048; ++v88_i1) {
      v88[v88_i1 + 2048 * (v88_i0)] = v34[0 + v88_i1 * 1 + 2048 * (3 + v88_i0 * 1)];
    }
  }
  const auto pt3 = cc.encode(v88);
  v33[3] = pt3;
  std::vector<float> v89(1 * 2048);
  for (int64_t v89_i0 = 0; v89_i0 < 1; ++v89_i0) {
    for (int64_t v89_i1 = 0; v89_i1 < 2048; ++v89_i1) {
      v89[v89_i1 + 2048 * (v89_i0)] = v48[0 + v89_i1 * 1 + 2048 * (0 + v89_i0 * 1)];
    }
  }
  const auto pt4 = cc.encode(v89);
  v33[4] = pt4;
  std::vector<float> v90(1 * 2048);
  for (int64_t v90_i0 = 0; v90_i0 < 1; ++v90_i0) {
    for (int64_t v90_i1 = 0; v90_i1 < 2048; ++v90_i1) {
      v90[v90_i1 + 2048 * (v90_i0)] = v52[0 + v90_i1 * 1 + 2048 * (0 + v90_i0 * 1)];
    }
  }
  const auto pt5 = cc.encode(v90);
  v33[5] = pt5;
  std::vector<float> v91(1 * 2048);
  for (int64_t v91_i0 = 0; v91_i0 < 1; ++v91_i0) {
    for (int64_t v91_i1 = 0; v91_i1 < 2048; ++v91_i1) {
      v91[v91_i1 + 2048 * (v91_i0)] = v56[0 + v91_i1 * 1 + 2048 * (0 + v91_i0 * 1)];
    }
  }
  const auto pt6 = cc.encode(v91);
  v33[6] = pt6;
  std::vector<float> v92(1 * 2048);
  for (int64_t v92_i0 = 0; v92_i0 < 1; ++v92_i0) {
    for (int64_t v92_i1 = 0; v92_i1 < 2048; ++v92_i1) {
      v92[v92_i1 + 2048 * (v92_i0)] = v60[0 + v92_i1 * 1 + 2048 * (0 + v92_i0 * 1)];
    }
  }
  const auto pt7 = cc.encode(v92);
  v33[7] = pt7;
  std::vector<float> v93(1 * 2048);
  for (int64_t v93_i0 = 0; v93_i0 < 1; ++v93_i0) {
    for (int64_t v93_i1 = 0; v93_i1 < 2048; ++v93_i1) {
      v93[v93_i1 + 2048 * (v93_i0)] = v64[0 + v93_i1 * 1 + 2048 * (0 + v93_i0 * 1)];
    }
  }
  const auto pt8 = cc.encode(v93);
  v33[8] = pt8;
  std::vector<float> v94(1 * 2048);
  for (int64_t v94_i0 = 0; v94_i0 < 1; ++v94_i0) {
    for (int64_t v94_i1 = 0; v94_i1 < 2048; ++v94_i1) {
      v94[v94_i1 + 2048 * (v94_i0)] = v68[0 + v94_i1 * 1 + 2048 * (0 + v94_i0 * 1)];
    }
  }
  const auto pt9 = cc.encode(v94);
  v33[9] = pt9;
  std::vector<float> v95(1 * 2048);
  for (int64_t v95_i0 = 0; v95_i0 < 1; ++v95_i0) {
    for (int64_t v95_i1 = 0; v95_i1 < 2048; ++v95_i1) {
      v95[v95_i1 + 2048 * (v95_i0)] = v72[0 + v95_i1 * 1 + 2048 * (0 + v95_i0 * 1)];
    }
  }
  const auto pt10 = cc.encode(v95);
  v33[10] = pt10;
  std::vector<float> v96(1 * 2048);
  for (int64_t v96_i0 = 0; v96_i0 < 1; ++v96_i0) {
    for (int64_t v96_i1 = 0; v96_i1 < 2048; ++v96_i1) {
      v96[v96_i1 + 2048 * (v96_i0)] = v76[0 + v96_i1 * 1 + 2048 * (0 + v96_i0 * 1)];
    }
  }
  const auto pt11 = cc.encode(v96);
  v33[11] = pt11;
  std::vector<float> v97(1 * 2048);
  for (int64_t v97_i0 = 0; v97_i0 < 1; ++v97_i0) {
    for (int64_t v97_i1 = 0; v97_i1 < 2048; ++v97_i1) {
      v97[v97_i1 + 2048 * (v97_i0)] = v80[0 + v97_i1 * 1 + 2048 * (0 + v97_i0 * 1)];
    }
  }
  const auto pt12 = cc.encode(v97);
  v33[12] = pt12;
  std::vector<float> v98(1 * 2048);
  for (int64_t v98_i0 = 0; v98_i0 < 1; ++v98_i0) {
    for (int64_t v98_i1 = 0; v98_i1 < 2048; ++v98_i1) {
      v98[v98_i1 + 2048 * (v98_i0)] = v84[0 + v98_i1 * 1 + 2048 * (0 + v98_i0 * 1)];
    }
  }
  const auto pt13 = cc.encode(v98);
  v33[13] = pt13;
  const auto pt14 = cc.encode(v9);
  v33[14] = pt14;
  const auto pt15 = cc.encode(v8);
  v33[15] = pt15;
  const auto pt16 = cc.encode(v7);
  v33[16] = pt16;
  const auto pt17 = cc.encode(v6);
  v33[17] = pt17;
  const auto pt18 = cc.encode(v5);
  v33[18] = pt18;
  const auto pt19 = cc.encode(v4);
  v33[19] = pt19;
  const auto pt20 = cc.encode(v3);
  v33[20] = pt20;
  const auto pt21 = cc.encode(v2);
  v33[21] = pt21;
  const auto pt22 = cc.encode(v1);
  v33[22] = pt22;
  return v33;
}
std::vector<Ciphertext> bicyclic_matmul_pt__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<float> v1, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 13;
  [[maybe_unused]] size_t v5 = 52;
  [[maybe_unused]] size_t v6 = 104;
  [[maybe_unused]] size_t v7 = 156;
  [[maybe_unused]] size_t v8 = 16;
  [[maybe_unused]] size_t v9 = 32;
  [[maybe_unused]] size_t v10 = 128;
  [[maybe_unused]] size_t v11 = 1;
  [[maybe_unused]] size_t v12 = 2;
  [[maybe_unused]] size_t v13 = 3;
  [[maybe_unused]] size_t v14 = 4;
  [[maybe_unused]] size_t v15 = 5;
  [[maybe_unused]] size_t v16 = 6;
  [[maybe_unused]] size_t v17 = 7;
  [[maybe_unused]] size_t v18 = 8;
  [[maybe_unused]] size_t v19 = 9;
  [[maybe_unused]] size_t v20 = 10;
  [[maybe_unused]] size_t v21 = 11;
  [[maybe_unused]] size_t v22 = 12;
  [[maybe_unused]] size_t v23 = 14;
  [[maybe_unused]] size_t v24 = 15;
  [[maybe_unused]] size_t v25 = 17;
  [[maybe_unused]] size_t v26 = 18;
  [[maybe_unused]] size_t v27 = 19;
  [[maybe_unused]] size_t v28 = 20;
  [[maybe_unused]] size_t v29 = 21;
  [[maybe_unused]] size_t v30 = 22;
  const auto& v31 = _assign_layout_5252338511032200702(v1);
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
  Plaintext pt15 = v2[15];
  const auto ct36 = cc.multiply(ct34, pt15);
  const auto ct37 = cc.rotate(ct36, 16);
  const auto ct38 = cc.add(ct35, ct37);
  const auto ct39 = cc.rescale(ct38);
  const auto ct40 = cc.multiply(ct39, pt14);
  Plaintext pt16 = v2[16];
  const auto ct41 = cc.multiply(ct39, pt16);
  const auto ct42 = cc.rotate(ct41, 32);
  const auto ct43 = cc.add(ct40, ct42);
  const auto ct44 = cc.rescale(ct43);
  const auto ct45 = cc.multiply(ct44, pt14);
  Plaintext pt17 = v2[17];
  const auto ct46 = cc.multiply(ct44, pt17);
  const auto ct47 = cc.rotate(ct46, 128);
  const auto ct48 = cc.add(ct45, ct47);
  const auto ct49 = cc.rescale(ct48);
  Plaintext pt18 = v2[18];
  const auto ct50 = cc.multiply(ct49, pt18);
  Plaintext pt19 = v2[19];
  const auto ct51 = cc.multiply(ct34, pt19);
  const auto ct52 = cc.rotate(ct51, 16);
  const auto ct53 = cc.add(ct51, ct52);
  const auto ct54 = cc.rescale(ct53);
  const auto ct55 = cc.multiply(ct54, pt19);
  Plaintext pt20 = v2[20];
  const auto ct56 = cc.multiply(ct54, pt20);
  const auto ct57 = cc.rotate(ct56, 32);
  const auto ct58 = cc.add(ct55, ct57);
  const auto ct59 = cc.rescale(ct58);
  const auto ct60 = cc.multiply(ct59, pt19);
  Plaintext pt21 = v2[21];
  const auto ct61 = cc.multiply(ct59, pt21);
  const auto ct62 = cc.rotate(ct61, 128);
  const auto ct63 = cc.add(ct60, ct62);
  const auto ct64 = cc.rescale(ct63);
  Plaintext pt22 = v2[22];
  const auto ct65 = cc.multiply(ct64, pt22);
  const auto ct66 = cc.add(ct50, ct65);
  std::vector<Ciphertext> v32(1);
  const auto ct67 = cc.rescale(ct66);
  v32[0] = ct67;
  return v32;
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
  params.depth = 5;
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
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {13, 16, 26, 32, 39, 52, 104, 128, 156}});
  return cc1;
}
