#include "poly/matrix_checks.hpp"

#include <string>

#include "hemera/runtime/error.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {

void check_multiply_matrix(const PolyView& out, const ConstPolyView& in, const IntegerMatrixView& w,
                           const RnsBase& base) {
  constexpr const char* operation = "multiply_matrix";
  if (w.bytes != 1 && w.bytes != 2) {
    throw ParameterError("multiply_matrix: the matrix has entries of " + std::to_string(w.bytes) +
                         " bytes; they must have 1 or 2");
  }
  if (w.rows == 0 || w.columns == 0) {
    throw ParameterError("multiply_matrix: the matrix has " + std::to_string(w.rows) + " rows and " +
                         std::to_string(w.columns) + " columns; at least one of each is needed");
  }
  if (w.data == nullptr || w.host == nullptr) {
    throw ParameterError(
        "multiply_matrix: the matrix must be in the backend's memory and in the host's; one is missing");
  }
  check_view(operation, "output", out, base);
  check_view(operation, "input", in, base);
  check_count(operation, "polynomials of the output for the matrix's rows", out.shape.batch, w.rows);
  check_count(operation, "polynomials of the input for the matrix's columns", in.shape.batch, w.columns);
  check_count(operation, "components of the input", in.shape.components, out.shape.components);
}

void check_multiply_elements(const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                             const RnsBase& base) {
  constexpr const char* operation = "multiply_elements";
  check_view(operation, "output", out, base);
  check_view(operation, "a", as_whole(a, out.shape.degree), base);
  check_view(operation, "b", b, base);
  check_count(operation, "rows of a", a.shape.batch, out.shape.batch);
  check_count(operation, "columns of b", b.shape.components, out.shape.components);
  check_count(operation, "rows of b for the columns of a", b.shape.batch, a.shape.components);
  if (out.shape.batch == 0 || out.shape.components == 0 || a.shape.components == 0) {
    throw MismatchError("multiply_elements: a is " + describe(a.shape) + " and the output " +
                        describe(out.shape) + "; at least one row, term and column are needed");
  }
}

void check_multiply_add_vector(const PolyView& out, const IntegerMatrixView& w, const ConstPolyView& in,
                               const RnsBase& base) {
  constexpr const char* operation = "multiply_add_vector";
  constexpr std::size_t most_columns = std::size_t{1} << 16;
  check_view(operation, "output", out, base);
  check_view(operation, "input", in, base);
  check_count(operation, "components of the output", out.shape.components, 1);
  check_count(operation, "polynomials of the input", in.shape.batch * in.shape.components, 1);
  if (w.bytes != 1 || w.columns == 0 || w.columns % 16 != 0 ||
      w.columns > std::min(in.shape.degree, most_columns)) {
    throw ParameterError("multiply_add_vector: the matrix has " + std::to_string(w.columns) + " columns of " +
                         std::to_string(w.bytes) +
                         " bytes; they must be of 1 byte, and a multiple of 16 up to " +
                         std::to_string(std::min(in.shape.degree, most_columns)));
  }
  if (w.rows == 0 || w.rows > out.shape.batch * out.shape.degree || w.data == nullptr) {
    throw ParameterError(
        "multiply_add_vector: the matrix has " + std::to_string(w.rows) +
        " rows in the backend's memory; there must be one, and at most one for each of the " +
        std::to_string(out.shape.batch * out.shape.degree) + " coefficients of the output");
  }
}

void check_transform_components(const PolyView& values, const ConstPolyView& roots,
                                const ConstPolyView& factors, const RnsBase& base) {
  constexpr const char* operation = "transform_components";
  const std::size_t size = values.shape.components;
  check_view(operation, "values", values, base);
  if (size < 2 || !std::has_single_bit(size)) {
    throw MismatchError("transform_components: the values have " + std::to_string(size) +
                        " components; their number is a power of two, at least 2");
  }
  check_view(operation, "roots", roots, base);
  check_count(operation, "polynomials of the roots", roots.shape.batch, 1);
  check_count(operation, "roots", roots.shape.components, size / 2);
  if (factors.data == nullptr) return;
  check_view(operation, "factors", factors, base);
  check_count(operation, "polynomials of the factors", factors.shape.batch, 1);
  check_count(operation, "factors", factors.shape.components, size);
}

void check_split_parts(const PolyView& out, const ConstPolyView& in, const RnsBase& base) {
  constexpr const char* operation = "split_parts";
  const std::size_t degree = in.shape.degree;
  check_view(operation, "input", in, base);
  check_view(operation, "output", as_whole(out, degree), base);
  if (out.shape.degree == degree) {
    throw MismatchError("split_parts: the output " + describe(out.shape) +
                        " has whole polynomials; parts are stored by N/2 entries or fewer");
  }
  check_count(operation, "parts of the input's components", out.shape.batch,
              degree / out.shape.degree * in.shape.components);
  check_count(operation, "polynomials of each part", out.shape.components, in.shape.batch);
  for (std::size_t i = 0; i < base.size(); ++i) {
    if ((*base.ring())[base.index(i)].values_in(degree) == degree) continue;
    throw ParameterError("split_parts: the modulus " + std::to_string(base.modulus(i).value()) +
                         " has fewer values than " + std::to_string(degree) +
                         ", which do not determine a polynomial's parts; split over primes with N values");
  }
}

void check_pack_rounded(std::span<const std::byte> out, const PolyShape& in, int dropped_bits, int width) {
  if (dropped_bits < 0 || dropped_bits > 60 || width < 1 || width > 8) {
    throw ParameterError("pack_rounded: " + std::to_string(dropped_bits) + " bits are dropped, and " +
                         std::to_string(width) + " bytes kept; 0 to 60 bits may be, and 1 to 8 bytes");
  }
  check_count("pack_rounded", "bytes of the output", out.size(),
              in.words() * static_cast<std::size_t>(width));
  if (reinterpret_cast<std::uintptr_t>(out.data()) % 8 != 0) {
    throw MismatchError("pack_rounded: the output does not begin at a multiple of 8 bytes");
  }
}

}  // namespace hemera::poly
