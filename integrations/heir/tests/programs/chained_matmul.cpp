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
std::vector<Plaintext> chained_matmul__preprocessing(CryptoContext cc, std::vector<double> v0, std::vector<double> v1) {
  [[maybe_unused]] size_t v2 = 0;
  [[maybe_unused]] size_t v3 = 1;
  [[maybe_unused]] size_t v4 = 2;
  [[maybe_unused]] size_t v5 = 3;
  [[maybe_unused]] size_t v6 = 4;
  [[maybe_unused]] size_t v7 = 5;
  [[maybe_unused]] size_t v8 = 6;
  [[maybe_unused]] size_t v9 = 7;
  [[maybe_unused]] size_t v10 = 8;
  [[maybe_unused]] size_t v11 = 9;
  [[maybe_unused]] size_t v12 = 10;
  [[maybe_unused]] size_t v13 = 11;
  [[maybe_unused]] size_t v14 = 12;
  [[maybe_unused]] size_t v15 = 13;
  [[maybe_unused]] size_t v16 = 14;
  [[maybe_unused]] size_t v17 = 15;
  [[maybe_unused]] size_t v18 = 16;
  [[maybe_unused]] size_t v19 = 17;
  [[maybe_unused]] size_t v20 = 18;
  [[maybe_unused]] size_t v21 = 19;
  [[maybe_unused]] size_t v22 = 20;
  [[maybe_unused]] size_t v23 = 21;
  [[maybe_unused]] size_t v24 = 22;
  [[maybe_unused]] size_t v25 = 23;
  [[maybe_unused]] size_t v26 = 24;
  [[maybe_unused]] size_t v27 = 25;
  [[maybe_unused]] size_t v28 = 26;
  [[maybe_unused]] size_t v29 = 27;
  [[maybe_unused]] size_t v30 = 28;
  [[maybe_unused]] size_t v31 = 29;
  [[maybe_unused]] size_t v32 = 30;
  [[maybe_unused]] size_t v33 = 31;
  [[maybe_unused]] size_t v34 = 32;
  [[maybe_unused]] size_t v35 = 33;
  [[maybe_unused]] size_t v36 = 34;
  [[maybe_unused]] size_t v37 = 35;
  [[maybe_unused]] size_t v38 = 36;
  [[maybe_unused]] size_t v39 = 37;
  [[maybe_unused]] size_t v40 = 38;
  [[maybe_unused]] size_t v41 = 39;
  [[maybe_unused]] size_t v42 = 40;
  [[maybe_unused]] size_t v43 = 41;
  [[maybe_unused]] size_t v44 = 42;
  [[maybe_unused]] size_t v45 = 43;
  [[maybe_unused]] size_t v46 = 44;
  [[maybe_unused]] size_t v47 = 45;
  [[maybe_unused]] size_t v48 = 46;
  [[maybe_unused]] size_t v49 = 47;
  [[maybe_unused]] size_t v50 = 48;
  [[maybe_unused]] size_t v51 = 49;
  [[maybe_unused]] size_t v52 = 50;
  [[maybe_unused]] size_t v53 = 51;
  [[maybe_unused]] size_t v54 = 52;
  [[maybe_unused]] size_t v55 = 53;
  [[maybe_unused]] size_t v56 = 54;
  [[maybe_unused]] size_t v57 = 55;
  [[maybe_unused]] size_t v58 = 56;
  [[maybe_unused]] size_t v59 = 57;
  [[maybe_unused]] size_t v60 = 58;
  [[maybe_unused]] size_t v61 = 59;
  [[maybe_unused]] size_t v62 = 60;
  [[maybe_unused]] size_t v63 = 61;
  [[maybe_unused]] size_t v64 = 62;
  [[maybe_unused]] size_t v65 = 63;
  [[maybe_unused]] size_t v66 = 64;
  [[maybe_unused]] size_t v67 = 65;
  [[maybe_unused]] size_t v68 = 66;
  [[maybe_unused]] size_t v69 = 67;
  [[maybe_unused]] size_t v70 = 68;
  [[maybe_unused]] size_t v71 = 69;
  [[maybe_unused]] size_t v72 = 70;
  [[maybe_unused]] size_t v73 = 71;
  [[maybe_unused]] size_t v74 = 72;
  [[maybe_unused]] size_t v75 = 73;
  [[maybe_unused]] size_t v76 = 74;
  [[maybe_unused]] size_t v77 = 75;
  [[maybe_unused]] size_t v78 = 76;
  [[maybe_unused]] size_t v79 = 77;
  [[maybe_unused]] size_t v80 = 78;
  [[maybe_unused]] size_t v81 = 79;
  [[maybe_unused]] size_t v82 = 80;
  [[maybe_unused]] size_t v83 = 81;
  [[maybe_unused]] size_t v84 = 82;
  [[maybe_unused]] size_t v85 = 83;
  [[maybe_unused]] size_t v86 = 84;
  [[maybe_unused]] size_t v87 = 85;
  [[maybe_unused]] size_t v88 = 86;
  [[maybe_unused]] size_t v89 = 87;
  [[maybe_unused]] size_t v90 = 88;
  [[maybe_unused]] size_t v91 = 89;
  [[maybe_unused]] size_t v92 = 90;
  [[maybe_unused]] size_t v93 = 91;
  [[maybe_unused]] size_t v94 = 92;
  [[maybe_unused]] size_t v95 = 93;
  [[maybe_unused]] size_t v96 = 94;
  [[maybe_unused]] size_t v97 = 95;
  [[maybe_unused]] size_t v98 = 96;
  [[maybe_unused]] size_t v99 = 97;
  [[maybe_unused]] size_t v100 = 98;
  [[maybe_unused]] size_t v101 = 99;
  [[maybe_unused]] size_t v102 = 100;
  [[maybe_unused]] size_t v103 = 101;
  [[maybe_unused]] size_t v104 = 102;
  [[maybe_unused]] size_t v105 = 103;
  [[maybe_unused]] size_t v106 = 104;
  [[maybe_unused]] size_t v107 = 105;
  [[maybe_unused]] size_t v108 = 106;
  [[maybe_unused]] size_t v109 = 107;
  [[maybe_unused]] size_t v110 = 108;
  [[maybe_unused]] size_t v111 = 109;
  [[maybe_unused]] size_t v112 = 110;
  [[maybe_unused]] size_t v113 = 111;
  [[maybe_unused]] size_t v114 = 112;
  [[maybe_unused]] size_t v115 = 113;
  [[maybe_unused]] size_t v116 = 114;
  [[maybe_unused]] size_t v117 = 115;
  [[maybe_unused]] size_t v118 = 116;
  [[maybe_unused]] size_t v119 = 117;
  [[maybe_unused]] size_t v120 = 118;
  [[maybe_unused]] size_t v121 = 119;
  [[maybe_unused]] size_t v122 = 120;
  [[maybe_unused]] size_t v123 = 121;
  [[maybe_unused]] size_t v124 = 122;
  [[maybe_unused]] size_t v125 = 123;
  [[maybe_unused]] size_t v126 = 124;
  [[maybe_unused]] size_t v127 = 125;
  [[maybe_unused]] size_t v128 = 126;
  [[maybe_unused]] size_t v129 = 127;
  std::vector<Plaintext> v130(128);
  std::vector<double> v131(1 * 4096);
  for (int64_t v131_i0 = 0; v131_i0 < 1; ++v131_i0) {
    for (int64_t v131_i1 = 0; v131_i1 < 4096; ++v131_i1) {
      v131[v131_i1 + 4096 * (v131_i0)] = v1[0 + v131_i1 * 1 + 4096 * (0 + v131_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v131);
  v130[0] = pt;
  std::vector<double> v132(1 * 4096);
  for (int64_t v132_i0 = 0; v132_i0 < 1; ++v132_i0) {
    for (int64_t v132_i1 = 0; v132_i1 < 4096; ++v132_i1) {
      v132[v132_i1 + 4096 * (v132_i0)] = v1[0 + v132_i1 * 1 + 4096 * (1 + v132_i0 * 1)];
    }
  }
  const auto pt1 = cc.encode(v132);
  v130[1] = pt1;
  std::vector<double> v133(1 * 4096);
  for (int64_t v133_i0 = 0; v133_i0 < 1; ++v133_i0) {
    for (int64_t v133_i1 = 0; v133_i1 < 4096; ++v133_i1) {
      v133[v133_i1 + 4096 * (v133_i0)] = v1[0 + v133_i1 * 1 + 4096 * (2 + v133_i0 * 1)];
    }
  }
  const auto pt2 = cc.encode(v133);
  v130[2] = pt2;
  std::vector<double> v134(1 * 4096);
  for (int64_t v134_i0 = 0; v134_i0 < 1; ++v134_i0) {
    for (int64_t v134_i1 = 0; v134_i1 < 4096; ++v134_i1) {
      v134[v134_i1 + 4096 * (v134_i0)] = v1[0 + v134_i1 * 1 + 4096 * (3 + v134_i0 * 1)];
    }
  }
  const auto pt3 = cc.encode(v134);
  v130[3] = pt3;
  std::vector<double> v135(1 * 4096);
  for (int64_t v135_i0 = 0; v135_i0 < 1; ++v135_i0) {
    for (int64_t v135_i1 = 0; v135_i1 < 4096; ++v135_i1) {
      v135[v135_i1 + 4096 * (v135_i0)] = v1[0 + v135_i1 * 1 + 4096 * (4 + v135_i0 * 1)];
    }
  }
  const auto pt4 = cc.encode(v135);
  v130[4] = pt4;
  std::vector<double> v136(1 * 4096);
  for (int64_t v136_i0 = 0; v136_i0 < 1; ++v136_i0) {
    for (int64_t v136_i1 = 0; v136_i1 < 4096; ++v136_i1) {
      v136[v136_i1 + 4096 * (v136_i0)] = v1[0 + v136_i1 * 1 + 4096 * (5 + v136_i0 * 1)];
    }
  }
  const auto pt5 = cc.encode(v136);
  v130[5] = pt5;
  std::vector<double> v137(1 * 4096);
  for (int64_t v137_i0 = 0; v137_i0 < 1; ++v137_i0) {
    for (int64_t v137_i1 = 0; v137_i1 < 4096; ++v137_i1) {
      v137[v137_i1 + 4096 * (v137_i0)] = v1[0 + v137_i1 * 1 + 4096 * (6 + v137_i0 * 1)];
    }
  }
  const auto pt6 = cc.encode(v137);
  v130[6] = pt6;
  std::vector<double> v138(1 * 4096);
  for (int64_t v138_i0 = 0; v138_i0 < 1; ++v138_i0) {
    for (int64_t v138_i1 = 0; v138_i1 < 4096; ++v138_i1) {
      v138[v138_i1 + 4096 * (v138_i0)] = v1[0 + v138_i1 * 1 + 4096 * (7 + v138_i0 * 1)];
    }
  }
  const auto pt7 = cc.encode(v138);
  v130[7] = pt7;
  std::vector<double> v139(1 * 4096);
  for (int64_t v139_i0 = 0; v139_i0 < 1; ++v139_i0) {
    for (int64_t v139_i1 = 0; v139_i1 < 4096; ++v139_i1) {
      v139[v139_i1 + 4096 * (v139_i0)] = v1[0 + v139_i1 * 1 + 4096 * (8 + v139_i0 * 1)];
    }
  }
  const auto pt8 = cc.encode(v139);
  v130[8] = pt8;
  std::vector<double> v140(1 * 4096);
  for (int64_t v140_i0 = 0; v140_i0 < 1; ++v140_i0) {
    for (int64_t v140_i1 = 0; v140_i1 < 4096; ++v140_i1) {
      v140[v140_i1 + 4096 * (v140_i0)] = v1[0 + v140_i1 * 1 + 4096 * (9 + v140_i0 * 1)];
    }
  }
  const auto pt9 = cc.encode(v140);
  v130[9] = pt9;
  std::vector<double> v141(1 * 4096);
  for (int64_t v141_i0 = 0; v141_i0 < 1; ++v141_i0) {
    for (int64_t v141_i1 = 0; v141_i1 < 4096; ++v141_i1) {
      v141[v141_i1 + 4096 * (v141_i0)] = v1[0 + v141_i1 * 1 + 4096 * (10 + v141_i0 * 1)];
    }
  }
  const auto pt10 = cc.encode(v141);
  v130[10] = pt10;
  std::vector<double> v142(1 * 4096);
  for (int64_t v142_i0 = 0; v142_i0 < 1; ++v142_i0) {
    for (int64_t v142_i1 = 0; v142_i1 < 4096; ++v142_i1) {
      v142[v142_i1 + 4096 * (v142_i0)] = v1[0 + v142_i1 * 1 + 4096 * (11 + v142_i0 * 1)];
    }
  }
  const auto pt11 = cc.encode(v142);
  v130[11] = pt11;
  std::vector<double> v143(1 * 4096);
  for (int64_t v143_i0 = 0; v143_i0 < 1; ++v143_i0) {
    for (int64_t v143_i1 = 0; v143_i1 < 4096; ++v143_i1) {
      v143[v143_i1 + 4096 * (v143_i0)] = v1[0 + v143_i1 * 1 + 4096 * (12 + v143_i0 * 1)];
    }
  }
  const auto pt12 = cc.encode(v143);
  v130[12] = pt12;
  std::vector<double> v144(1 * 4096);
  for (int64_t v144_i0 = 0; v144_i0 < 1; ++v144_i0) {
    for (int64_t v144_i1 = 0; v144_i1 < 4096; ++v144_i1) {
      v144[v144_i1 + 4096 * (v144_i0)] = v1[0 + v144_i1 * 1 + 4096 * (13 + v144_i0 * 1)];
    }
  }
  const auto pt13 = cc.encode(v144);
  v130[13] = pt13;
  std::vector<double> v145(1 * 4096);
  for (int64_t v145_i0 = 0; v145_i0 < 1; ++v145_i0) {
    for (int64_t v145_i1 = 0; v145_i1 < 4096; ++v145_i1) {
      v145[v145_i1 + 4096 * (v145_i0)] = v1[0 + v145_i1 * 1 + 4096 * (14 + v145_i0 * 1)];
    }
  }
  const auto pt14 = cc.encode(v145);
  v130[14] = pt14;
  std::vector<double> v146(1 * 4096);
  for (int64_t v146_i0 = 0; v146_i0 < 1; ++v146_i0) {
    for (int64_t v146_i1 = 0; v146_i1 < 4096; ++v146_i1) {
      v146[v146_i1 + 4096 * (v146_i0)] = v1[0 + v146_i1 * 1 + 4096 * (15 + v146_i0 * 1)];
    }
  }
  const auto pt15 = cc.encode(v146);
  v130[15] = pt15;
  std::vector<double> v147(1 * 4096);
  for (int64_t v147_i0 = 0; v147_i0 < 1; ++v147_i0) {
    for (int64_t v147_i1 = 0; v147_i1 < 4096; ++v147_i1) {
      v147[v147_i1 + 4096 * (v147_i0)] = v1[0 + v147_i1 * 1 + 4096 * (16 + v147_i0 * 1)];
    }
  }
  const auto pt16 = cc.encode(v147);
  v130[16] = pt16;
  std::vector<double> v148(1 * 4096);
  for (int64_t v148_i0 = 0; v148_i0 < 1; ++v148_i0) {
    for (int64_t v148_i1 = 0; v148_i1 < 4096; ++v148_i1) {
      v148[v148_i1 + 4096 * (v148_i0)] = v1[0 + v148_i1 * 1 + 4096 * (17 + v148_i0 * 1)];
    }
  }
  const auto pt17 = cc.encode(v148);
  v130[17] = pt17;
  std::vector<double> v149(1 * 4096);
  for (int64_t v149_i0 = 0; v149_i0 < 1; ++v149_i0) {
    for (int64_t v149_i1 = 0; v149_i1 < 4096; ++v149_i1) {
      v149[v149_i1 + 4096 * (v149_i0)] = v1[0 + v149_i1 * 1 + 4096 * (18 + v149_i0 * 1)];
    }
  }
  const auto pt18 = cc.encode(v149);
  v130[18] = pt18;
  std::vector<double> v150(1 * 4096);
  for (int64_t v150_i0 = 0; v150_i0 < 1; ++v150_i0) {
    for (int64_t v150_i1 = 0; v150_i1 < 4096; ++v150_i1) {
      v150[v150_i1 + 4096 * (v150_i0)] = v1[0 + v150_i1 * 1 + 4096 * (19 + v150_i0 * 1)];
    }
  }
  const auto pt19 = cc.encode(v150);
  v130[19] = pt19;
  std::vector<double> v151(1 * 4096);
  for (int64_t v151_i0 = 0; v151_i0 < 1; ++v151_i0) {
    for (int64_t v151_i1 = 0; v151_i1 < 4096; ++v151_i1) {
      v151[v151_i1 + 4096 * (v151_i0)] = v1[0 + v151_i1 * 1 + 4096 * (20 + v151_i0 * 1)];
    }
  }
  const auto pt20 = cc.encode(v151);
  v130[20] = pt20;
  std::vector<double> v152(1 * 4096);
  for (int64_t v152_i0 = 0; v152_i0 < 1; ++v152_i0) {
    for (int64_t v152_i1 = 0; v152_i1 < 4096; ++v152_i1) {
      v152[v152_i1 + 4096 * (v152_i0)] = v1[0 + v152_i1 * 1 + 4096 * (21 + v152_i0 * 1)];
    }
  }
  const auto pt21 = cc.encode(v152);
  v130[21] = pt21;
  std::vector<double> v153(1 * 4096);
  for (int64_t v153_i0 = 0; v153_i0 < 1; ++v153_i0) {
    for (int64_t v153_i1 = 0; v153_i1 < 4096; ++v153_i1) {
      v153[v153_i1 + 4096 * (v153_i0)] = v1[0 + v153_i1 * 1 + 4096 * (22 + v153_i0 * 1)];
    }
  }
  const auto pt22 = cc.encode(v153);
  v130[22] = pt22;
  std::vector<double> v154(1 * 4096);
  for (int64_t v154_i0 = 0; v154_i0 < 1; ++v154_i0) {
    for (int64_t v154_i1 = 0; v154_i1 < 4096; ++v154_i1) {
      v154[v154_i1 + 4096 * (v154_i0)] = v1[0 + v154_i1 * 1 + 4096 * (23 + v154_i0 * 1)];
    }
  }
  const auto pt23 = cc.encode(v154);
  v130[23] = pt23;
  std::vector<double> v155(1 * 4096);
  for (int64_t v155_i0 = 0; v155_i0 < 1; ++v155_i0) {
    for (int64_t v155_i1 = 0; v155_i1 < 4096; ++v155_i1) {
      v155[v155_i1 + 4096 * (v155_i0)] = v1[0 + v155_i1 * 1 + 4096 * (24 + v155_i0 * 1)];
    }
  }
  const auto pt24 = cc.encode(v155);
  v130[24] = pt24;
  std::vector<double> v156(1 * 4096);
  for (int64_t v156_i0 = 0; v156_i0 < 1; ++v156_i0) {
    for (int64_t v156_i1 = 0; v156_i1 < 4096; ++v156_i1) {
      v156[v156_i1 + 4096 * (v156_i0)] = v1[0 + v156_i1 * 1 + 4096 * (25 + v156_i0 * 1)];
    }
  }
  const auto pt25 = cc.encode(v156);
  v130[25] = pt25;
  std::vector<double> v157(1 * 4096);
  for (int64_t v157_i0 = 0; v157_i0 < 1; ++v157_i0) {
    for (int64_t v157_i1 = 0; v157_i1 < 4096; ++v157_i1) {
      v157[v157_i1 + 4096 * (v157_i0)] = v1[0 + v157_i1 * 1 + 4096 * (26 + v157_i0 * 1)];
    }
  }
  const auto pt26 = cc.encode(v157);
  v130[26] = pt26;
  std::vector<double> v158(1 * 4096);
  for (int64_t v158_i0 = 0; v158_i0 < 1; ++v158_i0) {
    for (int64_t v158_i1 = 0; v158_i1 < 4096; ++v158_i1) {
      v158[v158_i1 + 4096 * (v158_i0)] = v1[0 + v158_i1 * 1 + 4096 * (27 + v158_i0 * 1)];
    }
  }
  const auto pt27 = cc.encode(v158);
  v130[27] = pt27;
  std::vector<double> v159(1 * 4096);
  for (int64_t v159_i0 = 0; v159_i0 < 1; ++v159_i0) {
    for (int64_t v159_i1 = 0; v159_i1 < 4096; ++v159_i1) {
      v159[v159_i1 + 4096 * (v159_i0)] = v1[0 + v159_i1 * 1 + 4096 * (28 + v159_i0 * 1)];
    }
  }
  const auto pt28 = cc.encode(v159);
  v130[28] = pt28;
  std::vector<double> v160(1 * 4096);
  for (int64_t v160_i0 = 0; v160_i0 < 1; ++v160_i0) {
    for (int64_t v160_i1 = 0; v160_i1 < 4096; ++v160_i1) {
      v160[v160_i1 + 4096 * (v160_i0)] = v1[0 + v160_i1 * 1 + 4096 * (29 + v160_i0 * 1)];
    }
  }
  const auto pt29 = cc.encode(v160);
  v130[29] = pt29;
  std::vector<double> v161(1 * 4096);
  for (int64_t v161_i0 = 0; v161_i0 < 1; ++v161_i0) {
    for (int64_t v161_i1 = 0; v161_i1 < 4096; ++v161_i1) {
      v161[v161_i1 + 4096 * (v161_i0)] = v1[0 + v161_i1 * 1 + 4096 * (30 + v161_i0 * 1)];
    }
  }
  const auto pt30 = cc.encode(v161);
  v130[30] = pt30;
  std::vector<double> v162(1 * 4096);
  for (int64_t v162_i0 = 0; v162_i0 < 1; ++v162_i0) {
    for (int64_t v162_i1 = 0; v162_i1 < 4096; ++v162_i1) {
      v162[v162_i1 + 4096 * (v162_i0)] = v1[0 + v162_i1 * 1 + 4096 * (31 + v162_i0 * 1)];
    }
  }
  const auto pt31 = cc.encode(v162);
  v130[31] = pt31;
  std::vector<double> v163(1 * 4096);
  for (int64_t v163_i0 = 0; v163_i0 < 1; ++v163_i0) {
    for (int64_t v163_i1 = 0; v163_i1 < 4096; ++v163_i1) {
      v163[v163_i1 + 4096 * (v163_i0)] = v1[0 + v163_i1 * 1 + 4096 * (32 + v163_i0 * 1)];
    }
  }
  const auto pt32 = cc.encode(v163);
  v130[32] = pt32;
  std::vector<double> v164(1 * 4096);
  for (int64_t v164_i0 = 0; v164_i0 < 1; ++v164_i0) {
    for (int64_t v164_i1 = 0; v164_i1 < 4096; ++v164_i1) {
      v164[v164_i1 + 4096 * (v164_i0)] = v1[0 + v164_i1 * 1 + 4096 * (33 + v164_i0 * 1)];
    }
  }
  const auto pt33 = cc.encode(v164);
  v130[33] = pt33;
  std::vector<double> v165(1 * 4096);
  for (int64_t v165_i0 = 0; v165_i0 < 1; ++v165_i0) {
    for (int64_t v165_i1 = 0; v165_i1 < 4096; ++v165_i1) {
      v165[v165_i1 + 4096 * (v165_i0)] = v1[0 + v165_i1 * 1 + 4096 * (34 + v165_i0 * 1)];
    }
  }
  const auto pt34 = cc.encode(v165);
  v130[34] = pt34;
  std::vector<double> v166(1 * 4096);
  for (int64_t v166_i0 = 0; v166_i0 < 1; ++v166_i0) {
    for (int64_t v166_i1 = 0; v166_i1 < 4096; ++v166_i1) {
      v166[v166_i1 + 4096 * (v166_i0)] = v1[0 + v166_i1 * 1 + 4096 * (35 + v166_i0 * 1)];
    }
  }
  const auto pt35 = cc.encode(v166);
  v130[35] = pt35;
  std::vector<double> v167(1 * 4096);
  for (int64_t v167_i0 = 0; v167_i0 < 1; ++v167_i0) {
    for (int64_t v167_i1 = 0; v167_i1 < 4096; ++v167_i1) {
      v167[v167_i1 + 4096 * (v167_i0)] = v1[0 + v167_i1 * 1 + 4096 * (36 + v167_i0 * 1)];
    }
  }
  const auto pt36 = cc.encode(v167);
  v130[36] = pt36;
  std::vector<double> v168(1 * 4096);
  for (int64_t v168_i0 = 0; v168_i0 < 1; ++v168_i0) {
    for (int64_t v168_i1 = 0; v168_i1 < 4096; ++v168_i1) {
      v168[v168_i1 + 4096 * (v168_i0)] = v1[0 + v168_i1 * 1 + 4096 * (37 + v168_i0 * 1)];
    }
  }
  const auto pt37 = cc.encode(v168);
  v130[37] = pt37;
  std::vector<double> v169(1 * 4096);
  for (int64_t v169_i0 = 0; v169_i0 < 1; ++v169_i0) {
    for (int64_t v169_i1 = 0; v169_i1 < 4096; ++v169_i1) {
      v169[v169_i1 + 4096 * (v169_i0)] = v1[0 + v169_i1 * 1 + 4096 * (38 + v169_i0 * 1)];
    }
  }
  const auto pt38 = cc.encode(v169);
  v130[38] = pt38;
  std::vector<double> v170(1 * 4096);
  for (int64_t v170_i0 = 0; v170_i0 < 1; ++v170_i0) {
    for (int64_t v170_i1 = 0; v170_i1 < 4096; ++v170_i1) {
      v170[v170_i1 + 4096 * (v170_i0)] = v1[0 + v170_i1 * 1 + 4096 * (39 + v170_i0 * 1)];
    }
  }
  const auto pt39 = cc.encode(v170);
  v130[39] = pt39;
  std::vector<double> v171(1 * 4096);
  for (int64_t v171_i0 = 0; v171_i0 < 1; ++v171_i0) {
    for (int64_t v171_i1 = 0; v171_i1 < 4096; ++v171_i1) {
      v171[v171_i1 + 4096 * (v171_i0)] = v1[0 + v171_i1 * 1 + 4096 * (40 + v171_i0 * 1)];
    }
  }
  const auto pt40 = cc.encode(v171);
  v130[40] = pt40;
  std::vector<double> v172(1 * 4096);
  for (int64_t v172_i0 = 0; v172_i0 < 1; ++v172_i0) {
    for (int64_t v172_i1 = 0; v172_i1 < 4096; ++v172_i1) {
      v172[v172_i1 + 4096 * (v172_i0)] = v1[0 + v172_i1 * 1 + 4096 * (41 + v172_i0 * 1)];
    }
  }
  const auto pt41 = cc.encode(v172);
  v130[41] = pt41;
  std::vector<double> v173(1 * 4096);
  for (int64_t v173_i0 = 0; v173_i0 < 1; ++v173_i0) {
    for (int64_t v173_i1 = 0; v173_i1 < 4096; ++v173_i1) {
      v173[v173_i1 + 4096 * (v173_i0)] = v1[0 + v173_i1 * 1 + 4096 * (42 + v173_i0 * 1)];
    }
  }
  const auto pt42 = cc.encode(v173);
  v130[42] = pt42;
  std::vector<double> v174(1 * 4096);
  for (int64_t v174_i0 = 0; v174_i0 < 1; ++v174_i0) {
    for (int64_t v174_i1 = 0; v174_i1 < 4096; ++v174_i1) {
      v174[v174_i1 + 4096 * (v174_i0)] = v1[0 + v174_i1 * 1 + 4096 * (43 + v174_i0 * 1)];
    }
  }
  const auto pt43 = cc.encode(v174);
  v130[43] = pt43;
  std::vector<double> v175(1 * 4096);
  for (int64_t v175_i0 = 0; v175_i0 < 1; ++v175_i0) {
    for (int64_t v175_i1 = 0; v175_i1 < 4096; ++v175_i1) {
      v175[v175_i1 + 4096 * (v175_i0)] = v1[0 + v175_i1 * 1 + 4096 * (44 + v175_i0 * 1)];
    }
  }
  const auto pt44 = cc.encode(v175);
  v130[44] = pt44;
  std::vector<double> v176(1 * 4096);
  for (int64_t v176_i0 = 0; v176_i0 < 1; ++v176_i0) {
    for (int64_t v176_i1 = 0; v176_i1 < 4096; ++v176_i1) {
      v176[v176_i1 + 4096 * (v176_i0)] = v1[0 + v176_i1 * 1 + 4096 * (45 + v176_i0 * 1)];
    }
  }
  const auto pt45 = cc.encode(v176);
  v130[45] = pt45;
  std::vector<double> v177(1 * 4096);
  for (int64_t v177_i0 = 0; v177_i0 < 1; ++v177_i0) {
    for (int64_t v177_i1 = 0; v177_i1 < 4096; ++v177_i1) {
      v177[v177_i1 + 4096 * (v177_i0)] = v1[0 + v177_i1 * 1 + 4096 * (46 + v177_i0 * 1)];
    }
  }
  const auto pt46 = cc.encode(v177);
  v130[46] = pt46;
  std::vector<double> v178(1 * 4096);
  for (int64_t v178_i0 = 0; v178_i0 < 1; ++v178_i0) {
    for (int64_t v178_i1 = 0; v178_i1 < 4096; ++v178_i1) {
      v178[v178_i1 + 4096 * (v178_i0)] = v1[0 + v178_i1 * 1 + 4096 * (47 + v178_i0 * 1)];
    }
  }
  const auto pt47 = cc.encode(v178);
  v130[47] = pt47;
  std::vector<double> v179(1 * 4096);
  for (int64_t v179_i0 = 0; v179_i0 < 1; ++v179_i0) {
    for (int64_t v179_i1 = 0; v179_i1 < 4096; ++v179_i1) {
      v179[v179_i1 + 4096 * (v179_i0)] = v1[0 + v179_i1 * 1 + 4096 * (48 + v179_i0 * 1)];
    }
  }
  const auto pt48 = cc.encode(v179);
  v130[48] = pt48;
  std::vector<double> v180(1 * 4096);
  for (int64_t v180_i0 = 0; v180_i0 < 1; ++v180_i0) {
    for (int64_t v180_i1 = 0; v180_i1 < 4096; ++v180_i1) {
      v180[v180_i1 + 4096 * (v180_i0)] = v1[0 + v180_i1 * 1 + 4096 * (49 + v180_i0 * 1)];
    }
  }
  const auto pt49 = cc.encode(v180);
  v130[49] = pt49;
  std::vector<double> v181(1 * 4096);
  for (int64_t v181_i0 = 0; v181_i0 < 1; ++v181_i0) {
    for (int64_t v181_i1 = 0; v181_i1 < 4096; ++v181_i1) {
      v181[v181_i1 + 4096 * (v181_i0)] = v1[0 + v181_i1 * 1 + 4096 * (50 + v181_i0 * 1)];
    }
  }
  const auto pt50 = cc.encode(v181);
  v130[50] = pt50;
  std::vector<double> v182(1 * 4096);
  for (int64_t v182_i0 = 0; v182_i0 < 1; ++v182_i0) {
    for (int64_t v182_i1 = 0; v182_i1 < 4096; ++v182_i1) {
      v182[v182_i1 + 4096 * (v182_i0)] = v1[0 + v182_i1 * 1 + 4096 * (51 + v182_i0 * 1)];
    }
  }
  const auto pt51 = cc.encode(v182);
  v130[51] = pt51;
  std::vector<double> v183(1 * 4096);
  for (int64_t v183_i0 = 0; v183_i0 < 1; ++v183_i0) {
    for (int64_t v183_i1 = 0; v183_i1 < 4096; ++v183_i1) {
      v183[v183_i1 + 4096 * (v183_i0)] = v1[0 + v183_i1 * 1 + 4096 * (52 + v183_i0 * 1)];
    }
  }
  const auto pt52 = cc.encode(v183);
  v130[52] = pt52;
  std::vector<double> v184(1 * 4096);
  for (int64_t v184_i0 = 0; v184_i0 < 1; ++v184_i0) {
    for (int64_t v184_i1 = 0; v184_i1 < 4096; ++v184_i1) {
      v184[v184_i1 + 4096 * (v184_i0)] = v1[0 + v184_i1 * 1 + 4096 * (53 + v184_i0 * 1)];
    }
  }
  const auto pt53 = cc.encode(v184);
  v130[53] = pt53;
  std::vector<double> v185(1 * 4096);
  for (int64_t v185_i0 = 0; v185_i0 < 1; ++v185_i0) {
    for (int64_t v185_i1 = 0; v185_i1 < 4096; ++v185_i1) {
      v185[v185_i1 + 4096 * (v185_i0)] = v1[0 + v185_i1 * 1 + 4096 * (54 + v185_i0 * 1)];
    }
  }
  const auto pt54 = cc.encode(v185);
  v130[54] = pt54;
  std::vector<double> v186(1 * 4096);
  for (int64_t v186_i0 = 0; v186_i0 < 1; ++v186_i0) {
    for (int64_t v186_i1 = 0; v186_i1 < 4096; ++v186_i1) {
      v186[v186_i1 + 4096 * (v186_i0)] = v1[0 + v186_i1 * 1 + 4096 * (55 + v186_i0 * 1)];
    }
  }
  const auto pt55 = cc.encode(v186);
  v130[55] = pt55;
  std::vector<double> v187(1 * 4096);
  for (int64_t v187_i0 = 0; v187_i0 < 1; ++v187_i0) {
    for (int64_t v187_i1 = 0; v187_i1 < 4096; ++v187_i1) {
      v187[v187_i1 + 4096 * (v187_i0)] = v1[0 + v187_i1 * 1 + 4096 * (56 + v187_i0 * 1)];
    }
  }
  const auto pt56 = cc.encode(v187);
  v130[56] = pt56;
  std::vector<double> v188(1 * 4096);
  for (int64_t v188_i0 = 0; v188_i0 < 1; ++v188_i0) {
    for (int64_t v188_i1 = 0; v188_i1 < 4096; ++v188_i1) {
      v188[v188_i1 + 4096 * (v188_i0)] = v1[0 + v188_i1 * 1 + 4096 * (57 + v188_i0 * 1)];
    }
  }
  const auto pt57 = cc.encode(v188);
  v130[57] = pt57;
  std::vector<double> v189(1 * 4096);
  for (int64_t v189_i0 = 0; v189_i0 < 1; ++v189_i0) {
    for (int64_t v189_i1 = 0; v189_i1 < 4096; ++v189_i1) {
      v189[v189_i1 + 4096 * (v189_i0)] = v1[0 + v189_i1 * 1 + 4096 * (58 + v189_i0 * 1)];
    }
  }
  const auto pt58 = cc.encode(v189);
  v130[58] = pt58;
  std::vector<double> v190(1 * 4096);
  for (int64_t v190_i0 = 0; v190_i0 < 1; ++v190_i0) {
    for (int64_t v190_i1 = 0; v190_i1 < 4096; ++v190_i1) {
      v190[v190_i1 + 4096 * (v190_i0)] = v1[0 + v190_i1 * 1 + 4096 * (59 + v190_i0 * 1)];
    }
  }
  const auto pt59 = cc.encode(v190);
  v130[59] = pt59;
  std::vector<double> v191(1 * 4096);
  for (int64_t v191_i0 = 0; v191_i0 < 1; ++v191_i0) {
    for (int64_t v191_i1 = 0; v191_i1 < 4096; ++v191_i1) {
      v191[v191_i1 + 4096 * (v191_i0)] = v1[0 + v191_i1 * 1 + 4096 * (60 + v191_i0 * 1)];
    }
  }
  const auto pt60 = cc.encode(v191);
  v130[60] = pt60;
  std::vector<double> v192(1 * 4096);
  for (int64_t v192_i0 = 0; v192_i0 < 1; ++v192_i0) {
    for (int64_t v192_i1 = 0; v192_i1 < 4096; ++v192_i1) {
      v192[v192_i1 + 4096 * (v192_i0)] = v1[0 + v192_i1 * 1 + 4096 * (61 + v192_i0 * 1)];
    }
  }
  const auto pt61 = cc.encode(v192);
  v130[61] = pt61;
  std::vector<double> v193(1 * 4096);
  for (int64_t v193_i0 = 0; v193_i0 < 1; ++v193_i0) {
    for (int64_t v193_i1 = 0; v193_i1 < 4096; ++v193_i1) {
      v193[v193_i1 + 4096 * (v193_i0)] = v1[0 + v193_i1 * 1 + 4096 * (62 + v193_i0 * 1)];
    }
  }
  const auto pt62 = cc.encode(v193);
  v130[62] = pt62;
  std::vector<double> v194(1 * 4096);
  for (int64_t v194_i0 = 0; v194_i0 < 1; ++v194_i0) {
    for (int64_t v194_i1 = 0; v194_i1 < 4096; ++v194_i1) {
      v194[v194_i1 + 4096 * (v194_i0)] = v1[0 + v194_i1 * 1 + 4096 * (63 + v194_i0 * 1)];
    }
  }
  const auto pt63 = cc.encode(v194);
  v130[63] = pt63;
  std::vector<double> v195(1 * 4096);
  for (int64_t v195_i0 = 0; v195_i0 < 1; ++v195_i0) {
    for (int64_t v195_i1 = 0; v195_i1 < 4096; ++v195_i1) {
      v195[v195_i1 + 4096 * (v195_i0)] = v0[0 + v195_i1 * 1 + 4096 * (0 + v195_i0 * 1)];
    }
  }
  const auto pt64 = cc.encode(v195);
  v130[64] = pt64;
  std::vector<double> v196(1 * 4096);
  for (int64_t v196_i0 = 0; v196_i0 < 1; ++v196_i0) {
    for (int64_t v196_i1 = 0; v196_i1 < 4096; ++v196_i1) {
      v196[v196_i1 + 4096 * (v196_i0)] = v0[0 + v196_i1 * 1 + 4096 * (1 + v196_i0 * 1)];
    }
  }
  const auto pt65 = cc.encode(v196);
  v130[65] = pt65;
  std::vector<double> v197(1 * 4096);
  for (int64_t v197_i0 = 0; v197_i0 < 1; ++v197_i0) {
    for (int64_t v197_i1 = 0; v197_i1 < 4096; ++v197_i1) {
      v197[v197_i1 + 4096 * (v197_i0)] = v0[0 + v197_i1 * 1 + 4096 * (2 + v197_i0 * 1)];
    }
  }
  const auto pt66 = cc.encode(v197);
  v130[66] = pt66;
  std::vector<double> v198(1 * 4096);
  for (int64_t v198_i0 = 0; v198_i0 < 1; ++v198_i0) {
    for (int64_t v198_i1 = 0; v198_i1 < 4096; ++v198_i1) {
      v198[v198_i1 + 4096 * (v198_i0)] = v0[0 + v198_i1 * 1 + 4096 * (3 + v198_i0 * 1)];
    }
  }
  const auto pt67 = cc.encode(v198);
  v130[67] = pt67;
  std::vector<double> v199(1 * 4096);
  for (int64_t v199_i0 = 0; v199_i0 < 1; ++v199_i0) {
    for (int64_t v199_i1 = 0; v199_i1 < 4096; ++v199_i1) {
      v199[v199_i1 + 4096 * (v199_i0)] = v0[0 + v199_i1 * 1 + 4096 * (4 + v199_i0 * 1)];
    }
  }
  const auto pt68 = cc.encode(v199);
  v130[68] = pt68;
  std::vector<double> v200(1 * 4096);
  for (int64_t v200_i0 = 0; v200_i0 < 1; ++v200_i0) {
    for (int64_t v200_i1 = 0; v200_i1 < 4096; ++v200_i1) {
      v200[v200_i1 + 4096 * (v200_i0)] = v0[0 + v200_i1 * 1 + 4096 * (5 + v200_i0 * 1)];
    }
  }
  const auto pt69 = cc.encode(v200);
  v130[69] = pt69;
  std::vector<double> v201(1 * 4096);
  for (int64_t v201_i0 = 0; v201_i0 < 1; ++v201_i0) {
    for (int64_t v201_i1 = 0; v201_i1 < 4096; ++v201_i1) {
      v201[v201_i1 + 4096 * (v201_i0)] = v0[0 + v201_i1 * 1 + 4096 * (6 + v201_i0 * 1)];
    }
  }
  const auto pt70 = cc.encode(v201);
  v130[70] = pt70;
  std::vector<double> v202(1 * 4096);
  for (int64_t v202_i0 = 0; v202_i0 < 1; ++v202_i0) {
    for (int64_t v202_i1 = 0; v202_i1 < 4096; ++v202_i1) {
      v202[v202_i1 + 4096 * (v202_i0)] = v0[0 + v202_i1 * 1 + 4096 * (7 + v202_i0 * 1)];
    }
  }
  const auto pt71 = cc.encode(v202);
  v130[71] = pt71;
  std::vector<double> v203(1 * 4096);
  for (int64_t v203_i0 = 0; v203_i0 < 1; ++v203_i0) {
    for (int64_t v203_i1 = 0; v203_i1 < 4096; ++v203_i1) {
      v203[v203_i1 + 4096 * (v203_i0)] = v0[0 + v203_i1 * 1 + 4096 * (8 + v203_i0 * 1)];
    }
  }
  const auto pt72 = cc.encode(v203);
  v130[72] = pt72;
  std::vector<double> v204(1 * 4096);
  for (int64_t v204_i0 = 0; v204_i0 < 1; ++v204_i0) {
    for (int64_t v204_i1 = 0; v204_i1 < 4096; ++v204_i1) {
      v204[v204_i1 + 4096 * (v204_i0)] = v0[0 + v204_i1 * 1 + 4096 * (9 + v204_i0 * 1)];
    }
  }
  const auto pt73 = cc.encode(v204);
  v130[73] = pt73;
  std::vector<double> v205(1 * 4096);
  for (int64_t v205_i0 = 0; v205_i0 < 1; ++v205_i0) {
    for (int64_t v205_i1 = 0; v205_i1 < 4096; ++v205_i1) {
      v205[v205_i1 + 4096 * (v205_i0)] = v0[0 + v205_i1 * 1 + 4096 * (10 + v205_i0 * 1)];
    }
  }
  const auto pt74 = cc.encode(v205);
  v130[74] = pt74;
  std::vector<double> v206(1 * 4096);
  for (int64_t v206_i0 = 0; v206_i0 < 1; ++v206_i0) {
    for (int64_t v206_i1 = 0; v206_i1 < 4096; ++v206_i1) {
      v206[v206_i1 + 4096 * (v206_i0)] = v0[0 + v206_i1 * 1 + 4096 * (11 + v206_i0 * 1)];
    }
  }
  const auto pt75 = cc.encode(v206);
  v130[75] = pt75;
  std::vector<double> v207(1 * 4096);
  for (int64_t v207_i0 = 0; v207_i0 < 1; ++v207_i0) {
    for (int64_t v207_i1 = 0; v207_i1 < 4096; ++v207_i1) {
      v207[v207_i1 + 4096 * (v207_i0)] = v0[0 + v207_i1 * 1 + 4096 * (12 + v207_i0 * 1)];
    }
  }
  const auto pt76 = cc.encode(v207);
  v130[76] = pt76;
  std::vector<double> v208(1 * 4096);
  for (int64_t v208_i0 = 0; v208_i0 < 1; ++v208_i0) {
    for (int64_t v208_i1 = 0; v208_i1 < 4096; ++v208_i1) {
      v208[v208_i1 + 4096 * (v208_i0)] = v0[0 + v208_i1 * 1 + 4096 * (13 + v208_i0 * 1)];
    }
  }
  const auto pt77 = cc.encode(v208);
  v130[77] = pt77;
  std::vector<double> v209(1 * 4096);
  for (int64_t v209_i0 = 0; v209_i0 < 1; ++v209_i0) {
    for (int64_t v209_i1 = 0; v209_i1 < 4096; ++v209_i1) {
      v209[v209_i1 + 4096 * (v209_i0)] = v0[0 + v209_i1 * 1 + 4096 * (14 + v209_i0 * 1)];
    }
  }
  const auto pt78 = cc.encode(v209);
  v130[78] = pt78;
  std::vector<double> v210(1 * 4096);
  for (int64_t v210_i0 = 0; v210_i0 < 1; ++v210_i0) {
    for (int64_t v210_i1 = 0; v210_i1 < 4096; ++v210_i1) {
      v210[v210_i1 + 4096 * (v210_i0)] = v0[0 + v210_i1 * 1 + 4096 * (15 + v210_i0 * 1)];
    }
  }
  const auto pt79 = cc.encode(v210);
  v130[79] = pt79;
  std::vector<double> v211(1 * 4096);
  for (int64_t v211_i0 = 0; v211_i0 < 1; ++v211_i0) {
    for (int64_t v211_i1 = 0; v211_i1 < 4096; ++v211_i1) {
      v211[v211_i1 + 4096 * (v211_i0)] = v0[0 + v211_i1 * 1 + 4096 * (16 + v211_i0 * 1)];
    }
  }
  const auto pt80 = cc.encode(v211);
  v130[80] = pt80;
  std::vector<double> v212(1 * 4096);
  for (int64_t v212_i0 = 0; v212_i0 < 1; ++v212_i0) {
    for (int64_t v212_i1 = 0; v212_i1 < 4096; ++v212_i1) {
      v212[v212_i1 + 4096 * (v212_i0)] = v0[0 + v212_i1 * 1 + 4096 * (17 + v212_i0 * 1)];
    }
  }
  const auto pt81 = cc.encode(v212);
  v130[81] = pt81;
  std::vector<double> v213(1 * 4096);
  for (int64_t v213_i0 = 0; v213_i0 < 1; ++v213_i0) {
    for (int64_t v213_i1 = 0; v213_i1 < 4096; ++v213_i1) {
      v213[v213_i1 + 4096 * (v213_i0)] = v0[0 + v213_i1 * 1 + 4096 * (18 + v213_i0 * 1)];
    }
  }
  const auto pt82 = cc.encode(v213);
  v130[82] = pt82;
  std::vector<double> v214(1 * 4096);
  for (int64_t v214_i0 = 0; v214_i0 < 1; ++v214_i0) {
    for (int64_t v214_i1 = 0; v214_i1 < 4096; ++v214_i1) {
      v214[v214_i1 + 4096 * (v214_i0)] = v0[0 + v214_i1 * 1 + 4096 * (19 + v214_i0 * 1)];
    }
  }
  const auto pt83 = cc.encode(v214);
  v130[83] = pt83;
  std::vector<double> v215(1 * 4096);
  for (int64_t v215_i0 = 0; v215_i0 < 1; ++v215_i0) {
    for (int64_t v215_i1 = 0; v215_i1 < 4096; ++v215_i1) {
      v215[v215_i1 + 4096 * (v215_i0)] = v0[0 + v215_i1 * 1 + 4096 * (20 + v215_i0 * 1)];
    }
  }
  const auto pt84 = cc.encode(v215);
  v130[84] = pt84;
  std::vector<double> v216(1 * 4096);
  for (int64_t v216_i0 = 0; v216_i0 < 1; ++v216_i0) {
    for (int64_t v216_i1 = 0; v216_i1 < 4096; ++v216_i1) {
      v216[v216_i1 + 4096 * (v216_i0)] = v0[0 + v216_i1 * 1 + 4096 * (21 + v216_i0 * 1)];
    }
  }
  const auto pt85 = cc.encode(v216);
  v130[85] = pt85;
  std::vector<double> v217(1 * 4096);
  for (int64_t v217_i0 = 0; v217_i0 < 1; ++v217_i0) {
    for (int64_t v217_i1 = 0; v217_i1 < 4096; ++v217_i1) {
      v217[v217_i1 + 4096 * (v217_i0)] = v0[0 + v217_i1 * 1 + 4096 * (22 + v217_i0 * 1)];
    }
  }
  const auto pt86 = cc.encode(v217);
  v130[86] = pt86;
  std::vector<double> v218(1 * 4096);
  for (int64_t v218_i0 = 0; v218_i0 < 1; ++v218_i0) {
    for (int64_t v218_i1 = 0; v218_i1 < 4096; ++v218_i1) {
      v218[v218_i1 + 4096 * (v218_i0)] = v0[0 + v218_i1 * 1 + 4096 * (23 + v218_i0 * 1)];
    }
  }
  const auto pt87 = cc.encode(v218);
  v130[87] = pt87;
  std::vector<double> v219(1 * 4096);
  for (int64_t v219_i0 = 0; v219_i0 < 1; ++v219_i0) {
    for (int64_t v219_i1 = 0; v219_i1 < 4096; ++v219_i1) {
      v219[v219_i1 + 4096 * (v219_i0)] = v0[0 + v219_i1 * 1 + 4096 * (24 + v219_i0 * 1)];
    }
  }
  const auto pt88 = cc.encode(v219);
  v130[88] = pt88;
  std::vector<double> v220(1 * 4096);
  for (int64_t v220_i0 = 0; v220_i0 < 1; ++v220_i0) {
    for (int64_t v220_i1 = 0; v220_i1 < 4096; ++v220_i1) {
      v220[v220_i1 + 4096 * (v220_i0)] = v0[0 + v220_i1 * 1 + 4096 * (25 + v220_i0 * 1)];
    }
  }
  const auto pt89 = cc.encode(v220);
  v130[89] = pt89;
  std::vector<double> v221(1 * 4096);
  for (int64_t v221_i0 = 0; v221_i0 < 1; ++v221_i0) {
    for (int64_t v221_i1 = 0; v221_i1 < 4096; ++v221_i1) {
      v221[v221_i1 + 4096 * (v221_i0)] = v0[0 + v221_i1 * 1 + 4096 * (26 + v221_i0 * 1)];
    }
  }
  const auto pt90 = cc.encode(v221);
  v130[90] = pt90;
  std::vector<double> v222(1 * 4096);
  for (int64_t v222_i0 = 0; v222_i0 < 1; ++v222_i0) {
    for (int64_t v222_i1 = 0; v222_i1 < 4096; ++v222_i1) {
      v222[v222_i1 + 4096 * (v222_i0)] = v0[0 + v222_i1 * 1 + 4096 * (27 + v222_i0 * 1)];
    }
  }
  const auto pt91 = cc.encode(v222);
  v130[91] = pt91;
  std::vector<double> v223(1 * 4096);
  for (int64_t v223_i0 = 0; v223_i0 < 1; ++v223_i0) {
    for (int64_t v223_i1 = 0; v223_i1 < 4096; ++v223_i1) {
      v223[v223_i1 + 4096 * (v223_i0)] = v0[0 + v223_i1 * 1 + 4096 * (28 + v223_i0 * 1)];
    }
  }
  const auto pt92 = cc.encode(v223);
  v130[92] = pt92;
  std::vector<double> v224(1 * 4096);
  for (int64_t v224_i0 = 0; v224_i0 < 1; ++v224_i0) {
    for (int64_t v224_i1 = 0; v224_i1 < 4096; ++v224_i1) {
      v224[v224_i1 + 4096 * (v224_i0)] = v0[0 + v224_i1 * 1 + 4096 * (29 + v224_i0 * 1)];
    }
  }
  const auto pt93 = cc.encode(v224);
  v130[93] = pt93;
  std::vector<double> v225(1 * 4096);
  for (int64_t v225_i0 = 0; v225_i0 < 1; ++v225_i0) {
    for (int64_t v225_i1 = 0; v225_i1 < 4096; ++v225_i1) {
      v225[v225_i1 + 4096 * (v225_i0)] = v0[0 + v225_i1 * 1 + 4096 * (30 + v225_i0 * 1)];
    }
  }
  const auto pt94 = cc.encode(v225);
  v130[94] = pt94;
  std::vector<double> v226(1 * 4096);
  for (int64_t v226_i0 = 0; v226_i0 < 1; ++v226_i0) {
    for (int64_t v226_i1 = 0; v226_i1 < 4096; ++v226_i1) {
      v226[v226_i1 + 4096 * (v226_i0)] = v0[0 + v226_i1 * 1 + 4096 * (31 + v226_i0 * 1)];
    }
  }
  const auto pt95 = cc.encode(v226);
  v130[95] = pt95;
  std::vector<double> v227(1 * 4096);
  for (int64_t v227_i0 = 0; v227_i0 < 1; ++v227_i0) {
    for (int64_t v227_i1 = 0; v227_i1 < 4096; ++v227_i1) {
      v227[v227_i1 + 4096 * (v227_i0)] = v0[0 + v227_i1 * 1 + 4096 * (32 + v227_i0 * 1)];
    }
  }
  const auto pt96 = cc.encode(v227);
  v130[96] = pt96;
  std::vector<double> v228(1 * 4096);
  for (int64_t v228_i0 = 0; v228_i0 < 1; ++v228_i0) {
    for (int64_t v228_i1 = 0; v228_i1 < 4096; ++v228_i1) {
      v228[v228_i1 + 4096 * (v228_i0)] = v0[0 + v228_i1 * 1 + 4096 * (33 + v228_i0 * 1)];
    }
  }
  const auto pt97 = cc.encode(v228);
  v130[97] = pt97;
  std::vector<double> v229(1 * 4096);
  for (int64_t v229_i0 = 0; v229_i0 < 1; ++v229_i0) {
    for (int64_t v229_i1 = 0; v229_i1 < 4096; ++v229_i1) {
      v229[v229_i1 + 4096 * (v229_i0)] = v0[0 + v229_i1 * 1 + 4096 * (34 + v229_i0 * 1)];
    }
  }
  const auto pt98 = cc.encode(v229);
  v130[98] = pt98;
  std::vector<double> v230(1 * 4096);
  for (int64_t v230_i0 = 0; v230_i0 < 1; ++v230_i0) {
    for (int64_t v230_i1 = 0; v230_i1 < 4096; ++v230_i1) {
      v230[v230_i1 + 4096 * (v230_i0)] = v0[0 + v230_i1 * 1 + 4096 * (35 + v230_i0 * 1)];
    }
  }
  const auto pt99 = cc.encode(v230);
  v130[99] = pt99;
  std::vector<double> v231(1 * 4096);
  for (int64_t v231_i0 = 0; v231_i0 < 1; ++v231_i0) {
    for (int64_t v231_i1 = 0; v231_i1 < 4096; ++v231_i1) {
      v231[v231_i1 + 4096 * (v231_i0)] = v0[0 + v231_i1 * 1 + 4096 * (36 + v231_i0 * 1)];
    }
  }
  const auto pt100 = cc.encode(v231);
  v130[100] = pt100;
  std::vector<double> v232(1 * 4096);
  for (int64_t v232_i0 = 0; v232_i0 < 1; ++v232_i0) {
    for (int64_t v232_i1 = 0; v232_i1 < 4096; ++v232_i1) {
      v232[v232_i1 + 4096 * (v232_i0)] = v0[0 + v232_i1 * 1 + 4096 * (37 + v232_i0 * 1)];
    }
  }
  const auto pt101 = cc.encode(v232);
  v130[101] = pt101;
  std::vector<double> v233(1 * 4096);
  for (int64_t v233_i0 = 0; v233_i0 < 1; ++v233_i0) {
    for (int64_t v233_i1 = 0; v233_i1 < 4096; ++v233_i1) {
      v233[v233_i1 + 4096 * (v233_i0)] = v0[0 + v233_i1 * 1 + 4096 * (38 + v233_i0 * 1)];
    }
  }
  const auto pt102 = cc.encode(v233);
  v130[102] = pt102;
  std::vector<double> v234(1 * 4096);
  for (int64_t v234_i0 = 0; v234_i0 < 1; ++v234_i0) {
    for (int64_t v234_i1 = 0; v234_i1 < 4096; ++v234_i1) {
      v234[v234_i1 + 4096 * (v234_i0)] = v0[0 + v234_i1 * 1 + 4096 * (39 + v234_i0 * 1)];
    }
  }
  const auto pt103 = cc.encode(v234);
  v130[103] = pt103;
  std::vector<double> v235(1 * 4096);
  for (int64_t v235_i0 = 0; v235_i0 < 1; ++v235_i0) {
    for (int64_t v235_i1 = 0; v235_i1 < 4096; ++v235_i1) {
      v235[v235_i1 + 4096 * (v235_i0)] = v0[0 + v235_i1 * 1 + 4096 * (40 + v235_i0 * 1)];
    }
  }
  const auto pt104 = cc.encode(v235);
  v130[104] = pt104;
  std::vector<double> v236(1 * 4096);
  for (int64_t v236_i0 = 0; v236_i0 < 1; ++v236_i0) {
    for (int64_t v236_i1 = 0; v236_i1 < 4096; ++v236_i1) {
      v236[v236_i1 + 4096 * (v236_i0)] = v0[0 + v236_i1 * 1 + 4096 * (41 + v236_i0 * 1)];
    }
  }
  const auto pt105 = cc.encode(v236);
  v130[105] = pt105;
  std::vector<double> v237(1 * 4096);
  for (int64_t v237_i0 = 0; v237_i0 < 1; ++v237_i0) {
    for (int64_t v237_i1 = 0; v237_i1 < 4096; ++v237_i1) {
      v237[v237_i1 + 4096 * (v237_i0)] = v0[0 + v237_i1 * 1 + 4096 * (42 + v237_i0 * 1)];
    }
  }
  const auto pt106 = cc.encode(v237);
  v130[106] = pt106;
  std::vector<double> v238(1 * 4096);
  for (int64_t v238_i0 = 0; v238_i0 < 1; ++v238_i0) {
    for (int64_t v238_i1 = 0; v238_i1 < 4096; ++v238_i1) {
      v238[v238_i1 + 4096 * (v238_i0)] = v0[0 + v238_i1 * 1 + 4096 * (43 + v238_i0 * 1)];
    }
  }
  const auto pt107 = cc.encode(v238);
  v130[107] = pt107;
  std::vector<double> v239(1 * 4096);
  for (int64_t v239_i0 = 0; v239_i0 < 1; ++v239_i0) {
    for (int64_t v239_i1 = 0; v239_i1 < 4096; ++v239_i1) {
      v239[v239_i1 + 4096 * (v239_i0)] = v0[0 + v239_i1 * 1 + 4096 * (44 + v239_i0 * 1)];
    }
  }
  const auto pt108 = cc.encode(v239);
  v130[108] = pt108;
  std::vector<double> v240(1 * 4096);
  for (int64_t v240_i0 = 0; v240_i0 < 1; ++v240_i0) {
    for (int64_t v240_i1 = 0; v240_i1 < 4096; ++v240_i1) {
      v240[v240_i1 + 4096 * (v240_i0)] = v0[0 + v240_i1 * 1 + 4096 * (45 + v240_i0 * 1)];
    }
  }
  const auto pt109 = cc.encode(v240);
  v130[109] = pt109;
  std::vector<double> v241(1 * 4096);
  for (int64_t v241_i0 = 0; v241_i0 < 1; ++v241_i0) {
    for (int64_t v241_i1 = 0; v241_i1 < 4096; ++v241_i1) {
      v241[v241_i1 + 4096 * (v241_i0)] = v0[0 + v241_i1 * 1 + 4096 * (46 + v241_i0 * 1)];
    }
  }
  const auto pt110 = cc.encode(v241);
  v130[110] = pt110;
  std::vector<double> v242(1 * 4096);
  for (int64_t v242_i0 = 0; v242_i0 < 1; ++v242_i0) {
    for (int64_t v242_i1 = 0; v242_i1 < 4096; ++v242_i1) {
      v242[v242_i1 + 4096 * (v242_i0)] = v0[0 + v242_i1 * 1 + 4096 * (47 + v242_i0 * 1)];
    }
  }
  const auto pt111 = cc.encode(v242);
  v130[111] = pt111;
  std::vector<double> v243(1 * 4096);
  for (int64_t v243_i0 = 0; v243_i0 < 1; ++v243_i0) {
    for (int64_t v243_i1 = 0; v243_i1 < 4096; ++v243_i1) {
      v243[v243_i1 + 4096 * (v243_i0)] = v0[0 + v243_i1 * 1 + 4096 * (48 + v243_i0 * 1)];
    }
  }
  const auto pt112 = cc.encode(v243);
  v130[112] = pt112;
  std::vector<double> v244(1 * 4096);
  for (int64_t v244_i0 = 0; v244_i0 < 1; ++v244_i0) {
    for (int64_t v244_i1 = 0; v244_i1 < 4096; ++v244_i1) {
      v244[v244_i1 + 4096 * (v244_i0)] = v0[0 + v244_i1 * 1 + 4096 * (49 + v244_i0 * 1)];
    }
  }
  const auto pt113 = cc.encode(v244);
  v130[113] = pt113;
  std::vector<double> v245(1 * 4096);
  for (int64_t v245_i0 = 0; v245_i0 < 1; ++v245_i0) {
    for (int64_t v245_i1 = 0; v245_i1 < 4096; ++v245_i1) {
      v245[v245_i1 + 4096 * (v245_i0)] = v0[0 + v245_i1 * 1 + 4096 * (50 + v245_i0 * 1)];
    }
  }
  const auto pt114 = cc.encode(v245);
  v130[114] = pt114;
  std::vector<double> v246(1 * 4096);
  for (int64_t v246_i0 = 0; v246_i0 < 1; ++v246_i0) {
    for (int64_t v246_i1 = 0; v246_i1 < 4096; ++v246_i1) {
      v246[v246_i1 + 4096 * (v246_i0)] = v0[0 + v246_i1 * 1 + 4096 * (51 + v246_i0 * 1)];
    }
  }
  const auto pt115 = cc.encode(v246);
  v130[115] = pt115;
  std::vector<double> v247(1 * 4096);
  for (int64_t v247_i0 = 0; v247_i0 < 1; ++v247_i0) {
    for (int64_t v247_i1 = 0; v247_i1 < 4096; ++v247_i1) {
      v247[v247_i1 + 4096 * (v247_i0)] = v0[0 + v247_i1 * 1 + 4096 * (52 + v247_i0 * 1)];
    }
  }
  const auto pt116 = cc.encode(v247);
  v130[116] = pt116;
  std::vector<double> v248(1 * 4096);
  for (int64_t v248_i0 = 0; v248_i0 < 1; ++v248_i0) {
    for (int64_t v248_i1 = 0; v248_i1 < 4096; ++v248_i1) {
      v248[v248_i1 + 4096 * (v248_i0)] = v0[0 + v248_i1 * 1 + 4096 * (53 + v248_i0 * 1)];
    }
  }
  const auto pt117 = cc.encode(v248);
  v130[117] = pt117;
  std::vector<double> v249(1 * 4096);
  for (int64_t v249_i0 = 0; v249_i0 < 1; ++v249_i0) {
    for (int64_t v249_i1 = 0; v249_i1 < 4096; ++v249_i1) {
      v249[v249_i1 + 4096 * (v249_i0)] = v0[0 + v249_i1 * 1 + 4096 * (54 + v249_i0 * 1)];
    }
  }
  const auto pt118 = cc.encode(v249);
  v130[118] = pt118;
  std::vector<double> v250(1 * 4096);
  for (int64_t v250_i0 = 0; v250_i0 < 1; ++v250_i0) {
    for (int64_t v250_i1 = 0; v250_i1 < 4096; ++v250_i1) {
      v250[v250_i1 + 4096 * (v250_i0)] = v0[0 + v250_i1 * 1 + 4096 * (55 + v250_i0 * 1)];
    }
  }
  const auto pt119 = cc.encode(v250);
  v130[119] = pt119;
  std::vector<double> v251(1 * 4096);
  for (int64_t v251_i0 = 0; v251_i0 < 1; ++v251_i0) {
    for (int64_t v251_i1 = 0; v251_i1 < 4096; ++v251_i1) {
      v251[v251_i1 + 4096 * (v251_i0)] = v0[0 + v251_i1 * 1 + 4096 * (56 + v251_i0 * 1)];
    }
  }
  const auto pt120 = cc.encode(v251);
  v130[120] = pt120;
  std::vector<double> v252(1 * 4096);
  for (int64_t v252_i0 = 0; v252_i0 < 1; ++v252_i0) {
    for (int64_t v252_i1 = 0; v252_i1 < 4096; ++v252_i1) {
      v252[v252_i1 + 4096 * (v252_i0)] = v0[0 + v252_i1 * 1 + 4096 * (57 + v252_i0 * 1)];
    }
  }
  const auto pt121 = cc.encode(v252);
  v130[121] = pt121;
  std::vector<double> v253(1 * 4096);
  for (int64_t v253_i0 = 0; v253_i0 < 1; ++v253_i0) {
    for (int64_t v253_i1 = 0; v253_i1 < 4096; ++v253_i1) {
      v253[v253_i1 + 4096 * (v253_i0)] = v0[0 + v253_i1 * 1 + 4096 * (58 + v253_i0 * 1)];
    }
  }
  const auto pt122 = cc.encode(v253);
  v130[122] = pt122;
  std::vector<double> v254(1 * 4096);
  for (int64_t v254_i0 = 0; v254_i0 < 1; ++v254_i0) {
    for (int64_t v254_i1 = 0; v254_i1 < 4096; ++v254_i1) {
      v254[v254_i1 + 4096 * (v254_i0)] = v0[0 + v254_i1 * 1 + 4096 * (59 + v254_i0 * 1)];
    }
  }
  const auto pt123 = cc.encode(v254);
  v130[123] = pt123;
  std::vector<double> v255(1 * 4096);
  for (int64_t v255_i0 = 0; v255_i0 < 1; ++v255_i0) {
    for (int64_t v255_i1 = 0; v255_i1 < 4096; ++v255_i1) {
      v255[v255_i1 + 4096 * (v255_i0)] = v0[0 + v255_i1 * 1 + 4096 * (60 + v255_i0 * 1)];
    }
  }
  const auto pt124 = cc.encode(v255);
  v130[124] = pt124;
  std::vector<double> v256(1 * 4096);
  for (int64_t v256_i0 = 0; v256_i0 < 1; ++v256_i0) {
    for (int64_t v256_i1 = 0; v256_i1 < 4096; ++v256_i1) {
      v256[v256_i1 + 4096 * (v256_i0)] = v0[0 + v256_i1 * 1 + 4096 * (61 + v256_i0 * 1)];
    }
  }
  const auto pt125 = cc.encode(v256);
  v130[125] = pt125;
  std::vector<double> v257(1 * 4096);
  for (int64_t v257_i0 = 0; v257_i0 < 1; ++v257_i0) {
    for (int64_t v257_i1 = 0; v257_i1 < 4096; ++v257_i1) {
      v257[v257_i1 + 4096 * (v257_i0)] = v0[0 + v257_i1 * 1 + 4096 * (62 + v257_i0 * 1)];
    }
  }
  const auto pt126 = cc.encode(v257);
  v130[126] = pt126;
  std::vector<double> v258(1 * 4096);
  for (int64_t v258_i0 = 0; v258_i0 < 1; ++v258_i0) {
    for (int64_t v258_i1 = 0; v258_i1 < 4096; ++v258_i1) {
      v258[v258_i1 + 4096 * (v258_i0)] = v0[0 + v258_i1 * 1 + 4096 * (63 + v258_i0 * 1)];
    }
  }
  const auto pt127 = cc.encode(v258);
  v130[127] = pt127;
  return v130;
}
std::vector<Ciphertext> chained_matmul__preprocessed(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<double> v1, std::vector<double> v2, const std::vector<Plaintext>& v3) {
  [[maybe_unused]] size_t v4 = 0;
  [[maybe_unused]] size_t v5 = 3584;
  [[maybe_unused]] size_t v6 = 3072;
  [[maybe_unused]] size_t v7 = 2560;
  [[maybe_unused]] size_t v8 = 2048;
  [[maybe_unused]] size_t v9 = 1536;
  [[maybe_unused]] size_t v10 = 1024;
  [[maybe_unused]] size_t v11 = 512;
  [[maybe_unused]] size_t v12 = 64;
  [[maybe_unused]] size_t v13 = 1;
  [[maybe_unused]] size_t v14 = 2;
  [[maybe_unused]] size_t v15 = 3;
  [[maybe_unused]] size_t v16 = 4;
  [[maybe_unused]] size_t v17 = 5;
  [[maybe_unused]] size_t v18 = 6;
  [[maybe_unused]] size_t v19 = 7;
  [[maybe_unused]] size_t v20 = 8;
  [[maybe_unused]] size_t v21 = 9;
  [[maybe_unused]] size_t v22 = 10;
  [[maybe_unused]] size_t v23 = 11;
  [[maybe_unused]] size_t v24 = 12;
  [[maybe_unused]] size_t v25 = 13;
  [[maybe_unused]] size_t v26 = 14;
  [[maybe_unused]] size_t v27 = 15;
  [[maybe_unused]] size_t v28 = 16;
  [[maybe_unused]] size_t v29 = 17;
  [[maybe_unused]] size_t v30 = 18;
  [[maybe_unused]] size_t v31 = 19;
  [[maybe_unused]] size_t v32 = 20;
  [[maybe_unused]] size_t v33 = 21;
  [[maybe_unused]] size_t v34 = 22;
  [[maybe_unused]] size_t v35 = 23;
  [[maybe_unused]] size_t v36 = 24;
  [[maybe_unused]] size_t v37 = 25;
  [[maybe_unused]] size_t v38 = 26;
  [[maybe_unused]] size_t v39 = 27;
  [[maybe_unused]] size_t v40 = 28;
  [[maybe_unused]] size_t v41 = 29;
  [[maybe_unused]] size_t v42 = 30;
  [[maybe_unused]] size_t v43 = 31;
  [[maybe_unused]] size_t v44 = 32;
  [[maybe_unused]] size_t v45 = 33;
  [[maybe_unused]] size_t v46 = 34;
  [[maybe_unused]] size_t v47 = 35;
  [[maybe_unused]] size_t v48 = 36;
  [[maybe_unused]] size_t v49 = 37;
  [[maybe_unused]] size_t v50 = 38;
  [[maybe_unused]] size_t v51 = 39;
  [[maybe_unused]] size_t v52 = 40;
  [[maybe_unused]] size_t v53 = 41;
  [[maybe_unused]] size_t v54 = 42;
  [[maybe_unused]] size_t v55 = 43;
  [[maybe_unused]] size_t v56 = 44;
  [[maybe_unused]] size_t v57 = 45;
  [[maybe_unused]] size_t v58 = 46;
  [[maybe_unused]] size_t v59 = 47;
  [[maybe_unused]] size_t v60 = 48;
  [[maybe_unused]] size_t v61 = 49;
  [[maybe_unused]] size_t v62 = 50;
  [[maybe_unused]] size_t v63 = 51;
  [[maybe_unused]] size_t v64 = 52;
  [[maybe_unused]] size_t v65 = 53;
  [[maybe_unused]] size_t v66 = 54;
  [[maybe_unused]] size_t v67 = 55;
  [[maybe_unused]] size_t v68 = 56;
  [[maybe_unused]] size_t v69 = 57;
  [[maybe_unused]] size_t v70 = 58;
  [[maybe_unused]] size_t v71 = 59;
  [[maybe_unused]] size_t v72 = 60;
  [[maybe_unused]] size_t v73 = 61;
  [[maybe_unused]] size_t v74 = 62;
  [[maybe_unused]] size_t v75 = 63;
  [[maybe_unused]] size_t v76 = 65;
  [[maybe_unused]] size_t v77 = 66;
  [[maybe_unused]] size_t v78 = 67;
  [[maybe_unused]] size_t v79 = 68;
  [[maybe_unused]] size_t v80 = 69;
  [[maybe_unused]] size_t v81 = 70;
  [[maybe_unused]] size_t v82 = 71;
  [[maybe_unused]] size_t v83 = 72;
  [[maybe_unused]] size_t v84 = 73;
  [[maybe_unused]] size_t v85 = 74;
  [[maybe_unused]] size_t v86 = 75;
  [[maybe_unused]] size_t v87 = 76;
  [[maybe_unused]] size_t v88 = 77;
  [[maybe_unused]] size_t v89 = 78;
  [[maybe_unused]] size_t v90 = 79;
  [[maybe_unused]] size_t v91 = 80;
  [[maybe_unused]] size_t v92 = 81;
  [[maybe_unused]] size_t v93 = 82;
  [[maybe_unused]] size_t v94 = 83;
  [[maybe_unused]] size_t v95 = 84;
  [[maybe_unused]] size_t v96 = 85;
  [[maybe_unused]] size_t v97 = 86;
  [[maybe_unused]] size_t v98 = 87;
  [[maybe_unused]] size_t v99 = 88;
  [[maybe_unused]] size_t v100 = 89;
  [[maybe_unused]] size_t v101 = 90;
  [[maybe_unused]] size_t v102 = 91;
  [[maybe_unused]] size_t v103 = 92;
  [[maybe_unused]] size_t v104 = 93;
  [[maybe_unused]] size_t v105 = 94;
  [[maybe_unused]] size_t v106 = 95;
  [[maybe_unused]] size_t v107 = 96;
  [[maybe_unused]] size_t v108 = 97;
  [[maybe_unused]] size_t v109 = 98;
  [[maybe_unused]] size_t v110 = 99;
  [[maybe_unused]] size_t v111 = 100;
  [[maybe_unused]] size_t v112 = 101;
  [[maybe_unused]] size_t v113 = 102;
  [[maybe_unused]] size_t v114 = 103;
  [[maybe_unused]] size_t v115 = 104;
  [[maybe_unused]] size_t v116 = 105;
  [[maybe_unused]] size_t v117 = 106;
  [[maybe_unused]] size_t v118 = 107;
  [[maybe_unused]] size_t v119 = 108;
  [[maybe_unused]] size_t v120 = 109;
  [[maybe_unused]] size_t v121 = 110;
  [[maybe_unused]] size_t v122 = 111;
  [[maybe_unused]] size_t v123 = 112;
  [[maybe_unused]] size_t v124 = 113;
  [[maybe_unused]] size_t v125 = 114;
  [[maybe_unused]] size_t v126 = 115;
  [[maybe_unused]] size_t v127 = 116;
  [[maybe_unused]] size_t v128 = 117;
  [[maybe_unused]] size_t v129 = 118;
  [[maybe_unused]] size_t v130 = 119;
  [[maybe_unused]] size_t v131 = 120;
  [[maybe_unused]] size_t v132 = 121;
  [[maybe_unused]] size_t v133 = 122;
  [[maybe_unused]] size_t v134 = 123;
  [[maybe_unused]] size_t v135 = 124;
  [[maybe_unused]] size_t v136 = 125;
  [[maybe_unused]] size_t v137 = 126;
  [[maybe_unused]] size_t v138 = 127;
  Plaintext pt = v3[0];
  Ciphertext ct = v0[0];
  const auto ct1 = cc.multiply(ct, pt);
  const auto ct2_rotations = cc.rotate_hoisted(ct, {64, 128, 192, 256, 320, 384, 448});
  const auto ct2 = ct2_rotations[0];
  const auto ct3 = ct2_rotations[1];
  const auto ct4 = ct2_rotations[2];
  const auto ct5 = ct2_rotations[3];
  const auto ct6 = ct2_rotations[4];
  const auto ct7 = ct2_rotations[5];
  const auto ct8 = ct2_rotations[6];
  Plaintext pt1 = v3[1];
  const auto ct9 = cc.multiply(ct2, pt1);
  const auto ct10 = cc.add(ct1, ct9);
  Plaintext pt2 = v3[2];
  const auto ct11 = cc.multiply(ct3, pt2);
  const auto ct12 = cc.add(ct10, ct11);
  Plaintext pt3 = v3[3];
  const auto ct13 = cc.multiply(ct4, pt3);
  const auto ct14 = cc.add(ct12, ct13);
  Plaintext pt4 = v3[4];
  const auto ct15 = cc.multiply(ct5, pt4);
  const auto ct16 = cc.add(ct14, ct15);
  Plaintext pt5 = v3[5];
  const auto ct17 = cc.multiply(ct6, pt5);
  const auto ct18 = cc.add(ct16, ct17);
  Plaintext pt6 = v3[6];
  const auto ct19 = cc.multiply(ct7, pt6);
  const auto ct20 = cc.add(ct18, ct19);
  Plaintext pt7 = v3[7];
  const auto ct21 = cc.multiply(ct8, pt7);
  const auto ct22 = cc.add(ct20, ct21);
  Plaintext pt8 = v3[8];
  const auto ct23 = cc.multiply(ct, pt8);
  Plaintext pt9 = v3[9];
  const auto ct24 = cc.multiply(ct2, pt9);
  const auto ct25 = cc.add(ct23, ct24);
  Plaintext pt10 = v3[10];
  const auto ct26 = cc.multiply(ct3, pt10);
  const auto ct27 = cc.add(ct25, ct26);
  Plaintext pt11 = v3[11];
  const auto ct28 = cc.multiply(ct4, pt11);
  const auto ct29 = cc.add(ct27, ct28);
  Plaintext pt12 = v3[12];
  const auto ct30 = cc.multiply(ct5, pt12);
  const auto ct31 = cc.add(ct29, ct30);
  Plaintext pt13 = v3[13];
  const auto ct32 = cc.multiply(ct6, pt13);
  const auto ct33 = cc.add(ct31, ct32);
  Plaintext pt14 = v3[14];
  const auto ct34 = cc.multiply(ct7, pt14);
  const auto ct35 = cc.add(ct33, ct34);
  Plaintext pt15 = v3[15];
  const auto ct36 = cc.multiply(ct8, pt15);
  const auto ct37 = cc.add(ct35, ct36);
  const auto ct38 = cc.rotate(ct37, 512);
  const auto ct39 = cc.add(ct22, ct38);
  Plaintext pt16 = v3[16];
  const auto ct40 = cc.multiply(ct, pt16);
  Plaintext pt17 = v3[17];
  const auto ct41 = cc.multiply(ct2, pt17);
  const auto ct42 = cc.add(ct40, ct41);
  Plaintext pt18 = v3[18];
  const auto ct43 = cc.multiply(ct3, pt18);
  const auto ct44 = cc.add(ct42, ct43);
  Plaintext pt19 = v3[19];
  const auto ct45 = cc.multiply(ct4, pt19);
  const auto ct46 = cc.add(ct44, ct45);
  Plaintext pt20 = v3[20];
  const auto ct47 = cc.multiply(ct5, pt20);
  const auto ct48 = cc.add(ct46, ct47);
  Plaintext pt21 = v3[21];
  const auto ct49 = cc.multiply(ct6, pt21);
  const auto ct50 = cc.add(ct48, ct49);
  Plaintext pt22 = v3[22];
  const auto ct51 = cc.multiply(ct7, pt22);
  const auto ct52 = cc.add(ct50, ct51);
  Plaintext pt23 = v3[23];
  const auto ct53 = cc.multiply(ct8, pt23);
  const auto ct54 = cc.add(ct52, ct53);
  const auto ct55 = cc.rotate(ct54, 1024);
  const auto ct56 = cc.add(ct39, ct55);
  Plaintext pt24 = v3[24];
  const auto ct57 = cc.multiply(ct, pt24);
  Plaintext pt25 = v3[25];
  const auto ct58 = cc.multiply(ct2, pt25);
  const auto ct59 = cc.add(ct57, ct58);
  Plaintext pt26 = v3[26];
  const auto ct60 = cc.multiply(ct3, pt26);
  const auto ct61 = cc.add(ct59, ct60);
  Plaintext pt27 = v3[27];
  const auto ct62 = cc.multiply(ct4, pt27);
  const auto ct63 = cc.add(ct61, ct62);
  Plaintext pt28 = v3[28];
  const auto ct64 = cc.multiply(ct5, pt28);
  const auto ct65 = cc.add(ct63, ct64);
  Plaintext pt29 = v3[29];
  const auto ct66 = cc.multiply(ct6, pt29);
  const auto ct67 = cc.add(ct65, ct66);
  Plaintext pt30 = v3[30];
  const auto ct68 = cc.multiply(ct7, pt30);
  const auto ct69 = cc.add(ct67, ct68);
  Plaintext pt31 = v3[31];
  const auto ct70 = cc.multiply(ct8, pt31);
  const auto ct71 = cc.add(ct69, ct70);
  const auto ct72 = cc.rotate(ct71, 1536);
  const auto ct73 = cc.add(ct56, ct72);
  Plaintext pt32 = v3[32];
  const auto ct74 = cc.multiply(ct, pt32);
  Plaintext pt33 = v3[33];
  const auto ct75 = cc.multiply(ct2, pt33);
  const auto ct76 = cc.add(ct74, ct75);
  Plaintext pt34 = v3[34];
  const auto ct77 = cc.multiply(ct3, pt34);
  const auto ct78 = cc.add(ct76, ct77);
  Plaintext pt35 = v3[35];
  const auto ct79 = cc.multiply(ct4, pt35);
  const auto ct80 = cc.add(ct78, ct79);
  Plaintext pt36 = v3[36];
  const auto ct81 = cc.multiply(ct5, pt36);
  const auto ct82 = cc.add(ct80, ct81);
  Plaintext pt37 = v3[37];
  const auto ct83 = cc.multiply(ct6, pt37);
  const auto ct84 = cc.add(ct82, ct83);
  Plaintext pt38 = v3[38];
  const auto ct85 = cc.multiply(ct7, pt38);
  const auto ct86 = cc.add(ct84, ct85);
  Plaintext pt39 = v3[39];
  const auto ct87 = cc.multiply(ct8, pt39);
  const auto ct88 = cc.add(ct86, ct87);
  const auto ct89 = cc.rotate(ct88, 2048);
  const auto ct90 = cc.add(ct73, ct89);
  Plaintext pt40 = v3[40];
  const auto ct91 = cc.multiply(ct, pt40);
  Plaintext pt41 = v3[41];
  const auto ct92 = cc.multiply(ct2, pt41);
  const auto ct93 = cc.add(ct91, ct92);
  Plaintext pt42 = v3[42];
  const auto ct94 = cc.multiply(ct3, pt42);
  const auto ct95 = cc.add(ct93, ct94);
  Plaintext pt43 = v3[43];
  const auto ct96 = cc.multiply(ct4, pt43);
  const auto ct97 = cc.add(ct95, ct96);
  Plaintext pt44 = v3[44];
  const auto ct98 = cc.multiply(ct5, pt44);
  const auto ct99 = cc.add(ct97, ct98);
  Plaintext pt45 = v3[45];
  const auto ct100 = cc.multiply(ct6, pt45);
  const auto ct101 = cc.add(ct99, ct100);
  Plaintext pt46 = v3[46];
  const auto ct102 = cc.multiply(ct7, pt46);
  const auto ct103 = cc.add(ct101, ct102);
  Plaintext pt47 = v3[47];
  const auto ct104 = cc.multiply(ct8, pt47);
  const auto ct105 = cc.add(ct103, ct104);
  const auto ct106 = cc.rotate(ct105, 2560);
  const auto ct107 = cc.add(ct90, ct106);
  Plaintext pt48 = v3[48];
  const auto ct108 = cc.multiply(ct, pt48);
  Plaintext pt49 = v3[49];
  const auto ct109 = cc.multiply(ct2, pt49);
  const auto ct110 = cc.add(ct108, ct109);
  Plaintext pt50 = v3[50];
  const auto ct111 = cc.multiply(ct3, pt50);
  const auto ct112 = cc.add(ct110, ct111);
  Plaintext pt51 = v3[51];
  const auto ct113 = cc.multiply(ct4, pt51);
  const auto ct114 = cc.add(ct112, ct113);
  Plaintext pt52 = v3[52];
  const auto ct115 = cc.multiply(ct5, pt52);
  const auto ct116 = cc.add(ct114, ct115);
  Plaintext pt53 = v3[53];
  const auto ct117 = cc.multiply(ct6, pt53);
  const auto ct118 = cc.add(ct116, ct117);
  Plaintext pt54 = v3[54];
  const auto ct119 = cc.multiply(ct7, pt54);
  const auto ct120 = cc.add(ct118, ct119);
  Plaintext pt55 = v3[55];
  const auto ct121 = cc.multiply(ct8, pt55);
  const auto ct122 = cc.add(ct120, ct121);
  const auto ct123 = cc.rotate(ct122, 3072);
  const auto ct124 = cc.add(ct107, ct123);
  Plaintext pt56 = v3[56];
  const auto ct125 = cc.multiply(ct, pt56);
  Plaintext pt57 = v3[57];
  const auto ct126 = cc.multiply(ct2, pt57);
  const auto ct127 = cc.add(ct125, ct126);
  Plaintext pt58 = v3[58];
  const auto ct128 = cc.multiply(ct3, pt58);
  const auto ct129 = cc.add(ct127, ct128);
  Plaintext pt59 = v3[59];
  const auto ct130 = cc.multiply(ct4, pt59);
  const auto ct131 = cc.add(ct129, ct130);
  Plaintext pt60 = v3[60];
  const auto ct132 = cc.multiply(ct5, pt60);
  const auto ct133 = cc.add(ct131, ct132);
  Plaintext pt61 = v3[61];
  const auto ct134 = cc.multiply(ct6, pt61);
  const auto ct135 = cc.add(ct133, ct134);
  Plaintext pt62 = v3[62];
  const auto ct136 = cc.multiply(ct7, pt62);
  const auto ct137 = cc.add(ct135, ct136);
  Plaintext pt63 = v3[63];
  const auto ct138 = cc.multiply(ct8, pt63);
  const auto ct139 = cc.add(ct137, ct138);
  const auto ct140 = cc.rotate(ct139, 3584);
  const auto ct141 = cc.add(ct124, ct140);
  const auto ct142 = cc.rescale(ct141);
  Plaintext pt64 = v3[64];
  const auto ct143 = cc.multiply(ct142, pt64);
  const auto ct144_rotations = cc.rotate_hoisted(ct141, {64, 128, 192, 256, 320, 384, 448});
  const auto ct144 = ct144_rotations[0];
  const auto ct145 = ct144_rotations[1];
  const auto ct146 = ct144_rotations[2];
  const auto ct147 = ct144_rotations[3];
  const auto ct148 = ct144_rotations[4];
  const auto ct149 = ct144_rotations[5];
  const auto ct150 = ct144_rotations[6];
  const auto ct151 = cc.rescale(ct144);
  Plaintext pt65 = v3[65];
  const auto ct152 = cc.multiply(ct151, pt65);
  const auto ct153 = cc.add(ct143, ct152);
  const auto ct154 = cc.rescale(ct145);
  Plaintext pt66 = v3[66];
  const auto ct155 = cc.multiply(ct154, pt66);
  const auto ct156 = cc.add(ct153, ct155);
  const auto ct157 = cc.rescale(ct146);
  Plaintext pt67 = v3[67];
  const auto ct158 = cc.multiply(ct157, pt67);
  const auto ct159 = cc.add(ct156, ct158);
  const auto ct160 = cc.rescale(ct147);
  Plaintext pt68 = v3[68];
  const auto ct161 = cc.multiply(ct160, pt68);
  const auto ct162 = cc.add(ct159, ct161);
  const auto ct163 = cc.rescale(ct148);
  Plaintext pt69 = v3[69];
  const auto ct164 = cc.multiply(ct163, pt69);
  const auto ct165 = cc.add(ct162, ct164);
  const auto ct166 = cc.rescale(ct149);
  Plaintext pt70 = v3[70];
  const auto ct167 = cc.multiply(ct166, pt70);
  const auto ct168 = cc.add(ct165, ct167);
  const auto ct169 = cc.rescale(ct150);
  Plaintext pt71 = v3[71];
  const auto ct170 = cc.multiply(ct169, pt71);
  const auto ct171 = cc.add(ct168, ct170);
  Plaintext pt72 = v3[72];
  const auto ct172 = cc.multiply(ct142, pt72);
  Plaintext pt73 = v3[73];
  const auto ct173 = cc.multiply(ct151, pt73);
  const auto ct174 = cc.add(ct172, ct173);
  Plaintext pt74 = v3[74];
  const auto ct175 = cc.multiply(ct154, pt74);
  const auto ct176 = cc.add(ct174, ct175);
  Plaintext pt75 = v3[75];
  const auto ct177 = cc.multiply(ct157, pt75);
  const auto ct178 = cc.add(ct176, ct177);
  Plaintext pt76 = v3[76];
  const auto ct179 = cc.multiply(ct160, pt76);
  const auto ct180 = cc.add(ct178, ct179);
  Plaintext pt77 = v3[77];
  const auto ct181 = cc.multiply(ct163, pt77);
  const auto ct182 = cc.add(ct180, ct181);
  Plaintext pt78 = v3[78];
  const auto ct183 = cc.multiply(ct166, pt78);
  const auto ct184 = cc.add(ct182, ct183);
  Plaintext pt79 = v3[79];
  const auto ct185 = cc.multiply(ct169, pt79);
  const auto ct186 = cc.add(ct184, ct185);
  const auto ct187 = cc.rotate(ct186, 512);
  const auto ct188 = cc.add(ct171, ct187);
  Plaintext pt80 = v3[80];
  const auto ct189 = cc.multiply(ct142, pt80);
  Plaintext pt81 = v3[81];
  const auto ct190 = cc.multiply(ct151, pt81);
  const auto ct191 = cc.add(ct189, ct190);
  Plaintext pt82 = v3[82];
  const auto ct192 = cc.multiply(ct154, pt82);
  const auto ct193 = cc.add(ct191, ct192);
  Plaintext pt83 = v3[83];
  const auto ct194 = cc.multiply(ct157, pt83);
  const auto ct195 = cc.add(ct193, ct194);
  Plaintext pt84 = v3[84];
  const auto ct196 = cc.multiply(ct160, pt84);
  const auto ct197 = cc.add(ct195, ct196);
  Plaintext pt85 = v3[85];
  const auto ct198 = cc.multiply(ct163, pt85);
  const auto ct199 = cc.add(ct197, ct198);
  Plaintext pt86 = v3[86];
  const auto ct200 = cc.multiply(ct166, pt86);
  const auto ct201 = cc.add(ct199, ct200);
  Plaintext pt87 = v3[87];
  const auto ct202 = cc.multiply(ct169, pt87);
  const auto ct203 = cc.add(ct201, ct202);
  const auto ct204 = cc.rotate(ct203, 1024);
  const auto ct205 = cc.add(ct188, ct204);
  Plaintext pt88 = v3[88];
  const auto ct206 = cc.multiply(ct142, pt88);
  Plaintext pt89 = v3[89];
  const auto ct207 = cc.multiply(ct151, pt89);
  const auto ct208 = cc.add(ct206, ct207);
  Plaintext pt90 = v3[90];
  const auto ct209 = cc.multiply(ct154, pt90);
  const auto ct210 = cc.add(ct208, ct209);
  Plaintext pt91 = v3[91];
  const auto ct211 = cc.multiply(ct157, pt91);
  const auto ct212 = cc.add(ct210, ct211);
  Plaintext pt92 = v3[92];
  const auto ct213 = cc.multiply(ct160, pt92);
  const auto ct214 = cc.add(ct212, ct213);
  Plaintext pt93 = v3[93];
  const auto ct215 = cc.multiply(ct163, pt93);
  const auto ct216 = cc.add(ct214, ct215);
  Plaintext pt94 = v3[94];
  const auto ct217 = cc.multiply(ct166, pt94);
  const auto ct218 = cc.add(ct216, ct217);
  Plaintext pt95 = v3[95];
  const auto ct219 = cc.multiply(ct169, pt95);
  const auto ct220 = cc.add(ct218, ct219);
  const auto ct221 = cc.rotate(ct220, 1536);
  const auto ct222 = cc.add(ct205, ct221);
  Plaintext pt96 = v3[96];
  const auto ct223 = cc.multiply(ct142, pt96);
  Plaintext pt97 = v3[97];
  const auto ct224 = cc.multiply(ct151, pt97);
  const auto ct225 = cc.add(ct223, ct224);
  Plaintext pt98 = v3[98];
  const auto ct226 = cc.multiply(ct154, pt98);
  const auto ct227 = cc.add(ct225, ct226);
  Plaintext pt99 = v3[99];
  const auto ct228 = cc.multiply(ct157, pt99);
  const auto ct229 = cc.add(ct227, ct228);
  Plaintext pt100 = v3[100];
  const auto ct230 = cc.multiply(ct160, pt100);
  const auto ct231 = cc.add(ct229, ct230);
  Plaintext pt101 = v3[101];
  const auto ct232 = cc.multiply(ct163, pt101);
  const auto ct233 = cc.add(ct231, ct232);
  Plaintext pt102 = v3[102];
  const auto ct234 = cc.multiply(ct166, pt102);
  const auto ct235 = cc.add(ct233, ct234);
  Plaintext pt103 = v3[103];
  const auto ct236 = cc.multiply(ct169, pt103);
  const auto ct237 = cc.add(ct235, ct236);
  const auto ct238 = cc.rotate(ct237, 2048);
  const auto ct239 = cc.add(ct222, ct238);
  Plaintext pt104 = v3[104];
  const auto ct240 = cc.multiply(ct142, pt104);
  Plaintext pt105 = v3[105];
  const auto ct241 = cc.multiply(ct151, pt105);
  const auto ct242 = cc.add(ct240, ct241);
  Plaintext pt106 = v3[106];
  const auto ct243 = cc.multiply(ct154, pt106);
  const auto ct244 = cc.add(ct242, ct243);
  Plaintext pt107 = v3[107];
  const auto ct245 = cc.multiply(ct157, pt107);
  const auto ct246 = cc.add(ct244, ct245);
  Plaintext pt108 = v3[108];
  const auto ct247 = cc.multiply(ct160, pt108);
  const auto ct248 = cc.add(ct246, ct247);
  Plaintext pt109 = v3[109];
  const auto ct249 = cc.multiply(ct163, pt109);
  const auto ct250 = cc.add(ct248, ct249);
  Plaintext pt110 = v3[110];
  const auto ct251 = cc.multiply(ct166, pt110);
  const auto ct252 = cc.add(ct250, ct251);
  Plaintext pt111 = v3[111];
  const auto ct253 = cc.multiply(ct169, pt111);
  const auto ct254 = cc.add(ct252, ct253);
  const auto ct255 = cc.rotate(ct254, 2560);
  const auto ct256 = cc.add(ct239, ct255);
  Plaintext pt112 = v3[112];
  const auto ct257 = cc.multiply(ct142, pt112);
  Plaintext pt113 = v3[113];
  const auto ct258 = cc.multiply(ct151, pt113);
  const auto ct259 = cc.add(ct257, ct258);
  Plaintext pt114 = v3[114];
  const auto ct260 = cc.multiply(ct154, pt114);
  const auto ct261 = cc.add(ct259, ct260);
  Plaintext pt115 = v3[115];
  const auto ct262 = cc.multiply(ct157, pt115);
  const auto ct263 = cc.add(ct261, ct262);
  Plaintext pt116 = v3[116];
  const auto ct264 = cc.multiply(ct160, pt116);
  const auto ct265 = cc.add(ct263, ct264);
  Plaintext pt117 = v3[117];
  const auto ct266 = cc.multiply(ct163, pt117);
  const auto ct267 = cc.add(ct265, ct266);
  Plaintext pt118 = v3[118];
  const auto ct268 = cc.multiply(ct166, pt118);
  const auto ct269 = cc.add(ct267, ct268);
  Plaintext pt119 = v3[119];
  const auto ct270 = cc.multiply(ct169, pt119);
  const auto ct271 = cc.add(ct269, ct270);
  const auto ct272 = cc.rotate(ct271, 3072);
  const auto ct273 = cc.add(ct256, ct272);
  Plaintext pt120 = v3[120];
  const auto ct274 = cc.multiply(ct142, pt120);
  Plaintext pt121 = v3[121];
  const auto ct275 = cc.multiply(ct151, pt121);
  const auto ct276 = cc.add(ct274, ct275);
  Plaintext pt122 = v3[122];
  const auto ct277 = cc.multiply(ct154, pt122);
  const auto ct278 = cc.add(ct276, ct277);
  Plaintext pt123 = v3[123];
  const auto ct279 = cc.multiply(ct157, pt123);
  const auto ct280 = cc.add(ct278, ct279);
  Plaintext pt124 = v3[124];
  const auto ct281 = cc.multiply(ct160, pt124);
  const auto ct282 = cc.add(ct280, ct281);
  Plaintext pt125 = v3[125];
  const auto ct283 = cc.multiply(ct163, pt125);
  const auto ct284 = cc.add(ct282, ct283);
  Plaintext pt126 = v3[126];
  const auto ct285 = cc.multiply(ct166, pt126);
  const auto ct286 = cc.add(ct284, ct285);
  Plaintext pt127 = v3[127];
  const auto ct287 = cc.multiply(ct169, pt127);
  const auto ct288 = cc.add(ct286, ct287);
  const auto ct289 = cc.rotate(ct288, 3584);
  const auto ct290 = cc.add(ct273, ct289);
  std::vector<Ciphertext> v139(1);
  const auto ct291 = cc.rescale(ct290);
  v139[0] = ct291;
  return v139;
}
std::vector<Ciphertext> chained_matmul(CryptoContext cc, std::vector<Ciphertext> v0, std::vector<double> v1, std::vector<double> v2) {
  const auto& v3 = chained_matmul__preprocessing(cc, v2, v1);
  const auto& v4 = chained_matmul__preprocessed(cc, v0, v1, v2, v3);
  return v4;
}
std::vector<Ciphertext> chained_matmul__encrypt__arg0(CryptoContext cc, std::vector<double> v0, PublicKey pk) {
  std::vector<double> v1(1 * 4096);
  for (int64_t v1_i0 = 0; v1_i0 < 1; ++v1_i0) {
    for (int64_t v1_i1 = 0; v1_i1 < 4096; ++v1_i1) {
      v1[v1_i1 + 4096 * (v1_i0)] = v0[0 + v1_i1 * 1 + 4096 * (0 + v1_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v1);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v2 = {ct};
  return v2;
}
std::vector<double> chained_matmul__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] size_t v1 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v2 = cc.decode<double>(pt, 4096);
  return v2;
}
Parameters chained_matmul__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 2;
  params.slots = 4096;
  params.scale_bits = 45;
  params.first_bits = 55;
  return params;
}
CryptoContext chained_matmul__generate_crypto_context() {
  const auto& params = chained_matmul__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext chained_matmul__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {64, 128, 192, 256, 320, 384, 448, 512, 1024, 1536, 2048, 2560, 3072, 3584}});
  return cc1;
}
