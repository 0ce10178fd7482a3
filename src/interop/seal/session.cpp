#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "hemera/interop/seal.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "interop/seal/client.hpp"
#include "interop/seal/keys.hpp"
#include "interop/seal/messages.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::interop::seal {

Session::Session(const Source& parms, runtime::Device device, const Options& options,
                 rlwe::ContextOptions context_options)
    : Session(parms, rlwe::Context::make(load_parameters(parms, options), device, std::move(context_options)),
              options) {}

Session::Session(const Source& parms, rlwe::ContextPointer context, const Options& options)
    : context_(std::move(context)), client_(std::make_unique<const Client>(read_parameters(parms), options)) {
  rlwe::require_filled(context_, "Session");
  if (to_hemera(client_->parameters, options) != context_->parameters()) {
    throw MismatchError("the context has other parameters than those that SEAL's file gives");
  }
  keys_.context = context_;
}

Session::~Session() = default;

std::shared_ptr<const rlwe::Evaluator> Session::evaluator() const {
  return any_scheme::make_evaluator(context_, keys_);
}

const rlwe::EvaluationKeys& Session::load_keys(const KeySources& sources) {
  const Keys loader(*client_, context_);
  rlwe::EvaluationKeys added = keys_;
  if (sources.public_key) {
    added.public_key =
        std::make_shared<const rlwe::PublicKey>(loader.load_public_key(sources.public_key->bytes()));
  }
  if (sources.relinearization) loader.load_relinearization(sources.relinearization->bytes(), added);
  if (sources.galois) loader.load_galois(sources.galois->bytes(), added);
  keys_ = std::move(added);
  return keys_;
}

rlwe::Ciphertext Session::load_ciphertext(const Source& source) const {
  return Messages(*client_, context_).load(std::span(&source, 1), {});
}

rlwe::Ciphertext Session::load_ciphertexts(std::span<const Source> sources) const {
  if (sources.empty()) throw ParameterError("load_ciphertexts: a batch needs one source at least");
  return Messages(*client_, context_).load(sources, {sources.size()});
}

rlwe::Plaintext Session::load_plaintext(const Source& source) const {
  return Messages(*client_, context_).load_plaintext(source.bytes());
}

rlwe::SecretKey Session::load_secret_key(const Source& source) const {
  return Keys(*client_, context_).load_secret_key(source.bytes());
}

std::vector<std::byte> Session::dump_context(Compression compression) const {
  Writer out(client_->minor_version);
  write_parameters(out, client_->parameters);
  return out.finish(compression);
}

KeyFiles Session::dump_keys(const rlwe::EvaluationKeys& keys, Compression compression) const {
  rlwe::require_filled(keys, "dump_keys");
  rlwe::require_same_context(*keys.context, *context_, "dump_keys");
  Keys::require_places(keys);
  const Keys writer(*client_, context_);
  KeyFiles files;
  if (keys.public_key != nullptr) files.public_key = writer.dump(*keys.public_key, compression);
  files.relinearization = writer.dump_relinearization(keys, compression);
  files.galois = writer.dump_galois(keys, compression);
  return files;
}

namespace {

template <typename Object>
void require_single(const Object& object, const char* operation) {
  if (object.poly.shape().batch != 1) {
    throw MismatchError(std::string(operation) + ": the batch has " +
                        std::to_string(object.poly.shape().batch) + " elements; a file of SEAL holds one");
  }
}

template <typename Object>
std::vector<std::vector<std::byte>> dump_all(const Messages& messages, const Object& batch,
                                             Compression compression) {
  std::vector<std::vector<std::byte>> files;
  for (std::size_t i = 0; i < batch.poly.shape().batch; ++i)
    files.push_back(messages.dump(batch, i, compression));
  return files;
}

}  // namespace

std::vector<std::byte> Session::dump_ciphertext(const rlwe::Ciphertext& ciphertext,
                                                Compression compression) const {
  require_single(ciphertext, "dump_ciphertext");
  return Messages(*client_, context_).dump(ciphertext, 0, compression);
}

std::vector<std::vector<std::byte>> Session::dump_ciphertexts(const rlwe::Ciphertext& batch,
                                                              Compression compression) const {
  return dump_all(Messages(*client_, context_), batch, compression);
}

std::vector<std::byte> Session::dump_plaintext(const rlwe::Plaintext& plaintext,
                                               Compression compression) const {
  require_single(plaintext, "dump_plaintext");
  return Messages(*client_, context_).dump(plaintext, 0, compression);
}

std::vector<std::vector<std::byte>> Session::dump_plaintexts(const rlwe::Plaintext& batch,
                                                             Compression compression) const {
  return dump_all(Messages(*client_, context_), batch, compression);
}

std::vector<std::byte> Session::dump_secret_key(const rlwe::SecretKey& key, Compression compression) const {
  return Keys(*client_, context_).dump(key, compression);
}

rlwe::Ciphertext Session::import_ciphertext(const CiphertextView& view) const {
  return Messages(*client_, context_).take(view);
}

rlwe::Plaintext Session::import_plaintext(const PlaintextView& view, std::optional<std::size_t> level) const {
  return Messages(*client_, context_).take(view, level);
}

void Session::import_relinearization(const KeyPlaces& places) {
  rlwe::EvaluationKeys added = keys_;
  Keys(*client_, context_).take_relinearization(places, added);
  keys_ = std::move(added);
}

void Session::import_galois(const KeyPlaces& places) {
  rlwe::EvaluationKeys added = keys_;
  Keys(*client_, context_).take_galois(places, added);
  keys_ = std::move(added);
}

void Session::export_ciphertext(const rlwe::Ciphertext& ciphertext, std::span<std::uint64_t> words,
                                std::optional<bool> is_ntt_form) const {
  const bool transformed = is_ntt_form.value_or(client_->is_evaluation());
  Messages(*client_, context_)
      .give(ciphertext, words, transformed ? poly::Form::evaluation : poly::Form::coefficient);
}

rlwe::Ciphertext Session::reduced(const rlwe::Ciphertext& ciphertext, std::size_t level) const {
  rlwe::require_filled(ciphertext, "mod_reduce_to");
  rlwe::require_same_context(*ciphertext.context, *context_, "mod_reduce_to");
  rlwe::require_level(*context_, level, "mod_reduce_to");
  if (context_->scheme() == rlwe::Scheme::bfv) {
    throw MismatchError(
        "mod_reduce_to: a ciphertext of BFV is its message times Q / t, which is another multiple when "
        "primes "
        "are dropped and not divided by; use mod_switch_to");
  }
  if (level > ciphertext.meta.level) throw LevelError("mod_reduce_to: levels only go down");
  rlwe::Ciphertext result{
      context_, ciphertext.meta, rlwe::restrict_to(*context_, ciphertext.poly, context_->base(level)), {}};
  result.meta.level = level;
  return result;
}

Metadata Session::metadata(const rlwe::Ciphertext& ciphertext) const {
  const CiphertextFields fields = Messages(*client_, context_).fields(ciphertext);
  std::array<std::uint8_t, sizeof(ParmsId)> id{};
  std::memcpy(id.data(), fields.id.data(), id.size());
  return {.parms_id = runtime::to_hex(id),
          .size = fields.size,
          .is_ntt_form = fields.is_evaluation,
          .coeff_modulus_count = fields.moduli,
          .scale = fields.scale,
          .correction_factor = fields.correction};
}

}  // namespace hemera::interop::seal
