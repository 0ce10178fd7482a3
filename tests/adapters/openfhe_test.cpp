// The evaluator for programs with OpenFHE beside OpenFHE's own: the same metadata, and the same values.
#include "hemera/adapters/openfhe.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <string>
#include <thread>
#include <vector>

#include "test_device.hpp"

namespace hemera::adapters {
namespace {

namespace lib = lbcrypto;
using Host = lib::Ciphertext<lib::DCRTPoly>;
using Context = lib::CryptoContext<lib::DCRTPoly>;
using KeyMap = OpenFheEvaluator::KeyMap;

constexpr std::uint32_t degree = 2048;
constexpr std::uint32_t slots = 64;
constexpr std::int64_t plain_modulus = 65537;
constexpr std::uint32_t row_size = 16;
// Rotations of half the ring and more, and what OpenFHE takes for the conjugation of CKKS.
constexpr std::int32_t far = static_cast<std::int32_t>(degree) / 2 + 3;
constexpr std::int32_t around = 2 * static_cast<std::int32_t>(degree) - 1;

struct Setting {
  std::string name;
  lib::SCHEME scheme = lib::CKKSRNS_SCHEME;
  lib::ScalingTechnique scaling = lib::NORESCALE;
  lib::KeySwitchTechnique key_switching = lib::HYBRID;
  lib::MultiplicationTechnique multiplication = lib::HPSPOVERQLEVELED;
};

// For the names of tests.
std::ostream& operator<<(std::ostream& out, const Setting& setting) { return out << setting.name; }

template <typename Parameters>
Context made(const Setting& setting) {
  Parameters parameters;
  parameters.SetSecurityLevel(lib::HEStd_NotSet);
  parameters.SetRingDim(degree);
  parameters.SetMultiplicativeDepth(4);
  parameters.SetKeySwitchTechnique(setting.key_switching);
  if (setting.key_switching == lib::BV) parameters.SetDigitSize(10);
  if (setting.scheme != lib::BFVRNS_SCHEME) parameters.SetScalingTechnique(setting.scaling);
  if (setting.scheme == lib::BFVRNS_SCHEME) parameters.SetMultiplicationTechnique(setting.multiplication);
  if (setting.scheme == lib::CKKSRNS_SCHEME) {
    parameters.SetScalingModSize(45);
    parameters.SetFirstModSize(55);
    parameters.SetBatchSize(slots);
    parameters.SetCKKSDataType(lib::COMPLEX);
  } else {
    parameters.SetPlaintextModulus(plain_modulus);
    parameters.SetBatchSize(degree);
  }
  return lib::GenCryptoContext(parameters);
}

class OpenFheAdapter : public ::testing::TestWithParam<Setting> {
 protected:
  OpenFheAdapter() {
    const Setting& setting = GetParam();
    cc = setting.scheme == lib::CKKSRNS_SCHEME  ? made<lib::CCParams<lib::CryptoContextCKKSRNS>>(setting)
         : setting.scheme == lib::BFVRNS_SCHEME ? made<lib::CCParams<lib::CryptoContextBFVRNS>>(setting)
                                                : made<lib::CCParams<lib::CryptoContextBGVRNS>>(setting);
    for (const auto feature : {lib::PKE, lib::KEYSWITCH, lib::LEVELEDSHE, lib::ADVANCEDSHE}) {
      cc->Enable(feature);
    }
    keys = cc->KeyGen();
    cc->EvalMultKeyGen(keys.secretKey);
    cc->EvalRotateKeyGen(keys.secretKey, {1, -1, -2, far, -far, around});
    cc->EvalSumKeyGen(keys.secretKey);
    if (is_ckks()) {
      cc->EvalSumRowsKeyGen(keys.secretKey, row_size);
      cc->EvalSumRowsKeyGen(keys.secretKey, row_size, 4 * slots);
      cc->EvalSumColsKeyGen(keys.secretKey);
    }
    gpu = accelerate(cc, keys.secretKey->GetKeyTag(), tests::device().name());
    x = encrypted(1);
    y = encrypted(2);
    m = encoded(3);
  }

