// Mistakes of the caller: each is a typed error that names the operation and what clashed. A table has every
// public operation of a backend with arguments that fit; each of its views is then made wrong in every way,
// its bases are those of another ring, and its scratch is too small.
#include "conformance/checks.hpp"

#include <cmath>
#include <limits>

#include "conformance/suite.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::conformance {
namespace {

using poly::ConstPolyView;
using poly::Distribution;
using poly::Form;
using poly::PolyView;
using poly::RnsBase;
using runtime::Workspace;

constexpr std::size_t degree = 1024;
constexpr std::size_t batch = 2;

// Bases and plans in one ring.
struct Plans {
  explicit Plans(const Rig& rig)
      : base(rig.primes(0, 2)),
        extended(rig.primes(0, 3)),
        one(rig.primes(0, 1)),
        up(base, rig.primes(2, 1), {{0, one}, {1, rig.primes(1, 1)}}, extended),
        down(extended, base),
        conversion(base, rig.primes(2, 1), poly::BaseConversion::Kind::exact),
        rounding(extended, rig.primes(2, 1), 65537, base),
        product(base, rig.primes(2, 1), 65537),
        lift(rig.plaintext(0), base, poly::BaseConversion::Kind::exact) {}

  RnsBase base, extended, one;
  poly::ModUp up;
  poly::Division down;
  poly::BaseConversion conversion;
  poly::ScaleAndRound rounding;
  poly::ScaledProduct product;
  poly::BaseConversion lift;
};

// What of a view can be wrong, and must be found.
enum Mistake : unsigned {
  limbs = 1,
  wrong_degree = 2,
  wrong_batch = 4,
  components = 8,
  word = 16,
  fewer_entries = 32,
};
constexpr unsigned any = 63;
// Where fewer entries may be stored.
constexpr unsigned of_stored = any & ~fewer_entries;

PolyView made_wrong(PolyView view, unsigned mistake) {
  switch (mistake) {
    case limbs:
      ++view.shape.limbs;
      break;
    case wrong_degree:
      view.shape.degree *= 2;
      break;
    case wrong_batch:
      ++view.shape.batch;
      break;
    case components:
      ++view.shape.components;
      break;
    case fewer_entries:
      view.shape.degree /= 2;
      break;
    default:
      view.word = poly::Word::u32;
  }
  return view;
}

struct Operand {
  const char* name;
  const RnsBase& base;
  std::size_t batch, components;
  unsigned mistakes;
};

struct Operation {
  const char* name;
  std::vector<Operand> operands;
  /// The operation with these views, as many as operands, and plans.
  std::function<void(const std::vector<PolyView>&, const Plans&, Workspace&)> run;
  bool has_base = true;
  /// Further MismatchErrors: what, and a call that makes it.
  struct Wrong {
    const char* what;
    std::function<void(const std::vector<PolyView>&, Workspace&)> call;
  };
  std::vector<Wrong> others = {};
};

// The table, and what its calls use.
class Table {
 public:
  explicit Table(const BackendCase& backend_case)
      : rig(backend_case, degree, {50, 45, 60}, {65537}),
        foreign(backend_case, degree, {50, 45, 60}, {65537}),
        plans(rig),
        foreign_plans(foreign),
        words(batch * 2 * 2 * degree),
        values(rig.backend->memory(), batch * degree * 16) {
    const std::vector<std::byte> zeros(values.size());
    backend().upload_values(queue(), bytes(zeros.size()), zeros);
    copies();
    element_wise();
    changes_of_base();
    key_switching();
    samplers();
    embedding();
    exponentials();
    integers();
  }

  Rig rig, foreign;
  Plans plans, foreign_plans;
  std::vector<Operation> operations;

 private:
  [[nodiscard]] const poly::Backend& backend() const { return *rig.backend; }
  runtime::Queue& queue() { return *rig.queue; }
  [[nodiscard]] poly::SlotView slots(std::size_t rows, std::size_t count) {
    return {reinterpret_cast<std::complex<double>*>(values.data()), rows, count};
  }
  [[nodiscard]] poly::IntegerView integer_view(std::size_t rows, std::size_t count) {
    return {reinterpret_cast<std::int64_t*>(values.data()), rows, count};
  }
  [[nodiscard]] poly::NumberView numbers(std::size_t rows, std::size_t count) {
    return {reinterpret_cast<double*>(values.data()), true, rows, count};
  }
  [[nodiscard]] std::span<std::byte> bytes(std::size_t count) { return {values.data(), count}; }

