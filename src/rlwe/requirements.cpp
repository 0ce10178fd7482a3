#include "rlwe/requirements.hpp"

#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

template <typename Object>
void require(const Object& object, const char* operation, const char* what) {
  if (object.context && object.poly) return;
  throw MismatchError(std::string(operation) + ": the " + what);
}

}  // namespace

void throw_null(const Context*) {
  throw MismatchError("an object is empty: it was moved from or never made, or its context is null");
}

void throw_null(const Gadget*) {
  throw MismatchError("a switching key is empty: it was moved from or never made, or its gadget is null");
}

void throw_null(const PublicKey*) {
  throw MissingKeyError("these keys have no public key; " +
                        Message(WayOut::public_key, "make them with one") +
                        ", merge keys that have one, or encrypt with the secret key");
}

void require_filled(const Plaintext& plaintext, const char* operation) {
  require(plaintext, operation, "plaintext is empty; it was moved from or never encoded");
}

void require_filled(const Ciphertext& ciphertext, const char* operation) {
  require(ciphertext, operation, "ciphertext is empty; it was moved from or never encrypted");
}

void require_filled(const PublicKey& key, const char* operation) {
  require(key, operation, "public key is empty; it was moved from or never generated");
}

void require_filled(const SecretKey& key, const char* operation) {
  require(key, operation, "secret key is empty; it was moved from or never generated");
}

void require_filled(const SwitchingKey& key, const char* operation) {
  require(key, operation, "switching key is empty; it was moved from or never generated");
  if (!key.gadget) throw MismatchError(std::string(operation) + ": the switching key has no gadget");
}

void require_filled(const EvaluationKeys& keys, const char* operation) {
  if (!keys.context)
    throw MismatchError(std::string(operation) + ": the keys are empty; generate or load some");
}

void require_filled(const ContextPointer& context, const char* operation) {
  if (!context) throw MismatchError(std::string(operation) + ": the context is null; make one first");
}

void throw_null_operand(std::size_t number, const char* operation) {
  throw MismatchError(std::string(operation) + ": operand " + std::to_string(number) +
                      " is a null pointer; give the address of an object");
}

void require_size_two(const Ciphertext& ciphertext, const char* operation) {
  require_filled(ciphertext, operation);
  if (ciphertext.size() != 2) {
    throw MismatchError(std::string(operation) + ": needs a ciphertext of size 2, not " +
                        std::to_string(ciphertext.size()) + "; relinearize it first");
  }
}

void require_scheme(const Context& context, Scheme scheme, const char* operation) {
  if (context.scheme() == scheme) return;
  throw MismatchError(std::string(operation) + ": the context is for " + name(context.scheme()) +
                      ", not for " + name(scheme));
}

void require_level(const Context& context, std::size_t level, const char* operation) {
  if (level <= context.top_level()) return;
  throw LevelError(std::string(operation) + ": level " + std::to_string(level) + " is above the top level " +
                   std::to_string(context.top_level()));
}

void require_plaintext(const Context& context, const Plaintext& plaintext, const char* operation) {
  require_filled(plaintext, operation);
  require_same_context(context, *plaintext.context, operation);
}

std::span<const std::int64_t> doubts(const Plaintext& plaintext) {
  if (!plaintext.doubtful) return {};
  const runtime::Buffer& numbers = *plaintext.doubtful;
  return {reinterpret_cast<const std::int64_t*>(numbers.data()), numbers.size() / sizeof(std::int64_t)};
}

std::vector<std::size_t> doubtful_elements(std::span<const std::int64_t> doubts, std::size_t count) {
  std::vector<std::size_t> elements;
  const std::size_t each = count == 0 ? 0 : doubts.size() / count;
  for (std::size_t element = 0; element < count; ++element) {
    std::int64_t any = 0;
    for (const std::int64_t doubt : doubts.subspan(element * each, each)) any |= doubt;
    if (any != 0) elements.push_back(element);
  }
  return elements;
}

