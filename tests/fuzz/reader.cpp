// Bytes from anywhere to every loader. Whatever they are, only Hemera's own errors may come of them.
//
// Half of the mutations get fitting checksums, so that the checks behind the checksums are reached. Contexts
// are those of the golden files, which are the first corpus.
#include <cstdint>
#include <map>
#include <span>

#include "hemera/io/describe.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/runtime/error.hpp"
#include "io/reseal.hpp"
#include "io/small_parameters.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using hemera::io::ContextPointer;
using hemera::io::Kind;
using hemera::rlwe::Scheme;

// The contexts of the golden files.
class Contexts {
 public:
  Contexts() {
    for (const auto scheme : {Scheme::bfv, Scheme::bgv, Scheme::ckks}) {
      const auto context = hemera::io::test::small_context(scheme, hemera::io::test::golden_bits(scheme));
      contexts_[context->parameters().fingerprint()] = context;
    }
  }
  [[nodiscard]] ContextPointer find(const hemera::io::Fingerprint& fingerprint) const {
    const auto found = contexts_.find(fingerprint);
    return found == contexts_.end() ? nullptr : found->second;
  }

 private:
  std::map<hemera::io::Fingerprint, ContextPointer> contexts_;
};

template <typename Object>
void check_loaded(const Object& object) {
  // What loads can be saved.
  static_cast<void>(hemera::io::save(object));
}

void load(const ContextPointer& context, std::span<const std::byte> file) {
  switch (hemera::io::read_header(file).kind) {
    case Kind::parameters:
      break;
    case Kind::plaintext:
      check_loaded(hemera::io::load_plaintext(context, file));
      break;
    case Kind::ciphertext:
      check_loaded(hemera::io::load_ciphertext(context, file));
      break;
    case Kind::secret_key:
      check_loaded(hemera::io::load_secret_key(context, file));
      break;
    case Kind::public_key:
      check_loaded(hemera::io::load_public_key(context, file));
      break;
    case Kind::switching_key:
      check_loaded(hemera::io::load_switching_key(context, file));
      break;
    case Kind::evaluation_keys:
      check_loaded(hemera::io::load_evaluation_keys(context, file));
      break;
    case Kind::needed_keys:
      static_cast<void>(hemera::io::load_needed_keys(context, file));
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Contexts contexts;
  const auto file = std::as_bytes(std::span(data, size));
  try {
    static_cast<void>(hemera::io::describe(file));
  } catch (const hemera::FormatError&) {
  }
  try {
    const auto header = hemera::io::read_header(file);
    if (header.kind == Kind::parameters) {
      check_loaded(hemera::io::load_parameters(file));
    } else if (const auto context = contexts.find(header.fingerprint)) {
      load(context, file);
    }
  } catch (const hemera::FormatError&) {
  } catch (const hemera::MismatchError&) {
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  const std::size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 2 == 0) hemera::io::test::reseal(std::as_writable_bytes(std::span(data, mutated)));
  return mutated;
}
