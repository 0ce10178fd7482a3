#include "hemera/rlwe/context.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "hemera/arith/primes.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/fork.hpp"
#include "rlwe/descent.hpp"
#include "rlwe/level_table.hpp"

namespace hemera::rlwe {
namespace {

std::vector<std::uint32_t> indices_of(const poly::RnsBase& base) {
  return {base.indices().begin(), base.indices().end()};
}

// In smaller rings latency bounds what reads keys.
constexpr std::size_t least_packed_degree = std::size_t{1} << 15;

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
  const double needed = parameters.log_modulus(parameters.highest_user_level()) +
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
  runtime::ForkSafeMutex mutex;
  using Indices = std::vector<std::uint32_t>;
  std::vector<GadgetPointer> default_gadgets;  // [level]
  std::map<GadgetPrimes, std::weak_ptr<const Gadget>> gadgets;
  std::map<std::pair<Indices, Indices>, std::unique_ptr<const poly::BaseConversion>> exact;
  std::map<std::pair<std::size_t, Indices>, std::unique_ptr<const poly::Division>> encryption;
  std::map<std::size_t, std::unique_ptr<const poly::ScaleAndRound>> decryption;
  std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<const Descent>> descents;
  std::map<std::pair<std::size_t, double>, std::unique_ptr<const poly::Division>> multiples;
  ContextPointer circuit;
};

Context::~Context() = default;

ContextPointer Context::make(Parameters parameters, runtime::Device device, ContextOptions options) {
  if (options.multiplier != nullptr && device.kind != runtime::Device::Kind::cpu) {
    throw DeviceError("the multiplier " + std::string(options.multiplier->name()) +
                      " works on the CPU, not on '" + device.name() +
                      "'; use the device 'cpu', or no multiplier");
  }
  return ContextPointer(new Context(std::move(parameters), device, std::move(options)));
}

Context::Context(Parameters parameters, runtime::Device device, ContextOptions options)
    : parameters_(std::move(parameters)),
      scales_(parameters_),
      error_distribution_(parameters_.literal().sigma),
      ledger_(std::move(options.ledger)),
      multiplier_(std::move(options.multiplier)),
      long_rotations_(options.long_rotations),
      plans_(std::make_unique<Plans>()) {
  const ParametersLiteral& literal = parameters_.literal();

  // Ring moduli: ciphertext primes from the top level down, special and key primes, t, auxiliary primes.
  std::vector<std::uint64_t> values = parameters_.primes_up_to(parameters_.levels() - 1);
  values.insert(values.end(), literal.special_primes.begin(), literal.special_primes.end());
  values.insert(values.end(), literal.key_primes.begin(), literal.key_primes.end());
  if (literal.plain_modulus != 0) values.push_back(literal.plain_modulus);
  const std::size_t auxiliary_begin = values.size();
  const auto auxiliary = auxiliary_primes(parameters_, values);
  values.insert(values.end(), auxiliary.begin(), auxiliary.end());

  std::vector<poly::RingModulus> moduli;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const arith::Modulus modulus(values[i]);
    const auto given = literal.roots.find(values[i]);
    std::uint64_t root = given == literal.roots.end() ? 0 : given->second;
    std::size_t held = literal.degree;
    if (i >= auxiliary_begin) {
      root = arith::minimal_primitive_root(2 * literal.degree, modulus);
    } else if (values[i] == literal.plain_modulus && root == 0 && parameters_.has_slots()) {
      held = parameters_.max_slots();
      root = arith::minimal_primitive_root(2 * held, modulus);
    }
    moduli.push_back({modulus, root, held});
  }
  const auto ring = poly::Ring::make(literal.degree, std::move(moduli));

  if (device.kind == runtime::Device::Kind::cuda) {
    backend_ = poly::make_cuda_backend(ring, {.device = device.index,
                                              .memory_limit = options.memory_limit,
                                              .stream = options.stream,
                                              .threads = options.threads,
                                              .keys_on_host = options.keys == KeyPlace::host});
  } else {
    if (options.stream) {
      throw ParameterError("a stream is for a CUDA device: leave it out, or use the device 'cuda'");
    }
    if (device.kind == runtime::Device::Kind::ledger) {
      if (ledger_ == nullptr) ledger_ = std::make_shared<poly::Ledger>();
      backend_ = poly::make_ledger_backend(ring, ledger_, options.threads);
    } else {
      backend_ = poly::make_cpu_backend(ring, options.threads, options.memory_limit);
    }
  }
  if (ledger_ != nullptr && device.kind != runtime::Device::Kind::ledger) {
    backend_ = poly::make_counted_backend(std::move(backend_), ledger_, options.times_operations);
  }
  queue_ = backend_->make_thread_queue();
  make_bases(ring, auxiliary);
  choose_key_words(options.storage);
}

