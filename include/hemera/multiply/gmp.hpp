// The integer products of this layer on GMP's mpz_t. GMP holds the numbers; the products are Hemera's.
#pragma once

#if !__has_include(<gmp.h>)
#error \
    "hemera/multiply/gmp.hpp needs GMP; on Debian or Ubuntu: apt-get install libgmp-dev, then build Hemera again with HEMERA_GMP=ON"
#endif
#include <gmp.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "hemera/multiply/integer.hpp"
#include "hemera/multiply/kronecker.hpp"

namespace hemera::multiply {

// These are in the library when it was built with GMP (built_with_gmp in integer.hpp).

/// out = a b for integers of any sign; out may be a factor. Errors as for IntegerMultiplier::multiply.
void multiply(mpz_ptr out, mpz_srcptr a, mpz_srcptr b, const IntegerMultiplier& multiplier,
              runtime::ThreadPool& pool);

/// out = sum of coefficients[j] 2^(j exponent). Errors as for pack and pack_signed.
void pack(mpz_ptr out, std::span<const std::uint64_t> coefficients, int exponent, runtime::ThreadPool& pool);
void pack_signed(mpz_ptr out, std::span<const std::int64_t> coefficients, int exponent,
                 runtime::ThreadPool& pool);

/// The coefficients back, ceil(exponent / 64) words each; errors as for unpack and unpack_signed, and
/// ParameterError for a negative integer where coefficients are unsigned.
void unpack(std::span<std::uint64_t> coefficients, mpz_srcptr integer, std::size_t count, int exponent,
            runtime::ThreadPool& pool);
void unpack_signed(std::span<std::uint64_t> coefficients, mpz_srcptr integer, std::size_t count, int exponent,
                   runtime::ThreadPool& pool);

}  // namespace hemera::multiply
