"""Operators of ONNX over axes: products of matrices, sums, extremes, normalisations, softmax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hemera.arrays.array import Array
from hemera.arrays.functions import logsumexp
from hemera.compiler.networks.elementwise import quotient
from hemera.compiler.networks.masks import softmax_of
from hemera.compiler.networks.meanings import (
    Attributes,
    Meaning,
    Meanings,
    Operator,
    from_the_first,
    listed,
    named,
    plain,
)
from hemera.errors import FormatError, MismatchError, ParameterError

_MOST_PRODUCTS = 1 << 30
"""The most products of an Einsum of plain values."""


# --- Products of matrices. ---


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


def _einsum(attributes: Attributes, *xs: Any) -> Any:
    """ParameterError for too many products of plain values."""
    extents: dict[str, int] = {}
    hidden: tuple[int, ...] = ()
    for term, x in zip(attributes["equation"].replace(" ", "").split("->")[0].split(","), xs, strict=True):
        first, dots, last = term.partition("...")
        extents.update(zip(first, x.shape, strict=False))
        extents.update(zip(last[::-1], x.shape[::-1], strict=False))
        if dots:
            hidden = np.broadcast_shapes(hidden, x.shape[len(first) : x.ndim - len(last)])
    products = math.prod(extents.values()) * math.prod(hidden)
    if products > _MOST_PRODUCTS:
        raise ParameterError(f"an Einsum of {products} products; at most {_MOST_PRODUCTS} are taken")
    return np.einsum(attributes["equation"], *xs)


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


def _same(x: Any) -> Any:
    return x


def _of_sum(before: Callable[[Any], Any], after: Callable[[Any], Any] = _same) -> Callable[..., Any]:
    """A function of the sum of functions of elements."""
    return lambda x, axis, keepdims: after(np.sum(before(x), axis=axis, keepdims=keepdims))


def _extreme(name: str) -> Operator:
    """Where an extreme is along an axis: the first of equal ones, or the last."""

    def operator(attributes: Attributes, x: Any) -> Any:
        axis, last = attributes["axis"], attributes.get("select_last_index")
        found = getattr(np.flip(x, axis) if last else x, name)(
            axis=axis, keepdims=bool(attributes["keepdims"])
        )
        return x.shape[axis] - 1 - found if last else found

    return operator


def _hardmax(x: Any, axis: int) -> Any:
    """1 at the first largest element along an axis, 0 elsewhere."""
    place = np.expand_dims(x.argmax(axis=axis), axis)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return (place == np.arange(x.shape[axis]).reshape(shape)) * 1.0


def _running(attributes: Attributes, x: Any, axis: Any) -> Any:
    """Sums of all elements up to each one along an axis, by `exclusive` without it."""
    at = int(plain(axis, "the axis of CumSum").item())
    x = np.flip(x, at) if attributes["reverse"] else x
    found = np.cumsum(x, axis=at)
    found = found - x if attributes["exclusive"] else found
    return np.flip(found, at) if attributes["reverse"] else found


def _lp_norm(attributes: Attributes, x: Any) -> Any:
    """Divided by the norm along an axis; plain zeros stay."""
    axis = attributes["axis"]
    if attributes["p"] not in (1, 2):
        raise FormatError(f"p={attributes['p']}; there are 1 and 2")
    if isinstance(x, Array):
        if attributes["p"] == 1:
            return x / np.sum(np.abs(x), axis=axis, keepdims=True)
        return x * np.power(np.sum(x * x, axis=axis, keepdims=True), -0.5)
    norm = np.linalg.norm(x, attributes["p"], axis=axis, keepdims=True)
    return x / np.where(norm == 0, 1, norm)


def _flat(function: Callable[..., Any]) -> Operator:
    """Before version 13: over all axes from `axis` on."""

    def operator(attributes: Attributes, x: Any) -> Any:
        rows = math.prod(x.shape[: from_the_first(x, attributes["axis"])])
        return function(x.reshape((rows, -1)), 1).reshape(x.shape)

    return operator


def _along(function: Callable[..., Any]) -> Operator:
    return lambda attributes, x: function(x, attributes["axis"])


def _log_softmax(x: Any, axis: int) -> Any:
    return x - logsumexp(x, axis, keepdims=True)


def _batch_norm(attributes: Attributes, x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    if (
        attributes.get("training_mode")
        or not attributes.get("is_test", 1)
        or not attributes.get("spatial", 1)
    ):
        raise ParameterError("it is of a network in training, or not of channels; export it for inference")
    scale, variance = (plain(each, "the scale of BatchNormalization") for each in (scale, variance))
    factor = scale / np.sqrt(variance + attributes["epsilon"])
    return _by_channel(x, factor, bias - mean * factor)


def _layer_norm(attributes: Attributes, x: Any, scale: Any, bias: Any = None) -> Any:
    axes = tuple(range(from_the_first(x, attributes["axis"]), x.ndim))
    found, mean, inverse = _normalised(x, axes, attributes["epsilon"])
    return found * scale if bias is None else found * scale + bias, mean, inverse


def _normalised(x: Any, axes: tuple[int, ...], epsilon: float) -> tuple[Any, Any, Any]:
    """x less its mean along axes, divided by the deviation; the mean, and the inverse of the deviation."""
    mean = x.mean(axis=axes, keepdims=True)
    apart = x - mean
    inverse = np.power((apart * apart).mean(axis=axes, keepdims=True) + epsilon, -0.5)
    return apart * inverse, mean, inverse


def _instance_norm(attributes: Attributes, x: Any, scale: Any, bias: Any) -> Any:
    found, _, _ = _normalised(x, tuple(range(2, x.ndim)), attributes["epsilon"])
    return _by_channel(found, scale, bias)


def _by_channel(x: Any, scale: Any, bias: Any) -> Any:
    """x times a number of each channel, plus one."""
    around = (-1, *(1,) * (x.ndim - 2))
    return x * scale.reshape(around) + bias.reshape(around)


def _group_norm(attributes: Attributes, x: Any, scale: Any, bias: Any) -> Any:
    groups = attributes["num_groups"]
    if x.ndim < 3 or groups < 1 or x.shape[1] % groups:
        raise MismatchError(f"{groups} groups of the channels of an array of shape {x.shape}")
    own = x.reshape((x.shape[0], groups, math.prod(x.shape[1:]) // groups))
    found, _, _ = _normalised(own, (2,), attributes["epsilon"])
    return _by_channel(found.reshape(x.shape), scale, bias)


def _dropout(attributes: Attributes, x: Any, ratio: Any = None, training: Any = None) -> Any:
    del ratio
    if not attributes.get("is_test", 1) or (
        training is not None and np.any(plain(training, "training_mode"))
    ):
        raise ParameterError("it is of a network in training; export it for inference")
    return x


PRODUCTS: Meanings = {
    "ArgMax": (Meaning(_extreme("argmax"), takes="integers"),),
    "ArgMin": (Meaning(_extreme("argmin"), takes="integers"),),
    "BatchNormalization": (Meaning(_batch_norm),),
    "CumSum": (Meaning(_running, takes="integers"),),
    "Det": (Meaning(named(np.linalg.det)),),
    "Dropout": (Meaning(_dropout, takes="all"),),
    "Einsum": (Meaning(_einsum, takes="integers"),),
    "Gemm": (Meaning(_gemm),),
    "GroupNormalization": (Meaning(_group_norm),),
    "Hardmax": (Meaning(_flat(_hardmax)), Meaning(_along(_hardmax), 13)),
    "InstanceNormalization": (Meaning(_instance_norm),),
    "LayerNormalization": (Meaning(_layer_norm, results=3),),
    "LogSoftmax": (Meaning(_flat(_log_softmax)), Meaning(_along(_log_softmax), 13)),
    "LpNormalization": (Meaning(_lp_norm),),
    "MatMul": (Meaning(named(np.matmul), takes="integers"),),
    "ReduceL1": (Meaning(_reduced(_of_sum(np.abs))),),
    "ReduceL2": (Meaning(_reduced(_of_sum(np.square, np.sqrt))),),
    "ReduceLogSum": (Meaning(_reduced(_of_sum(_same, np.log))),),
    "ReduceLogSumExp": (Meaning(_reduced(logsumexp)),),
    "ReduceMax": (Meaning(_reduced(np.max), takes="integers"),),
    "ReduceMean": (Meaning(_reduced(_mean)),),
    "ReduceMin": (Meaning(_reduced(np.min), takes="integers"),),
    "ReduceProd": (Meaning(_reduced(np.prod)),),
    "ReduceSum": (Meaning(_reduced(np.sum), takes="integers"),),
    "ReduceSumSquare": (Meaning(_reduced(_of_sum(np.square))),),
    "Softmax": (Meaning(_flat(softmax_of), masks=True), Meaning(_along(softmax_of), 13, masks=True)),
}
"""The operators' meanings, by their names in ONNX's own domain."""