Context::Context(Parameters parameters, const Context& whole)
    : parameters_(std::move(parameters)),
      scales_(parameters_),
      error_distribution_(parameters_.literal().sigma),
      ledger_(whole.ledger_),
      backend_(whole.backend_),
      multiplier_(whole.multiplier_),
      queue_(whole.queue_),
      key_word_(whole.key_word_),
      matrix_key_word_(whole.matrix_key_word_),
      long_rotations_(LongRotations::within_rows),
      plans_(std::make_unique<Plans>()) {
  make_bases(whole.key_base_.ring(), {});
}

void Context::choose_key_words(Storage storage) {
  if (storage == Storage::eight_byte) return;
  const bool packs = storage == Storage::packed;
  if (packs) poly::require_fits(key_base_, poly::Word::u50);
  if (!backend_->stores(poly::Word::u50) || !poly::fits(key_base_, poly::Word::u50)) return;
  if (packs) key_word_ = poly::Word::u50;
  if (packs || degree() >= least_packed_degree) matrix_key_word_ = poly::Word::u50;
}

void Context::make_bases(const std::shared_ptr<const poly::Ring>& ring,
                         std::span<const std::uint64_t> auxiliary) {
  const ParametersLiteral& literal = parameters_.literal();
  const auto base_of = [&](std::span<const std::uint64_t> primes) {
    std::vector<std::uint32_t> indices;
    for (const std::uint64_t prime : primes) indices.push_back(ring->index_of(prime));
    return poly::RnsBase(ring, std::move(indices));
  };
  std::vector<poly::RnsBase> bases;
  for (const auto& level : literal.levels) bases.push_back(base_of(level));
  chain_ = poly::ModulusChain(std::move(bases));
  plain_base_ = base_of(std::span(&literal.plain_modulus, literal.plain_modulus == 0 ? 0 : 1));
  auxiliary_ = base_of(auxiliary);
  std::vector<std::uint64_t> keys = parameters_.primes_up_to(parameters_.levels() - 1);
  keys.insert(keys.end(), literal.special_primes.begin(), literal.special_primes.end());
  keys.insert(keys.end(), literal.key_primes.begin(), literal.key_primes.end());
  key_base_ = base_of(keys);
  for (std::size_t i = 0; scheme() == Scheme::bfv && i < key_base_.size(); ++i) {
    const arith::Modulus& q = key_base_.modulus(i);
    const std::uint64_t t = q.reduce(plain_base_.modulus(0).value());
    negative_plain_inverses_.push_back(q.negate(arith::inverse(t, q.value())));
  }
  public_key_base_ = base_of(parameters_.public_key_primes());

  const poly::RnsBase& plain = switching_plain_base();
  for (std::size_t level = 0; level < chain_.levels(); ++level) {
    rescale_.push_back(level == 0 ? nullptr
                                  : std::make_unique<const poly::Division>(chain_.base(level),
                                                                           chain_.base(level - 1), plain));
  }
  plans_->default_gadgets.resize(chain_.levels());
}

const std::shared_ptr<runtime::Memory>& Context::memory() const { return backend_->memory(); }

const std::shared_ptr<runtime::Memory>& Context::key_memory() const { return backend_->key_memory(); }

const ContextPointer& Context::circuit() const {
  const std::lock_guard lock(plans_->mutex);
  if (!plans_->circuit) plans_->circuit.reset(new Context(parameters_.circuit(), *this));
  return plans_->circuit;
}

bool Context::is_long_rotation(std::int64_t steps) const {
  if (long_rotations_ != LongRotations::openfhe) return false;
  const auto degree = static_cast<std::int64_t>(parameters_.degree());
  if (scheme() == Scheme::ckks) return steps == 2 * degree - 1;
  return steps >= degree / 2 || steps <= -degree / 2;
}

