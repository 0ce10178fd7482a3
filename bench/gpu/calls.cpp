// The calls that are timed: each with what must be true of its result.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "gpu/session.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "options.hpp"

namespace hemera::gpu_bench {
namespace {

using rlwe::Ciphertext;
using rlwe::Plaintext;

/// A call that makes a new object.
template <typename T>
Call making(std::function<T()> make, std::function<bool(const T&)> check, bool eager_only = false) {
  auto output = std::make_shared<std::optional<T>>();
  return {.run = [output, make = std::move(make)] { output->emplace(make()); },
          .release = [output] { output->reset(); },
          .check = [output, check = std::move(check)] { return output->has_value() && check(**output); },
          .eager_only = eager_only};
}

/// A call that changes a copy of `input` in place.
Call changing(const Operands& in, const Ciphertext& input, std::function<void(Ciphertext&)> change,
              const Values& wanted) {
  struct State {
    Ciphertext copy;
    rlwe::Metadata after;  // a replayed graph changes residues alone
  };
  auto state = std::make_shared<State>(State{.copy = input.clone(), .after = input.meta});
  return {.run =
              [state, change = std::move(change)] {
                change(state->copy);
                state->after = state->copy.meta;
              },
          .release = [] {},
          .restore =
              [&in, state, &input] {
                const rlwe::Context& context = *in.client.context;
                context.backend().copy(context.queue(), state->copy.poly.view(), input.poly.view());
                state->copy.meta = input.meta;
              },
          .check =
              [&in, state, wanted] {
                state->copy.meta = state->after;
                return in.holds(state->copy, wanted);
              }};
}

Call making_ciphertext(const Operands& in, std::function<Ciphertext()> make, const Values& wanted,
                       bool eager_only = false) {
  return making<Ciphertext>(
      std::move(make), [&in, wanted](const Ciphertext& c) { return in.holds(c, wanted); }, eager_only);
}

// The operands' values a as the scheme's encoder takes them from, and gives them to, the device.
struct ComplexValues {
  using Value = Complex;
  using View = poly::SlotView;
  static Plaintext encode(const Operands& in, const View& values) {
    const rlwe::Metadata& meta = in.plain_a.meta;
    return ckks::Encoder(in.client.context).encode(values, meta.batch, meta.level, meta.scale);
  }
  static void decode(const Operands& in, const View& values) {
    ckks::Encoder(in.client.context).decode_to(values, in.plain_a);
  }
};

struct IntegerValues {
  using Value = std::int64_t;
  using View = poly::IntegerView;
  static Plaintext encode(const Operands& in, const View& values) {
    return integer::Encoder(in.client.context).encode(values, in.plain_a.meta.batch);
  }
  static void decode(const Operands& in, const View& values) {
    integer::Encoder(in.client.context).decode_to(values, in.plain_a, false);
  }
};

template <typename Scheme>
struct OnDevice {
  using Value = typename Scheme::Value;
  runtime::Buffer buffer;
  typename Scheme::View view;

