// The choice between the two arithmetics of the transforms.
#include "poly/cpu/avx512/transforms.hpp"

#include "poly/cpu/avx512/vectors.hpp"
#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::avx512 {

void forward_transform(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables) {
  if (tables.modulus.value() < max_modulus_52) {
    forward_transform52(out, in, tables);
  } else {
    forward_transform64(out, in, tables);
  }
}

void forward_transform_of_sum(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                              const arith::ShoupFactor& factor, std::uint64_t shift,
                              const LimbTables& tables) {
  if (tables.modulus.value() < max_modulus_52) {
    forward_transform_of_sum52(out, a, b, factor, shift, tables);
  } else {
    forward_transform_of_sum64(out, a, b, factor, shift, tables);
  }
}

void inverse_transform(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables) {
  if (tables.modulus.value() < max_modulus_52) {
    inverse_transform52(out, in, tables);
  } else {
    inverse_transform64(out, in, tables);
  }
}

void forward_columns(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t first,
                     std::size_t count) {
  if (tables.modulus.value() < max_modulus_52) {
    forward_columns52(out, in, tables, first, count);
  } else {
    forward_columns64(out, in, tables, first, count);
  }
}

void forward_row(std::uint64_t* data, const LimbTables& tables, std::size_t row) {
  if (tables.modulus.value() < max_modulus_52) {
    forward_row52(data, tables, row);
  } else {
    forward_row64(data, tables, row);
  }
}

void inverse_row(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t row) {
  if (tables.modulus.value() < max_modulus_52) {
    inverse_row52(out, in, tables, row);
  } else {
    inverse_row64(out, in, tables, row);
  }
}

void inverse_columns(std::uint64_t* data, const LimbTables& tables, std::size_t first, std::size_t count) {
  if (tables.modulus.value() < max_modulus_52) {
    inverse_columns52(data, tables, first, count);
  } else {
    inverse_columns64(data, tables, first, count);
  }
}

}  // namespace hemera::poly::cpu::avx512
