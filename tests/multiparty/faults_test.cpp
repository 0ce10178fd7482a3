// A fault of the machine while a share is computed: libcrypto's HMAC, which all its seeds come from, gives a
// wrong bit once.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/hmac.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

#include "hemera/multiparty/dealt_sums.hpp"
#include "hemera/multiparty/opening.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace {

std::atomic<std::size_t> calls = 0;  // on several threads
std::optional<std::size_t> faulty;   // the number of the call

}  // namespace

// In the place of libcrypto's, for this program alone.
extern "C" unsigned char* HMAC(const EVP_MD* digest, const void* key, int key_size, const unsigned char* data,
                               std::size_t size, unsigned char* out, unsigned int* out_size) {
  using Function = decltype(&HMAC);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "HMAC"));
  unsigned char* const result = real(digest, key, key_size, data, size, out, out_size);
  if (result != nullptr && faulty == calls++) result[31] ^= 0x80;
  return result;
}

namespace hemera::multiparty {
namespace {

TEST(Faults, AShareOfOneWrongBitIsNotSent) {
  const Access access(2, 2);
  const Plan plan({.values = 3000,
                   .contributors = 4,
                   .rounds = 10,
                   .pieces = 2,
                   .degree = 1024,
                   .security = std::nullopt});
  const Description description(access, plan, {"a", "b"}, {}, {});
  const Transcript list(description, 0, 0, {{.name = "x"}, {.name = "y"}});
  const Ledger ledger{[](std::uint64_t) { return std::nullopt; }, [](std::uint64_t, const Sha256Digest&) {}};
  poly::Seed key;
  key.bytes.fill(7);
  Member member(tests::make_context(plan.parameters()), description, 0,
                {Piece(access.held_by(0).front(), key)}, ledger);
  const auto share = [&] { return member.share(list, access.held_by(0).front()); };
  calls = 0;
  const std::vector<std::byte> right = share();
  // Each contributor has a part and a secret, each of three polynomials its flooding: twice.
  const std::size_t all = calls;
  ASSERT_EQ(all, 2 * (2 * 2 + 3));
  for (std::size_t call = 0; call < all; ++call) {
    calls = 0;
    faulty = call;
    tests::expect_error<DeviceError>(share, {"two computations of a share differ", "nothing was sent"});
    faulty.reset();
    EXPECT_EQ(share(), right) << call;
  }
}

TEST(Faults, AnOpeningOfOneWrongBitIsNotSent) {
  const Access access(2, 2);
  const rlwe::Openings openings{.pieces = access.pieces(), .count = 20};
  const auto context = tests::make_context(bfv::parameters_for(
      {.depth = 0, .plain_modulus = 12289, .degree = 1024, .security = std::nullopt, .openings = openings}));
  poly::Seed key;
  key.bytes.fill(7);
  const std::size_t piece = access.held_by(0).front();
  Opening opening(context, {.access = access, .openings = openings}, 0, {Piece(piece, key)},
                  [](const Sha256Digest&) { return std::size_t{1}; });
  const rlwe::PublicKey public_key = rlwe::generate_public_key(rlwe::generate_secret_key(context));
  const rlwe::Ciphertext x =
      bfv::encrypt(bfv::Encoder(context).encode(std::vector<std::int64_t>{1, 2, 3}, {}), public_key);
  const auto share = [&] { return opening.share(x, x.meta.noise_log2, piece); };
  calls = 0;
  const std::vector<std::byte> right = share();
  // The seeds of the flooding and of the secret, twice.
  const std::size_t all = calls;
  ASSERT_EQ(all, 2 * 2);
  for (std::size_t call = 0; call < all; ++call) {
    calls = 0;
    faulty = call;
    tests::expect_error<DeviceError>(share, {"two computations of a share differ", "nothing was sent"});
    faulty.reset();
    EXPECT_EQ(share(), right) << call;
  }
}

}  // namespace
}  // namespace hemera::multiparty
