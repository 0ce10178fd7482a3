// Matrices, transforms over components, and parts of polynomials.
#include "conformance/checked/operations.hpp"

namespace hemera::conformance::checked {

void Table::add_matrices() {
  using Views = std::vector<PolyView>;
  const auto matrix = [this](std::size_t rows, std::size_t columns) {
    return poly::IntegerMatrixView{.data = values.data(),
                                   .host = reinterpret_cast<const std::byte*>(words.data()),
                                   .rows = rows,
                                   .columns = columns,
                                   .bytes = 2};
  };
  operations.push_back({"multiply_matrix",
                        {{"output", plans.base, batch, 2, any}, {"input", plans.base, 3, 2, any}},
                        [this, matrix](const Views& v, const Plans& p, Workspace& space) {
                          backend().multiply_matrix(queue(), v[0], v[1], matrix(batch, 3), p.base, space);
                        },
                        true,
                        {{"a matrix of other rows",
                          [this, matrix](const Views& v, Workspace& space) {
                            backend().multiply_matrix(queue(), v[0], v[1], matrix(1, 3), plans.base, space);
                          }},
                         {"a matrix of other columns", [this, matrix](const Views& v, Workspace& space) {
                            backend().multiply_matrix(queue(), v[0], v[1], matrix(batch, 1), plans.base,
                                                      space);
                          }}}});
  const auto product = [this](const PolyView& out, const PolyView& a, const PolyView& b, Workspace& space) {
    backend().multiply_elements(queue(), out, a, b, plans.base, space);
  };
  operations.push_back({"multiply_elements",
                        {{"output", plans.base, batch, 4, any},
                         {"a", plans.base, batch, 3, of_stored},
                         {"b", plans.base, 3, 4, any}},
                        [this](const Views& v, const Plans& p, Workspace& space) {
                          backend().multiply_elements(queue(), v[0], v[1], v[2], p.base, space);
                        },
                        true,
                        {{"no rows",
                          [product](const Views& v, Workspace& space) {
                            product(v[0].batches(0, 0), v[1].batches(0, 0), v[2], space);
                          }},
                         {"no terms",
                          [product](const Views& v, Workspace& space) {
                            product(v[0], v[1].components(0, 0), v[2].batches(0, 0), space);
                          }},
                         {"no columns", [product](const Views& v, Workspace& space) {
                            product(v[0].components(0, 0), v[1], v[2].components(0, 0), space);
                          }}}});
  // Half as many entries as the table's views have: two parts.
  operations.push_back({"split_parts",
                        {{"output", plans.base, 4, batch, of_stored}, {"input", plans.base, batch, 2, any}},
                        [this](const Views& v, const Plans& p, Workspace&) {
                          PolyView out = v[0];
                          if (out.shape.degree == degree) out.shape.degree /= 2;
                          backend().split_parts(queue(), out, v[1], p.base);
                        }});
  operations.push_back({"transform_components",
                        {{"values", plans.base, batch, 4, any & ~wrong_batch},  // it may be any
                         {"roots", plans.base, 1, 2, any},
                         {"factors", plans.base, 1, 4, any}},
                        [this](const Views& v, const Plans& p, Workspace& space) {
                          backend().transform_components(queue(), v[0], v[1], v[2],
                                                         poly::ComponentOrder::natural, p.base, space);
                        },
                        true});
  operations.push_back({"pack_rounded",
                        {{"input", plans.base, batch, 2, any}},
                        [this](const Views& v, const Plans&, Workspace&) {
                          backend().pack_rounded(queue(), bytes(batch * 2 * 2 * degree), v[0], 3, 1);
                        },
                        false});
  operations.push_back(
      {"multiply_add_vector",
       {{"output", plans.base, batch, 1, any & ~wrong_batch}, {"input", plans.base, 1, 1, any}},
       [this, matrix](const Views& v, const Plans& p, Workspace&) {
         poly::IntegerMatrixView bytes = matrix(3, 16);
         bytes.bytes = 1;
         backend().multiply_add_vector(queue(), v[0], bytes, v[1], p.base);
       }});
}

}  // namespace hemera::conformance::checked
