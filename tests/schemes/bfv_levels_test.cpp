#include "schemes/integer_levels.hpp"

namespace hemera::testing {
INSTANTIATE_TYPED_TEST_SUITE_P(BfvScheme, IntegerLevels, Bfv);
}  // namespace hemera::testing
