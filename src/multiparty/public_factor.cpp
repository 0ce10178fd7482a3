#include "multiparty/public_factor.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::multiparty {

static_assert(std::endian::native == std::endian::little);  // residues are hashed as they lie in memory

namespace {

poly::Poly public_polynomials(const rlwe::Context& context, const poly::Seed& seed, std::size_t first,
                              std::size_t count) {
  const poly::RnsBase& base = context.base(context.top_level());
  // Products with secrets take their place.
  poly::Poly rho = context.make_poly(count, 1, base, poly::Form::evaluation, runtime::Secrecy::secret);
  auto workspace = context.make_workspace();
  const poly::RandomStream stream{seed, static_cast<std::uint32_t>(first)};
  context.backend().sample(context.queue(), rho.view(), stream, poly::Distribution::uniform(), base,
                           workspace);
  return rho;
}

}  // namespace

PublicFactor::PublicFactor(const rlwe::Context& context, const poly::Seed& seed, std::size_t first,
                           std::size_t count)
    : context_(context), rho_(public_polynomials(context, seed, first, count)), digests_(hashed()) {}

PublicFactor::PublicFactor(const rlwe::Context& context, const poly::ConstPolyView& copied,
                           const poly::RnsBase& base)
    : context_(context),
      rho_(context.make_poly(copied.shape.batch, 1, base, poly::Form::evaluation, runtime::Secrecy::secret)),
      moduli_(base.values()) {
  context.backend().copy(context.queue(), rho_.view(), copied);
  digests_ = hashed();
}

std::vector<Sha256Digest> PublicFactor::hashed() const {
  std::vector<std::uint64_t> all(rho_.shape().words());
  context_.backend().download(context_.queue(), all, rho_.view(), rho_.form());
  context_.queue().synchronize();
  const std::size_t each = all.size() / rho_.shape().batch;
  std::vector<std::uint64_t> words = moduli_;
  words.resize(moduli_.size() + each);
  std::vector<Sha256Digest> digests;
  for (std::size_t k = 0; k < rho_.shape().batch; ++k) {
    std::ranges::copy(std::span(all).subspan(k * each, each),
                      words.end() - static_cast<std::ptrdiff_t>(each));
    digests.push_back(runtime::sha256(std::as_bytes(std::span(words))));
  }
  return digests;
}

void PublicFactor::multiply(const poly::PolyView& out, const poly::ConstPolyView& secret,
                            poly::Form form) const {
  const poly::Backend& backend = context_.backend();
  backend.multiply(context_.queue(), out, rho_.view(), secret, rho_.base());
  if (hashed() != digests_) {
    throw DeviceError(
        "the public polynomials of a list changed while they were multiplied: a fault of the "
        "machine, or another writer; nothing was sent");
  }
  if (form == poly::Form::evaluation) return;
  backend.inverse_transform(context_.queue(), out, out, rho_.base());
}

poly::Poly upload_of_zeros(const rlwe::Context& context, const poly::Seed& public_seed,
                           const poly::Poly& secret, const poly::Seed& errors, std::size_t first,
                           std::size_t count) {
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::RnsBase& base = secret.base();
  poly::Poly product = public_polynomials(context, public_seed, first, count);
  backend.multiply(queue, product.view(), std::as_const(product).view(), secret.view(), base);
  backend.inverse_transform(queue, product.view(), std::as_const(product).view(), base);
  poly::Poly b = context.make_poly(count, 1, base, poly::Form::coefficient, runtime::Secrecy::secret);
  auto workspace = context.make_workspace(runtime::Secrecy::secret);
  backend.sample(queue, b.view(), {errors, static_cast<std::uint32_t>(first)},
                 poly::Distribution::error(context.error_distribution()), base, workspace);
  backend.subtract(queue, b.view(), std::as_const(b).view(), std::as_const(product).view(), base);
  return b;
}

}  // namespace hemera::multiparty
