// Seeds, and the table of the discrete Gaussian.
#include "hemera/poly/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_dec_float.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "refusals.hpp"

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace hemera::poly::testing {
namespace {

// Decimal arithmetic and one exponential an entry: nothing in common with the library's computation.
using Decimal = boost::multiprecision::cpp_dec_float_100;

std::vector<Decimal> gaussian(double sigma) {
  std::vector<Decimal> probabilities;  // of |e| = 0, 1, ...
  const Decimal variance = Decimal(sigma) * sigma;
  for (int m = 0; m < 500; ++m)
    probabilities.push_back((m == 0 ? 1 : 2) * exp(-Decimal(m) * m / (2 * variance)));
  Decimal total = 0;
  for (std::size_t m = probabilities.size(); m-- > 0;) total += probabilities[m];
  for (Decimal& probability : probabilities) probability /= total;
  return probabilities;
}

TEST(ErrorDistribution, TableIsExact) {
  for (const double sigma : {0.5, 0.75, 1.0, 2.0, 3.19, 3.2, 8.0, 19.999, 20.0}) {
    const std::vector<Decimal> probabilities = gaussian(sigma);
    const Decimal scale = pow(Decimal(2), 63);
    std::vector<std::uint64_t> expected;
    Decimal inside = 0;
    for (const Decimal& probability : probabilities) {
      inside += probability;
      const Decimal entry = floor(inside * scale + Decimal(0.5));
      if (entry >= scale) break;
      expected.push_back(static_cast<std::uint64_t>(entry));
    }
    const ErrorDistribution distribution(sigma);
    EXPECT_EQ(distribution.sigma(), sigma);
    EXPECT_EQ(std::vector<std::uint64_t>(distribution.table(), distribution.table() + distribution.size()),
              expected)
        << "sigma " << sigma;
  }
}

// Every deviation in the range has a table that fits, below a bound of 9.3 deviations and one.
TEST(ErrorDistribution, BoundsOfTheRange) {
  for (double sigma = 0.5; sigma <= 20; sigma += 0.25) {
    const ErrorDistribution distribution(sigma);
    EXPECT_LE(distribution.size(), ErrorDistribution::max_size);
    EXPECT_LE(distribution.bound(), 9.3 * sigma + 1);
    EXPECT_GE(distribution.bound(), 8 * sigma);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double sigma : {std::nextafter(0.5, 0.0), std::nextafter(20.0, 21.0), 0.0, -3.19, infinity,
                             -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    tests::expect_error<ParameterError>([&] { const ErrorDistribution distribution(sigma); }, {"0.5 to 20"});
  }
}

TEST(Seed, FreshSeedsDiffer) {
  std::set<std::array<std::uint8_t, 32>> seeds;
  std::array<std::size_t, 256> ones{};
  constexpr std::size_t count = 4000;
  for (std::size_t i = 0; i < count; ++i) {
    const Seed seed = Seed::fresh();
    seeds.insert(seed.bytes);
    for (std::size_t bit = 0; bit < 256; ++bit) ones[bit] += (seed.bytes[bit / 8] >> (bit % 8)) & 1;
  }
  EXPECT_EQ(seeds.size(), count);
  // Each bit is set about half of the time: within 8 deviations, so that chance (2^-40) fails no test.
  for (const std::size_t n : ones)
    EXPECT_NEAR(static_cast<double>(n), count / 2.0, 8 * std::sqrt(count / 4.0));
}

TEST(Seed, IsZeroedOnDestruction) {
  alignas(Seed) unsigned char memory[sizeof(Seed)] = {};
  const unsigned char* bytes = memory;
  // The compiler must not use what it knows about the lifetime of the object.
  const auto forget = [&] { __asm__ __volatile__("" : "+r"(bytes) : : "memory"); };
  Seed* const seed = new (memory) Seed;
  seed->bytes.fill(0xa7);
  forget();
  EXPECT_EQ(std::count(bytes, bytes + sizeof(Seed), 0xa7), 32);
  seed->~Seed();
  forget();
  EXPECT_EQ(std::count(bytes, bytes + sizeof(Seed), 0), 32);
}

#if defined(__linux__) && defined(__x86_64__)
// A process that is not allowed to call getrandom(2) gets an exception, not a weak seed.
TEST(Seed, RefusalOfTheSystemIsAnError) {
  enum Outcome { typed_error = 10, no_error, other_text, no_filter };
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    sock_filter instructions[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{4, instructions};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      _exit(no_filter);
    }
    try {
      const Seed seed = Seed::fresh();
      _exit(no_error);
    } catch (const DeviceError& error) {
      _exit(std::string(error.what()).find("getrandom") != std::string::npos ? typed_error : other_text);
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == no_filter) GTEST_SKIP() << "this system does not let a process filter its calls";
  EXPECT_EQ(WEXITSTATUS(status), typed_error);
}
#endif

}  // namespace
}  // namespace hemera::poly::testing
