// Warnings of evaluators: spent budgets and bootstraps of undeclared values.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hemera/hemera.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace hemera {
namespace {

using rlwe::Ciphertext;
using Kind = Warning::Kind;

// Keeps the warnings of its scope.
class Heard {
 public:
  Heard() : former_(set_warning_handler([this](const Warning& warning) { all_.push_back(warning); })) {}
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;
  ~Heard() { set_warning_handler(std::move(former_)); }

  // The warnings since the last question.
  std::vector<Warning> taken() { return std::exchange(all_, {}); }

 private:
  std::vector<Warning> all_;
  WarningHandler former_;
};

class SpentBudgets : public ::testing::TestWithParam<rlwe::Scheme> {
 protected:
  static rlwe::Parameters parameters() {
    const integer::CircuitRequest request{.depth = 1, .slots = 4, .degree = 1024, .security = {}};
    return GetParam() == rlwe::Scheme::bfv ? bfv::parameters_for(request) : bgv::parameters_for(request);
  }
  rlwe::ContextPointer context_ = rlwe::Context::make(parameters(), {}, {.threads = 1});
  rlwe::SecretKey secret_ = rlwe::generate_secret_key(context_);
  rlwe::EvaluationKeys keys_ = rlwe::generate_keys(secret_, {.rotations = {1}});
  std::unique_ptr<rlwe::Evaluator> evaluator_ = any_scheme::make_evaluator(context_, keys_);
  Ciphertext x_ =
      any_scheme::encrypt(integer::Encoder(context_).encode(std::vector<std::int64_t>{1, 1, 1, 1}), keys_);
};

TEST_P(SpentBudgets, AreToldOnceWhereTheyHappen) {
  const rlwe::Evaluator& e = *evaluator_;
  const rlwe::Plaintext plain = integer::Encoder(context_).encode(std::vector<std::int64_t>{3, 1});
  const std::vector<std::pair<std::string, std::function<void(Ciphertext&)>>> operations{
      {"multiply", [&](Ciphertext& a) { a = e.multiply(a, x_); }},
      {"multiply", [&](Ciphertext& a) { a = e.square(a); }},
      {"multiply_plain", [&](Ciphertext& a) { a = e.multiply_plain(a, plain); }},
      {"multiply_scalar", [&](Ciphertext& a) { e.multiply_scalar_inplace(a, 100); }},
      {"add", [&](Ciphertext& a) { e.add_inplace(a, a); }},
      {"subtract", [&](Ciphertext& a) { a = e.subtract(e.negate(a), a); }},
      {"dot", [&](Ciphertext& a) {
         const std::array both{static_cast<const Ciphertext*>(&a), static_cast<const Ciphertext*>(&a)};
         a = e.dot(both, std::span<const Ciphertext* const>(both));
       }}};
  for (const auto& [name, operation] : operations) {
    SCOPED_TRACE(name);
    Heard heard;
    Ciphertext a = x_.clone();
    for (int i = 0; i < 200 && !a.meta.spent; ++i) {
      const bool is_last = any_scheme::guaranteed_noise_budget(a) == 0;
      EXPECT_FALSE(is_last) << "a spent budget is not marked";
      operation(a);
    }
    ASSERT_TRUE(a.meta.spent);
    EXPECT_EQ(any_scheme::guaranteed_noise_budget(a), 0);
    const auto told = heard.taken();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told.front().kind, Kind::spent_noise_budget);
    EXPECT_TRUE(tests::says(told.front().text, "noise budget"));
    // What follows from it is no news.
    operation(a);
    e.add_scalar_inplace(a, 1);
    e.add_plain_inplace(a, plain);
    static_cast<void>(e.rotate(e.add(a, x_), 1));
    static_cast<void>(rlwe::stack({&a, &a}));
    EXPECT_TRUE(heard.taken().empty());
  }
}

TEST_P(SpentBudgets, CircuitsThatFitAreSilent) {
  Heard heard;
  const Ciphertext y = evaluator_->rotate(evaluator_->multiply(x_, x_), 1);
  EXPECT_FALSE(y.meta.spent);
  EXPECT_TRUE(heard.taken().empty());
}

TEST_P(SpentBudgets, WithoutAHandlerNothingIsMarked) {
  const WarningHandler former = set_warning_handler(nullptr);
  Ciphertext a = x_.clone();
  for (int i = 0; i < 6; ++i) a = evaluator_->square(a);
  EXPECT_FALSE(a.meta.spent);
  EXPECT_TRUE(any_scheme::notice_spent_budget(a));
  set_warning_handler(former);
}

INSTANTIATE_TEST_SUITE_P(Schemes, SpentBudgets, ::testing::Values(rlwe::Scheme::bfv, rlwe::Scheme::bgv));

TEST(UndeclaredBootstraps, AreToldAtEachCall) {
  const circuits::BootstrapSettings settings = circuits::bootstrap_preset("test-40");
  const auto context =
      rlwe::Context::make(circuits::parameters_for_bootstrapping(settings), {}, {.threads = 1});
  constexpr std::size_t slots = 8;
  Heard heard;
  const circuits::Bootstrap plan(context->parameters(), {.slots = slots});
  static_cast<void>(plan.cost());
  EXPECT_TRUE(heard.taken().empty()) << "plans count, and bootstrap nothing of a user";
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const rlwe::EvaluationKeys keys = plan.generate_keys(secret);
  const ckks::Evaluator evaluator(context, keys);
  const circuits::PreparedBootstrap bootstrap(context, plan);
  const ckks::Encoder encoder(context);
  const std::vector<double> values(slots, 0.5);
  const Ciphertext undeclared = ckks::encrypt(encoder.encode(values), secret);
  const Ciphertext declared = ckks::encrypt(encoder.encode(values, {}, {}, {}, 1.0), secret);
  for (int call = 0; call < 2; ++call) {
    static_cast<void>(bootstrap(evaluator, undeclared));
    const auto told = heard.taken();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told.front().kind, Kind::undeclared_range);
    EXPECT_TRUE(tests::says(told.front().text, "from -1 to 1"));
    static_cast<void>(bootstrap(evaluator, declared));
    EXPECT_TRUE(heard.taken().empty());
  }
  // A magnitude declares them.
  const circuits::PreparedBootstrap scaled(context, plan, 1.0);
  static_cast<void>(scaled(evaluator, undeclared));
  EXPECT_TRUE(heard.taken().empty());
}

}  // namespace
}  // namespace hemera
