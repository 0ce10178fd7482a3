// The version of these headers.
#pragma once

#define HEMERA_VERSION_MAJOR 0
#define HEMERA_VERSION_MINOR 2
#define HEMERA_VERSION_PATCH 0
#define HEMERA_VERSION "0.2.0"
