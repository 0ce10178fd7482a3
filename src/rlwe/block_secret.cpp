#include "hemera/rlwe/block_secret.hpp"

#include <algorithm>
#include <bit>
#include <complex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/security.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "rlwe/device_values.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;
using runtime::Secrecy;
using Complex = std::complex<double>;

// After first_block_secret come log2 of the degree (5 bits), of the blocks (5) and of the values (4), then
// the number of the encryption.
constexpr int number_bits = 16;

std::uint32_t log2_of(std::size_t power) { return static_cast<std::uint32_t>(std::countr_zero(power)); }

std::uint32_t number_of(const BlockSlots& slots, std::size_t number) {
  const auto& [secret, values] = slots;
  const std::uint32_t shape = ((log2_of(secret.degree) << 5 | log2_of(secret.blocks)) << 4) | log2_of(values);
  return first_block_secret | shape << number_bits | static_cast<std::uint32_t>(number);
}

BlockEncryption shape_of(std::uint32_t number) {
  const std::uint32_t shape = (number & ~first_block_secret) >> number_bits;
  return {.slots = {.secret = {.degree = std::size_t{1} << (shape >> 9 & 31U),
                               .blocks = std::size_t{1} << (shape >> 4 & 31U)},
                    .values = std::size_t{1} << (shape & 15U)},
          .number = number & ((1U << number_bits) - 1)};
}

bool is_plain(const KeyRole& role) { return role.power == 1 && role.galois_element == 1; }

// The place of each block's 1: the lowest bits of residues modulo a prime, whose distance from uniform is
// below length / q.
void draw_places(const Context& context, const BlockSecret& secret, std::vector<std::uint64_t>& places) {
  const poly::RnsBase base(context.key_base().ring(), {context.key_base().index(0)});
  poly::Poly drawn = context.make_poly(1, 1, base, Form::evaluation, Secrecy::secret);
  const poly::RandomStream stream{poly::Seed::fresh(), 0};
  auto workspace = context.make_workspace(Secrecy::secret);
  context.backend().sample(context.queue(), drawn.view(), stream, poly::Distribution::uniform(), base,
                           workspace);
  if (context.ledger() != nullptr) return;  // there are no values
  std::vector<std::uint64_t> all(context.degree());
  const runtime::ZeroedAtEnd wiped{std::span(all)};
  context.backend().download(context.queue(), all, std::as_const(drawn).view(), Form::evaluation);
  context.queue().synchronize();
  for (std::size_t k = 0; k < places.size(); ++k) places[k] = all[k] & (secret.length() - 1);
}

// 1 where both are equal, without a branch.
std::uint64_t equals(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t difference = a ^ b;
  return 1 ^ ((difference | (0 - difference)) >> 63);
}

SecretKey secret_of(const ContextPointer& context, const BlockSecret& shape,
                    const std::vector<std::uint64_t>& places) {
  const poly::RnsBase& base = context->key_base();
  SecretKey z{context, context->make_poly(1, 1, base, Form::coefficient, Secrecy::secret)};
  const std::size_t degree = context->degree(), length = shape.length();
  const std::size_t stride = degree / shape.degree;
  context->backend().upload_rows(
      context->queue(), z.poly.view(), Form::coefficient, [&](std::size_t, std::span<std::uint64_t> rows) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const std::size_t coefficient = i % degree, place = coefficient / stride;
          rows[i] = coefficient % stride == 0 ? equals(places[place / length], place % length) : 0;
        }
      });
  context->backend().forward_transform(context->queue(), z.poly.view(), z.poly.view(), base);
  z.poly.set_form(Form::evaluation);
  return z;
}

// The plaintext of an encryption, in the place of a secret that a key starts from.
SecretKey plaintext_of(const ContextPointer& context, const BlockSlots& shape, std::size_t number,
                       double scale, const std::vector<std::uint64_t>& places) {
  const std::size_t slots = context->degree() / 2, own = shape.places(slots);
  std::vector<Complex> bits(slots);
  const runtime::ZeroedAtEnd wiped{std::span(bits)};
  const std::size_t length = shape.secret.length();
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const std::size_t block = slot / shape.values % shape.secret.blocks;
    const std::size_t place = slot / (shape.values * shape.secret.blocks);
    const std::size_t index = number * own + place;
    const bool is_there = place < own && index < length;
    bits[slot] = static_cast<double>(equals(places[block], is_there ? index : length));
  }
  const poly::RnsBase& base = context->key_base();
  SecretKey result{context, context->make_poly(1, 1, base, Form::evaluation, Secrecy::secret)};
  const DeviceValues given(*context, std::span(bits), Secrecy::secret);
  given.upload();
  auto workspace = context->make_workspace(Secrecy::secret);
  context->backend().embed(
      context->queue(), result.poly.view(), {.data = given.data(), .batch = 1, .slots = slots}, scale,
      context->parameters().literal().galois_generator, base, workspace, Form::evaluation);
  context->queue().synchronize();  // the values are read
  return result;
}

