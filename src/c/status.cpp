#include <exception>
#include <new>
#include <string>

#include "c/handles.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/version.hpp"

namespace hemera::c {
namespace {

thread_local std::string last_error;

hemera_status noted(hemera_status status, const char* text) noexcept {
  try {
    last_error = text;
  } catch (const std::bad_alloc&) {
    last_error.clear();  // the status is all that there is memory for
  }
  return status;
}

template <typename Exception>
bool is(const std::exception& error) {
  return dynamic_cast<const Exception*>(&error) != nullptr;
}

// The most special class comes first.
hemera_status status_of(const std::exception& error) {
  if (is<SecurityError>(error)) return HEMERA_SECURITY_ERROR;
  if (is<ParameterError>(error)) return HEMERA_PARAMETER_ERROR;
  if (is<MismatchError>(error)) return HEMERA_MISMATCH_ERROR;
  if (is<MissingKeyError>(error)) return HEMERA_MISSING_KEY_ERROR;
  if (is<LevelError>(error)) return HEMERA_LEVEL_ERROR;
  if (is<ScaleError>(error)) return HEMERA_SCALE_ERROR;
  if (is<RangeError>(error)) return HEMERA_RANGE_ERROR;
  if (is<NoiseError>(error)) return HEMERA_NOISE_ERROR;
  if (is<FormatError>(error)) return HEMERA_FORMAT_ERROR;
  if (is<FileError>(error)) return HEMERA_FILE_ERROR;
  if (is<OutOfMemoryError>(error) || is<std::bad_alloc>(error)) return HEMERA_OUT_OF_MEMORY_ERROR;
  if (is<DeviceError>(error)) return HEMERA_DEVICE_ERROR;
  return HEMERA_INTERNAL_ERROR;
}

}  // namespace

hemera_status failed() noexcept {
  try {
    throw;
  } catch (const Stopped& stopped) {
    return noted(HEMERA_CALLER_ERROR, stopped.text());
  } catch (const std::exception& error) {
    return noted(status_of(error), error.what());
  } catch (...) {
    return noted(HEMERA_INTERNAL_ERROR, "an exception without a text");
  }
}

hemera_status null_argument(const char* function, const char* argument) noexcept {
  try {
    return noted(HEMERA_NULL_ERROR,
                 (std::string(function) + " needs " + argument + ", which is null").c_str());
  } catch (const std::bad_alloc&) {
    return noted(HEMERA_NULL_ERROR, function);
  }
}

}  // namespace hemera::c

uint32_t hemera_interface(void) { return 1002; }
const char* hemera_version(void) { return HEMERA_VERSION; }
const char* hemera_error(void) { return hemera::c::last_error.c_str(); }
