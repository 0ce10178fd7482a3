// The exceptions that Hemera throws. Each message names the clash and the way out.
#pragma once

#include <stdexcept>
#include <string>

namespace hemera {

/// Base of every exception that Hemera throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A parameter is out of its range, or parameters do not fit together.
class ParameterError : public Error {
  using Error::Error;
};
/// Parameters are weaker than the security level asked for.
class SecurityError : public ParameterError {
  using ParameterError::ParameterError;
};
/// Two objects do not belong together: different contexts, shapes, levels or forms.
class MismatchError : public Error {
  using Error::Error;
};
/// An operation needs an evaluation key that was not given.
class MissingKeyError : public Error {
  using Error::Error;
};
/// No level is left for the operation.
class LevelError : public Error {
  using Error::Error;
};
/// The scales of two CKKS operands differ by more than rounding, or a scale leaves no room.
class ScaleError : public Error {
  using Error::Error;
};
/// Values lie, by their declared bounds, where an operation is wrong.
class RangeError : public Error {
  using Error::Error;
};
/// The noise leaves no exact or precise result.
class NoiseError : public Error {
  using Error::Error;
};
/// Bytes are not a well-formed object of Hemera's file format.
class FormatError : public Error {
  using Error::Error;
};
/// A file could not be read or written.
class FileError : public Error {
  using Error::Error;
};
/// The device does not have the requested memory.
class OutOfMemoryError : public Error {
  using Error::Error;
};
/// A device is missing, unknown or reported a failure.
class DeviceError : public Error {
  using Error::Error;
};

}  // namespace hemera
