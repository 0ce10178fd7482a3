// Batches as arrays: elements by index, and what a captured circuit accepts.
#include "hemera/rlwe/ciphertext.hpp"

#include <gtest/gtest.h>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/captured_input.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

using Indices = std::vector<std::size_t>;

class CiphertextTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Context> context_ =
      tests::make_context(parameters_with({.name = "", .digits = 2, .special_primes = 2}));
  SecretKey secret_ = generate_secret_key(context_);

  [[nodiscard]] Ciphertext random(const BatchShape& batch, std::size_t level = 1) const {
    return encrypt_zero(secret_, {.batch = batch, .level = level, .scale = 0x1p40, .slots = 8});
  }
  [[nodiscard]] std::vector<std::uint64_t> words(const Ciphertext& a) const {
    return host_words(*context_, a.poly);
  }
};

// 1. Element i of the result is element indices[i] of the batch: slices, repetitions, any order.
TEST_F(CiphertextTest, GatherTakesElementsByIndex) {
  const Ciphertext a = random({2, 3});
  for (const Indices& indices : {Indices{0}, Indices{5}, Indices{1, 2, 3}, Indices{5, 4, 4, 0}}) {
    const Ciphertext gathered = gather(a, indices, {indices.size()});
    EXPECT_EQ(gathered.meta.batch, BatchShape{indices.size()});
    EXPECT_EQ(gathered.meta.level, a.meta.level);
    EXPECT_EQ(gathered.meta.scale, a.meta.scale);
    EXPECT_FALSE(gathered.seed.has_value());
    const auto all = words(a);
    const auto taken = words(gathered);
    const std::size_t each = all.size() / 6;
    ASSERT_EQ(taken.size(), indices.size() * each);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      EXPECT_TRUE(std::equal(taken.begin() + static_cast<std::ptrdiff_t>(i * each),
                             taken.begin() + static_cast<std::ptrdiff_t>((i + 1) * each),
                             all.begin() + static_cast<std::ptrdiff_t>(indices[i] * each)));
    }
  }
  EXPECT_EQ(words(gather(a, Indices{0, 1, 2, 3, 4, 5}, {3, 2})), words(a));
}

TEST_F(CiphertextTest, GatherKeepsTheFormOfPlaintexts) {
  const poly::Poly phase = decrypt_phase(random({3}), secret_);
  Plaintext plaintext{context_, {.batch = {3}, .level = 1}, {}};
  plaintext.poly = context_->make_poly(3, 1, phase.base(), phase.form(), runtime::Secrecy::secret);
  context_->backend().copy(context_->queue(), plaintext.poly.view(), phase.view());
  const Plaintext gathered = gather(plaintext, Indices{2, 2}, {2});
  EXPECT_EQ(gathered.poly.form(), poly::Form::coefficient);
  EXPECT_EQ(gathered.poly.secrecy(), runtime::Secrecy::secret);
}

TEST_F(CiphertextTest, GatherRefusesWhatIsNotThere) {
  const Ciphertext a = random({4});
  EXPECT_THROW(static_cast<void>(gather(a, Indices{}, {0})), MismatchError);
  EXPECT_THROW(static_cast<void>(gather(a, Indices{0, 1}, {3})), MismatchError);
  EXPECT_THROW(static_cast<void>(gather(a, Indices{4}, {1})), MismatchError);
  EXPECT_THROW(static_cast<void>(gather(a, Indices{3, 4}, {2})), MismatchError);
}

// 2. Copies and parts.
TEST_F(CiphertextTest, ClonesHaveTheSeedToo) {
  const Ciphertext x = random({2});
  const Ciphertext copy = x.clone();
  EXPECT_EQ(words(copy), words(x));
  ASSERT_TRUE(x.seed.has_value());
  ASSERT_TRUE(copy.seed.has_value()) << "it would be saved in twice the bytes";
  EXPECT_EQ(copy.seed->seed.bytes, x.seed->seed.bytes);
}

TEST_F(CiphertextTest, NothingIsEncryptedAboveTheTopLevel) {
  EXPECT_NO_THROW(static_cast<void>(random({}, context_->top_level())));
  EXPECT_THROW(static_cast<void>(random({}, context_->top_level() + 1)), LevelError);
}

TEST_F(CiphertextTest, PartsHaveElementsAndLieWithinTheBatch) {
  const Ciphertext x = random({3});
  EXPECT_EQ(slice(x, 1, 2).meta.batch, BatchShape{2});
  for (const auto& [first, count] :
       {std::pair<std::size_t, std::size_t>{0, 0}, {3, 0}, {3, 1}, {1, 3}, {4, 1}}) {
    EXPECT_THROW(static_cast<void>(slice(x, first, count)), MismatchError) << first << " " << count;
  }
}

// 3. An input of a captured circuit takes the residues of what is like its example, and nothing else.
TEST_F(CiphertextTest, CapturedInputsTakeWhatIsLikeTheExample) {
  Ciphertext input = random({2});
  const Ciphertext given = random({2});
  EXPECT_EQ(difference(input, given), "");
  assign_input(input, given);
  EXPECT_EQ(words(input), words(given));

  const auto changed = [&](auto change) {
    Ciphertext other = given.clone();
    change(other.meta);
    return difference(input, other);
  };
  EXPECT_EQ(difference(input, random({3})), "its batch is {3} and not {2}");
  EXPECT_EQ(difference(input, random({2}, 0)), "its level is 0 and not 1");
  EXPECT_EQ(difference(input, make_ciphertext(context_, given.meta, 3)), "its size is 3; relinearize it");
  EXPECT_EQ(changed([](Metadata& meta) { meta.scale *= 2; }), "its scale or correction factor is another");
  EXPECT_EQ(changed([](Metadata& meta) { meta.slots = 4; }),
            "it holds other numbers of values, or is encoded differently");
  EXPECT_EQ(changed([](Metadata& meta) { meta.noise_log2 += 1; }).substr(0, 21), "its noise may be 2^5.");
  EXPECT_EQ(changed([](Metadata& meta) { meta.noise_log2 -= 1; }), "");
  const std::string filling = "other slots of it are filled, or its values are of another type";
  EXPECT_EQ(changed([](Metadata& meta) { meta.filled = 5; }), filling);
  EXPECT_EQ(changed([](Metadata& meta) { meta.padding = Padding::uniform; }), filling);
  EXPECT_EQ(changed([](Metadata& meta) { meta.is_complex = true; }), filling);
  input.meta.filled = 5;
  input.meta.padding = Padding::unknown;
  EXPECT_EQ(changed([](Metadata& meta) { meta.filled = 5; }), "");
  EXPECT_THROW(assign_input(input, random({3})), MismatchError);
}

}  // namespace
}  // namespace hemera::rlwe
