// Ring products, integer products and Kronecker substitution: NumPy arrays in, NumPy arrays out.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/multiply/engines.hpp"
#include "hemera/multiply/galois_transform.hpp"
#include "hemera/multiply/integer.hpp"
#include "hemera/multiply/kronecker.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/fork.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using Word = std::uint64_t;

template <typename T, int dimensions>
using Array = nb::ndarray<const T, nb::numpy, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Result = nb::ndarray<nb::numpy, T, nb::c_contig>;

template <typename Row>
auto span_of(const Row& array) {
  return std::span(array.data(), array.size());
}

struct Release {
  void operator()(Word* words) const { ::operator delete(words, alignment); }
  // A cache line, so that no vector store straddles two.
  static constexpr std::align_val_t alignment{64};
};
using OwnedWords = std::unique_ptr<Word[], Release>;
OwnedWords make_words(std::size_t count) {
  return OwnedWords(static_cast<Word*>(::operator new(count * sizeof(Word), Release::alignment)));
}

/// A new array that owns its words.
Result<Word> own(OwnedWords words, const std::vector<std::size_t>& shape) {
  Word* const data = words.release();
  const nb::capsule owner(data, [](void* pointer) noexcept { Release{}(static_cast<Word*>(pointer)); });
  return Result<Word>(data, shape.size(), shape.data(), owner);
}

void check_canonical(const Word* row, std::size_t count, Word q) {
  const Word largest = count == 0 ? 0 : *std::max_element(row, row + count);
  if (largest >= q) {
    throw ParameterError("the coefficient " + std::to_string(largest) + " is not below its modulus " +
                         std::to_string(q) + "; reduce the coefficients first");
  }
}

/// An engine with threads of its own and the bases of its products so far.
class RingMultiplier {
 public:
  using Operand = Array<Word, 4>;

  RingMultiplier(const std::string& name, int threads)
      : engine_(multiply::make_ring_multiplier(name)),
        queue_(std::make_shared<runtime::ThreadPool>(threads)) {}

  [[nodiscard]] std::string name() const { return std::string(engine_->name()); }

  /// [batch, component, limb, N] each.
  Result<Word> tensor_product(const Operand& a, const Operand& b, const std::vector<Word>& moduli) {
    poly::PolyShape shape = shape_of(a);
    shape.batch = std::max(a.shape(0), b.shape(0));
    shape.components = a.shape(1) + b.shape(1) - 1;
    OwnedWords out = make_words(shape.words());
    {
      const ReleasedGil release;
      const poly::RnsBase& base = base_of(shape.degree, moduli);
      const poly::PolyView result(reinterpret_cast<std::byte*>(out.get()), shape, poly::Word::u64);
      engine_->tensor_product(queue_, result, view_of(a, base), view_of(b, base), base);
    }
    return own(std::move(out), {shape.batch, shape.components, shape.limbs, shape.degree});
  }

 private:
  static poly::PolyShape shape_of(const Operand& a) {
    return {a.shape(0), a.shape(1), a.shape(2), a.shape(3)};
  }

  static poly::ConstPolyView view_of(const Operand& a, const poly::RnsBase& base) {
    const poly::PolyShape shape = shape_of(a);
    if (shape.limbs == base.size()) {
      for (std::size_t row = 0; row < shape.batch * shape.components * shape.limbs; ++row) {
        check_canonical(a.data() + row * shape.degree, shape.degree, base.modulus(row % shape.limbs).value());
      }
    }
    return {reinterpret_cast<const std::byte*>(a.data()), shape, poly::Word::u64};
  }

  const poly::RnsBase& base_of(std::size_t degree, const std::vector<Word>& moduli) {
    const std::lock_guard lock(mutex_);
    auto& base = bases_[{degree, moduli}];
    if (base.ring() == nullptr) {
      std::vector<poly::RingModulus> ring;
      std::vector<std::uint32_t> indices;
      for (const Word q : moduli) {
        if (q < 2 || q >> arith::max_modulus_bits != 0) {
          throw ParameterError("the modulus " + std::to_string(q) + " is not in [2, 2^61)");
        }
        const arith::Modulus modulus(q);
        const bool has_root = degree > 0 && q % (2 * degree) == 1 && arith::is_prime(q);
        indices.push_back(static_cast<std::uint32_t>(ring.size()));
        ring.push_back({modulus, has_root ? arith::minimal_primitive_root(2 * degree, modulus) : 0});
      }
      base = poly::RnsBase(poly::Ring::make(degree, std::move(ring)), std::move(indices));
    }
    return base;
  }

  std::shared_ptr<const poly::RingMultiplier> engine_;
  runtime::CpuQueue queue_;
  runtime::ForkSafeMutex mutex_;
  std::map<std::pair<std::size_t, std::vector<Word>>, poly::RnsBase> bases_;
};

/// Integer products and Kronecker substitution with threads of their own.
class IntegerMultiplier {
 public:
  explicit IntegerMultiplier(int threads) : pool_(threads) {}

  Result<Word> multiply(const Array<Word, 1>& a, const Array<Word, 1>& b) {
    const std::size_t size = a.size() + b.size();
    OwnedWords out = make_words(size);
    {
      const ReleasedGil release;
      multiplier_.multiply({out.get(), size}, span_of(a), span_of(b), pool_);
    }
    return own(std::move(out), {size});
  }

