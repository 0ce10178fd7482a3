// Every exception class of hemera/runtime/error.hpp as a Python exception of the same name and ancestry.
#include <nanobind/stl/string.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

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

/// The Python classes, in the order in which a C++ exception is compared with them: a derived class stands
/// before its base.
struct ErrorTypes {
  nb::object error, parameter, security, mismatch, missing_key, level, scale, range, noise, format, file,
      out_of_memory, device;
};

nb::object make_type(nb::module_& m, const char* name, const char* doc, nb::handle base, nb::handle builtin) {
  const nb::object bases = builtin.is_valid() ? nb::object(nb::make_tuple(base, builtin)) : nb::borrow(base);
  const std::string qualified = nb::cast<std::string>(m.attr("__name__")) + "." + name;
  PyObject* type = PyErr_NewExceptionWithDoc(qualified.c_str(), doc, bases.ptr(), nullptr);
  if (type == nullptr) throw nb::python_error();
  nb::object result = nb::steal(type);
  m.attr(name) = result;
  return result;
}

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
      return "plan=circuit or rotations=[" + part.field + "] of generate_keys";
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
  const auto& types = *static_cast<const ErrorTypes*>(payload);
  // Messages may quote bytes of a file, which need not be UTF-8.
  const auto raise = [](const nb::object& type, const Error& error) {
    const std::string text = in_python(error.message());
    PyObject* const message =
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
    if (message == nullptr) return;  // with Python's own error
    PyErr_SetObject(type.ptr(), message);
    Py_DECREF(message);
  };
  try {
    std::rethrow_exception(pointer);
  } catch (const SecurityError& error) {
    raise(types.security, error);
  } catch (const ParameterError& error) {
    raise(types.parameter, error);
  } catch (const MismatchError& error) {
    raise(types.mismatch, error);
  } catch (const MissingKeyError& error) {
    raise(types.missing_key, error);
  } catch (const LevelError& error) {
    raise(types.level, error);
  } catch (const ScaleError& error) {
    raise(types.scale, error);
  } catch (const RangeError& error) {
    raise(types.range, error);
  } catch (const NoiseError& error) {
    raise(types.noise, error);
  } catch (const FormatError& error) {
    raise(types.format, error);
  } catch (const FileError& error) {
    raise(types.file, error);
  } catch (const OutOfMemoryError& error) {
    raise(types.out_of_memory, error);
  } catch (const DeviceError& error) {
    raise(types.device, error);
  } catch (const Error& error) {
    raise(types.error, error);
  }
}

}  // namespace

void bind_errors(nb::module_& m) {
  auto types = std::make_unique<ErrorTypes>();
  types->error = make_type(m, "Error", "Base of every exception that Hemera raises on purpose.",
                           nb::handle(PyExc_Exception), {});
  const nb::handle base = types->error;
  types->parameter =
      make_type(m, "ParameterError", "A parameter is out of its range, or parameters do not fit together.",
                base, PyExc_ValueError);
  types->security = make_type(m, "SecurityError", "Parameters are weaker than the required security level.",
                              types->parameter, {});
  types->mismatch = make_type(
      m, "MismatchError", "Two objects do not belong together: different contexts, shapes, levels or forms.",
      base, PyExc_ValueError);
  types->missing_key = make_type(
      m, "MissingKeyError", "An operation needs an evaluation key that is missing.", base, PyExc_LookupError);
  types->level = make_type(m, "LevelError", "No level is left for the operation.", base, PyExc_ValueError);
  types->scale =
      make_type(m, "ScaleError",
                "The scales of two CKKS operands differ by more than rounding, or a scale leaves no room.",
                base, PyExc_ValueError);
  types->range = make_type(m, "RangeError",
                           "The declared bound of values is beyond the range in which an operation is right.",
                           base, PyExc_ValueError);
  types->noise =
      make_type(m, "NoiseError", "The noise leaves no exact or precise result.", base, PyExc_ArithmeticError);
  types->format = make_type(m, "FormatError", "Bytes are not a well-formed object of Hemera's file format.",
                            base, PyExc_ValueError);
  types->file = make_type(m, "FileError", "A file could not be read or written.", base, PyExc_OSError);
  types->out_of_memory =
      make_type(m, "OutOfMemoryError", "The device has too little memory.", base, PyExc_MemoryError);
  types->device = make_type(m, "DeviceError", "A device is missing, unknown or reported a failure.", base,
                            PyExc_RuntimeError);

  // The module keeps the table for as long as the translator can be called.
  ErrorTypes* table = types.release();
  m.attr("_error_types") =
      nb::capsule(table, [](void* pointer) noexcept { delete static_cast<ErrorTypes*>(pointer); });
  nb::register_exception_translator(translate, table);
}

}  // namespace hemera::python
