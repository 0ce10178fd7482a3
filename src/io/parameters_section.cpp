#include <algorithm>
#include <set>
#include <string>

#include "hemera/runtime/error.hpp"
#include "io/metadata.hpp"

namespace hemera::io {
namespace {

// Before they are tested.
void check_number_of_primes(std::span<const std::byte> section) {
  // The first fields of Parameters::write: scheme, degree, primes of each level, special primes.
  runtime::ByteReader in(section, "the PARA section");
  static_cast<void>(in.u8());
  static_cast<void>(in.u64());
  std::set<std::uint64_t> primes;
  const auto add = [&](const std::vector<std::uint64_t>& list) {
    primes.insert(list.begin(), list.end());
    if (primes.size() > most_primes || list.size() > most_primes) {
      in.fail("more than the format's " + std::to_string(most_primes) + " primes");
    }
  };
  for (std::size_t levels = in.count(sizeof(std::uint32_t)); levels > 0; --levels) add(in.u64s());
  add(in.u64s());
}

}  // namespace

void check_primes(const rlwe::Parameters& parameters) {
  const rlwe::ParametersLiteral& literal = parameters.literal();
  const std::size_t primes = parameters.primes_up_to(parameters.levels() - 1).size() +
                             literal.special_primes.size() + literal.key_primes.size();
  if (primes > most_primes) {
    throw FormatError("parameters of " + std::to_string(primes) + " primes, more than the format's " +
                      std::to_string(most_primes));
  }
}

rlwe::Parameters read_parameters(std::span<const std::byte> section, std::uint16_t version) {
  check_number_of_primes(section);
  runtime::ByteReader in(section, "the PARA section");
  try {
    auto parameters = rlwe::Parameters::read(in, version);
    in.expect_end();
    check_primes(parameters);
    if (parameters.format_version() != version) {
      throw FormatError("the parameters are written in version " + std::to_string(version) +
                        " of the format, but belong into version " +
                        std::to_string(parameters.format_version()));
    }
    // What the parameters fill in themselves must be there: each has one encoding.
    runtime::ByteWriter canonical;
    parameters.write(canonical);
    if (!std::ranges::equal(canonical.view(), section)) {
      throw FormatError("the parameters are not encoded as they are saved: a field is left to be filled in");
    }
    return parameters;
  } catch (const ParameterError& error) {
    throw FormatError("the file holds invalid parameters: " + error.message());
  }
}

}  // namespace hemera::io
