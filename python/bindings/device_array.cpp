// Values that stay on a device: arrays of other libraries, which are encoded, and decoded arrays for them.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/device.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using rlwe::Context;
using rlwe::Plaintext;
using Complex = std::complex<double>;

/// An array in a context's memory that other libraries read. It is reused after their streams have passed.
class DeviceArray {
 public:
  enum class Kind : std::uint8_t { complex128, float64, int64, uint64 };

  DeviceArray(std::shared_ptr<const Context> context, const rlwe::Metadata& meta, Kind kind)
      : context_(std::move(context)), kind_(kind), shape_(meta.batch) {
    shape_.push_back(meta.slots);
    std::size_t bytes = kind == Kind::complex128 ? sizeof(Complex) : sizeof(double);
    for (const std::size_t extent : shape_) bytes *= extent;
    buffer_ = runtime::Buffer(context_->memory(), bytes, runtime::Secrecy::secret);
  }
  ~DeviceArray() {
    try {
      runtime::Queue& queue = context_->queue();
      if (unknown_reader_) queue.synchronize_device();
      for (const std::uintptr_t stream : readers_) queue.wait_for_stream(stream);
    } catch (const Error&) {
      // The device has failed, or a graph is being captured: its memory must not serve others.
    }
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] std::byte* data() { return buffer_.data(); }
  [[nodiscard]] const std::byte* data() const { return buffer_.data(); }
  [[nodiscard]] const std::vector<std::size_t>& shape() const { return shape_; }
  [[nodiscard]] int device() const { return context_->backend().device().index; }

  /// The stream may read the array from now on.
  void admit(std::uintptr_t stream) {
    static_cast<void>(std::as_const(buffer_).data());
    context_->queue().make_stream_wait(stream);
    readers_.insert(stream);
  }
  /// A stream in which the array is ready, for readers that wait for it on their own.
  std::uintptr_t admit_unknown() {
    static_cast<void>(std::as_const(buffer_).data());
    unknown_reader_ = true;
    return context_->queue().stream();
  }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const char* type() const {
    switch (kind_) {
      case Kind::complex128:
        return "<c16";
      case Kind::float64:
        return "<f8";
      case Kind::int64:
        return "<i8";
      default:
        return "<u8";
    }
  }

 private:
  std::shared_ptr<const Context> context_;
  Kind kind_;
  std::vector<std::size_t> shape_;
  runtime::Buffer buffer_;
  std::set<std::uintptr_t> readers_;
  bool unknown_reader_ = false;
};

std::unique_ptr<DeviceArray> decode_complex(const ContextHandle& handle, const Plaintext& plaintext,
                                            bool real) {
  using Kind = DeviceArray::Kind;
  const Context& context = *handle.context;
  const rlwe::Metadata& meta = plaintext.meta;
  const std::size_t batch = rlwe::batch_count(meta.batch);
  auto complex = std::make_unique<DeviceArray>(handle.context, meta, Kind::complex128);
  const poly::SlotView slots{reinterpret_cast<Complex*>(complex->data()), batch, meta.slots};
  ckks::Encoder(handle.context).decode_to(slots, plaintext);
  if (!real) return complex;
  auto result = std::make_unique<DeviceArray>(handle.context, meta, Kind::float64);
  context.backend().collect_slots(
      context.queue(), {reinterpret_cast<double*>(result->data()), false, batch, meta.slots}, slots);
  return result;
}

std::unique_ptr<DeviceArray> decode_integers(const ContextHandle& context, const Plaintext& plaintext,
                                             bool is_signed) {
  using Kind = DeviceArray::Kind;
  const rlwe::Metadata& meta = plaintext.meta;
  auto result = std::make_unique<DeviceArray>(context.context, meta, is_signed ? Kind::int64 : Kind::uint64);
  integer::Encoder(context.context)
      .decode_to({reinterpret_cast<std::int64_t*>(result->data()), rlwe::batch_count(meta.batch), meta.slots},
                 plaintext, is_signed);
  return result;
}