  [[nodiscard]] bool is_ckks() const { return GetParam().scheme == lib::CKKSRNS_SCHEME; }
  [[nodiscard]] bool is_manual() const { return GetParam().scaling == lib::FIXEDMANUAL; }

  // Small integers, for products of four are compared as they are.
  [[nodiscard]] lib::Plaintext encoded(unsigned seed, std::size_t noise_scale_degree = 1,
                                       std::uint32_t level = 0) const {
    if (is_ckks()) {
      std::vector<std::complex<double>> values(slots);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = {std::sin(static_cast<double>(seed * i)), std::cos(static_cast<double>(seed + i)) / 2};
      }
      return cc->MakeCKKSPackedPlaintext(values, noise_scale_degree, level);
    }
    std::vector<std::int64_t> values(degree);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int64_t>(i * i * seed + 7) % plain_modulus - plain_modulus / 2;
    }
    return cc->MakePackedPlaintext(values, noise_scale_degree, level);
  }
  [[nodiscard]] Host encrypted(unsigned seed) const { return cc->Encrypt(keys.publicKey, encoded(seed)); }

  [[nodiscard]] std::vector<std::complex<double>> values(const Host& ciphertext) const {
    lib::Plaintext plain;
    cc->Decrypt(keys.secretKey, ciphertext, &plain);
    if (is_ckks()) return plain->GetCKKSPackedValue();
    const auto& integers = plain->GetPackedValue();
    return {integers.begin(), integers.end()};
  }
  void expect_same(const Host& mine, const Host& wanted, double factor_tolerance = 1e-14) const {
    EXPECT_EQ(mine->GetLevel(), wanted->GetLevel());
    EXPECT_EQ(mine->GetNoiseScaleDeg(), wanted->GetNoiseScaleDeg());
    EXPECT_LE(std::abs(mine->GetScalingFactor() / wanted->GetScalingFactor() - 1), factor_tolerance);
    EXPECT_EQ(mine->GetScalingFactorInt(), wanted->GetScalingFactorInt());
    EXPECT_EQ(mine->GetSlots(), wanted->GetSlots());
    EXPECT_EQ(mine->GetEncodingType(), wanted->GetEncodingType());
    EXPECT_EQ(mine->GetKeyTag(), wanted->GetKeyTag());
    ASSERT_EQ(mine->GetElements().size(), wanted->GetElements().size());
    for (std::size_t i = 0; i < mine->GetElements().size(); ++i) {
      EXPECT_EQ(mine->GetElements()[i].GetFormat(), wanted->GetElements()[i].GetFormat());
      EXPECT_EQ(*mine->GetElements()[i].GetParams(), *wanted->GetElements()[i].GetParams());
    }
    expect_values(mine, values(wanted), 1);
    // OpenFHE adds what has one level without looking at the factors.
    expect_values(cc->EvalAdd(mine, wanted), values(wanted), 2);
  }
  void expect_values(const Host& mine, const std::vector<std::complex<double>>& wanted, double times) const {
    const auto found = values(mine);
    ASSERT_EQ(found.size(), wanted.size());
    double error = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::complex<double> difference = found[i] - times * wanted[i];
      if (!is_ckks()) difference = std::remainder(difference.real(), static_cast<double>(plain_modulus));
      error = std::max(error, std::abs(difference));
    }
    EXPECT_LE(error, is_ckks() ? 1e-4 : 0);
  }

  Context cc;
  lib::KeyPair<lib::DCRTPoly> keys;
  std::shared_ptr<const OpenFheEvaluator> gpu;
  Host x, y;
  lib::Plaintext m;
};

