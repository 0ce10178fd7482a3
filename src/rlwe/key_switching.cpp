#include "hemera/rlwe/key_switching.hpp"

#include <map>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;

void require_key(const Context& context, std::size_t level, const SwitchingKey& key, const char* operation) {
  require_filled(key, operation);
  require_same_context(context, *key.context, operation);
  if (!key.gadget->serves(level)) {
    throw LevelError(std::string(operation) + ": the key is limited to level " + std::to_string(key.level()) +
                     ", but the ciphertext is at level " + std::to_string(level) +
                     "; bring the ciphertext to a level that the key serves, or make a key for its level");
  }
}

// A ciphertext of `switched` with the metadata of `source` and the noise of a key switch.
Ciphertext switched_ciphertext(const Ciphertext& source, poly::Poly switched, const SwitchingKey& key) {
  Metadata meta = source.meta;
  meta.noise_log2 = sum_noise_log2(*source.context, meta.noise_log2,
                                   switching_noise_log2(*source.context, *key.gadget, meta.level));
  return {source.context, std::move(meta), std::move(switched), {}};
}

// A ciphertext of size 3 relinearized, at the level of `meta`.
Ciphertext relinearized(const Ciphertext& in, const SwitchingKey& key, Metadata meta) {
  if (in.size() != 3) {
    throw MismatchError("relinearize: a ciphertext of size " + std::to_string(in.size()) +
                        " cannot be relinearized; relinearize each product before the next multiplication");
  }
  const Context& context = *in.context;
  const std::size_t level = in.meta.level;
  require_key(context, level, key, "relinearize");
  meta.noise_log2 =
      sum_noise_log2(context, meta.noise_log2, product_switching_noise_log2(context, *key.gadget, level));
  Ciphertext result = make_ciphertext(in.context, std::move(meta), 2);
  const poly::ConstPolyView c = in.poly.view();
  auto workspace = context.make_workspace();
  const poly::KeySwitch only{result.poly.view(), key.poly.view()};
  context.backend().switch_keys(context.queue(), std::span(&only, 1), c.components(2, 1),
                                key.gadget->mod_up(level), key.gadget->mod_down(level, result.meta.level),
                                c.components(0, 2), workspace);
  return result;
}

}  // namespace

poly::Poly switch_key(const Context& context, const poly::ConstPolyView& c, std::size_t level,
                      const SwitchingKey& key, const poly::ConstPolyView& addend,
                      std::uint64_t galois_element) {
  require_key(context, level, key, "switch_key");
  const poly::Backend& backend = context.backend();
  const poly::ModUp& up = key.gadget->mod_up(level);
  const poly::Division* down = key.gadget->mod_down(level);
  poly::Poly result = context.make_poly(c.shape.batch, 2, context.base(level), Form::evaluation);
  auto workspace = context.make_workspace();
  const poly::KeySwitch only{result.view(), key.poly.view(), galois_element};
  backend.switch_keys(context.queue(), std::span(&only, 1), c, up, down, addend, workspace);
  return result;
}

Ciphertext multiply_relinearize(const ContextPointer& context, const poly::ConstPolyView& a,
                                const poly::ConstPolyView& b, Metadata meta, const SwitchingKey& key) {
  const std::size_t level = meta.level;
  require_key(*context, level, key, "relinearize");
  const poly::Backend& backend = context->backend();
  const poly::ModUp& up = key.gadget->mod_up(level);
  const poly::Division* down = key.gadget->mod_down(level);
  meta.noise_log2 =
      sum_noise_log2(*context, meta.noise_log2, product_switching_noise_log2(*context, *key.gadget, level));
  Ciphertext product = make_ciphertext(context, std::move(meta), 2);
  auto workspace = context->make_workspace();
  backend.multiply_relinearize(context->queue(), product.poly.view(), a, b, key.poly.view(), up, down,
                               workspace);
  return product;
}

void relinearize(Ciphertext& ciphertext, const SwitchingKey& key) {
  if (ciphertext.size() == 2) return;
  ciphertext = relinearized(ciphertext, key, ciphertext.meta);
}

Ciphertext relinearize_rescaled(const Ciphertext& ciphertext, const SwitchingKey& key) {
  return relinearized(ciphertext, key, ciphertext.context->scales().rescaled(ciphertext.meta));
}

Ciphertext apply_galois(const Ciphertext& ciphertext, std::uint64_t galois_element, const SwitchingKey& key) {
  require_size_two(ciphertext, "apply_galois");
  const Context& context = *ciphertext.context;
  const poly::ConstPolyView c = ciphertext.poly.view();
  return switched_ciphertext(
      ciphertext,
      switch_key(context, c.components(1, 1), ciphertext.meta.level, key, c.components(0, 1), galois_element),
      key);
}

std::vector<Ciphertext> apply_galois_hoisted(const Ciphertext& ciphertext,
                                             std::span<const std::uint64_t> galois_elements,
                                             std::span<const SwitchingKey* const> keys) {
  require_size_two(ciphertext, "apply_galois_hoisted");
  if (galois_elements.size() != keys.size()) {
    throw ParameterError("apply_galois_hoisted: " + std::to_string(galois_elements.size()) +
                         " Galois elements but " + std::to_string(keys.size()) + " keys");
  }
  require_each(keys, "apply_galois_hoisted");
  const Context& context = *ciphertext.context;
  const poly::Backend& backend = context.backend();
  const std::size_t level = ciphertext.meta.level;
  const poly::ConstPolyView c0 = ciphertext.poly.view().components(0, 1);
  const poly::ConstPolyView c1 = ciphertext.poly.view().components(1, 1);
  std::map<const Gadget*, std::vector<std::size_t>> positions;  // of the keys of one gadget
  for (std::size_t i = 0; i < keys.size(); ++i) {
    require_key(context, level, *keys[i], "apply_galois_hoisted");
    positions[keys[i]->gadget.get()].push_back(i);
  }
  std::vector<Ciphertext> results(keys.size());
  for (const auto& [gadget, of_gadget] : positions) {
    const poly::ModUp& up = gadget->mod_up(level);
    const poly::Division* down = gadget->mod_down(level);
    std::vector<poly::KeySwitch> switches;
    for (const std::size_t i : of_gadget) {
      results[i] = switched_ciphertext(
          ciphertext, context.make_poly(c1.shape.batch, 2, context.base(level), Form::evaluation), *keys[i]);
      switches.push_back({results[i].poly.view(), keys[i]->poly.view(), galois_elements[i]});
    }
    auto workspace = context.make_workspace();
    backend.switch_keys(context.queue(), switches, c1, up, down, c0, workspace);
  }
  return results;
}

Ciphertext reencrypt(const Ciphertext& ciphertext, const SwitchingKey& key) {
  return apply_galois(ciphertext, 1, key);
}

}  // namespace hemera::rlwe
