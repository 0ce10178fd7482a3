"""Operators of ONNX on single numbers: arithmetic, functions, comparisons, truth values, casts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hemera.arrays.array import Array
from hemera.arrays.comparisons import of_few
from hemera.arrays.functions import sigmoid
from hemera.compiler.networks.masks import Masked, chosen, opened, summed
from hemera.compiler.networks.meanings import Attributes, Meaning, Meanings, Operator, named, plain
from hemera.compiler.networks.tensors import KINDS, converted, is_real, limits_of
from hemera.errors import FormatError, MismatchError, ParameterError, RangeError

_LARGEST_HALF = 65504.0
"""The largest number of float16."""


# --- Functions of one number. ---


def _approximated(function: Callable[[Any], Any]) -> Operator:
    """A function of single numbers, which is approximated on encrypted arrays."""
    return lambda _, x: x.approximated(function) if isinstance(x, Array) else function(x)


def _leaky_relu(attributes: Attributes, x: Any) -> Any:
    alpha = attributes["alpha"]
    return alpha * x + (1 - alpha) * np.maximum(x, 0)


def _elu(attributes: Attributes, x: Any) -> Any:
    """A smooth function, and a rectifier where the slopes at 0 differ."""
    alpha = attributes["alpha"]
    smooth = _approximated(lambda v: np.where(v > 0, v, np.expm1(np.minimum(v, 0))))(attributes, x)
    return smooth if alpha == 1 else alpha * smooth + (1 - alpha) * np.maximum(x, 0)


def _prelu(attributes: Attributes, x: Any, slope: Any) -> Any:
    if np.broadcast_shapes(x.shape, slope.shape) != x.shape:
        raise MismatchError(f"slopes of shape {slope.shape} do not become {x.shape}")
    return _leaky_relu(Attributes(attributes, alpha=slope), x)


def _prelu_by_channel(attributes: Attributes, x: Any, slope: Any) -> Any:
    return _prelu(attributes, x, slope.reshape((-1, *(1,) * (x.ndim - 2))))


def _clip(attributes: Attributes, x: Any, low: Any = None, high: Any = None) -> Any:
    low = attributes.get("min") if low is None else plain(low, "an end of Clip").item()
    high = attributes.get("max") if high is None else plain(high, "an end of Clip").item()
    if low is not None and high is not None and low > high:
        return x * 0 + high
    return x if low is None and high is None else np.clip(x, low, high)


# --- Arithmetic. ---


def _mod(attributes: Attributes, x: Any, y: Any) -> Any:
    """The remainder, with the sign of the divisor; with `fmod` that of the dividend."""
    if not isinstance(y, Array) and np.asarray(y).dtype.kind != "f" and not np.all(y):
        raise ParameterError("integers are divided by 0")
    if attributes["fmod"]:
        return np.fmod(plain(x, "what fmod divides"), plain(y, "the divisor of fmod"))
    return np.remainder(x, plain(y, "a divisor").item() if isinstance(x, Array) and y.size == 1 else y)


def _shift(attributes: Attributes, x: Any, y: Any) -> Any:
    """Shifts of plain integers."""
    ways = {"LEFT": np.left_shift, "RIGHT": np.right_shift}
    if attributes["direction"] not in ways:
        raise FormatError(f"direction={attributes['direction']!r}; there are {', '.join(ways)}")
    return ways[attributes["direction"]](plain(x, "what BitShift shifts"), plain(y, "a shift"))


def _bits(function: Callable[..., Any]) -> Operator:
    """A function of the bits of plain integers."""
    return lambda _, *xs: function(*(plain(each, "an operand of integers' bits") for each in xs))


def _divide(attributes: Attributes, x: Any, y: Any) -> Any:
    """The quotient; of integers without the fraction."""
    del attributes
    if isinstance(x, Array) or isinstance(y, Array) or np.asarray(x).dtype.kind == "f":
        return x / y
    if not np.all(y):
        raise ParameterError("integers are divided by 0")
    return quotient(x, y)


def quotient(x: Any, y: Any) -> Any:
    """The quotient of integers, towards 0."""
    with np.errstate(over="ignore"):
        found, rest = np.divmod(x, y)
        return found + ((rest != 0) & ((x < 0) != (y < 0))).astype(found.dtype)


def _power(attributes: Attributes, x: Any, exponent: Any) -> Any:
    del attributes
    if isinstance(exponent, Array) and not isinstance(x, Array) and x.size == 1:
        return np.reshape(x.item() ** exponent, np.broadcast_shapes(x.shape, exponent.shape))
    own = np.asarray(plain(exponent, "an exponent"))
    if own.size == 1 and isinstance(x, Array):
        return np.reshape(x ** own.item(), np.broadcast_shapes(x.shape, own.shape))
    return x**own


def _folded(function: Callable[[Any, Any], Any]) -> Operator:
    """An operator of one or more values."""
    return lambda _, *xs: functools.reduce(function, xs)


def _of_one_shape(operator: Operator) -> Operator:
    """Old versions of operators of several values do not broadcast."""

    def of_one_shape(attributes: Attributes, *xs: Any) -> Any:
        if len({x.shape for x in xs}) > 1:
            raise MismatchError(
                f"operands of shapes {[x.shape for x in xs]}; from version 8 on they broadcast"
            )
        return operator(attributes, *xs)

    return of_one_shape


def _along_axis(operator: Operator) -> Operator:
    """Before version 7 the second operand has axes of the first one, from `axis` on, or the last ones."""

    def along_axis(attributes: Attributes, x: Any, y: Any) -> Any:
        if not attributes["broadcast"]:
            return _of_one_shape(operator)(attributes, x, y)
        axis = attributes.get("axis", x.ndim - y.ndim)
        after = x.ndim - axis - y.ndim
        if not 0 <= axis <= x.ndim or after < 0:
            raise MismatchError(f"an operand of shape {y.shape} from axis {axis} on of {x.shape}")
        y = y.reshape((*y.shape, *(1,) * after))
        if np.broadcast_shapes(x.shape, y.shape) != x.shape:
            raise MismatchError(f"an operand of shape {y.shape} does not become {x.shape}")
        return operator(attributes, x, y)

    return along_axis


# --- Truth values and types. ---


def _is_no_number(attributes: Attributes, x: Any) -> Any:
    """Encrypted values are numbers."""
    del attributes
    return np.zeros(x.shape, np.bool_) if isinstance(x, Array) else np.isnan(x)


def _is_infinite(attributes: Attributes, x: Any) -> Any:
    if isinstance(x, Array):
        return np.zeros(x.shape, np.bool_)
    positive, negative = attributes["detect_positive"], attributes["detect_negative"]
    return (np.isposinf(x) & bool(positive)) | (np.isneginf(x) & bool(negative))


def _cast(attributes: Attributes, x: Any) -> Any:
    kind = KINDS.get(attributes["to"])
    if kind is None:
        raise ParameterError(
            f"a cast to the type {attributes['to']} of onnx.TensorProto; there are floats, integers of 8 to "
            "64 bits and truth values"
        )
    if isinstance(x, Masked) and is_real(kind):
        return x.mapped(lambda v: _cast_encrypted(v, kind))
    x = opened(x)
    if isinstance(x, Array):
        return _cast_encrypted(x, kind)
    found = converted(x, kind)
    # Floats of a run in the clear stay double, but for the rounding.
    return found.astype(x.dtype) if is_real(kind) and x.dtype == np.float64 else found


def _cast_encrypted(x: Array, kind: str) -> Any:
    """Floats stay as they are, more precise. Integers and truth values are made of values with a step."""
    low, high = x.range
    if kind in ("float16", "bfloat16", "float", "double"):
        if kind == "float16" and max(-low, high) > _LARGEST_HALF:
            raise RangeError(f"values from {low:g} to {high:g} are cast to float16, which ends at 65504")
        return x.astype(np.float64)
    step = x.step
    if step is None and x.dtype != np.bool_:
        raise ParameterError(
            f"encrypted values are cast to {kind}, which cuts them off: that is done for multiples of a "
            "known step. Give the input one, hm.ArraySpec(shape, range=, step=), or leave the cast out "
            'of the network, or say what it means here, replace={"Cast": function}'
        )
    if kind == "bool":
        return x.astype(np.bool_)
    least, most = limits_of(kind)
    if low < least - 0.25 or high > most + 0.25:
        raise RangeError(f"values from {low:g} to {high:g} are cast to {kind}, from {least} to {most}")
    if step is None or abs(step - round(step)) < 2.0**-20 * step:
        return x
    found = of_few(x, lambda points: np.trunc(np.round(points * step / 2.0**-30) * 2.0**-30), 1.0)
    if found is None:
        raise ParameterError(
            f"encrypted multiples of {step:g} are cast to {kind}: too many of them are no integers. Give the "
            "input whole numbers, hm.ArraySpec(shape, range=, step=1), or leave the cast out of the network"
        )
    return found


def _two(run: Operator, **options: Any) -> tuple[Meaning, ...]:
    """An operator of two values, with its old versions."""
    return Meaning(_along_axis(run), **options), Meaning(run, 7, **options)


def _several(run: Operator, **options: Any) -> tuple[Meaning, ...]:
    return Meaning(_of_one_shape(run), **options), Meaning(run, 8, **options)


_NAMED: dict[Any, dict[str, Callable[..., Any]]] = {
    "reals": {
        **{"Ceil": np.ceil, "Floor": np.floor, "Exp": np.exp, "Log": np.log},
        **{"Reciprocal": np.reciprocal, "Round": np.round, "Sqrt": np.sqrt},
        **{"Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Sinh": np.sinh, "Cosh": np.cosh, "Tanh": np.tanh},
        **{"Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan},
        **{"Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh},
    },
    "integers": {"Abs": np.abs, "Neg": np.negative, "Sign": np.sign},
    "all": {"Not": np.logical_not},
}
"""Functions of NumPy, by the values that they take and the names of operators."""

ELEMENTWISE: Meanings = {
    **{name: (Meaning(named(f), takes=takes),) for takes, own in _NAMED.items() for name, f in own.items()},
    "Add": _two(named(summed), takes="integers", masks=True),
    "And": _two(named(np.logical_and), takes="all"),
    "BitShift": (Meaning(_shift),),
    "BitwiseAnd": (Meaning(_bits(np.bitwise_and)),),
    "BitwiseNot": (Meaning(_bits(np.invert)),),
    "BitwiseOr": (Meaning(_bits(np.bitwise_or)),),
    "BitwiseXor": (Meaning(_bits(np.bitwise_xor)),),
    "Cast": (Meaning(_cast, 6, takes="all", masks=True),),
    "Clip": (Meaning(_clip, takes="integers"),),
    "Div": _two(_divide),
    "Elu": (Meaning(_elu),),
    "Equal": _two(named(np.equal), takes="all"),
    "Erf": (Meaning(_approximated(np.vectorize(math.erf, otypes=[float]))),),
    "Greater": _two(named(np.greater), takes="integers"),
    "GreaterOrEqual": _two(named(np.greater_equal), takes="integers"),
    "HardSigmoid": (Meaning(lambda a, x: np.clip(a["alpha"] * x + a["beta"], 0, 1)),),
    "IsInf": (Meaning(_is_infinite, takes="all"),),
    "IsNaN": (Meaning(_is_no_number, takes="all"),),
    "LeakyRelu": (Meaning(_leaky_relu),),
    "Less": _two(named(np.less), takes="integers"),
    "LessOrEqual": _two(named(np.less_equal), takes="integers"),
    "Max": _several(_folded(np.maximum), takes="integers"),
    "Mean": _several(lambda _, *xs: functools.reduce(np.add, xs) / len(xs)),
    "Min": _several(_folded(np.minimum), takes="integers"),
    "Mod": (Meaning(_mod, takes="integers"),),
    "Mul": _two(named(np.multiply), takes="integers"),
    "Or": _two(named(np.logical_or), takes="all"),
    "PRelu": (Meaning(_prelu_by_channel, 6), Meaning(_prelu, 7)),
    "Pow": _two(_power),
    "Relu": (Meaning(lambda _, x: np.maximum(x, 0), takes="integers"),),
    "Selu": (Meaning(lambda a, x: a["gamma"] * _elu(a, x)),),
    "Sigmoid": (Meaning(named(sigmoid)),),
    "Softplus": (Meaning(_approximated(lambda v: np.logaddexp(0, v))),),
    "Softsign": (Meaning(_approximated(lambda v: v / (1 + np.abs(v)))),),
    "Sub": _two(named(np.subtract), takes="integers"),
    "Sum": _several(_folded(np.add)),
    "Where": (Meaning(named(chosen), takes="all", masks=True),),
    "Xor": _two(named(np.logical_xor), takes="all"),
}
"""The operators' meanings, by their names in ONNX's own domain."""
