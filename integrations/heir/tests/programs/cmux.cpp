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
std::vector<Plaintext> cmux__preprocessing(CryptoContext cc, int64_t v0, int64_t v1) {
  std::vector<bool> v2(1024, true);
  [[maybe_unused]] size_t v3 = 0;
  [[maybe_unused]] size_t v4 = 1;
  [[maybe_unused]] size_t v5 = 2;
  std::vector<Plaintext> v6(3);
  const auto pt = cc.encode(v2);
  v6[0] = pt;
  std::vector<int64_t> v7(1024, v1);
  const auto pt1 = cc.encode(v7);
  v6[1] = pt1;
  std::vector<int64_t> v8(1024, v0);
  const auto pt2 = cc.encode(v8);
  v6[2] = pt2;
  return v6;
}
std::vector<Ciphertext> cmux__preprocessed(CryptoContext cc, int64_t v0, int64_t v1, std::vector<Ciphertext> v2, const std::vector<Plaintext>& v3) {
  [[maybe_unused]] size_t v4 = 0;
  [[maybe_unused]] size_t v5 = 1;
  [[maybe_unused]] size_t v6 = 2;
  Plaintext pt = v3[0];
  Ciphertext ct = v2[0];
  const auto ct1 = cc.subtract(ct, pt);
  const auto ct2 = cc.negate(ct1);
  Plaintext pt1 = v3[1];
  const auto ct3 = cc.multiply(ct, pt1);
  Plaintext pt2 = v3[2];
  const auto ct4 = cc.multiply(ct2, pt2);
  std::vector<Ciphertext> v7(1);
  const auto ct5 = cc.add(ct3, ct4);
  v7[0] = ct5;
  return v7;
}
std::vector<Ciphertext> cmux(CryptoContext cc, int64_t v0, int64_t v1, std::vector<Ciphertext> v2) {
  const auto& v3 = cmux__preprocessing(cc, v1, v0);
  const auto& v4 = cmux__preprocessed(cc, v0, v1, v2, v3);
  return v4;
}
std::vector<Ciphertext> cmux__encrypt__arg2(CryptoContext cc, bool v0, PublicKey pk) {
  std::vector<bool> v1(1024, v0);
  const auto pt = cc.encode(v1);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v2 = {ct};
  return v2;
}
int64_t cmux__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] size_t v1 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v2 = cc.decode<int64_t>(pt, 1024);
  int64_t v3 = v2[0 + 1024 * (0)];
  return v3;
}
Parameters cmux__parameters() {
  Parameters params;
  params.scheme = Scheme::bgv;
  params.depth = 1;
  params.slots = 1024;
  params.plain_modulus = 65537;
  params.terms = 1;
  return params;
}
CryptoContext cmux__generate_crypto_context() {
  const auto& params = cmux__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext cmux__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {}});
  return cc1;
}
