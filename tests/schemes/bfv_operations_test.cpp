#include "schemes/integer_operations.hpp"

namespace hemera::testing {
INSTANTIATE_TYPED_TEST_SUITE_P(BfvScheme, IntegerOperations, Bfv);
}  // namespace hemera::testing
