#include "hemera/rlwe/context.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

// Bits that BFV's auxiliary base has beyond log2(Q t N): sums of two products, signs, rounding.
constexpr double auxiliary_spare_bits = 8;

/// NTT primes for BFV's multiplication: their product exceeds Q t N by the spare bits, and two more serve as
/// m_sk and m-tilde of the BEHZ variant. Below 2^49 when all ciphertext primes are below 2^50 (then IFMA and
/// FP64 run everything, and below 2^49 fastest).
std::vector<std::uint64_t> auxiliary_primes(const Parameters& parameters,
                                            const std::vector<std::uint64_t>& taken) {
  if (parameters.scheme() != Scheme::bfv) return {};
  const std::uint64_t largest = *std::max_element(taken.begin(), taken.end());
  const std::uint64_t bound = std::uint64_t{1} << (largest < (std::uint64_t{1} << 50) ? 49 : 60);
  const double needed = parameters.log_modulus(parameters.levels() - 1) +
                        std::log2(parameters.plain_modulus()) + std::log2(parameters.degree()) +
                        auxiliary_spare_bits;
  const double bits_each = std::log2(static_cast<double>(bound)) - 0.01;
  const auto count = static_cast<std::size_t>(std::ceil(needed / bits_each)) + 2;
  auto primes = arith::primes_below(bound, 2 * parameters.degree(), count, taken);
  if (primes.size() < count || std::log2(primes.back()) < bits_each) {
    throw ParameterError("there are not enough NTT primes below 2^" +
                         std::to_string(std::bit_width(bound) - 1) + " for BFV's multiplication at degree " +
                         std::to_string(parameters.degree()) + "; use fewer or larger ciphertext primes");
  }
  return primes;
}

}  // namespace

struct Context::Plans {
  std::mutex mutex;
  std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<const poly::ModUp>> mod_up;
  using Indices = std::vector<std::uint32_t>;
  std::map<std::pair<Indices, Indices>, std::unique_ptr<const poly::BaseConversion>> exact;
  std::map<std::size_t, std::unique_ptr<const poly::ScaleAndRound>> decryption;
};

Context::~Context() = default;

std::shared_ptr<const Context> Context::make(Parameters parameters, runtime::Device device,
                                             ContextOptions options) {
  if (options.multiplier != nullptr && device.kind != runtime::Device::Kind::cpu) {
    throw DeviceError("the multiplier " + std::string(options.multiplier->name()) +
                      " works on the CPU, not on '" + device.name() +
                      "'; use the device 'cpu', or no multiplier");
  }
  return std::shared_ptr<const Context>(new Context(std::move(parameters), device, std::move(options)));
}

Context::Context(Parameters parameters, runtime::Device device, ContextOptions options)
    : parameters_(std::move(parameters)),
      error_distribution_(parameters_.literal().sigma),
      multiplier_(std::move(options.multiplier)),
      plans_(std::make_unique<Plans>()) {
  const ParametersLiteral& literal = parameters_.literal();

  // Ring moduli: ciphertext primes from the top level down, special primes, t, auxiliary primes.
  std::vector<std::uint64_t> values;
  for (auto level = literal.levels.rbegin(); level != literal.levels.rend(); ++level) {
    for (const std::uint64_t prime : *level) {
      if (std::find(values.begin(), values.end(), prime) == values.end()) values.push_back(prime);
    }
  }
  const std::size_t special_begin = values.size();
  values.insert(values.end(), literal.special_primes.begin(), literal.special_primes.end());
  const std::size_t plain_begin = values.size();
  if (literal.plain_modulus != 0) values.push_back(literal.plain_modulus);
  const std::size_t auxiliary_begin = values.size();
  const auto auxiliary = auxiliary_primes(parameters_, values);
  values.insert(values.end(), auxiliary.begin(), auxiliary.end());

  std::vector<poly::RingModulus> moduli;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const arith::Modulus modulus(values[i]);
    const auto given = literal.roots.find(values[i]);
    std::uint64_t root = given == literal.roots.end() ? 0 : given->second;
    if (i >= auxiliary_begin) root = arith::minimal_primitive_root(2 * literal.degree, modulus);
    moduli.push_back({modulus, root});
  }
  const auto ring = poly::Ring::make(literal.degree, std::move(moduli));

  if (device.kind == runtime::Device::Kind::cuda) {
    backend_ = poly::make_cuda_backend(
        ring, {.device = device.index, .memory_limit = options.memory_limit, .stream = options.stream});
  } else {
    if (options.memory_limit != 0 || options.stream) {
      throw ParameterError(
          "a memory limit and a stream are for a CUDA device; the CPU takes the memory that the system has: "
          "leave them out, or use the device 'cuda'");
    }
    backend_ = poly::make_cpu_backend(ring, options.threads);
  }
  queue_ = backend_->make_thread_queue();

  const auto range = [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> indices;
    for (std::size_t i = begin; i < end; ++i) indices.push_back(static_cast<std::uint32_t>(i));
    return poly::RnsBase(ring, std::move(indices));
  };
  std::vector<poly::RnsBase> bases;
  for (const auto& level : literal.levels) {
    std::vector<std::uint32_t> indices;
    for (const std::uint64_t prime : level) indices.push_back(ring->index_of(prime));
    bases.emplace_back(ring, std::move(indices));
  }
  chain_ = poly::ModulusChain(std::move(bases));
  special_ = range(special_begin, plain_begin);
  plain_base_ = range(plain_begin, auxiliary_begin);
  auxiliary_ = range(auxiliary_begin, values.size());
  key_base_ = chain_.all().united(special_);
  const poly::RnsBase first_special = range(special_begin, std::min(special_begin + 1, plain_begin));
  public_key_base_ = chain_.all().united(first_special);

  const poly::RnsBase plain = scheme() == Scheme::bgv ? plain_base_ : poly::RnsBase{};
  for (std::size_t level = 0; level < chain_.levels(); ++level) {
    const poly::RnsBase& base = chain_.base(level);
    const auto division_by = [&](const poly::RnsBase& dropped) {
      return dropped.empty() ? nullptr
                             : std::make_unique<const poly::Division>(base.united(dropped), base, plain);
    };
    mod_down_.push_back(division_by(special_));
    encryption_division_.push_back(division_by(first_special));
    rescale_.push_back(
        level == 0 ? nullptr : std::make_unique<const poly::Division>(base, chain_.base(level - 1), plain));
  }
}

