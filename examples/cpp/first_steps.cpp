// First steps in C++: encrypt real numbers with CKKS, compute x^2 + 1/2 on them and turn the result by one
// slot without the secret key, and decrypt.
#include "example.hpp"
#include "hemera/hemera.hpp"

using namespace hemera;

static double run() {
  // Parameters from what the circuit needs; their security is checked.
  const std::size_t slots = 1024;
  const auto context =
      rlwe::Context::make(ckks::parameters_for({.depth = 1, .scale_bits = 40, .slots = slots}));
  std::printf("%s\n", context->parameters().describe().c_str());

  // The client keeps the secret key and hands out the evaluation keys.
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {.rotations = {1}});

  const std::vector<double> values = wave(slots, 0.01);
  const ckks::Encoder encoder(context);
  const rlwe::Ciphertext x = ckks::encrypt(encoder.encode(values), keys);

  // The server has no secret.
  const ckks::Evaluator evaluator(context, keys);
  const rlwe::Ciphertext y = evaluator.rotate(evaluator.add_scalar(evaluator.square(x), 0.5), 1);

  return largest_error(encoder.decode_real(ckks::decrypt(y, secret)), [&](std::size_t i) {
    const double next = values[(i + 1) % slots];
    return next * next + 0.5;
  });
}

int main() { return example(run, 1e-6); }
