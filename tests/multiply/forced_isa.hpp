#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace hemera::multiply {

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
