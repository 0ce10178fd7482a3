// Operations entry by entry, and sums of products.
#include <utility>

#include "conformance/checked/operations.hpp"

namespace hemera::conformance::checked {

template <typename Run>
void Table::add_unary(const char* name, const Run& run, std::vector<Operation::Wrong> others) {
  operations.push_back({name,
                        {{"output", plans.base, batch, 2, any}, {"input", plans.base, batch, 2, any}},
                        [run](const auto& v, const Plans& p, Workspace&) { run(v, p.base); },
                        true,
                        std::move(others)});
}

void Table::add_binary(const char* name, decltype(&poly::Backend::add) operation) {
  operations.push_back({name,
                        {{"output", plans.base, batch, 2, any},
                         {"a", plans.base, batch, 2, any},
                         {"b", plans.base, batch, 2, of_stored}},
                        [this, operation](const auto& v, const Plans& p, Workspace&) {
                          (backend().*operation)(queue(), v[0], v[1], v[2], p.base);
                        }});
}

void Table::element_wise() {
  using Views = std::vector<PolyView>;
  add_unary("forward_transform", [this](const Views& v, const RnsBase& base) {
    backend().forward_transform(queue(), v[0], v[1], base);
  });
  add_unary("inverse_transform", [this](const Views& v, const RnsBase& base) {
    backend().inverse_transform(queue(), v[0], v[1], base);
  });
  add_binary("add", &poly::Backend::add);
  add_binary("subtract", &poly::Backend::subtract);
  add_binary("multiply", &poly::Backend::multiply);
  add_binary("multiply_add", &poly::Backend::multiply_add);
  add_unary("negate",
            [this](const Views& v, const RnsBase& base) { backend().negate(queue(), v[0], v[1], base); });
  const auto scalars = [](std::size_t count) { return std::vector<std::uint64_t>(count, 1); };
  add_unary("multiply_scalar",
            [this, scalars](const Views& v, const RnsBase& base) {
              backend().multiply_scalar(queue(), v[0], v[1], scalars(2), base);
            },
            {{"one scalar", [this, scalars](const Views& v, Workspace&) {
                backend().multiply_scalar(queue(), v[0], v[1], scalars(1), plans.base);
              }}});
  add_unary("add_scalar",
            [this, scalars](const Views& v, const RnsBase& base) {
              backend().add_scalar(queue(), v[0], v[1], scalars(2), Form::coefficient, base);
            },
            {{"three scalars", [this, scalars](const Views& v, Workspace&) {
                backend().add_scalar(queue(), v[0], v[1], scalars(3), Form::coefficient, plans.base);
              }}});
  const auto combined = [this](const Views& v, Workspace& space, std::size_t terms,
                               const std::vector<std::vector<std::uint64_t>>& factors,
                               const std::vector<std::uint64_t>& added, const RnsBase& base) {
    const std::vector<ConstPolyView> a(terms, v[1]);
    backend().combine(queue(), v[0], a, factors, added, base, space);
  };
  operations.push_back(
      {"combine",
       {{"output", plans.base, batch, 2, any}, {"a", plans.base, batch, 2, any}},
       [combined, scalars](const Views& v, const Plans& p, Workspace& space) {
         combined(v, space, 1, {scalars(2)}, scalars(2), p.base);
       },
       true,
       {{"no term",
         [this, combined](const Views& v, Workspace& space) { combined(v, space, 0, {}, {}, plans.base); }},
        {"a term without scalars",
         [this, combined, scalars](const Views& v, Workspace& space) {
           combined(v, space, 2, {scalars(2)}, {}, plans.base);
         }},
        {"one scalar of two",
         [this, combined, scalars](const Views& v, Workspace& space) {
           combined(v, space, 1, {scalars(1)}, {}, plans.base);
         }},
        {"a constant of three residues", [this, combined, scalars](const Views& v, Workspace& space) {
           combined(v, space, 1, {scalars(2)}, scalars(3), plans.base);
         }}}});
  add_unary("automorphism", [this](const Views& v, const RnsBase& base) {
    backend().automorphism(queue(), v[0], v[1], 5, Form::evaluation, base);
  });
  const auto sum = [this](const PolyView& out, const std::vector<ConstPolyView>& a,
                          const std::vector<ConstPolyView>& b,
                          const RnsBase& base) { backend().inner_product(queue(), out, a, b, base); };
  operations.push_back(
      {"inner_product",
       {{"output", plans.base, batch, 3, any},
        {"a", plans.base, batch, 2, any},
        {"b", plans.base, batch, 2, any}},
       [sum](const Views& v, const Plans& p, Workspace&) { sum(v[0], {v[1]}, {v[2]}, p.base); },
       true,
       {{"no factors", [this, sum](const Views& v, Workspace&) { sum(v[0], {}, {}, plans.base); }},
        {"a factor without another",
         [this, sum](const Views& v, Workspace&) {
           sum(v[0], {v[1], v[1]}, {v[2]}, plans.base);
         }},
        {"left factors of one and two components",
         [this, sum](const Views& v, Workspace&) {
           sum(v[0], {v[1], v[1].components(0, 1)}, {v[2], v[2]}, plans.base);
         }},
        {"right factors of one and two components",
         [this, sum](const Views& v, Workspace&) {
           sum(v[0], {v[1], v[1]}, {v[2], v[2].components(0, 1)}, plans.base);
         }},
        {"a constant of three residues", [this, scalars](const Views& v, Workspace&) {
           const ConstPolyView a = v[1], b = v[2];
           backend().inner_product(queue(), v[0], std::span(&a, 1), std::span(&b, 1), plans.base, scalars(3));
         }}}});
  add_inner_products();
  add_matrices();
}

void Table::add_inner_products() {
  using Views = std::vector<PolyView>;
  const auto sums = [this](const std::vector<PolyView>& out, const std::vector<ConstPolyView>& a,
                           const std::vector<ConstPolyView>& b,
                           const RnsBase& base) { backend().inner_products(queue(), out, a, b, base); };
  operations.push_back(
      {"inner_products",
       {{"output", plans.base, batch, 2, any},
        {"a", plans.base, batch, 2, any},
        {"b", plans.base, batch, 1, of_stored}},
       [sums](const Views& v, const Plans& p, Workspace&) { sums({v[0]}, {v[1]}, {v[2]}, p.base); },
       true,
       {{"no factors", [this, sums](const Views& v, Workspace&) { sums({v[0]}, {}, {}, plans.base); }},
        {"two sums and a factor for one",
         [this, sums](const Views& v, Workspace&) {
           sums({v[0], v[0]}, {v[1]}, {v[2]}, plans.base);
         }},
        {"outputs of two shapes", [this, sums](const Views& v, Workspace&) {
           sums({v[0], v[0].batches(0, 1)}, {v[1].batches(0, 1)}, {v[2].batches(0, 1), v[2].batches(0, 1)},
                plans.base);
         }}}});
}

}  // namespace hemera::conformance::checked
