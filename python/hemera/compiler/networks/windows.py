"""Operators of ONNX over windows: convolutions, and pools."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hemera.arrays import conv
from hemera.arrays.array import Array
from hemera.compiler.networks.meanings import Attributes, Meaning, Meanings, Operator, bounded, plain
from hemera.errors import FormatError, MismatchError, ParameterError

_KERNEL_AXES = 3


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
    x, strides, dilations = _padded(attributes, x, widths)
    return _convolved(x, weights, bias, stride=strides, dilation=dilations, groups=attributes["group"])


def _convolved(x: Any, *weights: Any, **options: Any) -> Any:
    """A convolution of each sample."""
    found = [conv(x[at], *weights, **options) for at in range(x.shape[0])]
    return found[0][None] if len(found) == 1 else np.stack(found)


def _conv_transpose(attributes: Attributes, x: Any, weights: Any, bias: Any = None) -> Any:
    """The transposed convolution: that of an array with zeros between its elements, by the kernel turned
    round."""
    weights = plain(weights, "the weights of ConvTranspose")
    bias = plain(bias, "the bias of ConvTranspose")
    widths, groups = weights.shape[2:], attributes["group"]
    if x.ndim != weights.ndim or x.shape[1] != len(weights) or groups < 1 or len(weights) % groups:
        raise MismatchError(
            f"ConvTranspose of an array of shape {x.shape} and weights of {weights.shape} in {groups} groups"
        )
    if tuple(attributes.get("kernel_shape", widths)) != widths:
        raise FormatError(f"kernel_shape {attributes['kernel_shape']} of weights of {weights.shape}")
    strides, dilations = _kernel(attributes, widths)
    reach = [(width - 1) * jump for width, jump in zip(widths, dilations, strict=True)]
    pads = _transposed_pads(attributes, x.shape[2:], strides, reach)
    larger = [e * s + sum(p) for e, s, p in zip(x.shape[2:], strides, pads, strict=True)]
    bounded([*x.shape[:2], *larger])
    for axis, step in enumerate(strides, 2):
        x = _spread(x, axis, step)
    x = np.pad(x, [(0, 0), (0, 0), *((max(0, a), max(0, b)) for a, b in pads)])
    inside = [
        slice(max(0, -a), extent - max(0, -b)) for (a, b), extent in zip(pads, x.shape[2:], strict=True)
    ]
    parts = weights.reshape((groups, -1, *weights.shape[1:])).swapaxes(1, 2)
    kernel = np.flip(parts, tuple(range(3, parts.ndim))).reshape((-1, parts.shape[2], *widths))
    cut = (slice(None), slice(None), *inside)
    x = x[cut]
    return _convolved(x, kernel, bias, dilation=dilations, groups=groups)


def _transposed_pads(
    attributes: Attributes, extents: Sequence[int], strides: Sequence[int], reach: Sequence[int]
) -> list[tuple[int, int]]:
    """Zeros before and after each axis, once there are some between its elements; what is cut off is
    negative."""
    axes, automatic = len(extents), attributes["auto_pad"]
    more = list(attributes.get("output_padding", [0] * axes))
    pads = list(attributes.get("pads", [0] * 2 * axes))
    wanted = attributes.get("output_shape")
    if automatic not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise FormatError(f"auto_pad={automatic!r}")
    if len(pads) != 2 * axes or len(more) != axes or min(*pads, *more) < 0:
        raise ParameterError(f"pads {pads} and output_padding {more} for {axes} axes")
    if wanted is None and automatic.startswith("SAME"):
        wanted = [extent * stride for extent, stride in zip(extents, strides, strict=True)]
    if wanted is not None:
        sizes = [(e - 1) * s + o + r + 1 for e, s, o, r in zip(extents, strides, more, reach, strict=True)]
        cut = [max(0, size - own) for size, own in zip(sizes, wanted[-axes:], strict=True)]
        first = [each // 2 if automatic == "SAME_UPPER" else each - each // 2 for each in cut]
        pads = [*first, *(each - own for each, own in zip(cut, first, strict=True))]
        more = [o + max(0, own - size) for o, size, own in zip(more, sizes, wanted[-axes:], strict=True)]
    elif automatic == "VALID":
        pads = [0] * 2 * axes
    return [(r - a, r - b + o) for r, a, b, o in zip(reach, pads[:axes], pads[axes:], more, strict=True)]


def _spread(x: Any, axis: int, step: int) -> Any:
    """The array with step - 1 zeros between the elements of an axis."""
    if step == 1:
        return x
    apart = np.expand_dims(x, axis + 1)
    apart = np.pad(apart, [(0, step - 1) if at == axis + 1 else (0, 0) for at in range(apart.ndim)])
    shape = (*x.shape[:axis], x.shape[axis] * step, *x.shape[axis + 1 :])
    inside = (*(slice(None),) * axis, slice(0, shape[axis] - step + 1))
    return apart.reshape(shape)[inside]


def _padded(
    attributes: Attributes, x: Any, kernel: Sequence[int], value: float = 0.0, beyond: float | None = None
) -> tuple[Any, list[int], list[int]]:
    """The array with the padding of `pads`, or `auto_pad`, around the last axes; strides and dilations. With
    `ceil_mode` there is after it what a last window lacks that begins before the padding at the end, filled
    with `beyond`; None: with `value`."""
    axes = len(kernel)
    strides, dilations = _kernel(attributes, kernel)
    automatic = attributes["auto_pad"]
    pads = list(attributes.get("pads", [0] * 2 * axes))
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
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
    more = [0] * axes
    for axis, (width, step, jump) in enumerate(zip(kernel, strides, dilations, strict=True)):
        inside, last, span = x.shape[2 + axis] + pads[axis], pads[axes + axis], (width - 1) * jump + 1
        end = (inside + last - span) // step * step  # where the last whole window begins
        if attributes.get("ceil_mode") and end + span < inside + last and end + step < inside:
            more[axis] = max(0, end + step + span - inside - last)
    ends = [last + each for last, each in zip(pads[axes:], more, strict=True)]
    bounded([*x.shape[:2], *(e + a + b for e, a, b in zip(x.shape[2:], pads, ends, strict=False))])
    widths = [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:], strict=True)]
    x = np.pad(x, widths, constant_values=value) if any(pads) else x
    if any(more):
        widths = [(0, 0), (0, 0), *((0, each) for each in more)]
        x = np.pad(x, widths, constant_values=value if beyond is None else beyond)
    return x, strides, dilations


def _summed(attributes: Attributes, x: Any, weight: float, padding: float = 0.0) -> Any:
    """The sums over windows of each channel, times a number."""
    kernel, channels = attributes["kernel_shape"], x.shape[1]
    padded, strides, dilations = _padded(attributes, x, kernel, padding, 0.0)
    weights = np.full((channels, 1, *kernel), weight)
    return _convolved(padded, weights, stride=strides, dilation=dilations, groups=channels)


def _average_pool(attributes: Attributes, x: Any) -> Any:
    weight = 1 / math.prod(attributes["kernel_shape"])
    found, with_padding = _summed(attributes, x, weight), bool(attributes.get("count_include_pad"))
    if with_padding and not attributes.get("ceil_mode"):
        return found
    return found / _summed(attributes, np.ones(x.shape), weight, float(with_padding))


def _lp_pool(attributes: Attributes, x: Any) -> Any:
    """The norm of the values of a window."""
    p = attributes["p"]
    if p < 1:
        raise ParameterError(f"LpPool with p={p} is not there")
    found = _summed(attributes, (np.abs(x) if p % 2 else x) ** p, 1.0)
    return found if p == 1 else np.sqrt(found) if p == 2 else np.power(found, 1 / p)


def _max_pool(attributes: Attributes, x: Any) -> Any:
    kernel = attributes["kernel_shape"]
    lowest = x.range[0] if isinstance(x, Array) else np.min(x)
    x, strides, dilations = _padded(attributes, x, kernel, lowest)
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


WINDOWS: Meanings = {
    "AveragePool": (Meaning(_average_pool),),
    "Conv": (Meaning(_conv),),
    "ConvTranspose": (Meaning(_conv_transpose),),
    "GlobalAveragePool": (Meaning(_global("mean")),),
    "GlobalMaxPool": (Meaning(_global("max")),),
    "LpPool": (Meaning(_lp_pool, 2),),
    "MaxPool": (Meaning(_max_pool, takes="integers"),),
}
"""The operators' meanings, by their names in ONNX's own domain."""
