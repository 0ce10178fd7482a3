#include "conformance/suite.hpp"

#include <cstdlib>
#include <cstring>

#include "conformance/defaults.hpp"
#include "hemera/arith/primes.hpp"

namespace hemera::conformance {

using poly::Form;

Host::Host(poly::RnsBase over, std::size_t batch, std::size_t components, std::size_t entries)
    : base(std::move(over)),
      shape{.batch = batch,
            .components = components,
            .limbs = base.size(),
            .degree = entries == 0 ? base.ring()->degree() : entries},
      words(shape.words()) {}

std::vector<std::uint64_t> Host::residues(std::size_t b, std::size_t c, std::size_t n) const {
  std::vector<std::uint64_t> result;
  for (std::size_t l = 0; l < shape.limbs; ++l) result.push_back(at(b, c, l, n));
  return result;
}

const std::vector<std::vector<int>>& bases_of_bits() {
  static const std::vector<std::vector<int>> lists = {
      {30, 30, 30},     {45, 45, 45, 45}, {50, 50, 50},    {55, 55, 55},
      {60, 60, 60, 60}, {61, 61, 61},     {-60, -60, -60}, {60, 30, 50, 45, 61, 55},
  };
  return lists;
}

Rig::Rig(const BackendCase& backend_case, std::size_t degree, const std::vector<int>& bits,
         const std::vector<std::uint64_t>& plaintext_moduli,
         const std::vector<poly::RingModulus>& with_fewer_values) {
  std::vector<std::uint64_t> values;
  for (const int size : bits) {
    const std::uint64_t step = size < 0 ? std::uint64_t{1} << 32 : 2 * degree;
    const auto found = arith::primes_below(std::uint64_t{1} << std::abs(size), step, 1, values);
    values.insert(values.end(), found.begin(), found.end());
  }
  std::vector<poly::RingModulus> moduli;
  for (const std::uint64_t value : values) {
    const arith::Modulus modulus(value);
    moduli.push_back({modulus, arith::minimal_primitive_root(2 * degree, modulus)});
  }
  for (const std::uint64_t value : plaintext_moduli) moduli.push_back({arith::Modulus(value), 0});
  moduli.insert(moduli.end(), with_fewer_values.begin(), with_fewer_values.end());
  prime_count_ = values.size();
  ring = poly::Ring::make(degree, std::move(moduli));
  backend = backend_case.make(ring);
  defaults = std::make_shared<const Defaults>(backend);
  queue = backend->make_thread_queue();
}

poly::RnsBase Rig::primes(std::size_t first, std::size_t count) const {
  std::vector<std::uint32_t> indices;
  for (std::size_t i = first; i < first + count; ++i) indices.push_back(static_cast<std::uint32_t>(i));
  return {ring, indices};
}

poly::RnsBase Rig::plaintext(std::size_t index) const {
  return {ring, {static_cast<std::uint32_t>(prime_count_ + index)}};
}

Host Rig::random(const poly::RnsBase& base, std::size_t batch, std::size_t components, std::size_t entries) {
  Host host(base, batch, components, entries);
  for (std::size_t i = 0; i < host.words.size(); ++i) {
    const std::uint64_t q = base.modulus(i / host.shape.degree % host.shape.limbs).value();
    const std::uint64_t bits = generator();
    const std::uint64_t edges[] = {0, 1, q - 1, (q - 1) / 2, q / 2 + q % 2};
    host.words[i] = bits % 8 == 0 ? edges[(bits >> 8) % std::size(edges)] : generator() % q;
    host.words[i] %= q;
  }
  return host;
}

poly::Poly Rig::upload(const Host& host, Form form) {
  poly::Poly result(backend->memory(), host.shape.batch, host.shape.components, host.base, form,
                    runtime::Secrecy::open, host.shape.degree);
  backend->upload(*queue, result.view(), host.words, form);
  return result;
}

Host Rig::download(const poly::Poly& poly) {
  Host host(poly.base(), poly.shape().batch, poly.shape().components, poly.shape().degree);
  backend->download(*queue, host.words, poly.view(), poly.form());
  queue->synchronize();
  return host;
}

poly::Poly Rig::output(const poly::RnsBase& base, std::size_t batch, std::size_t components, Form form) {
  Host garbage(base, batch, components);
  std::fill(garbage.words.begin(), garbage.words.end(), 0xdeadbeefcafef00dULL);
  return upload(garbage, form);
}

runtime::Workspace Rig::workspace(std::size_t bytes) const {
  if (backend->device().kind == runtime::Device::Kind::cpu) {
    // The block that is freed last is the next that is handed out.
    runtime::Buffer garbage(backend->memory(), bytes);
    std::memset(garbage.data(), 0xa5, bytes);
  }
  return {backend->memory(), bytes};
}

void Rig::with_scratch(const std::function<void(runtime::Workspace&)>& operation) const {
  runtime::Workspace measuring = runtime::Workspace::measuring();
  operation(measuring);
  runtime::Workspace exact = workspace(measuring.peak());
  operation(exact);
  EXPECT_EQ(exact.peak(), measuring.peak()) << "the operation takes less or more than it measures";
}

Host Rig::transformed(const Host& host, Form from, Form to) {
  if (from == to) return host;
  poly::Poly poly = upload(host, from);
  if (to == Form::evaluation) {
    backend->forward_transform(*queue, poly.view(), poly.view(), host.base);
  } else {
    backend->inverse_transform(*queue, poly.view(), poly.view(), host.base);
  }
  poly.set_form(to);
  return download(poly);
}

::testing::AssertionResult same(const Host& actual, const Host& expected) {
  if (!(actual.base == expected.base) || !(actual.shape == expected.shape)) {
    return ::testing::AssertionFailure() << "base or shape differ";
  }
  for (std::size_t i = 0; i < actual.words.size(); ++i) {
    if (actual.words[i] != expected.words[i]) {
      const poly::PolyShape& shape = actual.shape;
      const std::size_t limb = i / shape.degree;
      return ::testing::AssertionFailure()
             << "batch " << limb / shape.limbs / shape.components << ", component "
             << limb / shape.limbs % shape.components << ", limb " << limb % shape.limbs
             << " (q = " << actual.base.modulus(limb % shape.limbs).value() << "), entry " << i % shape.degree
             << ": " << actual.words[i] << " in place of " << expected.words[i];
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace hemera::conformance