void require_shape(const Context& context, const BlockSlots& slots, const Gadget& narrow,
                   const Gadget& wide) {
  const auto& [secret, values] = slots;
  const std::size_t degree = context.degree();
  if (!std::has_single_bit(secret.degree) || !std::has_single_bit(secret.blocks) ||
      !std::has_single_bit(values) || secret.degree > degree || secret.blocks > secret.degree ||
      values > degree / 2 / secret.blocks) {
    throw ParameterError("a secret of degree " + std::to_string(secret.degree) + " in " +
                         std::to_string(secret.blocks) + " blocks for " + std::to_string(values) +
                         " values: powers of two, up to the ring's degree, and values times blocks up to " +
                         std::to_string(degree / 2));
  }
  if (narrow.base().size() > 1 || narrow.special().size() > 1 || wide.digits().size() != 1) {
    throw ParameterError(
        "keys of a secret in blocks have one ciphertext prime and at most one special prime under it, as it "
        "is weak under more, and one digit in its encryptions");
  }
}

void require_security(const Context& context, const BlockSecret& secret, const Gadget& narrow) {
  const ParametersLiteral& literal = context.parameters().literal();
  if (!literal.security) return;
  const auto most = max_log_modulus_of_blocks(secret.degree, *literal.security, secret.blocks);
  if (most && narrow.log_modulus() <= *most) return;
  throw SecurityError(
      "a key over " + std::to_string(narrow.log_modulus()) + " bits under a secret of degree " +
      std::to_string(secret.degree) + " in " + std::to_string(secret.blocks) +
      " blocks: " + (most ? "at most " + std::to_string(*most) + " have" : "none has an estimate of") +
      " the " + std::to_string(*literal.security) +
      " bits of security that the parameters ask for; use 64 blocks at degree 2^14 and a smaller modulus, "
      "or " +
      Message(WayOut::parameters_without_security, "parameters of no security level") + " to accept it");
}

}  // namespace

std::size_t BlockSlots::places(std::size_t slots) const {
  return std::min(secret.length(), slots / (values * secret.blocks));
}

std::size_t BlockSlots::encryptions(std::size_t slots) const { return secret.length() / places(slots); }

KeyRole to_block_role(const BlockSlots& slots) { return {.to = number_of(slots, 0)}; }

KeyRole block_role(const BlockSlots& slots, std::size_t number) { return {.from = number_of(slots, number)}; }

std::optional<BlockSlots> to_block_of(const KeyRole& role) {
  if (!is_plain(role) || role.from != 0 || role.to < first_block_secret) return {};
  return shape_of(role.to).slots;
}

std::optional<BlockEncryption> block_of(const KeyRole& role) {
  if (!is_plain(role) || role.to != 0 || role.from < first_block_secret) return {};
  return shape_of(role.from);
}

BlockKeyMaker::BlockKeyMaker(const SecretKey& secret, const BlockSlots& slots, GadgetPointer narrow,
                             GadgetPointer wide)
    : secret_(secret), slots_(slots), narrow_(std::move(narrow)), wide_(std::move(wide)) {
  require_shape(*secret.context, slots, *narrow_, *wide_);
  require_security(*secret.context, slots.secret, *narrow_);
  places_.resize(slots.secret.blocks);
  draw_places(*secret.context, slots.secret, places_);
}

BlockKeyMaker::~BlockKeyMaker() { const runtime::ZeroedAtEnd wiped{std::span(places_)}; }

KeyMaker BlockKeyMaker::to_block() {
  end_ = secret_of(secret_.context, slots_.secret, places_);
  return {secret_, *end_, narrow_};
}

KeyMaker BlockKeyMaker::encryption(std::size_t number) {
  const double scale = secret_.context->scales().level_scale(wide_->highest_level());
  end_ = plaintext_of(secret_.context, slots_, number, scale, places_);
  return {*end_, secret_, wide_};
}

BlockKeys generate_block_keys(const SecretKey& secret, const BlockSlots& slots,
                              std::span<const std::size_t> numbers, const GadgetPointer& narrow,
                              const GadgetPointer& wide) {
  BlockKeyMaker maker(secret, slots, narrow, wide);
  const auto shared = [](SwitchingKey key) { return std::make_shared<const SwitchingKey>(std::move(key)); };
  BlockKeys keys{.to_block = shared(maker.to_block().key()), .encryptions = {}};
  for (const std::size_t number : numbers) keys.encryptions.push_back(shared(maker.encryption(number).key()));
  return keys;
}

}  // namespace hemera::rlwe
