#include "hemera/runtime/memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/fork.hpp"
#include "hemera/runtime/interruption.hpp"
#include "runtime/host_memory.hpp"
#include "runtime/size_class.hpp"
#include "runtime/tuning.hpp"

namespace hemera::runtime {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t page_bytes() {
#if defined(__linux__)
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
#else
  return 4096;
#endif
}

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Whether core dumps have the pages of a block, which has them alone. A hint, which may fail.
void set_dumped([[maybe_unused]] std::byte* block, [[maybe_unused]] std::size_t bytes,
                [[maybe_unused]] bool is_dumped) noexcept {
#if defined(__linux__)
  madvise(block, rounded_up(bytes, page_bytes()), is_dumped ? MADV_DODUMP : MADV_DONTDUMP);
#endif
}

// Memory may go back in a destructor, which is not interrupted, and may not be asked before as by
// Uninterrupted.
struct NotAsked {
  NotAsked() { ++detail::uninterrupted_scopes; }
  ~NotAsked() { --detail::uninterrupted_scopes; }
  NotAsked(const NotAsked&) = delete;
  NotAsked& operator=(const NotAsked&) = delete;
};

class HostMemory final : public Memory {
 public:
  HostMemory(std::size_t kept_bytes_limit, std::size_t limit, std::shared_ptr<ThreadPool> pool)
      : kept_bytes_limit_(kept_bytes_limit), limit_(limit), pool_(std::move(pool)) {
    const std::lock_guard lock(neighbours_.mutex);
    neighbours_.pools.push_back(this);
  }

  ~HostMemory() override {
    {
      const std::lock_guard lock(neighbours_.mutex);
      std::erase(neighbours_.pools, this);
    }
    give_back_kept();
  }

  [[nodiscard]] Device device() const override { return {Device::Kind::cpu, 0}; }

  std::byte* allocate(std::size_t bytes) override { return allocate(bytes, Secrecy::open); }

