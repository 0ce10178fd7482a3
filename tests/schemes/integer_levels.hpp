// Properties 10 to 17 of BFV and BGV: levels, noise bounds, key-switching gadgets, parameters, mistakes.
#pragma once

#include <algorithm>
#include <utility>

#include "hemera/rlwe/noise.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "schemes/integer_support.hpp"

namespace hemera::testing {

template <typename S>
class IntegerLevels : public ::testing::Test {};
TYPED_TEST_SUITE_P(IntegerLevels);

// 10. Modulus switching keeps the values down to the last level, where every operation still works.
TYPED_TEST_P(IntegerLevels, ModulusSwitchingKeepsValues) {
  using S = TypeParam;
  for (const std::uint64_t t : {std::uint64_t{65537}, std::uint64_t{1} << 16, std::uint64_t{3}}) {
    SCOPED_TRACE(t);
    Session<S> session(test_chain<S>(t, 4), t == 65537, rlwe::Relinearization::lazy);
    const auto& evaluator = session.evaluator;
    const Values a = session.uniform();
    const Values b = session.uniform();
    rlwe::Ciphertext x = session.encrypt(a);
    const rlwe::Ciphertext y = session.encrypt(b);
    rlwe::Ciphertext product = evaluator.multiply(x, y);
    ASSERT_EQ(product.size(), 3U);
    while (product.meta.level > 1) {
      evaluator.rescale_inplace(product);
      session.expect(product, session.multiply(a, b));
    }
    while (x.meta.level > 0) {
      const std::size_t level = x.meta.level;
      evaluator.rescale_inplace(x);
      EXPECT_EQ(x.meta.level, level - 1);
      session.expect(x, a);
      // Operands of different levels meet.
      session.expect(evaluator.add(x, y), session.add(a, b));
      session.expect(evaluator.subtract(y, x), session.subtract(b, a));
    }
    // The last level.
    const rlwe::Plaintext plain = session.encode(b);
    rlwe::Ciphertext sum = evaluator.add_plain(x, plain);
    evaluator.add_scalar_inplace(sum, 0);
    session.expect(sum, session.add(a, b));
    session.expect(evaluator.negate(x), session.negate(a));
    session.expect(evaluator.add(x, x), session.add(a, a));
    if (t == 65537) session.expect(evaluator.rotate(x, 4), session.rotate(a, 4));
    rlwe::Ciphertext dropped = y.clone();
    evaluator.drop_to_level_inplace(dropped, 0);
    session.expect(evaluator.add(x, dropped), session.add(a, b));
    expect_error<LevelError>([&] { evaluator.rescale_inplace(x); }, {"level 0"});
    expect_error<LevelError>([&] { evaluator.drop_to_level_inplace(x, 2); }, {"level 0", "2"});
  }
}

// The noise of a batch is the largest of its elements', wherever that is.
TYPED_TEST_P(IntegerLevels, ABatchHasItsLargestNoise) {
  using S = TypeParam;
  Session<S> session(test_chain<S>(65537, 2));
  const rlwe::Ciphertext x = session.encrypt(session.uniform());
  rlwe::Ciphertext y = x.clone();
  for (int i = 0; i < 6; ++i) y = session.evaluator.add(y, y);
  const double largest = S::measured(y, session.secret);
  EXPECT_NEAR(largest, S::measured(x, session.secret) + 6, 1e-9);
  EXPECT_EQ(S::measured(rlwe::stack({&x, &y}), session.secret), largest);
  EXPECT_EQ(S::measured(rlwe::stack({&y, &x}), session.secret), largest);
}

// 11. Chains of squares decrypt right for as long as the bound guarantees it, and the chain does end: with a
// budget of 0, reported and guaranteed.
TYPED_TEST_P(IntegerLevels, ChainsUntilTheBudgetIsSpent) {
  using S = TypeParam;
  for (const PlainSetting& setting : plain_settings()) {
    SCOPED_TRACE(setting.name);
    Session<S> session(test_chain<S>(setting.t, setting.primes + 2));
    Values values = session.uniform();
    // Sparse, so that the reference product of polynomials is quick.
    if (session.natural_encoding() == rlwe::Encoding::coefficients)
      std::fill(values.begin() + 9, values.end(), 0);
    rlwe::Ciphertext x = session.encrypt(values);
    std::size_t right = 0;
    double reported = S::budget(x, session.secret);
    for (int depth = 0; depth < 64 && reported > 0; ++depth) {
      x = session.evaluator.square(x);
      values = session.multiply(values, values);
      const double budget = S::budget(x, session.secret);
      EXPECT_LE(budget, reported);
      reported = budget;
      session.expect_honest(x);
      if (S::guaranteed(x) > 0) {
        EXPECT_EQ(session.decrypt(x), values);
        ++right;
      }
    }
    EXPECT_GE(right, 3U);
    EXPECT_EQ(reported, 0);
    EXPECT_EQ(S::guaranteed(x), 0);
  }
}

// 21. Decoding a decryption refuses where less than one bit of the true budget is left, and nowhere else: for
// every plaintext modulus, one prime and several, sizes 2 and 3, single ciphertexts and batches.
TYPED_TEST_P(IntegerLevels, SpentBudgetsAreRefused) {
  using S = TypeParam;
  for (const PlainSetting& setting : plain_settings()) {
    for (const std::size_t primes : {setting.primes, std::size_t{1}}) {
      SCOPED_TRACE(setting.name + ", " + std::to_string(primes) + " primes");
      if (primes == 1 && setting.t > (std::uint64_t{1} << 30)) continue;
      Session<S> session(test_chain<S>(setting.t, primes), false, rlwe::Relinearization::lazy);
      const Values fresh = session.uniform();
      Values values = fresh;
      rlwe::Ciphertext x = session.encrypt(values);
      if (primes > 1 && session.natural_encoding() == rlwe::Encoding::slots) {
        x = session.evaluator.square(x);
        values = session.multiply(values, values);
        ASSERT_EQ(x.size(), 3U);
      }
      const rlwe::Ciphertext good = S::encrypt(session.encode(fresh), session.secret);
      std::size_t refused = 0;
      for (int doubled = 0; refused < 3; ++doubled) {
        ASSERT_LT(doubled, 500);
        const rlwe::Plaintext plaintext = S::decrypt(x, session.secret);
        const double left = S::capacity(x) - S::measured(x, session.secret);
        if (std::abs(left - 1) < 0.01) {
          // The flag may be either so near to its limit.
        } else if (left > 1) {
          EXPECT_EQ(refused, 0U);
          EXPECT_EQ(session.decrypt(x), values);
        } else {
          ++refused;
          const std::vector<std::string> parts = {"one bit", "parameters_for", "must not learn"};
          expect_error<NoiseError>([&] { return session.encoder.decode(plaintext); }, parts);
          // Nor does it go elsewhere.
          expect_error<NoiseError>([&] { return S::encrypt(plaintext, session.secret); }, parts);
          rlwe::Ciphertext sum = good.clone();
          const rlwe::Ciphertext* const operands[] = {&good};
          const rlwe::Plaintext* const factors[] = {&plaintext};
          expect_error<NoiseError>([&] { session.evaluator.add_plain_inplace(sum, plaintext); }, parts);
          expect_error<NoiseError>([&] { session.evaluator.subtract_plain_inplace(sum, plaintext); }, parts);
          expect_error<NoiseError>([&] { return session.evaluator.multiply_plain(good, plaintext); }, parts);
          expect_error<NoiseError>([&] { return session.evaluator.dot(operands, factors); }, parts);
          expect_error<NoiseError>([&] { return rlwe::copy_to(session.context, plaintext); }, parts);
          const std::size_t twice[] = {0, 0};
          expect_error<NoiseError>(
              [&] { return session.encoder.decode(rlwe::gather(plaintext, twice, {2})); }, parts);
        }
        session.evaluator.multiply_scalar_inplace(x, setting.t == 3 ? -1 : 2);
        if (setting.t == 3) session.evaluator.add_inplace(x, x);
        values = session.scale(values, setting.t == 3 ? -2 : 2);
      }
    }
  }
}

// 24. A plaintext that makes noise grow most is one in slots as well: the bound holds.
TYPED_TEST_P(IntegerLevels, BoundsHoldForChosenSlots) {
  using S = TypeParam;
  Session<S> session(test_chain<S>(65537, 8));
  rlwe::Plaintext same =
      session.encode(session.constant(session.t.value() / 2), {}, rlwe::Encoding::coefficients);
  same.meta.encoding = rlwe::Encoding::slots;
  const auto decoded = session.encoder.decode(same, false);
  const Values slots(decoded.begin(), decoded.end());
  const rlwe::Plaintext factor = session.encode(slots);
  Values values = session.constant(1);
  rlwe::Ciphertext x = session.encrypt(values);
  int products = 0;
  while (S::guaranteed(x) > 0) {
    session.expect(x, values);
    session.evaluator.multiply_plain_inplace(x, factor);
    values = session.multiply(values, slots);
    ++products;
  }
  EXPECT_GE(products, 10);
}

// 25. Circuits of plaintext products hold what for_circuit promises: the expected growth of a product of
// ciphertexts, by which it plans, is above the worst case of a plaintext's.
TYPED_TEST_P(IntegerLevels, PlannedCircuitsHoldTheWorstPlaintexts) {
  using S = TypeParam;
  for (const integer::CircuitRequest& request : {integer::CircuitRequest{.depth = 1, .terms = 1},
                                                 {.depth = 4, .terms = 1},
                                                 {.depth = 3, .plain_bits = 40, .terms = 4}}) {
    Session<S> session(S::for_circuit(request));
    const Values a = session.uniform();
    const rlwe::Plaintext factor = session.encode(session.constant(1));
    rlwe::Ciphertext x = session.encrypt(a);
    Values values = a;
    for (std::size_t i = 0; i < request.depth; ++i) {
      session.evaluator.multiply_plain_inplace(x, factor);
      const rlwe::Ciphertext term = x.clone();
      const Values addend = values;
      for (std::size_t j = 1; j < request.terms; ++j) {
        session.evaluator.add_inplace(x, term);
        values = session.add(values, addend);
      }
    }
    session.expect(x, values);
  }
}

// 26. At depth 0 the terms are encryptions.
TYPED_TEST_P(IntegerLevels, SumsOfEncryptionsHoldTheirTerms) {
  using S = TypeParam;
  const rlwe::Parameters parameters = S::for_circuit({.depth = 0, .terms = 8000});
  Session<S> session(parameters);
  const rlwe::Ciphertext one = session.encrypt(session.constant(1));
  const std::vector<const rlwe::Ciphertext*> terms(8000, &one);
  session.expect(session.evaluator.add_many(terms), session.constant(8000));
  const auto bits = [](std::size_t terms_of_one) {
    const rlwe::Parameters made = S::for_circuit({.depth = 0, .terms = terms_of_one});
    return made.log_modulus(made.levels() - 1);
  };
  EXPECT_GE(bits(std::size_t{1} << 40), bits(1) + 30);
}

// 27. Slots that a plaintext modulus does not have are refused.
TYPED_TEST_P(IntegerLevels, SlotsThatThereAreNot) {
  using S = TypeParam;
  struct Has {
    std::uint64_t t;
    std::size_t slots;
  };
  for (const auto& [t, has] : {Has{17, 8}, Has{65536, 0}, Has{8191, 0}}) {
    const std::size_t wanted = has == 0 ? 4 : 2 * has;
    expect_error<ParameterError>(
        [&, modulus = t] { return S::for_circuit({.depth = 1, .plain_modulus = modulus, .slots = wanted}); },
        {std::to_string(t), has == 0 ? "no slots" : "8 slots", "plain_bits", "a single slot"});
    EXPECT_EQ(S::for_circuit({.depth = 1, .plain_modulus = t}).max_slots(), has);
  }
  EXPECT_EQ(S::for_circuit({.depth = 1, .plain_modulus = 786433, .slots = 4}).plain_modulus(), 786433U);
  // At a fixed degree: 1 modulo 2N and composite (3 * 683, a product of two primes that are 1 modulo 2N, a
  // square of one), or prime and not 1 modulo 2N (1 modulo N, which has half of the slots, -1).
  constexpr std::size_t degree = 1024;
  constexpr std::uint64_t p = 12289, q = 18433;
  for (const std::uint64_t t :
       {std::uint64_t{2049}, p * q, p * p, std::uint64_t{13313}, std::uint64_t{6143}}) {
    SCOPED_TRACE(t);
    ASSERT_TRUE(t % (2 * degree) == 1 || arith::is_prime(t));
    ASSERT_FALSE(t % (2 * degree) == 1 && arith::is_prime(t));
    const auto request = [&](std::size_t slots) {
      return integer::CircuitRequest{
          .depth = 0, .plain_modulus = t, .slots = slots, .degree = degree, .security = std::nullopt};
    };
    const std::size_t has = t == 13313 ? degree / 2 : 0;
    for (const std::size_t slots : {std::size_t{2}, degree / 2 + 1, degree}) {
      if (slots <= has) continue;
      expect_error<ParameterError>([&] { return S::for_circuit(request(slots)); },
                                   {std::to_string(t), has == 0 ? "no slots" : "512 slots",
                                    "modulo " + std::to_string(slots == 2 ? 4 : 2048)});
    }
    EXPECT_EQ(S::for_circuit(request(1)).max_slots(), has);
  }
  for (const std::uint64_t t : {p, q}) {
    EXPECT_EQ(
        S::for_circuit({.depth = 0, .plain_modulus = t, .slots = degree, .degree = degree, .security = {}})
            .max_slots(),
        degree);
  }
  // 12289 = 1 modulo 2N up to N = 2048: a circuit that needs more has as many slots, and no more.
  const rlwe::Parameters larger = S::for_circuit({.depth = 3, .plain_modulus = p, .slots = 2048});
  EXPECT_GT(larger.degree(), 2048U);
  EXPECT_EQ(larger.max_slots(), 2048U);
  expect_error<ParameterError>(
      [&] { return S::for_circuit({.depth = 0, .plain_modulus = p, .slots = 4096}); },
      {"12289 has 2048 slots", "8192"});
}

// 13. The bound holds for polynomials chosen to make noise grow: all coefficients maximal and equal, so that
// the product's energy gathers at few roots, and powers of one plaintext.
TYPED_TEST_P(IntegerLevels, BoundsHoldForChosenPlaintexts) {
  using S = TypeParam;
  Session<S> session(test_chain<S>(65537, 8));
  const std::uint64_t half = session.t.value() / 2;
  std::vector<std::pair<Values, rlwe::Encoding>> factors;
  factors.emplace_back(session.constant(half), rlwe::Encoding::coefficients);
  Values wave(session.degree());
  for (std::size_t i = 0; i < wave.size(); ++i) {
    const double angle = 3.14159265358979 * 7 * static_cast<double>(i) / static_cast<double>(wave.size());
    wave[i] = session.t.reduce_signed(std::llround(static_cast<double>(half) * std::cos(angle)));
  }
  factors.emplace_back(wave, rlwe::Encoding::coefficients);
  factors.emplace_back(session.uniform(), rlwe::Encoding::slots);
  factors.emplace_back(session.single(0, 1), rlwe::Encoding::slots);
  for (const auto& [values, encoding] : factors) {
    const rlwe::Plaintext factor = session.encode(values, {}, encoding);
    const Values a = session.uniform();
    rlwe::Ciphertext x = session.encrypt(a, {}, encoding);
    Values expected = a;
    int products = 0;
    for (;; ++products) {
      session.evaluator.multiply_plain_inplace(x, factor);
      expected = session.multiply(expected, values, encoding);
      session.expect_honest(x);
      if (S::guaranteed(x) == 0) break;
      EXPECT_EQ(session.decrypt(x), expected);
    }
    EXPECT_GE(products, 5);
    // The same polynomial as the message of a product.
    const rlwe::Ciphertext y = session.encrypt(values, {}, encoding);
    session.expect(session.evaluator.square(y), session.multiply(values, values, encoding));
  }
}

// 14. Every gadget: any number of digits, no, one or several special primes, base-2^w windows; keys limited
// to a level; secrets of fixed weight.
TYPED_TEST_P(IntegerLevels, EveryGadget) {
  using S = TypeParam;
  std::vector<rlwe::ParametersLiteral> literals;
  for (std::size_t digits = 1; digits <= 4; ++digits) {
    literals.push_back(test_chain<S>(65537, 4, (4 + digits - 1) / digits, digits).literal());
  }
  // No special prime: digits of 25-bit primes cost as much noise.
  literals.push_back(test_chain<S>(257, 8, 0, 0, 1024, 25).literal());
  literals.back().plain_modulus = 12289;
  literals.back().roots.clear();
  for (const int window : {7, 20}) {
    literals.push_back(test_chain<S>(65537, 4, 0).literal());
    literals.back().window_bits = window;
    literals.back().digits.clear();
  }
  literals.push_back(test_chain<S>(65537, 4, 1).literal());
  literals.back().secret.weight = 64;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    SCOPED_TRACE("literal " + std::to_string(i));
    Session<S> session(rlwe::Parameters(literals[i]), true);
    const Values a = session.uniform();
    const Values b = session.uniform();
    const rlwe::Ciphertext x = session.encrypt(a);
    const rlwe::Ciphertext y = session.encrypt(b);
    session.expect(session.evaluator.rotate(x, 1), session.rotate(a, 1));
    session.expect(session.evaluator.multiply(x, y), session.multiply(a, b));
    rlwe::Ciphertext low = x.clone();
    session.evaluator.drop_to_level_inplace(low, 1);
    session.expect(session.evaluator.rotate(low, 2), session.rotate(a, 2));

    rlwe::EvaluationKeys limited;
    limited.context = session.context;
    const std::uint64_t element = session.context->galois_element(1);
    limited.add(rlwe::KeyRole::galois(element), std::make_shared<const rlwe::SwitchingKey>(
                                                    rlwe::generate_galois_key(session.secret, element, 1)));
    const typename S::Evaluator evaluator(session.context, limited);
    session.expect(evaluator.rotate(low, 1), session.rotate(a, 1));
    expect_error<LevelError>([&] { return evaluator.rotate(x, 1); }, {"limited to level 1"});
  }
}

