// Changes of base, and the products of BFV that are made of them.
#include "conformance/checked/operations.hpp"

namespace hemera::conformance::checked {

template <typename Call>
std::vector<Operation::Wrong> Table::wrong_doubts(const Call& call) {
  const auto with = [this, call](std::size_t components, std::size_t rows, std::size_t count) {
    return [this, call, components, rows, count](const std::vector<PolyView>& v, Workspace&) {
      call(v[0].components(0, components), v[1].components(0, components), integer_view(rows, count));
    };
  };
  const std::size_t count = degree / poly::coefficients_per_doubt;
  return {{"doubts of two components", with(2, batch, count)},
          {"rows of doubts", with(1, batch + 1, count)},
          {"doubts of a row", with(1, batch, count + 1)}};
}

void Table::changes_of_base() {
  operations.push_back(
      {"convert",
       {{"output", plans.conversion.target(), batch, 2, any}, {"input", plans.base, batch, 2, any}},
       [this](const auto& v, const Plans& p, Workspace&) {
         backend().convert(queue(), v[0], v[1], p.conversion);
       },
       true,
       wrong_doubts([this](const PolyView& out, const PolyView& in, const poly::IntegerView& doubtful) {
         backend().convert(queue(), out, in, plans.conversion, &doubtful);
       })});
  operations.push_back(
      {"scale_and_round",
       {{"output", plans.base, batch, 2, any}, {"input", plans.extended, batch, 2, any}},
       [this](const auto& v, const Plans& p, Workspace&) {
         backend().scale_and_round(queue(), v[0], v[1], p.rounding);
       },
       true,
       wrong_doubts([this](const PolyView& out, const PolyView& in, const poly::IntegerView& doubtful) {
         backend().scale_and_round(queue(), out, in, plans.rounding, &doubtful);
       })});
  operations.push_back({"divide_and_round",
                        {{"output", plans.base, batch, 2, any}, {"input", plans.extended, batch, 2, any}},
                        [this](const auto& v, const Plans& p, Workspace& space) {
                          backend().divide_and_round(queue(), v[0], v[1], p.down, Form::evaluation, space);
                        }});
}

void Table::scaled_products() {
  const RnsBase& q = plans.base;
  operations.push_back({"scaled_product",
                        {{"output", q, batch, 3, any}, {"a", q, batch, 2, any}, {"b", q, batch, 2, any}},
                        [this](const auto& v, const Plans& p, Workspace& space) {
                          backend().scaled_product(queue(), v[0], v[1], v[2], p.product, space);
                        }});
  const auto lift = [this](const PolyView& a_lifted, const PolyView& b_lifted,
                           const std::vector<ConstPolyView>& a, const std::vector<ConstPolyView>& b,
                           const Plans& p, Workspace& space) {
    backend().lift_operands(queue(), a_lifted, b_lifted, a, b, p.product, space);
  };
  operations.push_back(
      {"lift_operands",
       {{"lifted a", plans.product.auxiliary(), batch, 2, any},
        {"lifted b", plans.product.all(), batch, 2, any},
        {"a", q, batch, 2, any},
        {"b", q, batch, 2, any}},
       [lift](const auto& v, const Plans& p, Workspace& space) {
         lift(v[0], v[1], {v[2]}, {v[3]}, p, space);
       },
       true,
       {{"no pairs",
         [this, lift](const auto& v, Workspace& space) { lift(v[0], v[1], {}, {}, plans, space); }},
        {"a second factor too many",
         [this, lift](const auto& v, Workspace& space) {
           lift(v[0], v[1], {v[2]}, {v[3], v[3]}, plans, space);
         }},
        {"batches that are no multiple of the pairs",
         [this, lift](const auto& v, Workspace& space) {
           const ConstPolyView a = v[2].batches(0, 1), b = v[3].batches(0, 1);
           lift(v[0], v[1], {a, a, a}, {b, b, b}, plans, space);
         }},
        {"a second pair of another batch", [this, lift](const auto& v, Workspace& space) {
           const ConstPolyView a = v[2].batches(0, 1), b = v[3].batches(0, 1);
           lift(v[0], v[1], {a, a}, {b, v[3]}, plans, space);
         }}}});
}

}  // namespace hemera::conformance::checked
