// Two devices: copies between them go directly where they can, in the order of both streams.
#include "runtime/cuda/devices.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::testing {
namespace {

using emulation::last_launch;
using emulation::Launch;
using poly::Form;
using poly::Poly;
using Peers = std::set<std::pair<int, int>>;

class EmulationDevices : public ::testing::Test {
 protected:
  struct Side {
    std::shared_ptr<const poly::Ring> ring = poly::Ring::make(
        1024, {{arith::Modulus(12289), arith::minimal_primitive_root(2048, arith::Modulus(12289))}});
    poly::RnsBase base{ring, {0}};
    std::shared_ptr<const poly::Backend> backend;
    std::unique_ptr<runtime::Queue> queue;
    Poly poly;

    explicit Side(int device)
        : backend(poly::make_cuda_backend(ring, {.device = device})),
          queue(backend->make_thread_queue()),
          poly(backend->memory(), 1, 1, base, Form::evaluation) {}
  };

  void SetUp() override {
    emulation::devices = 2;
    emulation::can_access_peers = true;
    emulation::peers.clear();
  }
  void TearDown() override {
    cudaSetDevice(0);
    emulation::devices = 1;
    emulation::peers.clear();
  }

  /// The place of an addition whose kernel reads the other device's memory, as members of a sum do.
  static Launch add_from(Side& to, const Side& from) {
    const auto beside = from.queue->copying_to(to.backend->device());
    const poly::ConstPolyView there = from.poly.view();
    EXPECT_TRUE(to.backend->read_from(*to.queue, *from.backend, *from.queue, [&] {
      to.backend->add(*to.queue, to.poly.view(), std::as_const(to.poly).view(), there, to.base);
    }));
    return last_launch;
  }
  static void copy(Side& to, const Side& from) {
    to.backend->copy_from(*to.queue, to.poly.view(), *from.backend, *from.queue,
                          std::as_const(from.poly).view(), Form::evaluation);
  }
};

TEST_F(EmulationDevices, CopiesGoDirectlyWhereTheyCan) {
  Side first(0), second(1);
  cudaSetDevice(0);
  copy(second, first);
  EXPECT_EQ(emulation::peers, (Peers{{0, 1}, {1, 0}}));
  emulation::peers.clear();
  copy(second, first);
  EXPECT_EQ(emulation::peers, Peers{}) << "asked again for each copy";
  int current = -1;
  cudaGetDevice(&current);
  EXPECT_EQ(current, 1) << "an operation leaves its device current";
}

TEST_F(EmulationDevices, OneDeviceHasNoPeers) {
  Side first(0), second(0);
  copy(second, first);
  EXPECT_EQ(emulation::peers, Peers{});
}

TEST_F(EmulationDevices, CopiesWorkWhereTheyCanNotGoDirectlyOrDoAlready) {
  Side first(0), second(1), third(1);
  emulation::can_access_peers = false;
  copy(second, first);
  EXPECT_EQ(emulation::peers, Peers{});
  emulation::can_access_peers = true;
  emulation::peers = {{0, 1}, {1, 0}};  // by another library
  std::vector<std::uint64_t> values(1024, 7), result(1024);
  first.backend->upload(*first.queue, first.poly.view(), values, Form::evaluation);
  copy(third, first);
  third.backend->download(*third.queue, result, std::as_const(third.poly).view(), Form::evaluation);
  EXPECT_EQ(result, values);
}

TEST_F(EmulationDevices, ACopyComesAfterItsSourceAndBeforeItsNextChange) {
  Side first(0), second(1);
  first.backend->fill_zero(*first.queue, first.poly.view());
  const Launch written = last_launch;
  second.backend->fill_zero(*second.queue, second.poly.view());
  const Launch used = last_launch;
  copy(second, first);
  const Launch copied = last_launch;
  EXPECT_NE(copied.stream, written.stream);
  EXPECT_TRUE(written.comes_before(copied));
  EXPECT_TRUE(used.comes_before(copied));
  first.backend->fill_zero(*first.queue, first.poly.view());
  EXPECT_TRUE(copied.comes_before(last_launch));
  second.backend->fill_zero(*second.queue, second.poly.view());
  EXPECT_TRUE(copied.comes_before(last_launch));
}

TEST_F(EmulationDevices, TheSourceGoesOnBesideACopyAndChangesWaitForIt) {
  Side first(0), second(1);
  const auto make = [&] { return Poly(first.backend->memory(), 1, 1, first.base, Form::evaluation); };
  const auto zero = [&](Poly& poly) {
    first.backend->fill_zero(*first.queue, poly.view());
    return last_launch;
  };
  const auto copy_beside = [&](const Poly& from) {
    const auto beside = first.queue->copying_to(second.backend->device());
    second.backend->copy_from(*second.queue, second.poly.view(), *first.backend, *first.queue, from.view(),
                              Form::evaluation);
    return last_launch;
  };
  const Launch written = zero(first.poly);
  const Launch copied = copy_beside(first.poly);
  EXPECT_TRUE(written.comes_before(copied));

  Poly other = make();
  EXPECT_FALSE(copied.comes_before(zero(other))) << "waits for a copy that it has nothing to do with";
  first.backend->copy(*first.queue, other.view(), std::as_const(first.poly).view());
  EXPECT_FALSE(copied.comes_before(last_launch)) << "readers need not wait";
  EXPECT_TRUE(copied.comes_before(zero(first.poly)));

  // Memory is used again after the copy, too.
  const Launch second_copy = copy_beside(other);
  const std::byte* block = std::as_const(other).view().data;
  other = Poly();
  Poly again = make();
  EXPECT_EQ(std::as_const(again).view().data, block);
  EXPECT_TRUE(second_copy.comes_before(zero(again)));

  // A replay announces nothing: the copy comes after all that was given before, and a replay after the copy.
  Poly unrelated = make();
  const auto recording = first.backend->record(*first.queue, [&] { zero(again); });
  recording->replay(*first.queue);
  const Launch given = zero(unrelated);
  const Launch third_copy = copy_beside(again);
  EXPECT_TRUE(given.comes_before(third_copy));
  EXPECT_FALSE(third_copy.comes_before(zero(unrelated)));
  recording->replay(*first.queue);
  EXPECT_TRUE(third_copy.comes_before(zero(unrelated)));
}

TEST_F(EmulationDevices, PartsOfArraysAreCopied) {
  Side first(0), second(1);
  const std::size_t words = 4 * 1024;
  std::vector<std::uint64_t> values(words), result(words / 2);
  for (std::size_t i = 0; i < words; ++i) values[i] = i % 12289;
  Poly pairs(first.backend->memory(), 2, 2, first.base, Form::evaluation);
  Poly part(second.backend->memory(), 2, 1, second.base, Form::evaluation);
  first.backend->upload(*first.queue, pairs.view(), values, Form::evaluation);
  second.backend->copy_from(*second.queue, part.view(), *first.backend, *first.queue,
                            std::as_const(pairs).view().components(1, 1), Form::evaluation);
  second.backend->download(*second.queue, result, std::as_const(part).view(), Form::evaluation);
  for (std::size_t i = 0; i < words / 2; ++i) {
    ASSERT_EQ(result[i], values[i / 1024 * 2048 + 1024 + i % 1024]) << i;
  }
}

// --- Kernels that read another device's memory ---

TEST_F(EmulationDevices, AReadComesAfterItsSourceAndBeforeItsNextChange) {
  Side first(0), second(1);
  first.backend->fill_zero(*first.queue, first.poly.view());
  const Launch written = last_launch;
  const Launch seen = add_from(second, first);
  EXPECT_EQ(emulation::peers, (Peers{{0, 1}, {1, 0}}));
  EXPECT_NE(seen.stream, written.stream);
  EXPECT_TRUE(written.comes_before(seen));
  Poly other(first.backend->memory(), 1, 1, first.base, Form::evaluation);
  first.backend->fill_zero(*first.queue, other.view());
  EXPECT_FALSE(seen.comes_before(last_launch)) << "waits for a read that it has nothing to do with";
  first.backend->fill_zero(*first.queue, first.poly.view());
  EXPECT_TRUE(seen.comes_before(last_launch));
}

TEST_F(EmulationDevices, AReadThatFailsIsWaitedForToo) {
  Side first(0), second(1);
  Launch seen;
  EXPECT_THROW(static_cast<void>(
                   second.backend->read_from(*second.queue, *first.backend, *first.queue,
                                             [&] {
                                               second.backend->fill_zero(*second.queue, second.poly.view());
                                               seen = last_launch;
                                               throw MismatchError("after the first of two operations");
                                             })),
               MismatchError);
  first.backend->fill_zero(*first.queue, first.poly.view());
  EXPECT_TRUE(seen.comes_before(last_launch));
}

// What is offered is read as it is: not after what its owner gives later, whichever thread asks.
TEST_F(EmulationDevices, AnOfferedArrayIsReadWithoutItsOwnersLaterWork) {
  Side first(0), second(1);
  const auto zero = [&](Poly& poly) {
    first.backend->fill_zero(*first.queue, poly.view());
    return last_launch;
  };
  const auto offer = [&] {
    const auto beside = first.queue->copying_to(second.backend->device());
    static_cast<void>(std::as_const(first.poly).view());
  };
  Poly other(first.backend->memory(), 1, 1, first.base, Form::evaluation);
  const Launch written = zero(first.poly);
  offer();
  const Launch later = zero(other);
  const Launch seen = add_from(second, first);
  EXPECT_TRUE(written.comes_before(seen));
  EXPECT_FALSE(later.comes_before(seen));
  // A second offer waits for nothing; a change withdraws the first one.
  const std::size_t waits = emulation::counts().stream_waits;
  offer();
  EXPECT_EQ(emulation::counts().stream_waits, waits);
  const Launch changed = zero(first.poly);
  EXPECT_TRUE(changed.comes_before(add_from(second, first)));
}

// Replays announce nothing, also when their thread has gone on to another queue.
TEST_F(EmulationDevices, ReadsComeAfterReplays) {
  Side first(0), second(1);
  const auto recording =
      first.backend->record(*first.queue, [&] { first.backend->fill_zero(*first.queue, first.poly.view()); });
  recording->replay(*first.queue);
  Poly other(first.backend->memory(), 1, 1, first.base, Form::evaluation);
  first.backend->fill_zero(*first.queue, other.view());
  const Launch given = last_launch;
  first.queue = first.backend->make_queue();
  Poly more(first.backend->memory(), 1, 1, first.base, Form::evaluation);
  first.backend->fill_zero(*first.queue, more.view());
  const Launch after = last_launch;
  EXPECT_NE(given.stream, after.stream);
  const Launch seen = add_from(second, first);
  EXPECT_TRUE(given.comes_before(seen));
  EXPECT_TRUE(after.comes_before(seen));
}

TEST_F(EmulationDevices, WhereTheyCanNotReadNothingRuns) {
  Side first(0), second(1);
  emulation::can_access_peers = false;
  bool ran = false;
  for (int time = 0; time < 2; ++time) {
    EXPECT_FALSE(second.backend->read_from(*second.queue, *first.backend, *first.queue, [&] { ran = true; }));
  }
  EXPECT_FALSE(ran);
  emulation::can_access_peers = true;
  emulation::peers = {{0, 1}, {1, 0}};  // by another library
  Side third(1);
  EXPECT_TRUE(third.backend->read_from(*third.queue, *first.backend, *first.queue, [&] { ran = true; }));
  EXPECT_TRUE(ran);
  // On one device, and of one backend, there is nothing to ask for.
  emulation::can_access_peers = false;
  EXPECT_TRUE(third.backend->read_from(*third.queue, *second.backend, *second.queue, [] {}));
  EXPECT_TRUE(third.backend->read_from(*third.queue, *third.backend, *third.queue, [] {}));
}

TEST_F(EmulationDevices, RecordingsNeitherReadNorAreRead) {
  Side first(0), second(1);
  for (const Side* recorder : {&first, &second}) {
    EXPECT_THROW(
        static_cast<void>(recorder->backend->record(
            *recorder->queue,
            [&] { return second.backend->read_from(*second.queue, *first.backend, *first.queue, [] {}); })),
        DeviceError);
    EXPECT_THROW(static_cast<void>(recorder->backend->record(*recorder->queue, [&] { copy(second, first); })),
                 DeviceError);
  }
}

// Inside a graph there is no other stream.
TEST_F(EmulationDevices, ARecordingCopiesNothingAside) {
  Side first(0), second(1);
  const auto recording = first.backend->record(*first.queue, [&] {
    EXPECT_EQ(first.queue->copying_to(second.backend->device()), nullptr);
    first.backend->fill_zero(*first.queue, first.poly.view());
  });
  EXPECT_NE(first.queue->copying_to(second.backend->device()), nullptr);
}

TEST_F(EmulationDevices, CopiesToTwoDevicesRunSideBySide) {
  emulation::devices = 3;
  Side first(0), second(1), third(2);
  Launch copies[2];
  for (int i = 0; Side * to : {&second, &third}) {
    const auto beside = first.queue->copying_to(to->backend->device());
    copy(*to, first);
    copies[i++] = last_launch;
  }
  EXPECT_FALSE(copies[0].comes_before(copies[1]));
}

TEST_F(EmulationDevices, ACopyToTheHostIsWaitedFor) {
  Side first(0);
  EXPECT_EQ(first.queue->copying_to({}), nullptr);
}

// NVIDIA's rules of compatibility (CUDA C++ Programming Guide): machine code runs on devices of its major
// revision and the same or a newer minor one, PTX on all that are as new.
TEST(EmulationDevice, ServesWhatItsCodeRunsOn) {
  struct Case {
    int device;
    const char* code;
    bool runs;
  };
  for (const auto& [device, code, runs] :
       {Case{80, "80-real", true}, Case{86, "80-real", true}, Case{87, "80-real,86-real", true},
        Case{80, "86-real", false}, Case{90, "80-real", false}, Case{90, "80-virtual", true},
        Case{90, "80", true}, Case{80, "90", false}, Case{121, "90-real,120-real", true},
        Case{110, "100-real,120", false}, Case{110, "90,120", true}, Case{103, "100-real,120", true},
        Case{200, "100-real,120", true}, Case{90, "native", true}, Case{75, "native", false},
        Case{75, "70", false}, Case{80, "90-virtual", false}}) {
    const std::string problem = runtime::cuda::problem_of(device, code);
    EXPECT_EQ(problem.empty(), runs) << device << " by " << code << ": " << problem;
  }
}

TEST(EmulationDevice, SaysWhyItIsNotServed) {
  EXPECT_EQ(
      runtime::cuda::problem_of(75, "80-real,90"),
      "its compute capability is 7.5, and kernels use instructions that begin with 8.0 (asynchronous copies "
      "to shared memory, 8-bit products of 16 x 32 on the tensor cores); use 'cpu'");
  EXPECT_EQ(
      runtime::cuda::problem_of(86, "90-real,120"),
      "its compute capability is 8.6, and this build has code for 90-real,120; use 'cpu', or build with "
      "CMAKE_CUDA_ARCHITECTURES=86");
}

}  // namespace
}  // namespace hemera::testing
