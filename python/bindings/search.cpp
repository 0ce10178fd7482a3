// Search in a clear database by encrypted queries.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/circuits/search/database.hpp"
#include "hemera/circuits/search/encrypted_database.hpp"
#include "hemera/circuits/search/query.hpp"
#include "hemera/runtime/checksum.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/sha256.hpp"
#include "message_bytes.hpp"
#include "owned_array.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using circuits::search::AnswerHalf;
using circuits::search::AnswerHalves;
using circuits::search::Database;
using circuits::search::EncryptedDatabase;
using circuits::search::EncryptedRows;
using circuits::search::KeyedQuery;
using circuits::search::Packing;
using circuits::search::PreparedAnswer;
using circuits::search::Query;

template <typename T, std::size_t dimensions>
using HostArray = nb::ndarray<const T, nb::numpy, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

/// Seed and numbers [query, limb, dims].
std::pair<nb::bytes, OwnedArray<std::uint64_t>> encrypt_queries(const rlwe::SecretKey& secret,
                                                                const HostArray<std::int64_t, 2>& values,
                                                                int shift) {
  Query query = [&] {
    const ReleasedGil release;
    return circuits::search::encrypt(secret, {values.data(), values.size()}, values.shape(1), shift);
  }();
  const std::size_t limbs = query.numbers.size() / (query.count * query.dims);
  return {nb::bytes(query.seed.seed.bytes.data(), query.seed.seed.bytes.size()),
          to_owned_array(std::move(query.numbers), {query.count, limbs, query.dims})};
}

poly::RandomStream stream_of(const nb::bytes& seed) {
  poly::RandomStream stream;
  if (seed.size() != stream.seed.bytes.size()) {
    throw FormatError("search: a seed has " + std::to_string(stream.seed.bytes.size()) + " bytes, not " +
                      std::to_string(seed.size()));
  }
  std::copy_n(static_cast<const std::uint8_t*>(seed.data()), seed.size(), stream.seed.bytes.begin());
  return stream;
}

/// A query of numbers [query, limb, dims].
Query query_of(const nb::bytes& seed, const HostArray<std::uint64_t, 3>& numbers) {
  return {.count = numbers.shape(0),
          .dims = numbers.shape(2),
          .seed = stream_of(seed),
          .numbers = {numbers.data(), numbers.data() + numbers.size()}};
}

/// Where a message has half of an answer: in the part of this number.
AnswerHalf half_of(MessageBytes& message, std::size_t part) {
  return {.bytes = message.bytes(part), .checksums = message.checksums(part)};
}
/// Where a message has an answer: in the part of this number and the one after it.
AnswerHalves halves_of(MessageBytes& message, std::size_t part) {
  return {.b = half_of(message, part), .a = half_of(message, part + 1)};
}

/// For each client its keys, a seed, and numbers [query, limb, dims].
using AskedQueries =
    std::vector<std::tuple<const rlwe::EvaluationKeys*, nb::bytes, HostArray<std::uint64_t, 3>>>;

/// Each client's answer to the parts 1 and 2 of its message.
template <typename AnyDatabase>
void answer_queries(const AnyDatabase& self, const AskedQueries& asked, int dropped_bits, int width,
                    const std::vector<MessageBytes*>& out) {
  std::vector<Query> queries;
  queries.reserve(asked.size());
  std::vector<KeyedQuery> keyed;
  for (const auto& [keys, seed, numbers] : asked) {
    queries.push_back(query_of(seed, numbers));
    keyed.push_back({queries.back(), *keys});
  }
  std::vector<AnswerHalves> halves;
  for (MessageBytes* message : out) halves.push_back(halves_of(*message, 1));
  const ReleasedGil release;
  self.answer(keyed, Packing{dropped_bits, width}, halves);
}

/// The answer's a to part 2 of its message.
PreparedAnswer prepare_answer(const Database& self, const rlwe::EvaluationKeys& keys, const nb::bytes& seed,
                              int dropped_bits, int width, MessageBytes& out) {
  const poly::RandomStream stream = stream_of(seed);
  const AnswerHalf a = half_of(out, 2);
  const ReleasedGil release;
  return self.prepare(stream, keys, Packing{dropped_bits, width}, a);
}

/// Takes the prepared answer, which is empty after it: b to part 1 of its message.
void finish_answer(const Database& self, PreparedAnswer& prepared, const nb::bytes& seed,
                   const HostArray<std::uint64_t, 3>& numbers, MessageBytes& out) {
  const Query query = query_of(seed, numbers);
  const AnswerHalf b = half_of(out, 1);
  const ReleasedGil release;
  self.finish(std::move(prepared), query, b);
}

