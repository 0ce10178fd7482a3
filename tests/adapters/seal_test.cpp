// The evaluator for programs with SEAL beside SEAL's own: the same metadata, and the same values.
#include "hemera/adapters/seal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <string>
#include <thread>
#include <vector>

#include "test_device.hpp"

namespace hemera::adapters {
namespace {

constexpr std::size_t degree = 8192;
constexpr double scale = 0x1p40;

class SealAdapter : public ::testing::TestWithParam<::seal::scheme_type> {
 protected:
  SealAdapter() : context(parms()), keys(context) {
    keys.create_public_key(public_key);
    keys.create_relin_keys(relin);
    keys.create_galois_keys(std::vector<int>{0, 1, -2}, galois);
    encryptor = std::make_unique<::seal::Encryptor>(context, public_key);
    decryptor = std::make_unique<::seal::Decryptor>(context, keys.secret_key());
    theirs = std::make_unique<::seal::Evaluator>(context);
    ours = accelerate(context, relin, galois, tests::device().name());
    x = encrypted(1);
    y = encrypted(2);
    m = encoded(3);
  }

  static ::seal::EncryptionParameters parms() {
    ::seal::EncryptionParameters parms(GetParam());
    parms.set_poly_modulus_degree(degree);
    if (GetParam() == ::seal::scheme_type::ckks) {
      parms.set_coeff_modulus(::seal::CoeffModulus::Create(degree, {50, 40, 40, 50}));
    } else {
      parms.set_coeff_modulus(::seal::CoeffModulus::BFVDefault(degree));
      parms.set_plain_modulus(65537);
    }
    return parms;
  }
  [[nodiscard]] static bool is_ckks() { return GetParam() == ::seal::scheme_type::ckks; }

  [[nodiscard]] ::seal::Plaintext encoded(unsigned seed) const {
    ::seal::Plaintext plain;
    if (is_ckks()) {
      std::vector<std::complex<double>> values(degree / 2);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = {std::sin(static_cast<double>(seed * i)), std::cos(static_cast<double>(seed + i))};
      }
      ::seal::CKKSEncoder(context).encode(values, scale, plain);
    } else {
      std::vector<std::uint64_t> values(degree);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = (i * i * seed + 7) % 65537;
      ::seal::BatchEncoder(context).encode(values, plain);
    }
    return plain;
  }
  [[nodiscard]] ::seal::Ciphertext encrypted(unsigned seed) const {
    ::seal::Ciphertext ciphertext;
    encryptor->encrypt(encoded(seed), ciphertext);
    return ciphertext;
  }
  [[nodiscard]] std::vector<std::complex<double>> values(const ::seal::Ciphertext& ciphertext) const {
    ::seal::Plaintext plain;
    decryptor->decrypt(ciphertext, plain);
    std::vector<std::complex<double>> result;
    if (is_ckks()) {
      ::seal::CKKSEncoder(context).decode(plain, result);
    } else {
      std::vector<std::uint64_t> integers;
      ::seal::BatchEncoder(context).decode(plain, integers);
      result.assign(integers.begin(), integers.end());
    }
    return result;
  }
  void expect_same(const ::seal::Ciphertext& mine, const ::seal::Ciphertext& wanted) const {
    EXPECT_EQ(mine.parms_id(), wanted.parms_id());
    EXPECT_EQ(mine.size(), wanted.size());
    EXPECT_EQ(mine.is_ntt_form(), wanted.is_ntt_form());
    EXPECT_LE(std::abs(mine.scale() / wanted.scale() - 1), 1e-14);
    EXPECT_EQ(mine.correction_factor(), wanted.correction_factor());
    const auto a = values(mine);
    const auto b = values(wanted);
    double error = 0;
    for (std::size_t i = 0; i < a.size(); ++i) error = std::max(error, std::abs(a[i] - b[i]));
    EXPECT_LE(error, is_ckks() ? 1e-4 : 0);
  }

