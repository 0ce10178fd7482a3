#include "multiparty/public_factor.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::multiparty {

static_assert(std::endian::native == std::endian::little);  // residues are hashed as they lie in memory

PublicFactor::PublicFactor(const rlwe::Context& context, const poly::Seed& seed, std::size_t first,
                           std::size_t count)
    : context_(context),
      rho_(context.make_poly(count, 1, context.base(context.top_level()), poly::Form::evaluation)) {
  auto workspace = context.make_workspace();
  const poly::RandomStream stream{seed, static_cast<std::uint32_t>(first)};
  context.backend().sample(context.queue(), rho_.view(), stream, poly::Distribution::uniform(), rho_.base(),
                           workspace);
  digests_ = hashed();
}

std::vector<Sha256Digest> PublicFactor::hashed() const {
  std::vector<std::uint64_t> words(rho_.shape().words());
  context_.backend().download(context_.queue(), words, rho_.view(), rho_.form());
  context_.queue().synchronize();
  const std::size_t each = words.size() / rho_.shape().batch;
  std::vector<Sha256Digest> digests;
  for (std::size_t k = 0; k < rho_.shape().batch; ++k) {
    digests.push_back(runtime::sha256(std::as_bytes(std::span(words).subspan(k * each, each))));
  }
  return digests;
}

void PublicFactor::multiply(const poly::PolyView& out, const poly::ConstPolyView& secret) const {
  const poly::Backend& backend = context_.backend();
  backend.multiply(context_.queue(), out, rho_.view(), secret, rho_.base());
  if (hashed() != digests_) {
    throw DeviceError(
        "the public polynomials of a list changed while they were multiplied: a fault of the "
        "machine, or another writer; nothing was sent");
  }
  backend.inverse_transform(context_.queue(), out, out, rho_.base());
}

poly::Poly upload_of_zeros(const rlwe::Context& context, const PublicFactor& rho, const poly::Poly& secret,
                           const poly::RandomStream& errors) {
  const poly::RnsBase& base = secret.base();
  const std::size_t count = rho.digests().size();
  poly::Poly product = context.make_poly(count, 1, base, poly::Form::coefficient, runtime::Secrecy::secret);
  poly::Poly b = context.make_poly(count, 1, base, poly::Form::coefficient, runtime::Secrecy::secret);
  rho.multiply(product.view(), secret.view());
  auto workspace = context.make_workspace(runtime::Secrecy::secret);
  context.backend().sample(context.queue(), b.view(), errors,
                           poly::Distribution::error(context.error_distribution()), base, workspace);
  context.backend().subtract(context.queue(), b.view(), std::as_const(b).view(),
                             std::as_const(product).view(), base);
  return b;
}

}  // namespace hemera::multiparty
