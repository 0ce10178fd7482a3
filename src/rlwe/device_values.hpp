// Values on their way between a host array and a backend.
#pragma once

#include <cstddef>
#include <span>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::rlwe {

/// The values of a host array where the backend finds them: on a GPU a buffer in its memory, elsewhere the
/// array itself. The array must outlive it.
template <typename T>
class DeviceValues {
 public:
  DeviceValues(const Context& context, std::span<T> host, runtime::Secrecy secrecy)
      : context_(context), host_(host), data_(host.data()) {
    if (context.backend().device().kind != runtime::Device::Kind::cuda) return;
    buffer_ = {context.memory(), host.size_bytes(), secrecy};
    data_ = reinterpret_cast<T*>(buffer_.data());
  }

  [[nodiscard]] T* data() const { return data_; }
  void upload() const {
    if (buffer_) context_.backend().upload_values(context_.queue(), bytes(), std::as_bytes(host_));
  }
  /// The values are in the host array when it returns.
  void download() const {
    if (buffer_) context_.backend().download_values(context_.queue(), std::as_writable_bytes(host_), bytes());
    context_.queue().synchronize();
  }

 private:
  [[nodiscard]] std::span<std::byte> bytes() const {
    return std::as_writable_bytes(std::span(data_, host_.size()));
  }

  const Context& context_;
  std::span<T> host_;
  runtime::Buffer buffer_;
  T* data_;
};

/// Values that are only read, without const: the views of values serve both directions.
template <typename T>
std::span<T> readable(std::span<const T> values) {
  return {const_cast<T*>(values.data()), values.size()};
}

}  // namespace hemera::rlwe
