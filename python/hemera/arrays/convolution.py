"""Convolutions and pooling of arrays, encrypted or plain."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.arrays.array import Array
from hemera.arrays.recorded import sum_of_maps
from hemera.arrays.sparse_map import SparseMap
from hemera.errors import MismatchError, ParameterError
from hemera.inputs.plain import plain_array

Extents = int | Sequence[int]

_MOST_ENTRIES = 1 << 26

_known: WeakValueDictionary[Any, SparseMap] = WeakValueDictionary()
"""Maps of convolutions that programs have: a function is traced again for other bits of its functions."""


def conv(
    x: Any,
    weights: ArrayLike,
    bias: ArrayLike | None = None,
    *,
    stride: Extents = 1,
    padding: Extents = 0,
    dilation: Extents = 1,
    groups: int = 1,
) -> Any:
    """A convolution, as neural networks have it (a correlation): `torch.nn.functional.conv1d` and `conv2d` of
    one sample.

    Args:
        x: an encrypted or a plain array of shape (channels, *extents).
        weights: plain, of shape (results, channels / groups, *kernel).
        bias: plain, of shape (results,); None: 0.
        stride, padding, dilation: one number, or one for each axis of the kernel. Outside there are zeros.
        groups: results of each part of the channels are made of that part alone.

    Returns:
        An array of shape (results, *extents).

    Raises:
        MismatchError: for shapes that do not fit.
        ParameterError: for a stride or dilation below 1, and for a map of too many entries.
    """
    kernel = plain_array(weights, "conv", np.float64)
    axes = kernel.ndim - 2
    if axes < 1 or np.ndim(x) != axes + 1:
        raise MismatchError(f"a convolution of shape {np.shape(x)} with weights of {kernel.shape}")
    strides, paddings, dilations = (_each(each, axes) for each in (stride, padding, dilation))
    if min(*strides, *dilations, groups) < 1 or min(paddings) < 0:
        raise ParameterError("stride, dilation and groups are at least 1, padding at least 0")
    channels, *extents = x.shape
    results, part = kernel.shape[:2]
    if channels != part * groups or results % groups:
        raise MismatchError(
            f"weights of shape {kernel.shape} in {groups} groups do not fit {channels} channels"
        )
    sizes = [
        (extent + 2 * pad - step * (width - 1) - 1) // jump + 1
        for extent, pad, step, width, jump in zip(
            extents, paddings, dilations, kernel.shape[2:], strides, strict=True
        )
    ]
    if min(sizes) < 1:
        raise MismatchError(f"a kernel of {kernel.shape[2:]} is larger than what it runs over: {extents}")
    if kernel.size * math.prod(sizes) > _MOST_ENTRIES:
        raise ParameterError(f"a convolution of {kernel.size * math.prod(sizes)} entries")
    offset = None if bias is None else np.repeat(plain_array(bias, "conv", np.float64), math.prod(sizes))
    window = kernel.shape[2:], strides, paddings, dilations, groups
    if isinstance(x, Array):
        key = hashlib.sha256(kernel.tobytes()).digest(), kernel.shape, x.shape, window
        own = _known.get(key)
        if own is None:
            own = _known.setdefault(key, _map_of(kernel, x.shape, window))
        return sum_of_maps(x, [(x, own)], (results, *sizes), offset)
    # A hundredth of the time of the sparse maps, for ResNet-20.
    rows = _windows(np.asarray(x, np.float64), *window)
    found = (kernel.reshape(groups, results // groups, -1) @ rows).reshape(results, -1)
    return (found if offset is None else found + offset.reshape(results, -1)).reshape(results, *sizes)


def _windows(
    x: NDArray[Any],
    widths: Sequence[int],
    strides: Sequence[int],
    paddings: Sequence[int],
    dilations: Sequence[int],
    groups: int,
) -> NDArray[Any]:
    """The elements under the kernel at each place, 0 outside: [group, channel of it and kernel, place]."""
    axes = tuple(range(1, x.ndim))
    padded = np.pad(x, [(0, 0), *((each, each) for each in paddings)])
    spans = [step * (width - 1) + 1 for step, width in zip(dilations, widths, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(padded, spans, axes)
    steps = (slice(None), *(slice(None, None, step) for step in (*strides, *dilations)))
    last = np.moveaxis(windows[steps], axes, range(-len(axes), 0))  # [channel, *kernel, *places]
    return last.reshape(groups, -1, math.prod(last.shape[-len(axes) :]))


def _map_of(kernel: NDArray[np.float64], shape: Sequence[int], window: tuple[Any, ...]) -> SparseMap:
    """The map of a convolution, by the windows of the elements' numbers."""
    results, inputs = len(kernel), math.prod(shape)
    taken = _windows(np.arange(1, inputs + 1).reshape(shape), *window)
    groups, width, places = taken.shape
    grid = (groups, results // groups, places, width)  # the order of entries of `SparseMap`
    columns = np.broadcast_to(taken.transpose(0, 2, 1)[:, np.newaxis], grid)
    rows = np.broadcast_to(np.arange(results * places).reshape(*grid[:3], 1), grid)
    values = np.broadcast_to(kernel.reshape(groups, -1, 1, width), grid)
    kept = columns > 0
    return SparseMap.of(results * places, inputs, rows[kept], columns[kept] - 1, values[kept])


def average_pool(x: Any, size: Extents, *, stride: Extents | None = None, padding: Extents = 0) -> Any:
    """The mean over windows, of an array of shape (channels, *extents): `torch.nn.functional.avg_pool2d` of
    one sample, with padded zeros counted. `stride`: None: the windows' own extents. Raises as `conv`."""
    axes = len(x.shape) - 1
    widths = _each(size, axes)
    kernel = np.full((x.shape[0], 1, *widths), 1 / math.prod(widths))
    return conv(x, kernel, stride=widths if stride is None else stride, padding=padding, groups=x.shape[0])


def _each(value: Extents, axes: int) -> tuple[int, ...]:
    found = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(found) != axes:
        raise MismatchError(f"{found} for {axes} axes")
    return found
