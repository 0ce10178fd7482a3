// What `describe` tells of OpenFHE's files.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "hemera/interop/openfhe.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"

namespace hemera::interop::openfhe {
namespace {

using CiphertextPointer = std::shared_ptr<CiphertextObject>;

std::string field_of(const Description& description, const std::string& name) {
  for (const auto& [field, value] : description.fields) {
    if (field == name) return value;
  }
  return "";
}

TEST(OpenFheDescriptions, OfKeysTellTheModuliOfKeys) {
  const auto values = test::values("ckks-flexibleauto");
  double data = 0, all = 0;
  std::size_t own = 0, count = 0;
  for (const char* const list : {"q", "p"}) {
    for (const auto& prime : values.at("parameters").at(list)) {
      all += std::log2(prime.at("modulus").get<double>());
      ++count;
    }
    if (own == 0) {
      own = count;
      data = all;
    }
  }
  const auto text = [](std::size_t primes, double bits) {
    std::string digits = std::to_string(std::round(bits * 10) / 10);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return std::to_string(primes) + " of " + digits + " bits together";
  };
  for (const char* const name : {"eval_mult_key.bin", "eval_automorphism_keys.bin"}) {
    const auto found = describe(test::get("ckks-flexibleauto", name));
    ASSERT_TRUE(found);
    EXPECT_EQ(field_of(*found, "moduli"), text(own, data));
    EXPECT_EQ(field_of(*found, "key moduli"), text(count, all));
    EXPECT_EQ(field_of(*found, "digits"),
              std::to_string(values.at("parameters").at("digit_partition").size()));
  }
}

TEST(OpenFheDescriptions, TellEachFieldOfACiphertext) {
  auto object = read_file<CiphertextPointer>(test::get("bgv", "a_mod_reduced.bin"));
  object->noise_scale_degree = 5;
  object->scaling_factor_int = 77;
  const auto found = describe(write_file(object, Format::json));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->format, "JSON");
  EXPECT_EQ(field_of(*found, "components"), "2");
  EXPECT_EQ(field_of(*found, "limbs"), std::to_string(object->components[0].limbs.size()));
  EXPECT_EQ(field_of(*found, "level"), std::to_string(object->level));
  EXPECT_NE(object->level, 0U);
  EXPECT_EQ(field_of(*found, "noise scale degree"), "5");
  EXPECT_EQ(field_of(*found, "integer scaling factor"), "77");
  EXPECT_EQ(field_of(*found, "form"), "evaluation");
  EXPECT_EQ(field_of(*found, "key tag"), object->header.tag);
  EXPECT_EQ(field_of(*found, "scheme"), "BGV");
}

TEST(OpenFheDescriptions, NameEachTechnique) {
  const std::map<Scaling, const char*> names = {{Scaling::fixed_manual, "FIXEDMANUAL"},
                                                {Scaling::fixed_auto, "FIXEDAUTO"},
                                                {Scaling::flexible_auto, "FLEXIBLEAUTO"},
                                                {Scaling::flexible_auto_ext, "FLEXIBLEAUTOEXT"},
                                                {Scaling::composite_auto, "COMPOSITESCALINGAUTO"},
                                                {Scaling::composite_manual, "COMPOSITESCALINGMANUAL"},
                                                {Scaling::no_rescale, "NORESCALE"}};
  for (const auto& [scaling, name] : names) {
    for (const KeySwitching switching : {KeySwitching::bv, KeySwitching::hybrid}) {
      auto context = test::context_of("ckks-flexibleauto");
      context->parameters->scaling = scaling;
      context->parameters->key_switching = switching;
      const auto found = describe(write_file(context, Format::binary));
      ASSERT_TRUE(found);
      EXPECT_EQ(field_of(*found, "scaling technique"), name);
      EXPECT_EQ(field_of(*found, "key switching"), switching == KeySwitching::bv ? "BV" : "HYBRID");
      EXPECT_EQ(field_of(*found, "bootstrapping"), "no");
    }
  }
}

}  // namespace
}  // namespace hemera::interop::openfhe
