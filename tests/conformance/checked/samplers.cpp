// Samplers, encryption and decryption.
#include "conformance/checked/operations.hpp"

namespace hemera::conformance::checked {

void Table::samplers() {
  const RnsBase &q = plans.base, &qp = plans.extended;
  const auto draw = [this](const PolyView& out, std::size_t streams, const RnsBase& base, Workspace& space) {
    backend().sample(queue(), out, std::vector<poly::RandomStream>(streams),
                     poly::Distribution::fixed_weight(64), base, space);
  };
  operations.push_back(
      {"sample",
       {{"output", q, batch, 2, limbs | wrong_degree | word | fewer_entries}},
       [draw](const auto& v, const Plans& p, Workspace& space) { draw(v[0], 1, p.base, space); },
       true,
       {{"no stream", [this, draw](const auto& v, Workspace& space) { draw(v[0], 0, plans.base, space); }},
        {"a stream more than the batch",
         [this, draw](const auto& v, Workspace& space) { draw(v[0], batch + 1, plans.base, space); }}}});
  const auto encrypt = [this](const std::vector<PolyView>& v, const RnsBase& base,
                              const poly::Division* division, Workspace& space) {
    backend().encrypt_zero(queue(), v[0], v[1], {}, errors, 1, base, division, v[2], space);
  };
  operations.push_back(
      {"encrypt_zero",
       {{"output", q, batch, 2, any}, {"key", qp, 1, 2, any}, {"addend", q, batch, 1, any}},
       [encrypt](const auto& v, const Plans& p, Workspace& space) { encrypt(v, p.extended, &p.down, space); },
       true,
       {{"a division from elsewhere",
         [this, encrypt](const auto& v, Workspace& space) { encrypt(v, plans.base, &plans.down, space); }}}});
  operations.push_back(
      {"phase",
       {{"output", q, batch, 1, any}, {"input", q, batch, 2, any & ~components}, {"secret", q, 1, 1, any}},
       [this](const auto& v, const Plans& p, Workspace&) {
         backend().phase(queue(), v[0], v[1], v[2], Form::coefficient, p.base);
       }});
  const auto sample = [this](const std::vector<PolyView>& v, const RnsBase& base, const ConstPolyView& addend,
                             const std::vector<poly::GadgetTerm>& terms, Workspace& space) {
    const poly::RandomStream secret, open;
    backend().sample_rlwe(queue(), v[0], v[1], {.errors = secret, .uniform = open, .distribution = errors},
                          base, addend, terms, space);
  };
  using Wrong = Operation::Wrong;
  const auto with_terms = [this, sample](const char* what, std::size_t addends,
                                         const poly::GadgetTerm& term) -> Wrong {
    return {what, [this, sample, addends, term](const auto& v, Workspace& space) {
              const ConstPolyView addend = v[2];
              sample(v, plans.base, addends == 0 ? ConstPolyView() : addend.batches(0, addends), {term},
                     space);
            }};
  };
  operations.push_back(
      {"sample_rlwe",
       {{"output", q, batch, 2, any}, {"secret", q, 1, 1, any}, {"addend", q, batch, 1, any}},
       [sample](const auto& v, const Plans& p, Workspace& space) { sample(v, p.base, v[2], {}, space); },
       true,
       {with_terms("terms of nothing", 0, {0, 0, 1}), with_terms("terms of two", 2, {0, 0, 1}),
        with_terms("a term for another polynomial", 1, {batch, 0, 1}),
        with_terms("a term for another limb", 1, {0, 2, 1})}});
}

}  // namespace hemera::conformance::checked
