// The calls that are timed: each with what must be true of its result.
#include "gpu/calls.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>

#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"

namespace hemera::gpu_bench {
namespace {

using rlwe::Ciphertext;
using rlwe::Plaintext;

// Changes a copy of x in place.
Call changing(const Operands& in, std::function<void(Ciphertext&)> change, const Values& wanted) {
  struct State {
    Ciphertext copy;
    rlwe::Metadata after;  // a replayed graph changes residues alone
  };
  auto state = std::make_shared<State>(State{.copy = in.x.clone(), .after = in.x.meta});
  return {.run =
              [state, change = std::move(change)] {
                change(state->copy);
                state->after = state->copy.meta;
              },
          .release = [] {},
          .restore =
              [&in, state] {
                const rlwe::Context& context = *in.client.context;
                context.backend().copy(context.queue(), state->copy.poly.view(), in.x.poly.view());
                state->copy.meta = in.x.meta;
              },
          .check =
              [&in, state, wanted] {
                state->copy.meta = state->after;
                return in.holds(state->copy, wanted);
              }};
}

// A factor at the scale of the prime that goes, so that the scale stays.
Plaintext factor_of_rescale(const Operands& in) {
  const double prime = in.client.context->chain().ratio(in.level);
  return ckks::Encoder(in.client.context).encode(in.b, {in.batch}, in.level, prime);
}

Call multiply_plain_rescale_call(const Operands& in) {
  auto factor = std::make_shared<const Plaintext>(factor_of_rescale(in));
  return making_ciphertext(
      in,
      [&in, factor] {
        const rlwe::Evaluator& evaluator = *in.client.evaluator;
        return evaluator.rescale(evaluator.multiply_plain(in.x, *factor));
      },
      products(in));
}

// Size 3: without a key switch.
Call multiply_call(const Operands& in) {
  std::shared_ptr<const rlwe::Evaluator> lazy =
      any_scheme::make_evaluator(in.client.context, in.client.evaluator->keys(), rlwe::Relinearization::lazy);
  return making_ciphertext(
      in, [&in, lazy] { return lazy->multiply(in.x, in.y); }, products(in));
}

// b as BFV and BGV take it at the operands' level.
std::shared_ptr<const Plaintext> encoded(const Operands& in) {
  std::vector<std::int64_t> integers;
  for (const Complex& value : in.b) integers.push_back(static_cast<std::int64_t>(value.real()));
  return std::make_shared<const Plaintext>(
      integer::Encoder(in.client.context).encode(integers, {in.batch}, rlwe::Encoding::slots, in.level));
}

Call rescale_call(const Operands& in) {
  if (!in.client.ckks()) {
    return making_ciphertext(
        in, [&in] { return in.client.evaluator->rescale(in.x); }, in.a);
  }
  auto product =
      std::make_shared<const Ciphertext>(in.client.evaluator->multiply_plain(in.x, factor_of_rescale(in)));
  return making_ciphertext(
      in, [&in, product] { return in.client.evaluator->rescale(*product); }, products(in));
}

Call rotate_hoisted_call(const Operands& in) {
  using Rotations = std::vector<Ciphertext>;
  return making<Rotations>(
      [&in] {
        return in.client.evaluator->rotate_hoisted(in.x, std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
      },
      [&in](const Rotations& rotations) {
        for (std::size_t r = 0; r < rotations.size(); ++r) {
          if (!in.holds(rotations[r],
                        in.expected([&](std::size_t i) { return in.a[in.rotated(i, r + 1)]; }))) {
            return false;
          }
        }
        return rotations.size() == 8;
      });
}

// A matrix of 64 diagonals: products with 15 keys and 64 plaintexts in one operation, and four giant steps.
// Without the rescale, as levels of these sets are not as large as the scale.
Call matrix_call(const Operands& in) {
  struct Matrix {
    circuits::PreparedLinearTransform prepared;
    ckks::Evaluator evaluator;

    Matrix(const Client& client, const circuits::LinearTransform& plan)
        : prepared(client.context, plan), evaluator(client.context, plan.generate_keys(client.secret)) {}
  };
  const std::size_t slots = in.client.slots();
  std::mt19937_64 random(20261122);
  std::uniform_real_distribution<double> uniform(-1.0 / 64, 1.0 / 64);
  circuits::Diagonals diagonals;
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < slots; ++j) diagonals[i].emplace_back(uniform(random), uniform(random));
  }
  const circuits::LinearTransform plan(in.client.context->parameters(), std::move(diagonals), slots,
                                       {.level = in.level, .rescaled = false, .baby_steps = 16});
  auto matrix = std::make_shared<Matrix>(in.client, plan);
  return making_ciphertext(
      in, [&in, matrix] { return matrix->prepared(matrix->evaluator, in.x); }, plan.evaluate_clear(in.a));
}

// Eight products and their sum. Each has its own copies of the operands, which are too many for the cache.
template <typename Operand>
Call dot_call(const Operands& in, const std::function<Operand()>& right) {
  struct Copies {
    std::vector<Ciphertext> a;
    std::vector<Operand> b;
    std::vector<const Ciphertext*> left;
    std::vector<const Operand*> right;
  };
  constexpr std::size_t count = 8;
  auto copies = std::make_shared<Copies>();
  for (std::size_t i = 0; i < count; ++i) {
    copies->a.push_back(in.x.clone());
    copies->b.push_back(right());
  }
  for (std::size_t i = 0; i < count; ++i) {
    copies->left.push_back(&copies->a[i]);
    copies->right.push_back(&copies->b[i]);
  }
  return making_ciphertext(
      in, [&in, copies] { return in.client.evaluator->dot(copies->left, copies->right); },
      in.expected([&](std::size_t i) { return static_cast<double>(count) * in.a[i] * in.b[i]; }));
}

Values sums(const Operands& in) {
  return in.expected([&](std::size_t i) { return in.a[i] + in.b[i]; });
}

double number_of(const Operands& in) { return in.client.ckks() ? 0.5 : 3; }
rlwe::Scalar scalar_of(const Operands& in) { return in.client.ckks() ? rlwe::Scalar(0.5) : rlwe::Scalar(3); }

Call encrypt_call(const Operands& in, bool with_public_key) {
  return making_ciphertext(
      in, [&in, with_public_key] { return in.client.encrypt(in.plain_a, with_public_key); }, in.a, true);
}

Call transform_call(const Operands& in, bool inverse) {
  return make_transform(in.client, in.batch, in.client.context->base(in.level).size(), inverse);
}

bool always(const Operands&) { return true; }
bool of_ckks(const Operands& in) { return in.client.ckks(); }
bool of_integers(const Operands& in) { return !in.client.ckks(); }
bool is_top(const Operands& in) { return in.level == in.client.context->top_level(); }
// BFV and BGV encode for the top level.
bool encodes(const Operands& in) { return of_ckks(in) || is_top(in); }
bool makes_keys(const Operands& in) { return is_top(in) && in.batch == 1; }

struct Operation {
  const char* name;
  bool (*has)(const Operands& in);
  Call (*make)(const Operands& in);
};

// CKKS encodes for a level always, and so has nothing that is encoded for its level.
const Operation table[] = {
    {"add", always,
     [](const Operands& in) {
       return making_ciphertext(
           in, [&in] { return in.client.evaluator->add(in.x, in.y); }, sums(in));
     }},
    {"add_plain", always,
     [](const Operands& in) {
       return changing(
           in, [&in](Ciphertext& c) { in.client.evaluator->add_plain_inplace(c, in.plain_b); }, sums(in));
     }},
    {"add_plain_encoded", of_integers,
     [](const Operands& in) {
       return changing(
           in,
           [&in, plain = encoded(in)](Ciphertext& c) { in.client.evaluator->add_plain_inplace(c, *plain); },
           sums(in));
     }},
    {"add_scalar", always,
     [](const Operands& in) {
       return changing(
           in, [&in](Ciphertext& c) { in.client.evaluator->add_scalar_inplace(c, scalar_of(in)); },
           in.expected([&](std::size_t i) { return in.a[i] + number_of(in); }));
     }},
    {"multiply_plain", always,
     [](const Operands& in) {
       return making_ciphertext(
           in, [&in] { return in.client.evaluator->multiply_plain(in.x, in.plain_b); }, products(in));
     }},
    {"multiply_plain_encoded", of_integers,
     [](const Operands& in) {
       return making_ciphertext(
           in, [&in, plain = encoded(in)] { return in.client.evaluator->multiply_plain(in.x, *plain); },
           products(in));
     }},
    {"multiply_plain_rescale", [](const Operands& in) { return of_ckks(in) && in.level > 0; },
     multiply_plain_rescale_call},
    {"multiply_scalar", always,
     [](const Operands& in) {
       return changing(
           in, [&in](Ciphertext& c) { in.client.evaluator->multiply_scalar_inplace(c, scalar_of(in)); },
           in.expected([&](std::size_t i) { return in.a[i] * number_of(in); }));
     }},
    {"rescale", [](const Operands& in) { return of_ckks(in) && in.level > 0; }, rescale_call},
    {"mod_switch", [](const Operands& in) { return of_integers(in) && in.level > 0; }, rescale_call},
    {"multiply_relinearize", always,
     [](const Operands& in) {
       return making_ciphertext(
           in, [&in] { return in.client.evaluator->multiply(in.x, in.y); }, products(in));
     }},
    {"square_relinearize", always,
     [](const Operands& in) {
       return making_ciphertext(
           in, [&in] { return in.client.evaluator->square(in.x); },
           in.expected([&](std::size_t i) { return in.a[i] * in.a[i]; }));
     }},
    {"multiply", always, multiply_call},
    {"relinearize", always, [](const Operands& in) { return make_switch_step(in, "relinearize"); }},
    {"mod_up", always, [](const Operands& in) { return make_switch_step(in, "mod_up"); }},
    {"key_inner_product", always,
     [](const Operands& in) { return make_switch_step(in, "key_inner_product"); }},
    {"mod_down", always, [](const Operands& in) { return make_switch_step(in, "mod_down"); }},
    {"dot_8", always,
     [](const Operands& in) { return dot_call<Ciphertext>(in, [&in] { return in.y.clone(); }); }},
    {"dot_plain_8", always,
     [](const Operands& in) {
       return dot_call<Plaintext>(in, [&in] { return in.client.encode(in.b, in.batch, in.level); });
     }},
    {"rotate", always,
     [](const Operands& in) {
       return making_ciphertext(
           in, [&in] { return in.client.evaluator->rotate(in.x, 1); },
           in.expected([&](std::size_t i) { return in.a[in.rotated(i, 1)]; }));
     }},
    {"rotate_hoisted_8",
     [](const Operands& in) { return in.client.evaluator->keys().galois_elements().size() >= 8; },
     rotate_hoisted_call},
    // Where keys may be packed alone: keys and plaintexts of larger primes take several GB more.
    {"matrix_64",
     [](const Operands& in) {
       return of_ckks(in) && is_top(in) && poly::fits(in.client.context->key_base(), poly::Word::u50);
     },
     matrix_call},
    {"ntt", always, [](const Operands& in) { return transform_call(in, false); }},
    {"intt", always, [](const Operands& in) { return transform_call(in, true); }},
    {"encode", encodes, encode_call},
    {"decode", encodes, decode_call},
    {"encrypt_public", encodes, [](const Operands& in) { return encrypt_call(in, true); }},
    {"encrypt_symmetric", encodes, [](const Operands& in) { return encrypt_call(in, false); }},
    {"decrypt", always,
     [](const Operands& in) {
       return making<Plaintext>([&in] { return in.client.decrypt(in.x); },
                                [&in](const Plaintext& p) { return in.same(in.client.decode(p), in.a); });
     }},
    {"secret_key", makes_keys, secret_key_call},
    {"public_key", makes_keys, public_key_call},
    {"relinearization_key", makes_keys, relinearization_key_call},
    {"upload", always, upload_call},
    {"download", always, download_call},
    {"save", always, save_call},
    {"load", always, load_call},
    {"copy_between_gpus",
     [](const Operands& in) { return other_gpu(in.client.context->backend().device()).has_value(); },
     copy_call}};

const Operation& find(const std::string& name) {
  const auto* found = std::find_if(std::begin(table), std::end(table),
                                   [&](const Operation& operation) { return operation.name == name; });
  if (found == std::end(table)) {
    throw std::invalid_argument("there is no operation '" + name + "'; --list tells them");
  }
  return *found;
}

}  // namespace

