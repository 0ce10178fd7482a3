#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "poly/cpu/kernels.hpp"

namespace hemera::multiply {

/// The instruction sets that this processor has, by name.
inline std::vector<const char*> instruction_sets() {
  std::vector<const char*> names;
  for (const poly::cpu::Kernels* kernels : poly::cpu::available_kernels()) names.push_back(kernels->name);
  return names;
}

/// Forces an instruction set for as long as it lives; none if the name is empty.
class ForcedIsa {
 public:
  explicit ForcedIsa(const char* name) {
    if (const char* before = std::getenv("HEMERA_ISA")) before_ = before;
    if (*name != 0) setenv("HEMERA_ISA", name, 1);
  }
  ~ForcedIsa() {
    if (before_) {
      setenv("HEMERA_ISA", before_->c_str(), 1);
    } else {
      unsetenv("HEMERA_ISA");
    }
  }

 private:
  std::optional<std::string> before_;
};

}  // namespace hemera::multiply
