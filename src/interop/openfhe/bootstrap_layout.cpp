#include "interop/openfhe/bootstrap_layout.hpp"

#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "circuits/bootstrap/dft_factors.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/bootstrap_rotations.hpp"
#include "interop/openfhe/bootstrap_sine.hpp"

namespace hemera::interop::openfhe {
namespace {

using circuits::LinearTransform;

// Takes the moduli themselves as divisors. FIXEDMANUAL and FIXEDAUTO take 2^bits for each: values are off by
// a small part of themselves, but so are the multiples of q_0, whose error the correction magnifies.
rlwe::Parameters with_exact_divisors(const rlwe::Parameters& parameters) {
  rlwe::ParametersLiteral literal = parameters.literal();
  rlwe::RescalingPolicy policy = parameters.rescaling();
  for (std::size_t level = 1; level < policy.scales.size(); ++level) {
    policy.scales[level].divisor = static_cast<double>(literal.levels[level].back());
  }
  literal.rescaling = std::move(policy);
  return rlwe::Parameters(std::move(literal));
}

class LayoutMaker {
 public:
  LayoutMaker(const rlwe::Context& context, const CryptoContext& client, const BootstrapSettings& settings,
              GiantSteps giant_steps)
      : parameters_(with_exact_divisors(context.parameters())),
        scales_(parameters_.rescaling().scales),
        client_(client),
        settings_(settings),
        has_one_key_(giant_steps == GiantSteps::one_key),
        decodes_first_(settings.encodes_slots.value_or(false)),
        slots_(settings.slots),
        q0_(static_cast<double>(context.base(0).modulus(0).value())),
        gadget_(parameters_.default_gadget(context.top_level())),
        sine_(sine_of(client.parameters->secret, parameters_.degree())) {
    if (!std::has_single_bit(slots_) || slots_ < 2 || slots_ > parameters_.max_slots()) {
      throw ParameterError("bootstrap: the settings are for " + std::to_string(slots_) + " slots");
    }
    log_slots_ = static_cast<std::size_t>(std::countr_zero(slots_));
    is_dense_ = settings.budget_encode == 1 && settings.budget_decode == 1;
    // Two parts, real and imaginary, of messages with as many coefficients as the ring, or complex slots.
    takes_both_ =
        decodes_first_ ? client.parameters->data_type == complex_data : slots_ == parameters_.max_slots();
    is_side_by_side_ = !decodes_first_ && slots_ != parameters_.max_slots();
  }

  BootstrapLayout make(std::uint32_t correction_factor) {
    take_correction(correction_factor);
    take_levels();
    circuits::RaiseStage raise = raise_stage();
    // The turns that SlotToCoeff leaves out, also where it comes first.
    const std::int64_t decode_turn = is_dense_ ? 0 : 1 - static_cast<std::int64_t>(slots_);
    pending_ = decodes_first_ ? decode_turn : 0;
    std::vector<LinearTransform> to_slots = encoding();
    if (decodes_first_) pending_ = 0;
    circuits::BootstrapStages stages = with_function();
    stages.raise = std::move(raise);
    stages.to_slots = std::move(to_slots);
    stages.to_coefficients = decoding(stages.function->results().front().scale);

    const std::size_t decode_level = decodes_first_ ? settings_.budget_decode : last_level_;
    BootstrapLayout layout{.slots = slots_,
                           .stages = std::move(stages),
                           .input_level = decodes_first_ ? decode_level : 0,
                           .input_scale = decodes_first_ ? scales_[decode_level].scale : input_scale_,
                           .is_side_by_side = is_side_by_side_};
    if (has_one_key_ && !is_dense_) {
      // Every stage leaves out the rotations below 0: all of those of one side together by 1 - slots.
      layout.last_turns = {modulo(decode_turn, slots_), modulo(decode_turn, slots_)};
    }
    const bool is_manual = client_.parameters->scaling == Scaling::fixed_manual;
    if (!decodes_first_) {
      layout.result_level = decode_level - (settings_.budget_decode - 1);
    } else {
      layout.result_level = last_level_ - (is_manual ? 1 : 0);
      layout.result_degree = is_manual ? 1 : 2;
    }
    const rlwe::LevelScale& scale = scales_[layout.result_level];
    layout.result_scale = layout.result_degree == 1 ? scale.scale : scale.product_scale;
    return layout;
  }

 private:
  void take_correction(std::uint32_t correction_factor) {
    const auto bits = static_cast<double>(client_.parameters->encoding->plain_modulus);
    const double correction = correction_factor - std::round(std::log2(q0_) - bits);
    const auto is_budget = [&](std::size_t budget) { return budget >= 1 && budget <= log_slots_; };
    if (!is_budget(settings_.budget_encode) || !is_budget(settings_.budget_decode) || correction < 0 ||
        correction > 60) {
      throw ParameterError(
          "bootstrap: the budgets or the correction factor of the settings are out of range");
    }
    input_scale_ = std::ldexp(scales_[0].scale, -static_cast<int>(correction));
    // SlotToCoeff at the end brings the sine to the input's scale; without it the sine has that factor, and
    // its last double angle is a product that OpenFHE does not rescale.
    gain_ = q0_ / input_scale_;
  }

