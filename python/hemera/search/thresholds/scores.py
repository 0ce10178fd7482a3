"""Scores as products of slots: the columns of rows, and a query's slots.

A score becomes a number from -1 to 1, half of which is computed, so that differences of two are in this range
as well. With q the query, B the bound on rows' norms:

- "cosine": x·q / |x||q|,
- "dot": x·q / B|q|,
- "l2": (2 x·q - |x|²) / B (2 |q| + B), which is largest for the nearest row. The squares are a column more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import MismatchError, ParameterError, RangeError
from hemera.inputs.plain import plain_array
from hemera.search import quantization
from hemera.search.any_settings import require_scores
from hemera.search.thresholds.settings import ThresholdSettings

__all__ = ["Asked", "columns_of", "scaled_rows"]


def scaled_rows(vectors: ArrayLike, settings: ThresholdSettings, what: str) -> NDArray[np.float64]:
    """[rows, entries] of vectors [rows, dims]: divided by their norms, or by the bound on these; for "l2"
    with the squares of their norms in a last entry.

    MismatchError for another shape, RangeError for norms above the bound, ParameterError for a row of zeros
    where the metric is "cosine", TypeError for other numbers.
    """
    given = quantization.as_vectors(vectors, what)
    if given.shape[1] != settings.dims:
        raise MismatchError(f"the index has vectors of {settings.dims} numbers, not of {given.shape[1]}")
    if settings.metric == "cosine":
        return quantization.normalized(given)
    rows = np.asarray(given, np.float64) / settings.row_bound
    norms = quantization.norms_of(rows)[0][:, None]
    if norms.max(initial=0) > 1 + 2**-20:
        raise RangeError(
            f"a vector has the norm {float(norms.max()) * settings.row_bound:.6g}, and the index takes up to "
            f"{settings.row_bound:.6g}; make it with row_bound= of all vectors to come"
        )
    return np.hstack([rows, norms**2]) if settings.metric == "l2" else rows


def columns_of(rows: NDArray[np.floating], settings: ThresholdSettings) -> NDArray[np.float64]:
    """[columns, slots] of a block's scaled rows [count, entries], or of differences of such."""
    layout = settings.layout
    columns = layout.of_rows(rows[:, : settings.dims])
    squares = [layout.in_copies(each) for each in rows[:, settings.dims :].T]
    return np.concatenate([columns, *(each[None] for each in squares)])


@dataclass(frozen=True)
class Asked:
    """A query, in the clear."""

    slots: NDArray[np.float64]  # [1, slots]; for "l2" [2, slots]
    norm: float

    @classmethod
    def of(cls, x: ArrayLike, settings: ThresholdSettings) -> Asked:
        """MismatchError for another shape, RangeError for numbers that are not finite, ParameterError for a
        query of zeros where the metric is "cosine", TypeError for other numbers."""
        given = plain_array(x, "a query")
        if given.shape != (settings.dims,):
            raise MismatchError(f"a query has {settings.dims} numbers; the shape is {given.shape}")
        if given.dtype.kind not in "fiu":
            raise TypeError(f"a query has numbers, not {given.dtype}")
        wide = np.asarray(given, np.float64)
        if not np.isfinite(wide).all():
            raise RangeError("the query has numbers that are not finite")
        norms, near = quantization.norms_of(wide[None])
        norm = float(norms[0])
        if settings.metric == "cosine" and norm == 0:
            raise ParameterError("a query of zeros has no cosine with anything")
        require_scores(settings.metric, settings.row_bound, norm)
        layout = settings.layout
        if settings.metric == "l2":
            bound = settings.row_bound
            factor = bound / (2 * norm + bound)
            # The squares are added up over the parts, as all columns are.
            squares = np.full(layout.slots, -factor / (2 * layout.parts))
            return cls(np.stack([layout.of_query(wide * (factor / bound)), squares]), norm)
        return cls(layout.of_query(near[0] / 2)[None], norm)

    def relative(self, scores: NDArray[np.float64], settings: ThresholdSettings) -> NDArray[np.float64]:
        """Scores as numbers from -1 to 1; beyond these, where no row has such a score. RangeError for numbers
        that are not finite or, as cosines, not from -1 to 1."""
        bound = settings.row_bound
        if settings.metric == "cosine":
            found = scores
        elif settings.metric == "dot":
            found = scores / (bound * (self.norm or 1.0))
        else:
            found = (self.norm**2 - scores) / (bound * (2 * self.norm + bound))
        if not np.isfinite(found).all() or (settings.metric == "cosine" and np.abs(found).max() > 1):
            raise RangeError("a threshold is a finite number, of cosines from -1 to 1")
        return found
