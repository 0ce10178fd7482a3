#include "poly/cuda/forcing.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <utility>
#include <variant>

#include "hemera/runtime/error.hpp"

namespace hemera::poly::cuda {
namespace {

// Shared memory that kernels take on every device.
constexpr std::size_t least_shared_bytes = 96 * 1024;

// A number, from `least` to `most`.
template <class Owner>
struct Number {
  std::size_t Owner::*member;
  std::size_t least = 0;
  std::size_t most = std::size_t{1} << 40;
};

struct Named {
  std::string_view name;
  std::variant<Number<Card>, bool Card::*, Number<Tuning>, bool Tuning::*> member;
};

constexpr Named numbers[] = {
    {"capability", Number<Card>{&Card::capability, 80, 999}},
    {"multiprocessors", Number<Card>{&Card::multiprocessors, 1, 100000}},
    {"clock_mhz", Number<Card>{&Card::clock_mhz, 1, 100000}},
    {"shared_bytes_of_multiprocessor", Number<Card>{&Card::shared_bytes_of_multiprocessor}},
    {"shared_bytes_of_block", Number<Card>{&Card::shared_bytes_of_block, least_shared_bytes}},
    {"cache_bytes", Number<Card>{&Card::cache_bytes}},
    {"bandwidth", Number<Card>{&Card::bandwidth, 1, 1000000}},
    {"single_to_double", Number<Card>{&Card::single_to_double, 1, 1000}},
    {"launches_clusters", &Card::launches_clusters},
    {"clusters", &Tuning::clusters},
    {"fp64", &Tuning::fp64},
    {"most_cluster_limbs", Number<Tuning>{&Tuning::most_cluster_limbs}},
    {"polynomials_together", Number<Tuning>{&Tuning::polynomials_together, 1}},
    {"row_groups_together", Number<Tuning>{&Tuning::row_groups_together}},
    {"most_digits_transformed_again", Number<Tuning>{&Tuning::most_digits_transformed_again}},
    {"most_jobs_beside_conversion", Number<Tuning>{&Tuning::most_jobs_beside_conversion}},
    {"most_joined_jobs", Number<Tuning>{&Tuning::most_joined_jobs}},
    {"least_log_degree_of_joined_digits", Number<Tuning>{&Tuning::least_log_degree_of_joined_digits}},
    {"largest_log_degree_of_joined_columns", Number<Tuning>{&Tuning::largest_log_degree_of_joined_columns}},
    {"most_inverted_limbs", Number<Tuning>{&Tuning::most_inverted_limbs}},
    {"least_log_degree_of_inverted_limbs", Number<Tuning>{&Tuning::least_log_degree_of_inverted_limbs}},
    {"carve_out", Number<Tuning>{&Tuning::carve_out, 0, 100}},
    {"largest_log_degree_of_carve_out", Number<Tuning>{&Tuning::largest_log_degree_of_carve_out}},
    {"log_degree_of_conversion_carve_out", Number<Tuning>{&Tuning::log_degree_of_conversion_carve_out}},
    {"least_blocks_of_four", Number<Tuning>{&Tuning::least_blocks_of_four}},
    {"most_sources_of_computed_quotients", Number<Tuning>{&Tuning::most_sources_of_computed_quotients, 0, 8}},
    {"most_sources_of_computed_quotients_in_small_rings",
     Number<Tuning>{&Tuning::most_sources_of_computed_quotients_in_small_rings, 0, 8}},
    {"largest_log_degree_of_small_rings", Number<Tuning>{&Tuning::largest_log_degree_of_small_rings}},
    {"most_sources_of_halves", Number<Tuning>{&Tuning::most_sources_of_halves}},
    {"lifted_bytes_together", Number<Tuning>{&Tuning::lifted_bytes_together}},
    {"few_rows", Number<Tuning>{&Tuning::few_rows}},
    {"cluster_blocks_of_device", Number<Tuning>{&Tuning::cluster_blocks_of_device}},
    {"cluster_blocks_of_remainders", Number<Tuning>{&Tuning::cluster_blocks_of_remainders}},
    {"most_cluster_results", Number<Tuning>{&Tuning::most_cluster_results, 1, 4}},
    {"most_cluster_key_bytes", Number<Tuning>{&Tuning::most_cluster_key_bytes, 0, std::size_t{32} * 1024}},
    {"least_rows_of_bytes", Number<Tuning>{&Tuning::least_rows_of_bytes}},
    {"least_rows_of_warpgroups", Number<Tuning>{&Tuning::least_rows_of_warpgroups}},
    {"least_columns_of_remainders", Number<Tuning>{&Tuning::least_columns_of_remainders}},
    {"split_bytes_together", Number<Tuning>{&Tuning::split_bytes_together}},
    {"most_columns_per_sum", Number<Tuning>{&Tuning::most_columns_per_sum}},
    {"least_staged_bytes", Number<Tuning>{&Tuning::least_staged_bytes}},
    {"download_part_bytes", Number<Tuning>{&Tuning::download_part_bytes}},
    {"hoisted_shared_bytes", Number<Tuning>{&Tuning::hoisted_shared_bytes}},
};

template <typename Value, std::size_t count>
using Values = std::array<std::pair<std::string_view, Value>, count>;
constexpr Values<Way, 3> ways = {
    {{"unfused", Way::unfused}, {"passes", Way::passes}, {"clusters", Way::clusters}}};
constexpr Values<Arithmetic, 3> arithmetics = {
    {{"u64", Arithmetic::u64}, {"m64", Arithmetic::m64}, {"f64", Arithmetic::f64}}};

std::string joined(const auto& list, const auto& name) {
  std::string text;
  for (const auto& each : list) text += (text.empty() ? "" : ", ") + std::string(name(each));
  return text;
}

[[noreturn]] void refuse(std::string_view name, std::string_view value, const std::string& allowed) {
  throw DeviceError("HEMERA_CUDA_TUNING gives " + std::string(name) + " the value \"" + std::string(value) +
                    "\"; use " + allowed);
}

template <typename Value, std::size_t count>
Value one_of(const Values<Value, count>& values, std::string_view name, std::string_view text) {
  for (const auto& [known, value] : values) {
    if (known == text) return value;
  }
  refuse(name, text, "one of: " + joined(values, [](const auto& each) { return each.first; }));
}

Card card_of(std::string_view text) {
  for (const NamedCard& known : named_cards()) {
    if (known.name == text) return known.card;
  }
  refuse("card", text, "one of: " + joined(named_cards(), [](const NamedCard& each) { return each.name; }));
}

std::size_t number_of(std::string_view name, std::string_view text, std::size_t least, std::size_t most) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    refuse(name, text, "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

// The two sides of the first "=".
using Entry = std::pair<std::string_view, std::string_view>;

std::vector<Entry> entries_of(std::string_view forced) {
  std::vector<Entry> entries;
  while (!forced.empty()) {
    const std::string_view entry = forced.substr(0, forced.find(','));
    forced.remove_prefix(std::min(forced.size(), entry.size() + 1));
    const std::size_t sign = std::min(entry.size(), entry.find('='));
    const std::string_view name = entry.substr(0, sign),
                           value = entry.substr(std::min(entry.size(), sign + 1));
    const std::vector<std::string_view> known = forced_names();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw DeviceError("HEMERA_CUDA_TUNING names \"" + std::string(name) +
                        "\", which is no choice; use NAME=VALUE, " +
                        "separated by commas, with the names: " + joined(known, std::identity()));
    }
    if (std::any_of(entries.begin(), entries.end(),
                    [&](const Entry& other) { return other.first == name; })) {
      throw DeviceError("HEMERA_CUDA_TUNING names " + std::string(name) + " twice; give it one value");
    }
    entries.emplace_back(name, value);
  }
  return entries;
}

// Sets the members of one owner.
template <class Owner>
void set(Owner& owner, const std::vector<Entry>& entries) {
  for (const auto& [name, text] : entries) {
    for (const Named& known : numbers) {
      if (known.name != name) continue;
      if (const auto* number = std::get_if<Number<Owner>>(&known.member)) {
        owner.*(number->member) = number_of(name, text, number->least, number->most);
      } else if (const auto* flag = std::get_if<bool Owner::*>(&known.member)) {
        owner.*(*flag) = number_of(name, text, 0, 1) != 0;
      }
    }
  }
}

}  // namespace

std::vector<std::string_view> forced_names() {
  std::vector<std::string_view> names = {"card", "way", "arithmetic"};
  for (const Named& each : numbers) names.push_back(each.name);
  return names;
}

Choices choices_for(const Card& device, std::string_view forced) {
  const std::vector<Entry> entries = entries_of(forced);
  Card card = device;
  for (const auto& [name, text] : entries) {
    if (name == "card") card = card_of(text);
  }
  set(card, entries);
  // Abilities that the device lacks can not be forced.
  card.launches_clusters = card.launches_clusters && device.launches_clusters;
  card.shared_bytes_of_block = std::min(card.shared_bytes_of_block, device.shared_bytes_of_block);
  Tuning tuning = tuning_of(card);
  for (const auto& [name, text] : entries) {
    if (name == "way") tuning.way = one_of(ways, name, text);
    if (name == "arithmetic") tuning.arithmetic = one_of(arithmetics, name, text);
  }
  set(tuning, entries);
  tuning.clusters = tuning.clusters && card.launches_clusters;
  return {card, tuning};
}

std::string forced_by_environment() {
  const char* given = std::getenv("HEMERA_CUDA_TUNING");
  return given == nullptr ? "" : given;
}

}  // namespace hemera::poly::cuda