// 18. A noise of which nothing is known stays unknown: no budget, no NaN, and values are as right as ever.
TYPED_TEST_P(IntegerLevels, UnknownNoiseIsAValue) {
  using S = TypeParam;
  Session<S> session(test_chain<S>(65537, 3));
  const Values a = session.uniform();
  const Values b = session.uniform();
  rlwe::Ciphertext x = session.encrypt(a);
  const rlwe::Ciphertext y = session.encrypt(b);
  x.meta.noise_log2 = rlwe::unknown_noise;
  rlwe::Ciphertext low = y.clone();
  session.evaluator.drop_to_level_inplace(low, 1);
  const rlwe::Ciphertext sum = session.evaluator.add(x, low);  // levels and factors are brought together
  const rlwe::Ciphertext product = session.evaluator.multiply(x, y);
  const rlwe::Ciphertext small = session.evaluator.shrink(sum);
  for (const rlwe::Ciphertext* result : {&std::as_const(x), &sum, &product, &small}) {
    EXPECT_EQ(result->meta.noise_log2, rlwe::unknown_noise);
    EXPECT_EQ(S::guaranteed(*result), 0);
  }
  EXPECT_EQ(session.decrypt(sum), session.add(a, b));
  EXPECT_EQ(session.decrypt(product), session.multiply(a, b));
  EXPECT_EQ(session.decrypt(small), session.add(a, b));
}

