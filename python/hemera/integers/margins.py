"""How wrong numbers in slots may be: what can be read, and what every operation leaves.

Computations have no end, as each operation keeps this rule: **it takes digits and bits with an error up to
`MOST_LEFT`, at any level, and leaves such ones.** Where it needs less error or more levels of an operand, it
refreshes the operand (`Engine.ready`, `Engine.ready_bits`); its results pass `Engine.left`. A refresh reads
every error up to `MOST_LEFT` and leaves the least one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, log, log2, sqrt

from hemera.integers.layout import BASE
from hemera.parameters import Parameters

_ERROR_DEVIATION = 3.2
"""The standard deviation of the errors of encryptions."""
LARGEST_CLEANED = 0.14
"""The error of a bit up to which a cleaning makes it smaller: 8 * 3 * 0.14^2 is below 1/2."""
LEAST_DEVIATIONS = 73
"""An error that misreads a digit is at least this many deviations: 2^-128 for all bits of 65,536 digits."""
_MOST_DEVIATIONS = 80
"""More count as this many: up to there the rest of an error after a cleaning has no longer tail than its
deviation says."""
BIT_ERROR = LARGEST_CLEANED / LEAST_DEVIATIONS
"""The largest deviation of a bit that may be cleaned."""
MOST_LEFT = 2.0**-9
"""The largest error that an operation leaves: 256 deviations from another digit. A refresh gives bits with
0.79 times as much, below the largest that can be cleaned, 2^-9.03; a cleaning leaves half of it or less."""
MOST_DIGIT_ERROR = 2.0**-14
"""Digits above it are refreshed before they are added, compared or chosen. Sums of two up to it are cleaned
twice, and are below it again."""
OPERAND_ERROR = 2.0**-20
"""Refreshed digits are cleaned until they are below it, if they can be."""
MOST_BIT_ERROR = MOST_DIGIT_ERROR / BASE
"""The same of encrypted booleans, which products take 15 times."""


def misread_log2(deviations: float, count: int) -> float:
    """log2 of a bound on the probability that one of `count` errors is beyond `deviations`, of which
    `_MOST_DEVIATIONS` count.

    The error that a rounding or a key switch leaves in a slot is the secret's value there times a normal one.
    Over slots and secrets that value is normal, too, and complex: its size is Rayleigh's. So errors have the
    law of Laplace, beyond D deviations with exp(-sqrt(2) D). Parts that are normal make a tail shorter.
    """
    return log2(count) - sqrt(2) * min(deviations, _MOST_DEVIATIONS) / log(2)


def cleaned_rounding(rounding: float) -> float:
    """The deviation of a cleaned bit that was exact. `rounding`: that which a product adds."""
    return hypot(1, 1, 1) * rounding


def cleaned_error(error: float, rounding: float) -> float:
    """The deviation of a bit with an error after x -> 3 x^2 - 2 x^3.

    Of an error e there remains 3 e^2 - 2 e^3, whose tail is longer: a deviation that has at
    `_MOST_DEVIATIONS` what the error leaves there, and before it more.
    """
    return (3 + 2 * LARGEST_CLEANED) * _MOST_DEVIATIONS * error**2 + cleaned_rounding(rounding)


def left_of(errors: Sequence[float], often: int, rounding: float) -> list[float]:
    """The deviations of bits with these ones after some cleanings."""
    found = list(errors)
    for _ in range(often):
        found = [cleaned_error(error, rounding) for error in found]
    return found


def number_error(errors: Sequence[float]) -> float:
    """The deviation of a number whose bits, the lowest first, have these ones. A digit has its own."""
    return sum(error * (1 << i) for i, error in enumerate(errors))


def fresh_error(params: Parameters, scale: float) -> float:
    """A bound on the deviation of slots that were encrypted with a public key; a secret key's is less."""
    degree = params.degree
    return _ERROR_DEVIATION * sqrt(degree * (4 * degree / 3 + 1)) / scale
