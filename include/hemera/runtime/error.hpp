// The exceptions that Hemera throws. Each message names the clash and the way out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hemera {

/// Ways out of an error that are functions and settings: each language has names of its own for them
/// (docs/decisions/ways-out.md).
enum class WayOut : std::uint8_t {
  array_of_host,
  automatic_evaluator,
  bootstrapping_parameters,
  bound_of_values,
  clipped_function,
  encoding_like_operand,
  evaluator_with_keys,
  exact_bootstrapping_parameters,
  keys_of_plan,
  keys_of_rotation,
  keys_of_transform,
  keys_with_others,
  larger_bound,
  no_fork,
  no_security,
  other_rows,
  parameters_of_circuit,
  parameters_of_shares,
  parameters_without_security,
  precision,
  public_key,
};

/// The message of an error in parts: text, and ways out.
class Message {
 public:
  struct Part {
    std::string text;  // of a way out: in the words of C++
    std::optional<WayOut> way_out = std::nullopt;
  };
  Message(const char* text) : Message(std::string(text)) {}
  Message(std::string text) { parts_.push_back({std::move(text)}); }
  Message(WayOut way_out, std::string text) { parts_.push_back({std::move(text), way_out}); }

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  /// The parts in the words of C++.
  [[nodiscard]] std::string text() const {
    std::string whole;
    for (const Part& part : parts_) whole += part.text;
    return whole;
  }
  friend Message operator+(Message left, const Message& right) {
    left.parts_.insert(left.parts_.end(), right.parts_.begin(), right.parts_.end());
    return left;
  }

 private:
  std::vector<Part> parts_;
};

/// Base of every exception that Hemera throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  explicit Error(Message message)
      : std::runtime_error(message.text()), message_(std::make_shared<const Message>(std::move(message))) {}

  /// what() in parts.
  [[nodiscard]] Message message() const { return message_ ? *message_ : Message(what()); }

 private:
  std::shared_ptr<const Message> message_;  // null: text alone
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
