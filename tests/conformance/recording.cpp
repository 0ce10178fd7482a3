// Recorded operations give the bits of the operations themselves, for whatever stands in their buffers.
#include "conformance/oracle.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"

namespace hemera::conformance {
namespace {

using poly::Division;
using poly::Form;
using poly::ModUp;
using poly::RnsBase;

// A circuit with scratch of its own: (switched in + in) in, relinearized, and the sum of two hoisted
// rotations of that.
struct Circuit {
  explicit Circuit(Rig& given)
      : rig(given),
        base(rig.primes(0, 3)),
        up(base, rig.primes(3, 1),
           {{.key_digit = 0, .moduli = rig.primes(0, 2)}, {.key_digit = 1, .moduli = rig.primes(2, 1)}},
           rig.all()),
        down(rig.all(), base),
        key(rig.upload(rig.random(rig.all(), 2, 2))) {}

  void run(const poly::PolyView& out, const poly::ConstPolyView& in) const {
    const poly::Backend& backend = *rig.backend;
    const auto pair = [&] { return poly::Poly(backend.memory(), in.shape.batch, 2, base, Form::evaluation); };
    poly::Poly sum = pair();
    runtime::Workspace workspace(backend.memory());
    const poly::KeySwitch only{sum.view(), key.view()};
    backend.switch_keys(*rig.queue, std::span(&only, 1), in, up, &down, in, workspace);
    poly::Poly product = pair();
    backend.multiply(*rig.queue, product.view(), std::as_const(sum).view(), in, base);
    poly::Poly square = pair();
    backend.multiply_relinearize(*rig.queue, square.view(), std::as_const(sum).view(),
                                 std::as_const(product).view(), key.view(), up, &down, workspace);
    poly::Poly other = pair();
    const poly::KeySwitch rotations[] = {{out, key.view(), 5}, {other.view(), key.view(), 25}};
    const poly::ConstPolyView view = std::as_const(square).view();
    backend.switch_keys(*rig.queue, rotations, view.components(1, 1), up, &down, view.components(0, 1),
                        workspace);
    backend.add(*rig.queue, out, out, std::as_const(other).view(), base);
  }

  Rig& rig;
  RnsBase base;
  ModUp up;
  Division down;
  poly::Poly key;
};

TEST_P(BackendTest, RecordedOperationsGiveTheSameBits) {
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 13}) {
    Rig rig(GetParam(), degree, {50, 50, 60, 60});
    const Circuit circuit(rig);
    const poly::Backend& backend = *rig.backend;
    poly::Poly in = rig.upload(rig.random(circuit.base, 2, 1));
    poly::Poly out = rig.output(circuit.base, 2, 2);
    const auto operations = [&] { circuit.run(out.view(), std::as_const(in).view()); };
    if (!backend.records()) {
      EXPECT_THROW((void)backend.record(*rig.queue, operations), DeviceError);
      continue;
    }
    operations();  // makes the tables
    const auto recording = backend.record(*rig.queue, operations);
    for (int round = 0; round < (GetParam().brief() ? 1 : 3); ++round) {
      const Host given = rig.random(circuit.base, 2, 1);
      backend.upload(*rig.queue, in.view(), given.words, Form::evaluation);
      poly::Poly expected = rig.output(circuit.base, 2, 2);
      circuit.run(expected.view(), std::as_const(in).view());
      // What was released may be handed out again meanwhile, but for what the recording works in.
      std::vector<poly::Poly> others;
      for (int i = 0; i < 4; ++i) others.push_back(rig.output(rig.all(), 2, 2));
      recording->replay(*rig.queue);
      ASSERT_TRUE(same(rig.download(out), rig.download(expected))) << degree << ", round " << round;
      const Host garbage = rig.download(rig.output(rig.all(), 2, 2));
      for (const poly::Poly& other : others) ASSERT_TRUE(same(rig.download(other), garbage));
    }
  }
}

TEST_P(BackendTest, RecordingsKeepWhatTheyRead) {
  Rig rig(GetParam(), std::size_t{1} << 10, {50, 50});
  const poly::Backend& backend = *rig.backend;
  if (!backend.records()) GTEST_SKIP() << "operations run when they are given: nothing is replayed";
  const Host given = rig.random(rig.all(), 2, 1);
  const Host factor = rig.random(rig.all(), 2, 1);
  const poly::Poly in = rig.upload(given);
  std::optional<poly::Poly> read = rig.upload(factor);
  poly::Poly expected = rig.output(rig.all(), 2, 1);
  backend.multiply(*rig.queue, expected.view(), in.view(), std::as_const(*read).view(), rig.all());

  poly::Poly out = rig.output(rig.all(), 2, 1);
  std::vector<std::unique_ptr<poly::Backend::Recording>> recordings;
  for (int i = 0; i < 2; ++i) {
    recordings.push_back(backend.record(*rig.queue, [&] {
      backend.multiply(*rig.queue, out.view(), in.view(), std::as_const(*read).view(), rig.all());
    }));
  }
  const std::byte* address = std::as_const(*read).view().data;
  const std::size_t used = backend.memory()->used();
  read.reset();
  EXPECT_EQ(backend.memory()->used(), used);
  recordings.pop_back();  // the other one reads it yet
  std::vector<poly::Poly> others;
  for (int i = 0; i < 4; ++i) others.push_back(rig.output(rig.all(), 2, 1));  // filled with garbage
  recordings.back()->replay(*rig.queue);
  EXPECT_TRUE(same(rig.download(out), rig.download(expected)));

  // Without recordings its block is the first that serves others again.
  others.clear();
  recordings.clear();
  EXPECT_LT(backend.memory()->used(), used);
  EXPECT_EQ(rig.output(rig.all(), 2, 1).view().data, address);
}

TEST_P(BackendTest, RecordingsHaveNoRandomnessAndNoHost) {
  Rig rig(GetParam(), 1024, {50, 50});
  const poly::Backend& backend = *rig.backend;
  if (!backend.records()) {
    EXPECT_THROW((void)backend.record(*rig.queue, [] {}), DeviceError);
    return;
  }
  poly::Poly a = rig.upload(rig.random(rig.all(), 1, 1));
  const Host before = rig.download(a);
  Host host = before;
  const auto refused = [&](const char* part, const std::function<void()>& operations) {
    tests::expect_error<DeviceError>(
        [&] {
          return backend.record(*rig.queue, [&] {
            backend.add(*rig.queue, a.view(), a.view(), a.view(), rig.all());
            operations();
          });
        },
        {part});
    // As it was: nothing was run, and operations run again.
    EXPECT_TRUE(same(rig.download(a), before));
  };
  for (const poly::Distribution& distribution :
       {poly::Distribution::uniform(), poly::Distribution::ternary()}) {
    refused("randomness", [&] {
      runtime::Workspace space(backend.memory());
      backend.sample(*rig.queue, a.view(), poly::RandomStream(), distribution, rig.all(), space);
    });
  }
  refused("upload", [&] { backend.upload(*rig.queue, a.view(), host.words, Form::evaluation); });
  refused("download", [&] { backend.download(*rig.queue, host.words, a.view(), Form::evaluation); });
  refused("waiting", [&] { rig.queue->synchronize(); });
  refused("already", [&] { (void)backend.record(*rig.queue, [] {}); });
}

}  // namespace
}  // namespace hemera::conformance
