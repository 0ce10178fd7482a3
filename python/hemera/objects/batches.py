"""Several ciphertexts as one: joined to a batch, summed, multiplied or bootstrapped."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from hemera.circuits import Bootstrap, IntegerBootstrap
from hemera.objects.ciphertext import Ciphertext, all_parts
from hemera.objects.evaluator import Evaluator


def _evaluator_of(parts: list[Ciphertext]) -> Evaluator:
    """The evaluator of the first part that has keys; of the first part if none has."""
    return next((part.evaluator for part in parts if part.evaluator.has_keys), parts[0].evaluator)


def stack(parts: Sequence[Ciphertext]) -> Ciphertext:
    """Ciphertexts of equal shape as one, along a new first axis.

    Raises:
        MismatchError: if shapes, levels, scales, slots or the numbers of filled slots differ.
        ParameterError: if there is no part.

    Examples:
        >>> ctx = hm.Context(hm.bfv.Parameters.for_circuit(depth=1, slots=4))
        >>> sk = ctx.generate_secret_key()
        >>> x, y = ctx.encrypt([1, 2], sk), ctx.encrypt([3, 4], sk)
        >>> ctx.decrypt(hm.stack([x, y]), sk).tolist()
        [[1, 2], [3, 4]]
    """
    found = all_parts(parts, "stack")
    return _evaluator_of(found)._stacked(found)


def concatenate(parts: Sequence[Ciphertext]) -> Ciphertext:
    """Ciphertexts joined along their first axis.

    Raises:
        MismatchError: if other axes, levels, scales, slots or the numbers of filled slots differ, or a part
            has no axis.
        ParameterError: if there is no part.
    """
    found = all_parts(parts, "concatenate")
    return _evaluator_of(found)._concatenated(found)


def add_many(terms: Sequence[Ciphertext], *, out: Ciphertext | None = None) -> Ciphertext:
    """The sum of all terms, slot by slot; batches broadcast as in NumPy. ParameterError if there is no
    term."""
    found = all_parts(terms, "add_many")
    return _evaluator_of(found).add_many(found, out=out)


def multiply_many(factors: Sequence[Ciphertext], *, out: Ciphertext | None = None) -> Ciphertext:
    """The product of all factors, slot by slot, in ceil(log2 count) levels; batches broadcast as in NumPy.
    ParameterError if there is no factor.

    Examples:
        >>> ctx = hm.Context(hm.bfv.Parameters.for_circuit(depth=2, slots=4))
        >>> sk = ctx.generate_secret_key()
        >>> ev = ctx.bind(ctx.generate_keys(sk))
        >>> factors = [ev.encrypt([number, 1]) for number in (2, 3, 5)]
        >>> ctx.decrypt(hm.multiply_many(factors), sk).tolist()
        [30, 1]
    """
    found = all_parts(factors, "multiply_many")
    return _evaluator_of(found).multiply_many(found, out=out)


def bootstrap_many(
    ciphertexts: Sequence[Ciphertext],
    plan: Bootstrap | IntegerBootstrap | None = None,
    *,
    magnitude: float | None = None,
) -> list[Ciphertext]:
    """Several ciphertexts bootstrapped as one batch: by `hemera.circuits.Bootstrap(together=k)` in groups of
    k, each in about the time of one.

    Args:
        ciphertexts: ciphertexts or batches of one level, scale and number of slots.
        plan, magnitude: as of `Evaluator.bootstrap`.

    Returns:
        The results, in the order and shapes of `ciphertexts`.

    Raises:
        ParameterError: if there is no ciphertext.
        MismatchError: if levels, scales, slots or the numbers of filled slots differ.
        MissingKeyError, LevelError, ScaleError, NoiseError, RangeError: as of `Evaluator.bootstrap`.
    """
    given = all_parts(ciphertexts, "bootstrap_many")
    whole = concatenate([x.reshape(math.prod(x.shape)) for x in given])
    found = whole.evaluator.bootstrap(whole, plan, magnitude=magnitude)
    ends = itertools.accumulate(math.prod(x.shape) for x in given)
    return [
        found[end - math.prod(x.shape) : end].reshape(x.shape) for x, end in zip(given, ends, strict=True)
    ]