std::uint64_t Context::galois_element(std::int64_t steps) const {
  const std::uint64_t element = parameters_.galois_element(steps);
  if (!is_long_rotation(steps)) return element;
  return scheme() == Scheme::ckks ? conjugation_element() : 2 * degree() - element;
}

const poly::RnsBase& Context::switching_plain_base() const {
  static const poly::RnsBase none;
  return traits(scheme()).errors_are_multiples ? plain_base_ : none;
}

GadgetPointer Context::gadget(std::size_t level) const {
  if (level > top_level()) {
    throw LevelError("there is no gadget for level " + std::to_string(level) +
                     ", which is above the top level " + std::to_string(top_level()));
  }
  {
    const std::lock_guard lock(plans_->mutex);
    if (plans_->default_gadgets[level]) return plans_->default_gadgets[level];
  }
  auto made = gadget(parameters_.default_gadget(level));
  const std::lock_guard lock(plans_->mutex);
  plans_->default_gadgets[level] = made;
  return made;
}

GadgetPointer Context::gadget(const GadgetPrimes& primes) const {
  const std::lock_guard lock(plans_->mutex);
  std::erase_if(plans_->gadgets, [](const auto& item) { return item.second.expired(); });
  auto& known = plans_->gadgets[primes];
  GadgetPointer gadget = known.lock();
  if (!gadget) {
    gadget = std::make_shared<const Gadget>(chain_, primes, switching_plain_base());
    if (!gadget->modulus().without(key_base_).empty()) {
      throw ParameterError("a gadget may have ciphertext, special and key primes of its context only");
    }
    known = gadget;
  }
  return gadget;
}

const poly::Division* Context::encryption_division(std::size_t level, const poly::RnsBase& key_base) const {
  const poly::RnsBase& target = base(level);
  if (!target.without(key_base).empty()) {
    throw LevelError("encrypt: the public key lacks primes of level " + std::to_string(level) +
                     "; encrypt at a lower level, or with a key for this one");
  }
  const poly::RnsBase dropped = key_base.without(chain_.all());
  if (dropped.empty()) return nullptr;
  const std::lock_guard lock(plans_->mutex);
  auto& plan = plans_->encryption[{level, indices_of(dropped)}];
  if (!plan) {
    plan = std::make_unique<const poly::Division>(target.united(dropped), target, switching_plain_base());
  }
  return plan.get();
}

const poly::Division& Context::rescale(std::size_t level) const {
  static_cast<void>(base(level));
  if (level == 0) throw LevelError("rescale: level 0 is the last one");
  return *rescale_[level];
}

const poly::Division& Context::rescale(std::size_t level, double factor) const {
  if (level == 0) throw LevelError("rescale: level 0 is the last one");
  const std::lock_guard lock(plans_->mutex);
  auto& plan = plans_->multiples[{level, factor}];
  if (!plan) {
    plan =
        std::make_unique<const poly::Division>(base(level), base(level - 1), switching_plain_base(), factor);
  }
  return *plan;
}

const Descent& Context::descent(std::size_t high, std::size_t low) const {
  const std::lock_guard lock(plans_->mutex);
  auto& plan = plans_->descents[{high, low}];
  if (!plan) {
    const auto& levels = parameters_.literal().levels;
    const auto source = descent_source(at_level(levels, high), at_level(levels, low));
    std::vector<std::uint32_t> indices;  // in the order of the higher base
    for (std::size_t i = 0; i < base(high).size(); ++i) {
      if (std::binary_search(source.begin(), source.end(), levels[high][i])) {
        indices.push_back(base(high).index(i));
      }
    }
    plan = std::make_unique<const Descent>(
        Descent{.division = poly::Division(poly::RnsBase(base(high).ring(), std::move(indices)), base(low)),
                .quotient = descent_quotient(levels[high], levels[low])});
  }
  return *plan;
}

const poly::BaseConversion& Context::exact_conversion(const poly::RnsBase& source,
                                                      const poly::RnsBase& target) const {
  const std::lock_guard lock(plans_->mutex);
  auto& plan = plans_->exact[{indices_of(source), indices_of(target)}];
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
