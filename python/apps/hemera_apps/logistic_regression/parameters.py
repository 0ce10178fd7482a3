"""Parameters of training: the presets of bootstrapping, and the paper's."""

from __future__ import annotations

from typing import Any

from hemera.ckks import Parameters

PAPER = "paper"
_PAPER_FIELDS: dict[str, Any] = {"levels": 12, "digits": 4, "security": None}


def make_parameters(preset: str, **fields: Any) -> Parameters:
    """`hemera.ckks.Parameters.for_bootstrapping`, with the preset "paper" in addition.

    Published results of encrypted training have N = 2^16, L = 26, scale 2^59 and 4 digits, so 26 x 59 = 1,534
    bits. "paper" is as large: "n16-59" with 12 levels, which are 27 levels and 1,521 bits with those of a
    bootstrap, in 4 digits. With the special primes it has 2,065 bits, above the 1,747 of 128 bits of
    security:
    NOT SECURE, for comparisons alone.

    Args:
        preset: a preset of `for_bootstrapping`, or "paper".
        fields: fields in place of the preset's.

    Raises:
        ParameterError, SecurityError: as `for_bootstrapping`.
    """
    if preset == PAPER:
        return Parameters.for_bootstrapping("n16-59", **{**_PAPER_FIELDS, **fields})
    return Parameters.for_bootstrapping(preset, **fields)