  void copies() {
    const RnsBase& q = plans.base;
    operations.push_back({"upload",
                          {{"output", q, batch, 2, any}},
                          [this](const auto& v, const Plans&, Workspace&) {
                            backend().upload(queue(), v[0], words, Form::coefficient);
                          },
                          false});
    operations.push_back({"download",
                          {{"input", q, batch, 2, any}},
                          [this](const auto& v, const Plans&, Workspace&) {
                            backend().download(queue(), words, v[0], Form::coefficient);
                            queue().synchronize();
                          },
                          false});
    operations.push_back({"upload_rows",
                          {{"output", q, batch, 2, wrong_degree | word}},
                          [this](const auto& v, const Plans&, Workspace&) {
                            backend().upload_rows(queue(), v[0], Form::coefficient,
                                                  [](std::size_t, std::span<std::uint64_t> rows) {
                                                    std::fill(rows.begin(), rows.end(), 0);
                                                  });
                          },
                          false});
    operations.push_back({"download_rows",
                          {{"input", q, batch, 2, wrong_degree | word}},
                          [this](const auto& v, const Plans&, Workspace&) {
                            backend().download_rows(queue(), v[0], Form::coefficient,
                                                    [](std::size_t, std::span<const std::uint64_t>) {});
                          },
                          false});
    operations.push_back(
        {"upload_values",
         {},
         [this](const auto&, const Plans&, Workspace&) {
           backend().upload_values(queue(), bytes(64), std::as_bytes(std::span(words).first(8)));
         },
         false,
         {{"other sizes", [this](const auto&, Workspace&) {
             backend().upload_values(queue(), bytes(64), std::as_bytes(std::span(words).first(9)));
           }}}});
    operations.push_back(
        {"download_values",
         {},
         [this](const auto&, const Plans&, Workspace&) {
           backend().download_values(queue(), std::as_writable_bytes(std::span(words).first(8)), bytes(64));
           queue().synchronize();
         },
         false,
         {{"other sizes", [this](const auto&, Workspace&) {
             backend().download_values(queue(), std::as_writable_bytes(std::span(words).first(8)), bytes(72));
           }}}});
    operations.push_back({"download_pieces",
                          {},
                          [this](const auto&, const Plans&, Workspace&) {
                            backend().download_pieces(
                                queue(), bytes(64),
                                {.bytes = 8, .make = [](std::size_t) {}, .take = [](std::size_t, auto) {}});
                          },
                          false});
    operations.push_back(
        {"copy",
         {{"output", q, batch, 2, of_stored}, {"input", q, batch, 2, of_stored}},
         [this](const auto& v, const Plans&, Workspace&) { backend().copy(queue(), v[0], v[1]); },
         false});
    operations.push_back({"copy_from",
                          {{"output", q, batch, 2, any}, {"input", q, batch, 2, any}},
                          [this](const auto& v, const Plans&, Workspace&) {
                            backend().copy_from(queue(), v[0], backend(), queue(), v[1], Form::evaluation);
                          },
                          false});
    operations.push_back(
        {"fill_zero",
         {{"output", q, batch, 2, wrong_degree | word | fewer_entries}},
         [this](const auto& v, const Plans&, Workspace&) { backend().fill_zero(queue(), v[0]); },
         false});
  }

  // Operations of one or two inputs over a base.
  template <typename Run>
  void add_unary(const char* name, const Run& run, std::vector<Operation::Wrong> others = {}) {
    operations.push_back({name,
                          {{"output", plans.base, batch, 2, any}, {"input", plans.base, batch, 2, any}},
                          [run](const auto& v, const Plans& p, Workspace&) { run(v, p.base); },
                          true,
                          std::move(others)});
  }
  void add_binary(const char* name, decltype(&poly::Backend::add) operation) {
    operations.push_back({name,
                          {{"output", plans.base, batch, 2, any},
                           {"a", plans.base, batch, 2, any},
                           {"b", plans.base, batch, 2, of_stored}},
                          [this, operation](const auto& v, const Plans& p, Workspace&) {
                            (backend().*operation)(queue(), v[0], v[1], v[2], p.base);
                          }});
  }

