// Every exception class of hemera/runtime/error.hpp as a Python exception of the same name and ancestry.
#include <nanobind/stl/string.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::python {

std::string with_tuples(std::string text) {
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find_first_not_of("0123456789, ", at + 1);
    if (end == std::string::npos || text[end] != '}') continue;
    const bool is_single = end > at + 1 && text.find(',', at) > end;
    text.replace(end, 1, is_single ? ",)" : ")");
    text[at] = '(';
  }
  return text;
}

namespace {

/// A class of C++ and Python's.
struct ErrorClass {
  bool (*matches)(const Error*);
  nb::object type;
};
using ErrorClasses = std::vector<ErrorClass>;  // a derived class stands before its base

/// A way out in Python's names.
std::string in_python(const Message::Part& part) {
  switch (part.way_out.value()) {
    case WayOut::array_of_host:
      return "give it as a NumPy array";
    case WayOut::automatic_evaluator:
      return "bind(keys, bootstrap=plan, automatic=True)";
    case WayOut::bootstrapping_parameters:
      return "make them with hm.ckks.Parameters.for_bootstrapping";
    case WayOut::bound_of_values:
      return "the bound of your values, largest=";
    case WayOut::clipped_function:
      return "with clip=True, or declare a smaller bound of the values (largest=)";
    case WayOut::encoding_like_operand:
      return "encode(values, level=y.level, scale=y.scale)";
    case WayOut::evaluator_with_keys:
      return "use the evaluator that has them: x.to(evaluator)";
    case WayOut::exact_bootstrapping_parameters:
      return "make them with hm.bfv.Parameters.for_bootstrapping or hm.bgv.Parameters.for_bootstrapping";
    case WayOut::keys_of_plan:
      return "make keys for the plan (plan= of generate_keys)";
    case WayOut::keys_of_rotation:
      return "generate_keys with plan=circuit, or with rotations";
    case WayOut::keys_of_transform:
      return "make keys for the transform (plan=transform of generate_keys)";
    case WayOut::keys_with_others:
      return "make them with the others: generate_keys(secret_key, plan=circuit) makes all that a circuit "
             "needs";
    case WayOut::larger_bound:
      return "declare a larger bound (for_circuit(largest=))";
    case WayOut::no_fork:
      return "start it without a fork (multiprocessing: the start method 'spawn')";
    case WayOut::no_security:
      return "pass security=None";
    case WayOut::other_rows:
      return "errors=\"mask\" gives the other rows";
    case WayOut::parameters_of_circuit:
      return "for_circuit";
    case WayOut::parameters_of_shares:
      return "as for_circuit(sharing_bits=, shares=) does";
    case WayOut::parameters_without_security:
      return "parameters with security=None";
    case WayOut::precision:
      return "compare with the clear result by hemera.ckks.precision";
    case WayOut::public_key:
      return "make them with generate_keys(secret_key, public_key=True)";
  }
  return part.text;
}

std::string in_python(const Message& message) {
  std::string text;
  for (const Message::Part& part : message.parts()) text += part.way_out ? in_python(part) : part.text;
  return with_tuples(std::move(text));
}

void translate(const std::exception_ptr& pointer, void* payload) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    for (const auto& [matches, type] : *static_cast<const ErrorClasses*>(payload)) {
      if (!matches(&error)) continue;
      // Messages may quote bytes of a file, which need not be UTF-8. A failure here is Python's own error.
      const std::string text = in_python(error.message());
      const auto message = nb::steal(
          PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
      if (message.is_valid()) PyErr_SetObject(type.ptr(), message.ptr());
      return;
    }
  }
}

/// Makes Python's class of a class of C++, of `base` and, if given, `builtin`; bases come first.
template <typename Class>
nb::handle add(ErrorClasses& classes, nb::module_& m, const char* name, const char* doc, nb::handle base,
               PyObject* builtin = nullptr) {
  const nb::object bases =
      builtin == nullptr ? nb::borrow(base) : nb::object(nb::make_tuple(base, nb::handle(builtin)));
  const std::string qualified = nb::cast<std::string>(m.attr("__name__")) + "." + name;
  PyObject* const type = PyErr_NewExceptionWithDoc(qualified.c_str(), doc, bases.ptr(), nullptr);
  if (type == nullptr) throw nb::python_error();
  const auto matches = [](const Error* error) { return dynamic_cast<const Class*>(error) != nullptr; };
  classes.insert(classes.begin(), {matches, nb::steal(type)});
  m.attr(name) = classes.front().type;
  return type;
}

}  // namespace

void bind_errors(nb::module_& m) {
  auto classes = std::make_unique<ErrorClasses>();
  const nb::handle error = add<Error>(
      *classes, m, "Error", "Base of every exception that Hemera raises on purpose.", PyExc_Exception);
  const nb::handle parameter = add<ParameterError>(
      *classes, m, "ParameterError", "A parameter is out of its range, or parameters do not fit together.",
      error, PyExc_ValueError);
  add<SecurityError>(*classes, m, "SecurityError", "Parameters are weaker than the required security level.",
                     parameter);
  add<MismatchError>(*classes, m, "MismatchError",
                     "Two objects do not belong together: different contexts, shapes, levels or forms.",
                     error, PyExc_ValueError);
  add<MissingKeyError>(*classes, m, "MissingKeyError",
                       "An operation needs an evaluation key that is missing.", error, PyExc_LookupError);
  add<LevelError>(*classes, m, "LevelError", "No level is left for the operation.", error, PyExc_ValueError);
  add<ScaleError>(*classes, m, "ScaleError",
                  "The scales of two CKKS operands differ by more than rounding, or a scale leaves no room.",
                  error, PyExc_ValueError);
  add<RangeError>(*classes, m, "RangeError",
                  "The declared bound of values is beyond the range in which an operation is right.", error,
                  PyExc_ValueError);
  add<NoiseError>(*classes, m, "NoiseError", "The noise leaves no exact or precise result.", error,
                  PyExc_ArithmeticError);
  add<FormatError>(*classes, m, "FormatError", "Bytes are not a well-formed object of Hemera's file format.",
                   error, PyExc_ValueError);
  add<FileError>(*classes, m, "FileError", "A file could not be read or written.", error, PyExc_OSError);
  add<OutOfMemoryError>(*classes, m, "OutOfMemoryError", "The device has too little memory.", error,
                        PyExc_MemoryError);
  add<DeviceError>(*classes, m, "DeviceError", "A device is missing, unknown or reported a failure.", error,
                   PyExc_RuntimeError);

  // The module keeps the classes for as long as the translator can be called.
  ErrorClasses* const kept = classes.release();
  m.attr("_error_types") =
      nb::capsule(kept, [](void* pointer) noexcept { delete static_cast<ErrorClasses*>(pointer); });
  nb::register_exception_translator(translate, kept);
}

}  // namespace hemera::python
