"""Operators of ONNX over axes: products of matrices, convolutions, pools, sums, normalisations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hemera.arrays import conv
from hemera.arrays.array import Array
from hemera.arrays.recorder import MOST_ELEMENTS
from hemera.compiler.networks.elementwise import quotient
from hemera.compiler.networks.meanings import (
    Attributes,
    Meaning,
    Operator,
    bounded,
    largest,
    listed,
    named,
    plain,
)
from hemera.errors import FormatError, MismatchError, ParameterError

__all__ = ["PRODUCTS", "softmax"]

_KERNEL_AXES = 3
_MOST_PRODUCTS = 1 << 30
"""The most products of an Einsum of plain values."""


# --- Products of matrices. ---


def _matmul_size(attributes: Attributes, a: Any, b: Any) -> int:
    del attributes
    before = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    rows, columns = a.shape[-2:-1], b.shape[-1:] if b.ndim > 1 else ()
    return math.prod((*before, *rows, *columns))


def _gemm(attributes: Attributes, a: Any, b: Any, c: Any = None) -> Any:
    a, b = a.T if attributes["transA"] else a, b.T if attributes["transB"] else b
    if a.ndim != 2 or b.ndim != 2:
        raise MismatchError(f"Gemm of arrays of shapes {a.shape} and {b.shape}, where matrices are needed")
    found = _scaled(a @ b, attributes["alpha"])
    if c is None:
        return found
    if np.broadcast_shapes(c.shape, found.shape) != found.shape:
        raise MismatchError(f"a sum of shape {c.shape} does not become that of the product, {found.shape}")
    return found + _scaled(c, attributes["beta"])


def _scaled(x: Any, factor: float) -> Any:
    """Integers stay integers where the factor is 1."""
    return x if factor == 1 else x * factor


def _gemm_size(attributes: Attributes, a: Any, b: Any, c: Any = None) -> int:
    del c
    rows = a.shape[-1] if attributes["transA"] else a.shape[0]
    columns = b.shape[0] if attributes["transB"] else b.shape[-1]
    return int(rows * columns)


def _einsum(attributes: Attributes, *xs: Any) -> Any:
    return np.einsum(attributes["equation"], *xs)


def _einsum_size(attributes: Attributes, *xs: Any) -> int:
    """The size of the result; ParameterError for too many products of plain values."""
    before, arrow, after = attributes["equation"].replace(" ", "").partition("->")
    terms = before.split(",")
    if len(terms) != len(xs):
        raise FormatError(f"the equation {attributes['equation']!r} for {len(xs)} operands")
    extents: dict[str, int] = {}
    hidden: tuple[int, ...] = ()
    for term, x in zip(terms, xs, strict=True):
        first, dots, last = term.partition("...")
        if len(first) + len(last) > x.ndim or (not dots and len(first) != x.ndim):
            raise FormatError(f"the term {term!r} for an array of shape {x.shape}")
        extents.update(zip(first, x.shape, strict=False))
        extents.update(zip(last, x.shape[x.ndim - len(last) :], strict=True))
        if dots:
            hidden = np.broadcast_shapes(hidden, x.shape[len(first) : x.ndim - len(last)])
    if not arrow:
        letters = before.replace(",", "").replace(".", "")
        after = "".join(each for each in letters if letters.count(each) == 1)
    dotted = math.prod(hidden) if "..." in after or not arrow else 1
    size = dotted * math.prod(extents.get(each, 1) for each in after)
    products = math.prod(extents.values()) * math.prod(hidden)
    if size <= MOST_ELEMENTS and products > _MOST_PRODUCTS:
        raise ParameterError(f"an Einsum of {products} products; at most {_MOST_PRODUCTS} are taken")
    return size


# --- Convolutions and pools. ---


def _kernel(attributes: Attributes, kernel: Sequence[int]) -> tuple[list[int], list[int]]:
    """Strides and dilations of a kernel."""
    axes = len(kernel)
    own = [list(attributes.get(name, [1] * axes)) for name in ("strides", "dilations")]
    if (
        any(len(each) != axes or min(each) < 1 for each in [*own, list(kernel)])
        or not 1 <= axes <= _KERNEL_AXES
    ):
        raise ParameterError(f"a kernel of {list(kernel)} with strides and dilations of {own}")
    return own[0], own[1]


def _conv(attributes: Attributes, x: Any, weights: Any, bias: Any = None) -> Any:
    weights = plain(weights, "the weights of Conv")
    bias = plain(bias, "the bias of Conv")
    if x.ndim != weights.ndim:
        raise MismatchError(f"Conv of an array of shape {x.shape} and weights of {weights.shape}")
    widths = weights.shape[2:]
    if tuple(attributes.get("kernel_shape", widths)) != widths:
        raise FormatError(f"kernel_shape {attributes['kernel_shape']} of weights of {weights.shape}")
    strides, dilations = _kernel(attributes, widths)
    x = _padded(attributes, x, widths, strides, dilations)
    return _convolved(x, weights, bias, stride=strides, dilation=dilations, groups=attributes["group"])


def _convolved(x: Any, *weights: Any, **options: Any) -> Any:
    """A convolution of each sample."""
    found = [conv(x[at], *weights, **options) for at in range(x.shape[0])]
    return found[0][None] if len(found) == 1 else np.stack(found)


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
    automatic = attributes["auto_pad"]
    pads = list(attributes.get("pads", [0] * 2 * axes))
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        pads = [0] * 2 * axes
        for axis, (width, step, jump) in enumerate(zip(kernel, strides, dilations, strict=True)):
            extent = x.shape[2 + axis]
            whole = max(0, (-(-extent // step) - 1) * step + (width - 1) * jump + 1 - extent)
            before = whole // 2 if automatic == "SAME_UPPER" else whole - whole // 2
            pads[axis], pads[axes + axis] = before, whole - before
    elif automatic == "VALID":
        pads = [0] * 2 * axes
    elif automatic != "NOTSET":
        raise FormatError(f"auto_pad={automatic!r}")
    if len(pads) != 2 * axes or x.ndim != axes + 2 or min(pads) < 0:
        raise ParameterError(f"pads {pads} for {axes} axes of an array of shape {x.shape}")
    bounded([*x.shape[:2], *(e + a + b for e, a, b in zip(x.shape[2:], pads, pads[axes:], strict=False))])
    widths = [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:], strict=True)]
    return np.pad(x, widths, constant_values=value) if any(pads) else x


def _average_pool(attributes: Attributes, x: Any) -> Any:
    kernel = attributes["kernel_shape"]
    strides, dilations = _kernel(attributes, kernel)
    if attributes.get("ceil_mode"):
        raise ParameterError("AveragePool with ceil_mode is not there")
    channels = x.shape[1]
    weights = np.full((channels, 1, *kernel), 1 / math.prod(kernel))

    def means(values: Any) -> Any:
        padded = _padded(attributes, values, kernel, strides, dilations)
        return _convolved(padded, weights, stride=strides, dilation=dilations, groups=channels)

    return means(x) if attributes["count_include_pad"] else means(x) / means(np.ones(x.shape))


def _max_pool(attributes: Attributes, x: Any) -> Any:
    kernel = attributes["kernel_shape"]
    strides, dilations = _kernel(attributes, kernel)
    if attributes.get("ceil_mode"):
        raise ParameterError("MaxPool with ceil_mode is not there")
    lowest = x.range[0] if isinstance(x, Array) else np.min(x)
    x = _padded(attributes, x, kernel, strides, dilations, lowest)
    counts = [
        (extent - (width - 1) * jump - 1) // step + 1
        for extent, width, step, jump in zip(x.shape[2:], kernel, strides, dilations, strict=True)
    ]
    bounded([*x.shape[:2], *counts, *kernel])
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


# --- Sums, extremes, normalisations. ---


def _reduced(function: Callable[..., Any]) -> Operator:
    """A reduction over the axes of an attribute, or of the second operand."""

    def operator(attributes: Attributes, x: Any, axes: Any = None) -> Any:
        given = listed(attributes, "axes", axes)
        if not given:
            if attributes.get("noop_with_empty_axes"):
                return x
            given = range(x.ndim)
        return function(x, axis=tuple(given), keepdims=bool(attributes["keepdims"]))

    return operator


def _mean(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """The mean; of integers without the fraction."""
    if isinstance(x, Array) or x.dtype.kind == "f":
        return np.mean(x, axis=axis, keepdims=keepdims)
    total = np.sum(x, axis=axis, keepdims=keepdims)
    return quotient(total, np.asarray(x.size // max(1, total.size), total.dtype))


def softmax(attributes: Attributes, x: Any, kept: Any = None) -> Any:
    """The softmax along an axis; `kept`: 0 for places that get the weight 0, else 1."""
    axis = attributes["axis"]
    # The largest of encrypted values is not known, but its bound is.
    top = x.range[1] if isinstance(x, Array) else x.max(axis=axis, keepdims=True)
    powers = np.exp(x - top) if kept is None else np.exp(x - top) * kept
    return powers / powers.sum(axis=axis, keepdims=True)


def _flat_softmax(attributes: Attributes, x: Any) -> Any:
    """Before version 13: over all axes from `axis` on."""
    axis = attributes["axis"]
    if not -x.ndim <= axis <= x.ndim:
        raise FormatError(f"axis {axis} of an array of shape {x.shape}")
    axis += x.ndim if axis < 0 else 0
    rows = x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    return softmax(Attributes(axis=1), rows).reshape(x.shape)


def _batch_norm(attributes: Attributes, x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    if (
        attributes.get("training_mode")
        or not attributes.get("is_test", 1)
        or not attributes.get("spatial", 1)
    ):
        raise ParameterError("it is of a network in training, or not of channels; export it for inference")
    around = (-1, *(1,) * (x.ndim - 2))
    scale, variance = (plain(each, "the scale of BatchNormalization") for each in (scale, variance))
    factor = scale / np.sqrt(variance + attributes["epsilon"])
    return x * factor.reshape(around) + (bias - mean * factor).reshape(around)


def _layer_norm(attributes: Attributes, x: Any, scale: Any, bias: Any = None) -> Any:
    axis = attributes["axis"]
    if not -x.ndim <= axis < x.ndim:
        raise FormatError(f"axis {axis} of an array of shape {x.shape}")
    axes = tuple(range(axis % x.ndim, x.ndim))
    mean = x.mean(axis=axes, keepdims=True)
    apart = x - mean
    variance = (apart * apart).mean(axis=axes, keepdims=True) + attributes["epsilon"]
    inverse = np.power(variance, -0.5)
    found = apart * inverse * scale
    return found if bias is None else found + bias, mean, inverse


def _dropout(attributes: Attributes, x: Any, ratio: Any = None, training: Any = None) -> Any:
    del ratio
    if not attributes.get("is_test", 1) or (
        training is not None and np.any(plain(training, "training_mode"))
    ):
        raise ParameterError("it is of a network in training; export it for inference")
    return x


def _reductions(
    function: Callable[..., Any], by_operand: int, *versions: int, **options: Any
) -> tuple[Meaning, ...]:
    """A reduction, whose axes are an operand from a version on."""
    run = _reduced(function)
    old = tuple(each for each in versions if each < by_operand)
    new = tuple(each for each in versions if each >= by_operand)
    return (
        Meaning(old, run, ("axes", "keepdims"), size=largest, **options),
        Meaning(new, run, ("keepdims", "noop_with_empty_axes"), size=largest, **options),
    )


_WINDOW = ("kernel_shape", "strides", "pads", "auto_pad")
_TRAINED = ("momentum", "consumed_inputs")

PRODUCTS: dict[str, tuple[Meaning, ...]] = {
    "AveragePool": (
        Meaning((7,), _average_pool, (*_WINDOW, "count_include_pad"), size=largest),
        Meaning((10, 11), _average_pool, (*_WINDOW, "count_include_pad", "ceil_mode"), size=largest),
        Meaning(
            (19, 22), _average_pool, (*_WINDOW, "count_include_pad", "ceil_mode", "dilations"), size=largest
        ),
    ),
    "BatchNormalization": (
        Meaning((1, 6), _batch_norm, ("epsilon", "is_test", "spatial"), _TRAINED, largest),
        Meaning((7,), _batch_norm, ("epsilon", "spatial"), _TRAINED, largest),
        Meaning((9,), _batch_norm, ("epsilon",), _TRAINED, largest),
        Meaning((14, 15), _batch_norm, ("epsilon", "training_mode"), _TRAINED, largest),
    ),
    "Conv": (Meaning((1, 11, 22), _conv, (*_WINDOW, "dilations", "group"), size=largest),),
    "Dropout": (
        Meaning((1, 6), _dropout, ("is_test",), ("ratio", "consumed_inputs"), largest, "all"),
        Meaning((7, 10, 12, 13, 22), _dropout, (), ("ratio", "seed"), largest, "all"),
    ),
    "Einsum": (Meaning((12, 28), _einsum, ("equation",), size=_einsum_size, takes="integers"),),
    "Gemm": (
        Meaning((1, 6), _gemm, ("alpha", "beta", "transA", "transB"), ("broadcast",), _gemm_size),
        Meaning((7, 9, 11, 13), _gemm, ("alpha", "beta", "transA", "transB"), size=_gemm_size),
    ),
    "GlobalAveragePool": (Meaning((1, 22), _global("mean"), size=largest),),
    "GlobalMaxPool": (Meaning((1, 22), _global("max"), size=largest),),
    "LayerNormalization": (
        Meaning((17,), _layer_norm, ("axis", "epsilon"), ("stash_type",), largest, results=3),
    ),
    "MatMul": (Meaning((1, 9, 13), named(np.matmul), size=_matmul_size, takes="integers"),),
    "MaxPool": (
        Meaning((1, 8), _max_pool, _WINDOW, ("storage_order",), largest, "integers"),
        Meaning(
            (10, 11, 12, 22),
            _max_pool,
            (*_WINDOW, "dilations", "ceil_mode"),
            ("storage_order",),
            largest,
            "integers",
        ),
    ),
    "ReduceMax": _reductions(np.max, 18, 1, 11, 12, 13, 18, 20, takes="integers"),
    "ReduceMean": _reductions(_mean, 18, 1, 11, 13, 18),
    "ReduceMin": _reductions(np.min, 18, 1, 11, 12, 13, 18, 20, takes="integers"),
    "ReduceSum": _reductions(np.sum, 13, 1, 11, 13, takes="integers"),
    "Softmax": (
        Meaning((1, 11), _flat_softmax, ("axis",), size=largest),
        Meaning((13,), softmax, ("axis",), size=largest),
    ),
}
"""By the name of the operator, in ONNX's own domain."""
