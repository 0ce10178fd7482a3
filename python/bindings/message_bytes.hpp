// Messages as Python's bytes, written and summed up in place.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/runtime/checksum.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/sha256.hpp"
#include "huge_pages.hpp"

namespace hemera::python {

/// The bytes of parts and of a digest at their end, before anybody else has them. The digest is that of the
/// checksums of the parts' pieces (runtime::checksums_of_pieces).
class MessageBytes {
 public:
  explicit MessageBytes(const std::vector<std::size_t>& sizes) : is_summed_(sizes.size()), ends_{0} {
    for (const std::size_t size : sizes) {
      ends_.push_back(ends_.back() + size);
      checksums_.emplace_back(runtime::checksum_pieces(size));
    }
    bytes_ = nb::steal(PyBytes_FromStringAndSize(
        nullptr, static_cast<Py_ssize_t>(ends_.back() + sizeof(runtime::Sha256Digest))));
    if (!bytes_.is_valid()) nb::raise_python_error();
    use_huge_pages(content(), ends_.back());
  }

  /// A view of a part to write to, which keeps the bytes.
  [[nodiscard]] nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>> part(std::size_t i) {
    const std::span<std::byte> place = bytes(i);
    return {place.data(), {place.size()}, bytes_};
  }
  /// The bytes of a part.
  [[nodiscard]] std::span<std::byte> bytes(std::size_t i) const {
    if (!bytes_.is_valid()) throw ParameterError("the bytes are finished, and no longer written to");
    if (i + 1 >= ends_.size()) throw ParameterError("the bytes have no such part");
    return {content() + ends_[i], ends_[i + 1] - ends_[i]};
  }
  /// For who writes a part and its checksums.
  [[nodiscard]] std::span<std::uint64_t> checksums(std::size_t i) {
    is_summed_[i] = true;
    return checksums_[i];
  }
  /// Before the time of the message counts: takes the checksums of parts that are written, and touches the
  /// memory of all others.
  void settle(const std::vector<std::size_t>& written) {
    constexpr std::size_t page = 4096;
    const ReleasedGil release;
    take_checksums(written);
    for (std::size_t i = 0; i < checksums_.size(); ++i) {
      if (is_summed_[i]) continue;
      const std::span<std::byte> place = bytes(i);
      for (std::size_t at = 0; at < place.size(); at += page) place[at] = std::byte{0};
    }
  }
  /// The message. Parts may be written until then, those whose checksums are taken may not.
  [[nodiscard]] nb::object finish() {
    {
      const ReleasedGil release;
      std::vector<std::size_t> all(checksums_.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
      take_checksums(all);
      std::vector<std::uint64_t> joined;
      for (const auto& of_part : checksums_) joined.insert(joined.end(), of_part.begin(), of_part.end());
      const runtime::Sha256Digest last = runtime::sha256(std::as_bytes(std::span(joined)));
      std::ranges::copy(std::as_bytes(std::span(last)), content() + ends_.back());
    }
    return std::exchange(bytes_, nb::object());
  }

 private:
  [[nodiscard]] std::byte* content() const {
    return reinterpret_cast<std::byte*>(PyBytes_AsString(bytes_.ptr()));
  }
  /// Takes the checksums of these parts that have none.
  void take_checksums(const std::vector<std::size_t>& parts) {
    std::vector<std::span<const std::byte>> left;
    for (const std::size_t i : parts) left.push_back(is_summed_[i] ? std::span<std::byte>{} : bytes(i));
    const std::vector<std::uint64_t> found = runtime::checksums_of_pieces(left);
    auto next = found.begin();
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (is_summed_[parts[k]]) continue;
      const auto end = next + static_cast<std::ptrdiff_t>(checksums_[parts[k]].size());
      std::copy(next, end, checksums_[parts[k]].begin());
      next = end;
      is_summed_[parts[k]] = true;
    }
  }

  nb::object bytes_;
  std::vector<bool> is_summed_;
  std::vector<std::size_t> ends_;                      // of all parts before each
  std::vector<std::vector<std::uint64_t>> checksums_;  // [part, piece]
};

}  // namespace hemera::python
