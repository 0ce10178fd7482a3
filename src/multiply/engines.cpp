#include "hemera/multiply/engines.hpp"

#include <array>
#include <string>

#include "hemera/runtime/error.hpp"
#include "multiply/engines.hpp"

namespace hemera::multiply {
namespace {

constexpr std::array<std::string_view, 4> names = {"ntt", "dgt", "kronecker_ss", "schoolbook"};

}  // namespace

std::span<const std::string_view> engine_names() { return names; }

std::shared_ptr<const poly::RingMultiplier> make_ring_multiplier(std::string_view name) {
  if (name == "ntt") return make_ntt_engine();
  if (name == "dgt") return make_dgt_engine();
  if (name == "kronecker_ss") return make_kronecker_engine();
  if (name == "schoolbook") return make_schoolbook_engine();
  std::string known;
  for (const std::string_view each : names) known += (known.empty() ? "" : ", ") + std::string(each);
  throw ParameterError("there is no multiplication engine \"" + std::string(name) +
                       "\"; use one of: " + known);
}

}  // namespace hemera::multiply