  explicit OnDevice(const Operands& in)
      : buffer(in.client.context->memory(), in.a.size() * sizeof(Value)),
        view{reinterpret_cast<Value*>(buffer.data()), in.batch, in.client.slots()} {}
};

template <typename Scheme>
Call encode_on_device(const Operands& in) {
  using Value = typename Scheme::Value;
  std::vector<Value> values;
  for (const Complex& value : in.a) {
    if constexpr (std::is_same_v<Value, Complex>) {
      values.push_back(value);
    } else {
      values.push_back(static_cast<Value>(value.real()));
    }
  }
  auto given = std::make_shared<OnDevice<Scheme>>(in);
  const rlwe::Context& context = *in.client.context;
  context.backend().upload_values(context.queue(), given->view.bytes(), std::as_bytes(std::span(values)));
  return making<Plaintext>(
      [&in, given] { return Scheme::encode(in, given->view); },
      [&in](const Plaintext& plaintext) { return in.same(in.client.decode(plaintext), in.a); });
}

template <typename Scheme>
Call decode_on_device(const Operands& in) {
  return making<OnDevice<Scheme>>(
      [&in] {
        OnDevice<Scheme> output(in);
        Scheme::decode(in, output.view);
        return output;
      },
      [&in](const OnDevice<Scheme>& output) {
        const rlwe::Context& context = *in.client.context;
        std::vector<typename Scheme::Value> values(in.a.size());
        context.backend().download_values(context.queue(), std::as_writable_bytes(std::span(values)),
                                          output.view.bytes());
        context.queue().synchronize();
        Values decoded;
        for (const auto& value : values) {
          if constexpr (std::is_same_v<typename Scheme::Value, Complex>) {
            decoded.push_back(value);
          } else {
            decoded.emplace_back(static_cast<double>(value));
          }
        }
        return in.same(decoded, in.a);
      });
}

Call encode_call(const Operands& in) {
  return in.client.ckks() ? encode_on_device<ComplexValues>(in) : encode_on_device<IntegerValues>(in);
}

Call decode_call(const Operands& in) {
  return in.client.ckks() ? decode_on_device<ComplexValues>(in) : decode_on_device<IntegerValues>(in);
}

using SharedKey = std::shared_ptr<const rlwe::SwitchingKey>;

Call relinearization_key_call(const Operands& in) {
  const std::size_t top = in.client.context->top_level();
  return making<SharedKey>(
      [&in, top] {
        return std::make_shared<const rlwe::SwitchingKey>(
            rlwe::generate_relinearization_key(in.client.secret, top));
      },
      [&in](const SharedKey& key) {
        rlwe::EvaluationKeys keys;
        keys.context = in.client.context;
        keys.add(rlwe::KeyRole::relinearization(), key);
        const auto evaluator = any_scheme::make_evaluator(in.client.context, std::move(keys));
        return in.holds(evaluator->multiply(in.x, in.y),
                        in.expected([&](std::size_t i) { return in.a[i] * in.b[i]; }));
      },
      true);
}

Call secret_key_call(const Operands& in) {
  return making<rlwe::SecretKey>([&in] { return rlwe::generate_secret_key(in.client.context); },
                                 [&in](const rlwe::SecretKey& key) {
                                   const Plaintext decrypted =
                                       any_scheme::decrypt(any_scheme::encrypt(in.plain_a, key), key);
                                   return in.same(in.client.decode(decrypted), in.a);
                                 },
                                 true);
}

Call public_key_call(const Operands& in) {
  return making<rlwe::PublicKey>(
      [&in] { return rlwe::generate_public_key(in.client.secret); },
      [&in](const rlwe::PublicKey& key) { return in.holds(any_scheme::encrypt(in.plain_a, key), in.a); },
      true);
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
      in.expected([&](std::size_t i) { return in.a[i] * in.b[i]; }));
}

// Size 3: without a key switch.
Call multiply_call(const Operands& in) {
  std::shared_ptr<const rlwe::Evaluator> lazy =
      any_scheme::make_evaluator(in.client.context, in.client.evaluator->keys(), rlwe::Relinearization::lazy);
  return making_ciphertext(
      in, [&in, lazy] { return lazy->multiply(in.x, in.y); },
      in.expected([&](std::size_t i) { return in.a[i] * in.b[i]; }));
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
      in, [&in, product] { return in.client.evaluator->rescale(*product); },
      in.expected([&](std::size_t i) { return in.a[i] * in.b[i]; }));
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

// A copy from another GPU to that of the client, in whose stream the copy runs.
Call copy_call(const Operands& in) {
  const auto other = other_gpu(in.client.context->backend().device());
  if (!other) throw std::invalid_argument("copy_between_gpus takes two GPUs");
  const auto elsewhere = rlwe::Context::make(in.client.context->parameters(), *other);
  const auto there = std::make_shared<const Ciphertext>(rlwe::copy_to(elsewhere, in.x));
  Call call = making_ciphertext(
      in, [&in, there] { return rlwe::copy_to(in.client.context, *there); }, in.a, true);
  call.bytes = in.x.poly.shape().words() * sizeof(std::uint64_t);
  return call;
}

// A ciphertext's residues between the device and memory of the host that nobody has pinned.
Call upload_call(const Operands& in) {
  struct State {
    std::vector<std::uint64_t> host;
    Ciphertext made;
  };
  auto state = std::make_shared<State>();
  state->made = in.x.clone();
  state->host.resize(in.x.poly.shape().words());
  const rlwe::Context& context = *in.client.context;
  context.backend().download(context.queue(), state->host, in.x.poly.view(), poly::Form::evaluation);
  context.queue().synchronize();
  return {
      .run =
          [&context, state] {
            context.backend().upload(context.queue(), state->made.poly.view(), state->host,
                                     poly::Form::evaluation);
          },
      .release = [] {},
      .restore = [&context, state] { context.backend().fill_zero(context.queue(), state->made.poly.view()); },
      .check = [&in, state] { return in.holds(state->made, in.a); },
      .eager_only = true,
      .bytes = state->host.size() * sizeof(std::uint64_t)};
}

Call download_call(const Operands& in) {
  auto host = std::make_shared<std::vector<std::uint64_t>>(in.x.poly.shape().words());
  const rlwe::Context& context = *in.client.context;
  return {.run =
              [&in, &context, host] {
                context.backend().download(context.queue(), *host, in.x.poly.view(), poly::Form::evaluation);
                context.queue().synchronize();
              },
          .release = [] {},
          .restore = [host] { std::fill(host->begin(), host->end(), 0); },
          .check =
              [&in, &context, host] {
                Ciphertext made = in.x.clone();
                context.backend().fill_zero(context.queue(), made.poly.view());
                context.backend().upload(context.queue(), made.poly.view(), *host, poly::Form::evaluation);
                return in.holds(made, in.a);
              },
          .eager_only = true,
          .bytes = host->size() * sizeof(std::uint64_t)};
}

// Files in memory that is new for each, as Python's bytes are.
class NewMemory final : public io::Sink {
 public:
  void write(std::span<const std::byte> data) override {
    const std::span<std::byte> place = room(data.size());
    std::copy(data.begin(), data.end(), place.begin());
  }
  std::span<std::byte> room(std::size_t bytes) override {
    parts_.emplace_back(std::unique_ptr<std::byte[]>(new std::byte[bytes]), bytes);
    return {parts_.back().first.get(), bytes};
  }
  [[nodiscard]] std::vector<std::byte> file() const {
    std::vector<std::byte> all;
    for (const auto& [data, bytes] : parts_) all.insert(all.end(), data.get(), data.get() + bytes);
    return all;
  }

