"""What the operators of ONNX do to arrays, encrypted and plain (https://onnx.ai/onnx/operators/)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hemera.arrays import average_pool, conv
from hemera.arrays.array import Array
from hemera.arrays.recorder import MOST_ELEMENTS
from hemera.errors import ParameterError

__all__ = ["OPERATORS", "Attributes"]

Attributes = Mapping[str, Any]
Operator = Callable[..., Any]

_KERNEL_AXES = 3


def _plain(value: Any, what: str) -> Any:
    """A value that must not be encrypted."""
    if isinstance(value, Array):
        raise ParameterError(f"{what} must be plain: it depends on the input, which is encrypted")
    return value


def _integers(value: Any, what: str) -> list[int]:
    return [int(each) for each in np.asarray(_plain(value, what)).reshape(-1).tolist()]


def _listed(attributes: Attributes, name: str, operand: Any) -> Any:
    """Integers of an operand, or of the attribute that older versions have in its place; None: neither."""
    return attributes.get(name) if operand is None else _integers(operand, f"`{name}`")


def _bounded(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape that is not too large to make."""
    if any(extent < 0 for extent in shape) or math.prod(shape) > MOST_ELEMENTS:
        raise ParameterError(f"an array of shape {tuple(shape)} can not be made")
    return tuple(shape)


def _elementwise(function: Callable[[Any], Any]) -> Operator:
    """A function of single numbers, which is approximated on encrypted arrays."""

    def operator(attributes: Attributes, x: Any) -> Any:
        del attributes
        return x.approximated(function) if isinstance(x, Array) else function(x)

    return operator


def _named(function: Callable[..., Any]) -> Operator:
    """A function that encrypted arrays have."""
    return lambda _, *xs: function(*xs)


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[float])(x)


def _sigmoid(attributes: Attributes, x: Any) -> Any:
    del attributes
    return x.sigmoid() if isinstance(x, Array) else 1 / (1 + np.exp(-x))


def _gelu(attributes: Attributes, x: Any) -> Any:
    def exact(v: Any) -> Any:
        return v * (1 + _erf(v / math.sqrt(2))) / 2

    def by_tanh(v: Any) -> Any:
        return v * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) / 2

    return _elementwise(by_tanh if attributes.get("approximate") == "tanh" else exact)({}, x)


def _silu(attributes: Attributes, x: Any) -> Any:
    del attributes
    return _elementwise(lambda v: v / (1 + np.exp(-v)))({}, x)


def _leaky_relu(attributes: Attributes, x: Any) -> Any:
    alpha = attributes.get("alpha", 0.01)
    return alpha * x + (1 - alpha) * np.maximum(x, 0)


def _elu(attributes: Attributes, x: Any) -> Any:
    alpha = attributes.get("alpha", 1.0)
    return _elementwise(lambda v: np.where(v > 0, v, alpha * np.expm1(np.minimum(v, 0))))({}, x)


def _hard_sigmoid(attributes: Attributes, x: Any) -> Any:
    alpha, beta = attributes.get("alpha", 0.2), attributes.get("beta", 0.5)
    return np.clip(alpha * x + beta, 0, 1)


def _hard_swish(attributes: Attributes, x: Any) -> Any:
    del attributes
    return x * np.clip(x / 6 + 0.5, 0, 1)


def _clip(attributes: Attributes, x: Any, low: Any = None, high: Any = None) -> Any:
    low = attributes.get("min") if low is None else float(_plain(low, "an end of Clip"))
    high = attributes.get("max") if high is None else float(_plain(high, "an end of Clip"))
    return x if low is None and high is None else np.clip(x, low, high)


def _softmax(attributes: Attributes, x: Any) -> Any:
    axis = attributes.get("axis", -1)
    # Of encrypted values the largest is not known, but its bound is.
    top = x.range[1] if isinstance(x, Array) else x.max(axis=axis, keepdims=True)
    powers = np.exp(x - top)
    return powers / powers.sum(axis=axis, keepdims=True)


# --- Products. ---


def _gemm(attributes: Attributes, a: Any, b: Any, c: Any = None) -> Any:
    a, b = a.T if attributes.get("transA") else a, b.T if attributes.get("transB") else b
    found = (a @ b) * attributes.get("alpha", 1.0)
    return found if c is None else found + attributes.get("beta", 1.0) * c


