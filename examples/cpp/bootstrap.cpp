// Products without end: an evaluator that bootstraps by itself takes x to (x^2 + 1) / 2, 16 times. The preset
// "test-40" is small and NOT SECURE; "n16-40" is the one of 128 bits, and takes 8 GB.
#include <memory>

#include "example.hpp"
#include "hemera/hemera.hpp"

using namespace hemera;

static double run() {
  const rlwe::Parameters parameters =
      circuits::parameters_for_bootstrapping(circuits::bootstrap_preset("test-40"));
  const circuits::Bootstrap plan(parameters);
  const auto context = rlwe::Context::make(parameters);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {});
  keys.merge(plan.generate_keys(secret));

  const std::vector<double> values = wave(parameters.max_slots(), 0.01);
  const ckks::Encoder encoder(context);
  rlwe::Ciphertext x = ckks::encrypt(encoder.encode(values), keys);

  const auto prepared = std::make_shared<const circuits::PreparedBootstrap>(context, plan);
  const circuits::AutomaticBootstraps automatic(prepared, keys);
  const auto& evaluator = *automatic.evaluator();
  // Products of ciphertexts bootstrap by the evaluator, those with numbers by `automatic`.
  for (int i = 0; i < 16; ++i) {
    x = automatic.multiply(evaluator.add_scalar(evaluator.square(x), 1), 0.5);
  }
  std::printf("%llu bootstraps\n", static_cast<unsigned long long>(evaluator.bootstraps()));
  return largest_error(encoder.decode_real(ckks::decrypt(x, secret)), [&](std::size_t i) {
    double value = values[i];
    for (int k = 0; k < 16; ++k) value = (value * value + 1) / 2;
    return value;
  });
}

int main() { return example(run, 0.001); }
