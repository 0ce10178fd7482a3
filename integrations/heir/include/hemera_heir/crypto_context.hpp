// The object that programs compute with: a context, its encoder, and an evaluator once there are keys.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/runtime/device.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "hemera_heir/parameters.hpp"
#include "hemera_heir/values.hpp"

namespace hemera::heir {

/// The keys of a program, which HEIR finds in it.
struct ProgramKeys {
  bool relinearization = false;
  std::vector<std::int64_t> rotations = {};
};

/// A program's context. Copies share it; it is immutable, and any number of threads may use it. Operations
/// are Hemera's (rlwe::Evaluator, with its errors): levels and scales are brought together by themselves, and
/// products of ciphertexts have three components until they are relinearized.
class CryptoContext {
 public:
  CryptoContext() = default;
  /// Without keys: encodes, encrypts and decrypts.
  explicit CryptoContext(const Parameters& program, runtime::Device device = {},
                         rlwe::ContextOptions options = {})
      : state_(std::make_shared<State>(
            program, rlwe::Context::make(parameters_for(program), device, std::move(options)))) {}

  [[nodiscard]] const rlwe::ContextPointer& context() const { return state_->context; }
  [[nodiscard]] const Parameters& program() const { return state_->program; }
  [[nodiscard]] std::size_t slots() const { return program().slots; }
  /// Throws MissingKeyError for a context without keys.
  [[nodiscard]] const rlwe::EvaluationKeys& keys() const { return evaluator().keys(); }

  // --- Keys. ---
  [[nodiscard]] SecretKey generate_secret_key() const {
    return std::make_shared<const rlwe::SecretKey>(rlwe::generate_secret_key(context()));
  }
  [[nodiscard]] PublicKey generate_public_key(const SecretKey& secret) const {
    return std::make_shared<const rlwe::PublicKey>(rlwe::generate_public_key(*secret));
  }
  /// The same context with the keys of a program, those of its bootstrap included. They hold no secret.
  [[nodiscard]] CryptoContext with_keys(const SecretKey& secret, const ProgramKeys& keys) const {
    std::vector<std::int64_t> rotations = keys.rotations;
    for (std::int64_t& steps : rotations) steps = within_slots(steps);
    std::erase(rotations, 0);
    rlwe::EvaluationKeys made =
        rlwe::generate_keys(*secret, {.relinearization = keys.relinearization, .rotations = rotations});
    if (state_->bootstrap) made.merge(state_->bootstrap->plan().generate_keys(*secret));
    return with_keys(std::move(made));
  }
  /// The same with keys that were made elsewhere: the server's side. Throws MismatchError for keys of other
  /// parameters.
  [[nodiscard]] CryptoContext with_keys(rlwe::EvaluationKeys keys) const {
    CryptoContext result;
    result.state_ = std::make_shared<State>(*state_, std::move(keys));
    return result;
  }

  // --- Messages. ---
  /// Numbers of any type, which repeat in the slots; CKKS takes them as reals, BFV and BGV as integers modulo
  /// t. Throws ParameterError unless their number divides that of the slots.
  template <typename Number>
  [[nodiscard]] Plaintext encode(const std::vector<Number>& numbers) const {
    if (numbers.empty() || slots() % numbers.size() != 0) {
      throw ParameterError("encoding " + std::to_string(numbers.size()) + " numbers in " +
                           std::to_string(slots()) + " slots; their number has to divide that of the slots");
    }
    if (scheme() == Scheme::ckks) {
      return std::make_shared<const EncodedNumbers>(repeated<double>(numbers, slots()));
    }
    rlwe::Plaintext encoded = state_->integers->encode(
        repeated<std::int64_t>(numbers, context()->parameters().max_slots()), rlwe::BatchShape{});
    return std::make_shared<const EncodedNumbers>(repeated<std::int64_t>(numbers, slots()),
                                                  std::move(encoded));
  }
  template <typename Key>
  [[nodiscard]] Ciphertext encrypt(const Plaintext& numbers, const std::shared_ptr<const Key>& key) const {
    if (scheme() != Scheme::ckks) return shared(any_scheme::encrypt(*numbers->encoding(), *key));
    const std::vector<double>& reals = numbers->reals();
    return shared(ckks::encrypt(
        state_->reals->encode(ckks::HostRows<const double>{.doubles = reals, .count = reals.size()},
                              reals.size(), {}),
        *key));
  }
  /// Throws NoiseError for a result that is doubtful (Encoder::decode).
  [[nodiscard]] Plaintext decrypt(const Ciphertext& a, const SecretKey& key) const {
    const rlwe::Plaintext plaintext = any_scheme::decrypt(*a, *key);
    if (scheme() != Scheme::ckks) {
      std::vector<std::int64_t> integers = state_->integers->decode(plaintext);
      integers.resize(std::min(integers.size(), slots()));
      return std::make_shared<const EncodedNumbers>(std::move(integers));
    }
    std::vector<double> reals;
    for (const std::complex<double>& value : state_->reals->decode(plaintext)) reals.push_back(value.real());
    return std::make_shared<const EncodedNumbers>(std::move(reals));
  }
  /// The numbers in the first `count` slots. Throws ParameterError if there are fewer slots.
  template <typename Number>
  [[nodiscard]] std::vector<Number> decode(const Plaintext& numbers, std::size_t count) const {
    if (count > slots()) {
      throw ParameterError("decoding " + std::to_string(count) + " of " + std::to_string(slots()) + " slots");
    }
    return scheme() == Scheme::ckks ? repeated<Number>(numbers->reals(), count)
                                    : repeated<Number>(numbers->integers(), count);
  }

