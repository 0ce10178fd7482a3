#include "hemera/rlwe/parameters.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "hemera/arith/big_integer.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/poly/modulus_chain.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/sha256.hpp"
#include "rlwe/level_table.hpp"
#include "rlwe/parameters_format.hpp"
#include "runtime/decimal.hpp"

namespace hemera::rlwe {
namespace {

using Primes = std::vector<std::uint64_t>;

constexpr std::uint64_t max_plain_modulus = std::uint64_t{1} << 60;
constexpr double max_scale = 0x1p120;
constexpr std::size_t most_secret_terms = 127;  // as below
constexpr double max_secret_deviation = 8;      // so that coefficients fit the file format's 8 bits

/// All primes of the levels: the highest one's, then what lower ones add.
Primes all_primes(std::span<const Primes> levels) {
  Primes all;
  std::set<std::uint64_t> seen;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    for (const std::uint64_t prime : *level) {
      if (seen.insert(prime).second) all.push_back(prime);
    }
  }
  return all;
}

void check_prime(std::uint64_t prime, std::size_t degree) {
  const std::string text = std::to_string(prime);
  if (prime >= std::uint64_t{1} << arith::max_modulus_bits) {
    throw ParameterError("prime " + text +
                         " has more than 61 bits; use primes below 2^61 (below 2^50 is fastest)");
  }
  if (prime % (2 * degree) != 1) {
    throw ParameterError("prime " + text + " is not 1 modulo 2N = " + std::to_string(2 * degree) +
                         ", so it has no negacyclic transform; choose NTT primes for this degree");
  }
  if (!arith::is_prime(prime)) throw ParameterError("modulus " + text + " is not prime");
}

void check_levels(const ParametersLiteral& literal) {
  if (literal.levels.empty()) throw ParameterError("a modulus chain needs at least one level");
  arith::BigInteger lower = 0;
  for (std::size_t level = 0; level < literal.levels.size(); ++level) {
    const Primes& primes = literal.levels[level];
    if (primes.empty()) throw ParameterError("level " + std::to_string(level) + " has no primes");
    if (std::set<std::uint64_t>(primes.begin(), primes.end()).size() != primes.size()) {
      throw ParameterError("level " + std::to_string(level) + " has a prime twice");
    }
    arith::BigInteger product = arith::product(primes);
    if (product <= lower) {
      throw ParameterError("the modulus of level " + std::to_string(level) +
                           " is not larger than that of level " + std::to_string(level - 1) +
                           "; order levels from the last (smallest) to the top");
    }
    lower = std::move(product);
  }
}

void check_plain_modulus(const ParametersLiteral& literal, const Primes& primes) {
  const std::uint64_t t = literal.plain_modulus;
  if (literal.scheme == Scheme::ckks) {
    if (t != 0) throw ParameterError("CKKS has no plaintext modulus; leave plain_modulus at 0");
    return;
  }
  if (t < 2 || t >= max_plain_modulus) {
    throw ParameterError("plaintext modulus " + std::to_string(t) + " is outside [2, 2^60)");
  }
  for (const Primes* list : {&primes, &literal.special_primes, &literal.key_primes}) {
    for (const std::uint64_t prime : *list) {
      if (t % prime == 0) {
        throw ParameterError("plaintext modulus " + std::to_string(t) + " is a multiple of the prime " +
                             std::to_string(prime) + "; choose another plaintext modulus or other primes");
      }
    }
  }
  if (std::log2(t) + 1 >= arith::log2_product(literal.levels.front())) {
    throw ParameterError("plaintext modulus " + std::to_string(t) +
                         " does not fit under the last level's modulus; give that level more primes");
  }
}

std::uint64_t root_of(const ParametersLiteral& literal, std::uint64_t modulus) {
  const auto given = literal.roots.find(modulus);
  if (given != literal.roots.end()) return given->second;
  return arith::minimal_primitive_root(2 * literal.degree, arith::Modulus(modulus));
}

void check_security(const Parameters& parameters) {
  const auto& wanted = parameters.literal().security;
  if (!wanted) return;
  require_security_class(wanted);
  const Security found = parameters.security();
  const Security least = *wanted == 128   ? Security::at_least_128
                         : *wanted == 192 ? Security::at_least_192
                                          : Security::at_least_256;
  if (found >= least) return;
  const std::string reason = why_less(parameters.degree(), parameters.log_union() + parameters.log_special(),
                                      parameters.literal().secret, parameters.literal().sigma, *wanted);
  const std::string class_of =
      found == Security::at_least_128_2018
          ? "have 128 bits of security by the table of 2018 alone, and by that of 2024 less than the "
          : "have security " + name(found) + ", less than the ";
  throw SecurityError("these parameters " + class_of + std::to_string(*wanted) +
                      " bits asked for: " + reason + "; use a larger degree or a smaller modulus, or " +
                      Message(WayOut::no_security, "ask for no security level") + " to accept it");
}

std::string bytes_text(std::size_t bytes) {
  char text[64];
  if (bytes >= std::size_t{1} << 30) {
    std::snprintf(text, sizeof(text), "%.2f GiB", static_cast<double>(bytes) * 0x1p-30);
  } else if (bytes >= std::size_t{1} << 20) {
    std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) * 0x1p-20);
  } else {
    std::snprintf(text, sizeof(text), "%.1f KiB", static_cast<double>(bytes) * 0x1p-10);
  }
  return text;
}