INSTANTIATE_TEST_SUITE_P(
    , OpenFheAdapter,
    ::testing::Values(Setting{"ckks_fixedmanual", lib::CKKSRNS_SCHEME, lib::FIXEDMANUAL},
                      Setting{"ckks_fixedauto", lib::CKKSRNS_SCHEME, lib::FIXEDAUTO},
                      Setting{"ckks_flexibleauto", lib::CKKSRNS_SCHEME, lib::FLEXIBLEAUTO},
                      Setting{"ckks_flexibleautoext", lib::CKKSRNS_SCHEME, lib::FLEXIBLEAUTOEXT},
                      Setting{"ckks_bv", lib::CKKSRNS_SCHEME, lib::FLEXIBLEAUTO, lib::BV},
                      Setting{"bgv_fixedmanual", lib::BGVRNS_SCHEME, lib::FIXEDMANUAL},
                      Setting{"bgv_fixedauto", lib::BGVRNS_SCHEME, lib::FIXEDAUTO},
                      Setting{"bgv_flexibleauto", lib::BGVRNS_SCHEME, lib::FLEXIBLEAUTO},
                      Setting{"bgv_flexibleautoext", lib::BGVRNS_SCHEME, lib::FLEXIBLEAUTOEXT},
                      Setting{"bfv_hps_over_q_leveled", lib::BFVRNS_SCHEME},
                      Setting{"bfv_behz", lib::BFVRNS_SCHEME, lib::NORESCALE, lib::HYBRID, lib::BEHZ}),
    [](const auto& test) { return test.param.name; });