/// The array as a DLPack tensor that keeps `self`, the Python object of a DeviceArray, alive.
nb::ndarray<> as_dlpack(nb::object self) {
  using Code = nb::dlpack::dtype_code;
  constexpr int cuda = 2;  // kDLCUDA
  const auto& array = nb::cast<const DeviceArray&>(self);
  const auto dtype = [&]() -> nb::dlpack::dtype {
    switch (array.kind()) {
      case DeviceArray::Kind::complex128:
        return {static_cast<std::uint8_t>(Code::Complex), 128, 1};
      case DeviceArray::Kind::float64:
        return {static_cast<std::uint8_t>(Code::Float), 64, 1};
      case DeviceArray::Kind::int64:
        return {static_cast<std::uint8_t>(Code::Int), 64, 1};
      default:
        return {static_cast<std::uint8_t>(Code::UInt), 64, 1};
    }
  };
  return {const_cast<std::byte*>(array.data()),
          array.shape().size(),
          array.shape().data(),
          self,
          nullptr,
          dtype(),
          cuda,
          array.device()};
}

/// A contiguous array of another library on a device: the place of its values, and the way to wait for them.
struct ForeignArray {
  std::uintptr_t pointer;
  std::vector<std::size_t> shape;
  /// The stream that made the array and may free it later. Empty: the values are ready, and the call waits
  /// until they are read.
  std::optional<std::uintptr_t> stream;

  [[nodiscard]] rlwe::BatchShape batch() const { return {shape.begin(), shape.end() - 1}; }
  [[nodiscard]] std::size_t count() const { return shape.back(); }
};

/// Calls encode() once the values are ready, and makes their owner wait until they are read.
template <typename Encode>
Plaintext read_foreign(const Context& context, const ForeignArray& values, const Encode& encode) {
  if (values.stream) context.queue().wait_for_stream(*values.stream);
  Plaintext result = encode();
  if (values.stream) {
    context.queue().make_stream_wait(*values.stream);
  } else {
    context.queue().synchronize();
  }
  return result;
}

Plaintext encode_device_complex(const ContextHandle& handle, const ForeignArray& values, bool real,
                                std::size_t slots, std::optional<std::size_t> level,
                                std::optional<double> scale) {
  const Context& context = *handle.context;
  const std::size_t rows = rlwe::batch_count(values.batch());
  runtime::Buffer padded(context.memory(), rows * slots * sizeof(Complex), runtime::Secrecy::secret);
  const poly::SlotView view{reinterpret_cast<Complex*>(padded.data()), rows, slots};
  return read_foreign(context, values, [&] {
    context.backend().place_slots(context.queue(), view,
                                  {reinterpret_cast<double*>(values.pointer), !real, rows, values.count()});
    return ckks::Encoder(handle.context).encode(view, values.batch(), level, scale);
  });
}

Plaintext encode_device_integers(const ContextHandle& handle, const ForeignArray& values, bool slots,
                                 std::optional<std::size_t> level) {
  const poly::IntegerView view{reinterpret_cast<std::int64_t*>(values.pointer),
                               rlwe::batch_count(values.batch()), values.count()};
  return read_foreign(*handle.context, values, [&] {
    return integer::Encoder(handle.context)
        .encode(view, values.batch(), slots ? rlwe::Encoding::slots : rlwe::Encoding::coefficients, level);
  });
}

/// The array of a DLPack capsule, kept alive.
struct ImportedArray {
  nb::ndarray<nb::ro> array;

