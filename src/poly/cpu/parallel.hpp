// How the CPU backend spreads an operation over the threads of its queue.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hemera/poly/poly.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/interruption.hpp"
#include "hemera/runtime/queue.hpp"
#include "poly/cpu/kernels.hpp"
#include "poly/cpu/tuning.hpp"

namespace hemera::poly::cpu {

inline runtime::ThreadPool& pool_of(runtime::Queue& queue) {
  auto* cpu = dynamic_cast<runtime::CpuQueue*>(&queue);
  if (cpu == nullptr) {
    throw MismatchError("a queue of " + queue.device().name() +
                        " was given to the CPU backend; use the queue that its make_queue() returns");
  }
  return cpu->pool();
}

/// How many threads so much work is worth, which is counted in additions of words (tuning.hpp).
inline int threads_worth(std::size_t words) {
  if (words <= tuning::serial_words) return 1;
  return static_cast<int>(
      std::min(std::size_t{std::numeric_limits<int>::max()}, words / tuning::words_per_thread));
}

/// How many threads of the pool work on them.
inline int threads_for(const runtime::ThreadPool& pool, std::size_t words) {
  return std::min(pool.threads(), threads_worth(words));
}

/// body(i) for i in [0, count), on as many threads as the words that they touch together are worth.
template <typename Body>
void parallel_for(runtime::ThreadPool& pool, std::size_t count, std::size_t words, const Body& body) {
  const int threads = threads_for(pool, words);
  if (threads == 1) {
    runtime::throw_if_interrupted();  // once: it takes as long as an iteration
    for (std::size_t i = 0; i < count; ++i) body(i);
  } else {
    pool.parallel_for_slots(
        count, [&](std::size_t i, std::size_t) { body(i); }, threads_worth(words));
  }
}
template <typename Body>
void parallel_for(runtime::Queue& queue, std::size_t count, std::size_t words, const Body& body) {
  parallel_for(pool_of(queue), count, words, body);
}

/// The number of parts, a power of two up to `most`, of each of `count` equal tasks so that `threads` threads
/// have about the same to do: at most a ninth more than the mean.
inline std::size_t even_parts(std::size_t count, int threads, std::size_t most) {
  const auto shares = static_cast<std::size_t>(threads);
  std::size_t parts = 1;
  while (parts < most && 9 * shares * ((count * parts + shares - 1) / shares) > 10 * count * parts)
    parts *= 2;
  return parts;
}

/// body(batch, component, limb) for all limbs of an array, each a whole. `weight`: cost of a word in units of
/// an addition.
template <typename Body>
void for_each_limb(runtime::Queue& queue, const PolyShape& shape, std::size_t weight, const Body& body) {
  const std::size_t count = shape.batch * shape.components * shape.limbs;
  parallel_for(queue, count, count * shape.degree * weight, [&](std::size_t i) {
    const std::size_t polynomial = i / shape.limbs;
    body(polynomial / shape.components, polynomial % shape.components, i % shape.limbs);
  });
}

/// body(batch, component, limb, first, count) for ranges of entries that make up all limbs. `weight` as for
/// for_each_limb.
template <typename Body>
void for_each_part(runtime::Queue& queue, const PolyShape& shape, std::size_t weight, const Body& body) {
  constexpr std::size_t least = 1024;
  static_assert(min_degree % least == 0);
  const std::size_t limbs = shape.batch * shape.components * shape.limbs;
  const std::size_t words = limbs * shape.degree * weight;
  const std::size_t parts = even_parts(limbs, threads_for(pool_of(queue), words), shape.degree / least);
  const std::size_t count = shape.degree / parts;
  parallel_for(queue, limbs * parts, words, [&](std::size_t i) {
    const std::size_t polynomial = i / parts / shape.limbs;
    body(polynomial / shape.components, polynomial % shape.components, i / parts % shape.limbs,
         i % parts * count, count);
  });
}

/// Work on all limbs of an array with transforms in it: whole(batch, component, limb), or in two steps,
/// step(number, batch, component, limb, part, parts) with `number` 0 or 1, of up to most_transform_parts
/// parts. Only those limbs are divided that the threads can not share evenly. They come last: what the first
/// step makes is near when the second takes it. `weight` as for for_each_limb.
template <typename Whole, typename Step>
void for_each_transform(runtime::Queue& queue, const PolyShape& shape, std::size_t weight, const Whole& whole,
                        const Step& step) {
  const auto at = [&](std::size_t i, const auto& body) {
    const std::size_t polynomial = i / shape.limbs;
    body(polynomial / shape.components, polynomial % shape.components, i % shape.limbs);
  };
  runtime::ThreadPool& pool = pool_of(queue);
  const std::size_t limbs = shape.batch * shape.components * shape.limbs;
  const std::size_t words = limbs * shape.degree * weight;
  const int threads = threads_for(pool, words);
  const std::size_t divided = limbs % static_cast<std::size_t>(threads);
  // A part is as much work as a thread is woken for.
  std::size_t most = shape.degree < tuning::least_divided_degree ? 1 : tuning::most_transform_parts;
  while (most > 1 && shape.degree * weight / most < tuning::words_per_thread) most /= 2;
  const std::size_t parts = even_parts(limbs, threads, 2) == 1 ? 1 : even_parts(divided, threads, most);
  if (parts == 1) return for_each_limb(queue, shape, weight, whole);
  const std::size_t first = limbs - divided;
  const std::array<runtime::LoopPart, 2> in_order = {{
      {.count = first + divided * parts, .after = 0},
      {.count = divided * parts, .after = 1},
  }};
  pool.parallel_for_parts(
      in_order,
      [&](std::size_t number, std::size_t i) {
        if (number == 0 && i < first) return at(i, whole);
        if (number == 0) i -= first;
        at(first + i / parts,
           [&](std::size_t b, std::size_t c, std::size_t l) { step(number, b, c, l, i % parts, parts); });
      },
      threads_worth(words));
}

/// body(batch, component, first, end) for runs of coefficients, of whole blocks, that make up an array: few,
/// so that what a task makes and clears costs little. `weight` as for for_each_limb, per coefficient and
/// polynomial.
template <typename Body>
void for_each_run(runtime::Queue& queue, const PolyShape& shape, std::size_t block, std::size_t weight,
                  const Body& body) {
  const std::size_t polynomials = shape.batch * shape.components;
  const auto threads =
      static_cast<std::size_t>(threads_for(pool_of(queue), polynomials * shape.degree * weight));
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
