#include "hemera/rlwe/key_switching.hpp"

#include <utility>

#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;

void require_key(const Context& context, std::size_t level, const SwitchingKey& key, const char* operation) {
  require_same_context(context, *key.context, operation);
  if (level > key.level) {
    throw LevelError(std::string(operation) + ": the key is limited to level " + std::to_string(key.level) +
                     ", but the ciphertext is at level " + std::to_string(level) +
                     "; drop the ciphertext's level, or make a key for its level");
  }
}

void require_size_two(const Ciphertext& ciphertext, const char* operation) {
  if (ciphertext.size() != 2) {
    throw MismatchError(std::string(operation) + ": needs a ciphertext of size 2, not " +
                        std::to_string(ciphertext.size()) + "; relinearize it first");
  }
}

// ModDown of an inner product over the extended base.
poly::Poly divide_by_special(const Context& context, poly::Poly extended, std::size_t level) {
  const poly::Division* plan = context.mod_down(level);
  if (plan == nullptr) return extended;
  const poly::Backend& backend = context.backend();
  poly::Poly result = context.make_poly(extended.shape().batch, extended.shape().components,
                                        context.base(level), Form::evaluation);
  auto workspace = context.make_workspace(backend.divide_and_round_workspace(extended.shape(), *plan));
  backend.divide_and_round(context.queue(), result.view(), extended.view(), *plan, Form::evaluation,
                           workspace);
  return result;
}

// A ciphertext of `switched` with the metadata of `source` and the noise of a key switch.
Ciphertext switched_ciphertext(const Ciphertext& source, poly::Poly switched) {
  Metadata meta = source.meta;
  meta.noise_log2 = add_log2(meta.noise_log2, switching_noise_log2(*source.context, meta.level));
  return {source.context, std::move(meta), std::move(switched), {}};
}

}  // namespace

poly::Poly switch_key(const Context& context, const poly::ConstPolyView& c, std::size_t level,
                      const SwitchingKey& key, const poly::ConstPolyView& addend,
                      std::uint64_t galois_element) {
  require_key(context, level, key, "switch_key");
  const poly::Backend& backend = context.backend();
  const poly::ModUp& up = context.mod_up(level, key.level);
  const poly::Division* down = context.mod_down(level);
  poly::Poly result = context.make_poly(c.shape.batch, 2, context.base(level), Form::evaluation);
  auto workspace = context.make_workspace(backend.switch_key_workspace(c.shape, up, down));
  backend.switch_key(context.queue(), result.view(), c, key.poly.view(), up, down, addend, galois_element,
                     workspace);
  return result;
}

void relinearize(Ciphertext& ciphertext, const SwitchingKey& key) {
  if (ciphertext.size() == 2) return;
  if (ciphertext.size() != 3) {
    throw MismatchError("relinearize: a ciphertext of size " + std::to_string(ciphertext.size()) +
                        " cannot be relinearized; relinearize each product before the next multiplication");
  }
  const Context& context = *ciphertext.context;
  const std::size_t level = ciphertext.meta.level;
  const poly::ConstPolyView in = ciphertext.poly.view();
  poly::Poly switched = switch_key(context, in.components(2, 1), level, key, in.components(0, 2));
  ciphertext.meta.noise_log2 = add_log2(ciphertext.meta.noise_log2, switching_noise_log2(context, level));
  ciphertext.poly = std::move(switched);
}

Ciphertext apply_galois(const Ciphertext& ciphertext, std::uint64_t galois_element, const SwitchingKey& key) {
  require_size_two(ciphertext, "apply_galois");
  const Context& context = *ciphertext.context;
  const poly::ConstPolyView c = ciphertext.poly.view();
  return switched_ciphertext(ciphertext, switch_key(context, c.components(1, 1), ciphertext.meta.level, key,
                                                    c.components(0, 1), galois_element));
}

std::vector<Ciphertext> apply_galois_hoisted(const Ciphertext& ciphertext,
                                             std::span<const std::uint64_t> galois_elements,
                                             std::span<const SwitchingKey* const> keys) {
  require_size_two(ciphertext, "apply_galois_hoisted");
  if (galois_elements.size() != keys.size()) {
    throw ParameterError("apply_galois_hoisted: " + std::to_string(galois_elements.size()) +
                         " Galois elements but " + std::to_string(keys.size()) + " keys");
  }
  std::vector<Ciphertext> results;
  if (keys.empty()) return results;
  const Context& context = *ciphertext.context;
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const std::size_t level = ciphertext.meta.level;
  const poly::ConstPolyView c1 = ciphertext.poly.view().components(1, 1);

  // The digits do not depend on the key, only the positions of their limbs in it do.
  const poly::ModUp& digits_plan = context.mod_up(level, keys.front()->level);
  const std::size_t batch = c1.shape.batch;
  poly::Poly digits =
      context.make_poly(batch, digits_plan.digits().size(), digits_plan.extended(), Form::evaluation);
  {
    auto workspace = context.make_workspace(backend.mod_up_workspace(c1.shape, digits_plan));
    backend.mod_up(queue, digits.view(), c1, digits_plan, Form::evaluation, workspace);
  }
  results.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    require_key(context, level, *keys[i], "apply_galois_hoisted");
    const poly::ModUp& plan = context.mod_up(level, keys[i]->level);
    poly::Poly extended = context.make_poly(batch, 2, plan.extended(), Form::evaluation);
    backend.key_inner_product(queue, extended.view(), digits.view(), keys[i]->poly.view(), plan);
    poly::Poly switched = divide_by_special(context, std::move(extended), level);
    const poly::PolyView k0 = switched.view().components(0, 1);
    backend.add(queue, k0, k0, ciphertext.poly.view().components(0, 1), context.base(level));
    poly::Poly permuted = context.make_poly(batch, 2, context.base(level), Form::evaluation);
    backend.automorphism(queue, permuted.view(), std::as_const(switched).view(), galois_elements[i],
                         Form::evaluation, context.base(level));
    results.push_back(switched_ciphertext(ciphertext, std::move(permuted)));
  }
  return results;
}

Ciphertext reencrypt(const Ciphertext& ciphertext, const SwitchingKey& key) {
  return apply_galois(ciphertext, 1, key);
}

}  // namespace hemera::rlwe
