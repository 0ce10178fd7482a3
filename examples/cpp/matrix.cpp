// A 64 x 64 matrix in the clear times an encrypted vector, with the keys that its plan names.
#include "example.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/hemera.hpp"

using namespace hemera;

static double run() {
  const std::size_t size = 64;
  const std::vector<double> matrix = wave(size * size, 0.7), vector = wave(size, 1);
  const rlwe::Parameters parameters = ckks::parameters_for({.depth = 1, .slots = size});
  const circuits::LinearTransform plan(
      parameters,
      circuits::diagonals_of(circuits::DenseMatrix<double>{.rows = size, .columns = size, .value = matrix},
                             size),
      size);
  std::printf("%zu rotations, keys of %zu KiB\n", plan.rotations().size(), plan.cost().key_bytes >> 10);

  const auto context = rlwe::Context::make(parameters);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = plan.generate_keys(secret);
  const ckks::Encoder encoder(context);
  const ckks::Evaluator evaluator(context, keys);
  const circuits::PreparedLinearTransform product(context, plan);
  const rlwe::Ciphertext y = product(evaluator, ckks::encrypt(encoder.encode(vector), secret));

  return largest_error(encoder.decode_real(ckks::decrypt(y, secret)), [&](std::size_t row) {
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += matrix[row * size + i] * vector[i];
    return sum;
  });
}

int main() { return example(run, 1e-5); }
