#include "io/secret.hpp"

#include <string>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::io {
namespace {

using runtime::Secrecy;

// The modulus of stored coefficients: twice the largest magnitude and one.
std::uint64_t stored_modulus(const rlwe::Context& context) {
  return context.parameters().literal().secret.is_ternary() ? 3 : 255;
}

// Host words that are zeroed in the end.
class SecretWords {
 public:
  explicit SecretWords(std::size_t count) : words_(count) {}
  ~SecretWords() { runtime::secure_zero(words_.data(), words_.size() * sizeof(std::uint64_t)); }
  SecretWords(const SecretWords&) = delete;
  SecretWords& operator=(const SecretWords&) = delete;

  [[nodiscard]] std::span<std::uint64_t> span() { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

// All ones if a > b, else 0; without a branch. For values below 2^63.
constexpr std::uint64_t above_mask(std::uint64_t a, std::uint64_t b) { return 0 - ((b - a) >> 63); }

// A residue modulo `from`, centred, modulo `to`, which is large enough for it; without a branch.
constexpr std::uint64_t change_modulus(std::uint64_t value, std::uint64_t from, std::uint64_t to) {
  const std::uint64_t negative = above_mask(value, (from - 1) / 2);
  return (value & ~negative) | ((to - (from - value)) & negative);
}

// The magnitude of a residue, centred; without a branch.
constexpr std::uint64_t magnitude(std::uint64_t value, std::uint64_t modulus) {
  const std::uint64_t negative = above_mask(value, (modulus - 1) / 2);
  return (value & ~negative) | ((modulus - value) & negative);
}

ResidueLayout secret_layout(const rlwe::Context& context) {
  ResidueLayout layout;
  layout.word = poly::Word::u64;
  layout.form = poly::Form::coefficient;
  layout.packed = true;
  layout.degree = context.degree();
  layout.batch = 1;
  layout.components = 1;
  layout.moduli = {stored_modulus(context)};
  return layout;
}

}  // namespace

void write_secret(Writer& writer, const rlwe::Context& context, const poly::Poly& secret) {
  // One limb suffices: the coefficients are the same in each.
  const poly::RnsBase base(secret.base().ring(), {secret.base().index(0)});
  const std::uint64_t modulus = base.modulus(0).value();
  poly::Poly limb = context.make_poly(1, 1, base, poly::Form::coefficient, Secrecy::secret);
  context.backend().inverse_transform(context.queue(), limb.view(), secret.view().limbs(0, 1), base);
  SecretWords words(context.degree());
  context.backend().download(context.queue(), words.span(), limb.view(), poly::Form::coefficient);
  context.queue().synchronize();

  const std::uint64_t stored = stored_modulus(context);
  std::uint64_t too_large = 0;
  for (std::uint64_t& word : words.span()) {
    too_large |= above_mask(magnitude(word, modulus), (stored - 1) / 2);
    word = change_modulus(word, modulus, stored);
  }
  if (too_large != 0) {
    throw MismatchError("a secret key with a coefficient above " + std::to_string((stored - 1) / 2) +
                        " in magnitude, which its parameters do not allow, can not be saved");
  }
  const ResidueLayout layout = secret_layout(context);
  writer.section(residues_tag, layout.section_bytes(),
                 [&](std::span<std::byte> section) { ResidueWriter(section, layout).rows(0, words.span()); });
}

poly::Poly read_secret(const Section& section, const rlwe::Context& context) {
  const std::size_t degree = context.degree();
  if (section.compressed) {
    throw FormatError("the section of a secret key is compressed");
  }
  const Payload payload = section.payload();
  const ResidueReader reader(payload.bytes());
  const std::uint64_t stored = stored_modulus(context);
  if (reader.layout() != secret_layout(context)) {
    throw FormatError("the section of a secret key must hold " + std::to_string(degree) +
                      " packed coefficients modulo " + std::to_string(stored));
  }
  SecretWords coefficients(degree);
  reader.rows(0, coefficients.span());
  std::size_t weight = 0;
  for (const std::uint64_t value : coefficients.span()) weight += above_mask(value, 0) & 1;
  const std::size_t wanted = context.parameters().literal().secret.weight;
  if (wanted != 0 && weight != wanted) {
    throw FormatError("the secret key does not have the Hamming weight " + std::to_string(wanted) +
                      " of its parameters");
  }

  return secret_from(context, coefficients.span(), stored);
}

poly::Poly secret_from(const rlwe::Context& context, std::span<const std::uint64_t> coefficients,
                       std::uint64_t modulus) {
  const poly::RnsBase& base = context.key_base();
  poly::Poly secret = context.make_poly(1, 1, base, poly::Form::coefficient, Secrecy::secret);
  SecretWords limb(context.degree());
  for (std::size_t l = 0; l < base.size(); ++l) {
    const std::uint64_t prime = base.modulus(l).value();
    for (std::size_t i = 0; i < coefficients.size(); ++i) {
      limb.span()[i] = change_modulus(coefficients[i], modulus, prime);
    }
    context.backend().upload(context.queue(), secret.view().limbs(l, 1), limb.span(),
                             poly::Form::coefficient);
    context.queue().synchronize();
  }
  context.backend().forward_transform(context.queue(), secret.view(), secret.view(), base);
  secret.set_form(poly::Form::evaluation);
  return secret;
}

std::uint64_t largest_magnitude(std::span<const std::uint64_t> residues, std::uint64_t modulus) {
  std::uint64_t largest = 0;
  for (const std::uint64_t residue : residues) {
    const std::uint64_t found = magnitude(residue, modulus);
    const std::uint64_t is_larger = above_mask(found, largest);
    largest = (found & is_larger) | (largest & ~is_larger);
  }
  return largest;
}

}  // namespace hemera::io
