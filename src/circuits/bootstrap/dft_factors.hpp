// The Fourier transform between coefficients and slots, as sparse matrices given by their diagonals.
#pragma once

#include <cstddef>
#include <vector>

#include "hemera/circuits/linear/linear_transform.hpp"

namespace hemera::circuits {

/// The product A B of two matrices over the same slots.
Diagonals product(const Diagonals& a, const Diagonals& b, std::size_t slots);

/// Every entry times `factor`.
void scale_inplace(Diagonals& matrix, double factor);

/// How many of log2(slots) butterfly stages each of `matrices` matrices takes: as equal as they get, the
/// larger ones first.
std::vector<std::size_t> split_stages(std::size_t log_slots, std::size_t matrices);

/// SlotToCoeff: matrices in the order in which they are applied, of as many butterfly stages as `stages`
/// says, the short strides first. Their product V takes a vector u to the slots of the polynomial (in the
/// ring of 2 slots coefficients) whose coefficients k and slots + k are the real and imaginary part of
/// u[reversed bits of k]. (J. H. Cheon, K. Han, M. Hhan, "Faster homomorphic discrete Fourier transforms and
/// improved FHE bootstrapping", 2018/1073; merged stages: H. Chen, I. Chillotti, Y. Song, 2018/1043.) A
/// matrix of k stages has 2^(k + 1) - 1 diagonals, the one with the longest strides 2^k.
std::vector<Diagonals> slots_to_coefficients_factors(std::size_t slots,
                                                     const std::vector<std::size_t>& stages);

/// The product of the last stages of SlotToCoeff: those whose strides are at least 2^first. It takes values
/// that stand block by block, 2^first slots each, to the slots of a polynomial: block b is that of the
/// coefficients whose numbers are the reversed bits of b modulo the number of blocks.
Diagonals long_stages(std::size_t slots, std::size_t first);

/// CoeffToSlot: the inverse, in the order in which it is applied; `stages` as they are applied, too: the long
/// strides first.
std::vector<Diagonals> coefficients_to_slots_factors(std::size_t slots,
                                                     const std::vector<std::size_t>& stages);

}  // namespace hemera::circuits
