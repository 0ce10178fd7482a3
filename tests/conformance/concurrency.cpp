// One backend from many threads, each with its own queue and workspace: the bits do not depend on it.
#include <array>
#include <memory>
#include <thread>
#include <utility>

#include "conformance/suite.hpp"
#include "hemera/runtime/error.hpp"
#include "worker.hpp"

namespace hemera::conformance {
namespace {

using poly::Form;

TEST_P(BackendTest, ServesManyThreadsAtOnce) {
  Rig rig(GetParam(), 4096, {50, 50, 60, 50});
  const poly::ModUp up(
      rig.primes(0, 3), rig.primes(3, 1),
      {{.key_digit = 0, .moduli = rig.primes(0, 2)}, {.key_digit = 1, .moduli = rig.primes(2, 1)}},
      rig.all());
  const poly::Division down(rig.all(), up.base());
  const poly::Backend& backend = *rig.backend;
  const poly::Poly in = rig.upload(rig.random(up.base(), 2, 1));
  const poly::Poly key = rig.upload(rig.random(rig.all(), 2, 2));

  const auto switch_key = [&](runtime::Queue& queue) {
    poly::Poly digits(backend.memory(), 2, 2, up.extended(), Form::evaluation);
    poly::Poly product(backend.memory(), 2, 2, up.extended(), Form::evaluation);
    poly::Poly result(backend.memory(), 2, 2, up.base(), Form::evaluation);
    runtime::Workspace workspace(backend.memory());
    backend.mod_up(queue, digits.view(), in.view(), up, Form::evaluation, workspace);
    backend.key_inner_product(queue, product.view(), std::as_const(digits).view(), key.view(), up);
    backend.divide_and_round(queue, result.view(), std::as_const(product).view(), down, Form::evaluation,
                             workspace);
    backend.automorphism(queue, product.view().limbs(0, 3), result.view(), 5, Form::evaluation, up.base());
    Host host(up.base(), 2, 2);
    backend.download(queue, host.words, product.view().limbs(0, 3), Form::evaluation);
    queue.synchronize();
    return host;
  };

  const Host expected = switch_key(*rig.queue);
  std::vector<Host> results(8, expected);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::unique_ptr<runtime::Queue> queue = backend.make_queue();
      results[2 * t] = switch_key(*queue);
      results[2 * t + 1] = switch_key(*queue);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Host& result : results) EXPECT_TRUE(same(result, expected));
}

TEST_P(BackendTest, OrdersWhatThreadsDoWithOneAnothersArrays) {
  // Arrays pass from thread to thread as soon as the calls have returned: read by several, overwritten,
  // released and made anew. A backend whose threads have streams of their own must order them on the device.
  Rig rig(GetParam(), GetParam().brief() ? 1024 : 16384, {50, 50, 50, 50});
  const poly::Backend& backend = *rig.backend;
  const poly::RnsBase base = rig.all();
  const std::size_t batch = GetParam().brief() ? 1 : 8;
  const Host start = rig.random(base, batch, 2);
  const auto array = [&] { return poly::Poly(backend.memory(), batch, 2, base, Form::evaluation); };
  // One step: a product, forth and back through both forms a few times so that it takes a while, and a sum of
  // two readers' results.
  const auto slow_square = [&](runtime::Queue& queue, const poly::PolyView& out,
                               const poly::ConstPolyView& in) {
    backend.multiply(queue, out, in, in, base);
    for (int i = 0; i < 4; ++i) {
      backend.inverse_transform(queue, out, out, base);
      backend.forward_transform(queue, out, out, base);
    }
  };

  constexpr int rounds = 12;
  poly::Poly expected = rig.upload(start);
  for (int round = 0; round < rounds; ++round) {
    poly::Poly square = array();
    slow_square(*rig.queue, square.view(), std::as_const(expected).view());
    backend.add(*rig.queue, expected.view(), std::as_const(square).view(), std::as_const(square).view(),
                base);
  }

  std::array<tests::Worker, 3> workers;
  std::array<std::unique_ptr<runtime::Queue>, 3> queues;
  for (auto& queue : queues) queue = backend.make_queue();
  poly::Poly value = rig.upload(start);
  for (int round = 0; round < rounds; ++round) {
    poly::Poly left = array();
    poly::Poly right = array();
    // Two threads read what a third one wrote last.
    workers[0].run([&] { slow_square(*queues[0], left.view(), std::as_const(value).view()); });
    workers[1].run([&] { slow_square(*queues[1], right.view(), std::as_const(value).view()); });
    workers[2].run([&] {
      // Overwrites what the readers read; what it replaces is released here, and written again by others.
      backend.add(*queues[2], value.view(), std::as_const(left).view(), std::as_const(right).view(), base);
      left = poly::Poly();
      right = poly::Poly();
    });
    workers[static_cast<std::size_t>(round) % 3].run([&] {
      poly::Poly garbage = array();
      backend.fill_zero(*queues[static_cast<std::size_t>(round) % 3], garbage.view());
    });
  }
  EXPECT_TRUE(same(rig.download(value), rig.download(expected)));
}

TEST_P(BackendTest, CopiesFromAnotherBackend) {
  Rig rig(GetParam(), 2048, {50, 60});
  const Rig other(GetParam(), 2048, {50, 60});
  const auto cpu = poly::make_cpu_backend(rig.ring, 1);
  const auto cpu_queue = cpu->make_queue();
  const Host values = rig.random(rig.all(), 3, 2);
  const poly::Poly given = rig.upload(values);
  for (const Form form : {Form::coefficient, Form::evaluation}) {
    poly::Poly there(other.backend->memory(), 3, 2, other.all(), form);
    poly::Poly host(cpu->memory(), 3, 2, rig.all(), form);
    poly::Poly back = rig.output(rig.all(), 3, 2, form);
    const poly::Poly in = rig.upload(values, form);
    other.backend->copy_from(*other.queue, there.view(), *rig.backend, *rig.queue, in.view(), form);
    cpu->copy_from(*cpu_queue, host.view(), *other.backend, *other.queue, std::as_const(there).view(), form);
    rig.backend->copy_from(*rig.queue, back.view(), *cpu, *cpu_queue, std::as_const(host).view(), form);
    EXPECT_TRUE(same(rig.download(back), values));
  }
  poly::Poly smaller = rig.output(rig.all(), 2, 2);
  EXPECT_THROW(rig.backend->copy_from(*rig.queue, smaller.view(), *other.backend, *other.queue, given.view(),
                                      Form::evaluation),
               MismatchError);
}

TEST_P(BackendTest, ReadsAnotherBackendsMemory) {
  Rig rig(GetParam(), 2048, {50, 60});
  Rig other(GetParam(), 2048, {50, 60});
  const Host a = rig.random(rig.all(), 3, 2), b = rig.random(rig.all(), 3, 2);
  const poly::Poly own = rig.upload(a), there = other.upload(b);
  poly::Poly sum = rig.output(rig.all(), 3, 2, Form::evaluation), expected = rig.upload(b);
  rig.backend->add(*rig.queue, expected.view(), own.view(), std::as_const(expected).view(), rig.all());
  const auto add = [&] { rig.backend->add(*rig.queue, sum.view(), own.view(), there.view(), rig.all()); };
  EXPECT_TRUE(rig.backend->read_from(*rig.queue, *other.backend, *other.queue, add));
  EXPECT_TRUE(same(rig.download(sum), rig.download(expected)));
  // Errors of the operations are the caller's.
  EXPECT_THROW(static_cast<void>(rig.backend->read_from(*rig.queue, *other.backend, *other.queue,
                                                        [] { throw MismatchError("other shapes"); })),
               MismatchError);
  const auto cpu = poly::make_cpu_backend(rig.ring, 1);
  const auto cpu_queue = cpu->make_queue();
  const bool is_cpu = rig.backend->device().kind == runtime::Device::Kind::cpu;
  std::size_t calls = 0;
  EXPECT_EQ(rig.backend->read_from(*rig.queue, *cpu, *cpu_queue, [&] { ++calls; }), is_cpu);
  EXPECT_EQ(cpu->read_from(*cpu_queue, *rig.backend, *rig.queue, [&] { ++calls; }), is_cpu);
  EXPECT_EQ(calls, is_cpu ? 2U : 0U);
}

}  // namespace
}  // namespace hemera::conformance