// Every operation, by the same words for both evaluators.
template <typename Ciphertext, typename Evaluator>
std::vector<Ciphertext> run(const Evaluator& evaluator, const Host& x, const Host& y, lib::Plaintext m,
                            const KeyMap& keys, const Setting& setting) {
  std::vector<Ciphertext> all;
  const auto add = [&](const Ciphertext& result) { return all.emplace_back(result); };
  const bool manual = setting.scaling == lib::FIXEDMANUAL;
  const bool ckks = setting.scheme == lib::CKKSRNS_SCHEME;
  add(evaluator->EvalNegate(x));
  add(evaluator->EvalAdd(x, y));
  add(evaluator->EvalSub(x, y));
  add(evaluator->EvalAdd(x, m));
  add(evaluator->EvalAdd(m, x));
  add(evaluator->EvalSub(x, m));
  add(evaluator->EvalSub(m, x));
  add(evaluator->EvalSquare(x));
  add(evaluator->EvalMult(m, x));
  add(evaluator->EvalRotate(x, 1));
  // The rows are exchanged, too; CKKS is conjugated by the last one.
  for (const std::int32_t steps : {far, -far, around}) add(evaluator->EvalRotate(x, steps));
  add(evaluator->EvalAtIndex(x, -2));
  add(evaluator->EvalRotate(evaluator->EvalMult(x, x), 1));
  const Ciphertext wide = add(evaluator->EvalMultNoRelin(x, y));
  // OpenFHE adds BFV's coefficients to residues of the transform, and under FIXEDMANUAL scales that differ.
  if (setting.scheme != lib::BFVRNS_SCHEME && !manual) add(evaluator->EvalAdd(wide, x));
  const Ciphertext narrow = add(evaluator->Relinearize(wide));
  add(evaluator->Rescale(narrow));
  add(evaluator->ModReduce(narrow));
  // Operands of different levels and degrees.
  const Ciphertext product = add(evaluator->EvalMult(x, y));
  if (!manual) {
    add(evaluator->EvalAdd(product, x));
    add(evaluator->EvalSub(y, product));
  }
  add(evaluator->EvalAdd(product, m));
  const Ciphertext low = evaluator->Rescale(product);
  Ciphertext square = evaluator->EvalSquare(low);
  evaluator->ModReduceInPlace(square);
  const Ciphertext deep = add(evaluator->EvalMult(square, y));
  if (!manual) add(evaluator->EvalAdd(deep, x));
  add(evaluator->EvalMult(evaluator->Rescale(deep), m));
  add(evaluator->EvalAdd(evaluator->EvalMult(low, m), m));
  // In place, which changes what other pointers of OpenFHE's see.
  Ciphertext places = evaluator->EvalNegate(x);
  evaluator->EvalAddInPlace(places, y);
  evaluator->EvalSubInPlace(places, m);
  evaluator->EvalNegateInPlace(places);
  evaluator->EvalSquareInPlace(places);
  evaluator->RescaleInPlace(places);
  if (ckks) evaluator->EvalMultInPlace(places, 0.5);
  if (setting.scheme != lib::BFVRNS_SCHEME) {
    add(evaluator->LevelReduce(x, nullptr, 2));
    evaluator->LevelReduceInPlace(places, nullptr);
  }
  add(places);
  // Sums of many ciphertexts, of different levels where that is allowed.
  const std::vector<Ciphertext> alike{evaluator->EvalNegate(x), evaluator->EvalNegate(y),
                                      evaluator->EvalAdd(x, y)};
  const std::vector<Ciphertext> mixed{alike[0], low, alike[1], product, alike[2]};
  const std::vector<Ciphertext>& many = manual ? alike : mixed;
  add(evaluator->EvalAddMany(many));
  std::vector<Ciphertext> changing = many;
  if (setting.scheme != lib::BFVRNS_SCHEME || manual) add(evaluator->EvalAddManyInPlace(changing));
  add(evaluator->EvalMultMany(alike));
  add(evaluator->EvalMultAndRelinearize(x, y));
  add(evaluator->EvalMerge(std::vector<Ciphertext>{alike[0], alike[1]}));
  const auto digits = evaluator->EvalFastRotationPrecompute(x);
  add(evaluator->EvalFastRotation(x, 1, 2 * degree, digits));
  add(evaluator->EvalFastRotation(x, 0, 2 * degree, digits));
  add(evaluator->EvalFastRotation(x, static_cast<std::uint32_t>(far), 2 * degree, digits));
  add(evaluator->EvalFastRotation(x, static_cast<std::uint32_t>(-far), digits));
  add(evaluator->EvalFastRotation(x, static_cast<std::uint32_t>(-2), digits));
  const std::uint32_t batch = ckks ? slots : degree;
  add(evaluator->EvalSum(x, batch));
  add(evaluator->EvalSum(product, 8));
  add(evaluator->EvalInnerProduct(x, y, batch));
  add(evaluator->EvalInnerProduct(x, m, 16));
  add(evaluator->EvalAutomorphism(x, 5, keys));
  if (setting.scheme == lib::BFVRNS_SCHEME) return all;  // OpenFHE refuses the forms that follow
  // OpenFHE changes the operands of these, so that each has its own.
  const auto with_own = [&](const auto& operation) {
    Host first = x->Clone();
    Host second = y->Clone();
    add(operation(first, second));
  };
  with_own([&](Host& a, Host& b) { return evaluator->EvalAddMutable(a, b); });
  with_own([&](Host& a, Host& b) { return evaluator->EvalSubMutable(a, b); });
  with_own([&](Host& a, Host& b) { return evaluator->EvalMultMutable(a, b); });
  with_own([&](Host& a, Host& /*b*/) { return evaluator->EvalSquareMutable(a); });
  Ciphertext mutated = evaluator->EvalNegate(x), by = evaluator->EvalNegate(y);
  evaluator->EvalAddMutableInPlace(mutated, by);
  evaluator->EvalMultMutableInPlace(mutated, by);
  add(mutated);
  if (!ckks) return all;
  add(evaluator->EvalSumRows(x, row_size, keys));
  add(evaluator->EvalSumRows(product, row_size, keys, 4 * slots));
  add(evaluator->EvalSumCols(x, row_size, keys));
  add(evaluator->EvalSumCols(low, 4, keys));
  std::vector<Host> hosts{x->Clone(), y->Clone()};
  add(evaluator->EvalLinearWSumMutable(hosts, std::vector<double>{0.5, -0.25}));
  std::vector<lib::ReadOnlyCiphertext<lib::DCRTPoly>> terms{x, y, x};
  add(evaluator->EvalLinearWSum(terms, std::vector<double>{0.5, -0.25, 1.5}));
  for (const double number : {0.5, -1.25, 3.0}) {
    add(evaluator->EvalMult(x, number));
    add(evaluator->EvalAdd(x, number));
    add(evaluator->EvalSub(x, number));
    add(evaluator->EvalAdd(number, product));
    add(evaluator->EvalSub(number, product));
    add(evaluator->EvalMult(number, low));
  }
  const std::complex<double> number{0.5, -0.75};
  add(evaluator->EvalMult(x, number));
  add(evaluator->EvalAdd(number, x));
  add(evaluator->EvalSub(x, number));
  return all;
}

