"""Operators of ONNX that move elements, and constants."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from hemera.compiler.networks.meanings import (
    Attributes,
    Meaning,
    Meanings,
    bounded,
    from_the_first,
    integers,
    listed,
    plain,
)
from hemera.errors import FormatError, ParameterError

_CONSTANTS = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}
_PADS = ("constant", "reflect", "edge", "wrap")


def _reshape(attributes: Attributes, x: Any, shape: Any = None) -> Any:
    wanted = listed(attributes, "shape", shape)
    if wanted is None or min(wanted, default=0) < -1:
        raise FormatError(f"a shape of {wanted}")
    if not attributes.get("allowzero"):
        wanted = [x.shape[at] if extent == 0 else extent for at, extent in enumerate(wanted)]
    return x.reshape(tuple(wanted))


def _flatten(attributes: Attributes, x: Any) -> Any:
    at = from_the_first(x, attributes["axis"])
    return x.reshape((math.prod(x.shape[:at]), math.prod(x.shape[at:])))


def _squeeze(attributes: Attributes, x: Any, axes: Any = None) -> Any:
    given = listed(attributes, "axes", axes)
    return np.squeeze(x, None if given is None else tuple(given))


def _depth_to_space(attributes: Attributes, x: Any) -> Any:
    """Channels become blocks of rows and columns; in the mode CRD a channel's block lies together."""
    block, mode = attributes["blocksize"], attributes.get("mode", "DCR")
    orders = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
    if x.ndim != 4 or block < 1 or x.shape[1] % block**2 or mode not in orders:
        raise FormatError(f"DepthToSpace of shape {x.shape}, with blocksize={block} and mode={mode!r}")
    count, channels, rows, columns = x.shape[0], x.shape[1] // block**2, x.shape[2], x.shape[3]
    inner = (block, block, channels) if mode == "DCR" else (channels, block, block)
    split = np.transpose(x.reshape((count, *inner, rows, columns)), orders[mode])
    return split.reshape((count, channels, rows * block, columns * block))


def _trilu(attributes: Attributes, x: Any, k: Any = None) -> Any:
    """The upper or the lower triangle of matrices."""
    shift = 0 if k is None else int(plain(k, "the diagonal of Trilu").item())
    kept = np.tri(x.shape[-2], x.shape[-1], k=shift - 1 if attributes["upper"] else shift) == 1
    kept = ~kept if attributes["upper"] else kept
    return np.where(kept, x, np.zeros_like(x) if isinstance(x, np.ndarray) else 0)


def _concat(attributes: Attributes, *xs: Any) -> Any:
    bounded([sum(x.size for x in xs)])
    return np.concatenate(xs, attributes.get("axis", 1))


def _slice(attributes: Attributes, x: Any, *others: Any) -> Any:
    names = ("starts", "ends", "axes", "steps")
    starts, ends, axes, steps = (
        listed(attributes, name, each) for name, each in itertools.zip_longest(names, others)
    )
    if starts is None or ends is None:
        raise ParameterError("a slice without starts or ends")
    own = [axis + x.ndim if axis < 0 else axis for axis in (axes or range(len(starts)))]
    if len(set(own)) < len(own):
        raise FormatError(f"a slice with axes {axes}, of which some are the same")
    parts = [slice(None)] * x.ndim
    for axis, start, end, step in zip(own, starts, ends, steps or [1] * len(starts), strict=True):
        parts[axis] = _part(x.shape[axis], start, end, step)
    return x[tuple(parts)]


def _part(extent: int, start: int, end: int, step: int) -> slice:
    """A slice as ONNX has it: ends that are outside are brought inside."""
    start, end = (each + extent if each < 0 else each for each in (start, end))
    if step > 0:
        return slice(min(max(start, 0), extent), min(max(end, 0), extent), step)
    start, end = min(max(start, 0), extent - 1), min(max(end, -1), extent - 1)
    return slice(start, None if end < 0 else end, step)


