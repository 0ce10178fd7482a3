// What programs that HEIR emits for Hemera include (heir-translate --emit-hemera).
#pragma once

#include "hemera_heir/constants.hpp"
#include "hemera_heir/crypto_context.hpp"
#include "hemera_heir/parameters.hpp"
#include "hemera_heir/values.hpp"