  /// The type of its values as NumPy writes it; raw bytes ("|V2") for types that NumPy does not have.
  [[nodiscard]] std::string type() const {
    const nb::dlpack::dtype dtype = array.dtype();
    const std::string bytes = std::to_string(dtype.bits / 8 * dtype.lanes);
    if (dtype.lanes == 1) {
      switch (static_cast<nb::dlpack::dtype_code>(dtype.code)) {
        case nb::dlpack::dtype_code::Int:
          return "<i" + bytes;
        case nb::dlpack::dtype_code::UInt:
          return "<u" + bytes;
        case nb::dlpack::dtype_code::Float:
          return "<f" + bytes;
        case nb::dlpack::dtype_code::Complex:
          return "<c" + bytes;
        case nb::dlpack::dtype_code::Bool:
          return "|b1";
        default:
          break;
      }
    }
    return "|V" + bytes;
  }
  [[nodiscard]] std::vector<std::size_t> shape() const {
    std::vector<std::size_t> result;
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) result.push_back(array.shape(axis));
    return result;
  }
  [[nodiscard]] std::vector<std::int64_t> strides() const {
    std::vector<std::int64_t> result;
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) result.push_back(array.stride(axis));
    return result;
  }
};

}  // namespace

void bind_device_array(nb::module_& m) {
  nb::class_<DeviceArray>(m, "DeviceArray")
      .def_prop_ro("shape", &DeviceArray::shape)
      .def_prop_ro("type", &DeviceArray::type)
      .def_prop_ro("device", &DeviceArray::device)
      .def_prop_ro("pointer",
                   [](const DeviceArray& self) { return reinterpret_cast<std::uintptr_t>(self.data()); })
      .def("admit", &DeviceArray::admit, "stream"_a)
      .def("admit_unknown", &DeviceArray::admit_unknown)
      .def("as_dlpack", &as_dlpack, nb::sig("def as_dlpack(self) -> object"));
  nb::class_<ImportedArray>(m, "ImportedArray")
      .def_prop_ro(
          "pointer",
          [](const ImportedArray& self) { return reinterpret_cast<std::uintptr_t>(self.array.data()); })
      .def_prop_ro("type", &ImportedArray::type)
      .def_prop_ro("shape", &ImportedArray::shape)
      .def_prop_ro("strides", &ImportedArray::strides)
      .def_prop_ro("device", [](const ImportedArray& self) { return self.array.device_id(); });
  m.def(
      "import_dlpack", [](nb::ndarray<nb::ro> capsule) { return ImportedArray{std::move(capsule)}; },
      "capsule"_a, nb::sig("def import_dlpack(capsule: object) -> ImportedArray"));
  m.def(
      "cuda_device_of",
      [](std::uintptr_t pointer) { return runtime::cuda_device_of(reinterpret_cast<const void*>(pointer)); },
      "pointer"_a, ReleaseGil());
  m.def(
      "stream", [](const ContextHandle& context) { return context.context->queue().stream(); }, "context"_a);

  m.def(
      "encode_complex_on_device",
      [](const ContextHandle& context, std::uintptr_t pointer, std::vector<std::size_t> shape,
         std::optional<std::uintptr_t> stream, bool real, std::size_t slots, std::optional<std::size_t> level,
         std::optional<double> scale) {
        return encode_device_complex(context, {pointer, std::move(shape), stream}, real, slots, level, scale);
      },
      "context"_a, "pointer"_a, "shape"_a, "stream"_a.none(), "real"_a, "slots"_a, "level"_a.none(),
      "scale"_a.none(), ReleaseGil());
  m.def(
      "encode_integers_on_device",
      [](const ContextHandle& context, std::uintptr_t pointer, std::vector<std::size_t> shape,
         std::optional<std::uintptr_t> stream, bool slots, std::optional<std::size_t> level) {
        return encode_device_integers(context, {pointer, std::move(shape), stream}, slots, level);
      },
      "context"_a, "pointer"_a, "shape"_a, "stream"_a.none(), "slots"_a, "level"_a.none(), ReleaseGil());
  m.def("decode_complex_on_device", &decode_complex, "context"_a, "plaintext"_a, "real"_a, ReleaseGil());
  m.def("decode_integers_on_device", &decode_integers, "context"_a, "plaintext"_a, "signed"_a, ReleaseGil());
}

}  // namespace hemera::python