 private:
  std::vector<std::pair<std::unique_ptr<std::byte[]>, std::size_t>> parts_;
};

std::vector<std::byte> saved(const Ciphertext& ciphertext) {
  io::MemorySink file;
  io::save(file, ciphertext);
  return file.take();
}

Call save_call(const Operands& in) {
  Call call = making<std::unique_ptr<NewMemory>>(
      [&in] {
        auto file = std::make_unique<NewMemory>();
        io::save(*file, in.x);
        return file;
      },
      [&in](const std::unique_ptr<NewMemory>& file) {
        return in.holds(io::load_ciphertext(in.client.context, file->file()), in.a);
      },
      true);
  call.bytes = saved(in.x).size();
  return call;
}

Call load_call(const Operands& in) {
  auto file = std::make_shared<const std::vector<std::byte>>(saved(in.x));
  Call call = making_ciphertext(
      in, [&in, file] { return io::load_ciphertext(in.client.context, *file); }, in.a, true);
  call.bytes = file->size();
  return call;
}

}  // namespace

const std::vector<std::string>& operations() {
  static const std::vector<std::string> names = {"add",
                                                 "add_plain",
                                                 "add_plain_encoded",
                                                 "add_scalar",
                                                 "multiply_plain",
                                                 "multiply_plain_encoded",
                                                 "multiply_plain_rescale",
                                                 "multiply_scalar",
                                                 "rescale",
                                                 "mod_switch",
                                                 "multiply_relinearize",
                                                 "square_relinearize",
                                                 "multiply",
                                                 "relinearize",
                                                 "mod_up",
                                                 "key_inner_product",
                                                 "mod_down",
                                                 "dot_8",
                                                 "dot_plain_8",
                                                 "rotate",
                                                 "rotate_hoisted_8",
                                                 "matrix_64",
                                                 "ntt",
                                                 "intt",
                                                 "encode",
                                                 "decode",
                                                 "encrypt_public",
                                                 "encrypt_symmetric",
                                                 "decrypt",
                                                 "secret_key",
                                                 "public_key",
                                                 "relinearization_key",
                                                 "upload",
                                                 "download",
                                                 "save",
                                                 "load",
                                                 "copy_between_gpus"};
  return names;
}

