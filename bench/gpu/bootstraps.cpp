#include "gpu/bootstraps.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <iostream>
#include <memory>
#include <numbers>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/bootstrap/mod_raise.hpp"
#include "gpu/client_bootstraps.hpp"
#include "gpu/gpu_energy.hpp"
#include "gpu/timer.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/schemes/ckks.hpp"
#include "options.hpp"

namespace hemera::gpu_bench {
namespace {

using circuits::Bootstrap;
using circuits::PreparedBootstrap;
using rlwe::Ciphertext;
using Values = std::vector<std::complex<double>>;

// How far below the model a measured worst slot may be.
constexpr double tolerated_bits = 1.5;
// The most bits of values that are encoded and compared as doubles.
constexpr double most_bits = 45;
// The degree of the polynomial that is timed, too, and the bits of the scale that noise may take.
constexpr std::size_t polynomial_degree = 15;
constexpr double polynomial_noise_bits = 22;

Values uniform_values(std::size_t count, bool real) {
  std::mt19937_64 random(20261121);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Values values(count);
  for (auto& value : values) value = {uniform(random), real ? 0 : uniform(random)};
  return values;
}

// The preset's with what the case changes; a security of 0 stands for any, and matrices are given by their
// number.
circuits::BootstrapSettings settings_of(const BootstrapCase& chosen) {
  circuits::BootstrapSettings settings = circuits::bootstrap_preset(chosen.preset);
  for (const auto& [name, value] : changes_of(chosen)) {
    if (name == "degree") {
      settings.degree = value;
    } else if (name == "levels") {
      settings.levels = value;
    } else if (name == "digits") {
      settings.digits = value;
    } else if (name == "special_primes") {
      settings.special_primes = value;
    } else if (name == "nested_sine") {
      settings.nested_sine = value != 0;
    } else if (name == "slots_to_coefficients") {
      settings.slots_to_coefficients.resize(value, settings.slots_to_coefficients.back());
    } else if (name == "coefficients_to_slots") {
      settings.coefficients_to_slots.resize(value, settings.coefficients_to_slots.back());
    } else if (name == "security") {
      settings.security = value == 0 ? std::nullopt : std::optional(static_cast<int>(value));
    } else if (name != "keys_on_host" && name != "memory_mib") {
      throw std::invalid_argument("a bootstrap has no field " + name + " here");
    }
  }
  return settings;
}

// The options of the context that it runs in.
rlwe::ContextOptions options_of(const BootstrapCase& chosen) {
  const auto changes = changes_of(chosen);
  const auto value = [&](const char* name) { return changes.contains(name) ? changes.at(name) : 0; };
  return {.memory_limit = value("memory_mib") << 20,
          .storage = chosen.storage,
          .keys = value("keys_on_host") != 0 ? rlwe::KeyPlace::host : rlwe::KeyPlace::device};
}

// A bootstrap on a device, with all that it needs.
struct Session {
  rlwe::Parameters parameters;
  Bootstrap plan;
  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  ckks::Evaluator evaluator;
  PreparedBootstrap bootstrap;

  Session(const BootstrapCase& chosen, int device)
      : parameters(circuits::parameters_for_bootstrapping(settings_of(chosen))),
        plan(parameters, {.slots = chosen.slots,
                          .real = chosen.real,
                          .iterations = chosen.iterations,
                          .merges_parts = chosen.merges_parts,
                          .together = chosen.together}),
        context(rlwe::Context::make(parameters, {runtime::Device::Kind::cuda, device}, options_of(chosen))),
        secret(rlwe::generate_secret_key(context)),
        evaluator(context, plan.generate_keys(secret)),
        bootstrap(context, plan) {}