// "1 prime", "3 primes".
std::string count_text(std::size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

std::size_t integer_slots(std::size_t degree, std::uint64_t t) {
  if (t < 2 || !arith::is_prime(t)) return 0;
  // 2n is the largest power of two in t - 1.
  const auto slots = static_cast<std::size_t>(std::min<std::uint64_t>(degree, ((t - 1) & (0 - (t - 1))) / 2));
  return slots < 2 ? 0 : slots;
}

Parameters::Parameters(ParametersLiteral literal) : literal_(std::move(literal)) {
  static_cast<void>(name(literal_.scheme));
  const std::size_t degree = literal_.degree;
  if (!std::has_single_bit(degree) || degree < poly::min_degree || degree > poly::max_degree) {
    throw ParameterError("degree " + std::to_string(degree) + " is not a power of two from 2^10 to 2^17");
  }
  check_levels(literal_);
  const Primes primes = all_primes(literal_.levels);
  std::set<std::uint64_t> taken;
  const Primes* const lists[] = {&primes, &literal_.special_primes, &literal_.key_primes};
  for (const Primes* list : lists) {
    for (const std::uint64_t prime : *list) {
      check_prime(prime, degree);
      if (!taken.insert(prime).second) {
        throw ParameterError("special prime " + std::to_string(prime) +
                             " appears twice; all primes must be distinct");
      }
    }
  }
  if (literal_.digits.empty()) {
    literal_.digits =
        consecutive_digits(primes, literal_.window_bits == 0 ? literal_.special_primes : Primes{});
  }
  check_digits(literal_.digits, literal_.window_bits, primes);
  fill_purposes();
  check_plain_modulus(literal_, primes);
  if (literal_.scheme == Scheme::ckks) {
    if (!(literal_.scale > 1 && literal_.scale <= max_scale)) {
      throw ParameterError("the CKKS scale must be above 1 and at most 2^120, not " +
                           decimal(literal_.scale));
    }
    if (literal_.range_bits < 0 || literal_.range_bits > 120) {
      throw ParameterError("range_bits " + std::to_string(literal_.range_bits) + " is outside [0, 120]");
    }
    if (!(literal_.largest >= 0 && literal_.largest <= std::exp2(literal_.range_bits - 1))) {
      throw ParameterError("values of magnitude " + decimal(literal_.largest) + " do not fit " +
                           std::to_string(literal_.range_bits) +
                           " range_bits; give more range_bits, or a finite bound of at least 0");
    }
  } else if (literal_.largest != 0) {
    throw ParameterError(name(literal_.scheme) + " has no largest value; its values are integers modulo t");
  } else if (literal_.scale != 0) {
    throw ParameterError(name(literal_.scheme) + " has no scale; leave scale at 0");
  }
  if (literal_.galois_generator != 5 && literal_.galois_generator != 3) {
    throw ParameterError("the Galois generator must be 5 or 3, not " +
                         std::to_string(literal_.galois_generator));
  }
  if (literal_.secret.weight > degree) {
    throw ParameterError("a secret of degree " + std::to_string(degree) + " cannot have weight " +
                         std::to_string(literal_.secret.weight));
  }
  if (literal_.secret.weight != 0 && literal_.secret.deviation != 0) {
    throw ParameterError("a secret has a fixed weight or a Gaussian deviation, not both");
  }
  if (literal_.secret.deviation != 0 &&
      !(literal_.secret.deviation > 0 && literal_.secret.deviation <= max_secret_deviation)) {
    throw ParameterError("a Gaussian secret's deviation must be above 0 and at most 8, not " +
                         std::to_string(literal_.secret.deviation));
  }
  if (literal_.secret.terms == 0 || literal_.secret.terms > most_secret_terms ||
      (literal_.secret.terms > 1 && !literal_.secret.is_uniform())) {
    throw ParameterError("a secret is the sum of 1 to " + std::to_string(most_secret_terms) +
                         " terms, and of several only where they are uniform ternary, not of " +
                         std::to_string(literal_.secret.terms));
  }
  static_cast<void>(poly::ErrorDistribution(literal_.sigma));
  if (literal_.scheme == Scheme::bfv && literal_.bfv_multiplication == BfvMultiplication::none) {
    literal_.bfv_multiplication = BfvMultiplication::hps_over_q;
  }
  if (literal_.scheme != Scheme::bfv && literal_.bfv_multiplication != BfvMultiplication::none) {
    throw ParameterError(name(literal_.scheme) + " has no BFV multiplication variant; leave it at none");
  }

  std::map<std::uint64_t, std::uint64_t> roots;
  for (const std::uint64_t prime : taken) roots[prime] = root_of(literal_, prime);
  const std::uint64_t t = literal_.plain_modulus;
  max_slots_ = literal_.scheme == Scheme::ckks ? degree / 2 : integer_slots(degree, t);
  // With fewer slots the root is no part of the parameters, whose fingerprint is older than these slots.
  if (t != 0 && max_slots_ == degree) roots[t] = root_of(literal_, t);
  for (const auto& [modulus, root] : literal_.roots) {
    if (!roots.contains(modulus)) {
      throw ParameterError("a root is given for " + std::to_string(modulus) +
                           ", which is no modulus of the parameters");
    }
  }
  literal_.roots = std::move(roots);
  for (const auto& [modulus, root] : literal_.roots) {
    if (!arith::is_primitive_root(root, 2 * degree, arith::Modulus(modulus))) {
      throw ParameterError(std::to_string(root) + " is no primitive 2N-th root of unity modulo " +
                           std::to_string(modulus));
    }
  }

  fill_rescaling();
  runtime::ByteWriter compatible;
  write_compatible(literal_, compatible);
  fingerprint_ = runtime::sha256(compatible.view());
  check_security(*this);
}

double Parameters::log_modulus(std::size_t level) const {
  return arith::log2_product(at_level(literal_.levels, level));
}

void Parameters::fill_purposes() {
  const std::vector<LevelPurpose>& purposes = literal_.purposes;
  lowest_user_level_ = 0;
  highest_user_level_ = levels() - 1;
  if (purposes.empty()) return;
  if (purposes.size() != levels()) {
    throw ParameterError("there are " + std::to_string(purposes.size()) + " purposes for " +
                         std::to_string(levels()) + " levels; give one for each, or none");
  }
  const auto is_user = [](LevelPurpose purpose) { return purpose == LevelPurpose::user; };
  const auto first = std::find_if(purposes.begin(), purposes.end(), is_user);
  const auto end = std::find_if_not(first, purposes.end(), is_user);
  if (first == purposes.end() || std::find_if(end, purposes.end(), is_user) != purposes.end()) {
    throw ParameterError("the user's levels must lie together, and there must be one at least");
  }
  lowest_user_level_ = static_cast<std::size_t>(first - purposes.begin());
  highest_user_level_ = static_cast<std::size_t>(end - purposes.begin()) - 1;
  if (first == purposes.begin() && end == purposes.end()) literal_.purposes.clear();
}

bool Parameters::has_circuit() const {
  return scheme() != Scheme::ckks && literal_.rescaling && !literal_.rescaling->scales.empty();
}

Parameters Parameters::circuit() const {
  if (!has_circuit()) {
    throw ParameterError("these parameters have no levels of a circuit; " +
                         Message(WayOut::exact_bootstrapping_parameters,
                                 "make them by parameters_for_bootstrapping of BFV or BGV"));
  }
  ParametersLiteral literal = literal_;
  literal.scheme = Scheme::ckks;
  literal.roots.erase(literal.plain_modulus);
  literal.plain_modulus = 0;
  literal.bfv_multiplication = BfvMultiplication::none;
  literal.rescaling = RescalingPolicy::automatic(Scheme::ckks);
  literal.rescaling->scales = literal_.rescaling->scales;
  literal.scale = literal.rescaling->scales[highest_user_level_].scale;
  return Parameters(std::move(literal));
}

LevelPurpose Parameters::purpose(std::size_t level) const {
  return literal_.purposes.empty() ? LevelPurpose::user : at_level(literal_.purposes, level);
}

Primes Parameters::primes_up_to(std::size_t level) const {
  // In the order that all primes have: a key for few levels holds a part of the limbs of one for many.
  static_cast<void>(at_level(literal_.levels, level));
  const Primes used = all_primes(std::span(literal_.levels).first(level + 1));
  const std::set<std::uint64_t> kept(used.begin(), used.end());
  Primes result = all_primes(literal_.levels);
  std::erase_if(result, [&](std::uint64_t prime) { return !kept.contains(prime); });
  return result;
}

GadgetPrimes Parameters::default_gadget(std::size_t level) const {
  GadgetPrimes gadget{.base = primes_up_to(level),
                      .special = literal_.special_primes,
                      .digits = literal_.digits,
                      .window_bits = literal_.window_bits};
  const std::set<std::uint64_t> kept(gadget.base.begin(), gadget.base.end());
  for (Primes& digit : gadget.digits) {
    std::erase_if(digit, [&](std::uint64_t prime) { return !kept.contains(prime); });
  }
  std::erase_if(gadget.digits, [](const Primes& digit) { return digit.empty(); });
  return gadget;
}

Primes Parameters::public_key_primes() const {
  Primes primes = primes_up_to(highest_user_level_);
  if (!literal_.special_primes.empty()) primes.push_back(literal_.special_primes.front());
  return primes;
}

double Parameters::ratio(std::size_t level) const {
  if (level == 0) throw LevelError("level 0 is the last one; nothing is rescaled there");
  return poly::modulus_ratio(at_level(literal_.levels, level), literal_.levels[level - 1]);
}

std::uint64_t Parameters::galois_element(std::int64_t steps) const {
  const auto order = static_cast<std::int64_t>(degree() / 2);
  const auto exponent = static_cast<std::uint64_t>(((steps % order) + order) % order);
  return arith::Modulus(2 * degree()).power(literal_.galois_generator, exponent);
}

double Parameters::log_union() const { return arith::log2_product(primes_up_to(highest_user_level_)); }

double Parameters::log_special() const { return arith::log2_product(literal_.special_primes); }

Security Parameters::security() const {
  // The public key's modulus has one special prime, the gadget's has all.
  return classify(literal_.degree, log_union() + log_special(), literal_.secret, literal_.sigma);
}

Security Parameters::security(const GadgetPrimes& gadget, const SecretDistribution& secret) const {
  return classify(literal_.degree, arith::log2_product(gadget.base) + arith::log2_product(gadget.special),
                  secret, literal_.sigma);
}

std::string Parameters::short_fingerprint() const {
  return runtime::to_hex(std::span(fingerprint_).first(4));
}

std::size_t Parameters::ciphertext_bytes() const {
  return 2 * literal_.levels[highest_user_level_].size() * literal_.degree * sizeof(std::uint64_t);
}

std::size_t Parameters::switching_key_bytes() const {
  const GadgetPrimes gadget = default_gadget(highest_user_level_);
  return key_digits(gadget) * 2 * (gadget.base.size() + gadget.special.size()) * literal_.degree *
         sizeof(std::uint64_t);
}

std::string Parameters::describe() const {
  char line[256];
  std::string text = name(literal_.scheme) + " parameters " + short_fingerprint() + "\n";
  text += "  degree N          " + std::to_string(literal_.degree) + " (2^" +
          std::to_string(std::countr_zero(literal_.degree)) + ")\n";
  const Primes primes = all_primes(literal_.levels);
  std::snprintf(line, sizeof(line), "  ciphertext modulus %.1f bits in %s, %s\n", log_union(),
                count_text(primes.size(), "prime").c_str(),
                count_text(literal_.levels.size(), "level").c_str());
  text += line;
  std::snprintf(line, sizeof(line), "  special modulus   %.1f bits in %s, %s%s\n", log_special(),
                count_text(literal_.special_primes.size(), "prime").c_str(),
                count_text(literal_.digits.size(), "digit").c_str(),
                literal_.window_bits != 0 ? " (split in windows)" : "");
  text += line;
  if (literal_.scheme == Scheme::ckks) {
    std::snprintf(line, sizeof(line), "  scale             2^%.2f, up to %zu slots\n",
                  std::log2(literal_.scale), max_slots());
    text += line;
  } else {
    const std::string slots = has_slots() ? std::to_string(max_slots()) + " slots and " : "";
    text += "  plaintext modulus " + std::to_string(literal_.plain_modulus) + ", " + slots + "coefficients" +
            (has_slots() ? "\n" : " only\n");
  }
  text += "  security          " + rlwe::name(security()) + " bits classical\n";
  text += "  fresh ciphertext  " + bytes_text(ciphertext_bytes()) + ", one switching key " +
          bytes_text(switching_key_bytes()) + "\n";
  return text;
}

}  // namespace hemera::rlwe
