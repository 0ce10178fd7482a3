#include "gpu/client_bootstraps.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

#include "gpu/timer.hpp"
#include "hemera/arith/modulus.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/schemes/ckks.hpp"
#include "interop/openfhe/bootstrap.hpp"
#include "interop/openfhe/parameters.hpp"

namespace hemera::gpu_bench {
namespace {

namespace openfhe = interop::openfhe;

constexpr std::uint64_t scale_bits = 59;
// One of the factors from 7 to 14 that OpenFHE chooses from; and the least bits of a result's worst slot.
constexpr std::uint32_t correction_factor = 9;
constexpr double wanted_bits = 12;

struct Sizes {
  std::size_t degree = std::size_t{1} << 16;
  std::size_t primes = 30;
  std::uint32_t digits = 3, budget = 3;
  bool uniform = false;  // the client's secret; else an encapsulated one
};

Sizes sizes_of(const BootstrapCase& chosen) {
  Sizes sizes;
  for (const auto& [name, value] : changes_of(chosen)) {
    if (name == "degree") {
      sizes.degree = value;
    } else if (name == "primes") {
      sizes.primes = value;
    } else if (name == "digits") {
      sizes.digits = static_cast<std::uint32_t>(value);
    } else if (name == "budget") {
      sizes.budget = static_cast<std::uint32_t>(value);
    } else if (name == "uniform") {
      sizes.uniform = value != 0;
    } else {
      throw std::invalid_argument("a client's bootstrap has no field " + name + " here");
    }
  }
  return sizes;
}

// The first prime has one bit more than the scale.
openfhe::CryptoContext context_of(const Sizes& sizes) {
  const auto degree = static_cast<std::uint32_t>(sizes.degree);
  auto elements = std::make_shared<openfhe::DcrtParameters>();
  elements->order = 2 * degree;
  elements->degree = degree;
  std::vector<std::uint64_t> primes =
      arith::primes_below(std::uint64_t{1} << (scale_bits + 1), 2 * sizes.degree, 1);
  for (const std::uint64_t prime :
       arith::primes_below(std::uint64_t{1} << scale_bits, 2 * sizes.degree, sizes.primes - 1)) {
    primes.push_back(prime);
  }
  for (const std::uint64_t prime : primes) {
    auto native = std::make_shared<openfhe::NativeParameters>();
    native->order = elements->order;
    native->degree = degree;
    native->modulus = prime;
    native->root = arith::minimal_primitive_root(2 * sizes.degree, arith::Modulus(prime));
    elements->primes.push_back(std::move(native));
  }
  openfhe::CryptoContext context;
  context.parameters = std::make_shared<openfhe::CryptoParameters>();
  context.parameters->elements = std::move(elements);
  context.parameters->encoding = std::make_shared<openfhe::EncodingParameters>();
  context.parameters->encoding->plain_modulus = scale_bits;
  context.parameters->deviation = 3.19F;
  context.parameters->secret =
      sizes.uniform ? openfhe::SecretType::uniform : openfhe::SecretType::sparse_encapsulated;
  context.parameters->digits = sizes.digits;
  context.scheme = std::make_shared<openfhe::SchemeObject>();
  return context;
}

}  // namespace

std::vector<TimedRow> time_client_bootstrap(const BootstrapCase& chosen, int device,
                                            std::size_t repetitions) {
  const Sizes sizes = sizes_of(chosen);
  const openfhe::CryptoContext client = context_of(sizes);
  const auto context =
      rlwe::Context::make(openfhe::parameters_of(client, {}), {runtime::Device::Kind::cuda, device});
  const std::size_t slots = chosen.slots == 0 ? sizes.degree / 2 : chosen.slots;
  const openfhe::BootstrapSettings settings{.slots = static_cast<std::uint32_t>(slots),
                                            .budget_encode = sizes.budget,
                                            .budget_decode = sizes.budget,
                                            .encodes_slots = false};
  const openfhe::Bootstrapper bootstrapper(context, client, settings, correction_factor,
                                           openfhe::GiantSteps::own_keys);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const ckks::Evaluator evaluator(context, rlwe::generate_needed_keys(secret, bootstrapper.needed_keys()));

  std::mt19937_64 random(20261121);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<std::complex<double>> values(slots);
  for (auto& value : values) value = {uniform(random), uniform(random)};
  const ckks::Encoder encoder(context);
  const rlwe::Ciphertext in = ckks::encrypt(encoder.encode(values, {}, 1), secret);
  circuits::Precision precision;
  const Call call = making<rlwe::Ciphertext>([&] { return bootstrapper(evaluator, in); },
                                             [&](const rlwe::Ciphertext& out) {
                                               precision = circuits::precision_of(
                                                   encoder.decode(ckks::decrypt(out, secret)), values);
                                               return precision.worst_bits > wanted_bits;
                                             });

  const Timer timer(*context, repetitions);
  const circuits::Cost& cost = bootstrapper.cost();
  std::vector<TimedRow> rows;
  const auto add = [&](const Timing& timing, const std::string& mode) {
    const std::size_t top = context->top_level();
    rows.push_back({{{"scheme", "\"ckks\""},
                     {"operation", "\"client_bootstrap\""},
                     {"n", std::to_string(sizes.degree)},
                     {"preset", "\"" + chosen.preset + chosen.changes + "\""},
                     {"slots", std::to_string(slots)},
                     {"limbs", std::to_string(sizes.primes)},
                     {"special", std::to_string(context->parameters().literal().special_primes.size())},
                     {"dnum", std::to_string(sizes.digits)},
                     {"budget", std::to_string(sizes.budget)},
                     {"secret", sizes.uniform ? "\"uniform\"" : "\"encapsulated\""},
                     {"level", std::to_string(top)},
                     {"levels_left", std::to_string(bootstrapper.result_level() - 1)},
                     {"mean_bits", fixed(precision.mean_bits)},
                     {"worst_bits", fixed(precision.worst_bits)},
                     {"key_products", std::to_string(cost.key_products)},
                     {"mod_ups", std::to_string(cost.mod_ups)},
                     {"divisions", std::to_string(cost.divisions + cost.rescales)},
                     {"key_bytes", std::to_string(cost.key_bytes)},
                     {"batch", "1"},
                     {"mode", "\"" + mode + "\""}},
                    timing.median,
                    timing.spread,
                    timing.checked});
    std::cerr << "  client_bootstrap  " << slots << " slots  " << mode << "  " << fixed(precision.mean_bits)
              << " / " << fixed(precision.worst_bits) << " bits  " << fixed(timing.median) << " us +- "
              << fixed(timing.spread) << (timing.checked ? "" : "   WRONG RESULT") << "\n";
  };
  add(timer.eager(call), "eager");
  if (const std::optional<Timing> graph = timer.graph(call)) add(*graph, "graph");
  return rows;
}

}  // namespace hemera::gpu_bench
