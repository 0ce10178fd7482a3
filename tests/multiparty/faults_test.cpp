// Faults of the machine while a share is computed: libcrypto's HMAC, which all its seeds come from, gives a
// wrong bit once, or a bit of its public polynomials changes in memory.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/hmac.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hemera/multiparty/dealt_sums.hpp"
#include "hemera/multiparty/opening.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"
#include "multiparty/public_factor.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace {

std::atomic<std::size_t> calls = 0;  // on several threads
std::optional<std::size_t> faulty;   // the number of the call
std::function<void()> instead;       // of its wrong bit

}  // namespace

// In the place of libcrypto's, for this program alone.
extern "C" unsigned char* HMAC(const EVP_MD* digest, const void* key, int key_size, const unsigned char* data,
                               std::size_t size, unsigned char* out, unsigned int* out_size) {
  using Function = decltype(&HMAC);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "HMAC"));
  unsigned char* const result = real(digest, key, key_size, data, size, out, out_size);
  if (result != nullptr && faulty == calls++) instead ? instead() : void(result[31] ^= 0x80);
  return result;
}

namespace hemera::multiparty {
namespace {

Piece piece_of(const Access& access) {
  poly::Seed key;
  key.bytes.fill(7);
  return {access.held_by(0).front(), key};
}

// Three polynomials of two contributors.
struct Sharing {
  Access access{2, 2};
  Plan plan{{.values = 3000, .contributors = 4, .rounds = 10, .pieces = 2, .degree = 1024, .security = {}}};
  Description description{access, plan, {"a", "b"}, {}, {}};
  Transcript list{description, 0, 0, {{.name = "x"}, {.name = "y"}}};
  rlwe::ContextPointer context = tests::make_context(plan.parameters(), 1);
  Member member{
      context, description, 0, {piece_of(access)}, {[](auto) { return std::nullopt; }, [](auto, auto) {}}};

  std::vector<std::byte> share() { return member.share(list, piece_of(access).number()); }
};

// A wrong bit of each call in turn.
template <typename Share>
void expect_faults_are_found(const Share& share, std::size_t expected_calls) {
  calls = 0;
  const std::vector<std::byte> right = share();
  const std::size_t all = calls;
  ASSERT_EQ(all, expected_calls);
  for (std::size_t call = 0; call < all; ++call) {
    calls = 0;
    faulty = call;
    tests::expect_error<DeviceError>(share, {"two computations of a share differ", "nothing was sent"});
    faulty.reset();
    EXPECT_EQ(share(), right) << call;
  }
}

// Where these words stand in memory that may be written.
std::vector<std::uint64_t*> places_of(std::span<const std::uint64_t> words) {
  std::vector<std::uint64_t*> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char mode[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, mode) != 3 || mode[1] != 'w') continue;
    std::span rest(reinterpret_cast<std::uint64_t*>(begin), (end - begin) / 8);
    for (auto at = std::ranges::search(rest, words); !at.empty(); at = std::ranges::search(rest, words)) {
      found.push_back(at.data());
      rest = rest.subspan(static_cast<std::size_t>(at.data() - rest.data()) + 1);
    }
  }
  return found;
}

TEST(Faults, AShareOfOneWrongBitIsNotSent) {
  Sharing sharing;
  // Each contributor has a part and a secret, each of three polynomials its flooding: twice.
  expect_faults_are_found([&] { return sharing.share(); }, 2 * (2 * 2 + 3));
}

// Attack B: a bit of any copy of the public polynomials changes after they are hashed, and before they are
// multiplied. Copies that nobody uses any more may change.
TEST(Faults, APolynomialThatChangesIsNotInAShare) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is terabytes";
#endif
  Sharing sharing;
  const std::vector<std::byte> right = sharing.share();
  std::vector<std::uint64_t> words;  // of the second polynomial, without its first bits
  {
    const PublicFactor rho(*sharing.context, sharing.list.public_seed(), 1, 1);
    const HostWords there(*sharing.context, rho.polynomials().view(), poly::Form::evaluation);
    for (std::size_t i = 0; i < 8; ++i) words.push_back(~there.all()[1000 + i]);
  }
  enum Outcome { sent_right, sent_wrong, refused, no_such_copy };
  std::size_t all_refused = 0;
  for (std::size_t copy = 0;; ++copy) {
    const pid_t child = fork();  // each with the memory of the same state
    if (child == 0) {
      instead = [&] {
        std::vector<std::uint64_t> wanted(words);
        for (std::uint64_t& word : wanted) word = ~word;
        std::vector<std::uint64_t*> places = places_of(wanted);
        std::erase(places, wanted.data());
        if (copy >= places.size()) _exit(no_such_copy);
        *places[copy] ^= 1;
      };
      calls = 0;
      faulty = 2 * 2 * 2;  // the first seed of a flooding
      try {
        _exit(sharing.share() == right ? sent_right : sent_wrong);
      } catch (const DeviceError&) {
        _exit(refused);
      }
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_NE(WEXITSTATUS(status), sent_wrong) << copy;
    if (WEXITSTATUS(status) == no_such_copy) break;
    if (WEXITSTATUS(status) == refused) ++all_refused;
  }
  EXPECT_EQ(all_refused, 3U);  // what was hashed, and what each computation multiplies
}

TEST(Faults, AnOpeningOfOneWrongBitIsNotSent) {
  const Access access(2, 2);
  const rlwe::Openings openings{.pieces = access.pieces(), .count = 20};
  const auto context = tests::make_context(bfv::parameters_for(
      {.depth = 0, .plain_modulus = 12289, .degree = 1024, .security = std::nullopt, .openings = openings}));
  Opening opening(context, {.access = access, .openings = openings}, 0, {piece_of(access)},
                  [](const Sha256Digest&) { return std::size_t{1}; });
  const rlwe::PublicKey public_key = rlwe::generate_public_key(rlwe::generate_secret_key(context));
  const rlwe::Ciphertext x =
      bfv::encrypt(bfv::Encoder(context).encode(std::vector<std::int64_t>{1, 2, 3}, {}), public_key);
  // The seeds of the flooding and of the secret, twice.
  expect_faults_are_found([&] { return opening.share(x, x.meta.noise_log2, piece_of(access).number()); },
                          2 * 2);
}

}  // namespace
}  // namespace hemera::multiparty
