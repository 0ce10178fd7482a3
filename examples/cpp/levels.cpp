// Levels and scales of CKKS: what takes a level, and what can be added to what.
#include "example.hpp"
#include "hemera/hemera.hpp"

using namespace hemera;

static double run() {
  const std::size_t slots = 1024;
  const auto context = rlwe::Context::make(ckks::parameters_for({.depth = 3, .slots = slots}));
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {});
  const std::vector<double> values = wave(slots, 0.01);
  const ckks::Encoder encoder(context);
  const ckks::Evaluator evaluator(context, keys);
  const rlwe::Plaintext plain = encoder.encode(values);
  const rlwe::Ciphertext x = ckks::encrypt(plain, keys);

  // A product waits for its rescale, which the next product makes.
  const rlwe::Ciphertext square = evaluator.square(x);
  std::printf("x at level %zu, 2^%.0f; x^2 at level %zu, 2^%.0f\n", x.meta.level,
              std::log2(static_cast<double>(x.meta.scale)), square.meta.level,
              std::log2(static_cast<double>(square.meta.scale)));

  // Operands of sums are brought to one level and scale, plaintexts of the fresh scale too.
  rlwe::Ciphertext y = evaluator.add_plain(evaluator.add(square, x), plain);
  y = evaluator.multiply(y, x);

  // The level that another program wants, with the scale that it has there.
  evaluator.lower_to_level_inplace(y, 0);
  std::printf("result at level %zu\n", y.meta.level);
  return largest_error(encoder.decode_real(ckks::decrypt(y, secret)), [&](std::size_t i) {
    const double v = values[i];
    return (v * v + v + v) * v;
  });
}

int main() { return example(run, 1e-6); }
