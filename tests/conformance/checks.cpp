// Mistakes of the caller: each is a typed error that names what clashed.
#include "conformance/suite.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::conformance {
namespace {

using poly::Form;
using poly::RnsBase;

template <typename ErrorType, typename Call>
void expect_error(const Call& call, const std::vector<std::string>& parts) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one with \"" << parts[0] << "\"";
  } catch (const ErrorType& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what() << " lacks " << part;
    }
  }
}

TEST_P(BackendTest, ShapesThatDoNotFitAreNamed) {
  Rig rig(GetParam(), 1024, {50, 60, 30}, {65537});
  const poly::Backend& backend = *rig.backend;
  const RnsBase base = rig.primes(0, 2);
  const poly::Poly three = rig.upload(rig.random(base, 3, 2));
  const poly::Poly two = rig.upload(rig.random(base, 2, 2));
  const poly::Poly longer = rig.upload(rig.random(rig.all(), 3, 2));
  poly::Poly out = rig.output(base, 3, 2);
  auto& queue = *rig.queue;

  expect_error<MismatchError>(
      [&] { backend.add(queue, out.view(), three.view(), two.view(), base); },
      {"add", "b [batch 2, components 2, limbs 2, N 1024]", "[batch 3, components 2"});
  expect_error<MismatchError>([&] { backend.multiply(queue, out.view(), longer.view(), three.view(), base); },
                              {"multiply", "limbs 3", "2 limbs"});
  expect_error<MismatchError>(
      [&] { backend.subtract(queue, out.view(), three.view(), three.view(), rig.all()); },
      {"subtract", "limbs 2", "3 limbs"});
  expect_error<MismatchError>(
      [&] { backend.multiply_scalar(queue, out.view(), three.view(), std::vector<std::uint64_t>{1}, base); },
      {"multiply_scalar", "1 scalars", "2 are needed"});
  expect_error<MismatchError>(
      [&] {
        backend.add_scalar(queue, out.view(), three.view(), std::vector<std::uint64_t>{1, 2, 3},
                           Form::coefficient, base);
      },
      {"add_scalar", "3 scalars"});
  expect_error<MismatchError>(
      [&] { backend.tensor_product(queue, out.view(), three.view(), three.view(), base); },
      {"tensor_product", "got 2 components", "3 are needed"});
  expect_error<MismatchError>([&] { backend.copy(queue, out.view(), longer.view()); },
                              {"copy", "limbs 3", "limbs 2"});
  std::vector<std::uint64_t> host(17);
  expect_error<MismatchError>([&] { backend.upload(queue, out.view(), host, Form::coefficient); },
                              {"upload", "17"});
  expect_error<MismatchError>([&] { backend.download(queue, host, out.view(), Form::coefficient); },
                              {"download", "17"});
  const poly::BaseConversion plan(rig.all(), base, poly::BaseConversion::Kind::exact);
  expect_error<MismatchError>([&] { backend.convert(queue, out.view(), three.view(), plan); },
                              {"convert", "limbs 2", "3 limbs"});
}

TEST_P(BackendTest, ModuliWithoutARootHaveNoTransform) {
  Rig rig(GetParam(), 1024, {50}, {65536});
  const RnsBase base = rig.all().united(rig.plaintext(0));
  poly::Poly out = rig.output(base, 1, 1);
  for (const bool forward : {true, false}) {
    expect_error<ParameterError>(
        [&] {
          if (forward) {
            rig.backend->forward_transform(*rig.queue, out.view(), out.view(), base);
          } else {
            rig.backend->inverse_transform(*rig.queue, out.view(), out.view(), base);
          }
        },
        {forward ? "forward_transform" : "inverse_transform", "65536", "2048"});
  }
}

TEST_P(BackendTest, GaloisElementsAreOddAndBelowTwiceTheDegree) {
  Rig rig(GetParam(), 1024, {50});
  const poly::Poly in = rig.upload(rig.random(rig.all(), 1, 1));
  poly::Poly out = rig.output(rig.all(), 1, 1);
  for (const std::uint64_t element : {0, 2, 1024, 2049}) {
    expect_error<ParameterError>(
        [&] {
          rig.backend->automorphism(*rig.queue, out.view(), in.view(), element, Form::coefficient, rig.all());
        },
        {"automorphism", std::to_string(element)});
  }
}

TEST_P(BackendTest, BasesOfAnotherRingAreRefused) {
  Rig rig(GetParam(), 1024, {50});
  Rig other(GetParam(), 1024, {50});
  poly::Poly a = other.upload(other.random(other.all(), 1, 1));
  expect_error<MismatchError>(
      [&] { rig.backend->add(*rig.queue, a.view(), a.view(), a.view(), other.all()); },
      {"add", "another ring"});
  expect_error<MismatchError>(
      [&] { rig.backend->forward_transform(*rig.queue, a.view(), a.view(), other.all()); },
      {"forward_transform", "another ring"});
}

TEST_P(BackendTest, DescribesItself) {
  Rig rig(GetParam(), 1024, {50});
  EXPECT_NE(rig.backend->description().find(rig.backend->device().name()), std::string::npos);
  EXPECT_EQ(rig.backend->ring(), rig.ring);
  EXPECT_EQ(rig.backend->memory()->device(), rig.backend->device());
  EXPECT_EQ(rig.queue->device(), rig.backend->device());
}

}  // namespace
}  // namespace hemera::conformance
