// How the CPU backend spreads an operation over the threads of its queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hemera/poly/poly.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/interruption.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::poly::cpu {

inline runtime::ThreadPool& pool_of(runtime::Queue& queue) {
  auto* cpu = dynamic_cast<runtime::CpuQueue*>(&queue);
  if (cpu == nullptr) {
    throw MismatchError("a queue of " + queue.device().name() +
                        " was given to the CPU backend; use the queue that its make_queue() returns");
  }
  return cpu->pool();
}

/// Fewer words than this are not worth waking threads for, in operations of a few cycles a word.
inline constexpr std::size_t serial_words = std::size_t{1} << 15;

/// body(i) for i in [0, count), in place if all iterations together touch only a few words.
template <typename Body>
void parallel_for(runtime::Queue& queue, std::size_t count, std::size_t words, const Body& body) {
  runtime::ThreadPool& pool = pool_of(queue);
  if (words < serial_words) {
    runtime::throw_if_interrupted();  // once: it takes as long as an iteration
    for (std::size_t i = 0; i < count; ++i) body(i);
  } else {
    pool.parallel_for(count, body);
  }
}

/// body(batch, component, limb) for all limbs of an array. `weight`: cost of a word in units of an addition.
template <typename Body>
void for_each_limb(runtime::Queue& queue, const PolyShape& shape, std::size_t weight, const Body& body) {
  const std::size_t count = shape.batch * shape.components * shape.limbs;
  parallel_for(queue, count, count * shape.degree * weight, [&](std::size_t i) {
    const std::size_t polynomial = i / shape.limbs;
    body(polynomial / shape.components, polynomial % shape.components, i % shape.limbs);
  });
}

/// body(batch, component, first, end) for runs of coefficients, of whole blocks, that make up an array: few,
/// so that what a task makes and clears costs little. `weight` as for for_each_limb, per coefficient and
/// polynomial.
template <typename Body>
void for_each_run(runtime::Queue& queue, const PolyShape& shape, std::size_t block, std::size_t weight,
                  const Body& body) {
  const std::size_t polynomials = shape.batch * shape.components;
  const auto threads = static_cast<std::size_t>(pool_of(queue).threads());
  const std::size_t wanted = threads == 1 ? 1 : 4 * threads;  // tasks, for even shares
  std::size_t run = shape.degree;
  while (run > block && polynomials * (shape.degree / run) < wanted) run /= 2;
  const std::size_t runs = shape.degree / run;
  parallel_for(queue, polynomials * runs, polynomials * shape.degree * weight, [&](std::size_t i) {
    const std::size_t polynomial = i / runs;
    const std::size_t first = i % runs * run;
    body(polynomial / shape.components, polynomial % shape.components, first, first + run);
  });
}

/// body(batch, component, first coefficient) for all blocks of an array. `weight` as for for_each_limb, per
/// coefficient and polynomial.
template <typename Body>
void for_each_block(runtime::Queue& queue, const PolyShape& shape, std::size_t block, std::size_t weight,
                    const Body& body) {
  const std::size_t blocks = shape.degree / block;
  const std::size_t count = shape.batch * shape.components * blocks;
  parallel_for(queue, count, count * block * weight, [&](std::size_t i) {
    const std::size_t polynomial = i / blocks;
    body(polynomial / shape.components, polynomial % shape.components, i % blocks * block);
  });
}

}  // namespace hemera::poly::cpu