// 15. Sharing a decryption asks for a margin of the guaranteed budget, not of the measured one.
TYPED_TEST_P(IntegerLevels, SharingNeedsAMargin) {
  using S = TypeParam;
  Session<S> session(test_chain<S>(65537, 3));
  const Values a = session.uniform();
  rlwe::Ciphertext x = session.encrypt(a);
  const auto guaranteed = static_cast<int>(S::guaranteed(x));
  EXPECT_EQ(session.encoder.decode(S::share(x, session.secret, guaranteed), false),
            session.encoder.decode(S::decrypt(x, session.secret), false));
  expect_error<NoiseError>([&] { return S::share(x, session.secret, guaranteed + 1); },
                           {std::to_string(guaranteed), std::to_string(guaranteed + 1)});
  // A smaller true noise does not help.
  x.meta.noise_log2 += 10;
  expect_error<NoiseError>([&] { return S::share(x, session.secret, guaranteed); }, {"bits of budget"});
  expect_error<ParameterError>([&] { return S::share(x, session.secret, 0); }, {"at least 1"});
}

// 16. Parameters made for a circuit hold it: sums of so many rotated products, so many times.
TYPED_TEST_P(IntegerLevels, ParametersHoldTheirCircuit) {
  using S = TypeParam;
  struct Case {
    integer::CircuitRequest request;
    int security;
  };
  const std::vector<Case> cases = {
      {{.depth = 1, .plain_bits = 17, .slots = 1000}, 128},
      {{.depth = 2, .plain_bits = 20, .terms = 1}, 128},
      {{.depth = 3, .plain_modulus = 3, .terms = 8}, 128},
      {{.depth = 0, .plain_bits = 30}, 192},
      {{.depth = 6, .plain_bits = 16, .terms = 4, .digits = 3, .degree = 1024, .security = std::nullopt}, 0},
      {{.depth = 2, .plain_bits = 45, .degree = 2048, .security = std::nullopt}, 0}};
  for (const Case& test : cases) {
    integer::CircuitRequest request = test.request;
    if (request.security) request.security = test.security;
    SCOPED_TRACE("depth " + std::to_string(request.depth) + ", bits " + std::to_string(request.plain_bits));
    const rlwe::Parameters parameters = S::for_circuit(request);
    EXPECT_GE(rlwe::bits(parameters.security()), test.security);
    EXPECT_GE(parameters.degree(), std::max(request.slots, request.degree));
    if (request.digits != 0) {
      EXPECT_EQ(parameters.digit_count(), request.digits);
    }
    if (request.plain_modulus == 0) {
      EXPECT_TRUE(parameters.has_slots());
      EXPECT_EQ(std::bit_width(parameters.plain_modulus()), static_cast<unsigned>(request.plain_bits));
    }
    for (const std::uint64_t prime : parameters.literal().levels.back())
      EXPECT_LT(prime, std::uint64_t{1} << 50);
    for (const std::uint64_t prime : parameters.literal().special_primes)
      EXPECT_LT(prime, std::uint64_t{1} << 50);

    Session<S> session(parameters, parameters.has_slots());
    Values values = session.uniform();
    if (!parameters.has_slots()) std::fill(values.begin() + 8, values.end(), 0);
    rlwe::Ciphertext x = session.encrypt(values);
    for (std::size_t depth = 0; depth < request.depth; ++depth) {
      values = session.multiply(values, values);
      x = session.evaluator.square(x);
      const Values product = values;
      const rlwe::Ciphertext term = x.clone();
      for (std::size_t i = 1; i < request.terms; ++i) {
        const bool turn = parameters.has_slots() && i == 1;
        session.evaluator.add_inplace(x, turn ? session.evaluator.rotate(term, 1) : term.clone());
        values = session.add(values, turn ? session.rotate(product, 1) : product);
      }
    }
    session.expect(x, values);
    const rlwe::Ciphertext small = session.evaluator.shrink(x);
    session.expect(small, values);
  }
}

