// What most programs use: schemes, keys, files, plans of circuits, errors and warnings. Each header that it
// names can be included by itself.
#pragma once

#if __cplusplus <= 201703L
#error "Hemera needs C++20: -std=c++20, or target_compile_features(program PRIVATE cxx_std_20)"
#endif

#include "hemera/circuits/automatic.hpp"
#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"
#include "hemera/circuits/bootstrap/integer_bootstrap.hpp"
#include "hemera/circuits/functions/elementary.hpp"
#include "hemera/circuits/linear/diagonals.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/warning.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/version.hpp"
