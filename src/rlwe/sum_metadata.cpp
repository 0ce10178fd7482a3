#include "rlwe/sum_metadata.hpp"

#include <algorithm>

#include "hemera/rlwe/noise.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {

Metadata sum_metadata(const Context& context, const Metadata& a, const Metadata& b, const char* operation) {
  Metadata meta = a;
  meta.batch = broadcast(a.batch, b.batch, operation);
  meta.slots = std::max(a.slots, b.slots);
  meta.largest = a.largest + b.largest;
  join_filling(meta, a, b, false);
  if (traits(context.scheme()).two_rows) meta.filled = filled_slots(meta, context.parameters().max_slots());
  if (meta.filled == 0) count_all(meta);
  meta.noise_log2 = sum_noise_log2(context, a.noise_log2, b.noise_log2);
  return meta;
}

void join_sum(const Context& context, Metadata& sum, const Metadata& addend) {
  if (!context.scales().is_aligned(sum, addend)) {
    throw ScaleError(
        "adding extended ciphertexts: their levels, scales or correction factors differ; encode the "
        "plaintexts that multiply them at one scale");
  }
  sum.slots = std::max(sum.slots, addend.slots);
  sum.largest += addend.largest;
  sum.noise_log2 = sum_noise_log2(context, sum.noise_log2, addend.noise_log2);
}

}  // namespace hemera::rlwe
