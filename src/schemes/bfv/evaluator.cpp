#include <algorithm>
#include <utility>

#include "hemera/rlwe/key_switching.hpp"
#include "hemera/schemes/bfv.hpp"
#include "rlwe/tuning.hpp"
#include "schemes/bfv/multiplier.hpp"
#include "schemes/bfv/noise.hpp"
#include "schemes/integer/rules.hpp"

namespace hemera::bfv {

using rlwe::Ciphertext;
using rlwe::Context;

struct Evaluator::Plans {
  std::vector<std::unique_ptr<const Multiplier>> multipliers;  // [level]
};

Evaluator::Evaluator(rlwe::ContextPointer context, rlwe::EvaluationKeys keys,
                     rlwe::Relinearization relinearization, Refresh refresh)
    : integer::Evaluator(integer::rules_of(rlwe::Scheme::bfv), std::move(context), std::move(keys),
                         relinearization, std::move(refresh)) {
  const Context& own = *this->context();
  auto plans = std::make_unique<Plans>();
  for (std::size_t level = 0; level <= own.parameters().highest_user_level(); ++level) {
    plans->multipliers.push_back(make_multiplier(own, level, own.parameters().literal().bfv_multiplication));
  }
  plans_ = std::move(plans);
}

Evaluator::~Evaluator() = default;

double Evaluator::product_noise_log2(const rlwe::Metadata& a, const rlwe::Metadata& b) const {
  const Context& own = *context();
  const Multiplier& multiplier = *plans_->multipliers[a.level];
  const ProductSetting setting{.degree = own.degree(),
                               .plain_modulus = own.parameters().plain_modulus(),
                               .secret = own.parameters().literal().secret,
                               .log_modulus = own.base(a.level).log2(),
                               .rounding_error = multiplier.rounding_error(),
                               .operand_rounding_log2 = multiplier.operand_rounding_log2()};
  return bfv::product_noise_log2(setting, a.noise_log2, b.noise_log2);
}

Ciphertext Evaluator::sum_products(std::span<const rlwe::Factors> products, rlwe::Metadata meta,
                                   const rlwe::SwitchingKey* key) const {
  if (products.front().b.shape.components == 1) {
    return integer::Evaluator::sum_products(products, std::move(meta), key);
  }
  const Context& own = *context();
  const Multiplier& multiplier = *plans_->multipliers[meta.level];
  Ciphertext result = rlwe::make_ciphertext(context(), std::move(meta), 3);
  const poly::PolyView out = result.poly.view();
  const std::size_t batch = out.shape.batch;
  const std::size_t part =
      std::min(batch, std::max<std::size_t>(1, rlwe::tuning::most_product_scratch_bytes /
                                                   multiplier.scratch_bytes(own.degree())));
  for (std::size_t first = 0; first < batch; first += part) {
    const std::size_t count = std::min(part, batch - first);
    const auto restricted = [&](const poly::ConstPolyView& view) {
      return view.shape.batch == 1 ? view : view.batches(first, count);
    };
    std::vector<Operands> operands;
    for (const rlwe::Factors& product : products) {
      operands.push_back({restricted(product.a), restricted(product.b)});
    }
    multiplier.sum_products(own, out.batches(first, count), operands);
  }
  if (key != nullptr) rlwe::relinearize(result, *key);
  return result;
}

}  // namespace hemera::bfv
