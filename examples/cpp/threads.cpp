// Eight threads share a context and an evaluator, and have one result, bit for bit.
#include <cstddef>
#include <thread>

#include "example.hpp"
#include "hemera/hemera.hpp"

using namespace hemera;

static double run() {
  const std::size_t slots = 4096, count = 8;
  // Each operation takes at most two threads of its own; at most 1 GiB of memory.
  const auto context = rlwe::Context::make(ckks::parameters_for({.depth = 1, .slots = slots}), {},
                                           {.threads = 2, .memory_limit = std::size_t{1} << 30});
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {.rotations = {1}});
  const ckks::Encoder encoder(context);
  const ckks::Evaluator evaluator(context, keys);
  const rlwe::Ciphertext x = ckks::encrypt(encoder.encode(wave(slots, 0.01)), keys);

  std::vector<std::vector<std::byte>> results(count);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < count; ++t) {
      threads.emplace_back([&, t] { results[t] = io::save(evaluator.rotate(evaluator.square(x), 1)); });
    }
  }
  double different = 0;
  for (const auto& result : results) different += result != results[0];
  std::printf("%zu MiB in use\n", context->memory_used() >> 20);
  return different;
}

int main() { return example(run, 0.5); }
