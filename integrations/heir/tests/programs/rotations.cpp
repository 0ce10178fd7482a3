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
std::vector<Ciphertext> rotations(CryptoContext cc, std::vector<Ciphertext> v0) {
  [[maybe_unused]] size_t v1 = 0;
  Ciphertext ct = v0[0];
  const auto ct1_rotations = cc.rotate_hoisted(ct, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25});
  const auto ct1 = ct1_rotations[0];
  const auto ct2 = ct1_rotations[1];
  const auto ct3 = ct1_rotations[2];
  const auto ct4 = ct1_rotations[3];
  const auto ct5 = ct1_rotations[4];
  const auto ct6 = ct1_rotations[5];
  const auto ct7 = ct1_rotations[6];
  const auto ct8 = ct1_rotations[7];
  const auto ct9 = ct1_rotations[8];
  const auto ct10 = ct1_rotations[9];
  const auto ct11 = ct1_rotations[10];
  const auto ct12 = ct1_rotations[11];
  const auto ct13 = ct1_rotations[12];
  const auto ct14 = ct1_rotations[13];
  const auto ct15 = ct1_rotations[14];
  const auto ct16 = ct1_rotations[15];
  const auto ct17 = ct1_rotations[16];
  const auto ct18 = ct1_rotations[17];
  const auto ct19 = ct1_rotations[18];
  const auto ct20 = ct1_rotations[19];
  const auto ct21 = ct1_rotations[20];
  const auto ct22 = ct1_rotations[21];
  const auto ct23 = ct1_rotations[22];
  const auto ct24 = ct1_rotations[23];
  const auto ct25 = ct1_rotations[24];
  const std::vector<Ciphertext> v2 = {ct1, ct2, ct3, ct4, ct5, ct6, ct7, ct8, ct9, ct10, ct11, ct12, ct13, ct14, ct15, ct16, ct17, ct18, ct19, ct20, ct21, ct22, ct23, ct24, ct25};
  return v2;
}
