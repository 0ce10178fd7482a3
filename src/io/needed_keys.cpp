#include "hemera/rlwe/needed_keys.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "hemera/io/objects.hpp"

namespace hemera::io {

void write_keys(Sink& sink, const rlwe::SecretKey& secret, const NeededKeys& needed, int least_security,
                const std::function<void(std::size_t)>& told) {
  rlwe::require_needs(secret.context, needed.needs, least_security);
  std::vector<rlwe::KeyNeed> together;
  std::vector<KeysWriter::Entry> entries;
  for (const rlwe::KeyNeed& need : needed.needs) {
    if (!rlwe::is_made_alone(need.role)) together.push_back(need);
    entries.push_back({need.role, rlwe::key_context(secret.context, need.role)->gadget(need.gadget)});
  }
  std::optional<rlwe::PublicKey> public_key;
  if (needed.public_key) public_key = rlwe::generate_public_key(secret);
  rlwe::EvaluationKeys shared = rlwe::generate_needed_keys(secret, together);
  KeysWriter writer(sink, secret.context, public_key ? &*public_key : nullptr, std::move(entries));
  std::size_t count = 0;
  for (const KeysWriter::Entry& entry : writer.entries()) {
    const rlwe::KeyNeed need{entry.role, entry.gadget->primes()};
    if (rlwe::is_made_alone(need.role)) {
      writer.write(rlwe::key_maker(secret, need));
    } else {
      writer.write(*shared.find(need.role, need.gadget));
      shared.switching.at(need.role).erase(need.gadget);
    }
    if (told) told(++count);
  }
  writer.finish();
}

}  // namespace hemera::io
