#include "interop/openfhe/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "hemera/arith/big_integer.hpp"
#include "hemera/arith/modulus.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::interop::openfhe {
namespace {

using PrimeList = std::vector<std::uint64_t>;

// Non-zero coefficients of both kinds of sparse secrets.
constexpr std::size_t sparse_weight = 192;

[[noreturn]] void refuse_context(const Message& problem) {
  throw FormatError("OpenFHE crypto context: " + problem);
}

PrimeList primes_of(const CryptoParameters& parameters) {
  PrimeList primes;
  for (const auto& prime : parameters.elements->primes) primes.push_back(prime->modulus);
  return primes;
}

bool is_fixed(Scaling scaling) { return scaling == Scaling::fixed_manual || scaling == Scaling::fixed_auto; }

void require_known(const CryptoContext& context) {
  const CryptoParameters& parameters = *context.parameters;
  if (parameters.scaling == Scaling::composite_auto || parameters.scaling == Scaling::composite_manual ||
      parameters.composite_degree != 1) {
    refuse_context("it uses composite scaling, which Hemera does not have; use FLEXIBLEAUTO or FIXEDAUTO");
  }
  // OpenFHE enables MULTIPARTY for all equal contexts of a process: what matters is the number of parties.
  if (parameters.parties > 1) {
    refuse_context("it is for " + std::to_string(parameters.parties) +
                   " parties (MULTIPARTY), and Hemera has contexts of one party alone");
  }
  if ((context.scheme->features & feature::scheme_switching) != 0 || context.scheme->switching != nullptr) {
    refuse_context("it is for scheme switching (SCHEMESWITCH), which Hemera does not have");
  }
  const bool bfv = context.scheme_type == SchemeType::bfv;
  const auto scaling = static_cast<int>(parameters.scaling);
  if (bfv ? parameters.scaling != Scaling::no_rescale : scaling < 0 || scaling > 3) {
    refuse_context("scaling technique " + std::to_string(scaling) + " is none of its scheme's");
  }
  if (parameters.elements->primes.empty()) refuse_context("it has no moduli");
  for (const auto& prime : parameters.elements->primes) {
    if (prime->degree != parameters.elements->degree) refuse_context("its moduli have different degrees");
    // Policies are made of the moduli, before parameters check them.
    if (prime->modulus < 3 || prime->modulus >> arith::max_modulus_bits != 0) {
      refuse_context("its modulus " + std::to_string(prime->modulus) + " is out of range");
    }
  }
  const std::uint64_t plain = parameters.encoding->plain_modulus;
  if (context.scheme_type == SchemeType::ckks ? plain < 1 || plain > 120 : plain < 2 || plain >> 60 != 0) {
    refuse_context("its plaintext modulus, for CKKS the bits of the scale, is " + std::to_string(plain));
  }
}

rlwe::SecretDistribution secret_of(const CryptoParameters& parameters) {
  switch (parameters.secret) {
    case SecretType::gaussian:
      return {.weight = 0, .deviation = parameters.deviation};
    case SecretType::uniform:
      return {};
    case SecretType::sparse:
    case SecretType::sparse_encapsulated:
      return {.weight = sparse_weight, .deviation = 0};
  }
  refuse_context("its secret keys have an unknown distribution");
}

rlwe::BfvMultiplication multiplication_of(const CryptoParameters& parameters) {
  switch (parameters.multiplication) {
    case MultiplicationType::behz:
      return rlwe::BfvMultiplication::behz;
    case MultiplicationType::hps:
      return rlwe::BfvMultiplication::hps;
    case MultiplicationType::hps_over_q:
    case MultiplicationType::hps_over_q_leveled:
      return rlwe::BfvMultiplication::hps_over_q;
  }
  refuse_context("its multiplication technique is unknown");
}

// Special primes are 1 modulo this, so that they have a transform and, in BGV, leave factors modulo t alone.
std::uint64_t special_prime_step(const CryptoContext& context) {
  std::uint64_t step = 2 * std::uint64_t{context.parameters->elements->degree};
  if (context.scheme_type != SchemeType::bgv) return step;
  std::uint64_t t = context.parameters->encoding->plain_modulus;
  std::uint64_t two_power = 1;
  while (t % 2 == 0) {
    t /= 2;
    two_power *= 2;
  }
  step = std::max(step, two_power);
  if (t > (std::uint64_t{1} << 60) / step)
    refuse_context("it has no special primes for its plaintext modulus");
  return step * t;
}

PrimeList special_primes_by_rule(const CryptoContext& context) {
  const CryptoParameters& parameters = *context.parameters;
  const std::uint32_t bits = parameters.auxiliary_bits;
  if (bits < 20 || bits > 60) refuse_context("its special primes have " + std::to_string(bits) + " bits");
  const PrimeList primes = primes_of(parameters);
  std::size_t largest = 0;
  for (const PrimeList& digit : digits_of(parameters, primes)) {
    largest = std::max<std::size_t>(largest, msb(arith::product(digit)) + 1);
  }
  const std::size_t count = (largest + bits - 1) / bits;
  PrimeList special =
      arith::primes_below(std::uint64_t{1} << bits, special_prime_step(context), count, primes);
  if (special.size() < count) refuse_context("there are not enough special primes for it");
  return special;
}

// Who rescales and how operands are aligned.
rlwe::RescalingPolicy technique_of(Scaling scaling) {
  if (scaling == Scaling::no_rescale) {
    return {.rescale_by = rlwe::RescaleBy::caller,
            .alignment = rlwe::Alignment::switch_moduli,
            .degree_of_products = rlwe::DegreeOfProducts::larger_plus_one};
  }
  const bool manual = scaling == Scaling::fixed_manual;
  return {.rescale_by = manual ? rlwe::RescaleBy::caller : rlwe::RescaleBy::evaluator,
          .alignment = manual ? rlwe::Alignment::drop_limbs : rlwe::Alignment::scale_up,
          .fresh_degree = scaling == Scaling::flexible_auto_ext ? 2 : 1,
          .least_degree = 0,
          .degree_of_products = rlwe::DegreeOfProducts::adds,
          .integers_cost_a_degree = true};
}

// The scales of all levels, by OpenFHE's recursion and in the order of its operations: its levels count from
// the top.
std::vector<rlwe::LevelScale> scales_of(const CryptoParameters& parameters, const PrimeList& primes) {
  const double fixed = std::exp2(static_cast<double>(parameters.encoding->plain_modulus));
  const bool extended = parameters.scaling == Scaling::flexible_auto_ext;
  const std::size_t count = primes.size();
  if (extended && count < 2) refuse_context("FLEXIBLEAUTOEXT takes two moduli at least");
  std::vector<rlwe::LevelScale> scales(count);
  double scale = static_cast<double>(primes.back());
  if (!extended && count == 1) scale = fixed;
  for (std::size_t dropped = 0; dropped < count; ++dropped) {
    const std::size_t level = count - 1 - dropped;
    const auto prime = static_cast<double>(primes[level]);
    if (is_fixed(parameters.scaling)) {
      scales[level] = {.scale = fixed, .product_scale = fixed * fixed, .divisor = fixed};
      continue;
    }
    double product = scale * scale;
    double next = product / prime;
    if (extended && dropped == 0) {
      next = count == 2 ? fixed : static_cast<double>(primes[level - 1]);
      product = scale * next;
    }
    scales[level] = {.scale = scale, .product_scale = product, .divisor = prime};
    scale = next;
  }
  scales.front().divisor = 0;
  return scales;
}

// The same for BGV's correction factors modulo t.
std::vector<rlwe::LevelFactor> factors_of(const CryptoParameters& parameters, const PrimeList& primes) {
  const arith::Modulus t(parameters.encoding->plain_modulus);
  const bool extended = parameters.scaling == Scaling::flexible_auto_ext;
  if (extended && primes.size() < 2) refuse_context("FLEXIBLEAUTOEXT takes two moduli at least");
  const auto reduced = [&](std::uint64_t prime) {
    const std::uint64_t residue = t.reduce(prime);
    if (std::gcd(residue, t.value()) != 1)
      refuse_context("a modulus is no unit modulo the plaintext modulus");
    return residue;
  };
  std::vector<rlwe::LevelFactor> factors(primes.size());
  std::uint64_t factor = is_fixed(parameters.scaling) ? 1 : reduced(primes.back());
  for (std::size_t dropped = 0; dropped < primes.size(); ++dropped) {
    const std::size_t level = primes.size() - 1 - dropped;
    std::uint64_t product = t.multiply(factor, factor);
    std::uint64_t next = is_fixed(parameters.scaling)
                             ? 1
                             : t.multiply(product, arith::inverse(reduced(primes[level]), t.value()));
    if (extended && dropped == 0) {
      next = reduced(primes[level - 1]);
      product = t.multiply(factor, next);
    }
    factors[level] = {.factor = factor, .product_factor = product};
    factor = next;
  }
  return factors;
}

rlwe::ParametersLiteral literal_of(const CryptoContext& context, const KeyPrimes& key_primes) {
  require_known(context);
  const CryptoParameters& parameters = *context.parameters;
  const PrimeList primes = primes_of(parameters);
  const bool ckks = context.scheme_type == SchemeType::ckks;
  rlwe::ParametersLiteral literal;
  literal.scheme = ckks                                     ? rlwe::Scheme::ckks
                   : context.scheme_type == SchemeType::bfv ? rlwe::Scheme::bfv
                                                            : rlwe::Scheme::bgv;
  literal.degree = parameters.elements->degree;
  if (!ckks) literal.plain_modulus = parameters.encoding->plain_modulus;
  double room = ckks ? 1 : -std::log2(literal.plain_modulus) - 1;
  for (std::size_t count = 1; count <= primes.size(); ++count) {
    room += std::log2(primes[count - 1]);
    if (room <= 0) continue;
    literal.levels.emplace_back(primes.begin(), primes.begin() + static_cast<std::ptrdiff_t>(count));
  }
  if (literal.levels.empty()) refuse_context("its plaintext modulus does not fit under its moduli");
  for (const auto& prime : parameters.elements->primes) literal.roots[prime->modulus] = prime->root;

  if (parameters.key_switching == KeySwitching::hybrid) {
    if (key_primes.special) {
      for (const NativeParameters& prime : *key_primes.special) {
        literal.special_primes.push_back(prime.modulus);
        literal.roots[prime.modulus] = prime.root;
      }
    } else {
      literal.special_primes = special_primes_by_rule(context);
    }
  } else if (parameters.key_switching == KeySwitching::bv) {
    literal.window_bits = static_cast<int>(std::min<std::uint32_t>(parameters.digit_size, 64));
  } else {
    refuse_context("its key switching technique is unknown");
  }
  literal.digits = digits_of(parameters, primes);
  const std::uint64_t last = public_key_primes(context).back();
  const auto has = [&](const PrimeList& list) {
    return std::find(list.begin(), list.end(), last) != list.end();
  };
  if (!has(primes) && !has(literal.special_primes)) literal.key_primes = {last};
  for (const NativeParameters& prime : key_primes.auxiliary) {
    literal.key_primes.push_back(prime.modulus);
    literal.roots[prime.modulus] = prime.root;
  }

  rlwe::RescalingPolicy policy = technique_of(parameters.scaling);
  if (ckks) {
    policy.scales = scales_of(parameters, primes);
    literal.scale = policy.scales.back().scale;
    const double bits = std::log2(primes.front()) - std::log2(policy.scales.front().scale);
    literal.range_bits = bits >= 0 ? static_cast<int>(std::min(bits, 60.0)) : 0;
  } else if (context.scheme_type == SchemeType::bgv) {
    policy.factors = factors_of(parameters, primes);
    policy.factors.erase(policy.factors.begin(),
                         policy.factors.end() - static_cast<std::ptrdiff_t>(literal.levels.size()));
  } else {
    literal.bfv_multiplication = multiplication_of(parameters);
  }
  literal.rescaling = std::move(policy);
  literal.secret = secret_of(parameters);
  literal.sigma = parameters.deviation;
  literal.security.reset();
  return literal;
}

bool same_bases(const DcrtParameters& a, const DcrtParameters& b) {
  return a.degree == b.degree && std::equal(a.primes.begin(), a.primes.end(), b.primes.begin(),
                                            b.primes.end(), [](const auto& x, const auto& y) {
                                              return x->modulus == y->modulus && x->root == y->root;
                                            });
}

}  // namespace

