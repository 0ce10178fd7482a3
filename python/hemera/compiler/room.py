"""The room above the scale: for how large results may be, and for noise where others will see them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hemera import ckks
from hemera.arrays.operations import Affine
from hemera.arrays.tensor import TensorProgram
from hemera.compiler.attempts import NotPossibleError, TooDeepError, TooLargeError
from hemera.compiler.bootstraps import bootstrap_of
from hemera.compiler.lowering import Lowered
from hemera.errors import LevelError
from hemera.package.error_bounds import noise_bounds
from hemera.package.sharing import Sharing
from hemera.parameters import Parameters

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


_TAIL = 6.0
"""Standard deviations that count as the largest noise of a slot."""
_LARGEST_NOISE = 0.25
"""In a slot, however large results are: `decrypt_for_sharing` refuses twice as much."""
_MOST_SCALE_BITS = 120
_WAYS_OUT = "take a smaller precision_bits=, fewer shares=, or a function of less depth"


@dataclass(frozen=True)
class Room:
    """The room that a program's results need, so that noise can hide their errors and leave their bits."""

    steps: Lowered
    inputs: tuple[float, ...]
    """The largest magnitude of each input."""
    outputs: tuple[float, ...]
    """The largest magnitude of each result."""
    precision_bits: float
    shares: int

    def found(self, make: Callable[[int], Parameters | None], scale_bits: int) -> tuple[Parameters, Sharing]:
        """The parameters with the least scale that has the room.

        Args:
            make: the parameters of a scale; None where no ring without bootstraps has it.
            scale_bits: the least scale.

        Raises:
            NotPossibleError: where there are none.
        """
        while scale_bits <= _MOST_SCALE_BITS:
            params = make(scale_bits)
            if params is None:
                break
            sharing = self.sharing(params)
            missing = self.missing_bits(params, sharing)
            if missing <= 0:
                return params, sharing
            scale_bits += math.ceil(missing)
        raise NotPossibleError(
            f"share=True: the noise that hides errors takes a scale of {scale_bits} bits at a depth of "
            f"{self.steps.program.depth}, for which there are no parameters without bootstraps; {_WAYS_OUT}"
        )

    def given(self, params: Parameters) -> Sharing:
        """How results are shared with parameters of the user's. NotPossibleError where they lack the
        room."""
        if params.scheme == "ckks" and bootstrap_of(params, self.steps.slots) is not None:
            raise NotPossibleError(
                "share=True: errors of bootstraps have no worst-case bound, so results of parameters with "
                "bootstraps can not be shown to others; leave params= out, or take those of for_circuit"
            )
        sharing = self.sharing(params)
        missing = self.missing_bits(params, sharing)
        if missing > 0:
            raise NotPossibleError(
                f"share=True: the scale of the given parameters lacks {missing:.1f} bits for the noise that "
                f"hides errors at precision_bits={self.precision_bits:g}; leave params= out, give a scale of "
                f"{math.ceil(math.log2(params._native.scale) + missing)} bits, or {_WAYS_OUT}"
            )
        return sharing

    def sharing(self, params: Parameters) -> Sharing:
        """The worst-case bounds with some parameters."""
        bounds = noise_bounds(self.steps.program, params, self.inputs, self.steps.magnitudes)
        return Sharing(tuple(bounds), self.shares)

    def missing_bits(self, params: Parameters, sharing: Sharing) -> float:
        """The bits by which the scale is too small; 0 or less: it has the room."""
        return max(
            math.log2(
                _TAIL
                * sharing.deviation(at, self.steps.slots, params.degree, params._native.scale)
                / min(_LARGEST_NOISE, 2.0**-self.precision_bits * largest)
            )
            for at, largest in enumerate(self.outputs)
        )


def room_of(steps: Lowered, precision_bits: float, shares: int) -> Room:
    """The room that a program needs, with precision relative to the largest value of each result."""
    program = steps.cut.program
    inputs = [max(map(abs, program.nodes[at].range)) for at in program.inputs]
    outputs = [max(map(abs, program.nodes[at].range)) or 1.0 for _, at in program.outputs]
    return Room(steps, tuple(inputs), tuple(outputs), precision_bits, shares)