  void take_levels() {
    const std::size_t sine_levels = sine(1).depth();
    // Levels from the top to where SlotToCoeff at the end begins; and all that are rescaled.
    const std::size_t levels_above = 1 + settings_.budget_encode + sine_levels;
    const std::size_t levels = levels_above + settings_.budget_decode - 1;
    const std::size_t extra = client_.parameters->scaling == Scaling::flexible_auto_ext ? 1 : 0;
    const std::size_t highest = parameters_.levels() - 1;
    // The input has a level to spare or those of SlotToCoeff, and the result more than that.
    if (levels + extra + 2 > highest) {
      throw ParameterError("bootstrap: it takes " + std::to_string(levels) + " of the context's " +
                           std::to_string(highest - extra) +
                           " levels, which leaves no more than it begins with; use a larger multiplicative "
                           "depth");
    }
    top_ = highest - extra;
    last_level_ = top_ - levels_above + (decodes_first_ ? 1 : 0);
  }

  // The raise: at the level below the top, slots of (m / q_0 + I) / 2K, with the subring's trace taken.
  circuits::RaiseStage raise_stage() {
    circuits::RaiseStage raise{.level = top_, .gadget = gadget_};
    if (client_.parameters->secret == SecretType::sparse_encapsulated) {
      const std::vector<std::uint64_t>& last = parameters_.literal().levels.front();
      const auto& special = parameters_.literal().special_primes;
      const auto one = special.begin() + (special.empty() ? 0 : 1);
      raise.to_ephemeral =
          circuits::KeyNeed{.role = {.to = rlwe::ephemeral_secret},
                            .gadget = {.base = last, .special = {special.begin(), one}, .digits = {last}}};
      raise.from_ephemeral = circuits::KeyNeed{.role = {.from = rlwe::ephemeral_secret}, .gadget = gadget_};
    }
    for (std::size_t step = slots_; step < parameters_.max_slots(); step *= 2) raise.trace.push_back({step});
    const double raised = q0_ * 2 * sine_.bound * static_cast<double>(parameters_.max_slots() / slots_);
    // An integer brings them to the next level's scale, but for its rounding.
    const double wanted = scales_[top_ - 1].scale * (scales_[top_].divisor / raised);
    raise.factor = std::nearbyint(wanted);
    raise.scale = scales_[top_ - 1].scale;
    rounding_ = wanted / *raise.factor;
    return raise;
  }

  // Rotations: those of one dense matrix, or of collapsed layers, whose diagonals lie around number 0.
  [[nodiscard]] Split split_of(std::size_t layers, std::int64_t stride, std::uint32_t given, bool is_rest,
                               bool is_reduced) const {
    if (is_dense_) {  // with CoeffToSlot's steps for both
      given = settings_.baby_steps_encode;
      // 1.4 writes 0 for its own choice.
      const std::int64_t own = settings_.encodes_slots
                                   ? baby_steps(layers)
                                   : static_cast<std::int64_t>(std::ceil(std::sqrt(slots_)));
      const std::int64_t count = given != 0 ? static_cast<std::int64_t>(given) : own;
      if (count > static_cast<std::int64_t>(parameters_.max_slots())) {
        throw ParameterError("bootstrap: the settings have " + std::to_string(count) +
                             " baby steps, more than there are slots");
      }
      return {.first = 0,
              .count = count,
              .outer = (static_cast<std::int64_t>(slots_) + count - 1) / count,
              .stride = 1,
              .is_reduced = is_reduced};
    }
    const std::int64_t diagonals = (std::int64_t{2} << layers) - 1;
    const std::int64_t count =
        !is_rest && given != 0 && given <= diagonals ? static_cast<std::int64_t>(given) : baby_steps(layers);
    return {.first = 1 - (std::int64_t{1} << layers),
            .count = count,
            .outer = (diagonals + count) / count,
            .stride = stride,
            .is_reduced = is_reduced};
  }

  LinearTransform transform(const circuits::Diagonals& matrix, const Split& split, Parts parts, double factor,
                            std::size_t level, bool rescaled) {
    Stage stage = make_stage(matrix, slots_, parameters_.max_slots(), split, parts, factor,
                             has_one_key_ ? &pending_ : nullptr);
    return LinearTransform(
        parameters_, std::move(stage.matrix), parameters_.max_slots(),
        {.level = level, .rescaled = rescaled, .gadget = gadget_, .steps = std::move(stage.steps)});
  }

