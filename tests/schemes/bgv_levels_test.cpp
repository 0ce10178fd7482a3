#include "schemes/integer_levels.hpp"

namespace hemera::testing {
INSTANTIATE_TYPED_TEST_SUITE_P(BgvScheme, IntegerLevels, Bgv);
}  // namespace hemera::testing
