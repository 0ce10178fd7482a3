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
void __heir_debug(CryptoContext, SecretKey, std::vector<Ciphertext>, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, std::vector<Ciphertext>, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, Ciphertext, const std::map<std::string, std::string>&);
void __heir_debug(CryptoContext, SecretKey, std::vector<Ciphertext>, const std::map<std::string, std::string>&);
std::vector<Plaintext> loop__preprocessing(CryptoContext cc) {
  std::vector<float> v0(8, 1);
  [[maybe_unused]] size_t v1 = 0;
  [[maybe_unused]] size_t v2 = 1;
  [[maybe_unused]] size_t v3 = 2;
  [[maybe_unused]] size_t v4 = 4;
  std::vector<Plaintext> v5(6);
  const auto pt = cc.encode(v0);
  v5[0] = pt;
  v5[1] = pt;
  for (size_t v6 = 0; v6 < 2; v6 += 1) {
    size_t v7 = v6 + v3;
    v5[v7] = pt;
    size_t v8 = v6 + v4;
    v5[v8] = pt;
  }
  return v5;
}
std::vector<Ciphertext> loop__preprocessed(CryptoContext cc, SecretKey sk, std::vector<Ciphertext> v0, const std::vector<Plaintext>& v1) {
  [[maybe_unused]] size_t v2 = 0;
  [[maybe_unused]] size_t v3 = 1;
  [[maybe_unused]] size_t v4 = 2;
  [[maybe_unused]] size_t v5 = 4;
  std::map<std::string, std::string> debugAttrMap0;
  debugAttrMap0["debug.name"] = "heir_debug_0";
  debugAttrMap0["message.size"] = "1";
  debugAttrMap0["asm.is_block_arg"] = "1";
  debugAttrMap0["asm.result_ssa_format"] = "<block argument> of type 'tensor<1x!hemera.ciphertext>' at index: 2";
  __heir_debug(cc, sk, v0, debugAttrMap0);
  Plaintext pt = v1[0];
  Ciphertext ct = v0[0];
  std::map<std::string, std::string> debugAttrMap1;
  debugAttrMap1["debug.name"] = "heir_debug_1";
  debugAttrMap1["message.size"] = "1";
  debugAttrMap1["asm.is_block_arg"] = "0";
  debugAttrMap1["asm.op_name"] = "tensor.extract";
  debugAttrMap1["asm.result_ssa_format"] = "%extracted = tensor.extract %arg0[%c0] : tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, ct, debugAttrMap1);
  const auto ct1 = cc.multiply(ct, pt);
  std::map<std::string, std::string> debugAttrMap2;
  debugAttrMap2["debug.name"] = "heir_debug_2";
  debugAttrMap2["message.size"] = "1";
  debugAttrMap2["asm.is_block_arg"] = "0";
  debugAttrMap2["asm.op_name"] = "hemera.multiply_plain";
  debugAttrMap2["asm.result_ssa_format"] = "%ct = hemera.multiply_plain %cc, %extracted, %pt : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct1, debugAttrMap2);
  const auto ct2 = cc.rescale(ct1);
  std::map<std::string, std::string> debugAttrMap3;
  debugAttrMap3["debug.name"] = "heir_debug_3";
  debugAttrMap3["message.size"] = "1";
  debugAttrMap3["asm.is_block_arg"] = "0";
  debugAttrMap3["asm.op_name"] = "hemera.rescale";
  debugAttrMap3["asm.result_ssa_format"] = "%ct_0 = hemera.rescale %cc, %ct : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct2, debugAttrMap3);
  Plaintext pt1 = v1[1];
  const auto ct3 = cc.subtract(ct2, pt1);
  std::map<std::string, std::string> debugAttrMap4;
  debugAttrMap4["debug.name"] = "heir_debug_4";
  debugAttrMap4["message.size"] = "1";
  debugAttrMap4["asm.is_block_arg"] = "0";
  debugAttrMap4["asm.op_name"] = "hemera.subtract_plain";
  debugAttrMap4["asm.result_ssa_format"] = "%ct_2 = hemera.subtract_plain %cc, %ct_0, %pt_1 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct3, debugAttrMap4);
  std::vector<Ciphertext> v6(1);
  std::map<std::string, std::string> debugAttrMap5;
  debugAttrMap5["debug.name"] = "heir_debug_5";
  debugAttrMap5["message.size"] = "1";
  debugAttrMap5["asm.is_block_arg"] = "0";
  debugAttrMap5["asm.op_name"] = "hemera.subtract_plain";
  debugAttrMap5["asm.result_ssa_format"] = "%ct_2 = hemera.subtract_plain %cc, %ct_0, %pt_1 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct3, debugAttrMap5);
  auto v7 = v6;
  v7[0] = ct3;
  std::map<std::string, std::string> debugAttrMap6;
  debugAttrMap6["debug.name"] = "heir_debug_6";
  debugAttrMap6["message.size"] = "1";
  debugAttrMap6["asm.is_block_arg"] = "0";
  debugAttrMap6["asm.op_name"] = "tensor.insert";
  debugAttrMap6["asm.result_ssa_format"] = "%inserted = tensor.insert %ct_2 into %0[%c0] : tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, v7, debugAttrMap6);
  std::vector<Ciphertext> v8 = v7;
  for (size_t v9 = 0; v9 < 2; v9 += 1) {
    Ciphertext ct4 = v8[0];
    std::map<std::string, std::string> debugAttrMap7;
    debugAttrMap7["debug.name"] = "heir_debug_7";
    debugAttrMap7["message.size"] = "1";
    debugAttrMap7["asm.is_block_arg"] = "0";
    debugAttrMap7["asm.op_name"] = "tensor.extract";
    debugAttrMap7["asm.result_ssa_format"] = "%extracted_10 = tensor.extract %arg3[%c0] : tensor<1x!hemera.ciphertext>";
    __heir_debug(cc, sk, ct4, debugAttrMap7);
    const auto ct5 = cc.bootstrap(ct4);
    std::map<std::string, std::string> debugAttrMap8;
    debugAttrMap8["debug.name"] = "heir_debug_8";
    debugAttrMap8["message.size"] = "1";
    debugAttrMap8["asm.is_block_arg"] = "0";
    debugAttrMap8["asm.op_name"] = "hemera.bootstrap";
    debugAttrMap8["asm.result_ssa_format"] = "%ct_11 = hemera.bootstrap %cc, %extracted_10 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct5, debugAttrMap8);
    const auto ct6 = cc.multiply(ct, ct5);
    const auto ct7 = cc.relinearize(ct6);
    std::map<std::string, std::string> debugAttrMap9;
    debugAttrMap9["debug.name"] = "heir_debug_9";
    debugAttrMap9["message.size"] = "1";
    debugAttrMap9["asm.is_block_arg"] = "0";
    debugAttrMap9["asm.op_name"] = "hemera.relinearize";
    debugAttrMap9["asm.result_ssa_format"] = "%ct_13 = hemera.relinearize %cc, %ct_12 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct7, debugAttrMap9);
    const auto ct8 = cc.rescale(ct7);
    std::map<std::string, std::string> debugAttrMap10;
    debugAttrMap10["debug.name"] = "heir_debug_10";
    debugAttrMap10["message.size"] = "1";
    debugAttrMap10["asm.is_block_arg"] = "0";
    debugAttrMap10["asm.op_name"] = "hemera.rescale";
    debugAttrMap10["asm.result_ssa_format"] = "%ct_14 = hemera.rescale %cc, %ct_13 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct8, debugAttrMap10);
    const auto ct9 = cc.subtract(ct8, pt1);
    std::map<std::string, std::string> debugAttrMap11;
    debugAttrMap11["debug.name"] = "heir_debug_11";
    debugAttrMap11["message.size"] = "1";
    debugAttrMap11["asm.is_block_arg"] = "0";
    debugAttrMap11["asm.op_name"] = "hemera.subtract_plain";
    debugAttrMap11["asm.result_ssa_format"] = "%ct_15 = hemera.subtract_plain %cc, %ct_14, %pt_1 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct9, debugAttrMap11);
    std::map<std::string, std::string> debugAttrMap12;
    debugAttrMap12["debug.name"] = "heir_debug_12";
    debugAttrMap12["message.size"] = "1";
    debugAttrMap12["asm.is_block_arg"] = "0";
    debugAttrMap12["asm.op_name"] = "hemera.multiply_plain";
    debugAttrMap12["asm.result_ssa_format"] = "%ct = hemera.multiply_plain %cc, %extracted, %pt : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct1, debugAttrMap12);
    std::map<std::string, std::string> debugAttrMap13;
    debugAttrMap13["debug.name"] = "heir_debug_13";
    debugAttrMap13["message.size"] = "1";
    debugAttrMap13["asm.is_block_arg"] = "0";
    debugAttrMap13["asm.op_name"] = "hemera.rescale";
    debugAttrMap13["asm.result_ssa_format"] = "%ct_0 = hemera.rescale %cc, %ct : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct2, debugAttrMap13);
    const auto ct10 = cc.multiply(ct2, ct9);
    const auto ct11 = cc.relinearize(ct10);
    std::map<std::string, std::string> debugAttrMap14;
    debugAttrMap14["debug.name"] = "heir_debug_14";
    debugAttrMap14["message.size"] = "1";
    debugAttrMap14["asm.is_block_arg"] = "0";
    debugAttrMap14["asm.op_name"] = "hemera.relinearize";
    debugAttrMap14["asm.result_ssa_format"] = "%ct_17 = hemera.relinearize %cc, %ct_16 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct11, debugAttrMap14);
    const auto ct12 = cc.rescale(ct11);
    std::map<std::string, std::string> debugAttrMap15;
    debugAttrMap15["debug.name"] = "heir_debug_15";
    debugAttrMap15["message.size"] = "1";
    debugAttrMap15["asm.is_block_arg"] = "0";
    debugAttrMap15["asm.op_name"] = "hemera.rescale";
    debugAttrMap15["asm.result_ssa_format"] = "%ct_18 = hemera.rescale %cc, %ct_17 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct12, debugAttrMap15);
    size_t v11 = v9 + v4;
    Plaintext pt2 = v1[v11];
    const auto ct13 = cc.subtract(ct12, pt2);
    std::map<std::string, std::string> debugAttrMap16;
    debugAttrMap16["debug.name"] = "heir_debug_16";
    debugAttrMap16["message.size"] = "1";
    debugAttrMap16["asm.is_block_arg"] = "0";
    debugAttrMap16["asm.op_name"] = "hemera.subtract_plain";
    debugAttrMap16["asm.result_ssa_format"] = "%ct_20 = hemera.subtract_plain %cc, %ct_18, %pt_19 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct13, debugAttrMap16);
    std::map<std::string, std::string> debugAttrMap17;
    debugAttrMap17["debug.name"] = "heir_debug_17";
    debugAttrMap17["message.size"] = "1";
    debugAttrMap17["asm.is_block_arg"] = "0";
    debugAttrMap17["asm.op_name"] = "tensor.extract";
    debugAttrMap17["asm.result_ssa_format"] = "%extracted = tensor.extract %arg0[%c0] : tensor<1x!hemera.ciphertext>";
    __heir_debug(cc, sk, ct, debugAttrMap17);
    const auto ct14 = cc.multiply(ct, pt1);
    std::map<std::string, std::string> debugAttrMap18;
    debugAttrMap18["debug.name"] = "heir_debug_18";
    debugAttrMap18["message.size"] = "1";
    debugAttrMap18["asm.is_block_arg"] = "0";
    debugAttrMap18["asm.op_name"] = "hemera.multiply_plain";
    debugAttrMap18["asm.result_ssa_format"] = "%ct_21 = hemera.multiply_plain %cc, %extracted, %pt_1 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct14, debugAttrMap18);
    const auto ct15 = cc.rescale(ct14);
    std::map<std::string, std::string> debugAttrMap19;
    debugAttrMap19["debug.name"] = "heir_debug_19";
    debugAttrMap19["message.size"] = "1";
    debugAttrMap19["asm.is_block_arg"] = "0";
    debugAttrMap19["asm.op_name"] = "hemera.rescale";
    debugAttrMap19["asm.result_ssa_format"] = "%ct_22 = hemera.rescale %cc, %ct_21 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct15, debugAttrMap19);
    const auto ct16 = cc.multiply(ct15, ct13);
    const auto ct17 = cc.relinearize(ct16);
    std::map<std::string, std::string> debugAttrMap20;
    debugAttrMap20["debug.name"] = "heir_debug_20";
    debugAttrMap20["message.size"] = "1";
    debugAttrMap20["asm.is_block_arg"] = "0";
    debugAttrMap20["asm.op_name"] = "hemera.relinearize";
    debugAttrMap20["asm.result_ssa_format"] = "%ct_24 = hemera.relinearize %cc, %ct_23 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct17, debugAttrMap20);
    const auto ct18 = cc.rescale(ct17);
    std::map<std::string, std::string> debugAttrMap21;
    debugAttrMap21["debug.name"] = "heir_debug_21";
    debugAttrMap21["message.size"] = "1";
    debugAttrMap21["asm.is_block_arg"] = "0";
    debugAttrMap21["asm.op_name"] = "hemera.rescale";
    debugAttrMap21["asm.result_ssa_format"] = "%ct_25 = hemera.rescale %cc, %ct_24 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct18, debugAttrMap21);
    size_t v12 = v9 + v5;
    Plaintext pt3 = v1[v12];
    const auto ct19 = cc.subtract(ct18, pt3);
    std::map<std::string, std::string> debugAttrMap22;
    debugAttrMap22["debug.name"] = "heir_debug_22";
    debugAttrMap22["message.size"] = "1";
    debugAttrMap22["asm.is_block_arg"] = "0";
    debugAttrMap22["asm.op_name"] = "hemera.subtract_plain";
    debugAttrMap22["asm.result_ssa_format"] = "%ct_27 = hemera.subtract_plain %cc, %ct_25, %pt_26 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext";
    __heir_debug(cc, sk, ct19, debugAttrMap22);
    auto v13 = v6;
    v13[0] = ct19;
    std::map<std::string, std::string> debugAttrMap23;
    debugAttrMap23["debug.name"] = "heir_debug_23";
    debugAttrMap23["message.size"] = "1";
    debugAttrMap23["asm.is_block_arg"] = "0";
    debugAttrMap23["asm.op_name"] = "tensor.insert";
    debugAttrMap23["asm.result_ssa_format"] = "%inserted_28 = tensor.insert %ct_27 into %0[%c0] : tensor<1x!hemera.ciphertext>";
    __heir_debug(cc, sk, v13, debugAttrMap23);
    v8 = v13;
  }
  std::map<std::string, std::string> debugAttrMap24;
  debugAttrMap24["debug.name"] = "heir_debug_24";
  debugAttrMap24["message.size"] = "1";
  debugAttrMap24["asm.is_block_arg"] = "0";
  debugAttrMap24["asm.op_name"] = "affine.for";
  debugAttrMap24["asm.result_ssa_format"] = "%1 = affine.for %arg2 = 0 to 2 iter_args(%arg3 = %inserted) -> (tensor<1x!hemera.ciphertext>) {\n  %extracted_10 = tensor.extract %arg3[%c0] : tensor<1x!hemera.ciphertext>\n  func.call @__heir_debug_4(%cc, %sk, %extracted_10) {debug.name = \"heir_debug_7\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %ct_11 = hemera.bootstrap %cc, %extracted_10 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext\n  func.call @__heir_debug_1(%cc, %sk, %ct_11) {debug.name = \"heir_debug_8\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %ct_12 = hemera.multiply %cc, %extracted, %ct_11 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.ciphertext) -> !hemera.ciphertext\n  %ct_13 = hemera.relinearize %cc, %ct_12 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext\n  func.call @__heir_debug_2(%cc, %sk, %ct_13) {debug.name = \"heir_debug_9\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %ct_14 = hemera.rescale %cc, %ct_13 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext\n  func.call @__heir_debug_3(%cc, %sk, %ct_14) {debug.name = \"heir_debug_10\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %ct_15 = hemera.subtract_plain %cc, %ct_14, %pt_1 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext\n  func.call @__heir_debug_3(%cc, %sk, %ct_15) {debug.name = \"heir_debug_11\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  func.call @__heir_debug_2(%cc, %sk, %ct) {debug.name = \"heir_debug_12\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  func.call @__heir_debug_3(%cc, %sk, %ct_0) {debug.name = \"heir_debug_13\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %ct_16 = hemera.multiply %cc, %ct_0, %ct_15 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.ciphertext) -> !hemera.ciphertext\n  %ct_17 = hemera.relinearize %cc, %ct_16 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext\n  func.call @__heir_debug_6(%cc, %sk, %ct_17) {debug.name = \"heir_debug_14\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %ct_18 = hemera.rescale %cc, %ct_17 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext\n  func.call @__heir_debug_7(%cc, %sk, %ct_18) {debug.name = \"heir_debug_15\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %2 = arith.addi %arg2, %c2 : index\n  %pt_19 = memref.load %arg1[%2] : memref<6x!hemera.plaintext>\n  %ct_20 = hemera.subtract_plain %cc, %ct_18, %pt_19 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext\n  func.call @__heir_debug_7(%cc, %sk, %ct_20) {debug.name = \"heir_debug_16\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  func.call @__heir_debug_3(%cc, %sk, %extracted) {debug.name = \"heir_debug_17\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %ct_21 = hemera.multiply_plain %cc, %extracted, %pt_1 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext\n  func.call @__heir_debug_6(%cc, %sk, %ct_21) {debug.name = \"heir_debug_18\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %ct_22 = hemera.rescale %cc, %ct_21 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext\n  func.call @__heir_debug_7(%cc, %sk, %ct_22) {debug.name = \"heir_debug_19\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %ct_23 = hemera.multiply %cc, %ct_22, %ct_20 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.ciphertext) -> !hemera.ciphertext\n  %ct_24 = hemera.relinearize %cc, %ct_23 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext\n  func.call @__heir_debug_8(%cc, %sk, %ct_24) {debug.name = \"heir_debug_20\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %ct_25 = hemera.rescale %cc, %ct_24 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext\n  func.call @__heir_debug_4(%cc, %sk, %ct_25) {debug.name = \"heir_debug_21\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %3 = arith.addi %arg2, %c4 : index\n  %pt_26 = memref.load %arg1[%3] : memref<6x!hemera.plaintext>\n  %ct_27 = hemera.subtract_plain %cc, %ct_25, %pt_26 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext\n  func.call @__heir_debug_4(%cc, %sk, %ct_27) {debug.name = \"heir_debug_22\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, !hemera.ciphertext) -> ()\n  %inserted_28 = tensor.insert %ct_27 into %0[%c0] : tensor<1x!hemera.ciphertext>\n  func.call @__heir_debug_5(%cc, %sk, %inserted_28) {debug.name = \"heir_debug_23\", message.size = \"1\"} : (!hemera.crypto_context, !hemera.secret_key, tensor<1x!hemera.ciphertext>) -> ()\n  affine.yield %inserted_28 : tensor<1x!hemera.ciphertext>\n}";
  __heir_debug(cc, sk, v8, debugAttrMap24);
  Ciphertext ct20 = v8[0];
  std::map<std::string, std::string> debugAttrMap25;
  debugAttrMap25["debug.name"] = "heir_debug_25";
  debugAttrMap25["message.size"] = "1";
  debugAttrMap25["asm.is_block_arg"] = "0";
  debugAttrMap25["asm.op_name"] = "tensor.extract";
  debugAttrMap25["asm.result_ssa_format"] = "%extracted_3 = tensor.extract %1[%c0] : tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, ct20, debugAttrMap25);
  const auto ct21 = cc.bootstrap(ct20);
  std::map<std::string, std::string> debugAttrMap26;
  debugAttrMap26["debug.name"] = "heir_debug_26";
  debugAttrMap26["message.size"] = "1";
  debugAttrMap26["asm.is_block_arg"] = "0";
  debugAttrMap26["asm.op_name"] = "hemera.bootstrap";
  debugAttrMap26["asm.result_ssa_format"] = "%ct_4 = hemera.bootstrap %cc, %extracted_3 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct21, debugAttrMap26);
  const auto ct22 = cc.multiply(ct, ct21);
  const auto ct23 = cc.relinearize(ct22);
  std::map<std::string, std::string> debugAttrMap27;
  debugAttrMap27["debug.name"] = "heir_debug_27";
  debugAttrMap27["message.size"] = "1";
  debugAttrMap27["asm.is_block_arg"] = "0";
  debugAttrMap27["asm.op_name"] = "hemera.relinearize";
  debugAttrMap27["asm.result_ssa_format"] = "%ct_6 = hemera.relinearize %cc, %ct_5 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct23, debugAttrMap27);
  const auto ct24 = cc.rescale(ct23);
  std::map<std::string, std::string> debugAttrMap28;
  debugAttrMap28["debug.name"] = "heir_debug_28";
  debugAttrMap28["message.size"] = "1";
  debugAttrMap28["asm.is_block_arg"] = "0";
  debugAttrMap28["asm.op_name"] = "hemera.rescale";
  debugAttrMap28["asm.result_ssa_format"] = "%ct_7 = hemera.rescale %cc, %ct_6 : (!hemera.crypto_context, !hemera.ciphertext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct24, debugAttrMap28);
  const auto ct25 = cc.subtract(ct24, pt1);
  std::map<std::string, std::string> debugAttrMap29;
  debugAttrMap29["debug.name"] = "heir_debug_29";
  debugAttrMap29["message.size"] = "1";
  debugAttrMap29["asm.is_block_arg"] = "0";
  debugAttrMap29["asm.op_name"] = "hemera.subtract_plain";
  debugAttrMap29["asm.result_ssa_format"] = "%ct_8 = hemera.subtract_plain %cc, %ct_7, %pt_1 : (!hemera.crypto_context, !hemera.ciphertext, !hemera.plaintext) -> !hemera.ciphertext";
  __heir_debug(cc, sk, ct25, debugAttrMap29);
  auto v14 = v6;
  v14[0] = ct25;
  std::map<std::string, std::string> debugAttrMap30;
  debugAttrMap30["debug.name"] = "heir_debug_30";
  debugAttrMap30["message.size"] = "1";
  debugAttrMap30["asm.is_block_arg"] = "0";
  debugAttrMap30["asm.op_name"] = "tensor.insert";
  debugAttrMap30["asm.result_ssa_format"] = "%inserted_9 = tensor.insert %ct_8 into %0[%c0] : tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, v14, debugAttrMap30);
  return v14;
}
std::vector<Ciphertext> loop(CryptoContext cc, SecretKey sk, std::vector<Ciphertext> v0) {
  std::map<std::string, std::string> debugAttrMap31;
  debugAttrMap31["debug.name"] = "heir_debug_0";
  debugAttrMap31["message.size"] = "1";
  debugAttrMap31["asm.is_block_arg"] = "1";
  debugAttrMap31["asm.result_ssa_format"] = "<block argument> of type 'tensor<1x!hemera.ciphertext>' at index: 2";
  __heir_debug(cc, sk, v0, debugAttrMap31);
  const auto& v1 = loop__preprocessing(cc);
  const auto& v2 = loop__preprocessed(cc, sk, v0, v1);
  std::map<std::string, std::string> debugAttrMap34;
  debugAttrMap34["debug.name"] = "heir_debug_1";
  debugAttrMap34["message.size"] = "1";
  debugAttrMap34["asm.is_block_arg"] = "0";
  debugAttrMap34["asm.op_name"] = "func.call";
  debugAttrMap34["asm.result_ssa_format"] = "%1 = func.call @loop__preprocessed(%cc, %sk, %arg0, %0) : (!hemera.crypto_context, !hemera.secret_key, tensor<1x!hemera.ciphertext>, memref<6x!hemera.plaintext>) -> tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, v2, debugAttrMap34);
  return v2;
}
std::vector<Ciphertext> loop__encrypt__arg0(CryptoContext cc, std::vector<float> v0, PublicKey pk) {
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
std::vector<float> loop__decrypt__result0(CryptoContext cc, std::vector<Ciphertext> v0, SecretKey sk) {
  [[maybe_unused]] size_t v1 = 0;
  [[maybe_unused]] int32_t v2 = 8;
  [[maybe_unused]] int32_t v3 = 1;
  [[maybe_unused]] int32_t v4 = 7;
  [[maybe_unused]] int32_t v5 = 0;
  std::vector<float> v6(8, 0);
  std::map<std::string, std::string> debugAttrMap35;
  debugAttrMap35["debug.name"] = "heir_debug_0";
  debugAttrMap35["message.size"] = "1";
  debugAttrMap35["asm.is_block_arg"] = "1";
  debugAttrMap35["asm.result_ssa_format"] = "<block argument> of type 'tensor<1x!hemera.ciphertext>' at index: 1";
  __heir_debug(cc, sk, v0, debugAttrMap35);
  Ciphertext ct = v0[0];
  std::map<std::string, std::string> debugAttrMap36;
  debugAttrMap36["debug.name"] = "heir_debug_1";
  debugAttrMap36["message.size"] = "1";
  debugAttrMap36["asm.is_block_arg"] = "0";
  debugAttrMap36["asm.op_name"] = "tensor.extract";
  debugAttrMap36["asm.result_ssa_format"] = "%extracted = tensor.extract %arg0[%c0] : tensor<1x!hemera.ciphertext>";
  __heir_debug(cc, sk, ct, debugAttrMap36);
  const auto pt = cc.decrypt(ct, sk);
  auto v7 = cc.decode<float>(pt, 8);
  std::vector<float> v8 = std::move(v6);
  for (auto v9 = 0; v9 < 8; v9 += 1) {
    int32_t v11 = v4 - v9;
    size_t v12 = static_cast<size_t>(v11);
    float v13 = v7[v12 + 8 * (0)];
    v8[v12] = v13;
  }
  return v8;
}
Parameters loop__parameters() {
  Parameters params;
  params.scheme = Scheme::ckks;
  params.depth = 3;
  params.slots = 8;
  params.scale_bits = 40;
  params.first_bits = 60;
  params.security = {};
  params.bootstrap = "test-40";
  params.bootstrap_magnitude = 8;
  return params;
}
CryptoContext loop__generate_crypto_context() {
  const auto& params = loop__parameters();
  const CryptoContext cc(params);
  return cc;
}
CryptoContext loop__configure_crypto_context(CryptoContext cc, SecretKey sk) {
  const auto cc1 = cc.with_keys(sk, ProgramKeys{true, {}});
  return cc1;
}
