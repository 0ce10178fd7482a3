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
Ciphertext test_binops(CryptoContext cc, Ciphertext ct, Ciphertext ct1) {
  const auto ct2 = cc.add(ct, ct1);
  const auto ct3 = cc.subtract(ct, ct1);
  const auto ct4 = cc.multiply(ct2, ct3);
  const auto ct5 = cc.relinearize(ct4);
  return ct5;
}
