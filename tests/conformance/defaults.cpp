#include "conformance/defaults.hpp"

#include "hemera/arith/big_integer.hpp"

namespace hemera::conformance {

using poly::Form;

// Entry by entry, so any order of the entries will do: all are read and written as coefficients.
std::vector<std::uint64_t> Defaults::words(Queue& queue, const poly::ConstPolyView& view) const {
  std::vector<std::uint64_t> words(view.shape.words());
  backend_->download(queue, words, view, Form::coefficient);
  queue.synchronize();
  return words;
}

void Defaults::do_finish_division(Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& in,
                                  const poly::ConstPolyView& delta, const poly::Division& plan) const {
  const std::vector<std::uint64_t> x = words(queue, in), y = words(queue, delta);
  std::vector<std::uint64_t> result(out.shape.words());
  const std::size_t degree = out.shape.degree;
  const auto limb = [](const poly::PolyShape& shape, std::size_t b, std::size_t c, std::size_t l) {
    return (((shape.batch == 1 ? 0 : b) * shape.components + (shape.components == 1 ? 0 : c)) * shape.limbs +
            l) *
           shape.degree;
  };
  const poly::RnsBase& target = plan.target();
  const poly::RnsBase added = target.without(plan.source());
  for (std::size_t j = 0; j < target.size(); ++j) {
    const arith::Modulus& q = target.modulus(j);
    std::uint64_t e = arith::modulo(arith::BigInteger(plan.factor()), q.value()),
                  d = q.reduce(std::uint64_t{1});
    for (std::size_t i = 0; i < added.size(); ++i) e = q.multiply(e, q.reduce(added.modulus(i).value()));
    for (std::size_t i = 0; i < plan.dropped().size(); ++i) {
      d = q.multiply(d, q.reduce(plan.dropped().modulus(i).value()));
    }
    const std::uint64_t inverse = arith::inverse(d, q.value());
    const bool kept = plan.source().contains(target.index(j));
    const std::size_t position = kept ? plan.source().position(target.index(j)) : 0;
    for (std::size_t b = 0; b < out.shape.batch; ++b) {
      for (std::size_t c = 0; c < out.shape.components; ++c) {
        for (std::size_t n = 0; n < degree; ++n) {
          const std::uint64_t scaled = kept ? q.multiply(e, x[limb(in.shape, b, c, position) + n]) : 0;
          result[limb(out.shape, b, c, j) + n] =
              q.multiply(q.subtract(scaled, y[limb(delta.shape, b, c, j) + n]), inverse);
        }
      }
    }
  }
  backend_->upload(queue, out, result, Form::coefficient);
  queue.synchronize();
}

void Defaults::do_extract_window(Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& in,
                                 int shift, int width, const poly::RnsBase& base) const {
  const std::vector<std::uint64_t> x = words(queue, in);
  std::vector<std::uint64_t> result(out.shape.words());
  const std::size_t degree = out.shape.degree;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t polynomial = i / degree / base.size();
    const std::uint64_t word = x[(in.shape.batch == 1 ? 0 : polynomial) * degree + i % degree];
    result[i] = base.modulus(i / degree % base.size()).reduce((word >> shift) % (std::uint64_t{1} << width));
  }
  backend_->upload(queue, out, result, Form::coefficient);
  queue.synchronize();
}

}  // namespace hemera::conformance
