"""Payloads, and the settings of rows to come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import FormatError, MismatchError, ParameterError, RangeError
from hemera.inputs.plain import plain_array
from hemera.search import quantization
from hemera.search.any_settings import Metric
from hemera.search.thresholds.settings import ThresholdSettings, rows_of_block

__all__ = ["as_payloads", "block_bytes", "bounds_of", "require_scaled", "settings_for"]

_ROUNDING = 2.0**-19
"""The error of rounding rows to float32, and of their norms."""


def settings_for(
    vectors: NDArray[Any],
    metric: Metric,
    margin: float,
    payloads: ArrayLike | None,
    payload_bound: float | None,
    row_bound: float | None,
    owner: str = "",
) -> ThresholdSettings:
    """The settings of an index that begins with these rows. ParameterError, MismatchError."""
    if len(vectors) == 0:
        raise MismatchError("an index begins with one vector at least")
    count, dims = vectors.shape
    rows = rows_of_block(count, dims, float(margin))
    bounds = bounds_of(vectors, metric, payloads, payload_bound, row_bound)
    return ThresholdSettings(dims, metric, float(margin), rows, *bounds, owner)


def bounds_of(
    vectors: NDArray[Any],
    metric: Metric,
    payloads: ArrayLike | None,
    payload_bound: float | None,
    row_bound: float | None,
) -> tuple[float, int, float]:
    """The settings' `row_bound`, `payload` and `payload_bound` for these rows. ParameterError,
    MismatchError."""
    bound = 1.0
    if metric != "cosine":
        largest = float(quantization.norms_of(vectors)[0].max())
        bound = largest if row_bound is None else float(row_bound)
        if bound == 0:
            raise ParameterError("all vectors are zero; give row_bound=")
    elif row_bound is not None:
        raise ParameterError("row_bound= is for other metrics; cosines are of rows of norm 1")
    width, most = 0, 1.0
    if payloads is not None:
        numbers = _as_numbers(payloads)
        width = numbers.shape[1]
        most = float(np.abs(numbers).max(initial=0)) or 1.0
    return bound, width, most if payload_bound is None else float(payload_bound)


def as_payloads(payloads: ArrayLike | None, count: int, settings: ThresholdSettings) -> NDArray[np.float64]:
    """[rows, payload] of payloads. MismatchError for another shape, RangeError for larger numbers."""
    if payloads is None and settings.payload == 0:
        return np.empty((count, 0))
    numbers = np.empty((0, 0)) if payloads is None else _as_numbers(payloads)
    if numbers.shape != (count, settings.payload):
        raise MismatchError(
            f"payloads of {count} rows are an array [{count}, {settings.payload}], not one of shape "
            f"{numbers.shape}"
        )
    largest = float(np.abs(numbers).max(initial=0))
    if not largest <= settings.payload_bound:
        raise RangeError(
            f"a payload has the number {largest:.6g}, and the index takes up to {settings.payload_bound:.6g}"
            "; make it with payload_bound= of all payloads to come"
        )
    return numbers


def block_bytes(settings: ThresholdSettings) -> int:
    """Bytes that a block's columns and payloads in the clear take as plaintexts."""
    params = settings.params
    of_level = [8 * params.degree * len(params.primes[level]) for level in (settings.top, 1)]
    return settings.columns * of_level[0] + settings.payloads * of_level[1]


def require_scaled(
    rows: NDArray[np.floating], numbers: NDArray[np.float64], settings: ThresholdSettings
) -> None:
    """FormatError unless scaled rows of a file are below 1, and its payloads within the settings' bound."""
    for what, found, bound in (("rows", rows, 1 + _ROUNDING), ("payloads", numbers, settings.payload_bound)):
        if not np.abs(found).max(initial=0) <= bound:  # a number that is none is above, too
            raise FormatError(f"the {what} of the index have numbers above their bound of {bound:.6g}")


def _as_numbers(payloads: ArrayLike) -> NDArray[np.float64]:
    numbers = plain_array(payloads, "payloads")
    if numbers.ndim != 2 or numbers.dtype.kind not in "fiu":
        raise MismatchError(
            f"payloads are real numbers [rows, numbers], not {numbers.dtype} of shape {numbers.shape}"
        )
    return np.asarray(numbers, np.float64)
