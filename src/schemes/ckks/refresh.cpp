#include "schemes/ckks/refresh.hpp"

#include <cmath>
#include <optional>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/runtime/warning.hpp"

namespace hemera::ckks {

using rlwe::Ciphertext;

bool needs_refresh(const rlwe::Context& context, const Evaluator::Refresh& refresh, const rlwe::Metadata& a,
                   std::size_t levels, double result) {
  if (!refresh.run) return false;
  const rlwe::Metadata meta = context.scales().before_product(a).meta;
  const std::size_t lowest = context.parameters().lowest_user_level();
  const bool is_declared = std::isfinite(a.largest);
  // Beyond `at_lowest` nothing makes values smaller at the lowest level.
  const bool may_be_large = is_declared || refresh.undeclared > refresh.at_lowest;
  const bool keeps_one =
      may_be_large && levels > 0 && meta.level < refresh.level && !(result <= refresh.at_lowest);
  return meta.level >= lowest && meta.level < lowest + levels + (keeps_one ? 1 : 0) &&
         meta.noise_scale_degree == 1;
}

std::optional<Ciphertext> Evaluator::refreshed(const Ciphertext& a, std::size_t levels, double magnitude,
                                               double result) const {
  if (!needs_refresh(*context(), refresh_, a.meta, levels, result)) return std::nullopt;
  const std::size_t level = context()->scales().before_product(a.meta).meta.level;
  const bool is_declared = std::isfinite(a.meta.largest);
  const bool is_too_large =
      level == context()->parameters().lowest_user_level() && magnitude > refresh_.at_lowest;
  if (is_declared || !(magnitude > refresh_.undeclared) || is_too_large) return refresh_.run(*this, a);
  Ciphertext supposed = a.clone();
  supposed.meta.largest = magnitude;
  Ciphertext fresh = refresh_.run(*this, supposed);
  fresh.meta.largest = a.meta.largest;
  return fresh;
}

void Evaluator::count_bootstrap(const Ciphertext& a, bool is_undeclared) const {
  const std::uint64_t count = rlwe::batch_count(a.meta.batch);
  bootstraps_.fetch_add(count, std::memory_order_relaxed);
  if (!is_undeclared) return;
  undeclared_bootstraps_.fetch_add(count, std::memory_order_relaxed);
  // Plans bootstrap on the ledger, to count.
  if (context()->backend().device().kind == runtime::Device::Kind::ledger || !has_warning_handler()) return;
  warn(
      Warning::Kind::undeclared_range,
      "bootstrap: values are taken to be from -1 to 1, and no bound is declared; results of larger values "
      "are wrong without an error. Declare a bound, that of Encoder::encode (largest), or give the bootstrap "
      "a magnitude (PreparedBootstrap): bootstraps then scale by it");
}

}  // namespace hemera::ckks
