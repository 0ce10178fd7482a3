#include "interop/openfhe/clients.hpp"

#include <complex>

#include "hemera/arith/primes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/schemes/ckks.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe::test {

nlohmann::json parsed(const std::vector<std::byte>& file) {
  const auto* const text = reinterpret_cast<const char*>(file.data());
  return nlohmann::json::parse(text, text + file.size());
}

std::shared_ptr<CryptoContext> context_of(const std::string& folder) {
  return read_file<std::shared_ptr<CryptoContext>>(get(folder, "cryptocontext.bin"));
}

std::shared_ptr<CryptoContext> copy_of(const CryptoContext& original) {
  auto copy = std::make_shared<CryptoContext>(original);
  copy->parameters = std::make_shared<CryptoParameters>(*original.parameters);
  copy->parameters->encoding = std::make_shared<EncodingParameters>(*original.parameters->encoding);
  copy->parameters->elements = std::make_shared<DcrtParameters>(*original.parameters->elements);
  for (auto& prime : copy->parameters->elements->primes) prime = std::make_shared<NativeParameters>(*prime);
  copy->scheme = std::make_shared<SchemeObject>(*original.scheme);
  return copy;
}

RootedPrimes rooted(const std::vector<std::uint64_t>& primes, std::size_t degree) {
  RootedPrimes result;
  for (const std::uint64_t prime : primes) {
    NativeParameters& each = result.emplace_back();
    each.order = static_cast<std::uint32_t>(2 * degree);
    each.degree = static_cast<std::uint32_t>(degree);
    each.modulus = prime;
    each.root = arith::minimal_primitive_root(2 * degree, arith::Modulus(prime));
  }
  return result;
}

std::vector<std::uint64_t> primes_of_bits(const std::vector<int>& bits, std::uint64_t step) {
  std::vector<std::uint64_t> primes;
  for (const int each : bits) {
    primes.push_back(arith::primes_below(std::uint64_t{1} << each, step, 1, primes).front());
  }
  return primes;
}

void set_primes(CryptoContext& context, const std::vector<std::uint64_t>& primes) {
  auto& elements = *context.parameters->elements;
  elements.primes.clear();
  for (const NativeParameters& each : rooted(primes, elements.degree)) {
    elements.primes.push_back(std::make_shared<NativeParameters>(each));
  }
}

void add_encapsulation_keys(rlwe::EvaluationKeys& keys, const rlwe::SecretKey& secret) {
  const rlwe::Context& context = *secret.context;
  const rlwe::ParametersLiteral& literal = context.parameters().literal();
  const rlwe::GadgetPrimes narrow{.base = literal.levels.front(),
                                  .special = {literal.special_primes.front()},
                                  .digits = {literal.levels.front()}};
  const auto made = rlwe::generate_encapsulation_keys(secret, 32, context.gadget(narrow),
                                                      context.gadget(context.top_level()));
  keys.add({.to = rlwe::ephemeral_secret}, made.to_ephemeral);
  keys.add({.from = rlwe::ephemeral_secret}, made.from_ephemeral);
}

OtherClient newer_client() {
  OtherClient client;
  client.context = copy_of(*context_of("ckks-flexibleauto"));
  client.context->parameters->secret = SecretType::sparse_encapsulated;
  const rlwe::Parameters usual = parameters_of(*client.context);
  const std::size_t degree = usual.degree();
  client.special = usual.literal().special_primes;
  std::vector<std::uint64_t> taken = usual.literal().levels.back();
  taken.insert(taken.end(), client.special.begin(), client.special.end());
  client.special.push_back(arith::primes_below(client.special.back(), 2 * degree, 1, taken).front());
  client.auxiliary = arith::primes_below(std::uint64_t{1} << 33, 2 * degree, 2);
  const rlwe::Parameters parameters = parameters_of(
      *client.context,
      {.special = rooted(client.special, degree), .auxiliary = rooted(client.auxiliary, degree)});
  const auto context = rlwe::Context::make(parameters, tests::device());
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {.rotations = {1}});
  const rlwe::GadgetPrimes narrow{.base = parameters.literal().levels.front(),
                                  .special = client.auxiliary,
                                  .digits = {parameters.literal().levels.front()}};
  const CryptoObject header{client.context, "0123456789abcdef0123456789abcdef"};
  const auto gadget = context->gadget(context->top_level());
  BaseParameters bases(*client.context);
  MultiplicationKeys powers;
  powers.entries.push_back({header.tag, {}});
  powers.entries[0].keys.push_back(
      from_switching_key(rlwe::generate_relinearization_key(secret, gadget), header, bases));
  AutomorphismKeys automorphisms;
  automorphisms.entries.push_back({header.tag, std::make_shared<AutomorphismKeys::Keys>()});
  auto& list = automorphisms.entries[0].keys->list;
  // The key of fewest primes stands first.
  const rlwe::SecretKey sparse = rlwe::generate_secret_key(context);
  list.push_back({static_cast<std::uint32_t>(2 * degree - 4),
                  from_switching_key(rlwe::generate_switching_key(secret, sparse, context->gadget(narrow)),
                                     header, bases)});
  list.push_back({5, from_switching_key(rlwe::generate_galois_key(secret, 5, gadget), header, bases)});
  list.push_back({static_cast<std::uint32_t>(2 * degree - 2),
                  from_switching_key(rlwe::generate_switching_key(sparse, secret, gadget), header, bases)});
  auto public_key = from_public_key(*keys.public_key, header);
  client.tag = header.tag;
  client.public_key = write_file(public_key, Format::binary);
  client.relinearization = write_file(powers, Format::binary);
  client.galois = write_file(automorphisms, Format::binary);
  auto secret_object = from_secret_key(secret, header);
  client.secret = write_file(secret_object, Format::binary);
  const std::vector<std::complex<double>> values(parameters.max_slots(), 0.5);
  Session writer(client.secret, tests::device());
  const rlwe::SecretKey again = writer.load_secret_key(client.secret);
  client.ciphertext = writer.dump_ciphertext(ckks::encrypt(
      ckks::Encoder(writer.context()).encode(values, {}, writer.context()->top_level()), again));
  return client;
}

}  // namespace hemera::interop::openfhe::test
