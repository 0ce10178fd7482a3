// All members of a group in one process, with pieces that are the same in each run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hemera/multiparty/key_messages.hpp"
#include "hemera/multiparty/opening.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "test_device.hpp"

namespace hemera::multiparty {

using Message = std::vector<std::byte>;
using Messages = std::vector<Message>;  // of each piece

inline constexpr std::size_t degree = 1024;

inline Sha256Digest digest_of(std::uint8_t byte) {
  Sha256Digest digest{};
  digest.fill(byte);
  return digest;
}

inline rlwe::Parameters parameters_of(rlwe::Scheme scheme, const rlwe::Openings& openings) {
  if (scheme == rlwe::Scheme::ckks) {
    return ckks::parameters_for({.depth = 1,
                                 .scale_bits = 40,
                                 .slots = degree / 2,
                                 .sharing_bits = openings.bits,
                                 .shares = openings.count,
                                 .pieces = openings.pieces,
                                 .degree = degree,
                                 .security = std::nullopt});
  }
  const integer::CircuitRequest request{
      .depth = 1, .plain_modulus = 12289, .degree = degree, .security = std::nullopt, .openings = openings};
  return scheme == rlwe::Scheme::bfv ? bfv::parameters_for(request) : bgv::parameters_for(request);
}

// All members of a group in one process.
struct Members {
  /// `on_cpu`: whatever device the tests are of.
  explicit Members(rlwe::Scheme scheme, std::size_t count = 3, std::size_t threshold = 2, bool on_cpu = false)
      : access(count, threshold),
        group{.access = access,
              .openings = {.pieces = access.pieces(), .count = 20, .bits = 40},
              .id = digest_of(1)},
        context(on_cpu ? rlwe::ContextPointer(rlwe::Context::make(parameters_of(scheme, group.openings)))
                       : rlwe::ContextPointer(tests::make_context(parameters_of(scheme, group.openings)))) {}

  [[nodiscard]] std::vector<Piece> pieces(std::size_t member) const {
    std::vector<Piece> held;
    for (const std::size_t piece : access.held_by(member)) {
      poly::Seed key;
      key.bytes.fill(static_cast<std::uint8_t>(10 + piece));
      held.emplace_back(piece, key);
    }
    return held;
  }

  [[nodiscard]] std::vector<rlwe::KeyNeed> needs() const {
    const rlwe::Parameters& parameters = context->parameters();
    const rlwe::GadgetPrimes gadget = parameters.default_gadget(parameters.highest_user_level());
    return {{rlwe::KeyRole::relinearization(), gadget}, {rlwe::KeyRole::galois(5), gadget}};
  }

  [[nodiscard]] std::unique_ptr<KeyMessages> messages(std::size_t member, std::uint8_t attempt = 2) const {
    return std::make_unique<KeyMessages>(context, group, digest_of(attempt), member, pieces(member), needs());
  }

  [[nodiscard]] std::size_t sender(std::size_t piece) const {
    for (std::size_t member = 0;; ++member) {
      const std::vector<std::size_t> sent = group.sent_by(member);
      if (std::ranges::find(sent, piece) != sent.end()) return member;
    }
  }

  // The digests of all pieces are said, and each member has those of all.
  void commit(std::vector<std::unique_ptr<KeyMessages>>& of, int round) const {
    for (std::size_t piece = 0; piece < access.pieces(); ++piece) {
      const Sha256Digest digest = of[sender(piece)]->digest(round, piece);
      for (auto& each : of) each->accept_digest(round, piece, digest);
    }
  }

  Messages run(std::vector<std::unique_ptr<KeyMessages>>& of, int round) const {
    commit(of, round);
    Messages sent;
    for (std::size_t piece = 0; piece < access.pieces(); ++piece) {
      sent.push_back(of[sender(piece)]->message(round, piece));
      for (auto& each : of) each->accept(round, piece, sent.back());
    }
    return sent;
  }

  [[nodiscard]] std::vector<std::unique_ptr<KeyMessages>> all(std::uint8_t attempt = 2) const {
    std::vector<std::unique_ptr<KeyMessages>> of;
    for (std::size_t member = 0; member < access.members(); ++member) of.push_back(messages(member, attempt));
    return of;
  }

  // Shares by those who are active; the first that holds a piece answers.
  [[nodiscard]] Messages shares(const rlwe::Ciphertext& x, double noise_log2,
                                const std::vector<std::size_t>& active) const {
    Messages found;
    for (std::size_t piece = 0; piece < access.pieces(); ++piece) {
      std::size_t at = 0;
      while (!access.holds(active[at], piece)) ++at;
      Opening opening(context, group, active[at], pieces(active[at]),
                      [](const Sha256Digest&) { return std::size_t{1}; });
      found.push_back(opening.share(x, noise_log2, piece));
    }
    return found;
  }

  Access access;
  Group group;
  rlwe::ContextPointer context;
};

}  // namespace hemera::multiparty
