#include <cuda_runtime.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

namespace hemera::emulation {
namespace {

constexpr unsigned warp_size = 32;
constexpr std::size_t stack_bytes = std::size_t{1} << 18;
// The stacks of a warp's fibers end this much apart, modulo a page: else their frames have the same place in
// the cache.
constexpr std::size_t stack_shift = 1088;
// Where to go on, for the compiler's own pair: the C library's saves more, and takes a jump from stack to
// stack for a mistake.
using Place = void* [5];

enum class State { ready, at_warp_barrier, at_block_barrier, at_cluster_barrier, done };

// Runs kernels, one after the other, each from a fresh start.
struct Fiber {
  Thread thread;
  Block* block = nullptr;
  unsigned number = 0;  // in its cluster
  State state = State::done;
  bool started = false;
  std::unique_ptr<unsigned char[]> stack{new unsigned char[stack_bytes + stack_shift * warp_size]};
  Place resume;
};

// The fibers of one thread of the host: those of a cluster, block by block.
struct Machine {
  std::vector<std::unique_ptr<Fiber>> fibers;
  Fiber* current = nullptr;
  std::vector<Block> blocks;
  Place scheduler;
  const std::function<void()>* kernel = nullptr;
  std::vector<std::vector<unsigned char>> dynamic_shared;  // [block]
  std::array<std::vector<LaneBytes>, 2> exchanged;         // [turn][lane of a warp, warp by warp]
};

thread_local Machine machine;

const pid_t own_process = getpid();

std::mutex counting;
Counts all_counts;

std::mutex pinning;
// As CUDA aligns.
struct Line {
  alignas(256) std::byte bytes[256];
};
struct Pinned {
  std::vector<Line> lines;
  std::size_t bytes;

  [[nodiscard]] std::span<const std::byte> span() const { return {lines.front().bytes, bytes}; }
};
std::map<const std::byte*, Pinned> all_pinned;

[[gnu::noinline]] void leave() {
  if (__builtin_setjmp(machine.current->resume) == 0) __builtin_longjmp(machine.scheduler, 1);
}

void fiber_main() {
  for (;;) {
    (*machine.kernel)();
    machine.current->state = State::done;
    leave();
  }
}

[[gnu::noinline]] void enter(Fiber& fiber) {
  machine.current = &fiber;
  own_thread = &fiber.thread;
  own_block = fiber.block;
  fiber.state = State::ready;
  threadIdx = fiber.thread.thread_index;
  blockIdx = fiber.block->index;
  if (__builtin_setjmp(machine.scheduler) != 0) return;
  if (fiber.started) __builtin_longjmp(fiber.resume, 1);
  fiber.started = true;
  ucontext_t context, unused;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = stack_bytes + stack_shift * (fiber.number % warp_size);
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

// A block's fibers, until all are done or at a barrier of the cluster. Whether any has run.
bool run_block(unsigned first, unsigned last) {
  bool any = false;
  for (bool progress = true; progress;) {
    progress = false;
    for (unsigned warp = first; warp < last; warp += warp_size) {
      const unsigned end = std::min(last, warp + warp_size);
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
    any = any || progress;
    if (all_at(first, last, State::at_block_barrier)) {
      release(first, last, State::at_block_barrier);
      progress = true;
    }
  }
  return any;
}

void run_cluster(unsigned threads) {
  const auto all = static_cast<unsigned>(threads * machine.blocks.size());
  for (unsigned i = 0; i < all; ++i) machine.fibers[i]->state = State::ready;
  for (bool progress = true; progress;) {
    progress = false;
    for (unsigned first = 0; first < all; first += threads) {
      if (run_block(first, first + threads)) progress = true;
    }
    if (all_at(0, all, State::at_cluster_barrier)) {
      release(0, all, State::at_cluster_barrier);
      progress = true;
    }
  }
  for (unsigned i = 0; i < all; ++i) {
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

std::byte* pin(std::size_t bytes) {
  Pinned block{std::vector<Line>((bytes + sizeof(Line) - 1) / sizeof(Line)), bytes};
  std::byte* const data = block.lines.front().bytes;
  const std::lock_guard lock(pinning);
  all_pinned[data] = std::move(block);
  return data;
}

void unpin(void* pointer) {
  const std::lock_guard lock(pinning);
  if (all_pinned.erase(static_cast<const std::byte*>(pointer)) != 1) std::abort();
}

bool is_pinned(const void* pointer) {
  const auto* const address = static_cast<const std::byte*>(pointer);
  const std::lock_guard lock(pinning);
  const auto after = all_pinned.upper_bound(address);
  if (after == all_pinned.begin()) return false;
  return address < std::prev(after)->first + std::prev(after)->second.bytes;
}

std::vector<std::span<const std::byte>> pinned_blocks() {
  const std::lock_guard lock(pinning);
  std::vector<std::span<const std::byte>> blocks;
  for (const auto& [data, block] : all_pinned) blocks.push_back(block.span());
  return blocks;
}

void require_own_process() {
  if (getpid() != own_process) std::abort();
}

unsigned char* dynamic_shared_of(unsigned rank) { return machine.blocks[rank].dynamic_shared; }

void block_barrier() {
  machine.current->state = State::at_block_barrier;
  leave();
}

void cluster_barrier() {
  machine.current->state = State::at_cluster_barrier;
  leave();
}

void warp_barrier() {
  machine.current->state = State::at_warp_barrier;
  leave();
}

void run(dim3 grid, dim3 block, unsigned cluster, std::size_t shared_bytes,
         const std::function<void()>& kernel) {
  const unsigned threads = block.x * block.y * block.z;
  // Warps of different blocks share no scratch.
  if (grid.x % cluster != 0 || (cluster > 1 && threads % warp_size != 0)) std::abort();
  while (machine.fibers.size() < cluster * threads) machine.fibers.push_back(std::make_unique<Fiber>());
  for (std::vector<LaneBytes>& lanes : machine.exchanged)
    lanes.resize((cluster * threads + warp_size - 1) / warp_size * warp_size);
  machine.blocks.resize(cluster);
  machine.dynamic_shared.resize(std::max<std::size_t>(machine.dynamic_shared.size(), cluster));
  machine.kernel = &kernel;
  gridDim = grid;
  blockDim = block;
  for (unsigned rank = 0; rank < cluster; ++rank) {
    std::vector<unsigned char>& memory = machine.dynamic_shared[rank];
    memory.assign(shared_bytes + 128, 0xa5);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    machine.blocks[rank].dynamic_shared = memory.data() + (128 - address % 128) % 128;
    machine.blocks[rank].rank = rank;
  }
  for (unsigned number = 0; number < cluster * threads; ++number) {
    Fiber& fiber = *machine.fibers[number];
    const unsigned i = number % threads;
    fiber.thread.thread_index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
    fiber.thread.linear = i;
    fiber.thread.exchanges = 0;
    for (unsigned turn = 0; turn < 2; ++turn)
      fiber.thread.exchanged[turn] = machine.exchanged[turn].data() + number / warp_size * warp_size;
    fiber.block = &machine.blocks[number / threads];
    fiber.number = number;
  }
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; x += cluster) {
        for (unsigned rank = 0; rank < cluster; ++rank) machine.blocks[rank].index = {x + rank, y, z};
        run_cluster(threads);
      }
    }
  }
}

}  // namespace hemera::emulation
