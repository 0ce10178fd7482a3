// The extension module hemera._core.
#include <nanobind/nanobind.h>

NB_MODULE(_core, m) { m.doc() = "The compiled core of Hemera; use the package `hemera` instead."; }