  Result<Word> pack(const Array<Word, 1>& coefficients, int exponent) {
    const std::size_t size = multiply::kronecker_words(coefficients.size(), exponent);
    OwnedWords out = make_words(size);
    multiply::pack({out.get(), size}, span_of(coefficients), exponent, pool_);
    return own(std::move(out), {size});
  }
  std::pair<Result<Word>, bool> pack_signed(const Array<std::int64_t, 1>& coefficients, int exponent) {
    const std::size_t size = multiply::kronecker_words(coefficients.size(), exponent);
    OwnedWords out = make_words(size);
    const bool negative = multiply::pack_signed({out.get(), size}, span_of(coefficients), exponent, pool_);
    return {own(std::move(out), {size}), negative};
  }
  Result<Word> unpack(const Array<Word, 1>& integer, bool negative, std::size_t count, int exponent,
                      bool is_signed) {
    const std::size_t width = multiply::kronecker_words(1, exponent);
    OwnedWords out = make_words(width * count);
    const std::span<Word> words(out.get(), width * count);
    if (is_signed) {
      multiply::unpack_signed(words, span_of(integer), negative, count, exponent, pool_);
    } else {
      multiply::unpack(words, span_of(integer), count, exponent, pool_);
    }
    return own(std::move(out), {count, width});
  }

 private:
  multiply::IntegerMultiplier multiplier_;
  runtime::ThreadPool pool_;
};

Result<Word> multiply_by_gmp(const Array<Word, 1>& a, const Array<Word, 1>& b) {
  const std::size_t size = a.size() + b.size();
  OwnedWords out = make_words(size);
  {
    const ReleasedGil release;
    multiply::multiply_by_gmp({out.get(), size}, span_of(a), span_of(b));
  }
  return own(std::move(out), {size});
}

class GaloisTransform {
 public:
  GaloisTransform(std::size_t degree, Word p) : transform_(multiply::make_galois_transform(degree, p)) {}

  [[nodiscard]] bool is_split() const { return transform_->form() == multiply::GaloisTransform::Form::split; }

  Result<Word> multiply(const Array<Word, 1>& a, const Array<Word, 1>& b) const {
    const std::size_t degree = transform_->degree();
    for (const auto* operand : {&a, &b}) {
      if (operand->size() != degree) {
        throw MismatchError("a polynomial of " + std::to_string(operand->size()) +
                            " coefficients does not belong to a transform of degree " +
                            std::to_string(degree));
      }
      check_canonical(operand->data(), degree, transform_->modulus().value());
    }
    OwnedWords out = make_words(degree);
    {
      const ReleasedGil release;
      std::vector<Word> scratch(transform_->tensor_scratch(1, 1));
      Word* const to[] = {out.get()};
      const Word* const left[] = {a.data()};
      const Word* const right[] = {b.data()};
      transform_->tensor_product(to, left, right, scratch);
    }
    return own(std::move(out), {degree});
  }

 private:
  std::unique_ptr<const multiply::GaloisTransform> transform_;
};

std::vector<std::string> engine_names() {
  const auto names = multiply::engine_names();
  return {names.begin(), names.end()};
}

int kronecker_exponent(Word largest_a, Word largest_b, std::size_t terms, bool is_signed) {
  return multiply::kronecker_exponent(
      largest_a, largest_b, terms,
      is_signed ? multiply::Signedness::signed_coefficients : multiply::Signedness::unsigned_coefficients);
}

}  // namespace

void bind_multiply(nb::module_& m) {
  nb::class_<RingMultiplier>(m, "RingMultiplier")
      .def(nb::init<const std::string&, int>(), "name"_a, "threads"_a)
      .def_prop_ro("name", &RingMultiplier::name)
      .def("tensor_product", &RingMultiplier::tensor_product, "a"_a, "b"_a, "moduli"_a);
  nb::class_<IntegerMultiplier>(m, "IntegerMultiplier")
      .def(nb::init<int>(), "threads"_a)
      .def("multiply", &IntegerMultiplier::multiply, "a"_a, "b"_a)
      .def("pack", &IntegerMultiplier::pack, "coefficients"_a, "exponent"_a)
      .def("pack_signed", &IntegerMultiplier::pack_signed, "coefficients"_a, "exponent"_a)
      .def("unpack", &IntegerMultiplier::unpack, "integer"_a, "negative"_a, "count"_a, "exponent"_a,
           "is_signed"_a);
  nb::class_<GaloisTransform>(m, "GaloisTransform")
      .def(nb::init<std::size_t, Word>(), "degree"_a, "modulus"_a)
      .def_prop_ro("is_split", &GaloisTransform::is_split)
      .def("multiply", &GaloisTransform::multiply, "a"_a, "b"_a);
  nb::class_<multiply::IntegerProductPlan>(m, "IntegerProductPlan")
      .def_ro("primes", &multiply::IntegerProductPlan::primes)
      .def_ro("digit_bits", &multiply::IntegerProductPlan::digit_bits)
      .def_ro("length", &multiply::IntegerProductPlan::length)
      .def_ro("bytes", &multiply::IntegerProductPlan::bytes);
  m.def(
      "plan_integer_product",
      [](std::size_t bits_a, std::size_t bits_b) { return multiply::plan_integer_product(bits_a, bits_b); },
      "bits_a"_a, "bits_b"_a);
  m.def("kronecker_exponent", &kronecker_exponent, "largest_a"_a, "largest_b"_a, "terms"_a, "is_signed"_a);
  m.def("inert_prime_below", &multiply::inert_prime_below, "bound"_a, "degree"_a);
  m.def("engine_names", &engine_names);
  m.def("built_with_gmp", &multiply::built_with_gmp);
  m.def("multiply_by_gmp", &multiply_by_gmp, "a"_a, "b"_a);
}

}  // namespace hemera::python