std::string elements_text(std::span<const std::size_t> elements, const BatchShape& batch) {
  constexpr std::size_t most = 8;
  if (batch.empty() || elements.empty()) return "";
  std::string text = elements.size() == 1 ? "row " : "rows ";
  const std::size_t named = elements.size() <= most ? elements.size() : most;
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == elements.size() ? " and " : ", ";
    BatchShape index(batch.size());
    std::size_t rest = elements[i];
    for (std::size_t axis = batch.size(); axis-- > 0; rest /= batch[axis]) index[axis] = rest % batch[axis];
    text += batch.size() == 1 ? std::to_string(index.front()) : to_text(index);
  }
  if (named < elements.size()) text += " and " + std::to_string(elements.size() - named) + " more";
  return text + " of " + std::to_string(batch_count(batch)) + ": ";
}

Message other_rows_way_out(std::span<const std::size_t> doubtful, const BatchShape& batch) {
  if (doubtful.size() >= batch_count(batch)) return "";
  return "; " + Message(WayOut::other_rows, "the other rows are right");
}

void require_certain(std::span<const std::size_t> doubtful, const BatchShape& batch) {
  if (doubtful.empty()) return;
  throw NoiseError(
      "decrypt: " + elements_text(doubtful, batch) +
      "less than one bit of the noise budget is left, so the values are wrong, or nearly. Either this is "
      "not the secret key of the encryption, or the circuit is too deep: use parameters for a deeper one "
      "(" +
      Message(WayOut::parameters_of_circuit, "parameters_for") + "), or fewer operations" +
      other_rows_way_out(doubtful, batch) + ". Whoever evaluates must not learn of this error");
}

void require_certain(const Plaintext& plaintext) {
  if (!plaintext.doubtful) return;
  const std::span<const std::int64_t> numbers = doubts(plaintext);
  std::vector<std::int64_t> downloaded(numbers.size());
  const Context& context = *plaintext.context;
  context.backend().download_values(context.queue(), std::as_writable_bytes(std::span(downloaded)),
                                    std::as_bytes(numbers));
  context.queue().synchronize();
  require_certain(doubtful_elements(downloaded, batch_count(plaintext.meta.batch)), plaintext.meta.batch);
}

void require_security(const Context& context, const Gadget& gadget, const SecretDistribution& secret) {
  const ParametersLiteral& literal = context.parameters().literal();
  if (!literal.security) return;
  const Security found = classify(literal.degree, gadget.log_modulus(), secret, literal.sigma);
  if (has_bits(found, *literal.security)) return;
  throw SecurityError(
      "a key over " + std::to_string(gadget.log_modulus()) + " bits has security " + name(found) +
      ", less than the " + std::to_string(*literal.security) + " bits that the parameters ask for: " +
      why_less(literal.degree, gadget.log_modulus(), secret, literal.sigma, *literal.security) +
      "; use a smaller modulus or another weight, or " +
      Message(WayOut::parameters_without_security, "parameters of no security level") + " to accept it");
}

void require_narrow(const Context& context, const Gadget& narrow, std::size_t weight) {
  if (weight == 0 || weight > context.degree()) {
    throw ParameterError("an ephemeral secret of weight " + std::to_string(weight) +
                         "; it must be from 1 to the degree");
  }
  if (narrow.base().size() > 2 || narrow.special().size() > 1) {
    throw ParameterError(
        "the key to an ephemeral secret has one or two ciphertext primes and at most one special "
        "prime, not " +
        std::to_string(narrow.base().size()) + " and " + std::to_string(narrow.special().size()) +
        "; its secret is weak under more");
  }
  require_security(context, narrow, {.weight = weight});
}

Message missing_key_way_out(const EvaluationKeys& keys) {
  if (keys.switching.empty()) {
    return ", but there are no evaluation keys here; " +
           Message(WayOut::evaluator_with_keys, "use the evaluator that has them");
  }
  return ", which these keys do not have; " +
         Message(WayOut::keys_with_others, "make them with the others, or all that a plan needs");
}

}  // namespace hemera::rlwe
