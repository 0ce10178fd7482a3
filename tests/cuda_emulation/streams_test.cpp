// What threads wait for on the device: nothing in their own streams, and once for what another thread made.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "runtime/cuda/stream.hpp"
#include "worker.hpp"

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
  std::unique_ptr<runtime::Queue> queue = backend->make_thread_queue();

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

// In a thread with a stream of its own, unless all have the user's: threads take turns at them, so that one
// may have the caller's, but no two in a row.
void in_a_thread(const Emulation& e, const std::function<void()>& operations) {
  const auto callers = e.queue->stream();
  bool done = false;
  for (const bool is_last : {false, true}) {
    std::thread([&] {
      if (done || (e.queue->stream() == callers && !is_last)) return;
      operations();
      done = true;
    }).join();
  }
}

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
  in_a_thread(e, [&] {
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

// What a decoding works in, which stays: a block that is reused would be waited for as well.
struct Decoding {
  Poly residues;
  runtime::Buffer slots;
  runtime::Workspace workspace;

  explicit Decoding(const Emulation& e)
      : residues(e.make()),
        slots(e.backend->memory(), 512 * sizeof(std::complex<double>)),
        workspace(e.backend->memory(), Secrecy::open) {
    e.zero(residues);
  }
  void operator()(const Emulation& e) {
    e.backend->unembed(*e.queue, {reinterpret_cast<std::complex<double>*>(slots.data()), 1, 512},
                       residues.view(), 1, 5, e.base, workspace);
  }
};

// Two threads decode in a new context: the second one must not read constants before they are there.
TEST(EmulationStreams, ConstantsOfDecodingsAreWaitedForWhoeverMadeThem) {
  const Emulation e;
  Decoding first(e);
  first(e);
  in_a_thread(e, [&] {
    Decoding mine(e);
    EXPECT_EQ(waits([&] { mine(e); }), 4U) << "roots, limbs, bytes of the weights, words";
    EXPECT_EQ(waits([&] { mine(e); }), 0U);
  });
}

TEST(EmulationStreams, AWriterWaitsForAllReaders) {
  const Emulation e;
  Poly written = e.make();
  e.zero(written);
  std::vector<Poly> copies(3);
  // From the 17th thread of the process on they share streams.
  std::set<std::uintptr_t> streams = {e.queue->stream()};
  for (Poly& copy : copies) {
    in_a_thread(e, [&] {
      copy = e.make();
      e.copy(copy, written);
      streams.insert(e.queue->stream());
    });
  }
  in_a_thread(e, [&] {
    streams.erase(e.queue->stream());
    EXPECT_EQ(waits([&] { e.zero(written); }), streams.size());
  });
}

TEST(EmulationStreams, ABlockIsReusedAfterTheUsesOfOtherThreads) {
  const Emulation e;
  Poly made = e.make(Secrecy::secret);
  e.zero(made);
  const std::byte* block = std::as_const(made).view().data;
  in_a_thread(e, [&] {
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
  e.queue = e.backend->make_thread_queue();
  Poly written = e.make();
  e.zero(written);
  in_a_thread(e, [&] {
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

TEST(EmulationStreams, AResultOfARecordingServesItsReplays) {
  const Emulation e;
  Poly in = e.make(), out;
  e.zero(in);
  auto recording = e.backend->record(*e.queue, [&] {
    out = e.make();
    e.copy(out, in);
  });
  const std::byte* block = std::as_const(out).view().data;
  out = Poly();  // replays write to it
  const auto next = [&] {
    const Poly poly = e.make();
    return poly.view().data;
  };
  EXPECT_NE(next(), block);
  recording.reset();
  EXPECT_EQ(next(), block);
}

bool is_zero(const std::byte* data) {
  return std::all_of(data, data + 1024 * 8, [](std::byte byte) { return byte == std::byte{0}; });
}

// Copies to and from the host may be of secrets, and leave nothing in what they worked in.
TEST(EmulationStreams, SecretsAreZeroedWhereTheyPassed) {
  const Emulation e;
  Poly in = e.make(), out = e.make();
  std::vector<std::uint64_t> values(1024, 77);
  e.backend->upload(*e.queue, in.view(), values, Form::evaluation);
  {
    const Poly staging = e.make();
    EXPECT_TRUE(is_zero(staging.view().data));
  }
  e.backend->download(*e.queue, values, std::as_const(in).view(), Form::evaluation);
  {
    const Poly staging = e.make();
    EXPECT_TRUE(is_zero(staging.view().data));
  }
  // In replays, too.
  const std::byte* block = nullptr;
  const auto recording = e.backend->record(*e.queue, [&] {
    Poly secret = e.make(Secrecy::secret);
    block = std::as_const(secret).view().data;
    e.copy(secret, in);
    e.copy(out, secret);
  });
  recording->replay(*e.queue);
  EXPECT_FALSE(is_zero(std::as_const(out).view().data));
  EXPECT_TRUE(is_zero(block));
}

TEST(EmulationStreams, ARecordingHasWaitedForWhatItReads) {
  const Emulation e;
  Poly in = e.make(), out = e.make();
  in_a_thread(e, [&] { e.zero(in); });
  const std::size_t before = emulation::counts().synchronizations;
  // A graph can not wait for another stream: the host does, before it goes on, for the writer of each.
  const auto recording = e.backend->record(*e.queue, [&] { e.copy(out, in); });
  EXPECT_EQ(emulation::counts().synchronizations - before, 2U);
}

TEST(EmulationStreams, ARecordingReplaysNoOther) {
  const Emulation e;
  Poly in = e.make(), out = e.make();
  e.zero(in);
  const auto first = e.backend->record(*e.queue, [&] { e.copy(out, in); });
  EXPECT_THROW(static_cast<void>(e.backend->record(*e.queue, [&] { first->replay(*e.queue); })), DeviceError);
  EXPECT_NO_THROW(first->replay(*e.queue));
}

// --- Queues ---

using emulation::last_launch;
using emulation::Launch;

TEST(EmulationQueues, TwoQueuesAreTwoStreams) {
  const Emulation e;
  const auto first = e.backend->make_queue(), second = e.backend->make_queue();
  EXPECT_NE(first->stream(), second->stream());
  EXPECT_NE(first->stream(), e.queue->stream());
  Poly a = e.make(), b = e.make();
  // The buffers are this thread's own until they are used in the queue's stream.
  e.backend->copy(*first, b.view(), std::as_const(a).view());
  e.backend->fill_zero(*first, a.view());
  e.backend->fill_zero(*first, b.view());
  const Launch written = last_launch;
  EXPECT_EQ(waits([&] { e.backend->copy(*first, b.view(), std::as_const(a).view()); }), 0U);
  // Into another queue: after all that this thread gave, once.
  EXPECT_EQ(waits([&] { e.backend->copy(*second, b.view(), std::as_const(a).view()); }), 1U);
  const Launch copied = last_launch;
  EXPECT_NE(written.stream, copied.stream);
  EXPECT_TRUE(written.comes_before(copied));
  e.backend->fill_zero(*second, b.view());
  EXPECT_EQ(waits([&] { e.backend->fill_zero(*second, b.view()); }), 0U);
  e.zero(a);
  EXPECT_TRUE(copied.comes_before(last_launch));
}

TEST(EmulationQueues, ThreadsShareAQueuesStream) {
  const Emulation e;
  const auto queue = e.backend->make_queue();
  Poly a = e.make();
  e.backend->fill_zero(*queue, a.view());
  const Launch written = last_launch;
  const std::uintptr_t stream = queue->stream();
  in_a_thread(e, [&] {
    EXPECT_EQ(queue->stream(), stream);
    EXPECT_NE(e.queue->stream(), stream);
    e.backend->fill_zero(*queue, a.view());
    EXPECT_EQ(last_launch.stream, written.stream);
  });
}

// In the stream of a thread that announced a use there, and gave it to a queue, further threads run.
TEST(EmulationQueues, ThreadsThatShareAStreamAreOrdered) {
  const Emulation e;
  const auto queue = e.backend->make_queue();
  Poly a = e.make();
  e.backend->fill_zero(*queue, a.view());
  const Launch written = last_launch;
  std::array<tests::Worker, 16> threads;
  std::vector<Poly> copies;  // whose blocks order nothing
  for (tests::Worker& thread : threads) {
    thread.run([&] {
      e.copy(copies.emplace_back(e.make()), a);
      EXPECT_TRUE(written.comes_before(last_launch));
    });
  }
}

// A view is announced where it is taken: whoever waits for that stream waits for all that went on from it.
TEST(EmulationQueues, AViewGoesFromQueueToQueue) {
  const Emulation e;
  const auto first = e.backend->make_queue(), second = e.backend->make_queue();
  Poly a = e.make();
  const poly::PolyView view = a.view();
  e.backend->fill_zero(*first, view);
  e.backend->fill_zero(*second, view);
  const Launch written = last_launch;
  in_a_thread(e, [&] {
    Poly b = e.make();
    e.copy(b, a);
    EXPECT_TRUE(written.comes_before(last_launch));
  });
}

TEST(EmulationQueues, ShareStreamsOnlyWhenAllAreLent) {
  const Emulation e;
  using runtime::cuda::Streams;
  constexpr std::size_t lent = Streams::most - Streams::first_copying - Streams::copying;
  std::vector<std::unique_ptr<runtime::Queue>> queues;
  for (int round = 0; round < 3; ++round) {
    queues.resize(std::min<std::size_t>(queues.size(), 1));
    while (queues.size() < lent) queues.push_back(e.backend->make_queue());
    std::set<std::uintptr_t> streams;
    for (const auto& queue : queues) streams.insert(queue->stream());
    EXPECT_EQ(streams.size(), lent);
  }
  queues.push_back(e.backend->make_queue());
  EXPECT_NE(queues.back()->stream(), e.queue->stream());
}

TEST(EmulationQueues, ABackendEndsAfterAllThatWasGiven) {
  Emulation e;
  auto queue = e.backend->make_queue();
  {
    Poly a = e.make();
    e.zero(a);
    e.backend->fill_zero(*queue, a.view());
  }
  const std::size_t before = emulation::counts().synchronizations;
  e.backend.reset();
  EXPECT_EQ(emulation::counts().synchronizations - before, 2U);
}

TEST(EmulationQueues, QueuesOfAnotherBackendAreRefused) {
  const Emulation e, other;
  Poly a = e.make();
  for (const auto& queue : {other.backend->make_queue(), other.backend->make_thread_queue()}) {
    EXPECT_THROW(e.backend->fill_zero(*queue, a.view()), MismatchError);
  }
}

TEST(EmulationQueues, ReplaysRunInTheirQueue) {
  const Emulation e;
  const auto queue = e.backend->make_queue();
  Poly a = e.make(), b = e.make();
  e.zero(a);
  const auto recording = e.backend->record(*queue, [&] { e.copy(b, a); });
  EXPECT_EQ(waits([&] { recording->replay(*queue); }), 0U);
  EXPECT_EQ(waits([&] { recording->replay(*e.queue); }), 1U);
}

// Whoever reads comes after the last writer, and whoever writes after all users since, whichever threads and
// queues they are of.
TEST(EmulationQueues, ConflictingUsesAreOrdered) {
  const Emulation e;
  std::array<tests::Worker, 3> threads;
  std::vector<std::unique_ptr<runtime::Queue>> queues;
  queues.push_back(e.backend->make_thread_queue());
  for (int i = 0; i < 3; ++i) queues.push_back(e.backend->make_queue());
  struct Used {
    Poly poly;
    Launch writer;
    std::vector<Launch> readers;
  };
  std::vector<Used> buffers(4);
  for (Used& buffer : buffers) {
    buffer.poly = e.make();
    e.zero(buffer.poly);
    buffer.writer = last_launch;
  }
  std::mt19937 random(11);
  for (int step = 0; step < 500; ++step) {
    const std::size_t thread = random() % threads.size(), queue = random() % queues.size();
    Used &out = buffers[random() % 4], &in = buffers[random() % 4];
    if (&out == &in) continue;
    threads[thread].run([&] {
      if (random() % 8 == 0) {  // a new buffer in place of one that is released
        out.poly = Poly();
        out.poly = e.make();
      }
      e.backend->copy(*queues[queue], out.poly.view(), std::as_const(in.poly).view());
      const Launch now = last_launch;
      EXPECT_TRUE(in.writer.comes_before(now)) << step;
      EXPECT_TRUE(out.writer.comes_before(now)) << step;
      for (const Launch& reader : out.readers) EXPECT_TRUE(reader.comes_before(now)) << step;
      in.readers.push_back(now);
      out.writer = now;
      out.readers.clear();
    });
  }
}

}  // namespace
}  // namespace hemera::testing
