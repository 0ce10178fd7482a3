// Values in the order of a Galois generator: integers to residues and back, and slots for the embedding.
#pragma once

#include <cstdint>

#include "hemera/poly/ring.hpp"
#include "hemera/poly/views.hpp"
#include "poly/cuda/kernels.hpp"

namespace hemera::poly::cuda {

/// As hemera/poly/backend.hpp says; checked.
void place_integers(const Launcher& launcher, const PolyView& out, const IntegerView& values, Form form,
                    std::uint64_t generator, const RnsBase& base);
void collect_integers(const Launcher& launcher, const IntegerView& values, const ConstPolyView& in, Form form,
                      std::uint64_t generator, bool is_signed, const RnsBase& base, const TakenAlong& along);
void exponentials(const Launcher& launcher, const SlotView& out, const ConstPolyView& in,
                  const ExponentialLayout& layout, const RnsBase& base);
void place_slots(const Launcher& launcher, const SlotView& out, const NumberView& values);
void collect_slots(const Launcher& launcher, const NumberView& values, const SlotView& in);
void slots_to_embedding(const Launcher& launcher, const SlotView& out, const SlotView& in,
                        std::uint64_t generator);
void slots_from_embedding(const Launcher& launcher, const SlotView& out, const SlotView& in,
                          std::uint64_t generator);

}  // namespace hemera::poly::cuda
