// Parameters for a circuit. A client in a browser takes those of its server instead.
#include <string>

#include "c/buffer.hpp"
#include "c/handles.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"

using namespace hemera;

namespace {

void save_parameters(const rlwe::Parameters& parameters, hemera_buffer* file) {
  c::give_bytes(file, io::save(parameters));
}

}  // namespace

hemera_status hemera_ckks_parameters(size_t depth, int32_t scale_bits, size_t slots, hemera_buffer* file) {
  HEMERA_C_RESULT(file);
  return c::guarded([&] {
    save_parameters(ckks::parameters_for({.depth = depth, .scale_bits = scale_bits, .slots = slots}), file);
  });
}

hemera_status hemera_integer_parameters(int32_t scheme, size_t depth, int32_t plain_bits, size_t slots,
                                        hemera_buffer* file) {
  HEMERA_C_RESULT(file);
  return c::guarded([&] {
    const integer::CircuitRequest request{.depth = depth, .plain_bits = plain_bits, .slots = slots};
    if (scheme != HEMERA_BFV && scheme != HEMERA_BGV) {
      throw ParameterError("scheme " + std::to_string(scheme) +
                           " computes on no integers; HEMERA_BFV and HEMERA_BGV do");
    }
    save_parameters(scheme == HEMERA_BFV ? bfv::parameters_for(request) : bgv::parameters_for(request), file);
  });
}
