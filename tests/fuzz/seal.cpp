// Bytes from anywhere to every loader of SEAL's files. Whatever they are, only Hemera's own errors may come
// of them, and what loads is whole: it is written, and read again.
//
// Half of the mutations get a fitting size in their header, and half of these are of the content without
// compression, so that the checks behind both are reached. The parameters are those of the files in
// tests/vectors/seal, which are the first corpus.
#include "hemera/interop/seal.hpp"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "interop/seal/client.hpp"
#include "interop/seal/keys.hpp"
#include "interop/seal/messages.hpp"
#include "interop/seal/objects.hpp"
#include "interop/seal/samples.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

namespace seal = hemera::interop::seal;
using seal::Compression;
using seal::SchemeNumber;

// What a session consists of: making one for every input would take most of the time.
struct Party {
  seal::Client client;
  std::shared_ptr<const hemera::rlwe::Context> context;

  Party(SchemeNumber scheme, std::vector<std::uint64_t> moduli, std::uint64_t plain_modulus)
      : Party({{scheme, 4096, std::move(moduli), plain_modulus}, 4},
              seal::Options{.scale = plain_modulus == 0 ? 0x1p29 : 0}) {}
  Party(seal::StoredParameters stored, const seal::Options& options)
      : client(stored, options),
        context(
            hemera::rlwe::Context::make(seal::to_hemera(stored.parameters, options), {}, {.threads = 1})) {}
};

const std::vector<std::unique_ptr<Party>>& parties() {
  static const std::vector<std::unique_ptr<Party>> all = [] {
    std::vector<std::unique_ptr<Party>> made;
    const std::vector<std::uint64_t> integers{68719403009, 68719230977, 137438822401};
    made.push_back(std::make_unique<Party>(SchemeNumber::bfv, integers, 65537));
    made.push_back(std::make_unique<Party>(SchemeNumber::bgv, integers, 65537));
    made.push_back(std::make_unique<Party>(
        SchemeNumber::ckks, std::vector<std::uint64_t>{1099511390209, 536813569, 1099511480321}, 0));
    return made;
  }();
  return all;
}

void attempt(const std::function<std::vector<std::byte>(std::span<const std::byte>)>& reload,
             std::span<const std::byte> file) {
  std::vector<std::byte> written;
  try {
    written = reload(file);
  } catch (const hemera::FormatError&) {
    return;
  } catch (const hemera::MismatchError&) {
    return;
  }
  if (reload(written) != written) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    static_cast<void>(seal::describe(file));
  } catch (const hemera::FormatError&) {
  }
  try {
    seal::Reader in(file, "parameters");
    static_cast<void>(seal::read_parameters(in));
  } catch (const hemera::FormatError&) {
  }
  constexpr auto none = Compression::none;
  for (const auto& party : parties()) {
    const seal::Messages messages(party->client, party->context);
    const seal::Keys keys(party->client, party->context);
    const auto empty = [&] { return hemera::rlwe::EvaluationKeys{.context = party->context}; };
    // Files of no keys load, and there is nothing to write.
    const std::vector<std::byte> itself(file.begin(), file.end());
    attempt(
        [&](auto bytes) {
          return messages.dump(messages.load(std::vector<hemera::interop::Source>{bytes}, {}), 0, none);
        },
        file);
    attempt([&](auto bytes) { return messages.dump(messages.load_plaintext(bytes), 0, none); }, file);
    attempt([&](auto bytes) { return keys.dump(keys.load_secret_key(bytes), none); }, file);
    attempt([&](auto bytes) { return keys.dump(keys.load_public_key(bytes), none); }, file);
    attempt(
        [&](auto bytes) {
          auto loaded = empty();
          keys.load_relinearization(bytes, loaded);
          return keys.dump_relinearization(loaded, none).value_or(itself);
        },
        file);
    attempt(
        [&](auto bytes) {
          auto loaded = empty();
          keys.load_galois(bytes, loaded);
          return keys.dump_galois(loaded, none).value_or(itself);
        },
        file);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  const auto input = std::as_bytes(std::span(data, size));
  if (seed % 4 == 0) {
    // From here on the content itself mutates.
    try {
      const std::vector<std::byte> plain = seal::test::stored(seal::test::content(input));
      if (plain.size() <= max_size) {
        std::copy(plain.begin(), plain.end(), std::as_writable_bytes(std::span(data, max_size)).begin());
        size = plain.size();
      }
    } catch (const hemera::FormatError&) {
    }
  }
  const std::size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 2 == 0) {
    std::vector<std::byte> file(mutated);
    std::copy_n(std::as_bytes(std::span(data, mutated)).begin(), mutated, file.begin());
    seal::test::reseal(file);
    std::copy(file.begin(), file.end(), std::as_writable_bytes(std::span(data, mutated)).begin());
  }
  return mutated;
}
