// 64 ciphertexts as one array: products broadcast, and arrays are taken apart and put together.
#include "example.hpp"
#include "hemera/hemera.hpp"

using namespace hemera;

static double run() {
  const std::size_t rows = 64, slots = 4096;
  const auto context = rlwe::Context::make(ckks::parameters_for({.depth = 1, .slots = slots}));
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {});
  const std::vector<double> values = wave(rows * slots, 0.001);
  const ckks::Encoder encoder(context);
  const ckks::Evaluator evaluator(context, keys);

  const rlwe::Ciphertext x = ckks::encrypt(encoder.encode(values, {rows}), keys);
  const rlwe::Ciphertext row = rlwe::take(x, 3);
  rlwe::Ciphertext products = evaluator.multiply(x, row);  // each row times row 3
  rlwe::reshape_inplace(products, {8, 8});
  const rlwe::Ciphertext half = rlwe::slice(products, 0, 4);  // of shape {4, 8}
  const rlwe::Ciphertext both = rlwe::stack({&row, &row});
  std::printf("shapes {%zu, %zu} and {%zu}\n", half.meta.batch[0], half.meta.batch[1], both.meta.batch[0]);

  return largest_error(encoder.decode_real(ckks::decrypt(half, secret)),
                       [&](std::size_t i) { return values[i] * values[3 * slots + i % slots]; });
}

int main() { return example(run, 1e-6); }