poly::RnsBase Context::key_base(std::size_t level) const {
  poly::RnsBase used = chain_.base(level);
  for (std::size_t lower = 0; lower < level; ++lower) used = used.united(chain_.base(lower));
  return chain_.all().intersected(used).united(special_);
}

std::vector<poly::GadgetDigit> Context::gadget(std::size_t level) const {
  const ParametersLiteral& literal = parameters_.literal();
  const poly::RnsBase base = key_base(level).without(special_);
  std::vector<poly::GadgetDigit> digits;
  for (const auto& primes : literal.digits) {
    std::vector<std::uint32_t> indices;
    for (const std::uint64_t prime : primes) indices.push_back(base.ring()->index_of(prime));
    const poly::RnsBase moduli = poly::RnsBase(base.ring(), std::move(indices)).intersected(base);
    if (moduli.empty()) continue;
    const int width = literal.window_bits;
    const int bits = width == 0 ? 1 : moduli.modulus(0).bits();
    for (int shift = 0; shift < bits; shift += std::max(width, 1)) {
      digits.push_back({.key_digit = digits.size(), .moduli = moduli, .shift = shift, .width = width});
    }
  }
  return digits;
}

const poly::ModUp& Context::mod_up(std::size_t level, std::size_t key_level) const {
  const std::lock_guard lock(plans_->mutex);
  auto& plan = plans_->mod_up[{level, key_level}];
  if (!plan) {
    std::vector<poly::GadgetDigit> digits;
    for (poly::GadgetDigit& digit : gadget(key_level)) {
      digit.moduli = digit.moduli.intersected(base(level));
      if (!digit.moduli.empty()) digits.push_back(std::move(digit));
    }
    plan = std::make_unique<const poly::ModUp>(base(level), special_, std::move(digits), key_base(key_level));
  }
  return *plan;
}

const poly::BaseConversion& Context::exact_conversion(const poly::RnsBase& source,
                                                      const poly::RnsBase& target) const {
  const std::lock_guard lock(plans_->mutex);
  const auto indices = [](const poly::RnsBase& base) {
    return Plans::Indices(base.indices().begin(), base.indices().end());
  };
  auto& plan = plans_->exact[{indices(source), indices(target)}];
  if (!plan) {
    plan = std::make_unique<const poly::BaseConversion>(source, target, poly::BaseConversion::Kind::exact);
  }
  return *plan;
}

const poly::ScaleAndRound& Context::decryption(std::size_t level) const {
  const std::lock_guard lock(plans_->mutex);
  auto& plan = plans_->decryption[level];
  if (!plan) {
    plan = std::make_unique<const poly::ScaleAndRound>(base(level), base(level), parameters_.plain_modulus(),
                                                       plain_base_);
  }
  return *plan;
}

std::uint64_t Context::galois_element(std::int64_t steps) const {
  const auto order = static_cast<std::int64_t>(degree() / 2);
  const auto exponent = static_cast<std::uint64_t>(((steps % order) + order) % order);
  return arith::Modulus(2 * degree()).power(parameters_.literal().galois_generator, exponent);
}

void require_same_context(const Context& a, const Context& b, const char* operation) {
  if (&a == &b) return;
  if (a.parameters().fingerprint() == b.parameters().fingerprint()) {
    throw MismatchError(
        std::string(operation) +
        ": the operands belong to two contexts of the same parameters; save one and load it in the "
        "other's context");
  }
  throw MismatchError(std::string(operation) + ": the operands belong to different contexts, " +
                      name(a.scheme()) + " " + a.parameters().short_fingerprint() + " and " +
                      name(b.scheme()) + " " + b.parameters().short_fingerprint() +
                      "; encrypt both in one context");
}

}  // namespace hemera::rlwe