TEST_P(OpenFheAdapter, GivesWhatOpenFheGives) {
  const KeyMap& map = cc->GetEvalAutomorphismKeyMap(keys.secretKey->GetKeyTag());
  const auto wanted = run<Host>(cc, x, y, m, map, GetParam());
  const auto stay = run<OpenFheCiphertext>(gpu, x, y, m, map, GetParam());
  const auto travel = run<Host>(gpu, x, y, m, map, GetParam());
  ASSERT_EQ(stay.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(stay[i]->GetLevel(), wanted[i]->GetLevel());
    EXPECT_EQ(stay[i]->GetNoiseScaleDeg(), wanted[i]->GetNoiseScaleDeg());
    EXPECT_EQ(stay[i]->GetSlots(), wanted[i]->GetSlots());
    EXPECT_EQ(stay[i]->NumberCiphertextElements(), wanted[i]->NumberCiphertextElements());
    expect_same(stay[i], wanted[i]);
    expect_same(travel[i], wanted[i]);
  }
}

// Results of functions are rescaled: OpenFHE's wait, but under FIXEDMANUAL.
TEST_P(OpenFheAdapter, TakesPolynomials) {
  const std::vector<double> cubic{0.5, 1.25, -0.5, 0.25};
  if (!is_ckks()) {
    EXPECT_THROW(static_cast<void>(gpu->EvalPoly(x, cubic)), ParameterError);
    EXPECT_THROW(static_cast<void>(gpu->EvalLinearWSum(std::vector<Host>{x}, cubic)), ParameterError);
    return;
  }
  // Real values between -1 and 1, for the interval.
  std::vector<std::complex<double>> real(slots);
  for (std::size_t i = 0; i < real.size(); ++i) real[i] = std::sin(static_cast<double>(i));
  const Host z = cc->Encrypt(keys.publicKey, cc->MakeCKKSPackedPlaintext(real));
  const auto expect_alike = [&](const OpenFheCiphertext& mine, const Host& wanted) {
    EXPECT_EQ(mine->GetNoiseScaleDeg(), 1);
    EXPECT_EQ(mine->GetLevel(), wanted->GetLevel() + wanted->GetNoiseScaleDeg() - 1);
    const Host host = mine;
    expect_values(host, values(wanted), 1);
    expect_values(cc->EvalAdd(host, wanted), values(wanted), 2);
    if (is_manual()) expect_same(host, wanted);
  };
  for (const std::vector<double>& coefficients : {std::vector<double>{0.5, 0.25},
                                                  {0.5, 0.25, -1},
                                                  cubic,
                                                  {0, 1, 0, 0.5},
                                                  {0, 0, 0.5, 0.25, 1},
                                                  {1, 0.5, 0.25, 0.125, -1, 0.5},
                                                  {1, 0, 0.25, 0, -1, 0.5, 0.25, 0.75}}) {
    SCOPED_TRACE(coefficients.size());
    expect_alike(gpu->EvalPoly(z, coefficients), cc->EvalPoly(z, coefficients));
    expect_alike(gpu->EvalPolyLinear(z, coefficients), cc->EvalPolyLinear(z, coefficients));
    expect_alike(gpu->EvalPolyWithPrecomp(gpu->EvalPowers(z, coefficients), coefficients),
                 cc->EvalPolyWithPrecomp(cc->EvalPowers(z, coefficients), coefficients));
    // OpenFHE's values are others for lower degrees by Paterson and Stockmeyer.
    if (coefficients.size() < 4) continue;
    expect_alike(gpu->EvalPolyPS(z, coefficients), cc->EvalPolyPS(z, coefficients));
    expect_alike(gpu->EvalChebyshevSeries(z, coefficients, -1, 1),
                 cc->EvalChebyshevSeries(z, coefficients, -1, 1));
    expect_alike(gpu->EvalChebyshevSeriesLinear(z, coefficients, -1, 1),
                 cc->EvalChebyshevSeriesLinear(z, coefficients, -1, 1));
    expect_alike(gpu->EvalChebyshevSeriesPS(z, coefficients, -1, 1),
                 cc->EvalChebyshevSeriesPS(z, coefficients, -1, 1));
    expect_alike(
        gpu->EvalChebyshevSeriesWithPrecomp(gpu->EvalChebyPolys(z, coefficients, -1, 1), coefficients),
        cc->EvalChebyshevSeriesWithPrecomp(cc->EvalChebyPolys(z, coefficients, -1, 1), coefficients));
  }
  // Powers serve lower degrees, too, by the levels of their own.
  const std::vector<double> seventh{1, 0, 0.25, 0, -1, 0.5, 0.25, 0.75};
  const std::vector<double> fifth{0.5, 0.25, 0, 0.125, -0.5, 1};
  expect_alike(gpu->EvalPolyWithPrecomp(gpu->EvalPowers(z, seventh), fifth),
               cc->EvalPolyWithPrecomp(cc->EvalPowers(z, seventh), fifth));
  expect_alike(gpu->EvalPolyWithPrecomp(gpu->EvalPowers(z, seventh), std::vector<double>{0.5, 0.25}),
               cc->EvalPolyWithPrecomp(cc->EvalPowers(z, seventh), std::vector<double>{0.5, 0.25}));
  EXPECT_THROW(static_cast<void>(gpu->EvalPolyWithPrecomp(gpu->EvalPowers(z, cubic), fifth)), ParameterError);
  expect_alike(gpu->EvalChebyshevSeriesLinear(z, cubic, -2, 3),
               cc->EvalChebyshevSeriesLinear(z, cubic, -2, 3));
  expect_alike(gpu->EvalChebyshevSeriesPS(z, cubic, -2, 3), cc->EvalChebyshevSeriesPS(z, cubic, -2, 3));
  expect_alike(gpu->EvalChebyshevSeries(z, cubic, -2, 3), cc->EvalChebyshevSeries(z, cubic, -2, 3));
  expect_alike(gpu->EvalLogistic(z, -1, 1, 5), cc->EvalLogistic(z, -1, 1, 5));
  expect_alike(gpu->EvalSin(z, -1, 1, 7), cc->EvalSin(z, -1, 1, 7));
  expect_alike(gpu->EvalCos(z, -1, 1, 6), cc->EvalCos(z, -1, 1, 6));
  EXPECT_THROW(static_cast<void>(gpu->EvalPoly(z, std::vector<double>(20, 1))), LevelError);
  EXPECT_THROW(static_cast<void>(gpu->EvalPoly(z, std::vector<double>{1})), ParameterError);
}

