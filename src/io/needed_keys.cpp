#include "hemera/rlwe/needed_keys.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hemera/io/objects.hpp"
#include "hemera/rlwe/block_secret.hpp"

namespace hemera::io {

void write_keys(Sink& sink, const rlwe::SecretKey& secret, const NeededKeys& needed, int least_security,
                const std::function<void(std::size_t)>& told) {
  rlwe::require_needs(secret.context, needed.needs, least_security);
  std::vector<rlwe::KeyNeed> together;
  std::vector<KeysWriter::Entry> entries;
  std::map<std::uint32_t, std::optional<rlwe::BlockKeyMaker>> blocks;  // by the secret's number
  for (const rlwe::KeyNeed& need : needed.needs) {
    if (rlwe::to_block_of(need.role)) {
      const auto of_secret = [&](const rlwe::KeyNeed& other) {
        const auto encryption = rlwe::block_of(other.role);
        return encryption && rlwe::to_block_role(encryption->slots) == need.role;
      };
      const auto wide = std::find_if(needed.needs.begin(), needed.needs.end(), of_secret);
      const rlwe::Context& context = *secret.context;
      blocks[need.role.to].emplace(secret, *rlwe::to_block_of(need.role), context.gadget(need.gadget),
                                   context.gadget(wide->gadget));
    } else if (!rlwe::is_made_alone(need.role) && !rlwe::block_of(need.role)) {
      together.push_back(need);
    }
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
    } else if (rlwe::to_block_of(need.role)) {
      writer.write(blocks.at(need.role.to)->to_block());
    } else if (const auto encryption = rlwe::block_of(need.role)) {
      writer.write(blocks.at(rlwe::to_block_role(encryption->slots).to)->encryption(encryption->number));
    } else {
      writer.write(*shared.find(need.role, need.gadget));
      shared.switching.at(need.role).erase(need.gadget);
    }
    if (told) told(++count);
  }
  writer.finish();
}

}  // namespace hemera::io