def _einsum(attributes: Attributes, *xs: Any) -> Any:
    return np.einsum(attributes["equation"], *xs)


def _conv(attributes: Attributes, x: Any, weights: Any, bias: Any = None) -> Any:
    weights = _plain(weights, "the weights of Conv")
    axes = weights.ndim - 2
    if not 1 <= axes <= _KERNEL_AXES or x.shape[0] != 1:
        raise ParameterError(f"Conv of an array of shape {x.shape} and weights of {weights.shape}")
    strides = attributes.get("strides", [1] * axes)
    dilations = attributes.get("dilations", [1] * axes)
    x = _padded(attributes, x, weights.shape[2:], strides, dilations)
    groups = attributes.get("group", 1)
    return conv(x[0], weights, bias, stride=strides, dilation=dilations, groups=groups)[None]


def _padded(
    attributes: Attributes,
    x: Any,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    value: float = 0.0,
) -> Any:
    """With what `pads`, or `auto_pad`, put around the last axes."""
    axes = len(kernel)
    automatic = attributes.get("auto_pad", "NOTSET")
    pads = list(attributes.get("pads", [0] * 2 * axes))
    if automatic.startswith("SAME"):
        pads = [0] * 2 * axes
        for axis, (width, step, jump) in enumerate(zip(kernel, strides, dilations, strict=True)):
            extent = x.shape[2 + axis]
            whole = max(0, (-(-extent // step) - 1) * step + (width - 1) * jump + 1 - extent)
            before = whole // 2 if automatic == "SAME_UPPER" else whole - whole // 2
            pads[axis], pads[axes + axis] = before, whole - before
    if len(pads) != 2 * axes or min(pads) < 0:
        raise ParameterError(f"pads {pads} for {axes} axes")
    _bounded([*x.shape[:2], *(e + a + b for e, a, b in zip(x.shape[2:], pads, pads[axes:], strict=False))])
    widths = [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:], strict=True)]
    return np.pad(x, widths, constant_values=value) if any(pads) else x


def _average_pool(attributes: Attributes, x: Any) -> Any:
    kernel = attributes["kernel_shape"]
    strides = attributes.get("strides", [1] * len(kernel))
    if attributes.get("ceil_mode") or any(each != 1 for each in attributes.get("dilations", [])):
        raise ParameterError("AveragePool with ceil_mode or dilations is not there")
    ones = [1] * len(kernel)
    padded = _padded(attributes, x, kernel, strides, ones)
    found = average_pool(padded[0], kernel, stride=strides)[None]
    if padded is x or attributes.get("count_include_pad"):
        return found
    inside = _padded(attributes, np.ones(x.shape), kernel, strides, ones)
    return found / average_pool(inside[0], kernel, stride=strides)[None]


def _max_pool(attributes: Attributes, x: Any) -> Any:
    kernel = attributes["kernel_shape"]
    axes = len(kernel)
    strides, dilations = (attributes.get(name, [1] * axes) for name in ("strides", "dilations"))
    if attributes.get("ceil_mode") or min([*strides, *dilations, *kernel]) < 1:
        raise ParameterError("MaxPool with ceil_mode is not there")
    lowest = x.range[0] if isinstance(x, Array) else float(np.min(x))
    x = _padded(attributes, x, kernel, strides, dilations, lowest)
    counts = [
        (extent - (width - 1) * jump - 1) // step + 1
        for extent, width, step, jump in zip(x.shape[2:], kernel, strides, dilations, strict=True)
    ]
    parts = []
    for offsets in itertools.product(*(range(width) for width in kernel)):
        starts = [offset * jump for offset, jump in zip(offsets, dilations, strict=True)]
        windows = [
            slice(start, start + (count - 1) * step + 1, step)
            for start, count, step in zip(starts, counts, strides, strict=True)
        ]
        index = (slice(None), slice(None), *windows)
        parts.append(x[index])
    while len(parts) > 1:  # in pairs: as few maxima one after the other as there can be
        pairs = [np.maximum(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) // 2 * 2 :]
    return parts[0]


def _global(name: str) -> Operator:
    return lambda _, x: getattr(x, name)(axis=tuple(range(2, x.ndim)), keepdims=True)


def _reduced(function: Callable[..., Any]) -> Operator:
    """A reduction over the axes of an attribute, or of the second operand."""

    def operator(attributes: Attributes, x: Any, axes: Any = None) -> Any:
        given = _listed(attributes, "axes", axes)
        if not given:
            if attributes.get("noop_with_empty_axes"):
                return x
            given = range(x.ndim)
        return function(x, axis=tuple(given), keepdims=bool(attributes.get("keepdims", 1)))

    return operator


def _batch_norm(attributes: Attributes, x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    around = (-1, *(1,) * (x.ndim - 2))
    epsilon = attributes.get("epsilon", 1e-5)
    factor = _plain(scale, "BatchNormalization") / np.sqrt(_plain(variance, "BatchNormalization") + epsilon)
    return x * factor.reshape(around) + (bias - mean * factor).reshape(around)


def _layer_norm(attributes: Attributes, x: Any, scale: Any, bias: Any = None) -> Any:
    axis = attributes.get("axis", -1)
    axes = tuple(range(axis % x.ndim, x.ndim))
    apart = x - x.mean(axis=axes, keepdims=True)
    variance = (apart * apart).mean(axis=axes, keepdims=True) + attributes.get("epsilon", 1e-5)
    found = apart * np.power(variance, -0.5) * scale
    return found if bias is None else found + bias


# --- Places of elements. ---


def _reshape(attributes: Attributes, x: Any, shape: Any) -> Any:
    wanted = _integers(shape, "a shape")
    if not attributes.get("allowzero"):
        wanted = [x.shape[at] if extent == 0 else extent for at, extent in enumerate(wanted)]
    return x.reshape(tuple(wanted))


def _flatten(attributes: Attributes, x: Any) -> Any:
    axis = attributes.get("axis", 1) % (x.ndim + 1)
    return x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def _axes(attributes: Attributes, axes: Any) -> tuple[int, ...] | None:
    given = _listed(attributes, "axes", axes)
    return None if given is None else tuple(given)


def _squeeze(attributes: Attributes, x: Any, axes: Any = None) -> Any:
    return np.squeeze(x, _axes(attributes, axes))


def _unsqueeze(attributes: Attributes, x: Any, axes: Any = None) -> Any:
    return np.expand_dims(x, _axes(attributes, axes) or ())


def _transpose(attributes: Attributes, x: Any) -> Any:
    return np.transpose(x, attributes.get("perm"))


def _concat(attributes: Attributes, *xs: Any) -> Any:
    return np.concatenate(xs, attributes["axis"])


def _slice(attributes: Attributes, x: Any, *others: Any) -> Any:
    names = ("starts", "ends", "axes", "steps")
    starts, ends, axes, steps = (
        _listed(attributes, name, each) for name, each in itertools.zip_longest(names, others)
    )
    if starts is None or ends is None:
        raise ParameterError("a slice without starts or ends")
    parts = [slice(None)] * x.ndim
    for at, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis, step = axes[at] if axes else at, steps[at] if steps else 1
        last = None if step < 0 and end < -x.shape[axis] else end
        parts[axis] = slice(start, last, step)
    return x[tuple(parts)]


def _split(attributes: Attributes, x: Any, sizes: Any = None) -> Any:
    axis = attributes.get("axis", 0)
    own = _listed(attributes, "split", sizes)
    if own is None:
        count = attributes.get("num_outputs")
        if not count:
            raise ParameterError("Split without sizes")
        each = -(-x.shape[axis] // count)
        own = [each] * (count - 1) + [x.shape[axis] - each * (count - 1)]
    return np.split(x, np.cumsum(own)[:-1].tolist(), axis)


def _pad(attributes: Attributes, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
    mode = attributes.get("mode", "constant")
    own = _listed(attributes, "pads", pads)
    where = range(x.ndim) if axes is None else _integers(axes, "axes")
    if own is None or min(own, default=0) < 0 or len(own) != 2 * len(where):
        raise ParameterError(f"pads {own}")
    widths = [(0, 0)] * x.ndim
    for at, axis in enumerate(where):
        widths[axis] = (own[at], own[at + len(where)])
    _bounded([extent + sum(pair) for extent, pair in zip(x.shape, widths, strict=True)])
    if mode != "constant":
        return np.pad(x, widths, mode)
    number = attributes.get("value", 0.0) if value is None else float(_plain(value, "the value of Pad"))
    return np.pad(x, widths, constant_values=number)


def _gather(attributes: Attributes, x: Any, indices: Any) -> Any:
    axis = attributes.get("axis", 0)
    return np.take(x, _plain(indices, "the indices of Gather"), axis=axis)


def _expand(attributes: Attributes, x: Any, shape: Any) -> Any:
    del attributes
    return np.broadcast_to(x, _bounded(np.broadcast_shapes(x.shape, tuple(_integers(shape, "a shape")))))


def _tile(attributes: Attributes, x: Any, repeats: Any) -> Any:
    del attributes
    counts = _integers(repeats, "repeats")
    _bounded([extent * count for extent, count in zip(x.shape, counts, strict=True)])
    return np.tile(x, counts)


def _constant(attributes: Attributes) -> Any:
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if name in attributes:
            return np.asarray(attributes[name])
    raise ParameterError("a Constant without a value")


def _constant_of_shape(attributes: Attributes, shape: Any) -> Any:
    value = np.asarray(attributes.get("value", np.zeros(1))).reshape(-1)
    return np.full(_bounded(_integers(shape, "a shape")), value[0])


def _shape(attributes: Attributes, x: Any) -> Any:
    return np.array(x.shape[slice(attributes.get("start", 0), attributes.get("end"))], np.int64)


def _where(attributes: Attributes, condition: Any, *sides: Any) -> Any:
    del attributes
    return np.where(_plain(condition, "the condition of Where").astype(bool), *sides)


def _first(attributes: Attributes, x: Any, *others: Any) -> Any:
    del attributes, others
    return x


def _cast(attributes: Attributes, x: Any) -> Any:
    """Kinds of numbers are one kind for encrypted arrays; plain integers, such as shapes, stay integers."""
    del attributes
    return x


def _power(attributes: Attributes, x: Any, exponent: Any) -> Any:
    del attributes
    own = np.asarray(_plain(exponent, "an exponent"))
    return x ** (own.item() if own.size == 1 and isinstance(x, Array) else own)


def _folded(function: Callable[[Any, Any], Any]) -> Operator:
    """An operator of two or more values."""

    def operator(attributes: Attributes, first: Any, *others: Any) -> Any:
        del attributes
        for other in others:
            first = function(first, other)
        return first

    return operator


def _mean(attributes: Attributes, *xs: Any) -> Any:
    return _folded(np.add)(attributes, *xs) / len(xs)


OPERATORS: dict[str, Operator] = {
    "Abs": _named(np.abs),
    "Add": _named(np.add),
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Conv": _conv,
    "Cos": _named(np.cos),
    "Div": _named(np.divide),
    "Dropout": _first,
    "Einsum": _einsum,
    "Elu": _elu,
    "Erf": _elementwise(_erf),
    "Exp": _named(np.exp),
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Gelu": _gelu,
    "Gemm": _gemm,
    "GlobalAveragePool": _global("mean"),
    "GlobalMaxPool": _global("max"),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Identity": _first,
    "LayerNormalization": _layer_norm,
    "LeakyRelu": _leaky_relu,
    "Log": _named(np.log),
    "MatMul": _named(np.matmul),
    "Max": _folded(np.maximum),
    "MaxPool": _max_pool,
    "Mean": _mean,
    "Min": _folded(np.minimum),
    "Mul": _named(np.multiply),
    "Neg": _named(np.negative),
    "Pad": _pad,
    "Pow": _power,
    "Reciprocal": _named(np.reciprocal),
    "ReduceMax": _reduced(np.max),
    "ReduceMean": _reduced(np.mean),
    "ReduceMin": _reduced(np.min),
    "ReduceSum": _reduced(np.sum),
    "Relu": lambda _, x: np.maximum(x, 0),
    "Reshape": _reshape,
    "Shape": _shape,
    "Sigmoid": _sigmoid,
    "Silu": _silu,
    "Sin": _named(np.sin),
    "Slice": _slice,
    "Softmax": _softmax,
    "Softplus": _elementwise(lambda v: np.logaddexp(0, v)),
    "Split": _split,
    "Sqrt": _named(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": _named(np.subtract),
    "Sum": _folded(np.add),
    "Swish": _silu,
    "Tanh": _named(np.tanh),
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
"""By the name in ONNX: called with the attributes and the operands, None for those that are left out."""
