// The steps of a relinearization as calls of their own. The whole switch has kernels that do several of them.
#include <memory>
#include <stdexcept>
#include <utility>

#include "gpu/session.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/schemes/any_scheme.hpp"

namespace hemera::gpu_bench {
namespace {

using poly::Form;
using rlwe::Ciphertext;

// A product of size 3, and what each step makes of its last component.
struct Switch {
  const Operands& in;
  Ciphertext product;
  std::shared_ptr<const rlwe::SwitchingKey> key;
  const poly::ModUp& up;
  const poly::Division* down;
  poly::Poly digits, sums;
  Ciphertext result;
  runtime::Workspace workspace;

  explicit Switch(const Operands& given)
      : in(given),
        product(any_scheme::make_evaluator(context_of(given), given.client.evaluator->keys(),
                                           rlwe::Relinearization::lazy)
                    ->multiply(given.x, given.y)),
        key(given.client.evaluator->keys().find(rlwe::KeyRole::relinearization(), product.meta.level)),
        up(key->gadget->mod_up(product.meta.level)),
        down(key->gadget->mod_down(product.meta.level)),
        digits(context().make_poly(in.batch, up.digits().size(), up.extended(), Form::evaluation)),
        sums(context().make_poly(in.batch, 2, up.extended(), Form::evaluation)),
        result(rlwe::make_ciphertext(context_of(given), product.meta, 2)),
        workspace(context().make_workspace()) {}

  static const std::shared_ptr<const rlwe::Context>& context_of(const Operands& in) {
    return in.client.context;
  }
  [[nodiscard]] const rlwe::Context& context() const { return *in.client.context; }
  [[nodiscard]] const poly::Backend& backend() const { return context().backend(); }
  [[nodiscard]] poly::ConstPolyView last() const {
    return std::as_const(product.poly).view().components(2, 1);
  }

  void extend() {
    backend().mod_up(context().queue(), digits.view(), last(), up, Form::evaluation, workspace);
  }
  void multiply() {
    backend().key_inner_product(context().queue(), sums.view(), std::as_const(digits).view(),
                                key->poly.view(), up);
  }
  void divide() {
    backend().divide_and_round(context().queue(), result.poly.view(), std::as_const(sums).view(), *down,
                               Form::evaluation, workspace);
  }
  void whole() {
    const poly::KeySwitch only{result.poly.view(), key->poly.view()};
    backend().switch_keys(context().queue(), {&only, 1}, last(), up, down, first_two(), workspace);
  }
  [[nodiscard]] poly::ConstPolyView first_two() const {
    return std::as_const(product.poly).view().components(0, 2);
  }
  // The steps' result still lacks the other components.
  [[nodiscard]] bool holds(bool is_whole) {
    Ciphertext sum = result.clone();
    if (!is_whole) {
      backend().add(context().queue(), sum.poly.view(), sum.poly.view(), first_two(),
                    context().base(product.meta.level));
    }
    return in.holds(sum, in.expected([this](std::size_t i) { return in.a[i] * in.b[i]; }));
  }
};

}  // namespace

Call make_switch_step(const Operands& in, const std::string& step) {
  auto state = std::make_shared<Switch>(in);
  const bool is_whole = step == "relinearize";
  if (!is_whole && state->down == nullptr) throw std::invalid_argument("there are no special primes");
  // The input of the step; and after it, the work before the result can be checked.
  if (!is_whole) state->extend();
  if (step == "mod_down") state->multiply();
  const auto finish = [state, step] {
    if (step == "mod_up") state->multiply();
    if (step == "mod_up" || step == "key_inner_product") state->divide();
  };
  return {.run =
              [state, step] {
                if (step == "relinearize") state->whole();
                if (step == "mod_up") state->extend();
                if (step == "key_inner_product") state->multiply();
                if (step == "mod_down") state->divide();
              },
          .release = [] {},
          .check =
              [state, finish, is_whole] {
                finish();
                return state->holds(is_whole);
              }};
}

}  // namespace hemera::gpu_bench