// Plaintexts of a lower level bring the ciphertext down, those of two factors of the scale count twice.
TEST_P(OpenFheAdapter, TakesPlaintextsOfOtherLevelsAndDegrees) {
  if (GetParam().scheme == lib::BFVRNS_SCHEME) GTEST_SKIP() << "BFV's plaintexts have neither";
  auto low = encoded(4, 1, 2);
  // OpenFHE 1.5.1 loses the ciphertext under CKKS's FIXEDAUTO.
  if (!is_ckks() || GetParam().scaling != lib::FIXEDAUTO) {
    expect_same(gpu->EvalAdd(x, low), cc->EvalAdd(x, low));
    expect_same(gpu->EvalSub(x, low), cc->EvalSub(x, low));
    expect_same(gpu->EvalMult(x, low), cc->EvalMult(x, low));
  }
  if (!is_manual()) return;
  auto twice = encoded(5, 2);
  const Host wanted = cc->EvalMult(x, twice);
  const Host found = gpu->EvalMult(x, twice);
  EXPECT_EQ(found->GetNoiseScaleDeg(), 3);
  // OpenFHE counts the scale of such a plaintext once, and decrypts by the degree.
  if (is_ckks()) wanted->SetScalingFactor(found->GetScalingFactor());
  expect_same(found, wanted);
  if (!is_ckks()) return;
  EXPECT_THROW(static_cast<void>(gpu->EvalAdd(x, twice)), ScaleError);
}