  void element_wise() {
    using Views = std::vector<PolyView>;
    add_unary("forward_transform", [this](const Views& v, const RnsBase& base) {
      backend().forward_transform(queue(), v[0], v[1], base);
    });
    add_unary("inverse_transform", [this](const Views& v, const RnsBase& base) {
      backend().inverse_transform(queue(), v[0], v[1], base);
    });
    add_binary("add", &poly::Backend::add);
    add_binary("subtract", &poly::Backend::subtract);
    add_binary("multiply", &poly::Backend::multiply);
    add_binary("multiply_add", &poly::Backend::multiply_add);
    add_unary("negate",
              [this](const Views& v, const RnsBase& base) { backend().negate(queue(), v[0], v[1], base); });
    const auto scalars = [](std::size_t count) { return std::vector<std::uint64_t>(count, 1); };
    add_unary("multiply_scalar",
              [this, scalars](const Views& v, const RnsBase& base) {
                backend().multiply_scalar(queue(), v[0], v[1], scalars(2), base);
              },
              {{"one scalar", [this, scalars](const Views& v, Workspace&) {
                  backend().multiply_scalar(queue(), v[0], v[1], scalars(1), plans.base);
                }}});
    add_unary("add_scalar",
              [this, scalars](const Views& v, const RnsBase& base) {
                backend().add_scalar(queue(), v[0], v[1], scalars(2), Form::coefficient, base);
              },
              {{"three scalars", [this, scalars](const Views& v, Workspace&) {
                  backend().add_scalar(queue(), v[0], v[1], scalars(3), Form::coefficient, plans.base);
                }}});
    const auto combined = [this](const Views& v, Workspace& space, std::size_t terms,
                                 const std::vector<std::vector<std::uint64_t>>& factors,
                                 const std::vector<std::uint64_t>& added, const RnsBase& base) {
      const std::vector<ConstPolyView> a(terms, v[1]);
      backend().combine(queue(), v[0], a, factors, added, base, space);
    };
    operations.push_back(
        {"combine",
         {{"output", plans.base, batch, 2, any}, {"a", plans.base, batch, 2, any}},
         [combined, scalars](const Views& v, const Plans& p, Workspace& space) {
           combined(v, space, 1, {scalars(2)}, scalars(2), p.base);
         },
         true,
         {{"no term",
           [this, combined](const Views& v, Workspace& space) { combined(v, space, 0, {}, {}, plans.base); }},
          {"a term without scalars",
           [this, combined, scalars](const Views& v, Workspace& space) {
             combined(v, space, 2, {scalars(2)}, {}, plans.base);
           }},
          {"one scalar of two",
           [this, combined, scalars](const Views& v, Workspace& space) {
             combined(v, space, 1, {scalars(1)}, {}, plans.base);
           }},
          {"a constant of three residues", [this, combined, scalars](const Views& v, Workspace& space) {
             combined(v, space, 1, {scalars(2)}, scalars(3), plans.base);
           }}}});
    add_unary("automorphism", [this](const Views& v, const RnsBase& base) {
      backend().automorphism(queue(), v[0], v[1], 5, Form::evaluation, base);
    });
    const auto sum = [this](const PolyView& out, const std::vector<ConstPolyView>& a,
                            const std::vector<ConstPolyView>& b,
                            const RnsBase& base) { backend().inner_product(queue(), out, a, b, base); };
    operations.push_back(
        {"inner_product",
         {{"output", plans.base, batch, 3, any},
          {"a", plans.base, batch, 2, any},
          {"b", plans.base, batch, 2, any}},
         [sum](const Views& v, const Plans& p, Workspace&) { sum(v[0], {v[1]}, {v[2]}, p.base); },
         true,
         {{"no factors", [this, sum](const Views& v, Workspace&) { sum(v[0], {}, {}, plans.base); }},
          {"a factor without another",
           [this, sum](const Views& v, Workspace&) {
             sum(v[0], {v[1], v[1]}, {v[2]}, plans.base);
           }},
          {"left factors of one and two components",
           [this, sum](const Views& v, Workspace&) {
             sum(v[0], {v[1], v[1].components(0, 1)}, {v[2], v[2]}, plans.base);
           }},
          {"right factors of one and two components", [this, sum](const Views& v, Workspace&) {
             sum(v[0], {v[1], v[1]}, {v[2], v[2].components(0, 1)}, plans.base);
           }}}});
    add_inner_products();
    add_matrices();
  }

