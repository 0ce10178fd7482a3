// The table is made of its parts.
#include "conformance/checked/operations.hpp"

namespace hemera::conformance::checked {

Table::Table(const BackendCase& backend_case)
    : rig(backend_case, degree, {50, 45, 60}, {65537}),
      foreign(backend_case, degree, {50, 45, 60}, {65537}),
      plans(rig),
      foreign_plans(foreign),
      words(batch * 2 * 2 * degree),
      values(rig.backend->memory(), batch * degree * 16) {
  const std::vector<std::byte> zeros(values.size());
  backend().upload_values(queue(), bytes(zeros.size()), zeros);
  copies();
  element_wise();
  changes_of_base();
  key_switching();
  scaled_products();
  samplers();
  embedding();
  exponentials();
  integers();
}

}  // namespace hemera::conformance::checked
