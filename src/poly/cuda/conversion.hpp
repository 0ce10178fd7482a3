// Launches of the changes of base.
#pragma once

#include "hemera/poly/plans.hpp"
#include "hemera/poly/views.hpp"
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/plan_tables.hpp"

namespace hemera::poly::cuda {

/// The jobs of `tables` for `components` components of the input (1 broadcasts): coefficient form, `out` is
/// not `in`.
void convert(const char* operation, const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
             unsigned components, const ConversionTables& tables, const IntegerView* doubtful = nullptr);
void scale_and_round(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                     const RoundingTables& tables, const IntegerView* doubtful);
void finish_division(const Launcher& launcher, const PolyView& out, const ConstPolyView& in,
                     const ConstPolyView& delta, const Division& plan);
void extract_window(const Launcher& launcher, const PolyView& out, const ConstPolyView& in, int shift,
                    int width, const RnsBase& base);

}  // namespace hemera::poly::cuda
