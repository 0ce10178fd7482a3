// Key switches.
#include "conformance/checked/operations.hpp"

namespace hemera::conformance::checked {

void Table::key_switching() {
  const RnsBase &q = plans.base, &qp = plans.extended;
  constexpr unsigned of_key = any & ~wrong_batch;  // it may have more digits
  operations.push_back({"mod_up",
                        {{"output", qp, batch, 2, any}, {"input", q, batch, 1, any}},
                        [this](const auto& v, const Plans& p, Workspace& space) {
                          backend().mod_up(queue(), v[0], v[1], p.up, Form::evaluation, space);
                        }});
  operations.push_back({"mod_up",
                        {{"output", qp, batch, 2, any}, {"input", qp, batch, 1, any}},
                        [this](const auto& v, const Plans& p, Workspace& space) {
                          backend().mod_up(queue(), v[0], v[1], p.up, Form::evaluation, space, &p.down);
                        },
                        true,
                        {{"a division from elsewhere",
                          [this](const auto& v, Workspace& space) {
                            const poly::Division other(rig.choose({2, 0, 1}), plans.base);
                            backend().mod_up(queue(), v[0], v[1], plans.up, Form::evaluation, space, &other);
                          }},
                         {"a division to another base", [this](const auto& v, Workspace& space) {
                            const poly::Division other(plans.extended, plans.one);
                            backend().mod_up(queue(), v[0], v[1], plans.up, Form::evaluation, space, &other);
                          }}}});
  operations.push_back(
      {"key_inner_product",
       {{"output", qp, batch, 2, any}, {"digits", qp, batch, 2, any}, {"key", qp, 2, 2, of_key}},
       [this](const auto& v, const Plans& p, Workspace&) {
         backend().key_inner_product(queue(), v[0], v[1], v[2], p.up);
       },
       true,
       {{"a key of one digit", [this](const auto& v, Workspace&) {
           backend().key_inner_product(queue(), v[0], v[1], v[2].batches(0, 1), plans.up);
         }}}});
  operations.push_back(
      {"hoisted_products",
       {{"output", qp, batch, 2, any},
        {"digits", qp, batch, 2, any},
        {"key", qp, 2, 2, of_key},
        {"addend", qp, batch, 2, any},
        {"factor", qp, batch, 1, of_stored}},
       [this](const auto& v, const Plans& p, Workspace& space) {
         const poly::HoistedTerm term{v[1], v[2], v[3], 5, {v[4]}};
         const std::uint64_t special[] = {1, 2};
         backend().hoisted_products(queue(), std::span(&v[0], 1), std::span(&term, 1), p.up, special, space);
       },
       true,
       {{"a key of one digit",
         [this](const auto& v, Workspace& space) {
           const poly::HoistedTerm term{v[1], v[2].batches(0, 1), v[3], 5, {v[4]}};
           const std::uint64_t special[] = {1, 2};
           backend().hoisted_products(queue(), std::span(&v[0], 1), std::span(&term, 1), plans.up, special,
                                      space);
         }},
        {"residues of P for other primes",
         [this](const auto& v, Workspace& space) {
           const poly::HoistedTerm term{v[1], v[2], v[3], 5, {v[4]}};
           const std::uint64_t special[] = {1, 2, 3};
           backend().hoisted_products(queue(), std::span(&v[0], 1), std::span(&term, 1), plans.up, special,
                                      space);
         }},
        {"factors for other outputs",
         [this](const auto& v, Workspace& space) {
           const poly::HoistedTerm term{v[1], v[2], v[3], 5, {v[4], v[4]}};
           const std::uint64_t special[] = {1, 2};
           backend().hoisted_products(queue(), std::span(&v[0], 1), std::span(&term, 1), plans.up, special,
                                      space);
         }},
        {"no terms", [this](const auto& v, Workspace& space) {
           const std::uint64_t special[] = {1, 2};
           backend().hoisted_products(queue(), std::span(&v[0], 1), {}, plans.up, special, space);
         }}}});
  const auto switch_keys = [this](const std::vector<PolyView>& v, const Plans& p, const poly::Division* down,
                                  Workspace& space) {
    const poly::KeySwitch list[] = {{v[0], v[2], 5}};
    backend().switch_keys(queue(), list, v[1], p.up, down, v[3], space);
  };
  operations.push_back(
      {"switch_keys",
       {{"output", q, batch, 2, any},
        {"input", q, batch, 1, any},
        {"key", qp, 2, 2, of_key},
        {"addend", q, batch, 2, any}},
       [switch_keys](const auto& v, const Plans& p, Workspace& space) { switch_keys(v, p, &p.down, space); },
       true,
       {{"a key of one digit",
         [this, switch_keys](auto v, Workspace& space) {
           v[2] = v[2].batches(0, 1);
           switch_keys(v, plans, &plans.down, space);
         }},
        {"a division from elsewhere",
         [this, switch_keys](const auto& v, Workspace& space) {
           const poly::Division other(rig.choose({2, 0, 1}), plans.base);
           switch_keys(v, plans, &other, space);
         }},
        {"a division to another base",
         [this, switch_keys](const auto& v, Workspace& space) {
           const poly::Division other(plans.extended, plans.one);
           switch_keys(v, plans, &other, space);
         }},
        {"no division",
         [this, switch_keys](const auto& v, Workspace& space) { switch_keys(v, plans, nullptr, space); }},
        {"outputs of two shapes", [this](const auto& v, Workspace& space) {
           const poly::KeySwitch list[] = {{v[0], v[2]},
                                           {v[0].components(0, 1), ConstPolyView(v[2]).components(0, 1)}};
           backend().switch_keys(queue(), list, v[1], plans.up, &plans.down, {}, space);
         }}}});
  const auto multiply = [this](const std::vector<PolyView>& v, const Plans& p, const poly::Division* down,
                               Workspace& space) {
    backend().multiply_relinearize(queue(), v[0], v[1], v[2], v[3], p.up, down, space);
  };
  operations.push_back(
      {"multiply_relinearize",
       {{"output", q, batch, 2, any},
        {"a", q, batch, 2, any},
        {"b", q, batch, 2, any},
        {"key", qp, 2, 2, of_key}},
       [multiply](const auto& v, const Plans& p, Workspace& space) { multiply(v, p, &p.down, space); },
       true,
       {{"a key of one digit",
         [this, multiply](auto v, Workspace& space) {
           v[3] = v[3].batches(0, 1);
           multiply(v, plans, &plans.down, space);
         }},
        {"no division",
         [this, multiply](const auto& v, Workspace& space) { multiply(v, plans, nullptr, space); }}}});
}

}  // namespace hemera::conformance::checked
