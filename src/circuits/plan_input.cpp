#include "circuits/plan_input.hpp"

#include "rlwe/requirements.hpp"

namespace hemera::circuits {

const rlwe::Ciphertext& lowered_input(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& in,
                                      std::size_t level, rlwe::Ciphertext& storage) {
  rlwe::require_filled(in, "circuit");
  if (in.size() == 2 && in.meta.noise_scale_degree <= 1 && in.meta.level <= level) return in;
  storage = in.clone();
  if (storage.size() > 2) evaluator.relinearize_inplace(storage);
  if (storage.meta.noise_scale_degree > 1) evaluator.rescale_inplace(storage);
  if (storage.meta.level > level) evaluator.lower_to_level_inplace(storage, level);
  return storage;
}

}  // namespace hemera::circuits