/// Numbers [query, limb, dims] with a message [query, dims] more.
OwnedArray<std::uint64_t> add_message(const ContextHandle& context,
                                      const HostArray<std::uint64_t, 3>& numbers,
                                      const HostArray<std::int64_t, 2>& values, int shift) {
  Query query{.count = numbers.shape(0),
              .dims = numbers.shape(2),
              .seed = {},
              .numbers = {numbers.data(), numbers.data() + numbers.size()}};
  const std::vector<std::size_t> shape{numbers.shape(0), numbers.shape(1), numbers.shape(2)};
  circuits::search::add_message(*context.context, query, {values.data(), values.size()}, shift);
  return to_owned_array(std::move(query.numbers), shape);
}

/// Seed and numbers [j, limb, N].
std::pair<nb::bytes, OwnedArray<std::uint64_t>> encrypt_rows(const rlwe::SecretKey& secret,
                                                             const HostArray<std::int64_t, 2>& values,
                                                             int shift) {
  EncryptedRows rows = [&] {
    const ReleasedGil release;
    return circuits::search::encrypt_rows(secret, {values.data(), values.size()}, values.shape(1), shift);
  }();
  const std::size_t degree = secret.context->degree(), dims = rows.dims;
  const std::size_t limbs = rows.numbers.size() / (dims * degree);
  return {nb::bytes(rows.seed.seed.bytes.data(), rows.seed.seed.bytes.size()),
          to_owned_array(std::move(rows.numbers), {dims, limbs, degree})};
}

void place_rows(EncryptedDatabase& self, std::size_t block, std::size_t first, std::size_t count,
                const nb::bytes& seed, const HostArray<std::uint64_t, 3>& numbers) {
  const EncryptedRows rows{.count = count,
                           .dims = numbers.shape(0),
                           .seed = stream_of(seed),
                           .numbers = {numbers.data(), numbers.data() + numbers.size()}};
  const ReleasedGil release;
  self.place(block, first, rows);
}

void answer_clear_queries(const EncryptedDatabase& self, const HostArray<std::int16_t, 2>& queries,
                          std::uint64_t factor, int dropped_bits, int width, MessageBytes& out,
                          std::size_t part) {
  const AnswerHalves halves = halves_of(out, part);
  const ReleasedGil release;
  const rlwe::IntegerMatrix matrix(self.context(), queries.shape(0), queries.shape(1),
                                   {queries.data(), queries.size()});
  self.answer(matrix, factor, Packing{dropped_bits, width}, halves);
}

/// Integers [query, row], of numbers [b or a, block, query, N].
OwnedArray<std::int64_t> decrypt_scores(const rlwe::SecretKey& secret,
                                        const HostArray<std::uint64_t, 4>& numbers, int dropped_bits) {
  std::vector<std::int64_t> scores = [&] {
    const ReleasedGil release;
    return circuits::search::decrypt(secret, {.count = numbers.shape(2),
                                              .blocks = numbers.shape(1),
                                              .dropped_bits = dropped_bits,
                                              .numbers = {numbers.data(), numbers.data() + numbers.size()}});
  }();
  const std::size_t count = numbers.shape(2), rows = scores.size() / count;
  return to_owned_array(std::move(scores), {count, rows});
}

/// SHA-256 of the checksums of each piece of the parts, on several threads where there are many.
nb::bytes digest_of_pieces(const HostArray<std::uint8_t, 1>& data, const std::vector<std::size_t>& sizes) {
  std::span left(reinterpret_cast<const std::byte*>(data.data()), data.size());
  std::vector<std::span<const std::byte>> parts;
  for (const std::size_t size : sizes) {
    if (size > left.size()) throw FormatError("search: the parts are longer than the message");
    parts.push_back(left.first(size));
    left = left.subspan(size);
  }
  const runtime::Sha256Digest digest = [&] {
    const ReleasedGil release;
    const std::vector<std::uint64_t> pieces = runtime::checksums_of_pieces(parts);
    return runtime::sha256(std::as_bytes(std::span(pieces)));
  }();
  return nb::bytes(digest.data(), digest.size());
}

}  // namespace

