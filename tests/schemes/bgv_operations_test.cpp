#include "schemes/integer_operations.hpp"

namespace hemera::testing {
INSTANTIATE_TYPED_TEST_SUITE_P(BgvScheme, IntegerOperations, Bgv);
}  // namespace hemera::testing
