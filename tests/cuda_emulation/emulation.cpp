#include <cuda_runtime.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <span>
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

// Fibers that wait for others look again when all others have run.
enum class State : unsigned char {
  ready,
  waiting,
  at_warp_barrier,
  at_block_barrier,
  at_cluster_barrier,
  done
};

// Runs kernels, one after the other, each from a fresh start.
struct Fiber {
  Thread thread;
  Block* block = nullptr;
  unsigned number = 0;  // in its cluster
  bool started = false;
  std::unique_ptr<unsigned char[]> stack{new unsigned char[stack_bytes + stack_shift * warp_size]};
  Place resume;
};

// The fibers of one thread of the host: those of a cluster, block by block.
struct Machine {
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<State> states;  // of the fibers, side by side
  Fiber* current = nullptr;
  bool ended_wait = false;  // since a block was entered
  std::vector<Block> blocks;
  Place scheduler;
  const std::function<void()>* kernel = nullptr;
  std::vector<std::vector<unsigned char>> dynamic_shared;  // [block]
  std::array<std::vector<LaneBytes>, 2> exchanged;         // [turn][lane of a warp, warp by warp]
};

// The calling thread's, which a launch makes: what may need to be made first is asked for at each use.
constinit thread_local Machine* own_machine = nullptr;

Machine& make_machine() {
  static thread_local Machine machine;
  own_machine = &machine;
  return machine;
}

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

std::mutex taking;
struct Taken {
  int device;
  std::size_t bytes;
};
std::map<void*, Taken> all_taken;
std::map<int, std::size_t> taken_bytes;  // [device]

// A function of its own: one that both sets a place and jumps may be taken for one that never returns.
[[noreturn, gnu::noinline]] void go_on(Place& place) { __builtin_longjmp(place, 1); }

[[gnu::noinline]] void leave(State state) {
  Machine& machine = *own_machine;
  machine.states[machine.current->number] = state;
  if (__builtin_setjmp(machine.current->resume) == 0) go_on(machine.scheduler);
}

void fiber_main() {
  for (;;) {
    (*own_machine->kernel)();
    leave(State::done);
  }
}

[[gnu::noinline]] void enter(Fiber& fiber) {
  Machine& machine = *own_machine;
  machine.current = &fiber;
  own_thread = &fiber.thread;
  own_block = fiber.block;
  threadIdx = fiber.thread.thread_index;
  blockIdx = fiber.block->index;
  if (__builtin_setjmp(machine.scheduler) != 0) return;
  if (fiber.started) go_on(fiber.resume);
  fiber.started = true;
  ucontext_t context, unused;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = stack_bytes + stack_shift * (fiber.number % warp_size);
  context.uc_link = nullptr;
  makecontext(&context, fiber_main, 0);
  swapcontext(&unused, &context);
}

bool all_at(std::span<const State> states, State state) {
  bool any = false;
  for (const State own : states) {
    if (own == state)
      any = true;
    else if (own != State::done)
      return false;
  }
  return any;
}

void release(std::span<State> states, State state) { std::ranges::replace(states, state, State::ready); }

// A block's fibers, until all are done or at a barrier of the cluster. Whether any has run.
bool run_block(Machine& machine, unsigned first, unsigned threads) {
  const std::span<State> block = std::span(machine.states).subspan(first, threads);
  bool any = false;
  machine.ended_wait = false;
  for (bool progress = true; progress;) {
    progress = false;
    for (unsigned warp = 0; warp < threads; warp += warp_size) {
      const std::span<State> states = block.subspan(warp, std::min(warp_size, threads - warp));
      do {
        release(states, State::at_warp_barrier);
        for (unsigned lane = 0; lane < states.size(); ++lane) {
          if (states[lane] == State::ready) {
            enter(*machine.fibers[first + warp + lane]);
            if (states[lane] != State::waiting) progress = true;
          }
        }
      } while (all_at(states, State::at_warp_barrier));
    }
    any = any || progress;
    if (all_at(block, State::at_block_barrier)) {
      release(block, State::at_block_barrier);
      progress = true;
    }
  }
  return any || machine.ended_wait;
}

void run_cluster(Machine& machine, unsigned threads) {
  const std::span<State> all = std::span(machine.states).first(threads * machine.blocks.size());
  std::ranges::fill(all, State::ready);
  for (bool progress = true; progress;) {
    progress = false;
    release(all, State::waiting);
    for (unsigned first = 0; first < all.size(); first += threads) {
      if (run_block(machine, first, threads)) progress = true;
    }
    if (all_at(all, State::at_cluster_barrier)) {
      release(all, State::at_cluster_barrier);
      progress = true;
    }
  }
  for (const State state : all) {
    if (state != State::done) std::abort();  // a barrier that not all threads reach
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

void* take_device_memory(std::size_t bytes) {
  const std::lock_guard lock(taking);
  std::size_t& taken = taken_bytes[current_device];
  if (bytes > device_memory || taken > device_memory - bytes) return nullptr;
  void* const pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (pointer == nullptr) return nullptr;
  all_taken[pointer] = {current_device, bytes};
  taken += bytes;
  return pointer;
}

void give_back_device_memory(void* pointer) {
  if (pointer == nullptr) return;
  const std::lock_guard lock(taking);
  const auto found = all_taken.find(pointer);
  if (found == all_taken.end()) std::abort();
  taken_bytes[found->second.device] -= found->second.bytes;
  all_taken.erase(found);
  std::free(pointer);
}

std::size_t free_device_memory() {
  const std::lock_guard lock(taking);
  return device_memory - std::min(device_memory, taken_bytes[current_device]);
}

void require_own_process() {
  if (getpid() != own_process) std::abort();
}

unsigned char* dynamic_shared_of(unsigned rank) { return own_machine->blocks[rank].dynamic_shared; }

void block_barrier() { leave(State::at_block_barrier); }

void cluster_barrier() { leave(State::at_cluster_barrier); }

void warp_barrier() { leave(State::at_warp_barrier); }

void wait_for_others() { leave(State::waiting); }

void end_wait() { own_machine->ended_wait = true; }

void run(dim3 grid, dim3 block, unsigned cluster, std::size_t shared_bytes,
         const std::function<void()>& kernel) {
  Machine& machine = make_machine();
  const unsigned threads = block.x * block.y * block.z;
  // Warps of different blocks share no scratch.
  if (grid.x % cluster != 0 || (cluster > 1 && threads % warp_size != 0)) std::abort();
  while (machine.fibers.size() < cluster * threads) machine.fibers.push_back(std::make_unique<Fiber>());
  machine.states.resize(machine.fibers.size(), State::done);
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
        run_cluster(machine, threads);
      }
    }
  }
}

}  // namespace hemera::emulation
