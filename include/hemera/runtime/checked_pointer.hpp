// Shared pointers to what an object may lack.
#pragma once

#include <memory>
#include <utility>

namespace hemera::runtime {

/// A std::shared_ptr that throws where it is followed and is null, as in an object that was moved from or
/// never made: no such object ends the process. The pointee's namespace says which error that is, by a
/// function `throw_null(const T*)`.
template <typename T>
class CheckedPointer : public std::shared_ptr<T> {
 public:
  using std::shared_ptr<T>::shared_ptr;
  CheckedPointer(const std::shared_ptr<T>& pointer) noexcept : std::shared_ptr<T>(pointer) {}
  CheckedPointer(std::shared_ptr<T>&& pointer) noexcept : std::shared_ptr<T>(std::move(pointer)) {}

  [[nodiscard]] T& operator*() const { return *checked(); }
  [[nodiscard]] T* operator->() const { return checked(); }

 private:
  [[nodiscard]] T* checked() const {
    T* const found = this->get();
    if (found == nullptr) [[unlikely]]
      throw_null(found);
    return found;
  }
};

}  // namespace hemera::runtime
