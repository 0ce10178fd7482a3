#include "hemera/rlwe/parts.hpp"

#include <bit>
#include <map>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/monomial.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;

// Of secrets' numbers in roles: those below belong to other keys.
constexpr std::uint32_t first_part = 16;

// X^step -> -X^step, of polynomials in X^step.
void mirror(const Context& context, const poly::PolyView& out, const poly::ConstPolyView& f, std::size_t step,
            const poly::RnsBase& base) {
  const std::uint64_t element = 1 + context.degree() / step;
  context.backend().automorphism(context.queue(), out, f, element, Form::evaluation, base);
}

}  // namespace

PartSplitter::PartSplitter(const std::shared_ptr<const Context>& context, const poly::RnsBase& base,
                           std::size_t parts)
    : context_(context), base_(base), parts_(parts) {
  const std::size_t degree = context->degree();
  if (parts < 2 || !std::has_single_bit(parts) || parts > degree / poly::min_entries) {
    throw ParameterError("polynomials of degree " + std::to_string(degree) + " in " + std::to_string(parts) +
                         " parts; their number is a power of two from 2 to " +
                         std::to_string(degree / poly::min_entries));
  }
  for (std::size_t l = 0; l < base.size(); ++l) half_.push_back((base.modulus(l).value() + 1) / 2);
  for (std::size_t step = 1; step < parts; step *= 2) {
    poly::Poly turn = monomial(*context, base, 2 * degree - step);
    context->backend().multiply_scalar(context->queue(), turn.view(), std::as_const(turn).view(), half_,
                                       base);
    turns_.push_back(std::move(turn));
  }
}

void PartSplitter::split(const poly::ConstPolyView& f, runtime::Secrecy secrecy,
                         const std::function<void(std::size_t, const poly::ConstPolyView&)>& take) const {
  split(f, 1, 0, secrecy, take);
}

void PartSplitter::keep_first(const poly::PolyView& f) const {
  const poly::Backend& backend = context_->backend();
  runtime::Queue& queue = context_->queue();
  poly::Poly mirrored = context_->make_poly(f.shape.batch, f.shape.components, base_, Form::evaluation);
  for (std::size_t step = 1; step < parts_; step *= 2) {
    mirror(*context_, mirrored.view(), f, step, base_);
    backend.add(queue, f, f, std::as_const(mirrored).view(), base_);
    backend.multiply_scalar(queue, f, f, half_, base_);
  }
}

// f is a polynomial in X^step, the part that begins at `first`.
void PartSplitter::split(const poly::ConstPolyView& f, std::size_t step, std::size_t first,
                         runtime::Secrecy secrecy,
                         const std::function<void(std::size_t, const poly::ConstPolyView&)>& take) const {
  if (step == parts_) return take(first, f);
  const poly::Backend& backend = context_->backend();
  runtime::Queue& queue = context_->queue();
  const auto make = [&] {
    return context_->make_poly(f.shape.batch, f.shape.components, base_, Form::evaluation, secrecy);
  };
  poly::Poly mirrored = make(), half = make();
  mirror(*context_, mirrored.view(), f, step, base_);
  backend.add(queue, half.view(), f, std::as_const(mirrored).view(), base_);
  backend.multiply_scalar(queue, half.view(), std::as_const(half).view(), half_, base_);
  split(std::as_const(half).view(), 2 * step, first, secrecy, take);
  backend.subtract(queue, half.view(), f, std::as_const(mirrored).view(), base_);
  mirrored = {};
  const auto turn = static_cast<std::size_t>(std::countr_zero(step));
  backend.multiply(queue, half.view(), std::as_const(half).view(), turns_[turn].view(), base_);
  split(std::as_const(half).view(), 2 * step, first + step, secrecy, take);
}

KeyRole part_role(const SecretPart& part) {
  const auto number = static_cast<std::uint32_t>(part.parts + part.index);
  return {.from = first_part + 2 * number + (part.times_secret ? 1U : 0U)};
}

std::optional<SecretPart> part_of(const KeyRole& role) {
  if (role.power != 1 || role.galois_element != 1 || role.to != 0 || role.from < first_part + 4) return {};
  const std::uint32_t number = (role.from - first_part) / 2;
  const std::uint32_t parts = std::bit_floor(number);
  return SecretPart{
      .parts = parts, .index = number - parts, .times_secret = (role.from - first_part) % 2 == 1};
}

std::vector<SwitchingKey> generate_part_keys(const SecretKey& secret, const std::vector<SecretPart>& parts,
                                             const std::shared_ptr<const Gadget>& gadget) {
  std::vector<SwitchingKey> keys(parts.size());
  if (parts.empty()) return keys;
  const std::shared_ptr<const Context>& context = secret.context;
  std::multimap<std::size_t, std::size_t> places;  // of keys, by the part's index
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].parts != parts.front().parts || parts[i].index >= parts[i].parts) {
      throw ParameterError("keys of parts of a secret split in several ways; make those of one at a time");
    }
    places.emplace(parts[i].index, i);
  }
  const poly::RnsBase& base = secret.poly.base();
  const PartSplitter splitter(context, base, parts.front().parts);
  SecretKey from{context, context->make_poly(1, 1, base, Form::evaluation, runtime::Secrecy::secret)};
  splitter.split(
      secret.poly.view(), runtime::Secrecy::secret, [&](std::size_t u, const poly::ConstPolyView& part) {
        const auto [begin, end] = places.equal_range(u);
        for (auto place = begin; place != end; ++place) {
          if (parts[place->second].times_secret) {
            context->backend().multiply(context->queue(), from.poly.view(), part, secret.poly.view(), base);
          } else {
            context->backend().copy(context->queue(), from.poly.view(), part);
          }
          keys[place->second] = generate_switching_key(from, secret, gadget);
        }
      });
  return keys;
}

}  // namespace hemera::rlwe