  // CoeffToSlot, from slots of (m / q_0 + I) / 2K to coefficients k + i (slots + k), of which real parts are
  // taken by adding the conjugate.
  std::vector<LinearTransform> encoding() {
    const Layers layers(log_slots_, settings_.budget_encode);
    const std::vector<std::size_t> counts = layers.stages();
    const auto factors = circuits::coefficients_to_slots_factors(slots_, counts);
    std::vector<LinearTransform> result;
    std::size_t left = log_slots_;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      left -= counts[i];
      const bool is_last = i + 1 == factors.size();
      const Split split = split_of(counts[i], std::int64_t{1} << left, settings_.baby_steps_encode,
                                   is_last && layers.rest != 0, true);
      const Parts parts = is_last && is_side_by_side_ ? Parts::makes_parts : Parts::whole;
      result.push_back(transform(factors[i], split, parts, i == 0 ? rounding_ : 1, top_ - 1 - i, true));
    }
    sine_level_ = top_ - 1 - factors.size();
    return result;
  }

  // The sine; without SlotToCoeff after it, with its gain, and `ratio` times as large.
  [[nodiscard]] circuits::Function sine(long double ratio) const {
    return scaled_sine(sine_, decodes_first_ ? gain_ / turn * ratio : 1 / turn);
  }

  [[nodiscard]] circuits::BootstrapStages with_function() const {
    const circuits::FunctionPlanOptions options{.level = sine_level_,
                                                .results_drift = true,
                                                .joins_parts = takes_both_,
                                                .leaves_rescale = decodes_first_};
    const rlwe::LevelScale& last = scales_[last_level_];
    circuits::BootstrapStages stages{
        .order = decodes_first_ ? circuits::BootstrapOrder::slots_first : circuits::BootstrapOrder::standard,
        .function = circuits::FunctionPlan(parameters_, sine(1), options),
        .takes_apart = takes_both_,
        .function_scale = decodes_first_ ? last.product_scale : last.scale};
    const rlwe::PlainOperand result = stages.function->results().front();
    if (result.level != last_level_) {
      throw ParameterError("bootstrap: the sine takes other levels than OpenFHE gives it");
    }
    if (decodes_first_) {
      // OpenFHE's results have the scale of a product at their level.
      stages.function =
          circuits::FunctionPlan(parameters_, sine(stages.function_scale / result.scale), options);
    }
    return stages;
  }

  // SlotToCoeff: at the end by q_0 over the scale that the input was brought to, into a product that is not
  // rescaled; at the beginning, down to the last level, by the correction.
  std::vector<LinearTransform> decoding(double sine_scale) {
    const Layers layers(log_slots_, settings_.budget_decode);
    const std::vector<std::size_t> counts = layers.stages();
    const auto factors = circuits::slots_to_coefficients_factors(slots_, counts);
    std::vector<LinearTransform> result;
    std::size_t level = decodes_first_ ? settings_.budget_decode : last_level_;
    std::size_t done = 0;
    for (std::size_t i = 0; i < factors.size(); ++i, --level) {
      const bool is_last = i + 1 == factors.size();
      const Split split = split_of(counts[i], std::int64_t{1} << done, settings_.baby_steps_decode,
                                   is_last && layers.rest != 0, false);
      done += counts[i];
      double factor = 1;
      // The first one after the sine reads it at another scale than its level's.
      if (i == 0 && !decodes_first_) factor = scales_[level].scale / sine_scale;
      if (is_last) factor *= decodes_first_ ? input_scale_ / scales_[0].scale : gain_;
      result.push_back(transform(factors[i], split,
                                 i == 0 && is_side_by_side_ ? Parts::takes_parts : Parts::whole, factor,
                                 level, decodes_first_ || !is_last));
    }
    return result;
  }

  rlwe::Parameters parameters_;
  const std::vector<rlwe::LevelScale>& scales_;
  const CryptoContext& client_;
  const BootstrapSettings& settings_;
  bool has_one_key_, decodes_first_;
  std::size_t slots_;
  double q0_;
  rlwe::GadgetPrimes gadget_;
  Sine sine_;
  std::size_t log_slots_ = 0;
  bool is_dense_ = false, takes_both_ = false, is_side_by_side_ = false;
  double input_scale_ = 1;  // that inputs are brought to at level 0: the level's less the correction
  double gain_ = 1;         // from the sine to the values
  double rounding_ = 1;     // of the factor that brings raised ciphertexts to a level's scale
  std::size_t top_ = 0;     // less the further modulus of FLEXIBLEAUTOEXT
  std::size_t sine_level_ = 0, last_level_ = 0;
  std::int64_t pending_ = 0;  // rotation that matrices have left out so far
};

}  // namespace

BootstrapLayout layout_of(const rlwe::Context& context, const CryptoContext& client,
                          const BootstrapSettings& settings, std::uint32_t correction_factor,
                          GiantSteps giant_steps) {
  return LayoutMaker(context, client, settings, giant_steps).make(correction_factor);
}

}  // namespace hemera::interop::openfhe
