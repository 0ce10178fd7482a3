// What threads wait for on the device: nothing in their own streams, and once for what another thread made.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/poly/backend.hpp"

namespace hemera::testing {
namespace {

using poly::Form;
using poly::Poly;
using runtime::Secrecy;

struct Emulation {
  std::shared_ptr<const poly::Ring> ring = poly::Ring::make(
      1024, {{arith::Modulus(12289), arith::minimal_primitive_root(2048, arith::Modulus(12289))}});
  poly::RnsBase base{ring, {0}};
  std::shared_ptr<const poly::Backend> backend = poly::make_cuda_backend(ring);
  std::unique_ptr<runtime::Queue> queue = backend->make_queue();

  [[nodiscard]] Poly make(Secrecy secrecy = Secrecy::open) const {
    return {backend->memory(), 1, 1, base, Form::evaluation, secrecy};
  }
  void zero(Poly& poly) const { backend->fill_zero(*queue, poly.view()); }
  void copy(Poly& out, const Poly& in) const { backend->copy(*queue, out.view(), in.view()); }
};

std::size_t waits(const std::function<void()>& operations) {
  const std::size_t before = emulation::counts().stream_waits;
  operations();
  return emulation::counts().stream_waits - before;
}

void in_a_thread(const std::function<void()>& operations) { std::thread(operations).join(); }

TEST(EmulationStreams, AThreadDoesNotWaitForItself) {
  const Emulation e;
  EXPECT_EQ(waits([&] {
              for (int i = 0; i < 3; ++i) {
                Poly a = e.make();
                Poly b = e.make();
                e.zero(a);
                e.copy(b, a);
                e.copy(a, b);
              }
            }),
            0U);
}

TEST(EmulationStreams, AReaderWaitsOnceForTheWriter) {
  const Emulation e;
  Poly written = e.make();
  e.zero(written);
  in_a_thread([&] {
    Poly mine = e.make();
    EXPECT_EQ(waits([&] { e.copy(mine, written); }), 1U);
    EXPECT_EQ(waits([&] { e.copy(mine, written); }), 0U);
  });
  // The writer need not wait for readers to read, but to write.
  Poly other = e.make();
  EXPECT_EQ(waits([&] { e.copy(other, written); }), 0U);
  EXPECT_EQ(waits([&] { e.zero(written); }), 1U);
  EXPECT_EQ(waits([&] { e.zero(written); }), 0U);
}

TEST(EmulationStreams, AWriterWaitsForAllReaders) {
  const Emulation e;
  Poly written = e.make();
  e.zero(written);
  std::vector<Poly> copies(3);
  for (Poly& copy : copies) {
    in_a_thread([&] {
      copy = e.make();
      e.copy(copy, written);
    });
  }
  in_a_thread([&] { EXPECT_EQ(waits([&] { e.zero(written); }), 4U); });
}

TEST(EmulationStreams, ABlockIsReusedAfterTheUsesOfOtherThreads) {
  const Emulation e;
  Poly made = e.make(Secrecy::secret);
  e.zero(made);
  const std::byte* block = std::as_const(made).view().data;
  in_a_thread([&] {
    // Zeroed in this thread's stream, after the one that filled it.
    EXPECT_EQ(waits([&] { made = Poly(); }), 1U);
    Poly again;
    EXPECT_EQ(waits([&] { again = e.make(); }), 0U);
    EXPECT_EQ(std::as_const(again).view().data, block);
  });
  // Kept for the other thread's stream: taken from there rather than from the device.
  const std::size_t allocations = emulation::counts().allocations;
  Poly taken;
  EXPECT_EQ(waits([&] { taken = e.make(); }), 1U);
  EXPECT_EQ(std::as_const(taken).view().data, block);
  EXPECT_EQ(emulation::counts().allocations, allocations);
}

TEST(EmulationStreams, TheUsersStreamIsEveryThreads) {
  Emulation e;
  e.backend = poly::make_cuda_backend(e.ring, {.stream = 0});
  e.queue = e.backend->make_queue();
  Poly written = e.make();
  e.zero(written);
  in_a_thread([&] {
    Poly mine = e.make();
    EXPECT_EQ(waits([&] { e.copy(mine, written); }), 0U);
  });
}

TEST(EmulationStreams, ARecordingReusesNoBlockThatWaits) {
  const Emulation e;
  Poly in = e.make();
  Poly secret = e.make(Secrecy::secret);
  Poly out = e.make();
  e.zero(in);
  e.zero(secret);
  const std::byte* block = std::as_const(secret).view().data;
  std::unique_ptr<poly::Backend::Recording> recording;
  EXPECT_EQ(waits([&] {
              recording = e.backend->record(*e.queue, [&] {
                e.copy(out, secret);
                secret = Poly();  // replays read it: neither zeroed nor handed out
              });
            }),
            0U);
  std::vector<Poly> others;
  for (int i = 0; i < 4; ++i) {
    others.push_back(e.make());
    EXPECT_NE(std::as_const(others.back()).view().data, block);
  }
  others.clear();
  recording.reset();
  bool found = false;
  for (int i = 0; i < 8; ++i) {
    others.push_back(e.make());
    found |= std::as_const(others.back()).view().data == block;
  }
  EXPECT_TRUE(found) << "the block is lost";
}

}  // namespace
}  // namespace hemera::testing
