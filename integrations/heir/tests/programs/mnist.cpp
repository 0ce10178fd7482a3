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
std::vector<float> _assign_layout_1(std::vector<float> v0) {
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
std::vector<float> _assign_layout_2(std::vector<float> v0) {
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
std::vector<float> _assign_layout_3(std::vector<float> v0) {
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
  [[maybe_unused]] size_t v19 = 555;
  [[maybe_unused]] size_t v20 = 3;
  [[maybe_unused]] size_t v21 = 574;
  [[maybe_unused]] size_t v22 = 45;
  [[maybe_unused]] size_t v23 = 67;
  [[maybe_unused]] size_t v24 = 558;
  [[maybe_unused]] size_t v25 = 561;
  [[maybe_unused]] size_t v26 = 564;
  std::vector<Plaintext> v27(575);
  const auto& v28 = _assign_layout_3(v3);
  const auto& v29 = _assign_layout_2(v2);
  const auto& v30 = _assign_layout_1(v1);
  const auto& v31 = _assign_layout_0(v0);
  std::vector<float> v32(1 * 4096);
  for (int64_t v32_i0 = 0; v32_i0 < 1; ++v32_i0) {
    for (int64_t v32_i1 = 0; v32_i1 < 4096; ++v32_i1) {
      v32[v32_i1 + 4096 * (v32_i0)] = v28[0 + v32_i1 * 1 + 4096 * (0 + v32_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v32);
  v27[0] = pt;
  const auto pt1 = cc.encode(v12);
  v27[1] = pt1;
  for (auto v33 = 1; v33 < 23; v33 += 1) {
    bool v34 = v33 < v9;
    if (v34) {
      std::vector<float> v35(1 * 4096);
      for (int64_t v35_i0 = 0; v35_i0 < 1; ++v35_i0) {
        for (int64_t v35_i1 = 0; v35_i1 < 4096; ++v35_i1) {
          v35[v35_i1 + 4096 * (v35_i0)] = v28[0 + v35_i1 * 1 + 4096 * (v33 + v35_i0 * 1)];
        }
      }
      const auto pt2 = cc.encode(v35);
      size_t v36 = v33 + v10;
      v27[v36] = pt2;
    }
  }
  for (auto v37 = 1; v37 < 23; v37 += 1) {
    size_t v38 = v37 * v11;
    bool v39 = v38 < v9;
    if (v39) {
      std::vector<float> v40(1 * 4096);
      for (int64_t v40_i0 = 0; v40_i0 < 1; ++v40_i0) {
        for (int64_t v40_i1 = 0; v40_i1 < 4096; ++v40_i1) {
          v40[v40_i1 + 4096 * (v40_i0)] = v28[0 + v40_i1 * 1 + 4096 * (v38 + v40_i0 * 1)];
        }
      }
      size_t v41 = v37 * v6;
      size_t v42 = v41 % v4;
      size_t v43 = v42 + v4;
      size_t v44 = v43 % v4;
      size_t v45 = v4 - v44;
      std::vector<float> v46(1 * v44);
      for (int64_t v46_i0 = 0; v46_i0 < 1; ++v46_i0) {
        for (int64_t v46_i1 = 0; v46_i1 < v44; ++v46_i1) {
          v46[v46_i1 + v44 * (v46_i0)] = v28[0 + v46_i1 * 1 + 4096 * (v38 + v46_i0 * 1)];
        }
      }
      std::vector<float> v47(1 * v45);
      for (int64_t v47_i0 = 0; v47_i0 < 1; ++v47_i0) {
        for (int64_t v47_i1 = 0; v47_i1 < v45; ++v47_i1) {
          v47[v47_i1 + v45 * (v47_i0)] = v28[v44 + v47_i1 * 1 + 4096 * (v38 + v47_i0 * 1)];
        }
      }
      std::vector<float> v48(v40);
      int64_t v46_0 = 0;
      for (int64_t v40_0 = 0; v40_0 < 0 + 1 * 1; v40_0 += 1) {
        int64_t v46_1 = 0;
        for (int64_t v40_1 = v45; v40_1 < v45 + v44 * 1; v40_1 += 1) {
          v48[v40_1 + 4096 * (v40_0)] = v46[v46_1 + v44 * (v46_0)];
          v46_1 += 1;
        }
        v46_0 += 1;
      }
      std::vector<float> v49(v48);
      int64_t v47_0 = 0;
      for (int64_t v48_0 = 0; v48_0 < 0 + 1 * 1; v48_0 += 1) {
        int64_t v47_1 = 0;
        for (int64_t v48_1 = 0; v48_1 < 0 + v45 * 1; v48_1 += 1) {
          v49[v48_1 + 4096 * (v48_0)] = v47[v47_1 + v45 * (v47_0)];
          v47_1 += 1;
        }
        v47_0 += 1;
      }
      std::vector<float> v50(1 * 4096);
      for (int64_t v50_i0 = 0; v50_i0 < 1; ++v50_i0) {
        for (int64_t v50_i1 = 0; v50_i1 < 4096; ++v50_i1) {
          v50[v50_i1 + 4096 * (v50_i0)] = v49[0 + v50_i1 * 1 + 4096 * (0 + v50_i0 * 1)];
        }
      }
      const auto pt3 = cc.encode(v50);
      size_t v51 = v37 + v11;
      v27[v51] = pt3;
    } else {
      size_t v52 = v37 + v22;
      v27[v52] = pt1;
    }
    for (auto v53 = 1; v53 < 23; v53 += 1) {
      size_t v54 = v53 + v38;
      bool v55 = v54 < v9;
      if (v55) {
        std::vector<float> v56(1 * 4096);
        for (int64_t v56_i0 = 0; v56_i0 < 1; ++v56_i0) {
          for (int64_t v56_i1 = 0; v56_i1 < 4096; ++v56_i1) {
            v56[v56_i1 + 4096 * (v56_i0)] = v28[0 + v56_i1 * 1 + 4096 * (v54 + v56_i0 * 1)];
          }
        }
        size_t v57 = v37 * v6;
        size_t v58 = v57 % v4;
        size_t v59 = v58 + v4;
        size_t v60 = v59 % v4;
        size_t v61 = v4 - v60;
        std::vector<float> v62(1 * v60);
        for (int64_t v62_i0 = 0; v62_i0 < 1; ++v62_i0) {
          for (int64_t v62_i1 = 0; v62_i1 < v60; ++v62_i1) {
            v62[v62_i1 + v60 * (v62_i0)] = v28[0 + v62_i1 * 1 + 4096 * (v54 + v62_i0 * 1)];
          }
        }
        std::vector<float> v63(1 * v61);
        for (int64_t v63_i0 = 0; v63_i0 < 1; ++v63_i0) {
          for (int64_t v63_i1 = 0; v63_i1 < v61; ++v63_i1) {
            v63[v63_i1 + v61 * (v63_i0)] = v28[v60 + v63_i1 * 1 + 4096 * (v54 + v63_i0 * 1)];
          }
        }
        std::vector<float> v64(v56);
        int64_t v62_0 = 0;
        for (int64_t v56_0 = 0; v56_0 < 0 + 1 * 1; v56_0 += 1) {
          int64_t v62_1 = 0;
          for (int64_t v56_1 = v61; v56_1 < v61 + v60 * 1; v56_1 += 1) {
            v64[v56_1 + 4096 * (v56_0)] = v62[v62_1 + v60 * (v62_0)];
            v62_1 += 1;
          }
          v62_0 += 1;
        }
        std::vector<float> v65(v64);
        int64_t v63_0 = 0;
        for (int64_t v64_0 = 0; v64_0 < 0 + 1 * 1; v64_0 += 1) {
          int64_t v63_1 = 0;
          for (int64_t v64_1 = 0; v64_1 < 0 + v61 * 1; v64_1 += 1) {
            v65[v64_1 + 4096 * (v64_0)] = v63[v63_1 + v61 * (v63_0)];
            v63_1 += 1;
          }
          v63_0 += 1;
        }
        std::vector<float> v66(1 * 4096);
        for (int64_t v66_i0 = 0; v66_i0 < 1; ++v66_i0) {
          for (int64_t v66_i1 = 0; v66_i1 < 4096; ++v66_i1) {
            v66[v66_i1 + 4096 * (v66_i0)] = v65[0 + v66_i1 * 1 + 4096 * (0 + v66_i0 * 1)];
          }
        }
        const auto pt4 = cc.encode(v66);
        size_t v67 = v53 + v23;
        size_t v68 = v37 - v10;
        size_t v69 = v68 * v15;
        size_t v70 = v67 + v69;
        v27[v70] = pt4;
      }
    }
  }
  std::vector<float> v71(1 * 4096);
  for (int64_t v71_i0 = 0; v71_i0 < 1; ++v71_i0) {
    for (int64_t v71_i1 = 0; v71_i1 < 4096; ++v71_i1) {
      v71[v71_i1 + 4096 * (v71_i0)] = v29[0 + v71_i1 * 1 + 4096 * (0 + v71_i0 * 1)];
    }
  }
  const auto pt5 = cc.encode(v71);
  v27[552] = pt5;
  const auto pt6 = cc.encode(v13);
  v27[553] = pt6;
  std::vector<float> v72(1 * 4096);
  for (int64_t v72_i0 = 0; v72_i0 < 1; ++v72_i0) {
    for (int64_t v72_i1 = 0; v72_i1 < 4096; ++v72_i1) {
      v72[v72_i1 + 4096 * (v72_i0)] = v30[0 + v72_i1 * 1 + 4096 * (0 + v72_i0 * 1)];
    }
  }
  const auto pt7 = cc.encode(v72);
  v27[554] = pt7;
  v27[555] = pt1;
  for (auto v73 = 1; v73 < 4; v73 += 1) {
    bool v74 = v73 < v7;
    if (v74) {
      std::vector<float> v75(1 * 4096);
      for (int64_t v75_i0 = 0; v75_i0 < 1; ++v75_i0) {
        for (int64_t v75_i1 = 0; v75_i1 < 4096; ++v75_i1) {
          v75[v75_i1 + 4096 * (v75_i0)] = v30[0 + v75_i1 * 1 + 4096 * (v73 + v75_i0 * 1)];
        }
      }
      const auto pt8 = cc.encode(v75);
      size_t v76 = v73 + v19;
      v27[v76] = pt8;
    }
  }
  for (auto v77 = 1; v77 < 4; v77 += 1) {
    size_t v78 = v77 * v8;
    bool v79 = v78 < v7;
    if (v79) {
      std::vector<float> v80(1 * 4096);
      for (int64_t v80_i0 = 0; v80_i0 < 1; ++v80_i0) {
        for (int64_t v80_i1 = 0; v80_i1 < 4096; ++v80_i1) {
          v80[v80_i1 + 4096 * (v80_i0)] = v30[0 + v80_i1 * 1 + 4096 * (v78 + v80_i0 * 1)];
        }
      }
      size_t v81 = v77 * v5;
      size_t v82 = v81 % v4;
      size_t v83 = v82 + v4;
      size_t v84 = v83 % v4;
      size_t v85 = v4 - v84;
      std::vector<float> v86(1 * v84);
      for (int64_t v86_i0 = 0; v86_i0 < 1; ++v86_i0) {
        for (int64_t v86_i1 = 0; v86_i1 < v84; ++v86_i1) {
          v86[v86_i1 + v84 * (v86_i0)] = v30[0 + v86_i1 * 1 + 4096 * (v78 + v86_i0 * 1)];
        }
      }
      std::vector<float> v87(1 * v85);
      for (int64_t v87_i0 = 0; v87_i0 < 1; ++v87_i0) {
        for (int64_t v87_i1 = 0; v87_i1 < v85; ++v87_i1) {
          v87[v87_i1 + v85 * (v87_i0)] = v30[v84 + v87_i1 * 1 + 4096 * (v78 + v87_i0 * 1)];
        }
      }
      std::vector<float> v88(v80);
      int64_t v86_0 = 0;
      for (int64_t v80_0 = 0; v80_0 < 0 + 1 * 1; v80_0 += 1) {
        int64_t v86_1 = 0;
        for (int64_t v80_1 = v85; v80_1 < v85 + v84 * 1; v80_1 += 1) {
          v88[v80_1 + 4096 * (v80_0)] = v86[v86_1 + v84 * (v86_0)];
          v86_1 += 1;
        }
        v86_0 += 1;
      }
      std::vector<float> v89(v88);
      int64_t v87_0 = 0;
      for (int64_t v88_0 = 0; v88_0 < 0 + 1 * 1; v88_0 += 1) {
        int64_t v87_1 = 0;
        for (int64_t v88_1 = 0; v88_1 < 0 + v85 * 1; v88_1 += 1) {
          v89[v88_1 + 4096 * (v88_0)] = v87[v87_1 + v85 * (v87_0)];
          v87_1 += 1;
        }
        v87_0 += 1;
      }
      std::vector<float> v90(1 * 4096);
      for (int64_t v90_i0 = 0; v90_i0 < 1; ++v90_i0) {
        for (int64_t v90_i1 = 0; v90_i1 < 4096; ++v90_i1) {
          v90[v90_i1 + 4096 * (v90_i0)] = v89[0 + v90_i1 * 1 + 4096 * (0 + v90_i0 * 1)];
        }
      }
      const auto pt9 = cc.encode(v90);
      size_t v91 = v77 + v24;
      v27[v91] = pt9;
    } else {
      size_t v92 = v77 + v25;
      v27[v92] = pt1;
    }
    for (auto v93 = 1; v93 < 4; v93 += 1) {
      size_t v94 = v93 + v78;
      bool v95 = v94 < v7;
      if (v95) {
        std::vector<float> v96(1 * 4096);
        for (int64_t v96_i0 = 0; v96_i0 < 1; ++v96_i0) {
          for (int64_t v96_i1 = 0; v96_i1 < 4096; ++v96_i1) {
            v96[v96_i1 + 4096 * (v96_i0)] = v30[0 + v96_i1 * 1 + 4096 * (v94 + v96_i0 * 1)];
          }
        }
        size_t v97 = v77 * v5;
        size_t v98 = v97 % v4;
        size_t v99 = v98 + v4;
        size_t v100 = v99 % v4;
        size_t v101 = v4 - v100;
        std::vector<float> v102(1 * v100);
        for (int64_t v102_i0 = 0; v102_i0 < 1; ++v102_i0) {
          for (int64_t v102_i1 = 0; v102_i1 < v100; ++v102_i1) {
            v102[v102_i1 + v100 * (v102_i0)] = v30[0 + v102_i1 * 1 + 4096 * (v94 + v102_i0 * 1)];
          }
        }
        std::vector<float> v103(1 * v101);
        for (int64_t v103_i0 = 0; v103_i0 < 1; ++v103_i0) {
          for (int64_t v103_i1 = 0; v103_i1 < v101; ++v103_i1) {
            v103[v103_i1 + v101 * (v103_i0)] = v30[v100 + v103_i1 * 1 + 4096 * (v94 + v103_i0 * 1)];
          }
        }
        std::vector<float> v104(v96);
        int64_t v102_0 = 0;
        for (int64_t v96_0 = 0; v96_0 < 0 + 1 * 1; v96_0 += 1) {
          int64_t v102_1 = 0;
          for (int64_t v96_1 = v101; v96_1 < v101 + v100 * 1; v96_1 += 1) {
            v104[v96_1 + 4096 * (v96_0)] = v102[v102_1 + v100 * (v102_0)];
            v102_1 += 1;
          }
          v102_0 += 1;
        }
        std::vector<float> v105(v104);
        int64_t v103_0 = 0;
        for (int64_t v104_0 = 0; v104_0 < 0 + 1 * 1; v104_0 += 1) {
          int64_t v103_1 = 0;
          for (int64_t v104_1 = 0; v104_1 < 0 + v101 * 1; v104_1 += 1) {
            v105[v104_1 + 4096 * (v104_0)] = v103[v103_1 + v101 * (v103_0)];
            v103_1 += 1;
          }
          v103_0 += 1;
        }
        std::vector<float> v106(1 * 4096);
        for (int64_t v106_i0 = 0; v106_i0 < 1; ++v106_i0) {
          for (int64_t v106_i1 = 0; v106_i1 < 4096; ++v106_i1) {
            v106[v106_i1 + 4096 * (v106_i0)] = v105[0 + v106_i1 * 1 + 4096 * (0 + v106_i0 * 1)];
          }
        }
        const auto pt10 = cc.encode(v106);
        size_t v107 = v93 + v26;
        size_t v108 = v77 - v10;
        size_t v109 = v108 * v20;
        size_t v110 = v107 + v109;
        v27[v110] = pt10;
      }
    }
  }
  std::vector<float> v111(1 * 4096);
  for (int64_t v111_i0 = 0; v111_i0 < 1; ++v111_i0) {
    for (int64_t v111_i1 = 0; v111_i1 < 4096; ++v111_i1) {
      v111[v111_i1 + 4096 * (v111_i0)] = v31[0 + v111_i1 * 1 + 4096 * (0 + v111_i0 * 1)];
    }
  }
  const auto pt11 = cc.encode(v111);
  v27[574] = pt11;
  return v27;
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
  [[maybe_unused]] size_t v19 = 555;
  [[maybe_unused]] size_t v20 = 3;
  [[maybe_unused]] size_t v21 = 574;
  [[maybe_unused]] size_t v22 = 45;
  [[maybe_unused]] size_t v23 = 67;
  [[maybe_unused]] size_t v24 = 558;
  [[maybe_unused]] size_t v25 = 561;
  [[maybe_unused]] size_t v26 = 564;
  const auto& v27 = _assign_layout_3(v0);
  const auto& v28 = _assign_layout_2(v1);
  const auto& v29 = _assign_layout_1(v2);
  const auto& v30 = _assign_layout_0(v3);
  std::vector<Ciphertext> v31(23);
  std::vector<Ciphertext> v32(v31);
  std::copy(v4.begin(), v4.end(), v32.begin() + 0);
  std::vector<Ciphertext> v33 = std::move(v32);
  for (auto v34 = 1; v34 < 23; v34 += 1) {
    std::vector<Ciphertext> v36(1);
    Ciphertext ct2 = v4[0];
    const auto ct3 = cc.rotate(ct2, v34);
    v36[0] = ct3;
    std::vector<Ciphertext> v38(v33);
    std::copy(v36.begin(), v36.end(), v38.begin() + v34);
    v33 = std::move(v38);
  }
  Plaintext pt = v5[0];
  Ciphertext ct4 = v33[0];
  const auto ct5 = cc.multiply(ct4, pt);
  const auto ct6 = cc.rescale(ct5);
  Plaintext pt1 = v5[1];
  std::vector<Ciphertext> v39(1);
  const auto ct7 = cc.add(ct6, pt1);
  auto v40 = v39;
  v40[0] = ct7;
  std::vector<Ciphertext> v41 = std::move(v40);
  for (auto v42 = 1; v42 < 23; v42 += 1) {
    bool v44 = v42 < v9;
    std::vector<Ciphertext> v45;
    if (v44) {
      size_t v46 = v42 + v8;
      Plaintext pt2 = v5[v46];
      Ciphertext ct8 = v33[v42];
      const auto ct9 = cc.multiply(ct8, pt2);
      const auto ct10 = cc.rescale(ct9);
      Ciphertext ct11 = v41[0];
      const auto ct12 = cc.add(ct11, ct10);
      auto v47 = v39;
      v47[0] = ct12;
      v45 = std::move(v47);
    } else {
      v45 = std::move(v41);
    }
    v41 = std::move(v45);
  }
  Ciphertext ct13 = v41[0];
  const auto ct14 = cc.add(ct13, pt1);
  auto v48 = v39;
  v48[0] = ct14;
  std::vector<Ciphertext> v49 = std::move(v48);
  for (auto v50 = 1; v50 < 23; v50 += 1) {
    size_t v52 = v50 * v7;
    bool v53 = v52 < v9;
    std::vector<Ciphertext> v54;
    if (v53) {
      size_t v55 = v50 + v7;
      Plaintext pt3 = v5[v55];
      const auto ct15 = cc.multiply(ct4, pt3);
      const auto ct16 = cc.rescale(ct15);
      const auto ct17 = cc.add(ct16, pt1);
      auto v56 = v39;
      v56[0] = ct17;
      v54 = std::move(v56);
    } else {
      size_t v57 = v50 + v22;
      Plaintext pt4 = v5[v57];
      std::vector<Ciphertext> v58(1, ct);
      Ciphertext ct18 = v58[0];
      const auto ct19 = cc.add(ct18, pt4);
      auto v59 = v39;
      v59[0] = ct19;
      v54 = std::move(v59);
    }
    std::vector<Ciphertext> v60 = std::move(v54);
    for (auto v61 = 1; v61 < 23; v61 += 1) {
      size_t v63 = v61 + v52;
      bool v64 = v63 < v9;
      std::vector<Ciphertext> v65;
      if (v64) {
        size_t v66 = v61 + v23;
        size_t v67 = v50 - v8;
        size_t v68 = v67 * v15;
        size_t v69 = v66 + v68;
        Plaintext pt5 = v5[v69];
        Ciphertext ct20 = v33[v61];
        const auto ct21 = cc.multiply(ct20, pt5);
        const auto ct22 = cc.rescale(ct21);
        Ciphertext ct23 = v60[0];
        const auto ct24 = cc.add(ct23, ct22);
        auto v70 = v39;
        v70[0] = ct24;
        v65 = std::move(v70);
      } else {
        v65 = std::move(v60);
      }
      v60 = std::move(v65);
    }
    Ciphertext ct25 = v60[0];
    const auto ct26 = cc.rotate(ct25, v52);
    Ciphertext ct27 = v49[0];
    const auto ct28 = cc.add(ct27, ct26);
    auto v71 = v39;
    v71[0] = ct28;
    v49 = std::move(v71);
  }
  Ciphertext ct29 = v49[0];
  const auto ct30 = cc.rotate(ct29, 512);
  Plaintext pt6 = v5[552];
  const auto ct31 = cc.add(ct29, pt6);
  const auto ct32 = cc.add(ct31, ct30);
  Plaintext pt7 = v5[553];
  const auto ct33 = cc.multiply(ct32, pt7);
  const auto ct34 = cc.rescale(ct33);
  const auto ct35 = cc.chebyshev(ct34, {6.3393991028159498, 10, 4.3075053667521672, -8.1728713370568291E-16, -1.2656936164678267, -5.7991334850882538E-16});
  auto v72 = v39;
  v72[0] = ct35;
  std::vector<Ciphertext> v73(4);
  std::vector<Ciphertext> v74(v73);
  std::copy(v72.begin(), v72.end(), v74.begin() + 0);
  std::vector<Ciphertext> v75 = std::move(v74);
  for (auto v76 = 1; v76 < 4; v76 += 1) {
    const auto ct36 = cc.rotate(ct35, v76);
    auto v78 = v39;
    v78[0] = ct36;
    std::vector<Ciphertext> v79(v75);
    std::copy(v78.begin(), v78.end(), v79.begin() + v76);
    v75 = std::move(v79);
  }
  Plaintext pt8 = v5[554];
  Ciphertext ct37 = v75[0];
  const auto ct38 = cc.multiply(ct37, pt8);
  const auto ct39 = cc.rescale(ct38);
  Plaintext pt9 = v5[555];
  const auto ct40 = cc.add(ct39, pt9);
  auto v80 = v39;
  v80[0] = ct40;
  std::vector<Ciphertext> v81 = std::move(v80);
  for (auto v82 = 1; v82 < 4; v82 += 1) {
    bool v84 = v82 < v12;
    std::vector<Ciphertext> v85;
    if (v84) {
      size_t v86 = v82 + v19;
      Plaintext pt10 = v5[v86];
      Ciphertext ct41 = v75[v82];
      const auto ct42 = cc.multiply(ct41, pt10);
      const auto ct43 = cc.rescale(ct42);
      Ciphertext ct44 = v81[0];
      const auto ct45 = cc.add(ct44, ct43);
      auto v87 = v39;
      v87[0] = ct45;
      v85 = std::move(v87);
    } else {
      v85 = std::move(v81);
    }
    v81 = std::move(v85);
  }
  Ciphertext ct46 = v81[0];
  const auto ct47 = cc.add(ct46, pt9);
  auto v88 = v39;
  v88[0] = ct47;
  std::vector<Ciphertext> v89 = std::move(v88);
  for (auto v90 = 1; v90 < 4; v90 += 1) {
    size_t v92 = v90 * v11;
    bool v93 = v92 < v12;
    std::vector<Ciphertext> v94;
    if (v93) {
      size_t v95 = v90 + v24;
      Plaintext pt11 = v5[v95];
      const auto ct48 = cc.multiply(ct37, pt11);
      const auto ct49 = cc.rescale(ct48);
      const auto ct50 = cc.add(ct49, pt9);
      auto v96 = v39;
      v96[0] = ct50;
      v94 = std::move(v96);
    } else {
      size_t v97 = v90 + v25;
      Plaintext pt12 = v5[v97];
      std::vector<Ciphertext> v98(1, ct1);
      Ciphertext ct51 = v98[0];
      const auto ct52 = cc.add(ct51, pt12);
      auto v99 = v39;
      v99[0] = ct52;
      v94 = std::move(v99);
    }
    std::vector<Ciphertext> v100 = std::move(v94);
    for (auto v101 = 1; v101 < 4; v101 += 1) {
      size_t v103 = v101 + v92;
      bool v104 = v103 < v12;
      std::vector<Ciphertext> v105;
      if (v104) {
        size_t v106 = v101 + v26;
        size_t v107 = v90 - v8;
        size_t v108 = v107 * v20;
        size_t v109 = v106 + v108;
        Plaintext pt13 = v5[v109];
        Ciphertext ct53 = v75[v101];
        const auto ct54 = cc.multiply(ct53, pt13);
        const auto ct55 = cc.rescale(ct54);
        Ciphertext ct56 = v100[0];
        const auto ct57 = cc.add(ct56, ct55);
        auto v110 = v39;
        v110[0] = ct57;
        v105 = std::move(v110);
      } else {
        v105 = std::move(v100);
      }
      v100 = std::move(v105);
    }
    Ciphertext ct58 = v100[0];
    const auto ct59 = cc.rotate(ct58, v92);
    Ciphertext ct60 = v89[0];
    const auto ct61 = cc.add(ct60, ct59);
    auto v111 = v39;
    v111[0] = ct61;
    v89 = std::move(v111);
  }
  std::vector<Ciphertext> v112 = std::move(v89);
  size_t v113 = v13;
  for (auto v114 = 0; v114 < 5; v114 += 1) {
    Ciphertext ct62 = v112[0];
    const auto ct63 = cc.rotate(ct62, v113);
    const auto ct64 = cc.add(ct62, ct63);
    auto v117 = v39;
    v117[0] = ct64;
    size_t v118 = v113 / v10;
    v112 = std::move(v117);
    v113 = v118;
  }
  Plaintext pt14 = v5[574];
  Ciphertext ct65 = v112[0];
  const auto ct66 = cc.add(ct65, pt14);
  auto v119 = v39;
  v119[0] = ct66;
  return v119;
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
