// Secrets in blocks: what their keys decrypt to.
#include "hemera/rlwe/block_secret.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "circuits/bootstrap_support.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/parts.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

struct BlockSecretKeys : ::testing::Test {
  const Parameters parameters =
      circuits::parameters_for_bootstrapping(circuits::bootstrap_preset("test-few"));
  const std::size_t top = parameters.levels() - 1, degree = parameters.degree(), slots = degree / 2;
  const ckks::Session session{parameters, {.public_key = false, .relinearization = false}};
  const std::shared_ptr<const Context>& context = session.context;

  [[nodiscard]] BlockKeys made(const BlockSlots& shape) const {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < shape.encryptions(slots); ++i) numbers.push_back(i);
    return generate_block_keys(session.secret, shape, numbers,
                               context->gadget(circuits::to_ephemeral_gadget(parameters)),
                               context->gadget(circuits::from_block_gadget(parameters, top)));
  }
  // The slots of the plaintext of an encryption, after the division by P.
  [[nodiscard]] ckks::Values slots_of(const SwitchingKey& key) const {
    Metadata meta;
    meta.level = top;
    meta.scale = context->scales().level_scale(top);
    meta.slots = slots;
    ExtendedCiphertext extended{context, key.gadget, meta,
                                context->make_poly(1, 2, key.gadget->modulus(), poly::Form::evaluation)};
    context->backend().copy(context->queue(), extended.poly.view(), key.poly.view());
    return session.decrypt(mod_down(extended));
  }
  // log2 of the largest centred coefficient, at level 0, of one prime.
  [[nodiscard]] double largest_log2(const poly::Poly& poly) const {
    std::vector<std::uint64_t> residues(degree);
    context->backend().download(context->queue(), residues, poly.view(), poly::Form::coefficient);
    context->queue().synchronize();
    double largest = 0;
    for (const std::uint64_t residue : residues) {
      largest = std::max(largest, std::abs(static_cast<double>(poly.base().modulus(0).centered(residue))));
    }
    return std::log2(largest);
  }
  // The coefficients of z; each must stand in all slots of its values.
  [[nodiscard]] std::vector<std::uint64_t> coefficients(const BlockKeys& keys,
                                                        const BlockSlots& shape) const {
    const std::size_t places = shape.places(slots), length = shape.secret.length();
    std::vector<std::uint64_t> z(shape.secret.degree, 2);
    for (std::size_t r = 0; r < keys.encryptions.size(); ++r) {
      const ckks::Values bits = slots_of(*keys.encryptions[r]);
      for (std::size_t slot = 0; slot < slots; ++slot) {
        const double bit = std::round(bits[slot].real());
        EXPECT_LT(std::abs(bits[slot] - bit), 0x1p-30);
        const std::size_t block = slot / shape.values % shape.secret.blocks;
        const std::size_t place = slot / (shape.values * shape.secret.blocks);
        if (place >= places) {
          EXPECT_EQ(bit, 0);
          continue;
        }
        std::uint64_t& known = z[block * length + r * places + place];
        if (known == 2) known = static_cast<std::uint64_t>(bit);
        EXPECT_EQ(known, bit);
      }
    }
    return z;
  }
};

TEST_F(BlockSecretKeys, HaveASingleOneInEachBlockAndLeadToTheSameSecret) {
  std::set<std::vector<std::uint64_t>> seen;
  for (const BlockSlots& shape : {BlockSlots{{degree, 64}, 4}, BlockSlots{{degree, 64}, 16},
                                  BlockSlots{{degree / 2, 64}, 2}, BlockSlots{{degree / 4, 128}, 1}}) {
    SCOPED_TRACE(std::to_string(shape.secret.degree) + ", " + std::to_string(shape.values));
    const BlockKeys keys = made(shape);
    const std::vector<std::uint64_t> z = coefficients(keys, shape);
    seen.insert(z);
    for (std::size_t k = 0; k < shape.secret.blocks; ++k) {
      std::uint64_t ones = 0;
      for (std::size_t i = 0; i < shape.secret.length(); ++i) ones += z[k * shape.secret.length() + i];
      EXPECT_EQ(ones, 1U);
    }
    SecretKey other{context, context->make_poly(1, 1, context->key_base(), poly::Form::coefficient)};
    const std::size_t stride = degree / shape.secret.degree;
    context->backend().upload_rows(context->queue(), other.poly.view(), poly::Form::coefficient,
                                   [&](std::size_t, std::span<std::uint64_t> rows) {
                                     for (std::size_t i = 0; i < rows.size(); ++i)
                                       rows[i] = i % stride == 0 ? z[i % degree / stride] : 0;
                                   });
    context->backend().forward_transform(context->queue(), other.poly.view(), other.poly.view(),
                                         context->key_base());
    other.poly.set_form(poly::Form::evaluation);
    Metadata meta;
    meta.level = 0;
    meta.slots = 1;
    const Ciphertext x = encrypt_zero(session.secret, meta);
    const double before = largest_log2(decrypt_phase(x, session.secret));
    const double after = largest_log2(decrypt_phase(reencrypt(x, *keys.to_block), other));
    EXPECT_LT(before, 6);
    EXPECT_LT(after, 8);
  }
  EXPECT_EQ(seen.size(), 4U);
}

