// Everything that needs GMP, which is optional.
#include "hemera/multiply/integer.hpp"
#include "hemera/runtime/error.hpp"

#if defined(HEMERA_HAS_GMP)

#include <algorithm>
#include <vector>

#include "hemera/multiply/gmp.hpp"

namespace hemera::multiply {
namespace {

using Word = std::uint64_t;

static_assert(GMP_NUMB_BITS == 64, "Hemera reads GMP's limbs as 64-bit words");

static_assert(sizeof(mp_limb_t) == sizeof(Word));

std::span<const Word> words(mpz_srcptr a) {
  return {reinterpret_cast<const Word*>(mpz_limbs_read(a)), mpz_size(a)};
}

void set(mpz_ptr out, std::span<const Word> magnitude, bool negative) {
  const auto size = static_cast<mp_size_t>(magnitude.size());
  if (size > 0) std::copy(magnitude.begin(), magnitude.end(), mpz_limbs_write(out, size));
  mpz_limbs_finish(out, negative ? -size : size);
}

// An integer whose limbs are those words.
struct View {
  mpz_t integer;

  explicit View(std::span<const Word> magnitude) {
    mpz_roinit_n(integer, reinterpret_cast<const mp_limb_t*>(magnitude.data()),
                 static_cast<mp_size_t>(magnitude.size()));
  }
};

}  // namespace

bool built_with_gmp() { return true; }

void multiply_by_gmp(std::span<Word> out, std::span<const Word> a, std::span<const Word> b) {
  if (out.size() != a.size() + b.size()) {
    throw MismatchError("the product needs " + std::to_string(a.size() + b.size()) + " words, not " +
                        std::to_string(out.size()));
  }
  const View x(a), y(b);
  mpz_t product;
  mpz_init(product);
  mpz_mul(product, x.integer, y.integer);
  const std::span<const Word> result = words(product);
  std::fill(std::copy(result.begin(), result.end(), out.begin()), out.end(), 0);
  mpz_clear(product);
}

void multiply(mpz_ptr out, mpz_srcptr a, mpz_srcptr b, const IntegerMultiplier& multiplier,
              runtime::ThreadPool& pool) {
  const std::span<const Word> x = words(a), y = words(b);
  const bool negative = mpz_sgn(a) * mpz_sgn(b) < 0;
  if (out == a || out == b) {
    std::vector<Word> product(x.size() + y.size());
    multiplier.multiply(product, x, y, pool);
    set(out, product, negative);
    return;
  }
  const std::size_t size = x.size() + y.size();
  if (size == 0) {
    mpz_set_ui(out, 0);
    return;
  }
  multiplier.multiply({reinterpret_cast<Word*>(mpz_limbs_write(out, static_cast<mp_size_t>(size))), size}, x,
                      y, pool);
  mpz_limbs_finish(out, negative ? -static_cast<mp_size_t>(size) : static_cast<mp_size_t>(size));
}

void pack(mpz_ptr out, std::span<const Word> coefficients, int exponent, runtime::ThreadPool& pool) {
  std::vector<Word> integer(kronecker_words(coefficients.size(), exponent));
  pack(std::span<Word>(integer), coefficients, exponent, pool);
  set(out, integer, false);
}

void pack_signed(mpz_ptr out, std::span<const std::int64_t> coefficients, int exponent,
                 runtime::ThreadPool& pool) {
  std::vector<Word> magnitude(kronecker_words(coefficients.size(), exponent));
  const bool negative = pack_signed(std::span<Word>(magnitude), coefficients, exponent, pool);
  set(out, magnitude, negative);
}

void unpack(std::span<Word> coefficients, mpz_srcptr integer, std::size_t count, int exponent,
            runtime::ThreadPool& pool) {
  if (mpz_sgn(integer) < 0) {
    throw ParameterError("a negative integer has no unsigned coefficients; use unpack_signed");
  }
  unpack(coefficients, words(integer), count, exponent, pool);
}

void unpack_signed(std::span<Word> coefficients, mpz_srcptr integer, std::size_t count, int exponent,
                   runtime::ThreadPool& pool) {
  unpack_signed(coefficients, words(integer), mpz_sgn(integer) < 0, count, exponent, pool);
}

}  // namespace hemera::multiply

#else

namespace hemera::multiply {

bool built_with_gmp() { return false; }

void multiply_by_gmp(std::span<std::uint64_t>, std::span<const std::uint64_t>,
                     std::span<const std::uint64_t>) {
  throw Error(
      "this build of Hemera has no GMP; on Debian or Ubuntu: apt-get install libgmp-dev, then build it "
      "again");
}

}  // namespace hemera::multiply

#endif
