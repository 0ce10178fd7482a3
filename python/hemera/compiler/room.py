"""The room for values above the scale: how large results may be."""

from __future__ import annotations

import math

import numpy as np

from hemera import ckks
from hemera.arrays.operations import Affine
from hemera.arrays.tensor import TensorProgram
from hemera.compiler.bootstraps import bootstrap_of
from hemera.compiler.impossible import NotPossibleError, TooDeepError, TooLargeError
from hemera.compiler.lowering import Lowered
from hemera.errors import LevelError
from hemera.parameters import Parameters

__all__ = [
    "MOST_BITS",
    "largest_of",
    "range_bits_for",
    "require_levels",
    "require_representable",
    "require_room",
]

_PART = 15 / 32
"""The part of the last modulus that results fill: larger coefficients are refused, as of another key."""
_PART_WITH_SPARE_BITS = 1 / 4
"""Where the last modulus has bits to spare (`ckks.Parameters.checks_range`)."""
_FOR_NOISE = 1 - 2.0**-6
"""And for primes and scales that are not exactly powers of two."""
MOST_BITS = 60
"""The most bits of a range."""
_LEAST_SPARED = 12
"""From this many range_bits on `for_circuit` gives two bits to spare."""


def largest_of(program: TensorProgram) -> float:
    """The magnitude of all values, at least 1. An offset is added after the maps, whose sum may be larger
    than the result."""
    largest = 1.0
    for node in program.nodes:
        own, offset = max(map(abs, node.range)), None
        if isinstance(node.operation, Affine):
            offset = node.operation.offset
        largest = max(largest, own if offset is None else own + float(np.abs(offset).max(initial=0.0)))
    return largest


def range_bits_for(largest: float, *, spared: bool = True) -> int:
    """The fewest range_bits with which results up to `largest`, at least 1, decrypt.

    Args:
        spared: whether 12 bits and more have two to spare, as those of `for_circuit` have.
    """
    by_size = 1 + math.ceil(math.log2(largest))
    if spared and by_size >= _LEAST_SPARED:
        return by_size
    return math.ceil(math.log2(largest / (_PART * _FOR_NOISE)))


def require_representable(program: TensorProgram) -> None:
    """NotPossibleError for values that are too large for any parameters."""
    node = max(program.nodes, key=lambda each: max(map(abs, each.range)))
    largest = max(map(abs, node.range))
    if range_bits_for(max(1.0, largest)) > MOST_BITS:
        raise NotPossibleError(
            f"values up to {largest:g} ({node.where or 'an input'}) are too large: there are parameters for "
            f"values up to {2.0 ** (MOST_BITS - 1):g}. Give the inputs a narrower range (range=, or "
            "calibrate=), or divide the values before"
        )


def require_levels(steps: Lowered, params: Parameters) -> None:
    """TooDeepError for parameters of too few levels."""
    try:
        steps.program.levels(params)
    except LevelError as reason:
        raise TooDeepError(str(reason)) from reason


def require_room(program: TensorProgram, steps: Lowered, params: Parameters) -> None:
    """TooLargeError for parameters with which a result is sent over too small a modulus: it would be refused,
    or wrong by multiples of the modulus."""
    assert isinstance(params, ckks.Parameters)
    boot = bootstrap_of(params, steps.slots)
    # `Ciphertext.shrink` takes the lowest level that holds values of range_bits.
    room = next(
        bits
        for primes in params.primes[0 if boot is None else boot.input_level :]
        if (bits := math.fsum(map(math.log2, primes)) - math.log2(params.scale)) >= params.range_bits - 0.5
    )
    most = 2.0**room * _FOR_NOISE * (_PART_WITH_SPARE_BITS if params.checks_range else _PART)
    for name, at in program.outputs:
        largest = max(map(abs, program.nodes[at].range))
        if largest > most:
            raise TooLargeError(
                f"result {name!r} can be as large as {largest:g}, and these parameters are for results up to "
                f"{most:g}: give some with range_bits={range_bits_for(largest)}, or return the result "
                "divided by a number"
            )
