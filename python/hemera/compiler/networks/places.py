"""Operators of ONNX that move elements, and constants."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from hemera.compiler.networks.meanings import Attributes, Meaning, bounded, integers, largest, listed, plain
from hemera.errors import FormatError, ParameterError

_CONSTANTS = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}
_PADS = ("constant", "reflect", "edge")


def _reshape(attributes: Attributes, x: Any, shape: Any = None) -> Any:
    wanted = listed(attributes, "shape", shape)
    if wanted is None or min(wanted, default=0) < -1:
        raise FormatError(f"a shape of {wanted}")
    if not attributes.get("allowzero"):
        wanted = [x.shape[at] if extent == 0 else extent for at, extent in enumerate(wanted)]
    return x.reshape(tuple(wanted))


def _flatten(attributes: Attributes, x: Any) -> Any:
    axis = attributes["axis"]
    if not -x.ndim <= axis <= x.ndim:
        raise FormatError(f"axis {axis} of an array of shape {x.shape}")
    axis += x.ndim if axis < 0 else 0
    return x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def _axes(attributes: Attributes, axes: Any) -> tuple[int, ...] | None:
    given = listed(attributes, "axes", axes)
    return None if given is None else tuple(given)


def _squeeze(attributes: Attributes, x: Any, axes: Any = None) -> Any:
    return np.squeeze(x, _axes(attributes, axes))


def _unsqueeze(attributes: Attributes, x: Any, axes: Any = None) -> Any:
    return np.expand_dims(x, _axes(attributes, axes) or ())


def _transpose(attributes: Attributes, x: Any) -> Any:
    return np.transpose(x, attributes.get("perm"))


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


def _count(attributes: Attributes, x: Any) -> Any:
    del attributes
    return np.array(x.size, np.int64)


def _concat(attributes: Attributes, *xs: Any) -> Any:
    return np.concatenate(xs, attributes.get("axis", 1))


def _concat_size(attributes: Attributes, *xs: Any) -> int:
    del attributes
    return sum(int(x.size) for x in xs)


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


def _pads(attributes: Attributes, x: Any, pads: Any, axes: Any) -> list[tuple[int, int]]:
    """Before and after each axis."""
    own = listed(attributes, "pads", pads)
    where = range(x.ndim) if axes is None else integers(axes, "axes")
    if own is None or min(own, default=0) < 0 or len(own) != 2 * len(where):
        raise ParameterError(f"pads {own}; they are from 0 on, two for each axis")
    widths = [(0, 0)] * x.ndim
    for at, axis in enumerate(where):
        widths[axis] = (own[at], own[at + len(where)])
    return widths


def _pad(attributes: Attributes, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
    mode = attributes["mode"]
    if mode not in _PADS:
        raise ParameterError(f"Pad with mode={mode!r}; there are {', '.join(_PADS)}")
    widths = _pads(attributes, x, pads, axes)
    if mode != "constant":
        return np.pad(x, widths, mode)
    number = attributes.get("value", 0) if value is None else plain(value, "the value of Pad").item()
    return np.pad(x, widths, constant_values=number)


def _pad_size(attributes: Attributes, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> int:
    del value
    widths = _pads(attributes, x, pads, axes)
    return math.prod(extent + sum(pair) for extent, pair in zip(x.shape, widths, strict=True))


def _gather(attributes: Attributes, x: Any, indices: Any) -> Any:
    return np.take(x, plain(indices, "the indices of Gather"), axis=attributes["axis"])


def _gather_size(attributes: Attributes, x: Any, indices: Any) -> int:
    return int(x.size // max(1, x.shape[attributes["axis"]]) * indices.size)


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


def _one_hot_size(attributes: Attributes, indices: Any, depth: Any, values: Any) -> int:
    del attributes, values
    return int(indices.size) * int(plain(depth, "the depth of OneHot").item())


def _gather_nd_size(attributes: Attributes, x: Any, indices: Any) -> int:
    taken = int(attributes.get("batch_dims", 0) + indices.shape[-1])
    return int(indices.size // max(1, indices.shape[-1]) * math.prod(x.shape[taken:]))


def _gather_elements_size(attributes: Attributes, x: Any, indices: Any) -> int:
    del attributes, x
    return int(indices.size)


def _shape_of_expand(x: Any, shape: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(x.shape, bounded(integers(shape, "a shape")))


def _expand(attributes: Attributes, x: Any, shape: Any) -> Any:
    del attributes
    return np.broadcast_to(x, _shape_of_expand(x, shape))


def _expand_size(attributes: Attributes, x: Any, shape: Any) -> int:
    del attributes
    return math.prod(_shape_of_expand(x, shape))


def _counts(x: Any, repeats: Any) -> list[int]:
    counts = integers(repeats, "repeats")
    if len(counts) != x.ndim or min(counts, default=0) < 0:
        raise FormatError(f"repeats {counts} of an array of shape {x.shape}")
    return counts


def _tile(attributes: Attributes, x: Any, repeats: Any) -> Any:
    del attributes
    return np.tile(x, _counts(x, repeats))


def _tile_size(attributes: Attributes, x: Any, repeats: Any) -> int:
    del attributes
    return int(x.size) * math.prod(_counts(x, repeats))


def _constant(attributes: Attributes) -> Any:
    given = [name for name in ("value", *_CONSTANTS) if name in attributes]
    if len(given) != 1:
        raise FormatError(f"a Constant with the values {given}, where there is one")
    kind = _CONSTANTS.get(given[0])
    return attributes["value"] if kind is None else np.asarray(attributes[given[0]], kind)


def _constant_of_shape(attributes: Attributes, shape: Any) -> Any:
    value = attributes.get("value", np.zeros(1, np.float32))
    if value.size != 1:
        raise FormatError(f"a ConstantOfShape of {value.size} values")
    return np.full(bounded(integers(shape, "a shape")), value.reshape(()))


def _shape_size(attributes: Attributes, shape: Any) -> int:
    del attributes
    return math.prod(integers(shape, "a shape"))


def _shape(attributes: Attributes, x: Any) -> Any:
    return np.array(x.shape[slice(attributes.get("start", 0), attributes.get("end"))], np.int64)


def _length(start: Any, limit: Any, delta: Any) -> int:
    ends: list[Any] = [plain(each, "the ends of Range").item() for each in (start, limit, delta)]
    first, last, step = ends
    count: int = (
        math.ceil((last - first) / step) if isinstance(step, float) else len(range(first, last, step))
    )
    return max(0, count)


def _range(attributes: Attributes, start: Any, limit: Any, delta: Any) -> Any:
    del attributes
    return start + np.arange(_length(start, limit, delta)).astype(start.dtype) * delta


def _range_size(attributes: Attributes, start: Any, limit: Any, delta: Any) -> int:
    del attributes
    return _length(start, limit, delta)


def _first(attributes: Attributes, x: Any) -> Any:
    del attributes
    return x


def _moves(run: Any, *versions: int, attributes: tuple[str, ...] = (), size: Any = largest) -> Meaning:
    """Elements are moved: right for all kinds of them."""
    return Meaning(versions, run, attributes, size=size, takes="all", masks=run is _first)


_SINCE_21 = (21, 23, 24, 25)
_NUMBERS = tuple(_CONSTANTS)

PLACES: dict[str, tuple[Meaning, ...]] = {
    "Compress": (_moves(_compress, 9, 11, 28, attributes=("axis",)),),
    "Concat": (_moves(_concat, 1, 4, 11, 13, attributes=("axis",), size=_concat_size),),
    "Constant": (
        _moves(_constant, 1, 9, 11, attributes=("value",)),
        _moves(_constant, 12, 13, 19, *_SINCE_21, attributes=("value", *_NUMBERS)),
    ),
    "ConstantOfShape": (
        _moves(_constant_of_shape, 9, 20, *_SINCE_21, attributes=("value",), size=_shape_size),
    ),
    "DepthToSpace": (
        _moves(_depth_to_space, 1, attributes=("blocksize",)),
        _moves(_depth_to_space, 11, 13, 28, attributes=("blocksize", "mode")),
    ),
    "Expand": (_moves(_expand, 8, 13, size=_expand_size),),
    "Flatten": (_moves(_flatten, 1, 9, 11, 13, *_SINCE_21, attributes=("axis",)),),
    "Gather": (_moves(_gather, 1, 11, 13, attributes=("axis",), size=_gather_size),),
    "GatherElements": (_moves(_gathered(_along), 11, 13, attributes=("axis",), size=_gather_elements_size),),
    "GatherND": (
        _moves(_gathered(_blocks), 11, size=_gather_nd_size),
        _moves(_gathered(_blocks), 12, 13, attributes=("batch_dims",), size=_gather_nd_size),
    ),
    "Identity": (_moves(_first, 1, 13, 14, 16, 19, *_SINCE_21),),
    "OneHot": (_moves(_one_hot, 9, 11, 28, attributes=("axis",), size=_one_hot_size),),
    "Pad": (
        _moves(_pad, 2, attributes=("pads", "value", "mode"), size=_pad_size),
        _moves(_pad, 11, 13, 18, 19, *_SINCE_21, attributes=("mode",), size=_pad_size),
    ),
    "Range": (
        _moves(_range, 11, size=_range_size),
        _moves(_range, 27, attributes=("stash_type",), size=_range_size),
    ),
    "Reshape": (
        _moves(_reshape, 1, attributes=("shape",)),
        _moves(_reshape, 5, 13),
        _moves(_reshape, 14, 19, *_SINCE_21, attributes=("allowzero",)),
    ),
    "Scatter": (_moves(_scattered(_along), 9, attributes=("axis",)),),
    "ScatterElements": (
        _moves(_scattered(_along), 11, 13, attributes=("axis",)),
        _moves(_scattered(_along), 16, 18, attributes=("axis", "reduction")),
    ),
    "ScatterND": (
        _moves(_scattered(_blocks), 11, 13),
        _moves(_scattered(_blocks), 16, 18, attributes=("reduction",)),
    ),
    "Shape": (_moves(_shape, 1, 13), _moves(_shape, 15, 19, *_SINCE_21, attributes=("start", "end"))),
    "Slice": (
        _moves(_slice, 1, attributes=("starts", "ends", "axes")),
        _moves(_slice, 10, 11, 13),
    ),
    "Split": (
        _moves(_split, 2, 11, attributes=("axis", "split")),
        _moves(_split, 13, attributes=("axis",)),
        _moves(_split, 18, attributes=("axis", "num_outputs")),
    ),
    "Size": (_moves(_count, 1, 13, 19, *_SINCE_21),),
    "Squeeze": (
        _moves(_squeeze, 1, 11, attributes=("axes",)),
        _moves(_squeeze, 13, *_SINCE_21),
    ),
    "Tile": (_moves(_tile, 6, 13, size=_tile_size),),
    "Transpose": (_moves(_transpose, 1, 13, *_SINCE_21, attributes=("perm",)),),
    "Trilu": (_moves(_trilu, 14, attributes=("upper",)),),
    "Unsqueeze": (
        _moves(_unsqueeze, 1, 11, attributes=("axes",)),
        _moves(_unsqueeze, 13, *_SINCE_21),
    ),
}
"""The operators' meanings, by their names in ONNX's own domain."""
