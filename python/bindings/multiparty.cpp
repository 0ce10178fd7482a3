// Federations: plans, lists of rounds, uploads and shares by dealt secrets.
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/multiparty/dealt_sums.hpp"
#include "hemera/runtime/error.hpp"
#include "owned_array.hpp"

// A namespace of its own: the other files of the extension have these names too.
namespace hemera::python::federation {
namespace {

using namespace nb::literals;
using namespace multiparty;

using Values = nb::ndarray<const std::int64_t, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Entry = std::tuple<std::string, std::uint64_t, nb::bytes>;

std::span<const std::byte> view(const nb::bytes& data) {
  return {static_cast<const std::byte*>(data.data()), data.size()};
}

/// The 32 bytes of a digest or a key.
std::span<const std::uint8_t, 32> of_32(const nb::bytes& data) {
  if (data.size() != 32) throw ParameterError("expected 32 bytes, not " + std::to_string(data.size()));
  return std::span<const std::uint8_t, 32>(static_cast<const std::uint8_t*>(data.data()), 32);
}

Sha256Digest digest_of(const nb::bytes& data) {
  Sha256Digest digest{};
  std::ranges::copy(of_32(data), digest.begin());
  return digest;
}

poly::Seed seed_of(const nb::bytes& data) {
  poly::Seed seed;
  std::ranges::copy(of_32(data), seed.bytes.begin());
  return seed;
}

template <typename Bytes>
nb::bytes bytes_of(const Bytes& digest) {
  return nb::bytes(digest.data(), digest.size());
}

std::vector<Contribution> list_of(const std::vector<Entry>& entries) {
  std::vector<Contribution> list;
  for (const auto& [name, weight, nonce] : entries) list.push_back({name, weight, digest_of(nonce)});
  return list;
}

/// Bytes that `write` fills, without the interpreter lock: nobody else has them yet.
template <typename Write>
nb::bytes written(std::size_t size, const Write& write) {
  PyObject* const made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
  if (made == nullptr) nb::raise_python_error();
  nb::bytes owned = nb::steal<nb::bytes>(made);
  const ReleasedGil release;
  write(std::as_writable_bytes(std::span(PyBytes_AsString(made), size)));
  return owned;
}

nb::bytes make_upload(const ContextHandle& context, const Description& description, const Transcript& list,
                      const std::string& name, const std::vector<nb::bytes>& dealt, const Values& values) {
  std::vector<poly::Seed> seeds;
  for (const nb::bytes& part : dealt) seeds.push_back(seed_of(part));
  return written(upload_bytes(description, name), [&](std::span<std::byte> out) {
    upload(context.context, description, list, name, seeds, std::span(values.data(), values.size()), out);
  });
}

/// The functions of a ledger take and give Python's bytes.
Ledger ledger_of(std::function<std::optional<nb::bytes>(std::uint64_t)> answered,
                 std::function<void(std::uint64_t, nb::bytes)> note) {
  // The callables are released with the interpreter lock, whoever destroys the member.
  using Answered = std::function<std::optional<nb::bytes>(std::uint64_t)>;
  using Note = std::function<void(std::uint64_t, nb::bytes)>;
  const auto with_lock = [](auto* function) {
    const AcquiredGil lock;
    delete function;
  };
  const std::shared_ptr<Answered> asked(new Answered(std::move(answered)), with_lock);
  const std::shared_ptr<Note> noted(new Note(std::move(note)), with_lock);
  return {[asked](std::uint64_t round) {
            const AcquiredGil lock;
            const std::optional<nb::bytes> digest = (*asked)(round);
            return digest ? std::optional(digest_of(*digest)) : std::nullopt;
          },
          [noted](std::uint64_t round, const Sha256Digest& digest) {
            const AcquiredGil lock;
            (*noted)(round, bytes_of(digest));
          }};
}

std::vector<std::span<const std::byte>> views_of(const std::vector<nb::bytes>& messages) {
  std::vector<std::span<const std::byte>> views;
  for (const nb::bytes& message : messages) views.push_back(view(message));
  return views;
}

template <auto function>
auto read_message(const Description& description, const Transcript& list, const nb::bytes& message) {
  const std::span<const std::byte> bytes = view(message);
  const ReleasedGil release;
  return function(description, list, bytes);
}

OwnedArray<std::int64_t> open_sum(const UploadSum& sum, const std::vector<nb::bytes>& shares) {
  const auto views = views_of(shares);
  std::vector<std::int64_t> values;
  {
    const ReleasedGil release;
    values = sum.open(views);
  }
  const std::size_t count = values.size();
  return to_owned_array(std::move(values), {count});
}

void bind_plan(nb::module_& m) {
  nb::class_<Margin>(m, "FederationMargin")
      .def_rw("values", &Margin::values)
      .def_rw("degree", &Margin::degree)
      .def_rw("sigma", &Margin::sigma)
      .def_rw("pieces", &Margin::pieces)
      .def_rw("weight_sum", &Margin::weight_sum)
      .def_rw("weight_norm", &Margin::weight_norm)
      .def_rw("openings", &Margin::openings)
      .def_rw("opening_bits", &Margin::opening_bits)
      .def_rw("failure_bits", &Margin::failure_bits)
      .def_rw("flooding_log2", &Margin::flooding_log2)
      .def_rw("value_bits", &Margin::value_bits)
      .def_rw("delta_log2", &Margin::delta_log2)
      .def_rw("sum_bits", &Margin::sum_bits)
      .def_rw("upload_dropped", &Margin::upload_dropped)
      .def_rw("share_dropped", &Margin::share_dropped)
      .def_prop_ro("error_norm_log2", &error_norm_log2)
      .def_prop_ro("noise_log2", &noise_log2)
      .def("require", &require_margin);
  nb::class_<Plan>(m, "FederationPlan")
      .def(
          "__init__",
          [](Plan* self, std::size_t values, int value_bits, std::size_t contributors, std::uint64_t weight,
             std::size_t rounds, int opening_bits, std::size_t pieces, std::size_t degree,
             std::optional<int> security, const std::string& method, int failure_bits) {
            if (method != "lattice" && method != "masks") {
              throw ParameterError("method is 'lattice' or 'masks', not '" + method + "'");
            }
            new (self) Plan({.method = method == "masks" ? Method::masks : Method::lattice,
                             .values = values,
                             .value_bits = value_bits,
                             .contributors = contributors,
                             .weight = weight,
                             .rounds = rounds,
                             .opening_bits = opening_bits,
                             .failure_bits = failure_bits,
                             .pieces = pieces,
                             .degree = degree,
                             .security = security});
          },
          nb::kw_only(), "values"_a, "value_bits"_a, "contributors"_a, "weight"_a, "rounds"_a,
          "opening_bits"_a, "pieces"_a, "degree"_a, "security"_a.none(), "method"_a = "lattice",
          "failure_bits"_a = 40)
      .def_prop_ro("margin", [](const Plan& self) { return self.margin(); })
      .def_prop_ro("parameters", [](const Plan& self) { return self.parameters(); })
      .def_prop_ro("primes", [](const Plan& self) { return self.parameters().literal().levels.front(); })
      .def_prop_ro("polynomials", &Plan::polynomials)
      .def_prop_ro("upload_bits", &Plan::upload_bits)
      .def_prop_ro("share_bits", &Plan::share_bits);
}

void bind_agreement(nb::module_& m) {
  nb::class_<Access>(m, "FederationAccess")
      .def(nb::init<std::size_t, std::size_t>(), "members"_a, "threshold"_a)
      .def_prop_ro("pieces", &Access::pieces)
      .def("holds", &Access::holds, "member"_a, "piece"_a)
      .def("held_by", &Access::held_by, "member"_a)
      .def("holders", &Access::holders, "piece"_a);
  nb::class_<Description>(m, "FederationDescription")
      .def(
          "__init__",
          [](Description* self, const Access& access, const Plan& plan, std::vector<std::string> members,
             const nb::bytes& layout, const nb::bytes& nonce, int messages) {
            new (self)
                Description(access, plan, std::move(members), digest_of(layout), digest_of(nonce), messages);
          },
          "access"_a, "plan"_a, "members"_a, "layout"_a, "nonce"_a, "messages"_a = newest_messages)
      .def_prop_ro("messages", &Description::messages)
      .def_prop_ro("id", [](const Description& self) { return bytes_of(self.id()); });
  nb::class_<Transcript>(m, "FederationList")
      .def(
          "__init__",
          [](Transcript* self, const Description& description, std::uint64_t round, std::uint32_t attempt,
             const std::vector<Entry>& entries) {
            new (self) Transcript(description, round, attempt, list_of(entries));
          },
          "description"_a, "round"_a, "attempt"_a, "entries"_a)
      .def_static(
          "read",
          [](const Description& description, const nb::bytes& data) {
            return Transcript::read(description, view(data));
          },
          "description"_a, "data"_a)
      .def_prop_ro("round", &Transcript::round)
      .def_prop_ro("attempt", &Transcript::attempt)
      .def_prop_ro("entries",
                   [](const Transcript& self) {
                     std::vector<Entry> entries;
                     for (const Contribution& each : self.list()) {
                       entries.emplace_back(each.name, each.weight, bytes_of(each.nonce));
                     }
                     return entries;
                   })
      .def_prop_ro("weight_sum", &Transcript::weight_sum)
      .def_prop_ro("data", [](const Transcript& self) { return bytes_of(self.bytes()); })
      .def_prop_ro("digest", [](const Transcript& self) { return bytes_of(self.digest()); });
}

void bind_messages(nb::module_& m) {
  nb::class_<Piece>(m, "FederationPiece")
      .def(
          "__init__",
          [](Piece* self, std::size_t number, const nb::bytes& key) {
            new (self) Piece(number, seed_of(key));
          },
          "number"_a, "key"_a)
      .def_static("fresh", &Piece::fresh, "number"_a)
      .def_prop_ro("number", &Piece::number)
      // For the file of a holder, which its owner alone may read.
      .def("key_for_holder", [](const Piece& self) { return bytes_of(self.key().bytes); })
      .def(
          "commitment",
          [](const Piece& self, const Description& description) {
            return bytes_of(self.commitment(description));
          },
          "description"_a)
      .def(
          "dealt",
          [](const Piece& self, const Description& description, const std::string& contributor) {
            return bytes_of(self.dealt(description, contributor).bytes);
          },
          "description"_a, "contributor"_a);
  nb::class_<Member>(m, "FederationMember")
      .def(
          "__init__",
          [](Member* self, const ContextHandle& context, const Description& description, std::size_t number,
             const std::vector<Piece>& pieces,
             std::function<std::optional<nb::bytes>(std::uint64_t)> answered,
             std::function<void(std::uint64_t, nb::bytes)> note) {
            new (self) Member(context.context, description, number, pieces,
                              ledger_of(std::move(answered), std::move(note)));
          },
          "context"_a, "description"_a, "number"_a, "pieces"_a, "answered"_a, "note"_a)
      .def(
          "share",
          [](Member& self, const Transcript& list, std::size_t piece) {
            return written(self.share_bytes(),
                           [&](std::span<std::byte> out) { self.share(list, piece, out); });
          },
          "list"_a, "piece"_a);
  nb::class_<UploadSum>(m, "UploadSum")
      .def(nb::init<const Description&, const Transcript&>(), "description"_a, "list"_a)
      .def(
          "add",
          [](UploadSum& self, const nb::args& messages) {
            std::vector<nb::bytes> each;
            if (!nb::try_cast(messages, each)) throw nb::type_error("add: a message is bytes");
            const auto views = views_of(each);
            const ReleasedGil release;
            return self.add(views);
          },
          nb::sig("def add(self, *messages: bytes) -> list[str]"))
      .def_prop_ro("missing", &UploadSum::missing)
      .def("open", &open_sum, "shares"_a);
  m.def("federation_upload", &make_upload, "context"_a, "description"_a, "list"_a, "name"_a, "dealt"_a,
        "values"_a);
  m.def("upload_sender", &read_message<upload_sender>, "description"_a, "list"_a, "message"_a);
  m.def("share_piece", &read_message<share_piece>, "description"_a, "list"_a, "message"_a);
}

}  // namespace
}  // namespace hemera::python::federation

namespace hemera::python {

void bind_multiparty(nb::module_& m) {
  federation::bind_plan(m);
  federation::bind_agreement(m);
  federation::bind_messages(m);
}

}  // namespace hemera::python
