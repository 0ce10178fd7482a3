"""Products with plain matrices that are not rescaled: their scales grow by the weights' factors, and the
rescale of the next product of ciphertexts takes both away.

A layer and a square then take one level and not two, and its prime has the bits of the weights besides those
of the scale. So N. Dowlin et al., "CryptoNets" (ICML 2016), count bits of weights in an exact scheme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hemera import ckks
from hemera.compiler.lowering import Lowered
from hemera.compiler.room import range_bits_for
from hemera.errors import ParameterError
from hemera.parameters import max_log_modulus
from hemera.program.expected_noise import ExpectedNoise
from hemera.program.program import Program
from hemera.program.values import Array

_MOST_PRIME_BITS = 50
"""The fastest ones."""
_LEAST_SCALE_BITS = 10
_DRAWS = 3000
"""Elements of a result whose noise is drawn, at least."""
_MOST_SLOTS_DRAWN = 1 << 11
"""More would make the largest error hardly larger."""


@dataclass(frozen=True)
class Unscaled:
    """A program whose products with matrices are not rescaled."""

    steps: Lowered
    largest: float
    """Magnitude of all values."""

    def parameters(self, degree: int, most_scale_bits: int, security: int | None) -> ckks.Parameters | None:
        """The parameters of the largest scale, up to `most_scale_bits`, that are secure at this degree, with
        a prime a level; None where there are none, or where values that are added have different scales."""
        limit = math.inf if security is None else max_log_modulus(degree, security) or 0
        for scale_bits in range(most_scale_bits, _LEAST_SCALE_BITS - 1, -1):
            primes = self._prime_bits(scale_bits)
            if primes is None:
                return None
            special = [max(primes)] if len(primes) > 1 else []  # keys are of products alone
            if max(primes) > _MOST_PRIME_BITS or sum(primes) + sum(special) > limit:
                continue
            try:
                return ckks.Parameters.from_bits(
                    degree=degree,
                    prime_bits=primes,
                    special_bits=special,
                    scale_bits=scale_bits,
                    # At this scale, to which the last matrix adds its factor: decryption leaves values all of
                    # the last prime then.
                    range_bits=primes[0] - scale_bits,
                    equal_scales=True,
                    security=security,
                )
            except ParameterError:  # too few primes of a size
                continue
        return None

    def _prime_bits(self, scale_bits: int) -> list[int] | None:
        """The bits of each prime, the last level's first, so that products come back to about this scale."""
        program = self.steps.program
        places = [(0, float(scale_bits))] * len(program.inputs)
        """For each value the products before it, and the bits of its scale."""
        drops: dict[int, int] = {}
        for node in program.nodes:
            operation, operands = node.operation, [places[at] for at in node.operands]
            products, bits = operands[0]
            if operation.scales == "product":
                # Factors of a sum of products are elements of two values.
                before, others = operands[-1]
                if before != products:
                    return None
                bits += others
                bits -= drops.setdefault(products, round(bits - scale_bits))
                products += 1
            elif len(set(operands)) > 1:
                return None
            bits += math.log2(operation.factor)
            places.append((products, bits))
        range_bits = range_bits_for(self.largest, spared=False)
        # The last prime: every value fits the primes of its level.
        last = 0
        for products, bits in places:
            above = sum(drop for before, drop in drops.items() if before >= products)
            last = max(last, math.ceil(bits + range_bits) - above)
        return [last, *(drops[before] for before in sorted(drops, reverse=True))]


def without_rescales(steps: Lowered, largest: float) -> Unscaled | None:
    """A program on batches with matrices that are not rescaled; None where other operations than sums,
    products and squares come between them, or where no matrix is rescaled.

    Args:
        largest: magnitude of all values.
    """
    own = [node.operation for node in steps.program.nodes]
    changed = [operation.without_rescale() for operation in own]
    if None in changed or changed == own:
        return None
    found = steps.program.rewritten(lambda operation: operation.without_rescale() or operation)
    return Unscaled(replace(steps, program=found), max(1.0, largest))


def bits_of_noise(
    program: Program, params: ckks.Parameters, inputs: Sequence[NDArray[np.float64]], largest: float
) -> float:
    """-log2 of the largest error that noise is expected to make in up to 2,048 slots, relative to the
    largest result with the same rounded weights.

    Args:
        inputs: samples of each, of shape (samples, elements), which fill the slots.
        largest: magnitude that results may have, at most.
    """
    noise = ExpectedNoise(program, params)
    slots = min(program.forms[0].slots, _MOST_SLOTS_DRAWN)
    values: list[Array] = [np.ascontiguousarray(np.resize(x, (slots, x.shape[1])).T) for x in inputs]
    exact = program.evaluate_clear(values, changed=noise.rounded)
    repeats = math.ceil(_DRAWS / min(each.size for each in exact))
    errors = [
        max(float(np.abs(a - b).max()) for a, b in zip(exact, noisy, strict=True))
        for noisy in (noise.run(values) for _ in range(repeats))
    ]
    worst = math.sqrt(float(np.mean(np.square(errors))))
    largest = min(largest, max(float(np.abs(each).max()) for each in exact))
    return math.inf if worst == 0 else -math.log2(worst / (largest or 1.0))
