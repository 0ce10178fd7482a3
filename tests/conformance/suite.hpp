// The conformance suite of backends: every operation against an independent oracle, bit for bit. A backend
// joins with one file that instantiates BackendTest.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "hemera/poly/backend.hpp"

namespace hemera::conformance {

struct BackendCase {
  std::string name;
  std::function<std::shared_ptr<const poly::Backend>(std::shared_ptr<const poly::Ring>)> make;
  /// Its kernels are run by a CPU, thread by thread, or all of it by an emulator of another processor: tests
  /// leave out large rings whose kernels smaller ones have.
  bool emulated = false;
  /// Its kernels are watched by compute-sanitizer, which slows them down a hundredfold.
  bool instrumented = false;
  /// Another case has all that is not a kernel: the same algorithms and defaults.
  bool only_kernels = false;

  [[nodiscard]] bool slow() const { return emulated || instrumented; }
  /// Each kernel once is enough: the longest tests leave out combinations and what they only compare with.
  [[nodiscard]] bool brief() const { return slow() || only_kernels; }

  friend std::ostream& operator<<(std::ostream& stream, const BackendCase& value) {
    return stream << value.name;
  }
};

class BackendTest : public ::testing::TestWithParam<BackendCase> {};

inline std::string case_name(const ::testing::TestParamInfo<BackendCase>& info) { return info.param.name; }

/// Residues on the host, [batch, component, limb, N]. Reading broadcasts like a view.
struct Host {
  poly::RnsBase base;
  poly::PolyShape shape;
  std::vector<std::uint64_t> words;

  /// `entries` of a limb are stored (0: all).
  Host(poly::RnsBase over, std::size_t batch, std::size_t components, std::size_t entries = 0);

  [[nodiscard]] std::size_t index(std::size_t b, std::size_t c, std::size_t l, std::size_t n) const {
    const std::size_t batch = shape.batch == 1 ? 0 : b;
    const std::size_t component = shape.components == 1 ? 0 : c;
    return ((batch * shape.components + component) * shape.limbs + l) * shape.degree + n;
  }
  std::uint64_t& at(std::size_t b, std::size_t c, std::size_t l, std::size_t n) {
    return words[index(b, c, l, n)];
  }
  [[nodiscard]] std::uint64_t at(std::size_t b, std::size_t c, std::size_t l, std::size_t n) const {
    return words[index(b, c, l, n)];
  }
  /// The residues of one coefficient, [limb].
  [[nodiscard]] std::vector<std::uint64_t> residues(std::size_t b, std::size_t c, std::size_t n) const;
};

/// Sizes of the NTT primes that a test runs over: each is the list of bits of one base.
const std::vector<std::vector<int>>& bases_of_bits();

/// A ring of NTT primes (the largest below 2^bits for each entry; below 2^-bits and 1 modulo 2^32 for a
/// negative one) and of plaintext moduli without a root or with fewer values than N, a backend for it, and a
/// generator of test data.
class Rig {
 public:
  Rig(const BackendCase& backend_case, std::size_t degree, const std::vector<int>& bits,
      const std::vector<std::uint64_t>& plaintext_moduli = {},
      const std::vector<poly::RingModulus>& with_fewer_values = {});

  /// All NTT primes, some of them (from, count), or one plaintext modulus.
  [[nodiscard]] poly::RnsBase all() const { return primes(0, prime_count_); }
  [[nodiscard]] poly::RnsBase primes(std::size_t first, std::size_t count) const;
  [[nodiscard]] poly::RnsBase choose(const std::vector<std::uint32_t>& indices) const {
    return {ring, indices};
  }
  [[nodiscard]] poly::RnsBase plaintext(std::size_t index) const;

  /// Uniform residues with about one in eight at an edge: 0, 1, q - 1 and the two next to q / 2.
  Host random(const poly::RnsBase& base, std::size_t batch, std::size_t components, std::size_t entries = 0);

  [[nodiscard]] poly::Poly upload(const Host& host, poly::Form form = poly::Form::evaluation);
  [[nodiscard]] Host download(const poly::Poly& poly);
  /// An array with garbage in it, to write to.
  [[nodiscard]] poly::Poly output(const poly::RnsBase& base, std::size_t batch, std::size_t components,
                                  poly::Form form = poly::Form::evaluation);
  /// Exactly this many bytes, with garbage in them.
  [[nodiscard]] runtime::Workspace workspace(std::size_t bytes) const;
  /// Calls operation(workspace) to measure it, then with exactly so many bytes, which it must all take.
  void with_scratch(const std::function<void(runtime::Workspace&)>& operation) const;
  /// The other form of the same polynomials, by the backend's transforms.
  [[nodiscard]] Host transformed(const Host& host, poly::Form from, poly::Form to);

  std::shared_ptr<const poly::Ring> ring;
  std::shared_ptr<const poly::Backend> backend;
  /// The same with the interface's defaults in place of what the backend overrides.
  std::shared_ptr<const poly::Backend> defaults;
  std::unique_ptr<runtime::Queue> queue;
  std::mt19937_64 generator{20240229};

 private:
  std::size_t prime_count_ = 0;
};

/// Same base, shape and residues; the message names the first difference.
::testing::AssertionResult same(const Host& actual, const Host& expected);

}  // namespace hemera::conformance
