// The calls of clients: values, keys and copies on their way.
#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "gpu/calls.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"

namespace hemera::gpu_bench {
namespace {

using rlwe::Ciphertext;
using rlwe::Plaintext;

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

using SharedKey = std::shared_ptr<const rlwe::SwitchingKey>;

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

}  // namespace

Call encode_call(const Operands& in) {
  return in.client.ckks() ? encode_on_device<ComplexValues>(in) : encode_on_device<IntegerValues>(in);
}

Call decode_call(const Operands& in) {
  return in.client.ckks() ? decode_on_device<ComplexValues>(in) : decode_on_device<IntegerValues>(in);
}

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
        return in.holds(evaluator->multiply(in.x, in.y), products(in));
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

std::optional<runtime::Device> other_gpu(runtime::Device device) {
  for (const runtime::CudaDevice& found : runtime::find_cuda_devices().devices) {
    if (found.index != device.index && found.problem.empty()) {
      return runtime::Device{runtime::Device::Kind::cuda, found.index};
    }
  }
  return std::nullopt;
}

}  // namespace hemera::gpu_bench
