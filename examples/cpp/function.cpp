// A function of encrypted values: its plan gives depth, error, keys and memory before there is a key.
#include "example.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/hemera.hpp"

using namespace hemera;

static double run() {
  const std::size_t slots = 4096;
  const auto sigmoid = circuits::sigmoid({-8, 8}, 1e-4);
  const rlwe::Parameters parameters = ckks::parameters_for({.depth = sigmoid.depth(), .slots = slots});
  const circuits::FunctionPlan plan(parameters, sigmoid);
  std::printf("depth %zu, error %.2g, %zu keys of %zu MiB, %zu MiB of memory\n", sigmoid.depth(),
              sigmoid.error(), plan.needed_keys().size(), plan.cost().key_bytes >> 20,
              plan.memory_bytes() >> 20);

  const auto context = rlwe::Context::make(parameters);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = plan.generate_keys(secret);
  std::vector<double> values = wave(slots, 0.01);
  for (double& value : values) value *= 8;
  const ckks::Encoder encoder(context);
  const rlwe::Ciphertext x = ckks::encrypt(encoder.encode(values), secret);

  const circuits::PreparedFunction function(context, plan);
  const ckks::Evaluator evaluator(context, keys);
  const rlwe::Ciphertext* const inputs[] = {&x};
  const auto y = function(evaluator, inputs);
  return largest_error(encoder.decode_real(ckks::decrypt(y[0], secret)),
                       [&](std::size_t i) { return 1 / (1 + std::exp(-values[i])); });
}

int main() { return example(run, 2e-4); }
