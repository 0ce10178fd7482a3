// The ciphertexts of a session, and its secret keys.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/client.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"

namespace hemera::interop::openfhe {

rlwe::Ciphertext Session::load_ciphertext(const Source& source) const {
  const auto object = read_file<std::shared_ptr<CiphertextObject>>(source.bytes());
  Arrivals arrivals(*client_, "load_ciphertext");
  arrivals.require(object->header);
  const CiphertextView view = view_of(*object);
  return arrivals.handed_out(to_ciphertext(context_, std::span(&view, 1), {}));
}

rlwe::Ciphertext Session::load_ciphertexts(std::span<const Source> sources) const {
  if (sources.empty()) throw ParameterError("load_ciphertext: a batch needs one source at least");
  std::vector<std::shared_ptr<CiphertextObject>> objects;
  std::vector<CiphertextView> views;
  Arrivals arrivals(*client_, "load_ciphertext");
  for (const Source& source : sources) {
    objects.push_back(read_file<std::shared_ptr<CiphertextObject>>(source.bytes()));
    arrivals.require(objects.back()->header);
    views.push_back(view_of(*objects.back()));
  }
  return arrivals.handed_out(to_ciphertext(context_, views, {sources.size()}));
}

rlwe::SecretKey Session::load_secret_key(const Source& source) const {
  const auto object = read_file<std::shared_ptr<PrivateKeyObject>>(source.bytes());
  Arrivals arrivals(*client_, "load_secret_key");
  arrivals.require(object->header);
  return arrivals.handed_out(to_secret_key(context_, *object));
}

rlwe::Ciphertext Session::bootstrap(const rlwe::Ciphertext& ciphertext, int iterations, int precision,
                                    const rlwe::Evaluator* counts) const {
  require_own(*context_, ciphertext, "bootstrap");
  const auto bootstrapper = client_->bootstrapper(keys_, ciphertext.meta.slots);
  const ckks::Evaluator evaluator(context_, keys_);
  if (iterations != 1 && (iterations != 2 || precision < 1 || precision > 30)) {
    throw ParameterError(
        "bootstrap: one iteration, or two with a precision from 1 to 30 bits: that of one iteration");
  }
  rlwe::Ciphertext result = iterations == 1 ? (*bootstrapper)(evaluator, ciphertext)
                                            : bootstrapper->twice(evaluator, ciphertext, precision);
  // Once, of one iteration or two; what comes back as it is does not count.
  const auto* counter = dynamic_cast<const ckks::Evaluator*>(counts);
  if (counter != nullptr && evaluator.bootstraps() != 0) {
    counter->count_bootstrap(ciphertext, evaluator.undeclared_bootstraps() != 0);
  }
  return result;
}

std::map<std::size_t, std::size_t> Session::bootstrap_input_levels() const {
  return client_->bootstrap_input_levels();
}

std::vector<std::byte> Session::dump_ciphertext(const rlwe::Ciphertext& ciphertext, Format format) const {
  if (!ciphertext.meta.batch.empty()) {
    throw MismatchError("dump_ciphertext: a batch of " +
                        std::to_string(rlwe::batch_count(ciphertext.meta.batch)) +
                        " ciphertexts, which OpenFHE holds one by one; dump_ciphertexts gives them so");
  }
  return std::move(dump_ciphertexts(ciphertext, format).front());
}

std::vector<std::vector<std::byte>> Session::dump_ciphertexts(const rlwe::Ciphertext& batch,
                                                              Format format) const {
  require_own(*context_, batch, "dump_ciphertext");
  std::vector<std::vector<std::byte>> files;
  for (std::size_t i = 0; i < batch.poly.shape().batch; ++i) {
    io::MemorySink sink;
    write_ciphertext(sink, batch, i, client_->header(), format);
    files.push_back(sink.take());
  }
  return files;
}

void Session::dump_ciphertext(io::Sink& sink, const rlwe::Ciphertext& batch, std::size_t element,
                              Format format) const {
  require_own(*context_, batch, "dump_ciphertext");
  if (element >= batch.poly.shape().batch) {
    throw MismatchError("dump_ciphertext: element " + std::to_string(element) + " of a batch of " +
                        std::to_string(batch.poly.shape().batch));
  }
  write_ciphertext(sink, batch, element, client_->header(), format);
}

std::vector<std::byte> Session::dump_secret_key(const rlwe::SecretKey& key, Format format) const {
  require_own(*context_, key, "dump_secret_key");
  auto object = from_secret_key(key, client_->header());
  return write_file(object, format);
}

rlwe::Ciphertext Session::import_ciphertext(const CiphertextView& view) const {
  Arrivals arrivals(*client_, "import_ciphertext");
  arrivals.require_tag(view.key_tag);
  for (const PolynomialView& component : view.components) require_reduced(component);
  return arrivals.handed_out(to_ciphertext(context_, std::span(&view, 1), {}));
}

void Session::export_ciphertext(const rlwe::Ciphertext& ciphertext,
                                std::span<const std::span<std::uint64_t>> limbs) const {
  require_own(*context_, ciphertext, "export_ciphertext");
  const bool fits = ciphertext.poly.shape().batch == 1 &&
                    limbs.size() == ciphertext.size() * ciphertext.poly.base().size() &&
                    std::all_of(limbs.begin(), limbs.end(),
                                [&](const auto& limb) { return limb.size() == context_->degree(); });
  if (!fits) {
    throw MismatchError("export_ciphertext: a ciphertext of " + std::to_string(ciphertext.size()) +
                        " components of " + std::to_string(ciphertext.poly.base().size()) +
                        " limbs needs a span of N words for each limb");
  }
  download(ciphertext, limbs);
}

Metadata Session::metadata(const rlwe::Ciphertext& ciphertext) const {
  require_own(*context_, ciphertext, "metadata");
  return metadata_of(ciphertext);
}

}  // namespace hemera::interop::openfhe
