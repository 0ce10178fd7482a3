// What libc++ 13, of Debian's Emscripten 3.1.6, lacks of C++20. cmake/wasm includes it before every source; a
// current Emscripten needs none of it.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}
template <class T>
unique_ptr<T> make_unique_for_overwrite() {
  return unique_ptr<T>(new T);
}
template <class T>
unique_ptr<T> make_unique_for_overwrite(size_t n) {
  return unique_ptr<T>(new remove_extent_t<T>[n]);
}

namespace ranges {
template <class R, class T, class P>
bool binary_search(R&& r, const T& value, std::less<>, P projection) {
  const auto found = std::lower_bound(std::begin(r), std::end(r), value, [&](const auto& a, const T& b) {
    return std::invoke(projection, a) < b;
  });
  return found != std::end(r) && !(value < std::invoke(projection, *found));
}
template <class R, class T>
bool binary_search(R&& r, const T& value) {
  return std::binary_search(std::begin(r), std::end(r), value);
}
template <class A, class B>
bool equal(A&& a, B&& b) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b));
}
template <class R, class T>
void fill(R&& r, const T& value) {
  std::fill(std::begin(r), std::end(r), value);
}
template <class R, class T>
auto find(R&& r, const T& value) {
  return std::find(std::begin(r), std::end(r), value);
}
template <class R, class P>
auto min_element(R&& r, std::less<>, P projection) {
  return std::min_element(std::begin(r), std::end(r), [&](const auto& a, const auto& b) {
    return std::invoke(projection, a) < std::invoke(projection, b);
  });
}
template <class R>
auto max_element(R&& r) {
  return std::max_element(std::begin(r), std::end(r));
}
template <class R, class Less>
void sort(R&& r, Less less) {
  std::sort(std::begin(r), std::end(r), less);
}
template <class R>
void sort(R&& r) {
  std::sort(std::begin(r), std::end(r));
}
template <class R, class Equal>
auto adjacent_find(R&& r, Equal equal) {
  return std::adjacent_find(std::begin(r), std::end(r), equal);
}
}  // namespace ranges

namespace hemera_cxx20 {
template <class A, class B>
constexpr strong_ordering three_way(const A& a, const B& b) {
  return a < b ? strong_ordering::less : b < a ? strong_ordering::greater : strong_ordering::equal;
}
}  // namespace hemera_cxx20
template <class... A, class... B>
constexpr strong_ordering operator<=>(const tuple<A...>& a, const tuple<B...>& b) {
  return hemera_cxx20::three_way(a, b);
}
template <class T, class A>
constexpr strong_ordering operator<=>(const vector<T, A>& a, const vector<T, A>& b) {
  return hemera_cxx20::three_way(a, b);
}
template <class A, class B>
constexpr strong_ordering operator<=>(const pair<A, B>& a, const pair<A, B>& b) {
  return hemera_cxx20::three_way(a, b);
}

// Of classes that convert to double.
template <class T, enable_if_t<is_class_v<T> && is_convertible_v<T, double>, int> = 0>
bool isfinite(const T& x) {
  return isfinite(static_cast<double>(x));
}

}  // namespace std
