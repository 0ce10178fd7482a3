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
std::vector<float> _assign_layout_8357593527693645335(std::vector<float> v0) {
  [[maybe_unused]] int32_t v1 = 10;
  [[maybe_unused]] int32_t v2 = 1;
  [[maybe_unused]] int32_t v3 = 0;
  std::vector<float> v4(4096, 0);
  [[maybe_unused]] int32_t v5 = 16;
  [[maybe_unused]] size_t v6 = 0;
  [[maybe_unused]] int32_t v7 = 4096;
  std::vector<float> v8 = std::move(v4);
  for (auto v9 = 0; v9 < 10; v9 += 1) {
    std::vector<float> v11 = std::move(v8);
    for (auto v12 = v9; v12 < 4096; v12 += 16) {
      size_t v14 = static_cast<size_t>(v9);
      float v15 = v0[v14];
      size_t v16 = static_cast<size_t>(v12);
      v11[v16 + 4096 * (0)] = v15;
    }
    v8 = std::move(v11);
  }
  return v8;
}
std::vector<float> _assign_layout_10224394951510053541(std::vector<float> v0) {
  [[maybe_unused]] int32_t v1 = 10;
  [[maybe_unused]] int32_t v2 = 1;
  [[maybe_unused]] int32_t v3 = 0;
  std::vector<float> v4(65536, 0);
  [[maybe_unused]] int32_t v5 = 511;
  [[maybe_unused]] int32_t v6 = 16;
  [[maybe_unused]] int32_t v7 = 15;
  [[maybe_unused]] int32_t v8 = 512;
  [[maybe_unused]] int32_t v9 = 4096;
  std::vector<float> v10 = std::move(v4);
  for (auto v11 = 0; v11 < 10; v11 += 1) {
    std::vector<float> v13 = std::move(v10);
    for (auto v14 = 0; v14 < 512; v14 += 1) {
      std::vector<float> v16 = std::move(v13);
      for (auto v17 = v11; v17 < 4096; v17 += 16) {
        int32_t v19 = v11 - v14;
        int32_t v20 = v19 + v5;
        int32_t v21 = (v20 / v6) - ((v20 % v6 != 0) && ((v20 < 0) != (v6 < 0)));
        int32_t v22 = v21 * v6;
        int32_t v23 = v20 - v22;
        int32_t v24 = v23 + v14;
        int32_t v25 = v24 - v17;
        int32_t v26 = v25 - v7;
        int32_t v27 = v26 % v8;
        bool v28 = v27 == v3;
        std::vector<float> v29;
        if (v28) {
          int32_t v30 = v14 - v17;
          int32_t v31 = v30 + v9;
          int32_t v32 = (v31 / v8) - ((v31 % v8 != 0) && ((v31 < 0) != (v8 < 0)));
          int32_t v33 = v32 * v8;
          int32_t v34 = v31 - v33;
          size_t v35 = static_cast<size_t>(v11);
          size_t v36 = static_cast<size_t>(v14);
          float v37 = v0[v36 + 512 * (v35)];
          size_t v38 = static_cast<size_t>(v34);
          size_t v39 = static_cast<size_t>(v17);
          v16[v39 + 4096 * (v38)] = v37;
          v29 = std::move(v16);
        } else {
          v29 = std::move(v16);
        }
        v16 = std::move(v29);
      }
      v13 = std::move(v16);
    }
    v10 = std::move(v13);
  }
  return v10;
}
std::vector<float> _assign_layout_4709308426333885840(std::vector<float> v0) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<float> v3(4096, 0);
  [[maybe_unused]] int32_t v4 = 512;
  [[maybe_unused]] size_t v5 = 0;
  [[maybe_unused]] int32_t v6 = 4096;
  std::vector<float> v7 = std::move(v3);
  for (auto v8 = 0; v8 < 512; v8 += 1) {
    std::vector<float> v10 = std::move(v7);
    for (auto v11 = v8; v11 < 4096; v11 += 512) {
      size_t v13 = static_cast<size_t>(v8);
      float v14 = v0[v13];
      size_t v15 = static_cast<size_t>(v11);
      v10[v15 + 4096 * (0)] = v14;
    }
    v7 = std::move(v10);
  }
  return v7;
}
std::vector<float> _assign_layout_10608978743482392273(std::vector<float> v0) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 511;
  [[maybe_unused]] int32_t v3 = 0;
  std::vector<float> v4(2097152, 0);
  [[maybe_unused]] int32_t v5 = 512;
  [[maybe_unused]] int32_t v6 = 1023;
  [[maybe_unused]] int32_t v7 = 1024;
  [[maybe_unused]] int32_t v8 = 4096;
  [[maybe_unused]] int32_t v9 = 784;
  std::vector<float> v10 = std::move(v4);
  for (auto v11 = 0; v11 < 512; v11 += 1) {
    std::vector<float> v13 = std::move(v10);
    for (auto v14 = 0; v14 < 784; v14 += 1) {
      std::vector<float> v16 = std::move(v13);
      for (auto v17 = v11; v17 < 4096; v17 += 512) {
        int32_t v19 = v11 - v14;
        int32_t v20 = v19 + v6;
        int32_t v21 = (v20 / v5) - ((v20 % v5 != 0) && ((v20 < 0) != (v5 < 0)));
        int32_t v22 = v21 * v5;
        int32_t v23 = v20 - v22;
        int32_t v24 = v23 + v14;
        int32_t v25 = v24 - v17;
        int32_t v26 = v25 - v2;
        int32_t v27 = v26 % v7;
        bool v28 = v27 == v3;
        std::vector<float> v29;
        if (v28) {
          int32_t v30 = v14 - v17;
          int32_t v31 = v30 + v8;
          int32_t v32 = (v31 / v7) - ((v31 % v7 != 0) && ((v31 < 0) != (v7 < 0)));
          int32_t v33 = v32 * v7;
          int32_t v34 = v31 - v33;
          size_t v35 = static_cast<size_t>(v11);
          size_t v36 = static_cast<size_t>(v14);
          float v37 = v0[v36 + 784 * (v35)];
          size_t v38 = static_cast<size_t>(v34);
          size_t v39 = static_cast<size_t>(v17);
          v16[v39 + 4096 * (v38)] = v37;
          v29 = std::move(v16);
        } else {
          v29 = std::move(v16);
        }
        v16 = std::move(v29);
      }
      v13 = std::move(v16);
    }
    v10 = std::move(v13);
  }
  return v10;
}
std::vector<Plaintext> mnist__preprocessing(CryptoContext cc, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3) {
  [[maybe_unused]] size_t v4 = 4096;
  [[maybe_unused]] size_t v5 = -4;
  [[maybe_unused]] size_t v6 = -23;
  [[maybe_unused]] size_t v7 = 16;
  [[maybe_unused]] size_t v8 = 4;
  [[maybe_unused]] size_t v9 = 512;
  [[maybe_unused]] size_t v10 = 1;
  [[maybe_unused]] size_t v11 = 23;
  std::vector<float> v12(4096, 0);
  std::vector<float> v13(4096, 0.0500000007);
  [[maybe_unused]] size_t v14 = 0;
  [[maybe_unused]] size_t v15 = 22;
  [[maybe_unused]] size_t v16 = 552;
  [[maybe_unused]] size_t v17 = 553;
  [[maybe_unused]] size_t v18 = 554;
  [[maybe_unused]] size_t v19 = 3;
  [[maybe_unused]] size_t v20 = 573;
  [[maybe_unused]] size_t v21 = 45;
  [[maybe_unused]] size_t v22 = 67;
  [[maybe_unused]] size_t v23 = 557;
  [[maybe_unused]] size_t v24 = 560;
  [[maybe_unused]] size_t v25 = 563;
  std::vector<Plaintext> v26(574);
  const auto& v27 = _assign_layout_10608978743482392273(v3);
  const auto& v28 = _assign_layout_4709308426333885840(v2);
  const auto& v29 = _assign_layout_10224394951510053541(v1);
  const auto& v30 = _assign_layout_8357593527693645335(v0);
  std::vector<float> v31(1 * 4096);
  for (int64_t v31_i0 = 0; v31_i0 < 1; ++v31_i0) {
    for (int64_t v31_i1 = 0; v31_i1 < 4096; ++v31_i1) {
      v31[v31_i1 + 4096 * (v31_i0)] = v27[0 + v31_i1 * 1 + 4096 * (0 + v31_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v31);
  v26[0] = pt;
  const auto pt1 = cc.encode(v12);
  v26[1] = pt1;
  for (auto v32 = 1; v32 < 23; v32 += 1) {
    bool v33 = v32 < v9;
    if (v33) {
      std::vector<float> v34(1 * 4096);
      for (int64_t v34_i0 = 0; v34_i0 < 1; ++v34_i0) {
        for (int64_t v34_i1 = 0; v34_i1 < 4096; ++v34_i1) {
          v34[v34_i1 + 4096 * (v34_i0)] = v27[0 + v34_i1 * 1 + 4096 * (v32 + v34_i0 * 1)];
        }
      }
      const auto pt2 = cc.encode(v34);
      size_t v35 = v32 + v10;
      v26[v35] = pt2;
    }
  }
  for (auto v36 = 1; v36 < 23; v36 += 1) {
    size_t v37 = v36 * v11;
    bool v38 = v37 < v9;
    if (v38) {
      std::vector<float> v39(1 * 4096);
      for (int64_t v39_i0 = 0; v39_i0 < 1; ++v39_i0) {
        for (int64_t v39_i1 = 0; v39_i1 < 4096; ++v39_i1) {
          v39[v39_i1 + 4096 * (v39_i0)] = v27[0 + v39_i1 * 1 + 4096 * (v37 + v39_i0 * 1)];
        }
      }
      size_t v40 = v36 * v6;
      size_t v41 = v40 % v4;
      size_t v42 = v41 + v4;
      size_t v43 = v42 % v4;
      size_t v44 = v4 - v43;
      std::vector<float> v45(1 * v43);
      for (int64_t v45_i0 = 0; v45_i0 < 1; ++v45_i0) {
        for (int64_t v45_i1 = 0; v45_i1 < v43; ++v45_i1) {
          v45[v45_i1 + v43 * (v45_i0)] = v27[0 + v45_i1 * 1 + 4096 * (v37 + v45_i0 * 1)];
        }
      }
      std::vector<float> v46(1 * v44);
      for (int64_t v46_i0 = 0; v46_i0 < 1; ++v46_i0) {
        for (int64_t v46_i1 = 0; v46_i1 < v44; ++v46_i1) {
          v46[v46_i1 + v44 * (v46_i0)] = v27[v43 + v46_i1 * 1 + 4096 * (v37 + v46_i0 * 1)];
        }
      }
      std::vector<float> v47(v39);
      int64_t v45_0 = 0;
      for (int64_t v39_0 = 0; v39_0 < 0 + 1 * 1; v39_0 += 1) {
        int64_t v45_1 = 0;
        for (int64_t v39_1 = v44; v39_1 < v44 + v43 * 1; v39_1 += 1) {
          v47[v39_1 + 4096 * (v39_0)] = v45[v45_1 + v43 * (v45_0)];
          v45_1 += 1;
        }
        v45_0 += 1;
      }
      std::vector<float> v48(v47);
      int64_t v46_0 = 0;
      for (int64_t v47_0 = 0; v47_0 < 0 + 1 * 1; v47_0 += 1) {
        int64_t v46_1 = 0;
        for (int64_t v47_1 = 0; v47_1 < 0 + v44 * 1; v47_1 += 1) {
          v48[v47_1 + 4096 * (v47_0)] = v46[v46_1 + v44 * (v46_0)];
          v46_1 += 1;
        }
        v46_0 += 1;
      }
      std::vector<float> v49(1 * 4096);
      for (int64_t v49_i0 = 0; v49_i0 < 1; ++v49_i0) {
        for (int64_t v49_i1 = 0; v49_i1 < 4096; ++v49_i1) {
          v49[v49_i1 + 4096 * (v49_i0)] = v48[0 + v49_i1 * 1 + 4096 * (0 + v49_i0 * 1)];
        }
      }
      const auto pt3 = cc.encode(v49);
      size_t v50 = v36 + v11;
      v26[v50] = pt3;
    } else {
      size_t v51 = v36 + v21;
      v26[v51] = pt1;
    }
    for (auto v52 = 1; v52 < 23; v52 += 1) {
      size_t v53 = v52 + v37;
      bool v54 = v53 < v9;
      if (v54) {
        std::vector<float> v55(1 * 4096);
        for (int64_t v55_i0 = 0; v55_i0 < 1; ++v55_i0) {
          for (int64_t v55_i1 = 0; v55_i1 < 4096; ++v55_i1) {
            v55[v55_i1 + 4096 * (v55_i0)] = v27[0 + v55_i1 * 1 + 4096 * (v53 + v55_i0 * 1)];
          }
        }
        size_t v56 = v36 * v6;
        size_t v57 = v56 % v4;
        size_t v58 = v57 + v4;
        size_t v59 = v58 % v4;
        size_t v60 = v4 - v59;
        std::vector<float> v61(1 * v59);
        for (int64_t v61_i0 = 0; v61_i0 < 1; ++v61_i0) {
          for (int64_t v61_i1 = 0; v61_i1 < v59; ++v61_i1) {
            v61[v61_i1 + v59 * (v61_i0)] = v27[0 + v61_i1 * 1 + 4096 * (v53 + v61_i0 * 1)];
          }
        }
        std::vector<float> v62(1 * v60);
        for (int64_t v62_i0 = 0; v62_i0 < 1; ++v62_i0) {
          for (int64_t v62_i1 = 0; v62_i1 < v60; ++v62_i1) {
            v62[v62_i1 + v60 * (v62_i0)] = v27[v59 + v62_i1 * 1 + 4096 * (v53 + v62_i0 * 1)];
          }
        }
        std::vector<float> v63(v55);
        int64_t v61_0 = 0;
        for (int64_t v55_0 = 0; v55_0 < 0 + 1 * 1; v55_0 += 1) {
          int64_t v61_1 = 0;
          for (int64_t v55_1 = v60; v55_1 < v60 + v59 * 1; v55_1 += 1) {
            v63[v55_1 + 4096 * (v55_0)] = v61[v61_1 + v59 * (v61_0)];
            v61_1 += 1;
          }
          v61_0 += 1;
        }
        std::vector<float> v64(v63);
        int64_t v62_0 = 0;
        for (int64_t v63_0 = 0; v63_0 < 0 + 1 * 1; v63_0 += 1) {
          int64_t v62_1 = 0;
          for (int64_t v63_1 = 0; v63_1 < 0 + v60 * 1; v63_1 += 1) {
            v64[v63_1 + 4096 * (v63_0)] = v62[v62_1 + v60 * (v62_0)];
            v62_1 += 1;
          }
          v62_0 += 1;
        }
        std::vector<float> v65(1 * 4096);
        for (int64_t v65_i0 = 0; v65_i0 < 1; ++v65_i0) {
          for (int64_t v65_i1 = 0; v65_i1 < 4096; ++v65_i1) {
            v65[v65_i1 + 4096 * (v65_i0)] = v64[0 + v65_i1 * 1 + 4096 * (0 + v65_i0 * 1)];
          }
        }
        const auto pt4 = cc.encode(v65);
        size_t v66 = v52 + v22;
        size_t v67 = v36 - v10;
        size_t v68 = v67 * v15;
        size_t v69 = v66 + v68;
        v26[v69] = pt4;
      }
    }
  }
  std::vector<float> v70(1 * 4096);
  for (int64_t v70_i0 = 0; v70_i0 < 1; ++v70_i0) {
    for (int64_t v70_i1 = 0; v70_i1 < 4096; ++v70_i1) {
      v70[v70_i1 + 4096 * (v70_i0)] = v28[0 + v70_i1 * 1 + 4096 * (0 + v70_i0 * 1)];
    }
  }
  const auto pt5 = cc.encode(v70);
  v26[552] = pt5;
  const auto pt6 = cc.encode(v13);
  v26[553] = pt6;
  std::vector<float> v71(1 * 4096);
  for (int64_t v71_i0 = 0; v71_i0 < 1; ++v71_i0) {
    for (int64_t v71_i1 = 0; v71_i1 < 4096; ++v71_i1) {
      v71[v71_i1 + 4096 * (v71_i0)] = v29[0 + v71_i1 * 1 + 4096 * (0 + v71_i0 * 1)];
    }
  }
  const auto pt7 = cc.encode(v71);
  v26[554] = pt7;
  for (auto v72 = 1; v72 < 4; v72 += 1) {
    bool v73 = v72 < v7;
    if (v73) {
      std::vector<float> v74(1 * 4096);
      for (int64_t v74_i0 = 0; v74_i0 < 1; ++v74_i0) {
        for (int64_t v74_i1 = 0; v74_i1 < 4096; ++v74_i1) {
          v74[v74_i1 + 4096 * (v74_i0)] = v29[0 + v74_i1 * 1 + 4096 * (v72 + v74_i0 * 1)];
        }
      }
      const auto pt8 = cc.encode(v74);
      size_t v75 = v72 + v18;
      v26[v75] = pt8;
    }
  }
  for (auto v76 = 1; v76 < 4; v76 += 1) {
    size_t v77 = v76 * v8;
    bool v78 = v77 < v7;
    if (v78) {
      std::vector<float> v79(1 * 4096);
      for (int64_t v79_i0 = 0; v79_i0 < 1; ++v79_i0) {
        for (int64_t v79_i1 = 0; v79_i1 < 4096; ++v79_i1) {
          v79[v79_i1 + 4096 * (v79_i0)] = v29[0 + v79_i1 * 1 + 4096 * (v77 + v79_i0 * 1)];
        }
      }
      size_t v80 = v76 * v5;
      size_t v81 = v80 % v4;
      size_t v82 = v81 + v4;
      size_t v83 = v82 % v4;
      size_t v84 = v4 - v83;
      std::vector<float> v85(1 * v83);
      for (int64_t v85_i0 = 0; v85_i0 < 1; ++v85_i0) {
        for (int64_t v85_i1 = 0; v85_i1 < v83; ++v85_i1) {
          v85[v85_i1 + v83 * (v85_i0)] = v29[0 + v85_i1 * 1 + 4096 * (v77 + v85_i0 * 1)];
        }
      }
      std::vector<float> v86(1 * v84);
      for (int64_t v86_i0 = 0; v86_i0 < 1; ++v86_i0) {
        for (int64_t v86_i1 = 0; v86_i1 < v84; ++v86_i1) {
          v86[v86_i1 + v84 * (v86_i0)] = v29[v83 + v86_i1 * 1 + 4096 * (v77 + v86_i0 * 1)];
        }
      }
      std::vector<float> v87(v79);
      int64_t v85_0 = 0;
      for (int64_t v79_0 = 0; v79_0 < 0 + 1 * 1; v79_0 += 1) {
        int64_t v85_1 = 0;
        for (int64_t v79_1 = v84; v79_1 < v84 + v83 * 1; v79_1 += 1) {
          v87[v79_1 + 4096 * (v79_0)] = v85[v85_1 + v83 * (v85_0)];
          v85_1 += 1;
        }
        v85_0 += 1;
      }
      std::vector<float> v88(v87);
      int64_t v86_0 = 0;
      for (int64_t v87_0 = 0; v87_0 < 0 + 1 * 1; v87_0 += 1) {
        int64_t v86_1 = 0;
        for (int64_t v87_1 = 0; v87_1 < 0 + v84 * 1; v87_1 += 1) {
          v88[v87_1 + 4096 * (v87_0)] = v86[v86_1 + v84 * (v86_0)];
          v86_1 += 1;
        }
        v86_0 += 1;
      }
      std::vector<float> v89(1 * 4096);
      for (int64_t v89_i0 = 0; v89_i0 < 1; ++v89_i0) {
        for (int64_t v89_i1 = 0; v89_i1 < 4096; ++v89_i1) {
          v89[v89_i1 + 4096 * (v89_i0)] = v88[0 + v89_i1 * 1 + 4096 * (0 + v89_i0 * 1)];
        }
      }
      const auto pt9 = cc.encode(v89);
      size_t v90 = v76 + v23;
      v26[v90] = pt9;
    } else {
      size_t v91 = v76 + v24;
      v26[v91] = pt1;
    }
    for (auto v92 = 1; v92 < 4; v92 += 1) {
      size_t v93 = v92 + v77;
      bool v94 = v93 < v7;
      if (v94) {
        std::vector<float> v95(1 * 4096);
        for (int64_t v95_i0 = 0; v95_i0 < 1; ++v95_i0) {
          for (int64_t v95_i1 = 0; v95_i1 < 4096; ++v95_i1) {
            v95[v95_i1 + 4096 * (v95_i0)] = v29[0 + v95_i1 * 1 + 4096 * (v93 + v95_i0 * 1)];
          }
        }
        size_t v96 = v76 * v5;
        size_t v97 = v96 % v4;
        size_t v98 = v97 + v4;
        size_t v99 = v98 % v4;
        size_t v100 = v4 - v99;
        std::vector<float> v101(1 * v99);
        for (int64_t v101_i0 = 0; v101_i0 < 1; ++v101_i0) {
          for (int64_t v101_i1 = 0; v101_i1 < v99; ++v101_i1) {
            v101[v101_i1 + v99 * (v101_i0)] = v29[0 + v101_i1 * 1 + 4096 * (v93 + v101_i0 * 1)];
          }
        }
        std::vector<float> v102(1 * v100);
        for (int64_t v102_i0 = 0; v102_i0 < 1; ++v102_i0) {
          for (int64_t v102_i1 = 0; v102_i1 < v100; ++v102_i1) {
            v102[v102_i1 + v100 * (v102_i0)] = v29[v99 + v102_i1 * 1 + 4096 * (v93 + v102_i0 * 1)];
          }
        }
        std::vector<float> v103(v95);
        int64_t v101_0 = 0;
        for (int64_t v95_0 = 0; v95_0 < 0 + 1 * 1; v95_0 += 1) {
          int64_t v101_1 = 0;
          for (int64_t v95_1 = v100; v95_1 < v100 + v99 * 1; v95_1 += 1) {
            v103[v95_1 + 4096 * (v95_0)] = v101[v101_1 + v99 * (v101_0)];
            v101_1 += 1;
          }
          v101_0 += 1;
        }
        std::vector<float> v104(v103);
        int64_t v102_0 = 0;
        for (int64_t v103_0 = 0; v103_0 < 0 + 1 * 1; v103_0 += 1) {
          int64_t v102_1 = 0;
          for (int64_t v103_1 = 0; v103_1 < 0 + v100 * 1; v103_1 += 1) {
            v104[v103_1 + 4096 * (v103_0)] = v102[v102_1 + v100 * (v102_0)];
            v102_1 += 1;
          }
          v102_0 += 1;
        }
        std::vector<float> v105(1 * 4096);
        for (int64_t v105_i0 = 0; v105_i0 < 1; ++v105_i0) {
          for (int64_t v105_i1 = 0; v105_i1 < 4096; ++v105_i1) {
            v105[v105_i1 + 4096 * (v105_i0)] = v104[0 + v105_i1 * 1 + 4096 * (0 + v105_i0 * 1)];
          }
        }
        const auto pt10 = cc.encode(v105);
        size_t v106 = v92 + v25;
        size_t v107 = v76 - v10;
        size_t v108 = v107 * v19;
        size_t v109 = v106 + v108;
        v26[v109] = pt10;
      }
    }
  }
  std::vector<float> v110(1 * 4096);
  for (int64_t v110_i0 = 0; v110_i0 < 1; ++v110_i0) {
    for (int64_t v110_i1 = 0; v110_i1 < 4096; ++v110_i1) {
      v110[v110_i1 + 4096 * (v110_i0)] = v30[0 + v110_i1 * 1 + 4096 * (0 + v110_i0 * 1)];
    }
  }
  const auto pt11 = cc.encode(v110);
  v26[573] = pt11;
  return v26;
}
std::vector<Ciphertext> mnist__preprocessed(CryptoContext cc, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3, std::vector<Ciphertext> v4, Ciphertext ct, Ciphertext ct1, const std::vector<Plaintext>& v5) {
  [[maybe_unused]] size_t v6 = 0;
  [[maybe_unused]] size_t v7 = 23;
  [[maybe_unused]] size_t v8 = 1;
  [[maybe_unused]] size_t v9 = 512;
  [[maybe_unused]] size_t v10 = 2;
  [[maybe_unused]] size_t v11 = 4;
  [[maybe_unused]] size_t v12 = 16;
  [[maybe_unused]] size_t v13 = 256;
  [[maybe_unused]] size_t v14 = 5;
  [[maybe_unused]] size_t v15 = 22;
  [[maybe_unused]] size_t v16 = 552;
  [[maybe_unused]] size_t v17 = 553;
  [[maybe_unused]] size_t v18 = 554;
  [[maybe_unused]] size_t v19 = 3;
  [[maybe_unused]] size_t v20 = 573;
  [[maybe_unused]] size_t v21 = 45;
  [[maybe_unused]] size_t v22 = 67;
  [[maybe_unused]] size_t v23 = 557;
  [[maybe_unused]] size_t v24 = 560;
  [[maybe_unused]] size_t v25 = 563;
  const auto& v26 = _assign_layout_10608978743482392273(v0);
  const auto& v27 = _assign_layout_4709308426333885840(v1);
  const auto& v28 = _assign_layout_10224394951510053541(v2);
  const auto& v29 = _assign_layout_8357593527693645335(v3);
  std::vector<Ciphertext> v30(23);
  std::vector<Ciphertext> v31(v30);
  std::copy(v4.begin(), v4.end(), v31.begin() + 0);
  std::vector<Ciphertext> v32 = std::move(v31);
  for (auto v33 = 1; v33 < 23; v33 += 1) {
    std::vector<Ciphertext> v35(1);
    Ciphertext ct2 = v4[0];
    const auto ct3 = cc.rotate(ct2, v33);
    v35[0] = ct3;
    std::vector<Ciphertext> v37(v32);
    std::copy(v35.begin(), v35.end(), v37.begin() + v33);
    v32 = std::move(v37);
  }
  Plaintext pt = v5[0];
  Ciphertext ct4 = v32[0];
  const auto ct5 = cc.multiply(ct4, pt);
  const auto ct6 = cc.rescale(ct5);
  Plaintext pt1 = v5[1];
  std::vector<Ciphertext> v38(1);
  const auto ct7 = cc.add(ct6, pt1);
  auto v39 = v38;
  v39[0] = ct7;
  std::vector<Ciphertext> v40 = std::move(v39);
  for (auto v41 = 1; v41 < 23; v41 += 1) {
    bool v43 = v41 < v9;
    std::vector<Ciphertext> v44;
    if (v43) {
      size_t v45 = v41 + v8;
      Plaintext pt2 = v5[v45];
      Ciphertext ct8 = v32[v41];
      const auto ct9 = cc.multiply(ct8, pt2);
      const auto ct10 = cc.rescale(ct9);
      Ciphertext ct11 = v40[0];
      const auto ct12 = cc.add(ct11, ct10);
      auto v46 = v38;
      v46[0] = ct12;
      v44 = std::move(v46);
    } else {
      v44 = std::move(v40);
    }
    v40 = std::move(v44);
  }
  Ciphertext ct13 = v40[0];
  const auto ct14 = cc.add(ct13, pt1);
  auto v47 = v38;
  v47[0] = ct14;
  std::vector<Ciphertext> v48 = std::move(v47);
  for (auto v49 = 1; v49 < 23; v49 += 1) {
    size_t v51 = v49 * v7;
    bool v52 = v51 < v9;
    std::vector<Ciphertext> v53;
    if (v52) {
      size_t v54 = v49 + v7;
      Plaintext pt3 = v5[v54];
      const auto ct15 = cc.multiply(ct4, pt3);
      const auto ct16 = cc.rescale(ct15);
      const auto ct17 = cc.add(ct16, pt1);
      auto v55 = v38;
      v55[0] = ct17;
      v53 = std::move(v55);
    } else {
      size_t v56 = v49 + v21;
      Plaintext pt4 = v5[v56];
      std::vector<Ciphertext> v57(1, ct);
      Ciphertext ct18 = v57[0];
      const auto ct19 = cc.add(ct18, pt4);
      auto v58 = v38;
      v58[0] = ct19;
      v53 = std::move(v58);
    }
    std::vector<Ciphertext> v59 = std::move(v53);
    for (auto v60 = 1; v60 < 23; v60 += 1) {
      size_t v62 = v60 + v51;
      bool v63 = v62 < v9;
      std::vector<Ciphertext> v64;
      if (v63) {
        size_t v65 = v60 + v22;
        size_t v66 = v49 - v8;
        size_t v67 = v66 * v15;
        size_t v68 = v65 + v67;
        Plaintext pt5 = v5[v68];
        Ciphertext ct20 = v32[v60];
        const auto ct21 = cc.multiply(ct20, pt5);
        const auto ct22 = cc.rescale(ct21);
        Ciphertext ct23 = v59[0];
        const auto ct24 = cc.add(ct23, ct22);
        auto v69 = v38;
        v69[0] = ct24;
        v64 = std::move(v69);
      } else {
        v64 = std::move(v59);
      }
      v59 = std::move(v64);
    }
    Ciphertext ct25 = v59[0];
    const auto ct26 = cc.rotate(ct25, v51);
    Ciphertext ct27 = v48[0];
    const auto ct28 = cc.add(ct27, ct26);
    auto v70 = v38;
    v70[0] = ct28;
    v48 = std::move(v70);
  }
  Ciphertext ct29 = v48[0];
  const auto ct30 = cc.rotate(ct29, 512);
  Plaintext pt6 = v5[552];
  const auto ct31 = cc.add(ct29, pt6);
  const auto ct32 = cc.add(ct31, ct30);
  Plaintext pt7 = v5[553];
  const auto ct33 = cc.multiply(ct32, pt7);
  const auto ct34 = cc.rescale(ct33);
  const auto ct35 = cc.chebyshev(ct34, {6.3393991028159498, 10, 4.3075053667521672, -8.1728713370568291E-16, -1.2656936164678267, -5.7991334850882538E-16});
  auto v71 = v38;
  v71[0] = ct35;
  std::vector<Ciphertext> v72(4);
  std::vector<Ciphertext> v73(v72);
  std::copy(v71.begin(), v71.end(), v73.begin() + 0);
  std::vector<Ciphertext> v74 = std::move(v73);
  for (auto v75 = 1; v75 < 4; v75 += 1) {
    const auto ct36 = cc.rotate(ct35, v75);
    auto v77 = v38;
    v77[0] = ct36;
    std::vector<Ciphertext> v78(v74);
    std::copy(v77.begin(), v77.end(), v78.begin() + v75);
    v74 = std::move(v78);
  }
  Plaintext pt8 = v5[554];
  Ciphertext ct37 = v74[0];
  const auto ct38 = cc.multiply(ct37, pt8);
  const auto ct39 = cc.rescale(ct38);
  const auto ct40 = cc.add(ct39, pt1);
  auto v79 = v38;
  v79[0] = ct40;
  std::vector<Ciphertext> v80 = std::move(v79);
  for (auto v81 = 1; v81 < 4; v81 += 1) {
    bool v83 = v81 < v12;
    std::vector<Ciphertext> v84;
    if (v83) {
      size_t v85 = v81 + v18;
      Plaintext pt9 = v5[v85];
      Ciphertext ct41 = v74[v81];
      const auto ct42 = cc.multiply(ct41, pt9);
      const auto ct43 = cc.rescale(ct42);
      Ciphertext ct44 = v80[0];
      const auto ct45 = cc.add(ct44, ct43);
      auto v86 = v38;
      v86[0] = ct45;
      v84 = std::move(v86);
    } else {
      v84 = std::move(v80);
    }
    v80 = std::move(v84);
  }
  Ciphertext ct46 = v80[0];
  const auto ct47 = cc.add(ct46, pt1);
  auto v87 = v38;
  v87[0] = ct47;
  std::vector<Ciphertext> v88 = std::move(v87);
  for (auto v89 = 1; v89 < 4; v89 += 1) {
    size_t v91 = v89 * v11;
    bool v92 = v91 < v12;
    std::vector<Ciphertext> v93;
    if (v92) {
      size_t v94 = v89 + v23;
      Plaintext pt10 = v5[v94];
      const auto ct48 = cc.multiply(ct37, pt10);
      const auto ct49 = cc.rescale(ct48);
      const auto ct50 = cc.add(ct49, pt1);
      auto v95 = v38;
      v95[0] = ct50;
      v93 = std::move(v95);
    } else {
      size_t v96 = v89 + v24;
      Plaintext pt11 = v5[v96];
      std::vector<Ciphertext> v97(1, ct1);
      Ciphertext ct51 = v97[0];
      const auto ct52 = cc.add(ct51, pt11);
      auto v98 = v38;
      v98[0] = ct52;
      v93 = std::move(v98);
    }
    std::vector<Ciphertext> v99 = std::move(v93);
    for (auto v100 = 1; v100 < 4; v100 += 1) {
      size_t v102 = v100 + v91;
      bool v103 = v102 < v12;
      std::vector<Ciphertext> v104;
      if (v103) {
        size_t v105 = v100 + v25;
        size_t v106 = v89 - v8;
        size_t v107 = v106 * v19;
        size_t v108 = v105 + v107;
        Plaintext pt12 = v5[v108];
        Ciphertext ct53 = v74[v100];
        const auto ct54 = cc.multiply(ct53, pt12);
        const auto ct55 = cc.rescale(ct54);
        Ciphertext ct56 = v99[0];
        const auto ct57 = cc.add(ct56, ct55);
        auto v109 = v38;
        v109[0] = ct57;
        v104 = std::move(v109);
      } else {
        v104 = std::move(v99);
      }
      v99 = std::move(v104);
    }
    Ciphertext ct58 = v99[0];
    const auto ct59 = cc.rotate(ct58, v91);
    Ciphertext ct60 = v88[0];
    const auto ct61 = cc.add(ct60, ct59);
    auto v110 = v38;
    v110[0] = ct61;
    v88 = std::move(v110);
  }
  std::vector<Ciphertext> v111 = std::move(v88);
  size_t v112 = v13;
  for (auto v113 = 0; v113 < 5; v113 += 1) {
    Ciphertext ct62 = v111[0];
    const auto ct63 = cc.rotate(ct62, v112);
    const auto ct64 = cc.add(ct62, ct63);
    auto v116 = v38;
    v116[0] = ct64;
    size_t v117 = v112 / v10;
    v111 = std::move(v116);
    v112 = v117;
  }
  Plaintext pt13 = v5[573];
  Ciphertext ct65 = v111[0];
  const auto ct66 = cc.add(ct65, pt13);
  auto v118 = v38;
  v118[0] = ct66;
  return v118;
}
std::vector<Ciphertext> mnist(CryptoContext cc, std::vector<float> v0, std::vector<float> v1, std::vector<float> v2, std::vector<float> v3, std::vector<Ciphertext> v4, Ciphertext ct, Ciphertext ct1) {
  const auto& v5 = mnist__preprocessing(cc, v3, v2, v1, v0);
  const auto& v6 = mnist__preprocessed(cc, v0, v1, v2, v3, v4, ct, ct1, v5);
  return v6;
}
Ciphertext mnist__encrypt__zero__1(CryptoContext cc, PublicKey pk) {
  std::vector<double> v0(4096, 0);
  const auto pt = cc.encode(v0);
  const auto ct = cc.encrypt(pt, pk);
  return ct;
}
Ciphertext mnist__encrypt__zero__0(CryptoContext cc, PublicKey pk) {
  std::vector<double> v0(4096, 0);
  const auto pt = cc.encode(v0);
  const auto ct = cc.encrypt(pt, pk);
  return ct;
}
std::vector<Ciphertext> mnist__encrypt__arg4(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 784;
  [[maybe_unused]] int32_t v2 = 1;
  [[maybe_unused]] int32_t v3 = 0;
  std::vector<float> v4(4096, 0);
  [[maybe_unused]] int32_t v5 = 1024;
  [[maybe_unused]] int32_t v6 = 4096;
  [[maybe_unused]] size_t v7 = 0;
  std::vector<float> v8 = std::move(v4);
  for (auto v9 = 0; v9 < 784; v9 += 1) {
    std::vector<float> v11 = std::move(v8);
    for (auto v12 = v9; v12 < 4096; v12 += 1024) {
      size_t v14 = static_cast<size_t>(v9);
      float v15 = v0[v14 + 784 * (0)];
      size_t v16 = static_cast<size_t>(v12);
      v11[v16 + 4096 * (0)] = v15;
    }
    v8 = std::move(v11);
  }
  std::vector<float> v18(1 * 4096);
  for (int64_t v18_i0 = 0; v18_i0 < 1; ++v18_i0) {
    for (int64_t v18_i1 = 0; v18_i1 < 4096; ++v18_i1) {
      v18[v18_i1 + 4096 * (v18_i0)] = v8[0 + v18_i1 * 1 + 4096 * (0 + v18_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v18);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v19 = {ct};
  return v19;
}
std::vector<float> mnist__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] int32_t v1 = 4086;
  std::vector<float> v2(10, 0);
  [[maybe_unused]] int32_t v3 = 0;
  [[maybe_unused]] int32_t v4 = 9;
  [[maybe_unused]] int32_t v5 = 1;
  [[maybe_unused]] int32_t v6 = 16;
  [[maybe_unused]] int32_t v7 = 10;
  [[maybe_unused]] int32_t v8 = 4096;
  [[maybe_unused]] size_t v9 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v10 = cc.decode<float>(pt, 4096);
  std::vector<float> v11 = std::move(v2);
  for (auto v12 = 0; v12 < 10; v12 += 1) {
    int32_t v14 = v4 - v12;
    std::vector<float> v15 = std::move(v11);
    for (auto v16 = v14; v16 < 4096; v16 += 16) {
      int32_t v18 = v12 + v1;
      int32_t v19 = (v18 / v6) - ((v18 % v6 != 0) && ((v18 < 0) != (v6 < 0)));
      int32_t v20 = v19 * v6;
      int32_t v21 = v14 + v20;
      int32_t v22 = v16 - v14;
      int32_t v23 = v21 - v22;
      size_t v24 = static_cast<size_t>(v23);
      float v25 = v10[v24 + 4096 * (0)];
      size_t v26 = static_cast<size_t>(v14);
      v15[v26 + 10 * (0)] = v25;
    }
    v11 = std::move(v15);
  }
  return v11;
}
Parameters mnist__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 6;
  params.slots = 4096;
  params.scale_bits = 40;
  params.first_bits = 60;
  return params;
}
CryptoContext mnist__generate_crypto_context() {
  const auto& params = mnist__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext mnist__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{true, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 32, 46, 64, 69, 92, 115, 128, 138, 161, 184, 207, 230, 253, 256, 276, 299, 322, 345, 368, 391, 414, 437, 460, 483, 506, 512}});
  return cc1;
}
