// Mistakes of the caller: each is a typed error that names the operation and what clashed. Of each operation
// in a table every view is made wrong in every way, its bases are those of another ring, and its scratch is
// too small.
#include "conformance/checks.hpp"

#include <cmath>
#include <limits>

#include "conformance/checked/operations.hpp"
#include "conformance/suite.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"

namespace hemera::conformance {
namespace {

using checked::Operand;
using checked::Operation;
using checked::Plans;
using checked::Table;
using poly::Distribution;
using poly::Form;
using poly::PolyView;
using poly::RnsBase;
using runtime::Workspace;

PolyView made_wrong(PolyView view, unsigned mistake) {
  switch (mistake) {
    case checked::limbs:
      ++view.shape.limbs;
      break;
    case checked::wrong_degree:
      view.shape.degree *= 2;
      break;
    case checked::wrong_batch:
      ++view.shape.batch;
      break;
    case checked::components:
      ++view.shape.components;
      break;
    case checked::fewer_entries:
      view.shape.degree /= 2;
      break;
    default:
      view.word = poly::Word::u32;
  }
  return view;
}

}  // namespace

std::vector<std::string> checked_operations(const BackendCase& backend_case) {
  const Table table(backend_case);
  std::vector<std::string> names;
  for (const Operation& operation : table.operations) names.emplace_back(operation.name);
  return names;
}

TEST_P(BackendTest, EveryOperationChecksItsArguments) {
  Table table(GetParam());
  Rig& rig = table.rig;
  for (const Operation& operation : table.operations) {
    SCOPED_TRACE(operation.name);
    std::vector<poly::Poly> held;
    std::vector<PolyView> views;
    for (const Operand& operand : operation.operands) {
      held.push_back(rig.upload(rig.random(operand.base, operand.batch, operand.components)));
      views.push_back(held.back().view());
    }
    const auto run = [&](const std::vector<PolyView>& given, const Plans& plans) {
      return [&operation, given, &plans] {
        Workspace measuring = Workspace::measuring();
        operation.run(given, plans, measuring);
      };
    };
    // As it should be, in scratch that the operation measured.
    rig.with_scratch([&](Workspace& space) { operation.run(views, table.plans, space); });
    for (std::size_t i = 0; i < views.size(); ++i) {
      for (unsigned mistake = 1; mistake <= checked::any; mistake *= 2) {
        if ((operation.operands[i].mistakes & mistake) == 0) continue;
        SCOPED_TRACE(std::string(operation.operands[i].name) + ", mistake " + std::to_string(mistake));
        std::vector<PolyView> wrong = views;
        wrong[i] = made_wrong(wrong[i], mistake);
        tests::expect_error<MismatchError>(run(wrong, table.plans), {operation.name});
      }
    }
    if (operation.has_base) {
      SCOPED_TRACE("another ring");
      tests::expect_error<MismatchError>(run(views, table.foreign_plans), {operation.name, "another ring"});
    }
    for (const Operation::Wrong& wrong : operation.others) {
      SCOPED_TRACE(wrong.what);
      Workspace measuring = Workspace::measuring();
      tests::expect_error<MismatchError>([&] { wrong.call(views, measuring); }, {operation.name});
    }
    Workspace measuring = Workspace::measuring();
    operation.run(views, table.plans, measuring);
    if (measuring.peak() == 0) continue;
    Workspace small(rig.backend->memory(), measuring.peak() - 64);
    EXPECT_THROW(operation.run(views, table.plans, small), OutOfMemoryError);
  }
}

TEST_P(BackendTest, ShapesThatDoNotFitAreNamed) {
  Rig rig(GetParam(), 1024, {50, 60, 30});
  const poly::Backend& backend = *rig.backend;
  const RnsBase base = rig.primes(0, 2);
  const poly::Poly three = rig.upload(rig.random(base, 3, 2));
  const poly::Poly two = rig.upload(rig.random(base, 2, 2));
  const poly::Poly longer = rig.upload(rig.random(rig.all(), 3, 2));
  poly::Poly out = rig.output(base, 3, 2);
  auto& queue = *rig.queue;

  tests::expect_error<MismatchError>(
      [&] { backend.add(queue, out.view(), three.view(), two.view(), base); },
      {"add", "b [batch 2, components 2, limbs 2, N 1024]", "[batch 3, components 2"});
  tests::expect_error<MismatchError>(
      [&] { backend.multiply(queue, out.view(), longer.view(), three.view(), base); },
      {"multiply", "limbs 3", "2 limbs"});
  tests::expect_error<MismatchError>(
      [&] { backend.multiply_scalar(queue, out.view(), three.view(), std::vector<std::uint64_t>{1}, base); },
      {"multiply_scalar", "1 scalars", "2 are needed"});
  tests::expect_error<MismatchError>([&] { backend.copy(queue, out.view(), longer.view()); },
                                     {"copy", "limbs 3", "limbs 2"});
  std::vector<std::uint64_t> host(17);
  tests::expect_error<MismatchError>([&] { backend.upload(queue, out.view(), host, Form::coefficient); },
                                     {"upload", "17"});
}

TEST_P(BackendTest, ModuliWithoutARootHaveNoTransform) {
  Rig rig(GetParam(), 1024, {50}, {65536});
  const RnsBase base = rig.all().united(rig.plaintext(0));
  poly::Poly out = rig.output(base, 1, 1);
  for (const bool forward : {true, false}) {
    tests::expect_error<ParameterError>(
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
  Rig rig(GetParam(), 1024, {50, 50});
  const RnsBase base = rig.primes(0, 1);
  const poly::Poly in = rig.upload(rig.random(base, 1, 1));
  const poly::Poly key = rig.upload(rig.random(rig.all(), 1, 2));
  poly::Poly out = rig.output(base, 1, 1), pair = rig.output(base, 1, 2);
  const poly::ModUp up(base, rig.primes(1, 1), {{0, base}}, rig.all());
  const poly::Division down(rig.all(), base);
  const runtime::Buffer values(rig.backend->memory(), 8192);
  auto* const data = const_cast<std::byte*>(values.data());
  const poly::SlotView slots{reinterpret_cast<std::complex<double>*>(data), 1, 512};
  const poly::IntegerView integers{reinterpret_cast<std::int64_t*>(data), 1, 1024};
  for (const std::uint64_t element : {0, 2, 1024, 2049}) {
    const std::string number = std::to_string(element);
    Workspace space = Workspace::measuring();
    tests::expect_error<ParameterError>(
        [&] {
          rig.backend->automorphism(*rig.queue, out.view(), in.view(), element, Form::coefficient, base);
        },
        {"automorphism", number});
    const poly::KeySwitch only{pair.view(), key.view(), element};
    tests::expect_error<ParameterError>(
        [&] { rig.backend->switch_keys(*rig.queue, std::span(&only, 1), in.view(), up, &down, {}, space); },
        {"switch_keys", number});
    tests::expect_error<ParameterError>(
        [&] { rig.backend->embed(*rig.queue, out.view(), slots, 1.0, element, base, space); },
        {"embed", number});
    tests::expect_error<ParameterError>(
        [&] { rig.backend->unembed(*rig.queue, slots, in.view(), 1.0, element, base, space); },
        {"unembed", number});
    tests::expect_error<ParameterError>(
        [&] {
          rig.backend->place_integers(*rig.queue, out.view(), integers, Form::evaluation, element, base);
        },
        {"place_integers", number});
    tests::expect_error<ParameterError>(
        [&] {
          rig.backend->collect_integers(*rig.queue, integers, in.view(), Form::evaluation, element, true,
                                        base);
        },
        {"collect_integers", number});
  }
}

TEST_P(BackendTest, OnlyWholeRoundingsTellDoubt) {
  Rig rig(GetParam(), 1024, {50, 45, 60}, {65537});
  constexpr std::size_t count = 1024 / poly::coefficients_per_doubt;
  const runtime::Buffer numbers(rig.backend->memory(), 8 * count);
  const poly::IntegerView doubtful{reinterpret_cast<std::int64_t*>(const_cast<std::byte*>(numbers.data())), 1,
                                   count};
  poly::Poly out = rig.output(rig.primes(2, 1), 1, 1, Form::coefficient);
  poly::Poly in = rig.output(rig.primes(0, 2), 1, 1, Form::coefficient);
  poly::Poly all = rig.output(rig.all(), 1, 1, Form::coefficient);
  const poly::BaseConversion approximate(rig.primes(0, 2), rig.primes(2, 1),
                                         poly::BaseConversion::Kind::approximate);
  tests::expect_error<ParameterError>(
      [&] { rig.backend->convert(*rig.queue, out.view(), in.view(), approximate, &doubtful); },
      {"convert", "exact"});
  const poly::ScaleAndRound partial(rig.all(), rig.primes(0, 2), 65537, rig.primes(2, 1));
  tests::expect_error<ParameterError>(
      [&] { rig.backend->scale_and_round(*rig.queue, out.view(), all.view(), partial, &doubtful); },
      {"scale_and_round", "whole source"});
}

TEST_P(BackendTest, ScalesArePositiveAndFinite) {
  Rig rig(GetParam(), 1024, {50});
  const runtime::Buffer values(rig.backend->memory(), 8192);
  const poly::SlotView slots{reinterpret_cast<std::complex<double>*>(const_cast<std::byte*>(values.data())),
                             1, 512};
  poly::Poly plaintext = rig.output(rig.all(), 1, 1);
  Workspace space = Workspace::measuring();
  for (const double scale : {0.0, -1.0, HUGE_VAL, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(rig.backend->embed(*rig.queue, plaintext.view(), slots, scale, 5, rig.all(), space),
                 ScaleError);
    EXPECT_THROW(rig.backend->unembed(*rig.queue, slots, plaintext.view(), scale, 5, rig.all(), space),
                 ScaleError);
  }
}

TEST_P(BackendTest, SamplersRefuseWhatCanNotBeDrawn) {
  Rig rig(GetParam(), 1024, {60, 30});
  const poly::ErrorDistribution errors(3.2);
  poly::Poly out = rig.output(rig.all(), 3, 1, Form::coefficient), pair = rig.output(rig.all(), 1, 2);
  const poly::Poly key = rig.upload(rig.random(rig.all(), 1, 2));
  const auto sample = [&](std::uint32_t first, const Distribution& distribution) {
    Workspace space(rig.backend->memory());
    rig.backend->sample(*rig.queue, out.view(), {{}, first}, distribution, rig.all(), space);
  };
  for (const Distribution& distribution : {Distribution::uniform(), Distribution::ternary(),
                                           Distribution::error(errors), Distribution::fixed_weight(7)}) {
    EXPECT_NO_THROW(sample(0xfffffffdU, distribution));
    tests::expect_error<ParameterError>([&] { sample(0xfffffffeU, distribution); },
                                        {"sample", "another seed"});
  }
  for (const std::size_t weight : {std::size_t{0}, std::size_t{1025}}) {
    tests::expect_error<ParameterError>([&] { sample(0, Distribution::fixed_weight(weight)); },
                                        {"Hamming weight"});
  }
  const auto encrypt = [&](std::uint32_t first) {
    Workspace space(rig.backend->memory());
    rig.backend->encrypt_zero(*rig.queue, pair.view(), key.view(), {{}, first}, errors, 1, rig.all(), nullptr,
                              {}, space);
    const poly::RandomStream stream{{}, first + 1}, other;
    rig.backend->sample_rlwe(*rig.queue, pair.view(), key.view().components(0, 1),
                             {.errors = stream, .uniform = other, .distribution = errors}, rig.all(), {}, {},
                             space);
  };
  EXPECT_NO_THROW(encrypt(0xfffffffeU));
  EXPECT_THROW(encrypt(0xffffffffU), ParameterError);
}

TEST_P(BackendTest, DescribesItself) {
  Rig rig(GetParam(), 1024, {50});
  EXPECT_NE(rig.backend->description().find(rig.backend->device().name()), std::string::npos);
  EXPECT_EQ(rig.backend->ring(), rig.ring);
  EXPECT_EQ(rig.backend->memory()->device(), rig.backend->device());
  EXPECT_EQ(rig.queue->device(), rig.backend->device());
}

}  // namespace hemera::conformance