  void add_matrices() {
    using Views = std::vector<PolyView>;
    const auto matrix = [this](std::size_t rows, std::size_t columns) {
      return poly::IntegerMatrixView{.data = values.data(),
                                     .host = reinterpret_cast<const std::byte*>(words.data()),
                                     .rows = rows,
                                     .columns = columns,
                                     .bytes = 2};
    };
    operations.push_back({"multiply_matrix",
                          {{"output", plans.base, batch, 2, any}, {"input", plans.base, 3, 2, any}},
                          [this, matrix](const Views& v, const Plans& p, Workspace& space) {
                            backend().multiply_matrix(queue(), v[0], v[1], matrix(batch, 3), p.base, space);
                          },
                          true,
                          {{"a matrix of other rows",
                            [this, matrix](const Views& v, Workspace& space) {
                              backend().multiply_matrix(queue(), v[0], v[1], matrix(1, 3), plans.base, space);
                            }},
                           {"a matrix of other columns", [this, matrix](const Views& v, Workspace& space) {
                              backend().multiply_matrix(queue(), v[0], v[1], matrix(batch, 1), plans.base,
                                                        space);
                            }}}});
    const auto product = [this](const PolyView& out, const PolyView& a, const PolyView& b, Workspace& space) {
      backend().multiply_elements(queue(), out, a, b, plans.base, space);
    };
    operations.push_back({"multiply_elements",
                          {{"output", plans.base, batch, 4, any},
                           {"a", plans.base, batch, 3, of_stored},
                           {"b", plans.base, 3, 4, any}},
                          [this](const Views& v, const Plans& p, Workspace& space) {
                            backend().multiply_elements(queue(), v[0], v[1], v[2], p.base, space);
                          },
                          true,
                          {{"no rows",
                            [product](const Views& v, Workspace& space) {
                              product(v[0].batches(0, 0), v[1].batches(0, 0), v[2], space);
                            }},
                           {"no terms",
                            [product](const Views& v, Workspace& space) {
                              product(v[0], v[1].components(0, 0), v[2].batches(0, 0), space);
                            }},
                           {"no columns", [product](const Views& v, Workspace& space) {
                              product(v[0].components(0, 0), v[1], v[2].components(0, 0), space);
                            }}}});
    // Half as many entries as the table's views have: two parts.
    operations.push_back({"split_parts",
                          {{"output", plans.base, 4, batch, of_stored}, {"input", plans.base, batch, 2, any}},
                          [this](const Views& v, const Plans& p, Workspace&) {
                            PolyView out = v[0];
                            if (out.shape.degree == degree) out.shape.degree /= 2;
                            backend().split_parts(queue(), out, v[1], p.base);
                          }});
    operations.push_back({"transform_components",
                          {{"values", plans.base, batch, 4, any & ~wrong_batch},  // it may be any
                           {"roots", plans.base, 1, 2, any},
                           {"factors", plans.base, 1, 4, any}},
                          [this](const Views& v, const Plans& p, Workspace& space) {
                            backend().transform_components(queue(), v[0], v[1], v[2],
                                                           poly::ComponentOrder::natural, p.base, space);
                          },
                          true});
    operations.push_back({"pack_rounded",
                          {{"input", plans.base, batch, 2, any}},
                          [this](const Views& v, const Plans&, Workspace&) {
                            backend().pack_rounded(queue(), bytes(batch * 2 * 2 * degree), v[0], 3, 1);
                          },
                          false});
    operations.push_back(
        {"multiply_add_vector",
         {{"output", plans.base, batch, 1, any & ~wrong_batch}, {"input", plans.base, 1, 1, any}},
         [this, matrix](const Views& v, const Plans& p, Workspace&) {
           poly::IntegerMatrixView bytes = matrix(3, 16);
           bytes.bytes = 1;
           backend().multiply_add_vector(queue(), v[0], bytes, v[1], p.base);
         }});
  }