  // Blocks of secrets are blocks of whole pages, which core dumps leave out, and stay among themselves.
  std::byte* allocate(std::size_t bytes, Secrecy secrecy) {
    if (bytes > SIZE_MAX / 2) {
      const std::lock_guard lock(mutex_);
      fail(bytes);
    }
    const std::size_t block_bytes = size_class(bytes, alignment);
    {
      const std::lock_guard lock(mutex_);
      auto& kept = kept_of(secrecy);
      auto found = kept.find(block_bytes);
      if (found != kept.end() && !found->second.empty()) {
        std::byte* block = found->second.back();
        found->second.pop_back();
        kept_bytes_ -= block_bytes;
        neighbours_.kept -= block_bytes;
        use(block_bytes);
        return block;
      }
      if (limit_ != 0 && used_ + kept_bytes_ + block_bytes > limit_) give_back_kept();
      if (limit_ != 0 && used_ + block_bytes > limit_) fail(bytes);
      use(block_bytes);
    }
    make_room();
    const bool large = block_bytes >= huge_page;
    const std::size_t align = large ? huge_page : secrecy == Secrecy::secret ? page_bytes() : alignment;
    const std::size_t rounded = rounded_up(block_bytes, align);
    void* block = std::aligned_alloc(align, rounded);
    if (block == nullptr) {
      const std::lock_guard lock(mutex_);
      used_ -= block_bytes;
      fail(bytes);
    }
#if defined(__linux__)
    // Not its last part, for which a whole huge page would be taken.
    if (large) madvise(block, block_bytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
    if (secrecy == Secrecy::secret) set_dumped(static_cast<std::byte*>(block), block_bytes, false);
    return static_cast<std::byte*>(block);
  }

  void release(std::byte* pointer, std::size_t bytes, Secrecy secrecy,
               const BufferUses& /*uses*/) noexcept override {
    const std::size_t block_bytes = size_class(bytes, alignment);
    if (secrecy == Secrecy::secret) zero(pointer, bytes);
    {
      const std::lock_guard lock(mutex_);
      used_ -= block_bytes;
      last_turn_ = neighbours_.turns.load();
      if (kept_bytes_ + block_bytes <= kept_bytes_limit_) {
        try {
          kept_of(secrecy)[block_bytes].push_back(pointer);
          kept_bytes_ += block_bytes;
          neighbours_.kept += block_bytes;
          return;
        } catch (const std::bad_alloc&) {
          // No room to remember the block: give it back instead.
        }
      }
    }
    give_back(pointer, block_bytes, secrecy);
  }

  [[nodiscard]] std::size_t used() const override {
    const std::lock_guard lock(mutex_);
    return used_;
  }

  [[nodiscard]] std::size_t available() const override {
    const std::lock_guard lock(mutex_);
    return limit_ == 0 ? SIZE_MAX : limit_ - std::min(limit_, used_);
  }

 private:
  // The pools of this process. Never destroyed: a context may live until the process has ended.
  struct Neighbours {
    static Neighbours& instance() {
      static auto* const found = new Neighbours;
      return *found;
    }
    std::atomic<std::size_t> kept{0};     // bytes
    std::atomic<std::uint64_t> turns{0};  // one for each time that a pool takes fresh memory
    ForkSafeMutex mutex;                  // the first to be locked
    std::vector<HostMemory*> pools;
  };

  // Before fresh memory is taken: while all pools keep more than `kept_bytes`, others give back what they
  // keep, the least recently used one first.
  void make_room() noexcept {
    ++neighbours_.turns;
    if (neighbours_.kept <= kept_bytes) return;
    const std::lock_guard lock(neighbours_.mutex);
    const auto turn = [this](const HostMemory* each) {
      return each == this || each->kept_bytes_ == 0 ? UINT64_MAX : each->last_turn_.load();
    };
    while (neighbours_.kept > kept_bytes) {
      HostMemory& oldest = **std::ranges::min_element(neighbours_.pools, {}, turn);
      if (turn(&oldest) == UINT64_MAX) return;
      const std::lock_guard its_lock(oldest.mutex_);
      oldest.give_back_kept();
    }
  }

  // All that follow: under the mutex.
  void use(std::size_t block_bytes) {
    used_ += block_bytes;
    raise_peak(used_);
  }
  void give_back_kept() noexcept {
    for (const Secrecy secrecy : {Secrecy::open, Secrecy::secret}) {
      for (auto& [bytes, blocks] : kept_of(secrecy)) {
        for (std::byte* block : blocks) give_back(block, bytes, secrecy);
        blocks.clear();
      }
    }
    neighbours_.kept -= kept_bytes_.exchange(0);
  }
  static void give_back(std::byte* block, std::size_t block_bytes, Secrecy secrecy) noexcept {
    if (secrecy == Secrecy::secret) set_dumped(block, block_bytes, true);
    std::free(block);
  }
  std::map<std::size_t, std::vector<std::byte*>>& kept_of(Secrecy secrecy) {
    return kept_[static_cast<std::size_t>(secrecy)];
  }
  [[noreturn]] void fail(std::size_t bytes) const {
    throw OutOfMemoryError(
        "out of host memory: asked for " + std::to_string(bytes) + " bytes with " + std::to_string(used_) +
        " in use" + (limit_ == 0 ? "" : ", under a limit of " + std::to_string(limit_)) +
        "; use a smaller batch, fewer keys or a smaller ring" + (limit_ == 0 ? "" : ", or a higher limit"));
  }

  // Takes several threads where that is worth waking them: one zeroes some gigabytes in a second, which is
  // most of what 16 threads need to decrypt.
  void zero(std::byte* data, std::size_t bytes) const noexcept {
    if (pool_ != nullptr && bytes >= 2 * tuning::zeroed_by_one) {
      try {
        const NotAsked whole;
        const std::size_t count =
            std::min(static_cast<std::size_t>(pool_->threads()), bytes / tuning::zeroed_by_one);
        const std::size_t size = bytes / count / alignment * alignment;
        pool_->parallel_for_slots(
            count,
            [&](std::size_t i, std::size_t) {
              secure_zero(data + i * size, i + 1 < count ? size : bytes - i * size);
            },
            static_cast<int>(count));
        return;
      } catch (...) {
        // No threads, or no memory for the loop.
      }
    }
    secure_zero(data, bytes);
  }

  const std::size_t kept_bytes_limit_;
  const std::size_t limit_;
  const std::shared_ptr<ThreadPool> pool_;
  mutable ForkSafeMutex mutex_;
  std::array<std::map<std::size_t, std::vector<std::byte*>>, 2> kept_;  // [secrecy]
  Neighbours& neighbours_ = Neighbours::instance();
  std::atomic<std::size_t> kept_bytes_{0};
  std::atomic<std::uint64_t> last_turn_{0};  // of its last use
  std::size_t used_ = 0;
};

std::byte* allocated(Memory& memory, std::size_t bytes, Secrecy secrecy) {
  auto* host = secrecy == Secrecy::secret ? dynamic_cast<HostMemory*>(&memory) : nullptr;
  return host != nullptr ? host->allocate(bytes, secrecy) : memory.allocate(bytes);
}

}  // namespace

std::shared_ptr<Memory> make_host_memory(std::size_t kept_bytes_limit, std::size_t limit) {
  return make_host_memory(kept_bytes_limit, limit, nullptr);
}

std::shared_ptr<Memory> make_host_memory(std::size_t kept_bytes_limit, std::size_t limit,
                                         std::shared_ptr<ThreadPool> pool) {
  return std::make_shared<HostMemory>(kept_bytes_limit, limit, std::move(pool));
}

Buffer::Buffer(std::shared_ptr<Memory> memory, std::size_t bytes, Secrecy secrecy)
    : memory_(std::move(memory)),
      data_(allocated(*memory_, bytes, secrecy)),
      bytes_(bytes),
      secrecy_(secrecy) {
  // The block is free from here on for this thread: others wait for what this one waits for.
  announced(Access::write);
}

Buffer::Buffer(Buffer&& other) noexcept
    : memory_(std::move(other.memory_)),
      uses_(std::move(other.uses_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      secrecy_(other.secrecy_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    release();
    memory_ = std::move(other.memory_);
    uses_ = std::move(other.uses_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    secrecy_ = other.secrecy_;
  }
  return *this;
}

Buffer::~Buffer() { release(); }

void Buffer::release() noexcept {
  if (data_ != nullptr) memory_->release(data_, bytes_, secrecy_, uses_);
  data_ = nullptr;
}

}  // namespace hemera::runtime
