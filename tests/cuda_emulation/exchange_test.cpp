// Circuits over several devices: the bits of the CPU, and from the first call to the last the host neither
// waits nor carries anything.
#include "hemera/rlwe/exchange.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <complex>
#include <memory>
#include <vector>

#include "hemera/circuits/linear/shared_transform.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/schemes/any_scheme.hpp"

namespace hemera::testing {
namespace {

using rlwe::Ciphertext;

class EmulationExchange : public ::testing::Test {
 protected:
  void SetUp() override {
    emulation::devices = 2;
    cpu_ = rlwe::Context::make(parameters(), {}, {.threads = 1});
    for (const int index : {0, 1, 0}) {
      members_.push_back(rlwe::Context::make(parameters(), {runtime::Device::Kind::cuda, index}));
    }
    secret_ = rlwe::generate_secret_key(cpu_);
  }
  void TearDown() override {
    members_.clear();
    emulation::devices = 1;
    emulation::can_access_peers = true;
    emulation::peers.clear();
  }

  static rlwe::Parameters parameters() {
    return ckks::parameters_from_bits({.degree = 1024,
                                       .prime_bits = {45, 40, 40},
                                       .special_bits = {46, 46},
                                       .scale = 0x1p40,
                                       .digits = 2,
                                       .security = std::nullopt});
  }
  [[nodiscard]] Ciphertext encrypted(double value) const {
    const std::vector<std::complex<double>> values(32, {value, -value});
    return ckks::encrypt(ckks::Encoder(cpu_).encode(values, {}), secret_);
  }
  // Runs it until the memory is warm, and then without a wait of the host.
  template <typename Operation>
  static void expect_no_wait(const Operation& operation) {
    for (int round = 0; round < 2; ++round) operation();
    const emulation::Counts before = emulation::counts();
    operation();
    const emulation::Counts after = emulation::counts();
    EXPECT_EQ(after.synchronizations, before.synchronizations);
    EXPECT_EQ(after.copies_to_host, before.copies_to_host);
    EXPECT_EQ(after.copies_to_device, before.copies_to_device);
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_GT(after.stream_waits, before.stream_waits);
  }

  std::shared_ptr<const rlwe::Context> cpu_;
  std::vector<std::shared_ptr<const rlwe::Context>> members_;
  rlwe::SecretKey secret_;
  emulation::Launch next_;
};

TEST_F(EmulationExchange, SumsAndCopiesDoNotWait) {
  const ckks::Evaluator evaluator(cpu_, rlwe::generate_keys(secret_, {}));
  std::vector<Ciphertext> given;
  Ciphertext expected;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Ciphertext x = encrypted(0.25 * static_cast<double>(i + 1));
    expected = i == 0 ? x.clone() : evaluator.add(expected, x);
    given.push_back(rlwe::copy_to(members_[i], x));
  }
  std::vector<Ciphertext> terms, copies;
  expect_no_wait([&] {
    terms.clear();
    for (const Ciphertext& term : given) terms.push_back(term.clone());
    rlwe::all_reduce(terms);
    copies = rlwe::broadcast(members_, terms[1]);
    rlwe::add_from(terms[0], terms[1]);
  });
  for (const Ciphertext& copy : copies) EXPECT_TRUE(io::save(copy) == io::save(expected));
  EXPECT_TRUE(io::save(terms[0]) == io::save(evaluator.add(expected, expected)));
}

// Two members add by kernels that read each other's memory; neither waits for what the other does next.
TEST_F(EmulationExchange, MembersDoNotWaitForOneAnothersNextWork) {
  const std::vector members(members_.begin(), members_.begin() + 2);
  std::vector<Ciphertext> terms;
  for (const auto& member : members) {
    terms.push_back(rlwe::copy_to(member, encrypted(0.5)));
    rlwe::offer(terms.back(), members);
  }
  const std::size_t before = emulation::counts().kernels;
  rlwe::MemberSum<Ciphertext> sum(terms, rlwe::in_turn, "sum");
  for (const std::size_t member : {0, 1}) {
    const Ciphertext own = sum.on(member);
    const emulation::Launch added = emulation::last_launch;
    EXPECT_FALSE(next_.stream != nullptr && next_.comes_before(added)) << member;
    const Ciphertext next = own.clone();
    next_ = emulation::last_launch;
    EXPECT_TRUE(added.comes_before(next_));
  }
  EXPECT_EQ(emulation::counts().kernels - before, 4U) << "an addition and a copy each";
  // The same of copies.
  const Ciphertext source = terms[0].clone();
  const rlwe::Broadcast copies(members, source);
  const Ciphertext later = source.clone();
  const emulation::Launch cloned = emulation::last_launch;
  const Ciphertext copy = copies.on(1);
  EXPECT_FALSE(cloned.comes_before(emulation::last_launch));
}

TEST_F(EmulationExchange, WithoutPeerAccessTheSumsAreTheSame) {
  emulation::can_access_peers = false;
  const ckks::Evaluator evaluator(cpu_, rlwe::generate_keys(secret_, {}));
  const Ciphertext x = encrypted(0.5), y = encrypted(0.25);
  std::vector<Ciphertext> terms;
  terms.push_back(rlwe::copy_to(members_[0], x));
  terms.push_back(rlwe::copy_to(members_[1], y));
  rlwe::all_reduce(terms);
  const auto expected = io::save(evaluator.add(x, y));
  for (const Ciphertext& term : terms) EXPECT_TRUE(io::save(term) == expected);
  EXPECT_TRUE(emulation::peers.empty());
}

TEST_F(EmulationExchange, TransformsDoNotWait) {
  constexpr std::size_t slots = 32;
  circuits::MatrixDiagonals diagonals;
  for (std::size_t number = 0; number < slots; ++number) {
    diagonals.add(number, std::vector<double>(slots, 1.0 / static_cast<double>(number + 1)));
  }
  const circuits::LinearTransform plan(parameters(), std::move(diagonals), slots, {.baby_steps = 4});
  const auto keys = plan.generate_keys(secret_);
  const Ciphertext x = encrypted(0.5);
  const auto expected =
      io::save(circuits::PreparedLinearTransform(cpu_, plan)(ckks::Evaluator(cpu_, keys), x));
  std::vector<std::unique_ptr<ckks::Evaluator>> evaluators;
  std::vector<const ckks::Evaluator*> pointers;
  for (const auto& member : members_) {
    evaluators.push_back(std::make_unique<ckks::Evaluator>(member, rlwe::copied_on_use(member, keys)));
    pointers.push_back(evaluators.back().get());
  }
  const circuits::SharedLinearTransform shared(members_, plan);
  const Ciphertext vector = rlwe::copy_to(members_.front(), x);
  Ciphertext y;
  expect_no_wait([&] { y = shared(pointers, vector); });
  EXPECT_TRUE(io::save(y) == expected);
}

}  // namespace
}  // namespace hemera::testing
