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
std::vector<Ciphertext> parallel_rotations(CryptoContext cc, std::vector<Ciphertext> v0) {
  std::vector<size_t> v1 = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25};
  [[maybe_unused]] size_t v2 = 0;
  Ciphertext ct = v0[0];
  std::vector<Ciphertext> v3(25);
  #pragma omp parallel for
  for (auto v5 = 0; v5 < 25; ++v5) {
    size_t v7 = v1[v5];
    const auto ct1 = cc.rotate(ct, v7);
    const std::vector<Ciphertext> v8 = {ct1};
    v3[v5] = v8[0];
  }
  return v3;
}
