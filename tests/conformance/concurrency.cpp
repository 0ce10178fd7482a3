// One backend from many threads, each with its own queue and workspace: the bits do not depend on it.
#include <algorithm>
#include <thread>
#include <utility>

#include "conformance/suite.hpp"

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
    poly::Poly product(backend.memory(), 2, 2, up.extended(), Form::evaluation);
    poly::Poly result(backend.memory(), 2, 2, up.base(), Form::evaluation);
    runtime::Workspace workspace(backend.memory(),
                                 std::max(backend.mod_up_inner_product_workspace(in.shape(), up),
                                          backend.divide_and_round_workspace(product.shape(), down)));
    backend.mod_up_inner_product(queue, product.view(), in.view(), key.view(), up, Form::evaluation,
                                 workspace);
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

}  // namespace
}  // namespace hemera::conformance