// 17. What no parameters hold is refused with the reason (borders_test.cpp has the numbers that none take).
TYPED_TEST_P(IntegerLevels, ImpossibleRequests) {
  using S = TypeParam;
  const auto refuse = [](const integer::CircuitRequest& request, const std::vector<std::string>& parts) {
    expect_error<ParameterError>([&] { return S::for_circuit(request); }, parts);
  };
  refuse({.depth = 200, .plain_bits = 50}, {"depth 200", "degree 131072", "security"});
  refuse({.depth = 1, .plain_bits = 8}, {"no prime of 8 bits"});
  const auto refuse_chain = [](const integer::ChainRequest& request, const std::vector<std::string>& parts) {
    expect_error<ParameterError>([&] { return S::from_bits(request); }, parts);
  };
  refuse_chain({.degree = 1024, .plain_modulus = 65537}, {"prime_bits is empty"});
  refuse_chain({.degree = 32768, .plain_modulus = 65537, .prime_bits = {17, 17, 17}}, {"17 bits"});
  expect_error<SecurityError>(
      [] {
        return S::from_bits({.degree = 1024, .plain_modulus = 65537, .prime_bits = {50, 50}});
      },
      {"128", "no security level"});
}

// 18. Mistakes have typed errors that name what clashes.
TYPED_TEST_P(IntegerLevels, Mistakes) {
  using S = TypeParam;
  Session<S> session(test_chain<S>(65537, 2));
  Session<S> other(test_chain<S>(65537, 3));
  const auto& evaluator = session.evaluator;
  const Values a = session.uniform();
  const rlwe::Ciphertext x = session.encrypt(a);
  const rlwe::Ciphertext coefficients = session.encrypt(a, {}, rlwe::Encoding::coefficients);
  const rlwe::Plaintext plain = session.encode(a, {}, rlwe::Encoding::coefficients);
  const std::vector<std::string> both = {"slots", "coefficients"};
  expect_error<MismatchError>([&] { return evaluator.add(x, coefficients); }, both);
  expect_error<MismatchError>([&] { return evaluator.multiply(x, coefficients); }, both);
  rlwe::Ciphertext y = x.clone();
  expect_error<MismatchError>([&] { evaluator.add_plain_inplace(y, plain); }, both);
  expect_error<MismatchError>([&] { evaluator.subtract_plain_inplace(y, plain); }, both);
  expect_error<MismatchError>([&] { evaluator.multiply_plain_inplace(y, plain); }, both);
  const rlwe::Ciphertext higher = other.encrypt(a);  // at a level that the session does not have
  expect_error<MismatchError>([&] { return S::decrypt(higher, session.secret); }, {"contexts"});
  expect_error<MismatchError>([&] { return S::budget(higher, session.secret); }, {"contexts"});
  expect_error<MismatchError>([&] { return S::share(higher, session.secret, 8); }, {"contexts"});
  expect_error<MismatchError>([&] { return S::budget(rlwe::Ciphertext{}, session.secret); }, {"empty"});
  expect_error<MissingKeyError>([&] { return evaluator.rotate(x, 1); }, {"1", "key"});
  expect_error<MissingKeyError>([&] { return evaluator.conjugate(x); }, {"rows"});
  rlwe::EvaluationKeys none;
  none.context = session.context;
  const typename S::Evaluator keyless(session.context, none);
  expect_error<MissingKeyError>([&] { return keyless.multiply(x, x); }, {"relinearization"});
  const std::size_t n = session.degree();
  const rlwe::Ciphertext two = session.encrypt(session.uniform(2 * n), {2}, rlwe::Encoding::slots);
  const rlwe::Ciphertext three = session.encrypt(session.uniform(3 * n), {3}, rlwe::Encoding::slots);
  expect_error<MismatchError>([&] { return evaluator.multiply(two, three); }, {"{2}", "{3}"});
  expect_error<MismatchError>([&] { return evaluator.add(two, three); }, {"{2}", "{3}"});
  EXPECT_EQ(session.decrypt(y), a);  // nothing above changed it
}

