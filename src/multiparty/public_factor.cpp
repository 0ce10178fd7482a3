#include "multiparty/public_factor.hpp"

#include <atomic>
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
                              std::size_t count, runtime::Secrecy secrecy) {
  const poly::RnsBase& base = context.base(context.top_level());
  poly::Poly rho = context.make_poly(count, 1, base, poly::Form::evaluation, secrecy);
  auto workspace = context.make_workspace();
  const poly::RandomStream stream{seed, static_cast<std::uint32_t>(first)};
  context.backend().sample(context.queue(), rho.view(), stream, poly::Distribution::uniform(), base,
                           workspace);
  return rho;
}

}  // namespace

PublicFactor::PublicFactor(const rlwe::Context& context, const poly::Seed& seed, std::size_t first,
                           std::size_t count)
    : context_(context),
      rho_(public_polynomials(context, seed, first, count, runtime::Secrecy::open)),
      hashed_(hashed(context, rho_, {})) {}

PublicFactor::PublicFactor(const rlwe::Context& context, const poly::ConstPolyView& copied,
                           const poly::RnsBase& base)
    : context_(context), rho_(context.make_poly(copied.shape.batch, 1, base, poly::Form::evaluation)) {
  context.backend().copy(context.queue(), rho_.view(), copied);
  hashed_ = hashed(context, rho_, base.values());
}

PublicFactor PublicFactor::redrawn(const poly::Seed& seed, std::size_t first) const {
  return {context_, public_polynomials(context_, seed, first, rho_.shape().batch, runtime::Secrecy::open),
          hashed_};
}

std::shared_ptr<const PublicFactor::Hashed> PublicFactor::hashed(const rlwe::Context& context,
                                                                 const poly::Poly& polynomials,
                                                                 const std::vector<std::uint64_t>& moduli) {
  const auto result = std::make_shared<Hashed>(
      Hashed{.words = HostWords(context, polynomials.view(), polynomials.form()), .digests = {}});
  const std::span<const std::uint64_t> words = result->words.all();
  const std::size_t each = words.size() / polynomials.shape().batch;
  for (std::size_t k = 0; k < polynomials.shape().batch; ++k) {
    runtime::Sha256 hash;
    hash.update(std::as_bytes(std::span(moduli)));
    hash.update(std::as_bytes(words.subspan(k * each, each)));
    result->digests.push_back(hash.finish());
  }
  return result;
}

void PublicFactor::multiply(const poly::PolyView& out, const poly::ConstPolyView& secret,
                            poly::Form form) const {
  const poly::Backend& backend = context_.backend();
  backend.multiply(context_.queue(), out, rho_.view(), secret, rho_.base());
  if (form == poly::Form::coefficient) backend.inverse_transform(context_.queue(), out, out, rho_.base());
}

void PublicFactor::require_unchanged() const {
  if (hashed_->words.equal(context_, rho_.view(), rho_.form())) return;
  throw DeviceError(
      "the public polynomials of a list changed while they were multiplied: a fault of the "
      "machine, or another writer; nothing was sent");
}

HostWords::HostWords(const rlwe::Context& context, const poly::ConstPolyView& from, poly::Form form)
    : count_(from.shape.words()), words_(std::make_unique_for_overwrite<std::uint64_t[]>(count_)) {
  context.backend().download(context.queue(), all(), from, form);
  context.queue().synchronize();
}

bool HostWords::equal(const rlwe::Context& context, const poly::ConstPolyView& view, poly::Form form) const {
  std::atomic<std::uint64_t> differences = 0;
  context.backend().download_rows(context.queue(), view, form,
                                  [&](std::size_t first, std::span<const std::uint64_t> rows) {
                                    const std::uint64_t* expected = words_.get() + first * view.shape.degree;
                                    std::uint64_t different = 0;
                                    for (std::size_t i = 0; i < rows.size(); ++i)
                                      different |= rows[i] ^ expected[i];
                                    differences |= different;
                                  });
  return differences == 0;
}

poly::Poly upload_of_zeros(const rlwe::Context& context, const poly::Seed& public_seed,
                           const poly::Poly& secret, const poly::Seed& errors, std::size_t first,
                           std::size_t count) {
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::RnsBase& base = secret.base();
  poly::Poly product = public_polynomials(context, public_seed, first, count, runtime::Secrecy::secret);
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
