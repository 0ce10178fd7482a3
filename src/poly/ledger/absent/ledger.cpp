// In place of poly/ledger where HEMERA_CLIENT_ONLY leaves it out: there are no dry runs.
#include "hemera/poly/ledger.hpp"

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::poly {

std::shared_ptr<const Backend> make_ledger_backend(std::shared_ptr<const Ring> /*ring*/,
                                                   std::shared_ptr<Ledger> /*ledger*/, int /*threads*/) {
  throw DeviceError(
      "this library is a client's and has no device \"ledger\"; build without HEMERA_CLIENT_ONLY");
}

std::shared_ptr<const Backend> make_counted_backend(std::shared_ptr<const Backend> /*backend*/,
                                                    std::shared_ptr<Ledger> /*ledger*/, bool /*timed*/) {
  throw DeviceError("this library is a client's and counts no operations; build without HEMERA_CLIENT_ONLY");
}

}  // namespace hemera::poly
