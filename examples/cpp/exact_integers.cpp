// Exact integers with BFV: the inner product of two encrypted vectors of 4,096, and the noise budget that is
// left. With bgv:: in place of bfv:: it is a program of BGV.
#include <cstdint>

#include "example.hpp"
#include "hemera/hemera.hpp"

using namespace hemera;

static double run() {
  const std::size_t slots = 4096;
  // terms: sums of as many products are guaranteed to be right.
  const auto context = rlwe::Context::make(
      bfv::parameters_for({.depth = 1, .plain_bits = 40, .slots = slots, .terms = slots}));
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = rlwe::generate_keys(
      secret, {.rotations = rlwe::rotations_for_sum(context->parameters(), slots), .conjugation = true});

  std::vector<std::int64_t> a(slots), b(slots);
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < slots; ++i) {
    a[i] = static_cast<std::int64_t>(i % 1000);
    b[i] = static_cast<std::int64_t>(7 * i % 999) - 500;
    expected += a[i] * b[i];
  }
  const bfv::Encoder encoder(context);
  const rlwe::Ciphertext x = bfv::encrypt(encoder.encode(a), keys), y = bfv::encrypt(encoder.encode(b), keys);

  const bfv::Evaluator evaluator(context, keys);
  const rlwe::Ciphertext sum = evaluator.sum_slots(evaluator.multiply(x, y));
  std::printf("bits of noise budget: %.0f, at least %.0f\n", bfv::noise_budget(sum, secret),
              bfv::guaranteed_noise_budget(sum));
  return static_cast<double>(encoder.decode(bfv::decrypt(sum, secret))[0] - expected);
}

int main() {
  return example([] { return std::abs(run()); }, 0.5);
}