// 19. In manual mode the caller aligns levels.
TYPED_TEST_P(IntegerLevels, ManualMode) {
  using S = TypeParam;
  auto literal = test_chain<S>(65537, 4).literal();
  literal.rescaling = rlwe::RescalingPolicy::manual(literal.scheme);
  Session<S> session{rlwe::Parameters(literal)};
  const auto& evaluator = session.evaluator;
  const Values a = session.uniform();
  const rlwe::Ciphertext x = session.encrypt(a);
  const rlwe::Ciphertext product = evaluator.multiply(x, x);
  EXPECT_EQ(product.meta.level, x.meta.level);
  rlwe::Ciphertext low = evaluator.rescale(x);
  const std::string upper = std::to_string(x.meta.level);
  const std::string lower = std::to_string(low.meta.level);
  expect_error<LevelError>([&] { return evaluator.add(x, low); }, {upper, lower});
  expect_error<LevelError>([&] { return evaluator.multiply(x, low); }, {upper, lower});
  rlwe::Ciphertext down = x.clone();
  evaluator.drop_to_level_inplace(down, low.meta.level);
  session.expect(evaluator.add(down, low), session.add(a, a));
  session.expect(evaluator.multiply(down, low), session.multiply(a, a));
}

REGISTER_TYPED_TEST_SUITE_P(IntegerLevels, ABatchHasItsLargestNoise, ModulusSwitchingKeepsValues,
                            ChainsUntilTheBudgetIsSpent, BoundsHoldForChosenPlaintexts, EveryGadget,
                            SharingNeedsAMargin, UnknownNoiseIsAValue, ParametersHoldTheirCircuit,
                            ImpossibleRequests, Mistakes, ManualMode, SpentBudgetsAreRefused,
                            BoundsHoldForChosenSlots, PlannedCircuitsHoldTheWorstPlaintexts,
                            SumsOfEncryptionsHoldTheirTerms, SlotsThatThereAreNot);

}  // namespace hemera::testing