TEST_F(BlockSecretKeys, PlacesAreUniform) {
  // 64 blocks of 32 places, 8 times: each place 16 times, give or take 4 deviations.
  const BlockSlots shape{{degree, 64}, 16};
  std::vector<int> counts(32);
  for (int run = 0; run < 8; ++run) {
    const std::vector<std::uint64_t> z = coefficients(made(shape), shape);
    for (std::size_t i = 0; i < z.size(); ++i) counts[i % 32] += static_cast<int>(z[i]);
  }
  for (const int count : counts) EXPECT_NEAR(count, 16, 16);
}

TEST_F(BlockSecretKeys, RolesHoldTheShape) {
  const BlockSlots shape{{std::size_t{1} << 14, 64}, 256};
  EXPECT_EQ(to_block_of(to_block_role(shape)), shape);
  const auto encryption = block_of(block_role(shape, 63));
  ASSERT_TRUE(encryption);
  EXPECT_EQ(encryption->slots, shape);
  EXPECT_EQ(encryption->number, 63U);
  EXPECT_FALSE(block_of(to_block_role(shape)));
  EXPECT_FALSE(to_block_of(block_role(shape, 0)));
  EXPECT_FALSE(part_of(block_role(shape, 5)));
  EXPECT_FALSE(block_of(part_role({.parts = 4, .index = 1})));
  EXPECT_FALSE(to_block_of(KeyRole::galois(5)));
}

TEST_F(BlockSecretKeys, MistakesAreNamed) {
  const auto narrow = context->gadget(circuits::to_ephemeral_gadget(parameters));
  const auto wide = context->gadget(circuits::from_block_gadget(parameters, top));
  for (const BlockSlots& shape : {BlockSlots{{2 * degree, 64}, 4}, BlockSlots{{degree, 48}, 4},
                                  BlockSlots{{degree, 64}, 32}, BlockSlots{{degree, 64}, 3}}) {
    EXPECT_THROW(static_cast<void>(generate_block_keys(session.secret, shape, {}, narrow, wide)),
                 ParameterError);
  }
  const BlockSlots shape{{degree, 64}, 4};
  EXPECT_THROW(static_cast<void>(generate_block_keys(session.secret, shape, {}, wide, wide)), ParameterError);
  const auto digits = context->gadget(circuits::rotation_gadget(parameters, top, 2));
  EXPECT_THROW(static_cast<void>(generate_block_keys(session.secret, shape, {}, narrow, digits)),
               ParameterError);
}

TEST(BlockSecretSecurity, ModuliWithoutAnEstimateAreRefused) {
  const Parameters parameters =
      circuits::parameters_for_bootstrapping(circuits::bootstrap_preset("n16-40-few"));
  const auto context = Context::make(parameters, runtime::Device::parse("ledger"));
  const SecretKey secret = generate_secret_key(context);
  const auto narrow = context->gadget(circuits::to_ephemeral_gadget(parameters));
  const auto wide = context->gadget(circuits::from_block_gadget(parameters, parameters.levels() - 1));
  const std::size_t degree = std::size_t{1} << 14;
  const auto make = [&](const BlockSecret& shape) {
    return generate_block_keys(secret, {shape, 64}, {}, narrow, wide);
  };
  EXPECT_NO_THROW(make({degree, 64}));
  EXPECT_THROW(make({degree / 2, 64}), SecurityError);
  EXPECT_THROW(make({2 * degree, 32}), SecurityError);
}

}  // namespace
}  // namespace hemera::rlwe
