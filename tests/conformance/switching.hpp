// Whole key switches, each over a list of rings and gadgets: one test a case, as they are long.
#pragma once

#include <tuple>

#include "conformance/suite.hpp"

namespace hemera::conformance {

struct Switch {
  const char* name;
  std::size_t degree;
  std::vector<int> bits;
  std::size_t base;   // limbs; the others are special
  std::size_t digit;  // limbs
  std::size_t batch;
  std::size_t lent = 0;  // of the special limbs, the last ones: by turns to the digits, and to none of them
};

const std::vector<Switch>& switches();

/// A backend, and the index of a switch.
class SwitchTest : public ::testing::TestWithParam<std::tuple<BackendCase, std::size_t>> {
 protected:
  [[nodiscard]] const BackendCase& backend_case() const { return std::get<0>(GetParam()); }
  [[nodiscard]] const Switch& chosen() const { return switches().at(std::get<1>(GetParam())); }
};

/// INSTANTIATE_TEST_SUITE_P's values for a range of backend cases.
inline auto each_switch(const std::vector<BackendCase>& cases) {
  return ::testing::Combine(::testing::ValuesIn(cases), ::testing::Range(std::size_t{0}, switches().size()));
}
inline std::string switch_name(const ::testing::TestParamInfo<SwitchTest::ParamType>& info) {
  return std::get<0>(info.param).name + "_" + std::to_string(std::get<1>(info.param));
}

}  // namespace hemera::conformance
