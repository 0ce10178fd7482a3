// Slots, exponentials and integers.
#include "conformance/checked/operations.hpp"

namespace hemera::conformance::checked {

void Table::embedding() {
  const RnsBase& q = plans.base;
  const auto embed = [this](const PolyView& out, const poly::SlotView& from, const RnsBase& base,
                            Workspace& space) { backend().embed(queue(), out, from, 1.0, 3, base, space); };
  const auto unembed = [this](const PolyView& in, const poly::SlotView& to, const RnsBase& base,
                              Workspace& space) { backend().unembed(queue(), to, in, 1.0, 3, base, space); };
  const auto add = [&](const char* name, const auto& run) {
    const auto with = [this, run](std::size_t rows, std::size_t count) {
      return [this, run, rows, count](const std::vector<PolyView>& v, Workspace& space) {
        run(v[0], slots(rows, count), plans.base, space);
      };
    };
    operations.push_back({name,
                          {{"polynomials", q, batch, 1, any}},
                          [this, run](const auto& v, const Plans& p, Workspace& space) {
                            run(v[0], slots(batch, 512), p.base, space);
                          },
                          true,
                          {{"rows of slots", with(3, 512)},
                           {"too many slots", with(batch, 1024)},
                           {"24 slots", with(batch, 24)},
                           {"no slots", with(batch, 0)}}});
  };
  add("embed", embed);
  add("unembed", unembed);
  const auto add_slots = [&](const char* name, const auto& run) {
    operations.push_back(
        {name,
         {},
         [this, run](const auto&, const Plans&, Workspace&) { run(numbers(batch, 3), slots(batch, 4)); },
         false,
         {{"more numbers than slots",
           [this, run](const auto&, Workspace&) { run(numbers(batch, 5), slots(batch, 4)); }},
          {"no numbers", [this, run](const auto&, Workspace&) { run(numbers(batch, 0), slots(batch, 4)); }},
          {"other rows", [this, run](const auto&, Workspace&) { run(numbers(1, 3), slots(batch, 4)); }}}});
  };
  add_slots("place_slots", [this](const poly::NumberView& numbers, const poly::SlotView& slots) {
    backend().place_slots(queue(), slots, numbers);
  });
  add_slots("collect_slots", [this](const poly::NumberView& numbers, const poly::SlotView& slots) {
    backend().collect_slots(queue(), numbers, slots);
  });
}

void Table::exponentials() {
  const auto run = [this](const std::vector<PolyView>& v, std::size_t rows, std::size_t count,
                          const poly::ExponentialLayout& layout, const RnsBase& base) {
    backend().exponentials(queue(), slots(rows, count), v[0], layout, base);
  };
  using Wrong = Operation::Wrong;
  const poly::ExponentialLayout layout{
      .values = 2, .row = 2, .blocks = 4, .length = 8, .places = 8, .stride = 1};
  const auto with = [this, run, layout](const char* what,
                                        const std::function<void(poly::ExponentialLayout&)>& change) {
    return Wrong{what, [this, run, layout, change](const auto& v, Workspace&) {
                   poly::ExponentialLayout other = layout;
                   change(other);
                   run(v, batch * other.rows(), 512, other, plans.one);
                 }};
  };
  operations.push_back(
      {"exponentials",
       {{"input", plans.one, batch, 2, any}},
       [run, layout](const auto& v, const Plans& p, Workspace&) { run(v, batch, 512, layout, p.one); },
       true,
       {{"rows of slots",
         [this, run, layout](const auto& v, Workspace&) { run(v, 3, 512, layout, plans.one); }},
        {"too few slots",
         [this, run, layout](const auto& v, Workspace&) { run(v, batch, 32, layout, plans.one); }},
        with("three blocks", [](auto& own) { own.blocks = 3; }),
        with("no values", [](auto& own) { own.values = 0; }),
        with("values of four rows", [](auto& own) { own.values = 8; }),
        with("a row beyond the degree", [](auto& own) { own.values = own.row = 1024; }),
        with("more places than coefficients", [](auto& own) { own.places = 16; }),
        with("a secret beyond the degree", [](auto& own) { own.stride = 64; })}});
}

void Table::integers() {
  const auto add = [&](const char* name, const auto& run) {
    const auto with = [this, run](std::size_t rows, std::size_t count) {
      return [this, run, rows, count](const std::vector<PolyView>& v, Workspace&) {
        run(v[0], integer_view(rows, count), plans.one);
      };
    };
    operations.push_back({name,
                          {{"the plaintext", plans.one, batch, 1, any}},
                          [this, run](const auto& v, const Plans& p, Workspace&) {
                            run(v[0], integer_view(batch, degree), p.one);
                          },
                          true,
                          {{"rows of integers", with(3, 3)},
                           {"too many integers", with(batch, degree + 1)},
                           {"no integers", with(batch, 0)}}});
  };
  add("place_integers", [this](const PolyView& out, const poly::IntegerView& from, const RnsBase& base) {
    backend().place_integers(queue(), out, from, Form::evaluation, 5, base);
  });
  add("collect_integers", [this](const PolyView& in, const poly::IntegerView& to, const RnsBase& base) {
    backend().collect_integers(queue(), to, in, Form::evaluation, 5, true, base);
  });
  const auto lift = [this](const std::vector<PolyView>& v, const std::vector<std::uint64_t>& scalars,
                           const poly::BaseConversion& plan, Workspace& space) {
    const std::vector<ConstPolyView> inputs(v.begin() + 1, v.end());
    backend().lift_integers(queue(), v[0], inputs, 3, scalars, plan, space);
  };
  operations.push_back(
      {"lift_integers",
       {{"output", plans.base, batch, 1, any}, {"input", plans.lift.source(), batch, 1, any}},
       [lift](const auto& v, const Plans& p, Workspace& space) { lift(v, {}, p.lift, space); },
       true,
       {{"one scalar", [this, lift](const auto& v, Workspace& space) { lift(v, {1}, plans.lift, space); }},
        {"an addend of another batch",
         [this](const auto& v, Workspace& space) {
           const std::vector<ConstPolyView> inputs = {v[1]};
           backend().lift_integers(queue(), v[0], inputs, 3, {}, plans.lift, space, v[0].batches(0, 1));
         }},
        {"an addend over another base",
         [this](const auto& v, Workspace& space) {
           const std::vector<ConstPolyView> inputs = {v[1]};
           backend().lift_integers(queue(), v[0], inputs, 3, {}, plans.lift, space, v[1]);
         }},
        {"no inputs", [this, lift](const auto& v, Workspace& space) { lift({v[0]}, {}, plans.lift, space); }},
        {"a second input of another batch",
         [this, lift](const auto& v, Workspace& space) {
           lift({v[0], v[1].batches(0, 1), v[1]}, {}, plans.lift, space);
         }},
        {"two moduli", [this, lift](const auto& v, Workspace& space) {
           const poly::BaseConversion wide(plans.base, plans.base, poly::BaseConversion::Kind::exact);
           lift({v[0], v[0]}, {}, wide, space);
         }}}});
}

}  // namespace hemera::conformance::checked
