// Groups: collective keys by messages in two rounds, and openings.
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/multiparty/key_messages.hpp"
#include "hemera/multiparty/opening.hpp"
#include "hemera/runtime/error.hpp"

// A namespace of its own: the other files of the extension have these names too.
namespace hemera::python::groups {
namespace {

using namespace nb::literals;
using namespace multiparty;

using Shares = std::vector<nb::bytes>;

Sha256Digest digest_of(const nb::bytes& data) {
  if (data.size() != 32) throw ParameterError("expected 32 bytes, not " + std::to_string(data.size()));
  Sha256Digest digest{};
  std::copy_n(static_cast<const std::uint8_t*>(data.data()), 32, digest.begin());
  return digest;
}

nb::bytes bytes_of(const Sha256Digest& digest) { return nb::bytes(digest.data(), digest.size()); }

std::span<const std::byte> view(const nb::bytes& data) {
  return {static_cast<const std::byte*>(data.data()), data.size()};
}

nb::bytes to_bytes(std::span<const std::byte> data) { return nb::bytes(data.data(), data.size()); }

/// Takes and gives Python's objects; the callable is released with the interpreter lock.
Opening::Note note_of(std::function<std::size_t(nb::bytes)> note) {
  using Note = std::function<std::size_t(nb::bytes)>;
  const std::shared_ptr<Note> held(new Note(std::move(note)), [](Note* function) {
    const AcquiredGil lock;
    delete function;
  });
  return [held](const Sha256Digest& name) {
    const AcquiredGil lock;
    return (*held)(bytes_of(name));
  };
}

void bind_keys_of_groups(nb::module_& m) {
  nb::class_<Group>(m, "GroupTerms")
      .def(
          "__init__",
          [](Group* self, const Access& access, const rlwe::Openings& openings, const nb::bytes& id) {
            new (self) Group{.access = access, .openings = openings, .id = digest_of(id)};
          },
          "access"_a, "openings"_a, "id"_a)
      .def("sent_by", &Group::sent_by, "member"_a)
      .def(
          "commitment",
          [](const Group& self, const Piece& piece) { return bytes_of(self.commitment(piece)); }, "piece"_a);
  nb::class_<KeyMessages>(m, "KeyMessages")
      .def(
          "__init__",
          [](KeyMessages* self, const ContextHandle& context, const Group& group, const nb::bytes& attempt,
             std::size_t member, const std::vector<Piece>& pieces, const std::vector<rlwe::KeyNeed>& needs) {
            new (self) KeyMessages(context.context, group, digest_of(attempt), member, pieces, needs);
          },
          "context"_a, "group"_a, "attempt"_a, "member"_a, "pieces"_a, "needs"_a)
      .def_prop_ro("rounds", &KeyMessages::rounds)
      .def(
          "digest",
          [](KeyMessages& self, int round, std::size_t piece) {
            Sha256Digest digest;
            {
              const ReleasedGil release;
              digest = self.digest(round, piece);
            }
            return bytes_of(digest);
          },
          "round"_a, "piece"_a)
      .def(
          "accept_digest",
          [](KeyMessages& self, int round, std::size_t piece, const nb::bytes& digest) {
            self.accept_digest(round, piece, digest_of(digest));
          },
          "round"_a, "piece"_a, "digest"_a)
      .def(
          "message",
          [](KeyMessages& self, int round, std::size_t piece) {
            return to_bytes(self.message(round, piece));
          },
          "round"_a, "piece"_a)
      .def(
          "accept",
          [](KeyMessages& self, int round, std::size_t piece, const nb::bytes& message) {
            const std::span<const std::byte> bytes = view(message);
            const ReleasedGil release;
            self.accept(round, piece, bytes);
          },
          "round"_a, "piece"_a, "message"_a)
      .def("false_digests", &KeyMessages::false_digests, "round"_a, ReleaseGil())
      .def("keys", &KeyMessages::keys, ReleaseGil());
}

void bind_openings(nb::module_& m) {
  nb::class_<Opening>(m, "Opening")
      .def(
          "__init__",
          [](Opening* self, const ContextHandle& context, const Group& group, std::size_t member,
             const std::vector<Piece>& pieces, std::function<std::size_t(nb::bytes)> note) {
            new (self) Opening(context.context, group, member, pieces, note_of(std::move(note)));
          },
          "context"_a, "group"_a, "member"_a, "pieces"_a, "note"_a)
      .def(
          "share",
          [](Opening& self, const rlwe::Ciphertext& ciphertext, double noise_log2, std::size_t piece) {
            std::vector<std::byte> share;
            {
              const ReleasedGil release;
              share = self.share(ciphertext, noise_log2, piece);
            }
            return to_bytes(share);
          },
          "ciphertext"_a, "noise_log2"_a, "piece"_a)
      .def(
          "share_for",
          [](Opening& self, const rlwe::Ciphertext& ciphertext, double noise_log2, std::size_t piece,
             const rlwe::EvaluationKeys& receiver) {
            const ReleasedGil release;
            return self.share_for(ciphertext, noise_log2, piece, *receiver.public_key);
          },
          "ciphertext"_a, "noise_log2"_a, "piece"_a, "receiver"_a);
  m.def(
      "opening_piece",
      [](const ContextHandle& context, const Group& group, const rlwe::Ciphertext& ciphertext,
         double noise_log2, const nb::bytes& share) {
        return share_piece(context.context, group, ciphertext, noise_log2, view(share));
      },
      "context"_a, "group"_a, "ciphertext"_a, "noise_log2"_a, "share"_a);
  m.def(
      "opened",
      [](const ContextHandle& context, const Group& group, const rlwe::Ciphertext& ciphertext,
         double noise_log2, const Shares& shares) {
        std::vector<std::span<const std::byte>> views;
        for (const nb::bytes& share : shares) views.push_back(view(share));
        const ReleasedGil release;
        return opened(context.context, group, ciphertext, noise_log2, views);
      },
      "context"_a, "group"_a, "ciphertext"_a, "noise_log2"_a, "shares"_a);
  m.def(
      "opened_for",
      [](const ContextHandle& context, const Group& group, const rlwe::Ciphertext& ciphertext,
         double noise_log2, const std::vector<const rlwe::Ciphertext*>& shares) {
        return opened_for(context.context, group, ciphertext, noise_log2, shares);
      },
      "context"_a, "group"_a, "ciphertext"_a, "noise_log2"_a, "shares"_a, ReleaseGil());
}

}  // namespace
}  // namespace hemera::python::groups

namespace hemera::python {

void bind_groups(nb::module_& m) {
  groups::bind_keys_of_groups(m);
  groups::bind_openings(m);
}

}  // namespace hemera::python
