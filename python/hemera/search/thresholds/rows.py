"""Payloads, and the settings of rows to come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import MismatchError, ParameterError, RangeError
from hemera.search import quantization
from hemera.search.any_settings import Metric
from hemera.search.thresholds.settings import ThresholdSettings, rows_of_block

__all__ = ["as_payloads", "bounds_of", "settings_for"]


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
        quantization.require_scores(metric, largest, largest)
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


def _as_numbers(payloads: ArrayLike) -> NDArray[np.float64]:
    numbers = np.asarray(payloads)
    if numbers.ndim != 2 or numbers.dtype.kind not in "fiu":
        raise MismatchError(
            f"payloads are real numbers [rows, numbers], not {numbers.dtype} of shape {numbers.shape}"
        )
    return np.asarray(numbers, np.float64)
