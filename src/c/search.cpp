// What clients of an encrypted search's scores do, above circuits::search.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "c/buffer.hpp"
#include "c/handles.hpp"
#include "hemera/circuits/search/query.hpp"
#include "hemera/runtime/checksum.hpp"
#include "hemera/runtime/error.hpp"

using namespace hemera;

hemera_status hemera_search_encrypt(const hemera_secret_key* secret, const int64_t* values, size_t queries,
                                    size_t dims, int32_t shift, hemera_buffer* query) {
  HEMERA_C_RESULT(query);
  HEMERA_C_REQUIRE(secret);
  HEMERA_C_REQUIRE(values);
  return c::guarded([&] {
    const rlwe::Context& context = *secret->key.context;
    const circuits::search::QueryLayout layout(context.degree(), dims);
    if (shift < 0 || queries > SIZE_MAX / sizeof(int64_t) / context.degree()) {
      throw ParameterError("search: " + std::to_string(queries) + " queries times 2^" +
                           std::to_string(shift) + "; shifts are 0 or more, and queries fit the memory");
    }
    const auto made =
        circuits::search::encrypt(secret->key, {values, queries * layout.dims}, layout.dims, shift);
    const poly::RnsBase& base = context.base(context.top_level());
    std::size_t width = 0;
    for (std::size_t i = 0; i < base.size(); ++i) {
      width = std::max(width, static_cast<std::size_t>(std::bit_width(base.modulus(i).value()) + 7) / 8);
    }
    const auto seed = std::as_bytes(std::span(made.seed.seed.bytes));
    auto* out = static_cast<std::byte*>(c::allocate(query, seed.size() + made.numbers.size() * width));
    std::memcpy(out, seed.data(), seed.size());
    out += seed.size();
    for (const std::uint64_t number : made.numbers) {
      std::memcpy(out, &number, width);
      out += width;
    }
  });
}

hemera_status hemera_search_decrypt(const hemera_secret_key* secret, const void* halves, size_t bytes,
                                    size_t queries, int32_t dropped_bits, size_t width,
                                    hemera_buffer* values) {
  HEMERA_C_RESULT(values);
  HEMERA_C_REQUIRE(secret);
  HEMERA_C_REQUIRE(halves);
  return c::guarded([&] {
    if (width < 1 || width > sizeof(std::uint64_t)) {
      throw ParameterError("search: an answer's numbers have 1 to 8 bytes, not " + std::to_string(width));
    }
    const std::size_t count = bytes / width, block = 2 * secret->key.context->degree();
    if (queries == 0 || bytes % width != 0 || count % block != 0 || count / block % queries != 0) {
      throw MismatchError("search: " + std::to_string(bytes) + " bytes are not two polynomials for each of " +
                          std::to_string(queries) + " queries and each block");
    }
    circuits::search::Answer answer{.count = queries,
                                    .blocks = count / block / queries,
                                    .dropped_bits = dropped_bits,
                                    .numbers = std::vector<std::uint64_t>(count)};
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&answer.numbers[i], static_cast<const std::byte*>(halves) + i * width, width);
    }
    std::vector<std::int64_t> scores = circuits::search::decrypt(secret->key, answer);
    const c::ZeroAtEnd zeroed(scores);
    c::give_bytes(values, std::as_bytes(std::span(scores)));
  });
}

hemera_status hemera_checksums(const void* data, size_t bytes, hemera_buffer* checksums) {
  HEMERA_C_RESULT(checksums);
  HEMERA_C_REQUIRE(data);
  return c::guarded([&] {
    const std::span<const std::byte> whole[] = {c::bytes_of(data, bytes)};
    const std::vector<std::uint64_t> found = runtime::checksums_of_pieces(whole);
    c::give_bytes(checksums, std::as_bytes(std::span(found)));
  });
}
