// longjmp from stack to stack, which glibc's fortified one takes for a mistake.
#undef _FORTIFY_SOURCE

#include <cuda_runtime.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <memory>
#include <mutex>
#include <vector>

namespace hemera::emulation {
namespace {

constexpr std::size_t stack_bytes = std::size_t{1} << 18;
constexpr unsigned warp_size = 32;

enum class State { ready, at_block_barrier, at_warp_barrier, done };

// Runs kernels, one after the other, each from a fresh start.
struct Fiber {
  Thread thread;
  State state = State::done;
  bool started = false;
  std::unique_ptr<unsigned char[]> stack{new unsigned char[stack_bytes]};
  jmp_buf resume;
};

// The fibers of one thread of the host.
struct Machine {
  std::vector<std::unique_ptr<Fiber>> fibers;
  Fiber* current = nullptr;
  Block block;
  jmp_buf scheduler;
  const std::function<void()>* kernel = nullptr;
  std::vector<unsigned char> dynamic_shared;
  std::vector<std::array<unsigned char, 64>> scratch;
};

thread_local Machine machine;

std::mutex counting;
Counts all_counts;

void leave() {
  if (_setjmp(machine.current->resume) == 0) _longjmp(machine.scheduler, 1);
}

void fiber_main() {
  for (;;) {
    (*machine.kernel)();
    machine.current->state = State::done;
    leave();
  }
}

void enter(Fiber& fiber) {
  machine.current = &fiber;
  fiber.state = State::ready;
  threadIdx = fiber.thread.thread_index;
  if (_setjmp(machine.scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.resume, 1);
  fiber.started = true;
  ucontext_t context, unused;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = stack_bytes;
  context.uc_link = nullptr;
  makecontext(&context, fiber_main, 0);
  swapcontext(&unused, &context);
}

bool all_at(unsigned first, unsigned last, State state) {
  bool any = false;
  for (unsigned i = first; i < last; ++i) {
    const State own = machine.fibers[i]->state;
    if (own == state)
      any = true;
    else if (own != State::done)
      return false;
  }
  return any;
}

void release(unsigned first, unsigned last, State state) {
  for (unsigned i = first; i < last; ++i) {
    if (machine.fibers[i]->state == state) machine.fibers[i]->state = State::ready;
  }
}

void run_block(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) machine.fibers[i]->state = State::ready;
  for (;;) {
    bool progress = false;
    for (unsigned warp = 0; warp < threads; warp += warp_size) {
      const unsigned end = std::min(threads, warp + warp_size);
      do {
        release(warp, end, State::at_warp_barrier);
        for (unsigned i = warp; i < end; ++i) {
          if (machine.fibers[i]->state == State::ready) {
            enter(*machine.fibers[i]);
            progress = true;
          }
        }
      } while (all_at(warp, end, State::at_warp_barrier));
    }
    if (all_at(0, threads, State::at_block_barrier)) {
      release(0, threads, State::at_block_barrier);
    } else if (!progress) {
      break;
    }
  }
  for (unsigned i = 0; i < threads; ++i) {
    if (machine.fibers[i]->state != State::done) std::abort();  // a barrier that not all threads reach
  }
}

}  // namespace

Counts counts() {
  const std::lock_guard lock(counting);
  return all_counts;
}

void count(std::size_t Counts::*what) {
  const std::lock_guard lock(counting);
  ++(all_counts.*what);
}

Thread& current_thread() { return machine.current->thread; }
Block& current_block() { return machine.block; }
unsigned char* warp_scratch(unsigned lane) {
  return machine.scratch[machine.current->thread.linear / warp_size * warp_size + lane].data();
}

void block_barrier() {
  machine.current->state = State::at_block_barrier;
  leave();
}

void warp_barrier() {
  machine.current->state = State::at_warp_barrier;
  leave();
}

void run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& kernel) {
  const unsigned threads = block.x * block.y * block.z;
  while (machine.fibers.size() < threads) machine.fibers.push_back(std::make_unique<Fiber>());
  machine.scratch.resize((threads + warp_size - 1) / warp_size * warp_size);
  machine.dynamic_shared.assign(shared_bytes + 128, 0xa5);
  machine.kernel = &kernel;
  gridDim = grid;
  blockDim = block;
  const auto address = reinterpret_cast<std::uintptr_t>(machine.dynamic_shared.data());
  machine.block.dynamic_shared = machine.dynamic_shared.data() + (128 - address % 128) % 128;
  for (unsigned i = 0; i < threads; ++i) {
    machine.fibers[i]->thread.thread_index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
    machine.fibers[i]->thread.linear = i;
  }
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        run_block(threads);
      }
    }
  }
}

}  // namespace hemera::emulation
