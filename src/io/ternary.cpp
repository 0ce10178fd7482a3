#include "io/ternary.hpp"

#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::io {
namespace {

using runtime::Secrecy;

constexpr std::uint64_t three = 3;

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

// All ones if a == b, else 0; without a branch. For values below 2^63.
constexpr std::uint64_t equal_mask(std::uint64_t a, std::uint64_t b) { return 0 - (((a ^ b) - 1) >> 63); }

ResidueLayout ternary_layout(std::size_t degree) {
  ResidueLayout layout;
  layout.word = poly::Word::u64;
  layout.form = poly::Form::coefficient;
  layout.packed = true;
  layout.degree = degree;
  layout.batch = 1;
  layout.components = 1;
  layout.moduli = {three};
  return layout;
}

}  // namespace

void write_ternary(Writer& writer, const rlwe::Context& context, const poly::Poly& secret) {
  // One limb tells all: the coefficients are the same in each.
  const poly::RnsBase base(secret.base().ring(), {secret.base().index(0)});
  const std::uint64_t modulus = base.modulus(0).value();
  poly::Poly limb = context.make_poly(1, 1, base, poly::Form::coefficient, Secrecy::secret);
  context.backend().inverse_transform(context.queue(), limb.view(), secret.view().limbs(0, 1), base);
  SecretWords words(context.degree());
  context.backend().download(context.queue(), words.span(), limb.view(), poly::Form::coefficient);
  context.queue().synchronize();

  std::uint64_t other = 0;
  for (std::uint64_t& word : words.span()) {
    const std::uint64_t one = equal_mask(word, 1);
    const std::uint64_t minus_one = equal_mask(word, modulus - 1);
    other |= ~(one | minus_one | equal_mask(word, 0));
    word = (one & 1) | (minus_one & 2);
  }
  if (other != 0) {
    throw MismatchError("a secret key whose coefficients are not all -1, 0 or 1 can not be saved");
  }
  ResidueWriter residues(ternary_layout(context.degree()), Secrecy::secret);
  residues.element(words.span());
  writer.section(residues_tag, residues.section());
}

poly::Poly read_ternary(const Section& section, const rlwe::Context& context) {
  const std::size_t degree = context.degree();
  if (section.compressed) {
    throw FormatError("the section of a secret key is compressed");
  }
  const Payload payload = section.payload();
  const ResidueReader reader(payload.bytes());
  if (reader.layout() != ternary_layout(degree)) {
    throw FormatError("the section of a secret key must hold " + std::to_string(degree) +
                      " packed coefficients modulo 3");
  }
  SecretWords ternary(degree);
  reader.element(0, ternary.span());
  std::size_t weight = 0;
  for (const std::uint64_t value : ternary.span()) {
    weight += (value | (value >> 1)) & 1;
  }
  const std::size_t wanted = context.parameters().literal().secret.weight;
  if (wanted != 0 && weight != wanted) {
    throw FormatError("the secret key does not have the Hamming weight " + std::to_string(wanted) +
                      " of its parameters");
  }

  const poly::RnsBase& base = context.key_base();
  poly::Poly secret = context.make_poly(1, 1, base, poly::Form::coefficient, Secrecy::secret);
  SecretWords limb(degree);
  for (std::size_t l = 0; l < base.size(); ++l) {
    const std::uint64_t modulus = base.modulus(l).value();
    for (std::size_t i = 0; i < degree; ++i) {
      const std::uint64_t value = ternary.span()[i];
      limb.span()[i] = (value & 1) + ((0 - (value >> 1)) & (modulus - 1));
    }
    context.backend().upload(context.queue(), secret.view().limbs(l, 1), limb.span(),
                             poly::Form::coefficient);
    context.queue().synchronize();
  }
  context.backend().forward_transform(context.queue(), secret.view(), secret.view(), base);
  secret.set_form(poly::Form::evaluation);
  return secret;
}

}  // namespace hemera::io
