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
#include <vector>

#include "hemera/runtime/error.hpp"
#include "interop/seal/objects.hpp"
#include "interop/seal/samples.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

namespace seal = hemera::interop::seal;
using hemera::interop::Source;
using seal::Compression;
using seal::SchemeNumber;
using seal::Session;

std::unique_ptr<Session> open(SchemeNumber scheme, std::vector<std::uint64_t> moduli,
                              std::uint64_t plain_modulus) {
  seal::Writer out(4);
  seal::write_parameters(out, {scheme, 4096, std::move(moduli), plain_modulus});
  const std::vector<std::byte> parms = out.finish(Compression::none);
  return std::make_unique<Session>(parms, hemera::runtime::Device{},
                                   seal::Options{.scale = plain_modulus == 0 ? 0x1p29 : 0});
}

const std::vector<std::unique_ptr<Session>>& sessions() {
  static const std::vector<std::unique_ptr<Session>> all = [] {
    std::vector<std::unique_ptr<Session>> made;
    const std::vector<std::uint64_t> integers{68719403009, 68719230977, 137438822401};
    made.push_back(open(SchemeNumber::bfv, integers, 65537));
    made.push_back(open(SchemeNumber::bgv, integers, 65537));
    made.push_back(open(SchemeNumber::ckks, {1099511390209, 536813569, 1099511480321}, 0));
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
  for (const auto& session : sessions()) {
    const auto none = Compression::none;
    const auto keys = [&](const hemera::interop::KeySources& sources) {
      Session own(session->dump_context(), session->context(),
                  {.scale = session->params().scheme() == hemera::rlwe::Scheme::ckks ? 0x1p29 : 0});
      own.load_keys(sources);
      const auto files = own.dump_keys(own.keys(), none);
      // Files of no keys load, and there is nothing to write.
      return files.public_key        ? *files.public_key
             : files.relinearization ? *files.relinearization
             : files.galois          ? *files.galois
                                     : std::vector<std::byte>(file.begin(), file.end());
    };
    attempt([&](auto bytes) { return session->dump_ciphertext(session->load_ciphertext(bytes), none); },
            file);
    attempt([&](auto bytes) { return session->dump_plaintext(session->load_plaintext(bytes), none); }, file);
    attempt([&](auto bytes) { return session->dump_secret_key(session->load_secret_key(bytes), none); },
            file);
    attempt([&](auto bytes) { return keys({.public_key = Source(bytes)}); }, file);
    attempt([&](auto bytes) { return keys({.relinearization = Source(bytes)}); }, file);
    attempt([&](auto bytes) { return keys({.galois = Source(bytes)}); }, file);
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