std::optional<runtime::Device> other_gpu(runtime::Device device) {
  for (const runtime::CudaDevice& found : runtime::find_cuda_devices().devices) {
    if (found.index != device.index && found.problem.empty()) {
      return runtime::Device{runtime::Device::Kind::cuda, found.index};
    }
  }
  return std::nullopt;
}

bool has(const Operands& in, const std::string& operation) {
  const bool top = in.level == in.client.context->top_level();
  if (operation == "rescale") return in.client.ckks() && in.level > 0;
  if (operation == "mod_switch") return !in.client.ckks() && in.level > 0;
  if (operation.ends_with("_key")) return top && in.batch == 1;
  // CKKS encodes for a level always.
  if (operation.ends_with("_encoded")) return !in.client.ckks();
  if (operation == "multiply_plain_rescale") return in.client.ckks() && in.level > 0;
  if (operation == "copy_between_gpus") return other_gpu(in.client.context->backend().device()).has_value();
  // BFV and BGV encode for the top level.
  if (operation == "encode" || operation == "decode" || operation.starts_with("encrypt"))
    return in.client.ckks() || top;
  // Where keys may be packed alone: keys and plaintexts of larger primes take several GB more.
  if (operation == "matrix_64") {
    return in.client.ckks() && top && poly::fits(in.client.context->key_base(), poly::Word::u50);
  }
  if (operation == "rotate_hoisted_8") return in.client.evaluator->keys().galois_elements().size() >= 8;
  return true;
}