  void add_inner_products() {
    using Views = std::vector<PolyView>;
    const auto sums = [this](const std::vector<PolyView>& out, const std::vector<ConstPolyView>& a,
                             const std::vector<ConstPolyView>& b,
                             const RnsBase& base) { backend().inner_products(queue(), out, a, b, base); };
    operations.push_back(
        {"inner_products",
         {{"output", plans.base, batch, 2, any},
          {"a", plans.base, batch, 2, any},
          {"b", plans.base, batch, 1, of_stored}},
         [sums](const Views& v, const Plans& p, Workspace&) { sums({v[0]}, {v[1]}, {v[2]}, p.base); },
         true,
         {{"no factors", [this, sums](const Views& v, Workspace&) { sums({v[0]}, {}, {}, plans.base); }},
          {"two sums and a factor for one",
           [this, sums](const Views& v, Workspace&) {
             sums({v[0], v[0]}, {v[1]}, {v[2]}, plans.base);
           }},
          {"outputs of two shapes", [this, sums](const Views& v, Workspace&) {
             sums({v[0], v[0].batches(0, 1)}, {v[1].batches(0, 1)}, {v[2].batches(0, 1), v[2].batches(0, 1)},
                  plans.base);
           }}}});
  }

  // What can be wrong with the numbers that a rounding of these views tells its doubts by.
  template <typename Call>
  std::vector<Operation::Wrong> wrong_doubts(const Call& call) {
    const auto with = [this, call](std::size_t components, std::size_t rows, std::size_t count) {
      return [this, call, components, rows, count](const std::vector<PolyView>& v, Workspace&) {
        call(v[0].components(0, components), v[1].components(0, components), integer_view(rows, count));
      };
    };
    const std::size_t count = degree / poly::coefficients_per_doubt;
    return {{"doubts of two components", with(2, batch, count)},
            {"rows of doubts", with(1, batch + 1, count)},
            {"doubts of a row", with(1, batch, count + 1)}};
  }

  void changes_of_base() {
    operations.push_back(
        {"convert",
         {{"output", plans.conversion.target(), batch, 2, any}, {"input", plans.base, batch, 2, any}},
         [this](const auto& v, const Plans& p, Workspace&) {
           backend().convert(queue(), v[0], v[1], p.conversion);
         },
         true,
         wrong_doubts([this](const PolyView& out, const PolyView& in, const poly::IntegerView& doubtful) {
           backend().convert(queue(), out, in, plans.conversion, &doubtful);
         })});
    operations.push_back(
        {"scale_and_round",
         {{"output", plans.base, batch, 2, any}, {"input", plans.extended, batch, 2, any}},
         [this](const auto& v, const Plans& p, Workspace&) {
           backend().scale_and_round(queue(), v[0], v[1], p.rounding);
         },
         true,
         wrong_doubts([this](const PolyView& out, const PolyView& in, const poly::IntegerView& doubtful) {
           backend().scale_and_round(queue(), out, in, plans.rounding, &doubtful);
         })});
    operations.push_back({"divide_and_round",
                          {{"output", plans.base, batch, 2, any}, {"input", plans.extended, batch, 2, any}},
                          [this](const auto& v, const Plans& p, Workspace& space) {
                            backend().divide_and_round(queue(), v[0], v[1], p.down, Form::evaluation, space);
                          }});
  }