def _split(attributes: Attributes, x: Any, sizes: Any = None) -> Any:
    axis = attributes["axis"]
    own = listed(attributes, "split", sizes)
    extent, count = x.shape[axis], attributes.results
    if own is None:
        uneven = "num_outputs" in attributes
        if attributes.get("num_outputs", count) != count or (extent % count and not uneven):
            raise FormatError(f"an axis of {extent} is not split into {count} parts")
        each = -(-extent // count)
        own = [each] * (count - 1) + [extent - each * (count - 1)]
    if len(own) != count or sum(own) != extent or min(own) < 0:
        raise FormatError(f"an axis of {extent} is not split into parts of {own}")
    return np.split(x, np.cumsum(own)[:-1].tolist(), axis)


def _pad(attributes: Attributes, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
    mode, own = attributes["mode"], listed(attributes, "pads", pads)
    if mode not in _PADS:
        raise ParameterError(f"Pad with mode={mode!r}; there are {', '.join(_PADS)}")
    where = range(x.ndim) if axes is None else integers(axes, "axes")
    if own is None or min(own, default=0) < 0 or len(own) != 2 * len(where):
        raise ParameterError(f"pads {own}; they are from 0 on, two for each axis")
    widths = [(0, 0)] * x.ndim
    for at, axis in enumerate(where):
        widths[axis] = (own[at], own[at + len(where)])
    if mode != "constant":
        return np.pad(x, widths, mode)
    number = attributes.get("value", 0) if value is None else plain(value, "the value of Pad").item()
    return np.pad(x, widths, constant_values=number)


def _gather(attributes: Attributes, x: Any, indices: Any) -> Any:
    return np.take(x, plain(indices, "the indices of Gather"), axis=attributes["axis"])


def _inside(own: Any, extent: int) -> Any:
    """Indices from 0 on. FormatError for those outside of an axis."""
    if own.size and not (-extent <= own.min() and own.max() < extent):
        raise FormatError(f"indices from {own.min()} to {own.max()} of an axis of {extent}")
    return own % extent


def _along(attributes: Attributes, x: Any, indices: Any) -> Any:
    """The places in the flat array of elements that have indices along an axis."""
    axis, own = attributes["axis"], np.asarray(plain(indices, "indices"))
    if own.ndim != x.ndim or not -x.ndim <= axis < x.ndim:
        raise FormatError(f"axis {axis} of shape {x.shape}, and indices of shape {own.shape}")
    places: list[Any] = list(np.indices(own.shape, sparse=True))
    places[axis] = _inside(own, x.shape[axis])
    if any(e < o for at, (e, o) in enumerate(zip(x.shape, own.shape, strict=True)) if at != axis % x.ndim):
        raise FormatError(f"indices of shape {own.shape} for an array of shape {x.shape}")
    return np.ravel_multi_index(tuple(np.broadcast_arrays(*places)), x.shape)


def _blocks(attributes: Attributes, x: Any, indices: Any) -> Any:
    """The places in the flat array of blocks that have a row of indices for the first axes."""
    own, batch = np.asarray(plain(indices, "indices")), attributes.get("batch_dims", 0)
    rows = [*np.indices(own.shape[:-1])[:batch], *np.moveaxis(own, -1, 0)]
    if len(rows) > x.ndim or own.shape[:batch] != x.shape[:batch]:
        raise FormatError(f"indices of shape {own.shape} for an array of shape {x.shape}")
    first, inner = x.shape[: len(rows)], x.shape[len(rows) :]
    places = np.ravel_multi_index(tuple(map(_inside, rows, first)), first)
    size = math.prod(inner)
    return (places[..., None] * size + np.arange(size)).reshape((*places.shape, *inner))


def _gathered(places: Any) -> Any:
    return lambda attributes, x, indices: np.take(x.reshape(-1), places(attributes, x, indices))


def _scattered(places: Any) -> Any:
    """The array with other values in places, or with results of a function of both."""
    functions = {"none": None, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}

    def operator(attributes: Attributes, x: Any, indices: Any, updates: Any) -> Any:
        name = attributes.get("reduction", "none")
        where = places(attributes, x, indices)
        if where.shape != updates.shape or name not in functions:
            raise FormatError(
                f"values of shape {updates.shape} for places of {where.shape}, reduction={name!r}"
            )
        where, flat, new = where.reshape(-1), x.reshape(-1), updates.reshape(-1)
        left = np.arange(where.size)
        while left.size:  # of those for one place the first one, and the others after it
            _, first = np.unique(where[left], return_index=True)
            now, function = left[first], functions[name]
            values = np.take(new, now)
            values = values if function is None else function(np.take(flat, where[now]), values)
            source = np.arange(x.size)
            source[where[now]] = x.size + np.arange(now.size)
            flat, left = np.take(np.concatenate([flat, values]), source), np.delete(left, first)
        return flat.reshape(x.shape)

    return operator


def _compress(attributes: Attributes, x: Any, condition: Any) -> Any:
    axis = attributes.get("axis")
    kept = np.flatnonzero(plain(condition, "the condition of Compress"))
    return np.take(x.reshape(-1) if axis is None else x, kept, axis or 0)


def _one_hot(attributes: Attributes, indices: Any, depth: Any, values: Any) -> Any:
    """The second value at an index of a new axis, and the first one elsewhere."""
    count = int(plain(depth, "the depth of OneHot").item())
    own = np.expand_dims(np.trunc(plain(indices, "the indices of OneHot")), attributes["axis"])
    there = (own >= -count) & (own < count)
    at = np.moveaxis(np.arange(count).reshape((count, *(1,) * (own.ndim - 1))), 0, attributes["axis"])
    return np.where(there & (own % max(1, count) == at), values[1], values[0])


def _expand(attributes: Attributes, x: Any, shape: Any) -> Any:
    del attributes
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, bounded(integers(shape, "a shape"))))