Call make_call(const Operands& in, const std::string& operation) {
  const rlwe::Evaluator& evaluator = *in.client.evaluator;
  const auto product = [&in] { return in.expected([&](std::size_t i) { return in.a[i] * in.b[i]; }); };
  if (operation == "add") {
    return making_ciphertext(
        in, [&in, &evaluator] { return evaluator.add(in.x, in.y); },
        in.expected([&](std::size_t i) { return in.a[i] + in.b[i]; }));
  }
  if (operation == "add_plain") {
    return changing(
        in, in.x, [&in, &evaluator](Ciphertext& c) { evaluator.add_plain_inplace(c, in.plain_b); },
        in.expected([&](std::size_t i) { return in.a[i] + in.b[i]; }));
  }
  if (operation == "add_plain_encoded") {
    return changing(
        in, in.x,
        [&evaluator, plain = encoded(in)](Ciphertext& c) { evaluator.add_plain_inplace(c, *plain); },
        in.expected([&](std::size_t i) { return in.a[i] + in.b[i]; }));
  }
  if (operation == "add_scalar") {
    const rlwe::Scalar scalar = in.client.ckks() ? rlwe::Scalar(0.5) : rlwe::Scalar(3);
    const double term = in.client.ckks() ? 0.5 : 3;
    return changing(
        in, in.x, [&evaluator, scalar](Ciphertext& c) { evaluator.add_scalar_inplace(c, scalar); },
        in.expected([&](std::size_t i) { return in.a[i] + term; }));
  }
  if (operation == "multiply_plain_encoded") {
    return making_ciphertext(
        in, [&in, &evaluator, plain = encoded(in)] { return evaluator.multiply_plain(in.x, *plain); },
        product());
  }
  if (operation == "multiply_plain_rescale") return multiply_plain_rescale_call(in);
  if (operation == "multiply") return multiply_call(in);
  if (bench::chosen(switch_steps(), operation)) return make_switch_step(in, operation);
  if (operation == "multiply_plain") {
    return making_ciphertext(
        in, [&in, &evaluator] { return evaluator.multiply_plain(in.x, in.plain_b); }, product());
  }
  if (operation == "multiply_scalar") {
    const rlwe::Scalar scalar = in.client.ckks() ? rlwe::Scalar(0.5) : rlwe::Scalar(3);
    const double factor = in.client.ckks() ? 0.5 : 3;
    return changing(
        in, in.x, [&evaluator, scalar](Ciphertext& c) { evaluator.multiply_scalar_inplace(c, scalar); },
        in.expected([&](std::size_t i) { return in.a[i] * factor; }));
  }
  if (operation == "rescale" || operation == "mod_switch") return rescale_call(in);
  if (operation == "multiply_relinearize") {
    return making_ciphertext(
        in, [&in, &evaluator] { return evaluator.multiply(in.x, in.y); }, product());
  }
  if (operation == "square_relinearize") {
    return making_ciphertext(
        in, [&in, &evaluator] { return evaluator.square(in.x); },
        in.expected([&](std::size_t i) { return in.a[i] * in.a[i]; }));
  }
  if (operation == "dot_8") {
    return dot_call<Ciphertext>(in, [&in] { return in.y.clone(); });
  }
  if (operation == "dot_plain_8") {
    return dot_call<Plaintext>(in, [&in] { return in.client.encode(in.b, in.batch, in.level); });
  }
  if (operation == "rotate") {
    return making_ciphertext(
        in, [&in, &evaluator] { return evaluator.rotate(in.x, 1); },
        in.expected([&](std::size_t i) { return in.a[in.rotated(i, 1)]; }));
  }
  if (operation == "rotate_hoisted_8") return rotate_hoisted_call(in);
  if (operation == "matrix_64") return matrix_call(in);
  if (operation == "ntt" || operation == "intt") {
    return make_transform(in.client, in.batch, in.client.context->base(in.level).size(), operation == "intt");
  }
  if (operation == "encode") return encode_call(in);
  if (operation == "decode") return decode_call(in);
  if (operation == "encrypt_public" || operation == "encrypt_symmetric") {
    const bool with_public_key = operation == "encrypt_public";
    return making_ciphertext(
        in, [&in, with_public_key] { return in.client.encrypt(in.plain_a, with_public_key); }, in.a, true);
  }
  if (operation == "decrypt") {
    return making<Plaintext>([&in] { return in.client.decrypt(in.x); },
                             [&in](const Plaintext& p) { return in.same(in.client.decode(p), in.a); });
  }
  if (operation == "secret_key") return secret_key_call(in);
  if (operation == "public_key") return public_key_call(in);
  if (operation == "relinearization_key") return relinearization_key_call(in);
  if (operation == "upload") return upload_call(in);
  if (operation == "download") return download_call(in);
  if (operation == "save") return save_call(in);
  if (operation == "load") return load_call(in);
  if (operation == "copy_between_gpus") return copy_call(in);
  throw std::invalid_argument("there is no operation '" + operation + "'; --list tells them");
}

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
