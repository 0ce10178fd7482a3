// A forked child can use nothing of a device that its parent opened, and must not touch it: the emulation
// aborts a child that calls CUDA.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "child_process.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"
#include "test_device.hpp"

namespace hemera::testing {
namespace {

struct Objects {
  std::shared_ptr<const rlwe::Context> context =
      tests::make_context(bfv::parameters_from_bits({.degree = 1024,
                                                     .plain_modulus = 12289,
                                                     .prime_bits = {40, 40},
                                                     .special_bits = {45},
                                                     .security = std::nullopt}));
  rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  bfv::Evaluator evaluator{context, rlwe::generate_keys(secret, {.rotations = {1}})};
  rlwe::Plaintext plaintext =
      integer::Encoder(context).encode(std::vector<std::int64_t>(1024, 3), rlwe::BatchShape{});
  rlwe::Ciphertext ciphertext = bfv::encrypt(plaintext, secret);
  std::unique_ptr<runtime::Queue> queue = context->backend().make_queue();
  std::unique_ptr<poly::Backend::Recording> recording =
      context->backend().record(context->queue(), [this] { return evaluator.add(ciphertext, ciphertext); });
};

TEST(EmulationFork, AChildGetsATypedErrorFromEveryUse) {
  Objects objects;
  const rlwe::Context& context = *objects.context;
  const std::vector<std::function<void()>> uses = {
      [&] { return objects.evaluator.add(objects.ciphertext, objects.ciphertext); },
      [&] { return objects.evaluator.multiply(objects.ciphertext, objects.ciphertext); },
      [&] { return objects.evaluator.rotate(objects.ciphertext, 1); },
      [&] { return bfv::encrypt(objects.plaintext, objects.secret); },
      [&] { return bfv::decrypt(objects.ciphertext, objects.secret); },
      [&] { return integer::Encoder(objects.context).decode(objects.plaintext); },
      [&] { return objects.ciphertext.clone(); },
      [&] { return rlwe::generate_secret_key(objects.context); },
      [&] { objects.recording->replay(context.queue()); },
      [&] { context.queue().synchronize(); },
      [&] { context.queue().synchronize_device(); },
      [&] { return context.queue().stream(); },
  };
  for (std::size_t i = 0; i < uses.size(); ++i) {
    EXPECT_TRUE(tests::in_child([&] {
      try {
        uses[i]();
      } catch (const DeviceError& error) {
        return std::string(error.what()).find("before this process was forked") != std::string::npos;
      }
      return false;
    })) << i;
  }
}

TEST(EmulationFork, AChildDropsWhatItCanNotUse) {
  auto objects = std::make_optional<Objects>();
  EXPECT_TRUE(tests::in_child([&] {
    static_cast<void>(objects->context->backend().memory()->used());
    objects.reset();
    return true;
  }));
}

}  // namespace
}  // namespace hemera::testing
