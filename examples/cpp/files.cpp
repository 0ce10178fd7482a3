// Two processes: `files` calls itself as the server, which gets parameters, keys and a ciphertext as files
// and has no secret.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "example.hpp"
#include "hemera/hemera.hpp"

using namespace hemera;
namespace fs = std::filesystem;

static void serve(const fs::path& folder) {
  const auto context = rlwe::Context::make(io::load_parameters(folder / "parameters.hemera"));
  const auto keys = io::load_evaluation_keys(context, io::load_file(folder / "keys.hemera"));
  const auto x = io::load_ciphertext(context, io::load_file(folder / "x.hemera"));
  const ckks::Evaluator evaluator(context, keys);
  const rlwe::Ciphertext y = evaluator.rotate(evaluator.square(x), 3);
  io::save_file(folder / "y.hemera", evaluator.shrink(y));  // the smallest form to send
}

static double ask(const char* program, const fs::path& folder) {
  const std::size_t slots = 4096;
  const auto context = rlwe::Context::make(ckks::parameters_for({.depth = 1, .slots = slots}));
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const std::vector<double> values = wave(slots, 0.01);
  const ckks::Encoder encoder(context);
  io::save_file(folder / "parameters.hemera", context->parameters());
  io::save_file(folder / "keys.hemera", rlwe::generate_keys(secret, {.rotations = {1, 2}}));
  io::save_file(folder / "x.hemera", ckks::encrypt(encoder.encode(values), secret));

  const std::string command = '"' + std::string(program) + "\" \"" + folder.string() + '"';
  if (std::system(command.c_str()) != 0) return 1;
  const auto y = io::load_ciphertext(context, io::load_file(folder / "y.hemera"));
  std::printf("%ju bytes sent, %ju came back\n",
              static_cast<std::uintmax_t>(fs::file_size(folder / "x.hemera")),
              static_cast<std::uintmax_t>(fs::file_size(folder / "y.hemera")));
  return largest_error(encoder.decode_real(ckks::decrypt(y, secret)), [&](std::size_t i) {
    const double turned = values[(i + 3) % slots];
    return turned * turned;
  });
}

int main(int count, char** arguments) {
  if (count > 1) {
    return example([&] { return serve(arguments[1]), 0.0; }, 1);
  }
  const fs::path folder = fs::temp_directory_path() / ("hemera-example-" + std::to_string(std::rand()));
  fs::create_directories(folder);
  const int status = example([&] { return ask(arguments[0], folder); }, 1e-6);
  fs::remove_all(folder);
  return status;
}