  void key_switching() {
    const RnsBase &q = plans.base, &qp = plans.extended;
    constexpr unsigned of_key = any & ~wrong_batch;  // it may have more digits
    operations.push_back({"mod_up",
                          {{"output", qp, batch, 2, any}, {"input", q, batch, 1, any}},
                          [this](const auto& v, const Plans& p, Workspace& space) {
                            backend().mod_up(queue(), v[0], v[1], p.up, Form::evaluation, space);
                          }});
    operations.push_back(
        {"key_inner_product",
         {{"output", qp, batch, 2, any}, {"digits", qp, batch, 2, any}, {"key", qp, 2, 2, of_key}},
         [this](const auto& v, const Plans& p, Workspace&) {
           backend().key_inner_product(queue(), v[0], v[1], v[2], p.up);
         },
         true,
         {{"a key of one digit", [this](const auto& v, Workspace&) {
             backend().key_inner_product(queue(), v[0], v[1], v[2].batches(0, 1), plans.up);
           }}}});
    operations.push_back({"hoisted_products",
                          {{"output", qp, batch, 2, any},
                           {"digits", qp, batch, 2, any},
                           {"key", qp, 2, 2, of_key},
                           {"addend", qp, batch, 2, any},
                           {"factor", qp, batch, 1, of_stored}},
                          [this](const auto& v, const Plans& p, Workspace& space) {
                            const poly::HoistedTerm term{v[1], v[2], v[3], 5, {v[4]}};
                            const std::uint64_t special[] = {1, 2};
                            backend().hoisted_products(queue(), std::span(&v[0], 1), std::span(&term, 1),
                                                       p.up, special, space);
                          },
                          true,
                          {{"a key of one digit",
                            [this](const auto& v, Workspace& space) {
                              const poly::HoistedTerm term{v[1], v[2].batches(0, 1), v[3], 5, {v[4]}};
                              const std::uint64_t special[] = {1, 2};
                              backend().hoisted_products(queue(), std::span(&v[0], 1), std::span(&term, 1),
                                                         plans.up, special, space);
                            }},
                           {"residues of P for other primes",
                            [this](const auto& v, Workspace& space) {
                              const poly::HoistedTerm term{v[1], v[2], v[3], 5, {v[4]}};
                              const std::uint64_t special[] = {1, 2, 3};
                              backend().hoisted_products(queue(), std::span(&v[0], 1), std::span(&term, 1),
                                                         plans.up, special, space);
                            }},
                           {"factors for other outputs",
                            [this](const auto& v, Workspace& space) {
                              const poly::HoistedTerm term{v[1], v[2], v[3], 5, {v[4], v[4]}};
                              const std::uint64_t special[] = {1, 2};
                              backend().hoisted_products(queue(), std::span(&v[0], 1), std::span(&term, 1),
                                                         plans.up, special, space);
                            }},
                           {"no terms", [this](const auto& v, Workspace& space) {
                              const std::uint64_t special[] = {1, 2};
                              backend().hoisted_products(queue(), std::span(&v[0], 1), {}, plans.up, special,
                                                         space);
                            }}}});
    const auto switch_keys = [this](const std::vector<PolyView>& v, const Plans& p,
                                    const poly::Division* down, Workspace& space) {
      const poly::KeySwitch list[] = {{v[0], v[2], 5}};
      backend().switch_keys(queue(), list, v[1], p.up, down, v[3], space);
    };
    operations.push_back(
        {"switch_keys",
         {{"output", q, batch, 2, any},
          {"input", q, batch, 1, any},
          {"key", qp, 2, 2, of_key},
          {"addend", q, batch, 2, any}},
         [switch_keys](const auto& v, const Plans& p, Workspace& space) {
           switch_keys(v, p, &p.down, space);
         },
         true,
         {{"a key of one digit",
           [this, switch_keys](auto v, Workspace& space) {
             v[2] = v[2].batches(0, 1);
             switch_keys(v, plans, &plans.down, space);
           }},
          {"a division from elsewhere",
           [this, switch_keys](const auto& v, Workspace& space) {
             const poly::Division other(rig.choose({2, 0, 1}), plans.base);
             switch_keys(v, plans, &other, space);
           }},
          {"a division to another base",
           [this, switch_keys](const auto& v, Workspace& space) {
             const poly::Division other(plans.extended, plans.one);
             switch_keys(v, plans, &other, space);
           }},
          {"no division",
           [this, switch_keys](const auto& v, Workspace& space) { switch_keys(v, plans, nullptr, space); }},
          {"outputs of two shapes", [this](const auto& v, Workspace& space) {
             const poly::KeySwitch list[] = {{v[0], v[2]},
                                             {v[0].components(0, 1), ConstPolyView(v[2]).components(0, 1)}};
             backend().switch_keys(queue(), list, v[1], plans.up, &plans.down, {}, space);
           }}}});
    const auto multiply = [this](const std::vector<PolyView>& v, const Plans& p, const poly::Division* down,
                                 Workspace& space) {
      backend().multiply_relinearize(queue(), v[0], v[1], v[2], v[3], p.up, down, space);
    };
    operations.push_back(
        {"multiply_relinearize",
         {{"output", q, batch, 2, any},
          {"a", q, batch, 2, any},
          {"b", q, batch, 2, any},
          {"key", qp, 2, 2, of_key}},
         [multiply](const auto& v, const Plans& p, Workspace& space) { multiply(v, p, &p.down, space); },
         true,
         {{"a key of one digit",
           [this, multiply](auto v, Workspace& space) {
             v[3] = v[3].batches(0, 1);
             multiply(v, plans, &plans.down, space);
           }},
          {"no division",
           [this, multiply](const auto& v, Workspace& space) { multiply(v, plans, nullptr, space); }}}});
    operations.push_back({"scaled_product",
                          {{"output", q, batch, 3, any}, {"a", q, batch, 2, any}, {"b", q, batch, 2, any}},
                          [this](const auto& v, const Plans& p, Workspace& space) {
                            backend().scaled_product(queue(), v[0], v[1], v[2], p.product, space);
                          }});
    const auto lift = [this](const PolyView& a_lifted, const PolyView& b_lifted,
                             const std::vector<ConstPolyView>& a, const std::vector<ConstPolyView>& b,
                             const Plans& p, Workspace& space) {
      backend().lift_operands(queue(), a_lifted, b_lifted, a, b, p.product, space);
    };
    operations.push_back(
        {"lift_operands",
         {{"lifted a", plans.product.auxiliary(), batch, 2, any},
          {"lifted b", plans.product.all(), batch, 2, any},
          {"a", q, batch, 2, any},
          {"b", q, batch, 2, any}},
         [lift](const auto& v, const Plans& p, Workspace& space) {
           lift(v[0], v[1], {v[2]}, {v[3]}, p, space);
         },
         true,
         {{"no pairs",
           [this, lift](const auto& v, Workspace& space) { lift(v[0], v[1], {}, {}, plans, space); }},
          {"a second factor too many",
           [this, lift](const auto& v, Workspace& space) {
             lift(v[0], v[1], {v[2]}, {v[3], v[3]}, plans, space);
           }},
          {"batches that are no multiple of the pairs",
           [this, lift](const auto& v, Workspace& space) {
             const ConstPolyView a = v[2].batches(0, 1), b = v[3].batches(0, 1);
             lift(v[0], v[1], {a, a, a}, {b, b, b}, plans, space);
           }},
          {"a second pair of another batch", [this, lift](const auto& v, Workspace& space) {
             const ConstPolyView a = v[2].batches(0, 1), b = v[3].batches(0, 1);
             lift(v[0], v[1], {a, a}, {b, v[3]}, plans, space);
           }}}});
  }