rlwe::Parameters parameters_of(const CryptoContext& context, const KeyPrimes& primes) {
  rlwe::ParametersLiteral literal = literal_of(context, primes);
  try {
    return rlwe::Parameters(std::move(literal));
  } catch (const ParameterError& error) {
    refuse_context(error.message());
  }
}

std::vector<std::uint64_t> public_key_primes(const CryptoContext& context) {
  const CryptoParameters& parameters = *context.parameters;
  PrimeList primes = primes_of(parameters);
  if (context.scheme_type != SchemeType::bfv || parameters.encryption != EncryptionType::extended)
    return primes;
  const PrimeList next =
      arith::primes_below(primes.back(), 2 * std::uint64_t{parameters.elements->degree}, 1);
  if (next.empty()) refuse_context("there is no further prime for its public keys");
  primes.push_back(next.front());
  return primes;
}

bool is_same_context(const CryptoContext& a, const CryptoContext& b) {
  if (&a == &b) return true;
  const CryptoParameters& x = *a.parameters;
  const CryptoParameters& y = *b.parameters;
  return a.scheme_type == b.scheme_type && same_bases(*x.elements, *y.elements) &&
         x.encoding->plain_modulus == y.encoding->plain_modulus && x.deviation == y.deviation &&
         x.noise_scale == y.noise_scale && x.digit_size == y.digit_size && x.secret == y.secret &&
         x.parties == y.parties && x.key_switching == y.key_switching && x.scaling == y.scaling &&
         x.encryption == y.encryption && x.multiplication == y.multiplication && x.digits == y.digits &&
         x.auxiliary_bits == y.auxiliary_bits && x.extra_bits == y.extra_bits &&
         x.composite_degree == y.composite_degree && x.data_type == y.data_type;
}

std::size_t least_limbs(const rlwe::Parameters& parameters) {
  return parameters.literal().levels.front().size();
}

std::vector<std::vector<std::uint64_t>> digits_of(const CryptoParameters& parameters,
                                                  std::span<const std::uint64_t> primes) {
  std::vector<PrimeList> digits;
  const std::size_t count = parameters.elements->primes.size();
  std::size_t size = 1;
  if (parameters.key_switching == KeySwitching::hybrid) {
    if (parameters.digits == 0) refuse_context("it has no digits of key switching");
    size = (count + parameters.digits - 1) / parameters.digits;
  }
  for (std::size_t first = 0; first < count; first += size) {
    PrimeList digit;
    for (std::size_t i = first; i < std::min(first + size, count); ++i) {
      const std::uint64_t prime = parameters.elements->primes[i]->modulus;
      if (std::find(primes.begin(), primes.end(), prime) != primes.end()) digit.push_back(prime);
    }
    if (!digit.empty()) digits.push_back(std::move(digit));
  }
  return digits;
}

}  // namespace hemera::interop::openfhe
