// Residues between OpenFHE's polynomials and those in a context's memory: both are in standard order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hemera/interop/openfhe.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/rlwe/context.hpp"
#include "interop/openfhe/objects.hpp"

namespace hemera::interop::openfhe {

/// A file's part of a polynomial, which must outlive the view.
PolynomialView view_of(const DcrtPolynomial& polynomial);

/// The base of a polynomial's limbs, of any primes of the context's keys. MismatchError for other primes,
/// roots or degrees.
poly::RnsBase base_of(const rlwe::Context& context, const PolynomialView& polynomial);

/// Polynomials of one form and one base as row `batch` of an array, one a component.
void upload(const rlwe::Context& context, poly::Poly& out, std::size_t batch,
            std::span<const PolynomialView> components);

/// Throws FormatError unless every residue is below its modulus, as readers of files make sure of.
void require_reduced(const PolynomialView& polynomial);

/// OpenFHE's parameters of bases; those of a crypto context, and primes that it has, are shared with it.
class BaseParameters {
 public:
  explicit BaseParameters(const CryptoContext& context) : context_(context) {}

  /// The same object for equal bases that follow each other.
  const std::shared_ptr<DcrtParameters>& of(const rlwe::Context& context, const poly::RnsBase& base);

 private:
  const CryptoContext& context_;
  std::shared_ptr<DcrtParameters> last_;
};

/// One polynomial of an array [batch, component, limb, N], in the array's form: one span of N words a limb,
/// which are written by the queue's synchronize().
void download(const rlwe::Context& context, const poly::Poly& array, std::size_t batch, std::size_t component,
              std::span<const std::span<std::uint64_t>> limbs);
/// A polynomial of OpenFHE's over an array's base, whose residues come later.
DcrtPolynomial without_residues(const rlwe::Context& context, const poly::Poly& array,
                                BaseParameters& parameters);
/// The same with the residues of one of the array, which are there after the queue's synchronize().
DcrtPolynomial download(const rlwe::Context& context, const poly::Poly& array, std::size_t batch,
                        std::size_t component, BaseParameters& parameters);

}  // namespace hemera::interop::openfhe
