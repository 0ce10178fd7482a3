"""The bits that a block's polynomials leave, and whether inputs lie in its ranges."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import RangeError
from hemera_apps.transformer.approximations import Approximations
from hemera_apps.transformer.clear import Ranges, Shape, Trace, Weights, token_weights
from hemera_apps.transformer.functions import in_the_clear

Array = NDArray[np.float64]

_NOISE = 2.0**-15.5
"""Allowed noise, relative to the largest output: N = 2^16 adds about 2^-17.7 to a block of BERT-base."""


def least_bits(planned: float) -> float:
    """The bits that an encrypted block must have, if its polynomials leave `planned` ones."""
    return -math.log2(2.0**-planned + _NOISE)


def require_in_ranges(trace: Trace, ranges: Ranges) -> None:
    """RangeError if a value of a block's step is outside of the ranges, where polynomials are wrong."""
    seen, wrong = Ranges.seen(trace, 0), []
    for name in ("score", "mixed", "hidden", "centred"):
        if getattr(seen, name) > getattr(ranges, name):
            wrong.append(name)
    intervals = {"sums": (seen.sums, ranges.sums)} | {
        f"variance {step + 1}": (seen.variances[step], ranges.variances[step]) for step in (0, 1)
    }
    wrong += [name for name, (own, wide) in intervals.items() if own[0] < wide[0] or own[1] > wide[1]]
    if wrong:
        raise RangeError(
            f"the inputs have values outside of the ranges of {', '.join(wrong)}: take these from more "
            "inputs, or with a larger margin"
        )


def approximate_block(
    weights: Weights, shape: Shape, functions: Approximations, x: Array, real: ArrayLike | None = None
) -> Array:
    """The block's output in the clear, of shape (inputs, tokens, features), with its polynomials.

    Args:
        x, real: as of `hemera_apps.transformer.clear.clear_block`.
    """
    ranges, biases = functions.ranges, weights.biases

    def split(name: str) -> Array:
        rows = x @ getattr(weights, name).T + biases[name]
        return np.asarray(rows.reshape(len(x), shape.tokens, shape.heads, shape.width).swapaxes(1, 2))

    query, key, value = split("query"), split("key"), split("value")
    scores = query @ key.swapaxes(2, 3) / math.sqrt(shape.width)
    attention = functions.softmax.in_the_clear(scores, token_weights(shape, real))
    mixed = (attention @ value).swapaxes(1, 2).reshape(x.shape)
    found = x + mixed @ weights.output.T + biases["output"]
    for step, unit in enumerate((1, 2 / ranges.centred)):
        centred = found - found.mean(-1, keepdims=True)
        squares = ((unit * centred) ** 2).sum(-1)
        root = functions.inverse_roots[step].in_the_clear(squares) * functions.largest_roots[step]
        found = centred * root[..., None] * weights.gains[step] + weights.shifts[step]
        if step == 0:
            hidden = found @ weights.up.T + biases["up"]
            activated = hidden / 2 + in_the_clear(functions.gelu, 2 * (hidden / ranges.hidden) ** 2 - 1)
            found = found + activated @ weights.down.T + biases["down"]
    return np.asarray(found)
