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
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, std::vector<Ciphertext>, const std::map<std::string, std::string>&);
std::vector<Plaintext> dot_product__preprocessing(CryptoContext cc) {
  auto v0 = runs<int16_t>({{1, 1}, {1023, 0}});
  [[maybe_unused]] size_t v1 = 0;
  std::vector<Plaintext> v2(1);
  const auto pt = cc.encode(v0);
  v2[0] = pt;
  return v2;
}
std::vector<Ciphertext> dot_product__preprocessed(CryptoContext cc, SecretKey sk, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1, const std::vector<Plaintext>& v2) {
  [[maybe_unused]] size_t v3 = 4;
  [[maybe_unused]] size_t v4 = 2;
  [[maybe_unused]] size_t v5 = 1;
  [[maybe_unused]] size_t v6 = 0;
  std::map<std::string, std::string> debugAttrMap0;
  debugAttrMap0["debug.name"] = "heir_debug_0";
  debugAttrMap0["message.size"] = "1";
  debugAttrMap0["asm.is_block_arg"] = "1";
  debugAttrMap0["asm.result_ssa_format"] = "<block argument> of type 'tensor<1x!hemera.ciphertext>' at index: 2";
  __heir_debug(cc, sk, v0, debugAttrMap0);
  std::map<std::string, std::string> debugAttrMap1;
  debugAttrMap1["debug.name"] = "heir_debug_1";
  debugAttrMap1["message.size"] = "1";
  debugAttrMap1["asm.is_block_arg"] = "1";
  debugAttrMap1["asm.result_ssa_format"] = "<block argument> of type 'tensor<1x!hemera.ciphertext>' at index: 3";
  __heir_debug(cc, sk, v1, debugAttrMap1);
  Ciphertext ct = v0[0];
  std::map<std::string, std::string> debugAttrMap2;
  debugAttrMap2["debug.name"] = "heir_debug_2";
  debugAttrMap2["message.size"] = "1";
  debugAttrMap2["asm.is_block_arg"] = "0";
  debugAttrMap2["asm.op_name"] = "tensor.extract";
  debugAttrMap2["asm.result_ssa_format"] = "%extracted = tensor.extract %arg0[%c0] : tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, ct, debugAttrMap2);
  Ciphertext ct1 = v1[0];
  std::map<std::string, std::string> debugAttrMap3;
  debugAttrMap3["debug.name"] = "heir_debug_3";
  debugAttrMap3["message.size"] = "1";
  debugAttrMap3["asm.is_block_arg"] = "0";
  debugAttrMap3["asm.op_name"] = "tensor.extract";
  debugAttrMap3["asm.result_ssa_format"] = "%extracted_0 = tensor.extract %arg1[%c0] : tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, ct1, debugAttrMap3);
  const auto ct2 = cc.multiply(ct, ct1);
  const auto ct3 = cc.relinearize(ct2);
  std::map<std::string, std::string> debugAttrMap4;
  debugAttrMap4["debug.name"] = "heir_debug_4";
  debugAttrMap4["message.size"] = "1";
  debugAttrMap4["asm.is_block_arg"] = "0";
  debugAttrMap4["asm.op_name"] = "hemera.relinearize";
  debugAttrMap4["asm.result_ssa_format"] = "%ct_1 = hemera.relinearize %cc, %ct : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct3, debugAttrMap4);
  const auto ct4 = cc.rotate(ct3, 1);
  std::map<std::string, std::string> debugAttrMap5;
  debugAttrMap5["debug.name"] = "heir_debug_5";
  debugAttrMap5["message.size"] = "1";
  debugAttrMap5["asm.is_block_arg"] = "0";
  debugAttrMap5["asm.op_name"] = "hemera.rotate";
  debugAttrMap5["asm.result_ssa_format"] = "%ct_2 = hemera.rotate %cc, %ct_1, %c1 : (!hemera.crypto_context, !hemera.ciphertext, index) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct4, debugAttrMap5);
  const auto ct5 = cc.add(ct3, ct4);
  std::map<std::string, std::string> debugAttrMap6;
  debugAttrMap6["debug.name"] = "heir_debug_6";
  debugAttrMap6["message.size"] = "1";
  debugAttrMap6["asm.is_block_arg"] = "0";
  debugAttrMap6["asm.op_name"] = "hemera.add";
  debugAttrMap6["asm.result_ssa_format"] = "%ct_3 = hemera.add %cc, %ct_1, %ct_2 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.ciphertext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct5, debugAttrMap6);
  const auto ct6 = cc.rotate(ct5, 2);
  std::map<std::string, std::string> debugAttrMap7;
  debugAttrMap7["debug.name"] = "heir_debug_7";
  debugAttrMap7["message.size"] = "1";
  debugAttrMap7["asm.is_block_arg"] = "0";
  debugAttrMap7["asm.op_name"] = "hemera.rotate";
  debugAttrMap7["asm.result_ssa_format"] = "%ct_4 = hemera.rotate %cc, %ct_3, %c2 : (!hemera.crypto_context, !hemera.ciphertext, index) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct6, debugAttrMap7);
  const auto ct7 = cc.add(ct5, ct6);
  std::map<std::string, std::string> debugAttrMap8;
  debugAttrMap8["debug.name"] = "heir_debug_8";
  debugAttrMap8["message.size"] = "1";
  debugAttrMap8["asm.is_block_arg"] = "0";
  debugAttrMap8["asm.op_name"] = "hemera.add";
  debugAttrMap8["asm.result_ssa_format"] = "%ct_5 = hemera.add %cc, %ct_3, %ct_4 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.ciphertext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct7, debugAttrMap8);
  const auto ct8 = cc.rotate(ct7, 4);
  std::map<std::string, std::string> debugAttrMap9;
  debugAttrMap9["debug.name"] = "heir_debug_9";
  debugAttrMap9["message.size"] = "1";
  debugAttrMap9["asm.is_block_arg"] = "0";
  debugAttrMap9["asm.op_name"] = "hemera.rotate";
  debugAttrMap9["asm.result_ssa_format"] = "%ct_6 = hemera.rotate %cc, %ct_5, %c4 : (!hemera.crypto_context, !hemera.ciphertext, index) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct8, debugAttrMap9);
  const auto ct9 = cc.add(ct7, ct8);
  std::map<std::string, std::string> debugAttrMap10;
  debugAttrMap10["debug.name"] = "heir_debug_10";
  debugAttrMap10["message.size"] = "1";
  debugAttrMap10["asm.is_block_arg"] = "0";
  debugAttrMap10["asm.op_name"] = "hemera.add";
  debugAttrMap10["asm.result_ssa_format"] = "%ct_7 = hemera.add %cc, %ct_5, %ct_6 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.ciphertext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct9, debugAttrMap10);
  Plaintext pt = v2[0];
  std::vector<Ciphertext> v7(1);
  const auto ct10 = cc.multiply(ct9, pt);
  std::map<std::string, std::string> debugAttrMap11;
  debugAttrMap11["debug.name"] = "heir_debug_11";
  debugAttrMap11["message.size"] = "1";
  debugAttrMap11["asm.is_block_arg"] = "0";
  debugAttrMap11["asm.op_name"] = "hemera.multiply_plain";
  debugAttrMap11["asm.result_ssa_format"] = "%ct_8 = hemera.multiply_plain %cc, %ct_7, %pt : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct10, debugAttrMap11);
  v7[0] = ct10;
  std::map<std::string, std::string> debugAttrMap12;
  debugAttrMap12["debug.name"] = "heir_debug_12";
  debugAttrMap12["message.size"] = "1";
  debugAttrMap12["asm.is_block_arg"] = "0";
  debugAttrMap12["asm.op_name"] = "tensor.insert";
  debugAttrMap12["asm.result_ssa_format"] = "%inserted = tensor.insert %ct_8 into %0[%c0] : tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, v7, debugAttrMap12);
  return v7;
}
std::vector<Ciphertext> dot_product(CryptoContext cc, SecretKey sk, std::vector<Ciphertext> v0, std::vector<Ciphertext> v1) {
  std::map<std::string, std::string> debugAttrMap13;
  debugAttrMap13["debug.name"] = "heir_debug_0";
  debugAttrMap13["message.size"] = "1";
  debugAttrMap13["asm.is_block_arg"] = "1";
  debugAttrMap13["asm.result_ssa_format"] = "<block argument> of type 'tensor<1x!hemera.ciphertext>' at index: 2";
  __heir_debug(cc, sk, v0, debugAttrMap13);
  std::map<std::string, std::string> debugAttrMap14;
  debugAttrMap14["debug.name"] = "heir_debug_1";
  debugAttrMap14["message.size"] = "1";
  debugAttrMap14["asm.is_block_arg"] = "1";
  debugAttrMap14["asm.result_ssa_format"] = "<block argument> of type 'tensor<1x!hemera.ciphertext>' at index: 3";
  __heir_debug(cc, sk, v1, debugAttrMap14);
  const auto& v2 = dot_product__preprocessing(cc);
  const auto& v3 = dot_product__preprocessed(cc, sk, v0, v1, v2);
  std::map<std::string, std::string> debugAttrMap17;
  debugAttrMap17["debug.name"] = "heir_debug_2";
  debugAttrMap17["message.size"] = "1";
  debugAttrMap17["asm.is_block_arg"] = "0";
  debugAttrMap17["asm.op_name"] = "func.call";
  debugAttrMap17["asm.result_ssa_format"] = "%1 = func.call @dot_product__preprocessed(%cc, %sk, %arg0, %arg1, %0) : (!hemera.crypto_context, !hemera.secret_key, tensor<1x!hemera.ciphertext>, tensor<1x!hemera.ciphertext>, memref<1x!hemera.plaintext>) -> tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, v3, debugAttrMap17);
  return v3;
}
std::vector<Ciphertext> dot_product__encrypt__arg0(CryptoContext cc, std::vector<int16_t> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<int16_t> v3(1024, 0);
  [[maybe_unused]] int32_t v4 = 8;
  [[maybe_unused]] int32_t v5 = 1024;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<int16_t> v7 = std::move(v3);
  for (auto v8 = 0; v8 < 8; v8 += 1) {
    std::vector<int16_t> v10 = std::move(v7);
    for (auto v11 = v8; v11 < 1024; v11 += 8) {
      size_t v13 = static_cast<size_t>(v8);
      int16_t v14 = v0[v13];
      size_t v15 = static_cast<size_t>(v11);
      v10[v15 + 1024 * (0)] = v14;
    }
    v7 = std::move(v10);
  }
  std::vector<int16_t> v17(1 * 1024);
  for (int64_t v17_i0 = 0; v17_i0 < 1; ++v17_i0) {
    for (int64_t v17_i1 = 0; v17_i1 < 1024; ++v17_i1) {
      v17[v17_i1 + 1024 * (v17_i0)] = v7[0 + v17_i1 * 1 + 1024 * (0 + v17_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v17);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v18 = {ct};
  return v18;
}
std::vector<Ciphertext> dot_product__encrypt__arg1(CryptoContext cc, std::vector<int16_t> v0, PublicKey pk) {
  [[maybe_unused]] int32_t v1 = 1;
  [[maybe_unused]] int32_t v2 = 0;
  std::vector<int16_t> v3(1024, 0);
  [[maybe_unused]] int32_t v4 = 8;
  [[maybe_unused]] int32_t v5 = 1024;
  [[maybe_unused]] size_t v6 = 0;
  std::vector<int16_t> v7 = std::move(v3);
  for (auto v8 = 0; v8 < 8; v8 += 1) {
    std::vector<int16_t> v10 = std::move(v7);
    for (auto v11 = v8; v11 < 1024; v11 += 8) {
      size_t v13 = static_cast<size_t>(v8);
      int16_t v14 = v0[v13];
      size_t v15 = static_cast<size_t>(v11);
      v10[v15 + 1024 * (0)] = v14;
    }
    v7 = std::move(v10);
  }
  std::vector<int16_t> v17(1 * 1024);
  for (int64_t v17_i0 = 0; v17_i0 < 1; ++v17_i0) {
    for (int64_t v17_i1 = 0; v17_i1 < 1024; ++v17_i1) {
      v17[v17_i1 + 1024 * (v17_i0)] = v7[0 + v17_i1 * 1 + 1024 * (0 + v17_i0 * 1)];
    }
  }
  const auto pt = cc.encode(v17);
  const auto ct = cc.encrypt(pt, pk);
  const std::vector<Ciphertext> v18 = {ct};
  return v18;
}
int16_t dot_product__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] size_t v1 = 0;
  std::map<std::string, std::string> debugAttrMap18;
  debugAttrMap18["debug.name"] = "heir_debug_0";
  debugAttrMap18["message.size"] = "1";
  debugAttrMap18["asm.is_block_arg"] = "1";
  debugAttrMap18["asm.result_ssa_format"] = "<block argument> of type 'tensor<1x!hemera.ciphertext>' at index: 1";
  __heir_debug(cc, sk, v0, debugAttrMap18);
  Ciphertext ct = v0[0];
  std::map<std::string, std::string> debugAttrMap19;
  debugAttrMap19["debug.name"] = "heir_debug_1";
  debugAttrMap19["message.size"] = "1";
  debugAttrMap19["asm.is_block_arg"] = "0";
  debugAttrMap19["asm.op_name"] = "tensor.extract";
  debugAttrMap19["asm.result_ssa_format"] = "%extracted = tensor.extract %arg0[%c0] : tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, ct, debugAttrMap19);
  const auto pt = cc.decrypt(ct, sk);
  auto v2 = cc.decode<int16_t>(pt, 1024);
  int16_t v3 = v2[0 + 1024 * (0)];
  return v3;
}
Parameters dot_product__parameters() {
  Parameters params;
  params.scheme = Scheme::bgv;
  params.depth = 2;
  params.slots = 1024;
  params.plain_modulus = 65537;
  params.terms = 6;
  return params;
}
CryptoContext dot_product__generate_crypto_context() {
  const auto& params = dot_product__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext dot_product__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{true, {1, 2, 4}});
  return cc1;
}
