// How the CPU backend spreads an operation over the threads of its queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hemera/poly/poly.hpp"
#include "hemera/runtime/error.hpp"
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

/// How many target limbs a task converts at once from `sources` rows: a few when the rows together pass the
/// second-level cache, so that each block of them is fetched once for all; else one, which then stays in that
/// cache for its transform. Fewer than that when it would leave threads without work.
inline std::size_t group_size(const runtime::ThreadPool& pool, std::size_t polynomials, std::size_t limbs,
                              std::size_t sources, std::size_t degree) {
  constexpr std::size_t cache_words = std::size_t{1} << 16;
  if (sources < 4 || sources * degree <= cache_words) return 1;
  const auto threads = static_cast<std::size_t>(pool.threads());
  std::size_t group = 4;
  while (threads > 1 && group > 1 && polynomials * ((limbs + group - 1) / group) < 4 * threads) group /= 2;
  return group;
}

/// body(batch, component, first limb, number of limbs) for all groups of limbs of an array.
template <typename Body>
void for_each_limb_group(runtime::Queue& queue, const PolyShape& shape, std::size_t group, std::size_t weight,
                         const Body& body) {
  const std::size_t groups = (shape.limbs + group - 1) / group;
  const std::size_t count = shape.batch * shape.components * groups;
  parallel_for(queue, count, shape.words() * weight, [&](std::size_t i) {
    const std::size_t polynomial = i / groups;
    const std::size_t first = i % groups * group;
    body(polynomial / shape.components, polynomial % shape.components, first,
         std::min(group, shape.limbs - first));
  });
}

}  // namespace hemera::poly::cpu