def _tile(attributes: Attributes, x: Any, repeats: Any) -> Any:
    del attributes
    counts = integers(repeats, "repeats")
    if len(counts) != x.ndim or min(counts, default=0) < 0:
        raise FormatError(f"repeats {counts} of an array of shape {x.shape}")
    return np.tile(x, counts)


def _constant(attributes: Attributes) -> Any:
    name, *others = attributes or [""]
    if others or name not in ("value", *_CONSTANTS):
        raise FormatError(
            f"a Constant with {[*attributes]}, and one of value, {', '.join(_CONSTANTS)} is taken"
        )
    kind = _CONSTANTS.get(name)
    return attributes["value"] if kind is None else np.asarray(attributes[name], kind)


def _constant_of_shape(attributes: Attributes, shape: Any) -> Any:
    value = attributes.get("value", np.zeros(1, np.float32))
    if value.size != 1:
        raise FormatError(f"a ConstantOfShape of {value.size} values")
    return np.full(bounded(integers(shape, "a shape")), value.reshape(()))


def _shape(attributes: Attributes, x: Any) -> Any:
    return np.array(x.shape[slice(attributes.get("start", 0), attributes.get("end"))], np.int64)


def _range(attributes: Attributes, start: Any, limit: Any, delta: Any) -> Any:
    del attributes
    first, last, step = (plain(each, "the ends of Range").item() for each in (start, limit, delta))
    count = math.ceil((last - first) / step) if isinstance(step, float) else len(range(first, last, step))
    return start + np.arange(*bounded([max(0, count)])).astype(start.dtype) * delta


def _moves(run: Any, since: int = 1, **options: Any) -> tuple[Meaning, ...]:
    """Elements are moved: right for all kinds of them."""
    return (Meaning(run, since, takes="all", **options),)


PLACES: Meanings = {
    "Compress": _moves(_compress),
    "Concat": _moves(_concat),
    "Constant": _moves(_constant),
    "ConstantOfShape": _moves(_constant_of_shape),
    "DepthToSpace": _moves(_depth_to_space),
    "Expand": _moves(_expand),
    "Flatten": _moves(_flatten),
    "Gather": _moves(_gather),
    "GatherElements": _moves(_gathered(_along)),
    "GatherND": _moves(_gathered(_blocks)),
    "Identity": _moves(lambda _, x: x, masks=True),
    "OneHot": _moves(_one_hot),
    "Pad": _moves(_pad, 2),
    "Range": _moves(_range),
    "Reshape": _moves(_reshape),
    "Scatter": _moves(_scattered(_along)),
    "ScatterElements": _moves(_scattered(_along)),
    "ScatterND": _moves(_scattered(_blocks)),
    "Shape": _moves(_shape),
    "Size": _moves(lambda _, x: np.array(x.size, np.int64)),
    "Slice": _moves(_slice),
    "Split": _moves(_split, 2),
    "Squeeze": _moves(_squeeze),
    "Tile": _moves(_tile, 6),
    "Transpose": _moves(lambda attributes, x: np.transpose(x, attributes.get("perm"))),
    "Trilu": _moves(_trilu),
    "Unsqueeze": _moves(lambda of, x, axes=None: np.expand_dims(x, tuple(listed(of, "axes", axes) or ()))),
}
"""The operators' meanings, by their names in ONNX's own domain."""