  [[nodiscard]] Ciphertext encrypt(const Values& values, std::size_t batch, std::size_t level) const {
    return ckks::encrypt(ckks::Encoder(context).encode(values, {batch}, level), secret);
  }
  [[nodiscard]] Values decrypt(const Ciphertext& ciphertext) const {
    return ckks::Encoder(context).decode(ckks::decrypt(ciphertext, secret));
  }
};

// The fields that every row has.
Fields fields_of(const Session& session, const BootstrapCase& chosen, const std::string& operation,
                 const std::string& mode, std::size_t level) {
  const Bootstrap& plan = session.plan;
  return {{"scheme", json_string("ckks")},
          {"operation", json_string(operation)},
          {"n", std::to_string(session.context->degree())},
          {"preset", json_string(chosen.preset + chosen.changes)},
          {"slots", std::to_string(plan.slots())},
          {"real", plan.is_real() ? "true" : "false"},
          {"merges_parts", plan.merges_parts() ? "true" : "false"},
          {"iterations", std::to_string(plan.iterations())},
          {"level", std::to_string(level)},
          {"limbs", std::to_string(session.context->base(level).size())},
          {"batch", std::to_string(chosen.batch)},
          {"together", std::to_string(plan.together())},
          {"mode", json_string(mode)}};
}

void print(const std::vector<TimedRow>& rows) {
  for (const TimedRow& timing : rows) {
    for (const char* name : {"operation", "level", "mode", "mean_bits", "worst_bits"}) {
      for (const auto& [field, value] : timing.fields) {
        if (field == name) std::cerr << "  " << value;
      }
    }
    std::cerr << "  " << fixed(timing.microseconds) << " us +- " << fixed(timing.spread)
              << (timing.checked ? "" : "   WRONG RESULT") << "\n";
  }
}

// Times a call and adds its rows, with the fields that `more` gives after the run.
using TimeCall = std::function<void(const Call& call, const std::string& operation, std::size_t level,
                                    const std::function<Fields()>& more)>;

// A polynomial slot by slot, if the bootstrap leaves levels for it.
void time_polynomial(const Session& session, const BootstrapCase& chosen, const TimeCall& time) {
  const Bootstrap& plan = session.plan;
  const circuits::Polynomial series(Values(polynomial_degree + 1, 1.0 / (polynomial_degree + 1)),
                                    circuits::Basis::chebyshev);
  if (plan.result_level() - plan.input_level() >= series.depth()) {
    const circuits::FunctionPlan function(session.parameters, circuits::Function(series),
                                          {.level = plan.result_level()});
    const circuits::PreparedFunction prepared(session.context, function);
    const ckks::Evaluator evaluator(session.context, function.generate_keys(session.secret));
    const Values reals = uniform_values(plan.slots() * chosen.batch, true);
    const Ciphertext x = session.encrypt(reals, chosen.batch, function.level());
    time(making<Ciphertext>(
             [&] {
               const Ciphertext* input = &x;
               return std::move(prepared(evaluator, std::span(&input, 1)).front());
             },
             [&](const Ciphertext& out) {
               const Values found = session.decrypt(out);
               double largest = 0;
               for (std::size_t i = 0; i < found.size(); ++i) {
                 largest = std::max(largest, std::abs(found[i] - series.evaluate(0, reals[i])));
               }
               return -std::log2(largest) >
                      std::min(std::log2(session.parameters.scale()) - polynomial_noise_bits, most_bits);
             }),
         "polynomial", function.level(), [&] {
           return Fields{{"degree", std::to_string(polynomial_degree)},
                         {"relinearizations", std::to_string(function.cost().key_products)}};
         });
  }
}

}  // namespace

std::map<std::string, std::size_t> changes_of(const BootstrapCase& chosen) {
  std::map<std::string, std::size_t> changes;
  for (const std::string& part : bench::split(chosen.changes, ':')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    changes[part.substr(0, equals)] = std::stoul(part.substr(equals + 1));
  }
  return changes;
}

BootstrapCase read_bootstrap(const std::string& text) {
  std::istringstream stream(text);
  BootstrapCase chosen;
  std::getline(stream, chosen.preset, ':');
  for (std::string part; std::getline(stream, part, ':');) {
    if (part.find('=') != std::string::npos) {
      chosen.changes += ":" + part;
    } else if (part == "real") {
      chosen.real = true;
    } else if (part == "merged") {
      chosen.merges_parts = true;
    } else if (part.starts_with("x")) {
      chosen.batch = std::stoul(part.substr(1));
    } else if (part.starts_with("i")) {
      chosen.iterations = std::stoul(part.substr(1));
    } else if (part.starts_with("t")) {
      chosen.together = std::stoul(part.substr(1));
    } else {
      chosen.slots = std::stoul(part);
    }
  }
  return chosen;
}

// What a bootstrap gives of these values: themselves, or the exponentials of their real and imaginary parts.
Values expected_of(const Bootstrap& plan, const Values& values) {
  if (!plan.is_exponential()) return values;
  const double angle = 2 * std::numbers::pi / plan.ratio();
  Values result;
  for (const auto& value : values) result.push_back(std::polar(1.0, angle * value.real()));
  for (std::size_t i = 0; i < values.size() && !plan.is_real(); ++i) {
    result.push_back(std::polar(1.0, angle * values[i].imag()));
  }
  return result;
}

std::vector<TimedRow> time_bootstrap(const BootstrapCase& chosen, int device, std::size_t repetitions) {
  if (chosen.preset == "openfhe") return time_client_bootstrap(chosen, device, repetitions);
  const Session session(chosen, device);
  const Bootstrap& plan = session.plan;
  const Timer timer(*session.context, repetitions);
  std::vector<TimedRow> rows;
  circuits::Precision precision;

  const auto row = [&](const Timing& timing, const std::string& operation, const std::string& mode,
                       std::size_t level, Fields more) {
    Fields fields = fields_of(session, chosen, operation, mode, level);
    fields.insert(fields.end(), more.begin(), more.end());
    rows.push_back({std::move(fields), timing.median, timing.spread, timing.checked});
  };
  const auto time = [&](const Call& call, const std::string& operation, std::size_t level,
                        const std::function<Fields()>& more) {
    const Timing eager = timer.eager(call);
    row(eager, operation, "eager", level, more());
    if (const std::optional<Timing> graph = timer.graph(call)) row(*graph, operation, "graph", level, more());
  };

  const Values one = uniform_values(plan.slots(), plan.is_real());
  Values values;
  for (std::size_t i = 0; i < chosen.batch; ++i) values.insert(values.end(), one.begin(), one.end());
  const Values expected = expected_of(plan, values);
  const double wanted = std::min(plan.expected_precision().worst_bits - tolerated_bits, most_bits);
  const Ciphertext in = session.encrypt(values, chosen.batch, plan.input_level());
  time(making<Ciphertext>([&] { return session.bootstrap(session.evaluator, in); },
                          [&](const Ciphertext& out) {
                            precision = circuits::precision_of(session.decrypt(out), expected);
                            return precision.worst_bits > wanted;
                          }),
       "bootstrap", plan.input_level(), [&] {
         double log_qp = 0;
         for (const circuits::KeyNeed& need : plan.needed_keys()) {
           log_qp = std::max(log_qp, session.context->gadget(need.gadget)->log_modulus());
         }
         return Fields{{"scale_bits", fixed(std::log2(session.parameters.scale()))},
                       {"levels_left", std::to_string(plan.result_level() - plan.input_level())},
                       {"mean_bits", fixed(precision.mean_bits)},
                       {"worst_bits", fixed(precision.worst_bits)},
                       {"key_bytes", std::to_string(plan.cost().key_bytes)},
                       {"plaintext_bytes", std::to_string(plan.cost().plaintext_bytes)},
                       {"log_qp", fixed(log_qp)},
                       {"device_memory_bytes", std::to_string(session.context->memory()->peak())},
                       {"security", json_string(rlwe::name(*session.evaluator.keys().security()))}};
       });

  if (chosen.measures_energy) {
    const std::optional<bench::Energy> energy = measure_gpu_energy(device, [&] {
      const Ciphertext out = session.bootstrap(session.evaluator, in);
      session.context->queue().synchronize();
    });
    if (energy) {
      row({.median = 1e6 * energy->seconds, .spread = 0, .checked = rows.front().checked},
          "energy_of_bootstraps", "eager", plan.input_level(),
          {{"millijoules", fixed(1e3 * energy->joules / static_cast<double>(chosen.batch))},
           {"watts", fixed(energy->joules / energy->seconds)},
           {"idle_watts", fixed(energy->idle_watts)}});
    }
  }

  // In a limited memory there is no room for more, and the steps of several together, or by roots of unity,
  // are others.
  if (changes_of(chosen).contains("memory_mib") || plan.together() > 1 || plan.blocks() > 0) {
    print(rows);
    return rows;
  }
  const circuits::BootstrapLayout layout(session.parameters);
  const std::size_t parts = plan.is_real() || plan.merges_parts() ? 1 : 2;
  const circuits::EvalMod eval_mod(session.parameters, layout, parts == 2);
  const circuits::PreparedFunction sine(session.context, eval_mod.plan());

  // The steps, on values of their own: their results are checked with the whole.
  const auto right = [](const Ciphertext&) { return true; };
  const Values small = uniform_values(plan.slots() * chosen.batch, plan.is_real());
  for (const auto* transforms : {&plan.slots_to_coefficients(), &plan.coefficients_to_slots()}) {
    for (const circuits::LinearTransform& transform : *transforms) {
      const circuits::PreparedLinearTransform prepared(session.context, transform);
      const Values vector = uniform_values(transform.slots() * chosen.batch, plan.is_real());
      const Ciphertext x = session.encrypt(vector, chosen.batch, transform.level());
      time(making<Ciphertext>([&] { return prepared(session.evaluator, x); }, right), "linear_transform",
           transform.level(), [&] {
             return Fields{{"diagonals", std::to_string(transform.diagonals().size())},
                           {"rotations", std::to_string(transform.rotations().size())}};
           });
    }
  }
  time_polynomial(session, chosen, time);
  const auto key = [&](const rlwe::KeyRole& role) {
    return session.evaluator.keys().switching.at(role).begin()->second;
  };
  const auto to_ephemeral = key({.to = rlwe::ephemeral_secret});
  const auto from_ephemeral = key({.from = rlwe::ephemeral_secret});
  const Ciphertext low = session.encrypt(small, chosen.batch, 0);
  time(
      making<Ciphertext>(
          [&] {
            return rlwe::mod_down(circuits::mod_raise(low, *to_ephemeral, *from_ephemeral, layout.top_level));
          },
          right),
      "mod_raise", layout.top_level, [] { return Fields{}; });
  Values t(small.begin(), small.end());
  for (auto& value : t) value = value.real() / static_cast<double>(layout.sine.range);
  t.resize(t.size() * parts, 0.5 / static_cast<double>(layout.sine.range));
  const ckks::Encoder encoder(session.context);
  const rlwe::BatchShape batch = {parts, chosen.batch};
  const Ciphertext v = ckks::encrypt(encoder.encode(t, batch, layout.eval_mod_level), session.secret);
  time(making<Ciphertext>(
           [&] {
             std::vector<Ciphertext> inputs;
             inputs.push_back(v.clone());
             return std::move(sine(session.evaluator, std::move(inputs)).front());
           },
           right),
       "eval_mod", layout.eval_mod_level, [] { return Fields{}; });
  print(rows);
  return rows;
}

}  // namespace hemera::gpu_bench