  ::seal::SEALContext context;
  ::seal::KeyGenerator keys;
  ::seal::PublicKey public_key;
  ::seal::RelinKeys relin;
  ::seal::GaloisKeys galois;
  std::unique_ptr<::seal::Encryptor> encryptor;
  std::unique_ptr<::seal::Decryptor> decryptor;
  std::unique_ptr<::seal::Evaluator> theirs;
  std::shared_ptr<const SealEvaluator> ours;
  ::seal::Ciphertext x, y;
  ::seal::Plaintext m;
};

INSTANTIATE_TEST_SUITE_P(, SealAdapter,
                         ::testing::Values(::seal::scheme_type::bfv, ::seal::scheme_type::bgv,
                                           ::seal::scheme_type::ckks),
                         [](const auto& test) {
                           return std::string(test.param == ::seal::scheme_type::bfv   ? "bfv"
                                              : test.param == ::seal::scheme_type::bgv ? "bgv"
                                                                                       : "ckks");
                         });

// Every operation, by the same words for both evaluators.
template <typename Evaluator, typename Ciphertext, typename Plaintext>
std::vector<Ciphertext> run(const Evaluator& evaluator, const ::seal::Ciphertext& x,
                            const ::seal::Ciphertext& y, const ::seal::Plaintext& m,
                            const ::seal::RelinKeys& relin, const ::seal::GaloisKeys& galois, bool ckks,
                            const ::seal::SEALContext& context) {
  std::vector<Ciphertext> all(20);
  std::size_t next = 0;
  const auto result = [&]() -> Ciphertext& { return all.at(next++); };
  evaluator.negate(x, result());
  evaluator.add(x, y, result());
  evaluator.sub(x, y, result());
  evaluator.add_many(std::vector<::seal::Ciphertext>{x, y, x}, result());
  Ciphertext& product = result();
  evaluator.multiply(x, y, product);
  Ciphertext& relinearized = result();
  evaluator.relinearize(product, relin, relinearized);
  evaluator.add_plain(x, m, result());
  evaluator.sub_plain(x, m, result());
  evaluator.multiply_plain(x, m, result());
  evaluator.apply_galois(x, 3, galois, result());
  Ciphertext& lower = result();
  evaluator.mod_switch_to_next(x, lower);
  evaluator.mod_switch_to(x, context.last_parms_id(), result());
  Ciphertext& power = result();
  evaluator.square(x, power);
  evaluator.relinearize_inplace(power, relin);
  Ciphertext& turned = result();
  if (ckks) {
    evaluator.rescale_to_next_inplace(power);
    evaluator.rotate_vector(x, 1, galois, turned);
    evaluator.rotate_vector_inplace(turned, -2, galois);
    evaluator.complex_conjugate_inplace(turned, galois);
    evaluator.rescale_to_next(relinearized, result());
  } else {
    evaluator.mod_switch_to_next_inplace(power);
    evaluator.rotate_rows(x, 1, galois, turned);
    evaluator.rotate_rows_inplace(turned, -2, galois);
    evaluator.rotate_columns_inplace(turned, galois);
    // Correction factors that differ are balanced.
    evaluator.add(power, lower, result());
    evaluator.exponentiate(x, 2, relin, result());
    // A sum of products in NTT form.
    Plaintext factor;
    evaluator.transform_to_ntt(m, x.parms_id(), factor);
    Ciphertext& sum = result();
    Ciphertext& other = result();
    const bool transforms = !x.is_ntt_form();
    if (transforms) {
      evaluator.transform_to_ntt(x, sum);
      evaluator.transform_to_ntt(y, other);
    } else {
      evaluator.negate(x, sum);
      evaluator.negate(y, other);
    }
    evaluator.multiply_plain_inplace(sum, factor);
    evaluator.multiply_plain_inplace(other, factor);
    evaluator.add_inplace(sum, other);
    if (transforms) {
      evaluator.transform_from_ntt_inplace(sum);
      evaluator.transform_from_ntt_inplace(other);
    }
    evaluator.multiply_plain(x, factor, result());
  }
  all.resize(next);
  return all;
}

TEST_P(SealAdapter, GivesWhatSealGives) {
  const auto wanted = run<::seal::Evaluator, ::seal::Ciphertext, ::seal::Plaintext>(
      *theirs, x, y, m, relin, galois, is_ckks(), context);
  const auto stay =
      run<SealEvaluator, SealCiphertext, SealPlaintext>(*ours, x, y, m, relin, galois, is_ckks(), context);
  const auto travel = run<SealEvaluator, ::seal::Ciphertext, SealPlaintext>(*ours, x, y, m, relin, galois,
                                                                            is_ckks(), context);
  ASSERT_EQ(stay.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(stay[i].size(), wanted[i].size());
    expect_same(stay[i], wanted[i]);
    expect_same(travel[i], wanted[i]);
  }
}

std::vector<std::uint64_t> words(const ::seal::Ciphertext& ciphertext) {
  const std::size_t count =
      ciphertext.size() * ciphertext.coeff_modulus_size() * ciphertext.poly_modulus_degree();
  return {ciphertext.data(), ciphertext.data() + count};
}

TEST_P(SealAdapter, FormsAreSeals) {
  const auto turn = [&](const auto& evaluator, const auto& from, bool to_ntt, auto& to) {
    to_ntt ? evaluator.transform_to_ntt(from, to) : evaluator.transform_from_ntt(from, to);
  };
  const bool usual = x.is_ntt_form();
  ::seal::Ciphertext wanted, travels, back;
  SealCiphertext stays;
  turn(*theirs, x, !usual, wanted);
  turn(*ours, x, !usual, travels);
  turn(*ours, ours->upload(x), !usual, stays);
  for (const ::seal::Ciphertext& mine : {travels, ::seal::Ciphertext(stays)}) {
    EXPECT_EQ(mine.is_ntt_form(), wanted.is_ntt_form());
    EXPECT_EQ(mine.parms_id(), wanted.parms_id());
    EXPECT_EQ(words(mine), words(wanted));
    turn(*ours, mine, usual, back);
    EXPECT_EQ(words(back), words(x));
    EXPECT_EQ(back.is_ntt_form(), usual);
  }
  EXPECT_THROW(turn(*ours, x, usual, back), MismatchError);
  EXPECT_THROW(turn(*ours, SealCiphertext(), true, stays), MismatchError);
  // Any operation takes either form, and keeps the first one's.
  ::seal::Ciphertext sum;
  theirs->add(x, y, sum);
  ours->add(stays, y, stays);
  EXPECT_EQ(stays.is_ntt_form(), !usual);
  turn(*ours, stays, usual, stays);
  expect_same(stays, sum);
}

TEST_P(SealAdapter, PlaintextsStayOnTheDeviceAndComeInNttForm) {
  ::seal::Ciphertext product, sum;
  theirs->multiply_plain(x, m, product);
  theirs->add_plain(x, m, sum);
  SealCiphertext mine;
  const SealPlaintext there = ours->upload(m);
  ours->multiply_plain(x, there, mine);
  expect_same(mine, product);
  ours->add_plain(x, there, mine);
  expect_same(mine, sum);
  SealPlaintext prepared;
  EXPECT_THROW(ours->multiply_plain(x, prepared, mine), MismatchError);
  if (is_ckks()) {
    EXPECT_THROW(ours->transform_to_ntt(m, x.parms_id(), prepared), MismatchError);
    return;
  }
  // Transformed by SEAL, or here for a level that is not the ciphertext's.
  ::seal::Plaintext transformed;
  theirs->transform_to_ntt(m, x.parms_id(), transformed);
  ours->multiply_plain(x, transformed, mine);
  expect_same(mine, product);
  ours->add_plain(x, transformed, mine);
  expect_same(mine, sum);
  ours->transform_to_ntt(m, context.last_parms_id(), prepared);
  ours->multiply_plain(x, prepared, mine);
  expect_same(mine, product);
}

TEST_P(SealAdapter, ReducedModuliAreSeals) {
  SealCiphertext mine;
  if (GetParam() == ::seal::scheme_type::bfv) {
    EXPECT_THROW(ours->mod_reduce_to_next(x, mine), MismatchError);
    return;
  }
  ::seal::Ciphertext next, last;
  theirs->mod_reduce_to_next(x, next);
  theirs->mod_reduce_to(x, context.last_parms_id(), last);
  ours->mod_reduce_to_next(x, mine);
  expect_same(mine, next);
  EXPECT_EQ(words(mine), words(next));
  ours->mod_reduce_to_inplace(mine, context.last_parms_id());
  EXPECT_EQ(words(mine), words(last));
  EXPECT_EQ(::seal::Ciphertext(mine).parms_id(), last.parms_id());
  EXPECT_THROW(ours->mod_reduce_to_next_inplace(mine), LevelError);
  EXPECT_THROW(ours->mod_reduce_to_inplace(mine, x.parms_id()), LevelError);
}

TEST_P(SealAdapter, ResultsOutliveTheEvaluatorAndConvertWhereSealNeedsThem) {
  SealCiphertext result;
  ours->add(ours->upload(x), y, result);
  ours.reset();
  ::seal::Plaintext plain;
  decryptor->decrypt(result, plain);
  ::seal::Ciphertext sum;
  theirs->add(x, y, sum);
  expect_same(result, sum);
}

TEST_P(SealAdapter, ErrorsAreExceptions) {
  const ::seal::GaloisKeys copy = galois;
  SealCiphertext result;
  EXPECT_THROW(ours->rotate_rows(x, 1, copy, result), std::invalid_argument);
  EXPECT_THROW(ours->rotate_rows(x, 5, galois, result), MissingKeyError);
  EXPECT_THROW(ours->apply_galois(x, 9, galois, result), MissingKeyError);
  EXPECT_THROW(ours->negate(result, result), MismatchError);
  EXPECT_THROW(ours->negate(::seal::Ciphertext(), result), Error);
  EXPECT_THROW(static_cast<void>(::seal::Ciphertext(result)), MismatchError);
  if (is_ckks()) return;
  EXPECT_THROW(ours->rescale_to_next(x, result), MismatchError);
}

TEST_P(SealAdapter, ServesThreads) {
  ::seal::Ciphertext wanted;
  theirs->multiply(x, y, wanted);
  std::vector<::seal::Ciphertext> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { ours->multiply(x, y, result); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) expect_same(result, wanted);
}

}  // namespace
}  // namespace hemera::adapters
