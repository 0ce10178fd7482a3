// Time of each homomorphic operation of each scheme, one thread: run with --benchmark_format=json for files
// of results.
#include <benchmark/benchmark.h>

#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "hemera/circuits/functions/function_plan.hpp"
#include "schemes.hpp"

namespace hemera {
namespace {

using rlwe::Ciphertext;
using rlwe::Plaintext;

// The 128-bit secure moduli of each degree, in primes of at most 49 bits: one special prime, each prime a
// digit.
std::size_t prime_count(std::size_t degree) {
  return static_cast<std::size_t>(rlwe::max_log_modulus(degree, 128).value_or(0)) / 49 - 1;
}

struct Ckks : bench::Ckks {
  static rlwe::Parameters parameters(std::size_t degree) {
    const std::size_t primes = prime_count(degree);
    return ckks::parameters_from_bits({.degree = degree,
                                       .prime_bits = std::vector<int>(primes, 45),
                                       .special_bits = {49},
                                       .scale = 0x1p45,
                                       .digits = primes});
  }
  static Plaintext encode(const std::shared_ptr<const rlwe::Context>& context) {
    const std::vector<std::complex<double>> values(context->degree() / 2, {0.5, -0.25});
    return ckks::Encoder(context).encode(values, {});
  }
};

template <typename Parameters>
Parameters integer_chain(std::size_t degree) {
  const std::size_t primes = prime_count(degree);
  Parameters request;
  request.degree = degree;
  request.plain_modulus = 786433;  // 1 modulo 2^18
  request.prime_bits.assign(primes, 48);
  request.special_bits = {49};
  request.digits = primes;
  return request;
}

Plaintext encode_integers(const std::shared_ptr<const rlwe::Context>& context) {
  const std::vector<std::int64_t> values(context->degree(), 12345);
  return integer::Encoder(context).encode(values, {});
}

struct Bfv : bench::Bfv {
  static rlwe::Parameters parameters(std::size_t degree) {
    return bfv::parameters_from_bits(integer_chain<bfv::ChainRequest>(degree));
  }
  static Plaintext encode(const std::shared_ptr<const rlwe::Context>& context) {
    return encode_integers(context);
  }
};

struct Bgv : bench::Bgv {
  static rlwe::Parameters parameters(std::size_t degree) {
    return bgv::parameters_from_bits(integer_chain<bgv::ChainRequest>(degree));
  }
  static Plaintext encode(const std::shared_ptr<const rlwe::Context>& context) {
    return encode_integers(context);
  }
};

// Keys, a plaintext and a ciphertext at the deepest secure parameters of a degree.
template <typename Scheme>
struct Session {
  std::shared_ptr<const rlwe::Context> context;
  rlwe::SecretKey secret;
  typename Scheme::Evaluator evaluator;
  Plaintext plaintext;
  Ciphertext ciphertext;
  Ciphertext other;

  explicit Session(std::size_t degree)
      : context(rlwe::Context::make(Scheme::parameters(degree), {}, {.threads = 1})),
        secret(rlwe::generate_secret_key(context)),
        evaluator(context, rlwe::generate_keys(secret, {.rotations = {1, 2, 3, 4, 5, 6, 7, 8}})),
        plaintext(Scheme::encode(context)),
        ciphertext(Scheme::encrypt(plaintext, *evaluator.keys().public_key)),
        other(Scheme::encrypt(plaintext, *evaluator.keys().public_key)) {}
};

template <typename Scheme, typename Operation>
void run(benchmark::State& state, Operation operation) {
  const Session<Scheme> session(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(operation(session));
}

template <typename Scheme>
void register_scheme(const std::string& name) {
  const auto add = [&](const char* operation, auto body) {
    benchmark::RegisterBenchmark((name + "/" + operation).c_str(),
                                 [body](benchmark::State& state) { run<Scheme>(state, body); })
        ->RangeMultiplier(2)
        ->Range(1 << 13, 1 << 15)
        ->Unit(benchmark::kMicrosecond);
  };
  using S = const Session<Scheme>&;
  add("encode", [](S s) { return Scheme::encode(s.context); });
  add("encrypt", [](S s) { return Scheme::encrypt(s.plaintext, *s.evaluator.keys().public_key); });
  add("decrypt", [](S s) { return Scheme::decrypt(s.ciphertext, s.secret); });
  add("add", [](S s) { return s.evaluator.add(s.ciphertext, s.other); });
  add("multiply_plain", [](S s) { return s.evaluator.multiply_plain(s.ciphertext, s.plaintext); });
  add("multiply_relinearize", [](S s) { return s.evaluator.multiply(s.ciphertext, s.other); });
  add("rotate", [](S s) { return s.evaluator.rotate(s.ciphertext, 1); });
  add("rotate_hoisted_8", [](S s) {
    return s.evaluator.rotate_hoisted(s.ciphertext, std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
  });
  add("rescale", [](S s) { return s.evaluator.rescale(s.ciphertext); });
  add("relinearization_key",
      [](S s) { return rlwe::generate_relinearization_key(s.secret, s.context->top_level()); });
}

// A polynomial of this degree in the Chebyshev basis, with its coefficients encoded.
void evaluate_polynomial(benchmark::State& state, std::size_t degree) {
  const Session<Ckks> session(static_cast<std::size_t>(state.range(0)));
  std::vector<std::complex<double>> coefficients;
  for (std::size_t k = 0; k <= degree; ++k) coefficients.push_back(1 / static_cast<double>(k + 1));
  const circuits::Polynomial polynomial(coefficients, circuits::Basis::chebyshev);
  const circuits::FunctionPlan plan(session.context->parameters(), circuits::Function(polynomial));
  const circuits::PreparedFunction prepared(session.context, plan);
  const std::vector<const Ciphertext*> inputs{&session.ciphertext};
  for (auto _ : state) benchmark::DoNotOptimize(prepared(session.evaluator, inputs));
}

void register_polynomials() {
  for (const std::size_t degree : {7, 15, 31}) {
    benchmark::RegisterBenchmark(("ckks/polynomial_" + std::to_string(degree)).c_str(),
                                 [degree](benchmark::State& state) { evaluate_polynomial(state, degree); })
        ->RangeMultiplier(2)
        ->Range(1 << 14, 1 << 15)
        ->Unit(benchmark::kMicrosecond);
  }
}

const bool registered = [] {
  register_scheme<Ckks>("ckks");
  register_polynomials();
  register_scheme<Bfv>("bfv");
  register_scheme<Bgv>("bgv");
  return true;
}();

}  // namespace
}  // namespace hemera
