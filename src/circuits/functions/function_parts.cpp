#include "circuits/functions/function_parts.hpp"

#include "circuits/coefficient.hpp"

namespace hemera::circuits {

using Value = Function::Value;

std::size_t value_count(const FunctionPart& part) {
  const auto* polynomials = std::get_if<Function::OfPolynomial>(&part);
  return polynomials == nullptr ? 1 : polynomials->polynomial.count();
}

std::vector<Value> operands_of(const FunctionPart& part) {
  const auto* sum = std::get_if<Function::Sum>(&part);
  if (sum == nullptr) return {std::get<Function::OfPolynomial>(part).x};
  std::vector<Value> operands;
  for (const auto& [a, b] : sum->products) {
    operands.push_back(a);
    operands.push_back(b);
  }
  for (const auto& term : sum->terms) operands.push_back(term.value);
  return operands;
}

std::vector<bool> needed_parts(const Function& function) {
  std::vector<Value> firsts;  // of each part's values
  Value count = function.inputs().size();
  for (const FunctionPart& part : function.parts()) {
    firsts.push_back(count);
    count += value_count(part);
  }
  std::vector<bool> values(count), parts(firsts.size());
  for (const Value output : function.outputs()) values[output] = true;
  for (std::size_t i = firsts.size(); i-- > 0;) {
    const Value end = i + 1 < firsts.size() ? firsts[i + 1] : count;
    for (Value value = firsts[i]; value < end; ++value) parts[i] = parts[i] || values[value];
    if (!parts[i]) continue;
    for (const Value operand : operands_of(function.parts()[i])) values[operand] = true;
  }
  return parts;
}

template <typename Real>
std::complex<Real> value_of(const FunctionStep& step, const std::vector<std::complex<Real>>& values,
                            std::size_t slot) {
  using Complex = std::complex<Real>;
  Complex sum = 0;
  for (const auto& [a, b] : step.products) sum += values[a] * values[b];
  sum =
      static_cast<Real>(step.factor) * sum + Complex(in_slot(step.constant, slot)) + Real(step.constant_rest);
  for (const auto& term : step.terms) {
    sum += (Complex(in_slot(term.factor, slot)) + Real(term.rest)) * values[term.value];
  }
  return sum;
}

template std::complex<double> value_of(const FunctionStep& step,
                                       const std::vector<std::complex<double>>& values, std::size_t slot);
template std::complex<long double> value_of(const FunctionStep& step,
                                            const std::vector<std::complex<long double>>& values,
                                            std::size_t slot);

}  // namespace hemera::circuits