  void samplers() {
    const RnsBase &q = plans.base, &qp = plans.extended;
    operations.push_back({"sample",
                          {{"output", q, batch, 2, limbs | wrong_degree | word | fewer_entries}},
                          [this](const auto& v, const Plans& p, Workspace& space) {
                            backend().sample(queue(), v[0], {}, Distribution::fixed_weight(64), p.base,
                                             space);
                          }});
    const auto encrypt = [this](const std::vector<PolyView>& v, const RnsBase& base,
                                const poly::Division* division, Workspace& space) {
      backend().encrypt_zero(queue(), v[0], v[1], {}, errors, 1, base, division, v[2], space);
    };
    operations.push_back(
        {"encrypt_zero",
         {{"output", q, batch, 2, any}, {"key", qp, 1, 2, any}, {"addend", q, batch, 1, any}},
         [encrypt](const auto& v, const Plans& p, Workspace& space) {
           encrypt(v, p.extended, &p.down, space);
         },
         true,
         {{"a division from elsewhere", [this, encrypt](const auto& v, Workspace& space) {
             encrypt(v, plans.base, &plans.down, space);
           }}}});
    operations.push_back(
        {"phase",
         {{"output", q, batch, 1, any}, {"input", q, batch, 2, any & ~components}, {"secret", q, 1, 1, any}},
         [this](const auto& v, const Plans& p, Workspace&) {
           backend().phase(queue(), v[0], v[1], v[2], Form::coefficient, p.base);
         }});
    const auto sample = [this](const std::vector<PolyView>& v, const RnsBase& base,
                               const ConstPolyView& addend, const std::vector<poly::GadgetTerm>& terms,
                               Workspace& space) {
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

  void embedding() {
    const RnsBase& q = plans.base;
    const auto embed = [this](const PolyView& out, const poly::SlotView& from, const RnsBase& base,
                              Workspace& space) { backend().embed(queue(), out, from, 1.0, 3, base, space); };
    const auto unembed = [this](const PolyView& in, const poly::SlotView& to, const RnsBase& base,
                                Workspace& space) {
      backend().unembed(queue(), to, in, 1.0, 3, base, space);
    };
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

  void exponentials() {
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

  void integers() {
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
          {"no inputs",
           [this, lift](const auto& v, Workspace& space) { lift({v[0]}, {}, plans.lift, space); }},
          {"a second input of another batch",
           [this, lift](const auto& v, Workspace& space) {
             lift({v[0], v[1].batches(0, 1), v[1]}, {}, plans.lift, space);
           }},
          {"two moduli", [this, lift](const auto& v, Workspace& space) {
             const poly::BaseConversion wide(plans.base, plans.base, poly::BaseConversion::Kind::exact);
             lift({v[0], v[0]}, {}, wide, space);
           }}}});
  }

  std::vector<std::uint64_t> words;
  runtime::Buffer values;
  poly::ErrorDistribution errors{3.19};
};

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
      for (unsigned mistake = 1; mistake <= any; mistake *= 2) {
        if ((operation.operands[i].mistakes & mistake) == 0) continue;
        SCOPED_TRACE(std::string(operation.operands[i].name) + ", mistake " + std::to_string(mistake));
        std::vector<PolyView> wrong = views;
        wrong[i] = made_wrong(wrong[i], mistake);
        expect_error<MismatchError>(run(wrong, table.plans), {operation.name});
      }
    }
    if (operation.has_base) {
      SCOPED_TRACE("another ring");
      expect_error<MismatchError>(run(views, table.foreign_plans), {operation.name, "another ring"});
    }
    for (const Operation::Wrong& wrong : operation.others) {
      SCOPED_TRACE(wrong.what);
      Workspace measuring = Workspace::measuring();
      expect_error<MismatchError>([&] { wrong.call(views, measuring); }, {operation.name});
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

  expect_error<MismatchError>(
      [&] { backend.add(queue, out.view(), three.view(), two.view(), base); },
      {"add", "b [batch 2, components 2, limbs 2, N 1024]", "[batch 3, components 2"});
  expect_error<MismatchError>([&] { backend.multiply(queue, out.view(), longer.view(), three.view(), base); },
                              {"multiply", "limbs 3", "2 limbs"});
  expect_error<MismatchError>(
      [&] { backend.multiply_scalar(queue, out.view(), three.view(), std::vector<std::uint64_t>{1}, base); },
      {"multiply_scalar", "1 scalars", "2 are needed"});
  expect_error<MismatchError>([&] { backend.copy(queue, out.view(), longer.view()); },
                              {"copy", "limbs 3", "limbs 2"});
  std::vector<std::uint64_t> host(17);
  expect_error<MismatchError>([&] { backend.upload(queue, out.view(), host, Form::coefficient); },
                              {"upload", "17"});
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
    expect_error<ParameterError>(
        [&] {
          rig.backend->automorphism(*rig.queue, out.view(), in.view(), element, Form::coefficient, base);
        },
        {"automorphism", number});
    const poly::KeySwitch only{pair.view(), key.view(), element};
    expect_error<ParameterError>(
        [&] { rig.backend->switch_keys(*rig.queue, std::span(&only, 1), in.view(), up, &down, {}, space); },
        {"switch_keys", number});
    expect_error<ParameterError>(
        [&] { rig.backend->embed(*rig.queue, out.view(), slots, 1.0, element, base, space); },
        {"embed", number});
    expect_error<ParameterError>(
        [&] { rig.backend->unembed(*rig.queue, slots, in.view(), 1.0, element, base, space); },
        {"unembed", number});
    expect_error<ParameterError>(
        [&] {
          rig.backend->place_integers(*rig.queue, out.view(), integers, Form::evaluation, element, base);
        },
        {"place_integers", number});
    expect_error<ParameterError>(
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
  expect_error<ParameterError>(
      [&] { rig.backend->convert(*rig.queue, out.view(), in.view(), approximate, &doubtful); },
      {"convert", "exact"});
  const poly::ScaleAndRound partial(rig.all(), rig.primes(0, 2), 65537, rig.primes(2, 1));
  expect_error<ParameterError>(
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
    expect_error<ParameterError>([&] { sample(0xfffffffeU, distribution); }, {"sample", "another seed"});
  }
  for (const std::size_t weight : {std::size_t{0}, std::size_t{1025}}) {
    expect_error<ParameterError>([&] { sample(0, Distribution::fixed_weight(weight)); }, {"Hamming weight"});
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
