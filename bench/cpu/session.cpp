#include "cpu/session.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"

namespace hemera::cpu_bench {
namespace {

using rlwe::Ciphertext;
using rlwe::Plaintext;

constexpr std::int64_t step = 1;

// The right result of the two operands, slot by slot.
enum class Expected : std::uint8_t { first, sum, product, rotated };

struct ComplexNumbers {
  using Value = std::complex<double>;
  using Encoder = ckks::Encoder;

  static std::vector<Value> values(std::size_t degree, int seed) {
    std::vector<Value> result(degree / 2);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto x = static_cast<double>((i * 37 + static_cast<std::size_t>(seed) * 11) % 101);
      result[i] = {x / 202 - 0.25, 0.25 - x / 202};  // small enough for the lowest levels of all sets
    }
    return result;
  }
  static std::vector<Value> rotated(std::vector<Value> values) {
    std::rotate(values.begin(), values.begin() + step, values.end());
    return values;
  }
  static bool equal(const Value& a, const Value& b, std::uint64_t) { return std::abs(a - b) < 1e-3; }
};

struct Integers {
  using Value = std::int64_t;
  using Encoder = integer::Encoder;

  static std::vector<Value> values(std::size_t degree, int seed) {
    std::vector<Value> result(degree);
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = static_cast<Value>((i * 37 + static_cast<std::size_t>(seed) * 11) % 401) - 200;
    }
    return result;
  }
  // Two rows, each rotated.
  static std::vector<Value> rotated(std::vector<Value> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::rotate(values.begin(), values.begin() + step, middle);
    std::rotate(middle, middle + step, values.end());
    return values;
  }
  static bool equal(Value a, Value b, std::uint64_t t) { return (a - b) % static_cast<Value>(t) == 0; }
};

template <typename Values>
struct Session {
  using Value = typename Values::Value;

  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  std::unique_ptr<rlwe::Evaluator> evaluator;
  typename Values::Encoder encoder;
  std::vector<Value> x, y;
  Plaintext plaintext, other_plaintext;
  Ciphertext first, second, sum;

  Session(const rlwe::Parameters& parameters, int threads)
      : context(rlwe::Context::make(parameters, {}, {.threads = threads})),
        secret(rlwe::generate_secret_key(context)),
        evaluator(any_scheme::make_evaluator(context, rlwe::generate_keys(secret, {.rotations = {step}}))),
        encoder(context),
        x(Values::values(context->degree(), 1)),
        y(Values::values(context->degree(), 2)),
        plaintext(encoder.encode(x, {})),
        other_plaintext(encoder.encode(y, {})),
        first(encrypt()),
        second(any_scheme::encrypt(other_plaintext, *evaluator->keys().public_key)),
        sum(first.clone()) {}

  [[nodiscard]] Ciphertext encrypt() const {
    return any_scheme::encrypt(plaintext, *evaluator->keys().public_key);
  }
  [[nodiscard]] bool holds(const Ciphertext& ciphertext, Expected expected) const {
    return holds(any_scheme::decrypt(ciphertext, secret), expected);
  }
  [[nodiscard]] bool holds(const Plaintext& message, Expected expected) const {
    const std::vector<Value> found = encoder.decode(message);
    std::vector<Value> wanted = expected == Expected::rotated ? Values::rotated(x) : x;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (expected == Expected::sum) wanted[i] += y[i];
      if (expected == Expected::product) wanted[i] *= y[i];
      if (!Values::equal(found[i], wanted[i], context->parameters().plain_modulus())) return false;
    }
    return true;
  }
};

template <typename Values>
std::vector<Call> calls_of(const rlwe::Parameters& parameters, int threads) {
  const auto session = std::make_shared<Session<Values>>(parameters, threads);
  std::vector<Call> calls;
  // The result is let go after each call, as by a program that uses it once.
  const auto add = [&](const char* name, Expected expected, const auto& operation) {
    calls.push_back(
        {name, [session, operation] { (void)operation(*session); },
         [session, operation, expected] { return session->holds(operation(*session), expected); }});
  };
  using S = Session<Values>&;
  add("encode", Expected::first, [](S s) { return s.encoder.encode(s.x, {}); });
  calls.push_back({"decode", [session] { (void)session->encoder.decode(session->plaintext); },
                   [session] { return session->holds(session->plaintext, Expected::first); }});
  add("encrypt", Expected::first, [](S s) { return s.encrypt(); });
  add("decrypt", Expected::first, [](S s) { return any_scheme::decrypt(s.first, s.secret); });
  add("add", Expected::sum, [](S s) { return s.evaluator->add(s.first, s.second); });
  calls.push_back({"add_inplace",
                   [session] { session->evaluator->add_inplace(session->sum, session->second); },
                   [session] {
                     session->sum = session->first.clone();
                     session->evaluator->add_inplace(session->sum, session->second);
                     return session->holds(session->sum, Expected::sum);
                   }});
  // A sum in place, and so of the same ciphertext again and again.
  const auto add_plain = [&](const char* name, const std::shared_ptr<const Plaintext>& term) {
    calls.push_back({name, [session, term] { session->evaluator->add_plain_inplace(session->sum, *term); },
                     [session, term] {
                       session->sum = session->first.clone();
                       session->evaluator->add_plain_inplace(session->sum, *term);
                       return session->holds(session->sum, Expected::sum);
                     }});
  };
  add_plain("add_plain", std::make_shared<const Plaintext>(session->encoder.encode(session->y, {})));
  if constexpr (std::is_same_v<Values, Integers>) {
    add_plain("add_plain_ready", std::make_shared<const Plaintext>(session->encoder.encode(
                                     session->y, {}, rlwe::Encoding::slots, session->first.meta.level)));
  }
  add("multiply_plain", Expected::product,
      [](S s) { return s.evaluator->multiply_plain(s.first, s.other_plaintext); });
  if constexpr (std::is_same_v<Values, Integers>) {
    // CKKS encodes for a level anyway.
    add("multiply_plain_ready", Expected::product,
        [ready = std::make_shared<Plaintext>(session->encoder.encode(session->y, {}, rlwe::Encoding::slots,
                                                                     session->first.meta.level))](S s) {
          return s.evaluator->multiply_plain(s.first, *ready);
        });
  }
  add("multiply", Expected::product, [](S s) { return s.evaluator->multiply(s.first, s.second); });
  add("rotate", Expected::rotated, [](S s) { return s.evaluator->rotate(s.first, step); });
  if (parameters.scheme() == rlwe::Scheme::ckks) {
    // The rescale of a product, whose scale a level is meant to take.
    add("rescale", Expected::product,
        [product = std::make_shared<Ciphertext>(session->evaluator->multiply(
             session->first, session->second))](S s) { return s.evaluator->rescale(*product); });
  } else if (parameters.scheme() == rlwe::Scheme::bgv) {
    add("rescale", Expected::first, [](S s) { return s.evaluator->rescale(s.first); });
  }
  return calls;
}

}  // namespace

const std::vector<std::string>& operations() {
  static const std::vector<std::string> names = {
      "encode",      "decode",    "encrypt",         "decrypt",        "add",
      "add_inplace", "add_plain", "add_plain_ready", "multiply_plain", "multiply_plain_ready",
      "multiply",    "rotate",    "rescale"};
  return names;
}

std::vector<Call> calls(const rlwe::Parameters& parameters, int threads) {
  return parameters.scheme() == rlwe::Scheme::ckks ? calls_of<ComplexNumbers>(parameters, threads)
                                                   : calls_of<Integers>(parameters, threads);
}

}  // namespace hemera::cpu_bench
