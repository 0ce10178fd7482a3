// Bytes from anywhere as files of OpenFHE, in both encodings. Whatever they are, only Hemera's own errors may
// come of them, and what is read is written and read again the same.
#include "hemera/interop/openfhe.hpp"

#include <cstdint>
#include <cstdlib>
#include <span>
#include <type_traits>
#include <variant>

#include "hemera/runtime/error.hpp"
#include "interop/openfhe/client.hpp"
#include "interop/openfhe/file.hpp"

namespace {

namespace openfhe = hemera::interop::openfhe;

// Contexts of larger rings take longer than they find.
constexpr std::size_t most_residues = std::size_t{1} << 16;

void check_rewritten(openfhe::AnyFile& file) {
  std::visit(
      [](auto& object) {
        using Object = std::decay_t<decltype(object)>;
        const auto binary = openfhe::write_file(object, openfhe::Format::binary);
        auto again = openfhe::read_file<Object>(binary);
        if (openfhe::write_file(again, openfhe::Format::binary) != binary) std::abort();
        try {
          auto other = openfhe::read_file<Object>(openfhe::write_file(object, openfhe::Format::json));
          if (openfhe::write_file(other, openfhe::Format::binary) != binary) std::abort();
        } catch (const hemera::MismatchError&) {
          // Numbers that JSON does not have.
        }
      },
      file);
}

void load(std::span<const std::byte> file, openfhe::AnyFile& object) {
  const openfhe::Opening opening = openfhe::open_file(object);
  const auto& elements = *opening.context->parameters->elements;
  if (elements.degree * elements.primes.size() > most_residues) return;
  openfhe::Session session(file);
  if (std::holds_alternative<std::shared_ptr<openfhe::CiphertextObject>>(object)) {
    static_cast<void>(session.dump_ciphertext(session.load_ciphertext(file)));
  } else if (std::holds_alternative<std::shared_ptr<openfhe::PrivateKeyObject>>(object)) {
    static_cast<void>(session.dump_secret_key(session.load_secret_key(file)));
  } else if (std::holds_alternative<std::shared_ptr<openfhe::PublicKeyObject>>(object)) {
    session.load_keys({.public_key = hemera::interop::Source(file)});
  } else if (std::holds_alternative<openfhe::MultiplicationKeys>(object)) {
    session.load_keys({.relinearization = hemera::interop::Source(file)});
  } else if (std::holds_alternative<openfhe::AutomorphismKeys>(object)) {
    session.load_keys({.galois = hemera::interop::Source(file)});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    static_cast<void>(openfhe::describe(file));
    openfhe::AnyFile object = openfhe::read_any_file(file);
    check_rewritten(object);
    load(file, object);
  } catch (const hemera::FormatError&) {
  } catch (const hemera::MismatchError&) {
  }
  return 0;
}