  // --- Arithmetic. ---
  [[nodiscard]] Ciphertext add(const Ciphertext& a, const Ciphertext& b) const {
    return shared(evaluator().add(*a, *b));
  }
  [[nodiscard]] Ciphertext add(const Ciphertext& a, const Plaintext& b) const {
    rlwe::Ciphertext sum = a->clone();
    evaluator().add_plain_inplace(sum, *addend(*a, *b));
    return shared(std::move(sum));
  }
  [[nodiscard]] Ciphertext subtract(const Ciphertext& a, const Ciphertext& b) const {
    return shared(evaluator().subtract(*a, *b));
  }
  [[nodiscard]] Ciphertext subtract(const Ciphertext& a, const Plaintext& b) const {
    rlwe::Ciphertext difference = a->clone();
    evaluator().subtract_plain_inplace(difference, *addend(*a, *b));
    return shared(std::move(difference));
  }
  [[nodiscard]] Ciphertext negate(const Ciphertext& a) const { return shared(evaluator().negate(*a)); }
  /// Not relinearized.
  [[nodiscard]] Ciphertext multiply(const Ciphertext& a, const Ciphertext& b) const {
    return shared(evaluator().multiply(*a, *b));
  }
  [[nodiscard]] Ciphertext multiply(const Ciphertext& a, const Plaintext& b) const {
    return shared(evaluator().multiply_plain(*a, *factor(*a, *b)));
  }
  [[nodiscard]] Ciphertext relinearize(const Ciphertext& a) const {
    rlwe::Ciphertext result = a->clone();
    evaluator().relinearize_inplace(result);
    return shared(std::move(result));
  }
  /// CKKS: one level down, for a product that waits for it. Everything else stays as it is: BFV and BGV
  /// choose their levels by their noise, and a ciphertext of noise-scale degree 1 would lose its scale.
  [[nodiscard]] Ciphertext rescale(const Ciphertext& a) const {
    if (scheme() != Scheme::ckks || a->meta.noise_scale_degree < 2) return a;
    return shared(evaluator().rescale(*a));
  }

  // --- Slots. ---
  /// Slot i of the result is slot i + steps, modulo the program's slots; steps of any sign.
  [[nodiscard]] Ciphertext rotate(const Ciphertext& a, std::int64_t steps) const {
    const std::int64_t left = within_slots(steps);
    return left == 0 ? a : shared(evaluator().rotate(*a, left));
  }
  /// Rotations by each of `steps`, with one decomposition of the ciphertext.
  [[nodiscard]] std::vector<Ciphertext> rotate_hoisted(const Ciphertext& a,
                                                       const std::vector<std::int64_t>& steps) const {
    std::vector<std::int64_t> turned;
    for (const std::int64_t step : steps) {
      if (within_slots(step) != 0) turned.push_back(within_slots(step));
    }
    std::vector<rlwe::Ciphertext> rotated = evaluator().rotate_hoisted(*a, turned);
    std::vector<Ciphertext> results;
    std::size_t next = 0;
    for (const std::int64_t step : steps) {
      results.push_back(within_slots(step) == 0 ? a : shared(std::move(rotated[next++])));
    }
    return results;
  }

