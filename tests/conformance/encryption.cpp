// Encryption of zero in one operation, by public and secret keys, against samplers, transforms and products.
#include "conformance/oracle.hpp"

namespace hemera::conformance {
namespace {

using poly::Form;
using poly::RnsBase;

poly::RandomStream stream_of(std::uint8_t byte, std::uint32_t first) {
  poly::RandomStream stream{poly::Seed::fresh(), first};
  stream.seed.bytes.fill(byte);
  return stream;
}

void sample(const Rig& rig, const poly::PolyView& out, const poly::RandomStream& stream,
            const poly::Distribution& distribution, const RnsBase& base) {
  rig.with_scratch([&](runtime::Workspace& space) {
    rig.backend->sample(*rig.queue, out, stream, distribution, base, space);
  });
}

struct Encryption {
  const char* name;
  std::size_t degree;
  std::vector<int> bits;
  std::size_t dropped;  // last limbs, by a division
  std::size_t batch;
  std::uint64_t factor;
  double sigma;
};

const std::vector<Encryption>& encryptions() {
  static const std::vector<Encryption> list = {
      {"a small ring", 1024, {50, 50}, 1, 2, 65537, 3.19},
      {"no division", 8192, {50, 30, 45}, 0, 1, 1, 3.19},
      {"primes of 50 bits", 8192, {50, 40, 49}, 1, 3, 65537, 20},
      {"primes that are 1 modulo 2^32", 8192, {-60, -60, -60}, 1, 2, 1, 3.19},
      {"a large factor", 8192, {-60, -60, -60}, 2, 1, (std::uint64_t{1} << 60) - 93, 20},
      {"primes of 61 bits", 8192, {61, 30, 55}, 1, 2, 786433, 3.19},
      {"limbs for two arithmetics", 8192, {50, 50, 61}, 1, 1, 1, 3.19},
      {"a larger ring", 16384, {61, -60, 50, 61}, 2, 1, 1, 3.19},
  };
  return list;
}

TEST_P(BackendTest, EncryptZeroIsItsParts) {
  for (const Encryption& given : encryptions()) {
    SCOPED_TRACE(given.name);
    Rig rig(GetParam(), given.degree, given.bits, {65537});
    const poly::Backend& backend = *rig.backend;
    const RnsBase base = rig.all();
    const RnsBase target = rig.primes(0, given.bits.size() - given.dropped);
    const poly::ErrorDistribution distribution(given.sigma);
    const poly::Poly key = rig.upload(rig.random(base, 1, 2));
    const poly::Poly message = rig.upload(rig.random(target, given.batch, 1));
    const poly::RandomStream stream = stream_of(7, 5);

    poly::Poly u = rig.output(base, given.batch, 1, Form::coefficient);
    poly::Poly errors = rig.output(base, given.batch, 2, Form::coefficient);
    poly::Poly masked = rig.output(base, given.batch, 2);
    sample(rig, u.view(), stream, poly::Distribution::ternary(), base);
    sample(rig, errors.view(), stream, poly::Distribution::error(distribution), base);
    std::vector<std::uint64_t> factors;
    for (std::size_t i = 0; i < base.size(); ++i) factors.push_back(given.factor % base.modulus(i).value());
    backend.multiply_scalar(*rig.queue, errors.view(), errors.view(), factors, base);
    backend.forward_transform(*rig.queue, u.view(), u.view(), base);
    backend.forward_transform(*rig.queue, errors.view(), errors.view(), base);
    backend.multiply(*rig.queue, masked.view(), key.view(), std::as_const(u).view(), base);
    backend.add(*rig.queue, masked.view(), masked.view(), errors.view(), base);

    for (const bool corrected : {false, true}) {
      if (corrected && (given.dropped == 0 || GetParam().emulated)) continue;
      const auto division = given.dropped == 0 ? nullptr
                                               : std::make_unique<poly::Division>(
                                                     base, target, corrected ? rig.plaintext(0) : RnsBase());
      poly::Poly expected = rig.output(target, given.batch, 2);
      if (division) {
        runtime::Workspace space(backend.memory());
        backend.divide_and_round(*rig.queue, expected.view(), std::as_const(masked).view(), *division,
                                 Form::evaluation, space);
      } else {
        backend.copy(*rig.queue, expected.view(), std::as_const(masked).view());
      }
      for (const bool adds : {false, true}) {
        const poly::ConstPolyView addend = adds ? message.view() : poly::ConstPolyView();
        if (adds) {
          const poly::PolyView first = expected.view().components(0, 1);
          backend.add(*rig.queue, first, first, addend, target);
        }
        for (const bool use_default : {false, true}) {
          if (GetParam().brief() && (use_default || !adds)) continue;
          poly::Poly out = rig.output(target, given.batch, 2);
          rig.with_scratch([&](runtime::Workspace& space) {
            const poly::Backend& chosen = use_default ? *rig.defaults : backend;
            chosen.encrypt_zero(*rig.queue, out.view(), key.view(), stream, distribution, given.factor, base,
                                division.get(), addend, space);
          });
          ASSERT_TRUE(same(rig.download(out), rig.download(expected)))
              << (use_default ? "default" : "override") << (corrected ? ", corrected" : "")
              << (adds ? ", with a message" : "");
        }
      }
    }
  }
}

TEST_P(BackendTest, PhaseIsASumOfPowers) {
  for (const Encryption& given : encryptions()) {
    SCOPED_TRACE(given.name);
    Rig rig(GetParam(), given.degree, given.bits);
    const poly::Backend& backend = *rig.backend;
    const RnsBase base = rig.all();
    const poly::Poly secret = rig.upload(rig.random(base, 1, 1));
    for (const std::size_t components : {1, 2, 3}) {
      if (GetParam().brief() && components != 2) continue;
      const poly::Poly in = rig.upload(rig.random(base, given.batch, components));
      poly::Poly power = rig.output(base, 1, 1);
      poly::Poly product = rig.output(base, given.batch, 1);
      poly::Poly expected = rig.output(base, given.batch, 1);
      backend.copy(*rig.queue, expected.view(), in.view().components(0, 1));
      for (std::size_t c = 1; c < components; ++c) {
        if (c == 1) {
          backend.copy(*rig.queue, power.view(), secret.view());
        } else {
          backend.multiply(*rig.queue, power.view(), power.view(), secret.view(), base);
        }
        backend.multiply(*rig.queue, product.view(), in.view().components(c, 1), std::as_const(power).view(),
                         base);
        backend.add(*rig.queue, expected.view(), expected.view(), product.view(), base);
      }
      for (const Form form : {Form::evaluation, Form::coefficient}) {
        if (form == Form::coefficient) {
          backend.inverse_transform(*rig.queue, expected.view(), expected.view(), base);
          expected.set_form(form);
        }
        for (const bool use_default : {false, true}) {
          if (GetParam().brief() && use_default) continue;
          poly::Poly out = rig.output(base, given.batch, 1, form);
          const poly::Backend& chosen = use_default ? *rig.defaults : backend;
          chosen.phase(*rig.queue, out.view(), in.view(), secret.view(), form, base);
          ASSERT_TRUE(same(rig.download(out), rig.download(expected)))
              << (use_default ? "default" : "override") << ", " << components << " components";
        }
      }
    }
  }
}

TEST_P(BackendTest, SampleRlweIsItsParts) {
  for (const Encryption& given : encryptions()) {
    SCOPED_TRACE(given.name);
    Rig rig(GetParam(), given.degree, given.bits);
    const poly::Backend& backend = *rig.backend;
    const RnsBase base = rig.all();
    const std::size_t limbs = base.size();
    const poly::ErrorDistribution distribution(given.sigma);
    const poly::RandomStream secret_stream = stream_of(3, 9), public_stream = stream_of(4, 2);
    const poly::RlweSampling from{.errors = secret_stream,
                                  .uniform = public_stream,
                                  .distribution = distribution,
                                  .factor = given.factor};
    const poly::Poly secret = rig.upload(rig.random(base, 1, 1));
    const std::size_t batch = given.batch + 1;

    // b + a s = factor e.
    poly::Poly a = rig.output(base, batch, 1);
    poly::Poly masked = rig.output(base, batch, 1);
    poly::Poly errors = rig.output(base, batch, 1, Form::coefficient);
    sample(rig, a.view(), public_stream, poly::Distribution::uniform(), base);
    sample(rig, errors.view(), secret_stream, poly::Distribution::error(distribution), base);
    std::vector<std::uint64_t> factors;
    for (std::size_t i = 0; i < limbs; ++i) factors.push_back(given.factor % base.modulus(i).value());
    backend.multiply_scalar(*rig.queue, errors.view(), errors.view(), factors, base);
    backend.forward_transform(*rig.queue, errors.view(), errors.view(), base);
    backend.multiply(*rig.queue, masked.view(), std::as_const(a).view(), secret.view(), base);
    backend.subtract(*rig.queue, masked.view(), std::as_const(errors).view(), std::as_const(masked).view(),
                     base);
    const Host plain = rig.download(masked);

    const poly::Poly message = rig.upload(rig.random(base, batch, 1));
    const poly::ConstPolyView first = message.view().batches(0, 1);
    const auto factor_of = [&](std::size_t limb) { return base.modulus(limb).value() - 1 - limb; };
    std::vector<poly::GadgetTerm> digits, windows;
    for (std::size_t i = 0; i < limbs; ++i) {
      if (i != 1) digits.push_back({i % batch, i, factor_of(i)});
      windows.push_back({0, i, factor_of(i)});
      windows.push_back({batch - 1, i, 1});
    }
    struct Case {
      const char* name;
      poly::ConstPolyView addend;
      std::vector<poly::GadgetTerm> terms;
    };
    for (const Case& what :
         {Case{"nothing added", {}, {}}, Case{"a message each", message.view(), {}},
          Case{"one message", first, {}}, Case{"digits", first, digits}, Case{"windows", first, windows}}) {
      if (GetParam().brief() && what.terms.empty() && what.addend.shape.batch != batch) continue;
      SCOPED_TRACE(what.name);
      Host expected = plain;
      if (what.addend.data != nullptr) {
        const Host added = rig.download(message);
        const std::size_t n = given.degree;
        for (std::size_t p = 0; p < batch; ++p) {
          const std::size_t source = what.addend.shape.batch == 1 ? 0 : p;
          for (std::size_t limb = 0; limb < limbs; ++limb) {
            const arith::Modulus& q = base.modulus(limb);
            std::uint64_t scale = what.terms.empty() ? 1 : 0;
            for (const poly::GadgetTerm& term : what.terms) {
              if (term.batch == p && term.limb == limb) scale = q.add(scale, term.factor);
            }
            for (std::size_t i = 0; i < n; ++i) {
              std::uint64_t& word = expected.words[(p * limbs + limb) * n + i];
              word = q.add(word, q.multiply(added.words[(source * limbs + limb) * n + i], scale));
            }
          }
        }
      }
      for (const bool use_default : {false, true}) {
        if (GetParam().brief() && use_default) continue;
        poly::Poly out = rig.output(base, batch, 2);
        rig.with_scratch([&](runtime::Workspace& space) {
          const poly::Backend& chosen = use_default ? *rig.defaults : backend;
          chosen.sample_rlwe(*rig.queue, out.view(), secret.view(), from, base, what.addend, what.terms,
                             space);
        });
        poly::Poly b = rig.output(base, batch, 1), drawn = rig.output(base, batch, 1);
        backend.copy(*rig.queue, b.view(), std::as_const(out).view().components(0, 1));
        backend.copy(*rig.queue, drawn.view(), std::as_const(out).view().components(1, 1));
        ASSERT_TRUE(same(rig.download(b), expected)) << (use_default ? "default" : "override");
        ASSERT_TRUE(same(rig.download(drawn), rig.download(a)));
      }
    }
  }
}

}  // namespace
}  // namespace hemera::conformance
