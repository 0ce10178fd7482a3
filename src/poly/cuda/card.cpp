#include "poly/cuda/card.hpp"

#include <array>

namespace hemera::poly::cuda {
namespace {

constexpr std::size_t kib = 1024, mib = std::size_t{1} << 20;

constexpr std::array<NamedCard, 8> cards = {{
    {"a100",
     {.capability = 80,
      .multiprocessors = 108,
      .clock_mhz = 1410,
      .shared_bytes_of_multiprocessor = 164 * kib,
      .shared_bytes_of_block = 163 * kib,
      .cache_bytes = 40 * mib,
      .bandwidth = 2039,
      .single_to_double = 2,
      .launches_clusters = false}},
    {"rtx-3090",
     {.capability = 86,
      .multiprocessors = 82,
      .clock_mhz = 1695,
      .shared_bytes_of_multiprocessor = 100 * kib,
      .shared_bytes_of_block = 99 * kib,
      .cache_bytes = 6 * mib,
      .bandwidth = 936,
      .single_to_double = 64,
      .launches_clusters = false}},
    {"rtx-4090",
     {.capability = 89,
      .multiprocessors = 128,
      .clock_mhz = 2520,
      .shared_bytes_of_multiprocessor = 100 * kib,
      .shared_bytes_of_block = 99 * kib,
      .cache_bytes = 72 * mib,
      .bandwidth = 1008,
      .single_to_double = 64,
      .launches_clusters = false}},
    {"l4",
     {.capability = 89,
      .multiprocessors = 58,
      .clock_mhz = 2040,
      .shared_bytes_of_multiprocessor = 100 * kib,
      .shared_bytes_of_block = 99 * kib,
      .cache_bytes = 48 * mib,
      .bandwidth = 300,
      .single_to_double = 64,
      .launches_clusters = false}},
    {"h100", {.bandwidth = 3350}},
    {"h200", {}},
    {"b200",
     {.capability = 100,
      .multiprocessors = 148,
      .clock_mhz = 1965,
      .cache_bytes = 126 * mib,
      .bandwidth = 8000}},
    {"rtx-5090",
     {.capability = 120,
      .multiprocessors = 170,
      .clock_mhz = 2407,
      .shared_bytes_of_multiprocessor = 100 * kib,
      .shared_bytes_of_block = 99 * kib,
      .cache_bytes = 96 * mib,
      .bandwidth = 1792,
      .single_to_double = 64}},
}};

}  // namespace

std::span<const NamedCard> named_cards() { return cards; }

CardClass class_of(const Card& card) {
  if (card.capability < 86) return CardClass::ampere;
  if (card.capability < 89) return CardClass::small_ampere;
  if (card.capability < 90) return CardClass::ada;
  if (card.capability < 100) return CardClass::hopper;
  return card.capability < 120 ? CardClass::blackwell : CardClass::small_blackwell;
}

std::string_view name(CardClass kind) {
  constexpr std::string_view names[] = {"Ampere (A100)", "Ampere",           "Ada",
                                        "Hopper",        "Blackwell (B200)", "Blackwell"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace hemera::poly::cuda
