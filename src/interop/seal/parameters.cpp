#include <cmath>
#include <string>
#include <utility>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/seal/client.hpp"

namespace hemera::interop::seal {
namespace {

constexpr double error_deviation = 3.2;  // SEAL's nominal one
constexpr std::uint64_t galois_generator = 3;

rlwe::Scheme to_hemera(SchemeNumber scheme) {
  switch (scheme) {
    case SchemeNumber::bfv:
      return rlwe::Scheme::bfv;
    case SchemeNumber::ckks:
      return rlwe::Scheme::ckks;
    case SchemeNumber::bgv:
      return rlwe::Scheme::bgv;
  }
  throw FormatError("no scheme of SEAL has the number " + std::to_string(static_cast<int>(scheme)));
}

// The caller rescales, operands must agree, and a rescale divides the scale by the prime. Numbers and
// encodings have one scale at every level.
rlwe::RescalingPolicy rescaling(const std::vector<std::vector<std::uint64_t>>& levels, rlwe::Scheme scheme,
                                double scale) {
  rlwe::RescalingPolicy policy = rlwe::RescalingPolicy::manual(scheme);
  if (scheme != rlwe::Scheme::ckks) return policy;
  policy.degree_of_products = rlwe::DegreeOfProducts::stays;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    policy.scales.push_back({.scale = scale,
                             .product_scale = scale * scale,
                             .divisor = level == 0 ? 0 : static_cast<double>(levels[level].back())});
  }
  return policy;
}

}  // namespace

StoredParameters read_parameters(const Source& parms) {
  Reader in(parms.bytes(), "SEAL's encryption parameters");
  StoredParameters stored{.parameters = read_parameters(in), .minor_version = in.header().minor_version};
  in.expect_end();
  return stored;
}

Levels::Levels(const EncryptionParameters& parameters)
    : most_(parameters.moduli.size() > 1 ? parameters.moduli.size() - 1 : 1),
      key_id_(parameters.id(parameters.moduli.size())) {
  // SEAL ends the chain where the plaintext modulus is no more below the product, Hemera where twice it is.
  double bits = std::log2(static_cast<double>(parameters.moduli[0]));
  while (parameters.plain_modulus != 0 && fewest_ < most_ &&
         std::log2(static_cast<double>(parameters.plain_modulus)) + 1 >= bits) {
    bits += std::log2(static_cast<double>(parameters.moduli[fewest_]));
    ++fewest_;
  }
  for (std::size_t count = fewest_; count <= most_; ++count) ids_.push_back(parameters.id(count));
}

std::optional<std::size_t> Levels::find(const ParmsId& id) const {
  for (std::size_t level = 0; level < ids_.size(); ++level) {
    if (ids_[level] == id) return level;
  }
  return std::nullopt;
}

rlwe::Parameters to_hemera(const EncryptionParameters& parameters, const Options& options) {
  const Levels levels(parameters);
  const auto& moduli = parameters.moduli;
  rlwe::ParametersLiteral literal;
  literal.scheme = to_hemera(parameters.scheme);
  literal.degree = parameters.degree;
  for (std::size_t count = levels.fewest(); count <= levels.most(); ++count) {
    literal.levels.emplace_back(moduli.begin(), moduli.begin() + static_cast<std::ptrdiff_t>(count));
  }
  if (moduli.size() > 1) literal.special_primes = {moduli.back()};
  for (const std::uint64_t prime : literal.levels.back()) literal.digits.push_back({prime});
  literal.plain_modulus = parameters.plain_modulus;
  literal.galois_generator = galois_generator;
  literal.sigma = error_deviation;
  literal.security = std::nullopt;
  if (literal.scheme == rlwe::Scheme::ckks) {
    if (options.scale == 0) {
      throw ParameterError(
          "SEAL's parameters of CKKS have no scale: give the one that the client encodes with as `scale`");
    }
    literal.scale = options.scale;
  } else if (options.scale != 0) {
    throw ParameterError("a scale is of CKKS, and these parameters are of " + rlwe::name(literal.scheme));
  }
  literal.rescaling = rescaling(literal.levels, literal.scheme, options.scale);
  return rlwe::Parameters(std::move(literal));
}

rlwe::Parameters load_parameters(const Source& parms, const Options& options) {
  return to_hemera(read_parameters(parms).parameters, options);
}

Client::Client(StoredParameters stored, const Options& options)
    : parameters(std::move(stored.parameters)),
      minor_version(stored.minor_version),
      levels(parameters),
      encoding(rlwe::Encoding::slots),
      values(parameters.degree) {
  if (parameters.scheme == SchemeNumber::ckks) {
    if (options.encoding.value_or(encoding) != encoding) {
      throw ParameterError("CKKS has values in slots alone; leave `encoding` out");
    }
    values = parameters.degree / 2;
    return;
  }
  const std::uint64_t t = parameters.plain_modulus;
  const bool has_slots = t % (2 * parameters.degree) == 1 && arith::is_prime(t);
  encoding = options.encoding.value_or(has_slots ? rlwe::Encoding::slots : rlwe::Encoding::coefficients);
  if (encoding == rlwe::Encoding::slots && !has_slots) {
    throw ParameterError("the plain modulus " + std::to_string(t) +
                         " has no slots for this degree; its values are coefficients");
  }
}

bool Client::is_evaluation() const {
  // SEAL 4.0 had BGV's ciphertexts in coefficient form; later versions take both and write evaluation form.
  return parameters.scheme == SchemeNumber::ckks ||
         (parameters.scheme == SchemeNumber::bgv && minor_version > 0);
}

}  // namespace hemera::interop::seal
