"""Operators of ONNX that make arrays larger or smaller by interpolation: Resize and Upsample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.compiler.networks.meanings import Attributes, Meaning, Meanings, integers, plain
from hemera.errors import FormatError, ParameterError

Floats = NDArray[np.float64]


def _resize(attributes: Attributes, x: Any, *operands: Any) -> Any:
    """A map along each axis, by the formulas of https://onnx.ai/onnx/operators/onnx__Resize.html."""
    for name in ("antialias", "exclude_outside"):
        if attributes.get(name):
            raise ParameterError(f"Resize with {name}={attributes[name]} is not there")
    for axis, (scale, extent) in _axes(attributes, x, operands).items():
        if scale == 1 and extent == x.shape[axis]:
            continue
        places = _places(attributes, x.shape[axis], extent, scale)
        weights = _weights(attributes, places, x.shape[axis])
        x = np.moveaxis(np.moveaxis(x, axis, -1) @ weights.T, -1, axis)
    return x


def _axes(attributes: Attributes, x: Any, operands: Sequence[Any]) -> dict[int, tuple[float, int]]:
    """The scale and the new extent of axes.

    Raises:
        FormatError: for scales and extents of other axes than there are.
        ParameterError: for a policy that keeps the aspect ratio.
    """
    if attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise ParameterError("Resize that keeps the aspect ratio is not there; give it scales")
    # Until version 10 scales come first, then after the region of interest.
    _, scales, sizes = (None, *operands, None)[:3] if len(operands) < 2 else (*operands, None)[:3]
    scales = attributes.get("scales") if scales is None else np.ravel(plain(scales, "scales")).tolist()
    extents = None if sizes is None else integers(sizes, "sizes")
    given = attributes.get("axes", range(x.ndim))
    axes = [axis + x.ndim if axis < 0 else axis for axis in given]
    own = scales or extents
    if not own or len(own) != len(axes) or not all(0 <= axis < x.ndim for axis in axes):
        raise FormatError(f"scales {scales} and sizes {extents} for the axes {axes} of shape {x.shape}")
    if scales and not all(math.isfinite(each) and each > 0 for each in scales):
        raise FormatError(f"scales {scales}; they are above 0")
    found = {}
    for axis, each in zip(axes, own, strict=True):
        before = x.shape[axis]
        after = math.floor(before * each) if scales else int(each)
        found[axis] = (float(each) if scales else after / max(1, before), after)
    return found


def _places(attributes: Attributes, before: int, after: int, scale: float) -> Floats:
    """Where new elements lie among the old ones."""
    at = np.arange(after, dtype=np.float64)
    length = scale * before
    formulas: dict[str, Callable[[], Floats]] = {
        "half_pixel": lambda: (at + 0.5) / scale - 0.5,
        "half_pixel_symmetric": lambda: before / 2 * (1 - after / length) + (at + 0.5) / scale - 0.5,
        "pytorch_half_pixel": lambda: (at + 0.5) / scale - 0.5 if length > 1 else np.zeros(after),
        "align_corners": lambda: at * (before - 1) / (length - 1) if length != 1 else np.zeros(after),
        "asymmetric": lambda: at / scale,
    }
    name = attributes.get("coordinate_transformation_mode", "asymmetric")
    if name not in formulas:
        raise ParameterError(
            f"coordinate_transformation_mode={name!r}; there are {', '.join(sorted(formulas))}"
        )
    return formulas[name]()


def _weights(attributes: Attributes, places: Floats, before: int) -> Floats:
    """The map from old elements to new ones, of shape (new, old)."""
    mode = attributes["mode"]
    if mode == "nearest":
        return np.eye(before)[_nearest(attributes, places, before)]
    kernels: dict[str, tuple[Sequence[int], Callable[[Floats], Floats]]] = {
        "linear": ((0, 1), lambda apart: np.maximum(0, 1 - apart)),
        "cubic": ((-1, 0, 1, 2), lambda apart: _cubic(apart, attributes.get("cubic_coeff_a", -0.75))),
    }
    if mode not in kernels:
        raise ParameterError(f"mode={mode!r}; there are cubic, linear, nearest")
    around, kernel = kernels[mode]
    found = np.zeros((len(places), before))
    first = np.floor(places).astype(np.int64)
    rows = np.arange(len(places))
    for each in around:
        columns = np.clip(first + each, 0, before - 1)
        np.add.at(found, (rows, columns), kernel(np.abs(places - (first + each))))
    return found


def _nearest(attributes: Attributes, places: Floats, before: int) -> NDArray[np.int64]:
    roundings: dict[str, Callable[[Floats], Floats]] = {
        "round_prefer_floor": lambda v: np.ceil(v - 0.5),
        "round_prefer_ceil": lambda v: np.floor(v + 0.5),
        "floor": np.floor,
        "ceil": np.ceil,
    }
    name = attributes.get("nearest_mode", "floor")
    if name not in roundings:
        raise FormatError(f"nearest_mode={name!r}; there are {', '.join(roundings)}")
    return np.clip(roundings[name](places), 0, before - 1).astype(np.int64)


def _cubic(apart: Floats, a: float) -> Floats:
    """R. Keys, "Cubic convolution interpolation for digital image processing", 1981, equation 4."""
    near = (a + 2) * apart**3 - (a + 3) * apart**2 + 1
    far = a * apart**3 - 5 * a * apart**2 + 8 * a * apart - 4 * a
    return np.where(apart <= 1, near, np.where(apart < 2, far, 0.0))


RESIZING: Meanings = {"Resize": (Meaning(_resize),), "Upsample": (Meaning(_resize, 7),)}
"""The operators' meanings, by their names in ONNX's own domain."""
