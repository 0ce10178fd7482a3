#include "interop/openfhe/polynomials.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::interop::openfhe {
namespace {

poly::Form form_of(const PolynomialView& polynomial) {
  return polynomial.is_evaluation ? poly::Form::evaluation : poly::Form::coefficient;
}

BigInteger to_big_integer(const arith::BigInteger& value) {
  BigInteger result;
  result.words.clear();
  export_bits(value, std::back_inserter(result.words), 64, false);
  result.bits = value == 0 ? 0 : static_cast<std::uint32_t>(msb(value) + 1);
  return result;
}

}  // namespace

PolynomialView view_of(const DcrtPolynomial& polynomial) {
  PolynomialView view{.is_evaluation = polynomial.form == PolynomialForm::evaluation, .limbs = {}};
  for (std::size_t l = 0; l < polynomial.limbs.size(); ++l) {
    const NativeParameters& prime = *polynomial.parameters->primes[l];
    view.limbs.push_back({.modulus = prime.modulus, .root = prime.root, .words = polynomial.limbs[l].words});
  }
  return view;
}

poly::RnsBase base_of(const rlwe::Context& context, const PolynomialView& polynomial) {
  const poly::RnsBase& all = context.key_base();
  std::vector<std::uint32_t> indices;
  for (const LimbView& given : polynomial.limbs) {
    std::size_t limb = 0;
    while (limb < all.size() && all.modulus(limb).value() != given.modulus) ++limb;
    if (limb == all.size()) {
      throw MismatchError(
          "the object has the modulus " + std::to_string(given.modulus) +
          ", which its session does not have; open the session from a file of the object's "
          "context, and load keys before ciphertexts, or open it from a key: its primes count until then");
    }
    const std::uint32_t index = all.index(limb);
    if ((*all.ring())[index].root != given.root || given.words.size() != context.degree()) {
      throw MismatchError("the object has another degree, or another root modulo " +
                          std::to_string(given.modulus) + ", than its session");
    }
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) {
      throw FormatError("OpenFHE archive: a polynomial with the modulus " + std::to_string(given.modulus) +
                        " twice");
    }
    indices.push_back(index);
  }
  return {all.ring(), std::move(indices)};
}

void upload(const rlwe::Context& context, poly::Poly& out, std::size_t batch,
            std::span<const PolynomialView> components) {
  const poly::PolyView row = out.view().batches(batch, 1);
  for (std::size_t c = 0; c < components.size(); ++c) {
    for (std::size_t l = 0; l < components[c].limbs.size(); ++l) {
      context.backend().upload(context.queue(), row.components(c, 1).limbs(l, 1),
                               components[c].limbs[l].words, form_of(components[c]));
    }
  }
  context.queue().synchronize();
}

void require_reduced(const PolynomialView& polynomial) {
  for (const LimbView& limb : polynomial.limbs) {
    std::uint64_t above = 0;
    for (const std::uint64_t word : limb.words) above |= static_cast<std::uint64_t>(word >= limb.modulus);
    if (above != 0) {
      throw FormatError("OpenFHE polynomial: a residue is not below its modulus " +
                        std::to_string(limb.modulus));
    }
  }
}

const std::shared_ptr<DcrtParameters>& BaseParameters::of(const rlwe::Context& context,
                                                          const poly::RnsBase& base) {
  const std::shared_ptr<DcrtParameters>& own = context_.parameters->elements;
  const std::vector<std::uint64_t> moduli = base.values();
  const auto is_base = [&](const DcrtParameters& parameters) {
    return std::equal(parameters.primes.begin(), parameters.primes.end(), moduli.begin(), moduli.end(),
                      [](const auto& prime, std::uint64_t modulus) { return prime->modulus == modulus; });
  };
  if (is_base(*own)) return own;
  if (last_ != nullptr && is_base(*last_)) return last_;
  auto made = std::make_shared<DcrtParameters>();
  made->order = own->order;
  made->degree = own->degree;
  made->modulus = to_big_integer(arith::product(moduli));
  for (std::size_t i = 0; i < base.size(); ++i) {
    const auto known = std::find_if(own->primes.begin(), own->primes.end(),
                                    [&](const auto& prime) { return prime->modulus == moduli[i]; });
    if (known != own->primes.end()) {
      made->primes.push_back(*known);
      continue;
    }
    auto prime = std::make_shared<NativeParameters>();
    prime->order = own->order;
    prime->degree = own->degree;
    prime->modulus = moduli[i];
    prime->root = (*context.key_base().ring())[base.index(i)].root;
    made->primes.push_back(std::move(prime));
  }
  last_ = std::move(made);
  return last_;
}

void download(const rlwe::Context& context, const poly::Poly& array, std::size_t batch, std::size_t component,
              std::span<const std::span<std::uint64_t>> limbs) {
  const poly::ConstPolyView view = array.view().batches(batch, 1).components(component, 1);
  for (std::size_t l = 0; l < limbs.size(); ++l) {
    context.backend().download(context.queue(), limbs[l], view.limbs(l, 1), array.form());
  }
}

DcrtPolynomial without_residues(const rlwe::Context& context, const poly::Poly& array,
                                BaseParameters& parameters) {
  DcrtPolynomial polynomial;
  const bool evaluation = array.form() == poly::Form::evaluation;
  polynomial.form = evaluation ? PolynomialForm::evaluation : PolynomialForm::coefficient;
  polynomial.parameters = parameters.of(context, array.base());
  polynomial.limbs.resize(array.base().size());
  for (std::size_t l = 0; l < polynomial.limbs.size(); ++l) {
    NativePolynomial& limb = polynomial.limbs[l];
    limb.form = polynomial.form;
    limb.parameters = polynomial.parameters->primes[l];
    limb.modulus = limb.parameters->modulus;
    limb.later = context.degree();
  }
  return polynomial;
}

DcrtPolynomial download(const rlwe::Context& context, const poly::Poly& array, std::size_t batch,
                        std::size_t component, BaseParameters& parameters) {
  DcrtPolynomial polynomial = without_residues(context, array, parameters);
  std::vector<std::span<std::uint64_t>> words;
  for (NativePolynomial& limb : polynomial.limbs) {
    limb.words.resize(std::exchange(limb.later, 0));
    words.emplace_back(limb.words);
  }
  download(context, array, batch, component, words);
  return polynomial;
}

}  // namespace hemera::interop::openfhe
