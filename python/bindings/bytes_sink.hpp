// Files as Python's bytes, written in place.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "bindings.hpp"
#include "hemera/io/container.hpp"
#include "huge_pages.hpp"

namespace hemera::python {

/// Collects a file in the bytes object that Python gets, so that no copy is needed. Works without the
/// interpreter lock, which it takes to allocate. It grows by no more than the bytes that are written (or
/// expected), so that a secret, which comes last, is never moved.
class BytesSink final : public io::Sink {
 public:
  /// Needs the interpreter lock, as the destructor does.
  BytesSink() : bytes_(PyBytes_FromStringAndSize(nullptr, 0)) {
    if (bytes_ == nullptr) throw nb::python_error();
  }
  BytesSink(const BytesSink&) = delete;
  BytesSink& operator=(const BytesSink&) = delete;
  ~BytesSink() override { Py_XDECREF(bytes_); }

  void write(std::span<const std::byte> data) override {
    const std::span<std::byte> place = room(data.size());
    std::copy(data.begin(), data.end(), place.begin());
  }
  std::span<std::byte> room(std::size_t bytes) override {
    if (bytes > capacity_ - size_) resize(size_ + bytes);
    const std::size_t begin = std::exchange(size_, size_ + bytes);
    return {content() + begin, bytes};
  }
  void expect(std::size_t bytes) override {
    if (bytes > capacity_ - size_) resize(size_ + bytes);
  }
  /// The file. Needs the interpreter lock.
  nb::bytes take() {
    if (capacity_ != size_) resize(size_);
    return nb::steal<nb::bytes>(std::exchange(bytes_, nullptr));
  }

 private:
  void resize(std::size_t bytes) {
    const AcquiredGil acquire;
#ifdef Py_LIMITED_API
    // The stable ABI can not resize: what is written moves, and what stays behind is cleared.
    PyObject* moved = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes));
    if (moved == nullptr) throw nb::python_error();
    std::swap(bytes_, moved);
    std::byte* old = reinterpret_cast<std::byte*>(PyBytes_AsString(moved));
    std::copy_n(old, std::min(size_, bytes), content());
    std::fill_n(old, size_, std::byte{0});
    Py_DECREF(moved);
#else
    if (_PyBytes_Resize(&bytes_, static_cast<Py_ssize_t>(bytes)) != 0) throw nb::python_error();
#endif
    capacity_ = bytes;
    use_huge_pages(content(), capacity_);
  }
  [[nodiscard]] std::byte* content() const { return reinterpret_cast<std::byte*>(PyBytes_AsString(bytes_)); }

  PyObject* bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace hemera::python