  // --- Circuits of CKKS. ---
  /// The sum of coefficients[k] T_k(t), T_k the Chebyshev polynomials and t the values of [low, high] mapped
  /// to [-1, 1].
  [[nodiscard]] Ciphertext chebyshev(const Ciphertext& a, const std::vector<double>& coefficients,
                                     double low = -1, double high = 1) const {
    const circuits::Polynomial series({coefficients.begin(), coefficients.end()}, circuits::Basis::chebyshev,
                                      {.low = low, .high = high});
    const Ciphertext input = rescale(a);
    const circuits::FunctionPlan plan(context()->parameters(), circuits::Function(series),
                                      {.level = input->meta.level, .slots = slots()});
    const rlwe::Ciphertext* const inputs[] = {input.get()};
    std::vector<rlwe::Ciphertext> outputs =
        circuits::PreparedFunction(context(), plan)(ckks_evaluator(), inputs);
    return shared(std::move(outputs.front()));
  }
  /// Throws ParameterError for a program without Parameters::bootstrap.
  [[nodiscard]] Ciphertext bootstrap(const Ciphertext& a) const {
    if (!state_->bootstrap) {
      throw ParameterError(
          "the program's parameters have no bootstrap; name a preset in Parameters::bootstrap (HEIR: "
          "hemera-bootstrap)");
    }
    return shared((*state_->bootstrap)(ckks_evaluator(), *rescale(a)));
  }

 private:
  struct State {
    State(Parameters wanted, rlwe::ContextPointer made)
        : program(std::move(wanted)), context(std::move(made)) {
      if (program.scheme != Scheme::ckks) {
        integers = std::make_shared<const integer::Encoder>(context);
        return;
      }
      reals = std::make_shared<const ckks::Encoder>(context);
      if (program.bootstrap.empty()) return;
      const circuits::Bootstrap plan(context->parameters(), {.slots = program.slots, .real = true});
      bootstrap =
          std::make_shared<const circuits::PreparedBootstrap>(context, plan, program.bootstrap_magnitude);
    }
    State(const State& without_keys, rlwe::EvaluationKeys keys) : State(without_keys) {
      evaluator = any_scheme::make_evaluator(context, std::move(keys), rlwe::Relinearization::lazy);
    }

    Parameters program;
    rlwe::ContextPointer context;
    std::shared_ptr<const ckks::Encoder> reals;        // of CKKS
    std::shared_ptr<const integer::Encoder> integers;  // of BFV and BGV
    std::shared_ptr<const rlwe::Evaluator> evaluator;  // null without keys
    std::shared_ptr<const circuits::PreparedBootstrap> bootstrap;
  };

  static Ciphertext shared(rlwe::Ciphertext result) {
    return std::make_shared<const rlwe::Ciphertext>(std::move(result));
  }
  template <typename Target, typename Number>
  static std::vector<Target> repeated(const std::vector<Number>& numbers, std::size_t count) {
    std::vector<Target> result(count);
    for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<Target>(numbers[i % numbers.size()]);
    return result;
  }

  [[nodiscard]] Scheme scheme() const { return program().scheme; }
  [[nodiscard]] std::int64_t within_slots(std::int64_t steps) const {
    const auto period = static_cast<std::int64_t>(slots());
    return ((steps % period) + period) % period;
  }
  [[nodiscard]] const rlwe::Evaluator& evaluator() const {
    if (!state_->evaluator) {
      throw MissingKeyError(
          "this context has no keys to compute with; make them with with_keys (in an "
          "emitted program NAME__configure_crypto_context)");
    }
    return *state_->evaluator;
  }
  [[nodiscard]] const ckks::Evaluator& ckks_evaluator() const {
    const auto* const found = dynamic_cast<const ckks::Evaluator*>(&evaluator());
    if (found == nullptr) throw MismatchError("series and bootstraps are circuits of CKKS");
    return *found;
  }
  /// A plaintext as an operation with `a` takes it.
  [[nodiscard]] std::shared_ptr<const rlwe::Plaintext> encoded(const EncodedNumbers& numbers,
                                                               const rlwe::PlainOperand& operand) const {
    return scheme() == Scheme::ckks ? numbers.encoding(*state_->reals, operand.level, operand.scale)
                                    : numbers.encoding();
  }
  [[nodiscard]] std::shared_ptr<const rlwe::Plaintext> addend(const rlwe::Ciphertext& a,
                                                              const EncodedNumbers& b) const {
    return encoded(b, context()->scales().operand_of_sum(a.meta));
  }
  [[nodiscard]] std::shared_ptr<const rlwe::Plaintext> factor(const rlwe::Ciphertext& a,
                                                              const EncodedNumbers& b) const {
    return encoded(b, context()->scales().operand_of_product(a.meta));
  }

  std::shared_ptr<const State> state_;
};

}  // namespace hemera::heir
