// How long threads wait and when they are woken, and what is worth sharing among them. These numbers change
// times, never results (docs/decisions/thread-pool.md).
#pragma once

#include <chrono>
#include <cstddef>

namespace hemera::runtime::tuning {

/// How long a thread keeps looking for what it waits for before it sleeps: about the time of waking it, for
/// which 55 to 109 us were measured.
inline constexpr std::chrono::microseconds longest_spin{100};
/// Not measured alone.
inline constexpr int looks_between_yields = 32;
/// A yield that took longer gave the processor to another thread. Not measured alone.
inline constexpr std::chrono::microseconds longest_yield{20};

/// Waking a thread keeps the one that does it for microseconds, so those that wake help. Not measured alone.
inline constexpr int woken_by_one = 4;
/// Threads' worth of work (some 50 us) that is done without those that sleep before they are woken: waking
/// them takes tens of microseconds of it from the caller, and they come when as much of it would have been
/// done.
inline constexpr int worth_waking = 16;

/// Bytes that one thread zeroes; it is worth waking another one for as many. Not measured alone.
inline constexpr std::size_t zeroed_by_one = std::size_t{1} << 17;

}  // namespace hemera::runtime::tuning