// OpenFHE drops limbs without adjusting the factor, which is so near to the level's that it is taken for it.
TEST_P(OpenFheAdapter, Compresses) {
  if (GetParam().scheme == lib::BFVRNS_SCHEME) {
    EXPECT_THROW(static_cast<void>(gpu->Compress(x, 2)), ParameterError);
    return;
  }
  const Host product = cc->EvalMult(x, y);
  expect_same(gpu->Compress(x, 2), cc->Compress(x, 2), 1e-8);
  expect_same(gpu->Compress(product), cc->Compress(product), 1e-8);
  expect_same(gpu->Compress(product, 3, 2), cc->Compress(product, 3, 2), 1e-8);
  EXPECT_THROW(static_cast<void>(gpu->Compress(x, 1, 2)), ParameterError);
}

TEST_P(OpenFheAdapter, ResultsOutliveTheEvaluatorAndConvertWhereOpenFheNeedsThem) {
  auto sum = gpu->EvalAdd(gpu->Upload(x), y);
  gpu.reset();
  lib::Plaintext plain;
  cc->Decrypt(keys.secretKey, sum, &plain);
  const Host host = sum;
  expect_same(host, cc->EvalAdd(x, y));
  expect_same(cc->EvalMult(sum, sum), cc->EvalMult(host, host));
}

TEST_P(OpenFheAdapter, ChangesInPlaceWhatOtherPointersSee) {
  const Host other = x;
  const Host wanted = cc->EvalAdd(x, y);
  gpu->EvalAddInPlace(x, y);
  expect_same(other, wanted);
}

