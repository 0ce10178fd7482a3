#include "hemera/rlwe/parts.hpp"

#include <bit>
#include <map>
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/block_secret.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;

// Numbers of parts' secrets in roles begin here: those below belong to other keys.
constexpr std::uint32_t first_part = 16;

// The parts of f, [part of components, batch], stored by fewer entries.
poly::Poly parts_of(const Context& context, const poly::ConstPolyView& f, std::size_t parts,
                    const poly::RnsBase& base, runtime::Secrecy secrecy) {
  const std::size_t degree = context.degree();
  if (parts < 2 || !std::has_single_bit(parts) || parts > degree / poly::min_entries) {
    throw ParameterError("polynomials of degree " + std::to_string(degree) + " in " + std::to_string(parts) +
                         " parts; their number is a power of two from 2 to " +
                         std::to_string(degree / poly::min_entries));
  }
  poly::Poly found = context.make_poly(parts * f.shape.components, f.shape.batch, base, Form::evaluation,
                                       secrecy, degree / parts);
  context.backend().split_parts(context.queue(), found.view(), f, base);
  return found;
}

}  // namespace

void keep_first_part(const Context& context, const poly::PolyView& f, std::size_t parts,
                     const poly::RnsBase& base) {
  const poly::Poly all = parts_of(context, f, parts, base, runtime::Secrecy::open);
  poly::ConstPolyView first = all.view().batches(0, f.shape.components);
  first.batch_stride *= parts;
  context.backend().copy(context.queue(), f, first.transposed());
}

KeyRole part_role(const SecretPart& part) {
  const auto number = static_cast<std::uint32_t>(part.parts + part.index);
  return {.from = first_part + number};
}

std::optional<SecretPart> part_of(const KeyRole& role) {
  if (role.power != 1 || role.galois_element != 1 || role.to != 0 || role.from < first_part + 2 ||
      role.from >= first_ephemeral_secret) {
    return {};
  }
  const std::uint32_t number = role.from - first_part;
  const std::uint32_t parts = std::bit_floor(number);
  return SecretPart{.parts = parts, .index = number - parts};
}

std::vector<SwitchingKey> generate_part_keys(const SecretKey& secret, const std::vector<SecretPart>& parts,
                                             const GadgetPointer& gadget) {
  std::vector<SwitchingKey> keys(parts.size());
  if (parts.empty()) return keys;
  const ContextPointer& context = secret.context;
  std::multimap<std::size_t, std::size_t> places;  // of keys, by the part's index
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].parts != parts.front().parts || parts[i].index >= parts[i].parts) {
      throw ParameterError("keys of parts of a secret split in several ways; make those of one at a time");
    }
    places.emplace(parts[i].index, i);
  }
  const poly::RnsBase& base = secret.poly.base();
  const std::size_t count = parts.front().parts;
  const poly::Poly split = parts_of(*context, secret.poly.view(), count, base, runtime::Secrecy::secret);
  SecretKey from{context, context->make_poly(1, 1, base, Form::evaluation, runtime::Secrecy::secret)};
  for (std::size_t u = 0; u < count; ++u) {
    const auto [begin, end] = places.equal_range(u);
    if (begin != end) context->backend().copy(context->queue(), from.poly.view(), split.view().batches(u, 1));
    for (auto place = begin; place != end; ++place) {
      keys[place->second] = generate_switching_key(from, secret, gadget);
    }
  }
  return keys;
}

}  // namespace hemera::rlwe
