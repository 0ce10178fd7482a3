// The extension module hemera._core: a thin layer over the C++ classes. The package `hemera` builds its
// public interface on it.
#include <nanobind/nanobind.h>

#include "bindings.hpp"
#include "hemera/runtime/warning.hpp"

NB_MODULE(_core, m) {
  // The frames of daemon threads keep objects to the end; nanobind would report these on stderr.
  nanobind::set_leak_warnings(false);
  // The package warns by itself, at the user's line (_noise_warning.py).
  hemera::set_warning_handler({});
  m.doc() = "The compiled core of Hemera; use the package `hemera` instead.";
  hemera::python::bind_errors(m);
  hemera::python::bind_interruption(m);
  hemera::python::bind_parameters(m);
  hemera::python::bind_context(m);
  hemera::python::bind_cuda_library(m);
  hemera::python::bind_keys(m);
  hemera::python::bind_ciphertext(m);
  hemera::python::bind_schemes(m);
  hemera::python::bind_evaluator(m);
  hemera::python::bind_device_array(m);
  hemera::python::bind_circuits(m);
  hemera::python::bind_bootstrap(m);
  hemera::python::bind_functions(m);
  hemera::python::bind_slot_circuits(m);
  hemera::python::bind_matrix_products(m);
  hemera::python::bind_graph(m);
  hemera::python::bind_io(m);
  hemera::python::bind_interop_openfhe(m);
  hemera::python::bind_interop_seal(m);
  hemera::python::bind_transfer(m);
  hemera::python::bind_multiply(m);
  hemera::python::bind_shared_circuits(m);
  hemera::python::bind_search(m);
  hemera::python::bind_multiparty(m);
  hemera::python::bind_groups(m);
}
