// Sums of products of switched polynomials, over Q u P: the baby steps of a linear transform with their
// plaintexts, or its giant steps.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "poly/cuda/hoisted/kernel.cuh"
#include "poly/cuda/key_switching.hpp"
#include "poly/cuda/launch.cuh"
#include "poly/cuda/stored_words.cuh"

namespace hemera::poly::cuda {
namespace hoisted {
namespace {

Source source_of(const ConstPolyView& view) {
  const ConstDeviceView whole = device_view(view);
  return {whole.data, static_cast<std::uint32_t>(whole.batch_stride),
          static_cast<std::uint32_t>(whole.component_stride), static_cast<std::uint32_t>(whole.limb_stride)};
}

// A broadcast batch stays, as it has no stride.
Source part_of(const ConstPolyView& view, const Part& part) {
  if (view.data == nullptr) return {};
  const ConstPolyView batches = part.batches_of(view);
  if (part.first_limb >= batches.shape.limbs) return source_of(batches);
  return source_of(
      batches.limbs(part.first_limb, std::min(part.limbs, batches.shape.limbs - part.first_limb)));
}

std::uint32_t steps_of_term(std::size_t digits) {
  return static_cast<std::uint32_t>((digits + digits_at_once - 1) / digits_at_once);
}

// Shared memory has room for the rows of this many terms' steps.
std::size_t terms_per_launch(std::size_t digits, std::size_t outputs, const LaunchSizes& sizes) {
  return std::clamp<std::size_t>(hoisted_steps(outputs, sizes) / steps_of_term(digits), 1,
                                 hoisted_terms_per_launch);
}

// As many stages as leave shared memory for the blocks of a multiprocessor, but two.
template <class A, class Stored, unsigned ciphertexts, unsigned outputs>
Layout layout_of(const Pass<outputs>& pass, bool ones, std::size_t room) {
  constexpr unsigned rows_of_digit = BlockShape<ciphertexts>::rows_of_digit;
  Layout layout{};
  std::uint32_t least = ~0U, most = 0;
  bool switches = false;
  for (unsigned k = 0; k < pass.count; ++k) {
    const Term& term = pass.terms[k];
    const bool is_switched = term.digits.data != nullptr;
    switches = switches || is_switched;
    const std::uint32_t digits = is_switched ? std::min(pass.digits, digits_at_once) : 0;
    const std::uint32_t addends =
        term.addend.data == nullptr ? 0U : term.addend_components * std::uint32_t{ciphertexts};
    layout.first_factor = std::max(layout.first_factor, rows_of_digit * digits + addends);
    layout.first_factor_word = std::max<std::uint32_t>(
        layout.first_factor_word, StageShape<Stored, ciphertexts>::digit_words * digits + row_size * addends);
    for (const Factor& factor : pass.factors[k]) {
      if (factor.values.data == nullptr) continue;
      least = std::min(least, factor.log_run);
      most = std::max(most, factor.log_run);
    }
  }
  layout.steps_of_term = switches ? steps_of_term(pass.digits) : 1;
  layout.steps = pass.count * layout.steps_of_term;
  layout.slots = layout.first_factor;
  layout.stage_words = layout.first_factor_word;
  std::size_t kept_words = 0;
  if (ones) {
    layout.factors = Factors::ones;
  } else if (least == most && row_size >> most <= most_kept_values) {
    layout.factors = Factors::kept;
    layout.kept_values = std::max(1U, row_size >> most);
    layout.log_run = most;
    kept_words = std::size_t{pass.count} * layout.kept_values * outputs;
  } else {
    layout.factors = most == 0 ? Factors::whole : Factors::mixed;
    layout.slots += outputs;
    layout.stage_words += row_size * outputs;
  }
  const auto aligned = [](std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + 127) / 128 * 128);
  };
  layout.first_step = static_cast<std::uint32_t>(StageBarriers::bytes +
                                                 std::size_t{layout.steps} * layout.slots * sizeof(Row));
  layout.first_kept = aligned(layout.first_step + layout.steps * sizeof(Step));
  layout.first_stage = aligned(layout.first_kept + kept_words * sizeof(typename A::Value));
  const std::size_t stage_bytes = layout.stage_words * sizeof(std::uint64_t);
  const std::size_t fitting = room < layout.first_stage ? 0 : (room - layout.first_stage) / stage_bytes;
  layout.stages =
      std::min(layout.steps,
               static_cast<std::uint32_t>(std::clamp<std::size_t>(fitting, 2, StageBarriers::most_stages)));
  return layout;
}

std::size_t shared_bytes(const Layout& layout) {
  return layout.first_stage + layout.stages * layout.stage_words * sizeof(std::uint64_t);
}

template <class A, class Stored, unsigned outputs>
void run(const Launcher& launcher, std::span<const PolyView> out, std::span<const HoistedTerm> terms,
         std::size_t first_output, std::size_t first_term, const ModUp& plan, const ModUpTables& tables,
         std::span<const std::uint64_t> special) {
  const bool ones = terms.front().factors.empty();
  PolyShape shape = out.front().shape;
  shape.components = 1;
  for_each_launch(shape, [&](const Part& part) {
    Pass<outputs> pass{};
    for (unsigned g = 0; g < outputs; ++g) pass.out[g] = device_view(part.of(out[first_output + g]));
    bool shares_factors = true;  // among ciphertexts
    pass.count = static_cast<unsigned>(std::min(
        terms_per_launch(plan.digits().size(), outputs, *launcher.sizes), terms.size() - first_term));
    pass.adds = first_term != 0;
    for (unsigned k = 0; k < pass.count; ++k) {
      const HoistedTerm& term = terms[first_term + k];
      pass.terms[k] = {
          .digits = part_of(term.digits, part),
          .key = term.key.data == nullptr ? Source{} : source_of(term.key),
          .addend = part_of(term.addend, part),
          .element = static_cast<std::uint32_t>(term.galois_element),
          .addend_components = static_cast<std::uint16_t>(term.addend.shape.components),
          .addend_limbs =
              static_cast<std::uint16_t>(term.addend.data == nullptr ? 0 : term.addend.shape.limbs),
          .scaled = term.addend.data != nullptr && term.addend.shape.limbs != plan.extended().size()};
      for (unsigned g = 0; g < outputs && !ones; ++g) {
        const ConstPolyView& factor = term.factors[first_output + g];
        if (factor.data == nullptr) continue;
        pass.present[k] |= 1U << g;
        shares_factors = shares_factors && factor.shape.batch == 1;
        pass.factors[k][g] = {
            .values = part_of(factor, part),
            .log_run = static_cast<std::uint32_t>(std::countr_zero(launcher.degree() / factor.shape.degree))};
      }
    }
    pass.limbs = limb_moduli(plan.extended(), part.first_limb, part.limbs);
    for (std::size_t i = 0; i < part.limbs; ++i) {
      const std::size_t l = part.first_limb + i;
      const arith::Modulus& q = plan.extended().modulus(l);
      const std::uint64_t scale = l < special.size() ? special[l] : 0;
      if constexpr (std::is_same_v<A, F64>) {
        pass.modulus.word[i] = std::bit_cast<std::uint64_t>(static_cast<double>(q.value()));
        pass.special.word[i] = std::bit_cast<std::uint64_t>(static_cast<double>(q.centered(scale)));
      } else {
        pass.modulus.word[i] = q.value();
        pass.special.word[i] = scale;
      }
    }
    pass.first_limb = static_cast<unsigned>(part.first_limb);
    pass.key_digits = tables.key_digits.data();
    pass.key_limbs = tables.key_limbs.data() + part.first_limb;
    pass.digits = static_cast<unsigned>(plan.digits().size());
    pass.log_degree = launcher.log_degree;
    const auto launch_for = [&]<unsigned ciphertexts>(std::integral_constant<unsigned, ciphertexts>) {
      const auto with = [&](auto kernel) {
        launch("hoisted_products", launcher.stream, kernel,
               {static_cast<unsigned>(part.batches) / ciphertexts, launcher.degree() / row_size,
                static_cast<unsigned>(part.limbs)},
               {BlockShape<ciphertexts>::all_threads}, shared_bytes(pass.layout), pass,
               launcher.tables->moduli());
      };
      if constexpr (std::is_same_v<A, F64>) {
        if (pass.digits == 1) return with(hoisted_products_kernel<A, Stored, outputs, 1, ciphertexts>);
        if (pass.digits == 2) return with(hoisted_products_kernel<A, Stored, outputs, 2, ciphertexts>);
        if (pass.digits == 3) return with(hoisted_products_kernel<A, Stored, outputs, 3, ciphertexts>);
        if (pass.digits == 4) return with(hoisted_products_kernel<A, Stored, outputs, 4, ciphertexts>);
      }
      if constexpr (ciphertexts == 1) with(hoisted_products_kernel<A, Stored, outputs, 0, 1>);
    };
    if constexpr (std::is_same_v<A, F64>) {
      if (part.batches % 2 == 0 && shares_factors && pass.digits <= digits_at_once) {
        // Two blocks have the room of three.
        const std::size_t room =
            std::min(launcher.sizes->hoisted_shared_bytes * 3 / 2, launcher.sizes->shared_bytes);
        pass.layout = layout_of<A, Stored, 2>(pass, ones, room);
        if (shared_bytes(pass.layout) <= room) return launch_for(std::integral_constant<unsigned, 2>{});
      }
    }
    pass.layout = layout_of<A, Stored, 1>(pass, ones, launcher.sizes->hoisted_shared_bytes);
    launch_for(std::integral_constant<unsigned, 1>{});
  });
}

template <class A, class Stored>
void run_all(const Launcher& launcher, std::span<const PolyView> out, std::span<const HoistedTerm> terms,
             const ModUp& plan, const ModUpTables& tables, std::span<const std::uint64_t> special) {
  for (std::size_t output = 0; output < out.size();) {
    const std::size_t left = out.size() - output;
    const std::size_t together = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    const std::size_t count = terms_per_launch(plan.digits().size(), together, *launcher.sizes);
    for (std::size_t term = 0; term < terms.size(); term += count) {
      const auto with = [&]<unsigned outputs>() {
        run<A, Stored, outputs>(launcher, out, terms, output, term, plan, tables, special);
      };
      if (together == 8) with.template operator()<8>();
      if (together == 4) with.template operator()<4>();
      if (together == 2) with.template operator()<2>();
      if (together == 1) with.template operator()<1>();
    }
    output += together;
  }
}

}  // namespace
}  // namespace hoisted

void hoisted_products(const Launcher& launcher, Arithmetic arithmetic, std::span<const PolyView> out,
                      std::span<const HoistedTerm> terms, const ModUp& plan, const ModUpTables& tables,
                      std::span<const std::uint64_t> special) {
  const auto has_key = [](const HoistedTerm& term) { return term.digits.data != nullptr; };
  const auto switched = std::find_if(terms.begin(), terms.end(), has_key);
  with_storage(switched == terms.end() ? Word::u64 : switched->key.word, [&]<class Stored>(Stored) {
    const auto run =
        arithmetic == Arithmetic::f64 ? hoisted::run_all<F64, Stored> : hoisted::run_all<U64, Stored>;
    run(launcher, out, terms, plan, tables, special);
  });
}

}  // namespace hemera::poly::cuda
