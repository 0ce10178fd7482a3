// Errors and warnings: classes that a program can tell apart, texts that name the way out, and none that ends
// the process.
#include "example.hpp"
#include "hemera/hemera.hpp"

using namespace hemera;

// 1 unless the work fails by this class.
template <typename Expected, typename Work>
static double without(const char* what, Work work) {
  try {
    work();
  } catch (const Expected& error) {
    std::printf("%s: %s\n", what, error.what());
    return 0;
  }
  return 1;
}

static double run() {
  hemera::set_warning_handler([](const hemera::Warning& warning) { std::puts(warning.text.c_str()); });
  const auto context = rlwe::Context::make(ckks::parameters_for({.depth = 1, .slots = 1024}));
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {.rotations = {1}});
  const ckks::Encoder encoder(context);
  const ckks::Evaluator evaluator(context, keys);
  const rlwe::Ciphertext x = ckks::encrypt(encoder.encode(wave(1024, 0.01)), keys);
  const std::vector<std::byte> file = io::save(x);

  double missed = without<MissingKeyError>("a rotation", [&] { (void)evaluator.rotate(x, 3); });
  missed += without<LevelError>("a level", [&] { (void)evaluator.power(x, 16); });
  missed +=
      without<ParameterError>("a value", [&] { (void)encoder.encode(std::vector<double>(1024, 1e12)); });
  missed += without<FormatError>(
      "a file", [&] { (void)io::load_ciphertext(context, std::span(file).first(file.size() / 2)); });
  missed += without<MismatchError>("a context", [&] {
    const auto other = rlwe::Context::make(ckks::parameters_for({.depth = 2, .slots = 1024}));
    (void)evaluator.add(
        x, ckks::encrypt(ckks::Encoder(other).encode(wave(1024, 1)), rlwe::generate_secret_key(other)));
  });
  return missed;
}

int main() { return example(run, 0.5); }
