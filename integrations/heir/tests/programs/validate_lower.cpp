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
void __heir_debug(CryptoContext, SecretKey, std::vector<Ciphertext>, const std::map<std::string, std::string>&);
std::vector<Ciphertext> test_validate_lower(CryptoContext cc, SecretKey sk, std::vector<Ciphertext> v0) {
  [[maybe_unused]] size_t v1 = 0;
  std::map<std::string, std::string> debugAttrMap0;
  debugAttrMap0["debug.metadata"] = "input_meta";
  debugAttrMap0["debug.name"] = "input_val";
  debugAttrMap0["message.size"] = "8";
  debugAttrMap0["asm.is_block_arg"] = "1";
  debugAttrMap0["asm.result_ssa_format"] = "<block argument> of type 'tensor<1x!hemera.ciphertext>' at index: 2";
  __heir_debug(cc, sk, v0, debugAttrMap0);
  std::vector<Ciphertext> v2(1);
  Ciphertext ct = v0[0];
  const auto ct1 = cc.add(ct, ct);
  v2[0] = ct1;
  std::map<std::string, std::string> debugAttrMap1;
  debugAttrMap1["debug.metadata"] = "output_meta";
  debugAttrMap1["debug.name"] = "output_val";
  debugAttrMap1["message.size"] = "8";
  debugAttrMap1["asm.is_block_arg"] = "0";
  debugAttrMap1["asm.op_name"] = "tensor.insert";
  debugAttrMap1["asm.result_ssa_format"] = "%inserted = tensor.insert %ct into %0[%c0] : tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, v2, debugAttrMap1);
  return v2;
}
std::vector<Ciphertext> test_validate_lower__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 8;
  [[maybe_unused]] int32_t v2 = 1;
  [[maybe_unused]] int32_t v3 = 0;
  std::vector<float> v4(8, 0);
  [[maybe_unused]] size_t v5 = 0;
  std::vector<float> v6 = std::move(v4);
  for (auto v7 = 0; v7 < 8; v7 += 1) {
    size_t v9 = static_cast<size_t>(v7);
    float v10 = v0[v9];
    v6[v9 + 8 * (0)] = v10;
  }
  std::vector<float> v12(1 * 8);
  for (int64_t v12_i0 = 0; v12_i0 < 1; ++v12_i0) {
    for (int64_t v12_i1 = 0; v12_i1 < 8; ++v12_i1) {
      v12[v12_i1 + 8 * (v12_i0)] = v6[0 + v12_i1 * 1 + 8 * (0 + v12_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v12);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v13 = {ct};
  return v13;
}
std::vector<float> test_validate_lower__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  std::vector<float> v1(8, 0);
  [[maybe_unused]] int32_t v2 = 0;
  [[maybe_unused]] int32_t v3 = 7;
  [[maybe_unused]] int32_t v4 = 1;
  [[maybe_unused]] int32_t v5 = 8;
  [[maybe_unused]] size_t v6 = 0;
  Ciphertext ct = v0[0];
  const auto pt = cc.decrypt(ct, sk);
  auto v7 = cc.decode<float>(pt, 8);
  std::vector<float> v8 = std::move(v1);
  for (auto v9 = 0; v9 < 8; v9 += 1) {
    int32_t v11 = v3 - v9;
    size_t v12 = static_cast<size_t>(v11);
    float v13 = v7[v12 + 8 * (0)];
    v8[v12] = v13;
  }
  return v8;
}
Parameters test_validate_lower__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 0;
  params.slots = 8;
  params.scale_bits = 45;
  params.first_bits = 55;
  return params;
}
CryptoContext test_validate_lower__generate_crypto_context() {
  const auto& params = test_validate_lower__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext test_validate_lower__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{false, {}});
  return cc1;
}