const std::vector<std::string>& operations() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Operation& operation : table) all.emplace_back(operation.name);
    return all;
  }();
  return names;
}

bool has(const Operands& in, const std::string& operation) { return find(operation).has(in); }

Call make_call(const Operands& in, const std::string& operation) { return find(operation).make(in); }

Call make_transform(const Client& client, std::size_t batch, std::size_t limbs, bool inverse) {
  const rlwe::Context& context = *client.context;
  const poly::Backend& backend = context.backend();
  const auto& all = context.key_base().indices();
  const poly::RnsBase base(context.key_base().ring(),
                           {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(limbs)});
  struct Arrays {
    std::vector<std::uint64_t> host;
    poly::Poly in, out;
  };
  auto arrays = std::make_shared<Arrays>();
  const std::size_t degree = context.degree();
  arrays->host.resize(batch * limbs * degree);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < arrays->host.size(); ++i) {
    arrays->host[i] = random() % base.modulus(i / degree % limbs).value();
  }
  const poly::Form from = inverse ? poly::Form::evaluation : poly::Form::coefficient;
  arrays->in = context.make_poly(batch, 1, base, from);
  arrays->out = context.make_poly(batch, 1, base, from);
  backend.upload(context.queue(), arrays->in.view(), arrays->host, from);
  return {.run =
              [&context, &backend, arrays, base, inverse] {
                const poly::ConstPolyView in = std::as_const(arrays->in).view();
                if (inverse) {
                  backend.inverse_transform(context.queue(), arrays->out.view(), in, base);
                } else {
                  backend.forward_transform(context.queue(), arrays->out.view(), in, base);
                }
              },
          .release = [] {},
          .check =
              [&context, &backend, arrays, base, inverse] {
                // The values at the root itself and at its last power, in each limb; or back again.
                const std::size_t n = context.degree();
                std::vector<std::uint64_t> result(arrays->host.size());
                const poly::Form to = inverse ? poly::Form::coefficient : poly::Form::evaluation;
                backend.download(context.queue(), result, std::as_const(arrays->out).view(), to);
                context.queue().synchronize();
                const auto& coefficients = inverse ? result : arrays->host;
                const auto& values = inverse ? arrays->host : result;
                for (std::size_t limb = 0; limb < values.size() / n; ++limb) {
                  const arith::Modulus& q = base.modulus(limb % base.size());
                  const std::uint64_t root = (*base.ring())[base.index(limb % base.size())].root;
                  for (const auto& [entry, point] :
                       {std::pair{std::size_t{0}, root}, {n - 1, arith::inverse(root, q.value())}}) {
                    std::uint64_t sum = 0;
                    for (std::size_t i = n; i-- > 0;)
                      sum = q.add(q.multiply(sum, point), coefficients[limb * n + i]);
                    if (sum != values[limb * n + entry]) return false;
                  }
                }
                return true;
              }};
}

}  // namespace hemera::gpu_bench
