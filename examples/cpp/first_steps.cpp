// First steps in C++: encrypt real numbers with CKKS, compute x^2 + 1/2 on them and turn the result by one
// slot without the secret key, and decrypt.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include "hemera/hemera.hpp"

namespace {

// The largest error of a slot.
double run() {
  using namespace hemera;

  // Parameters from what the circuit needs; their security is checked.
  const std::size_t slots = 1024;
  const auto context =
      rlwe::Context::make(ckks::parameters_for({.depth = 1, .scale_bits = 40, .slots = slots}));
  std::printf("%s\n", context->parameters().describe().c_str());

  // The client keeps the secret key and hands out the evaluation keys.
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {.rotations = {1}});

  std::vector<double> values(slots);
  for (std::size_t i = 0; i < slots; ++i) values[i] = std::sin(0.01 * static_cast<double>(i));
  const ckks::Encoder encoder(context);
  const rlwe::Ciphertext x = ckks::encrypt(encoder.encode(values), keys);

  // The server has no secret.
  const ckks::Evaluator evaluator(context, keys);
  const rlwe::Ciphertext y = evaluator.rotate(evaluator.add_scalar(evaluator.square(x), 0.5), 1);

  const std::vector<double> result = encoder.decode_real(ckks::decrypt(y, secret));
  double error = 0;
  for (std::size_t i = 0; i < slots; ++i) {
    const double x_next = values[(i + 1) % slots];
    error = std::max(error, std::abs(result[i] - (x_next * x_next + 0.5)));
  }
  return error;
}

}  // namespace

int main() {
  try {
    const double error = run();
    std::printf("largest error: 2^%.1f\n", std::log2(error));
    return error < 1e-6 ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
