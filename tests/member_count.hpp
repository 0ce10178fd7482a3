// How many members a struct has: a table with an entry for each fails when one is added.
#pragma once

#include <cstddef>
#include <utility>

namespace hemera::tests {

struct AnyMember {
  template <typename T>
  operator T() const;  // NOLINT: it stands for a value of any type
};

/// The number of members of an aggregate without arrays.
template <typename T, typename... Members>
consteval std::size_t member_count() {
  if constexpr (requires { T{std::declval<Members>()..., std::declval<AnyMember>()}; }) {
    return member_count<T, Members..., AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

}  // namespace hemera::tests