void bind_search(nb::module_& m) {
  m.def("search_parameters", &circuits::search::parameters, "exact"_a, ReleaseGil());
  m.def("search_encrypt_rows", &encrypt_rows, "secret"_a, "values"_a, "shift"_a);
  m.def("search_encrypt", &encrypt_queries, "secret"_a, "values"_a, "shift"_a);
  m.def("search_decrypt", &decrypt_scores, "secret"_a, "numbers"_a, "dropped_bits"_a);
  m.def(
      "search_noise_deviation",
      [](const rlwe::Parameters& parameters, double row_square, double block_square, int dropped_bits) {
        return circuits::search::noise_deviation(
            parameters,
            {.row_square = row_square, .block_square = block_square, .dropped_bits = dropped_bits});
      },
      "parameters"_a, "row_square"_a, "block_square"_a, "dropped_bits"_a);
  m.def(
      "search_encrypted_noise_deviation",
      [](const rlwe::Parameters& parameters, double row_square, double block_square, int dropped_bits,
         double row_scale, double query_square, std::size_t dims, double messages) {
        return circuits::search::noise_deviation(parameters, {.row_square = row_square,
                                                              .block_square = block_square,
                                                              .dropped_bits = dropped_bits,
                                                              .encrypted = {{.row_scale = row_scale,
                                                                             .query_square = query_square,
                                                                             .dims = dims,
                                                                             .messages = messages}}});
      },
      "parameters"_a, "row_square"_a, "block_square"_a, "dropped_bits"_a, "row_scale"_a, "query_square"_a,
      "dims"_a, "messages"_a);
  m.def("digest_of_pieces", &digest_of_pieces, "data"_a, "sizes"_a);
  nb::class_<MessageBytes>(m, "MessageBytes")
      .def(nb::init<const std::vector<std::size_t>&>(), "sizes"_a)
      .def("part", &MessageBytes::part, "number"_a, nb::rv_policy::automatic)
      .def("settle", &MessageBytes::settle, "written"_a)
      .def("finish", &MessageBytes::finish, nb::sig("def finish(self) -> bytes"));
  m.def("search_add_message", &add_message, "context"_a, "numbers"_a, "values"_a, "shift"_a);
  nb::class_<PreparedAnswer>(m, "SearchPreparedAnswer")
      .def_prop_ro("memory_bytes", [](const PreparedAnswer& self) { return self.sums.bytes(); });
  nb::class_<Database>(m, "SearchDatabase")
      .def(
          "__init__",
          [](Database* self, const ContextHandle& context, std::size_t dims) {
            new (self) Database(context.context, dims);
          },
          "context"_a, "dims"_a)
      .def_prop_ro("blocks", &Database::blocks)
      .def_prop_ro("memory_bytes", &Database::memory_bytes)
      .def("resize", &Database::resize, "blocks"_a, ReleaseGil())
      .def(
          "set_block",
          [](Database& self, std::size_t block, const HostArray<std::int8_t, 2>& rows) {
            const ReleasedGil release;
            self.set_block(block, {rows.data(), rows.size()});
          },
          "block"_a, "rows"_a)
      .def("answer", &answer_queries<Database>, "asked"_a, "dropped_bits"_a, "width"_a, "out"_a)
      .def("prepare", &prepare_answer, "keys"_a, "seed"_a, "dropped_bits"_a, "width"_a, "out"_a)
      .def("finish", &finish_answer, "prepared"_a, "seed"_a, "numbers"_a, "out"_a);
  nb::class_<EncryptedDatabase>(m, "SearchEncryptedDatabase")
      .def(
          "__init__",
          [](EncryptedDatabase* self, const ContextHandle& context, std::size_t dims) {
            new (self) EncryptedDatabase(context.context, dims);
          },
          "context"_a, "dims"_a)
      .def_prop_ro("blocks", &EncryptedDatabase::blocks)
      .def_prop_ro("memory_bytes", &EncryptedDatabase::memory_bytes)
      .def("resize", &EncryptedDatabase::resize, "blocks"_a, ReleaseGil())
      .def("place", &place_rows, "block"_a, "first"_a, "count"_a, "seed"_a, "numbers"_a)
      .def(
          "residues",
          [](const EncryptedDatabase& self, std::size_t block) {
            std::vector<std::uint64_t> residues = [&] {
              const ReleasedGil release;
              return self.residues(block);
            }();
            const std::size_t count = residues.size();
            return to_owned_array(std::move(residues), {count});
          },
          "block"_a)
      .def(
          "set_residues",
          [](EncryptedDatabase& self, std::size_t block, const HostArray<std::uint64_t, 1>& residues) {
            const ReleasedGil release;
            self.set_residues(block, {residues.data(), residues.size()});
          },
          "block"_a, "residues"_a)
      .def("move_block", &EncryptedDatabase::move_block, "to"_a, "source"_a, ReleaseGil())
      .def("answer", &answer_queries<EncryptedDatabase>, "asked"_a, "dropped_bits"_a, "width"_a, "out"_a)
      .def("answer_clear", &answer_clear_queries, "queries"_a, "factor"_a, "dropped_bits"_a, "width"_a,
           "out"_a, "part"_a);
}

}  // namespace hemera::python