TEST_P(OpenFheAdapter, ErrorsAreExceptions) {
  EXPECT_THROW(static_cast<void>(gpu->EvalFastRotation(x, 11, gpu->EvalFastRotationPrecompute(x))),
               MissingKeyError);
  EXPECT_THROW(static_cast<void>(gpu->EvalAddMany(std::vector<Host>())), MismatchError);
  EXPECT_THROW(static_cast<void>(gpu->EvalAutomorphism(x, 11, {})), MissingKeyError);
  EXPECT_THROW(static_cast<void>(gpu->EvalSumRows(x, 0, {})), ParameterError);
  EXPECT_THROW(static_cast<void>(gpu->EvalSumCols(x, 2 * slots, {})), ParameterError);
  EXPECT_THROW(static_cast<void>(gpu->EvalNegate(Host())), MismatchError);
  EXPECT_THROW(static_cast<void>(gpu->EvalAdd(x, lib::Plaintext())), MismatchError);
  // Another key pair, and another context.
  const auto others = cc->KeyGen();
  const auto stranger = cc->Encrypt(others.publicKey, m);
  EXPECT_THROW(static_cast<void>(gpu->EvalNegate(stranger)), MismatchError);
  EXPECT_THROW(static_cast<void>(accelerate(cc, others.secretKey->GetKeyTag())->EvalRotate(stranger, 1)),
               MissingKeyError);
  EXPECT_THROW(static_cast<void>(accelerate(cc, others.secretKey->GetKeyTag())->EvalNegate(x)),
               MismatchError);
  EXPECT_THROW(static_cast<void>(accelerate(nullptr, "")), MismatchError);
  auto damaged = x->Clone();
  auto& limb = damaged->GetElements()[0].GetAllElements()[0];
  limb[0] = limb.GetModulus();
  EXPECT_THROW(static_cast<void>(gpu->EvalNegate(damaged)), FormatError);
  if (is_ckks()) return;
  EXPECT_THROW(static_cast<void>(gpu->EvalMult(x, 2.0)), ParameterError);
  EXPECT_THROW(static_cast<void>(gpu->EvalBootstrap(x)), Error);
}

TEST_P(OpenFheAdapter, ServesThreads) {
  const Host wanted = cc->EvalMult(x, y);
  std::vector<Host> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { result = gpu->EvalMult(x, y); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) expect_same(result, wanted);
}

TEST(OpenFheAdapterBootstrap, IsOpenFhes) {
  lib::CCParams<lib::CryptoContextCKKSRNS> parameters;
  parameters.SetSecurityLevel(lib::HEStd_NotSet);
  parameters.SetRingDim(degree);
  parameters.SetScalingTechnique(lib::FLEXIBLEAUTO);
  parameters.SetScalingModSize(59);
  parameters.SetFirstModSize(60);
  parameters.SetBatchSize(8);
  parameters.SetSecretKeyDist(lib::SPARSE_ENCAPSULATED);
  const auto depth = 3 + lib::FHECKKSRNS::GetBootstrapDepth({1, 1}, lib::SPARSE_ENCAPSULATED);
  parameters.SetMultiplicativeDepth(depth);
  const Context cc = lib::GenCryptoContext(parameters);
  for (const auto feature : {lib::PKE, lib::KEYSWITCH, lib::LEVELEDSHE, lib::ADVANCEDSHE, lib::FHE}) {
    cc->Enable(feature);
  }
  cc->EvalBootstrapSetup({1, 1}, {0, 0}, 8);
  const auto keys = cc->KeyGen();
  cc->EvalMultKeyGen(keys.secretKey);
  cc->EvalBootstrapKeyGen(keys.secretKey, 8);
  const auto gpu = accelerate(cc, keys.secretKey->GetKeyTag(), tests::device().name());

  const std::vector<double> clear{0.5, -0.25, 1, 0, -1, 0.125, 0.75, -0.5};
  const auto x = cc->Encrypt(keys.publicKey, cc->MakeCKKSPackedPlaintext(clear, 1, depth - 1, nullptr, 8));
  const Host mine = gpu->EvalBootstrap(x);
  EXPECT_EQ(gpu->bootstraps(), 1U);
  const Host wanted = cc->EvalBootstrap(x);
  EXPECT_EQ(mine->GetLevel(), wanted->GetLevel());
  EXPECT_EQ(mine->GetNoiseScaleDeg(), wanted->GetNoiseScaleDeg());
  EXPECT_LE(std::abs(mine->GetScalingFactor() / wanted->GetScalingFactor() - 1), 1e-14);
  lib::Plaintext plain;
  cc->Decrypt(keys.secretKey, mine, &plain);
  for (std::size_t i = 0; i < clear.size(); ++i) {
    EXPECT_NEAR(plain->GetRealPackedValue()[i], clear[i], 0x1p-15);
  }
}

}  // namespace
}  // namespace hemera::adapters
