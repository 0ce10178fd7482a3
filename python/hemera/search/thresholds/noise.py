"""The errors of encrypted scores before they are compared (docs/search.md#thresholds)."""

from __future__ import annotations

import math

from hemera.search.settings import Errors
from hemera.search.thresholds.settings import ThresholdSettings

__all__ = ["errors_of"]

_SINGLE = 2.0**-23 * math.sqrt(3 / (8 * math.log(2)) / 12)
"""The deviation of a float32's rounding over the number: uniform in a unit of its last place, where
logarithms of numbers are uniform."""


def errors_of(
    settings: ThresholdSettings, row_square: float, last_square: float, are_singles: bool = False
) -> Errors:
    """The standard deviations of the errors of a score, for a query of norm 1.

    Coefficients have independent errors: sigma of an encryption, uniform ones of an encoding and of a
    division by special primes or a rescale, the latter also times the secret. In the real part of a slot
    their variances are those below. Products are relinearized and added up over copies at their double scale,
    where that adds nothing that counts, and are rescaled once.

    Args:
        row_square: the mean of the squared norms of scaled rows (`scores.scaled_rows`), or of differences of
            these where they are compared.
        last_square: with "l2" the mean square of their last entries.
        are_singles: whether rows are kept as float32.
    """
    params, layout = settings.params, settings.layout
    unit = params.degree / 2 / params._native.scale**2
    weight = params._native.secret_weight or 2 * params.degree / 3
    encoding = 2 * unit / 12  # symmetric, so that all of the error is real
    fresh = unit * params._native.sigma**2 + encoding
    division = unit * (1 + weight) / 12
    # A query turned by 0 has no rotation, one turned by a baby and a giant has two.
    babies, giants, steps = len(layout.babies), len(layout.giants), layout.steps
    turns = (giants * (babies - 1) + babies * (giants - 1)) / steps
    column = fresh if settings.owner else encoding
    bound = settings.row_bound
    # The squares of the norm of a query's slots, and of the factor of squared norms.
    query = 1 / (2 + bound) ** 2 if settings.metric == "l2" else 0.25
    of_squares = query * bound**2 / 4
    variance = row_square * (fresh + turns * division) + query * column
    if settings.metric == "l2":
        # The squared norms: one more column, the same in all copies.
        variance += layout.parts * last_square * fresh + of_squares / layout.parts * column
    variance += division
    scale = {"cosine": 1.0, "dot": bound, "l2": bound * (2 + bound)}[settings.metric]
    rounding = 0.0
    if are_singles:
        # Of all entries together, as of independent ones. "l2" has the squared norm as a last one.
        rounded = 4 * query * row_square / settings.dims
        if settings.metric == "l2":
            rounded += 4 * of_squares * last_square
        rounding = scale * _SINGLE * math.sqrt(rounded)
    return Errors(2 * scale * math.sqrt(variance), rounding)
