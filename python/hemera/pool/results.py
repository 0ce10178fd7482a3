"""Results of a pool's members as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hemera.objects.ciphertext import Ciphertext, Plaintext, places_in
from hemera.objects.evaluator import Evaluator
from hemera.pool.calls import Call
from hemera.pool.parts import Part, PoolCiphertext, PoolPlaintext, Span, elements


def joined(call: Call, spans: Sequence[Span], results: Sequence[Any], evaluator: Evaluator) -> Any:
    """The results of a call's parts as one.

    Raises:
        TypeError: if they are no ciphertexts, plaintexts, arrays, or lists or tuples of these.
    """
    first = results[0]
    if isinstance(first, (list, tuple)):
        each = [joined(call, spans, parts, evaluator) for parts in zip(*results, strict=True)]
        return tuple(each) if isinstance(first, tuple) else each
    if isinstance(first, np.ndarray):
        return call.joined(results)
    if not isinstance(first, (Ciphertext, Plaintext)):
        raise TypeError(
            "a function on a pool's members returns ciphertexts, plaintexts, arrays, or lists of these, not "
            f"{type(first).__name__}"
        )
    parts = [Part(span.member, value) for span, value in zip(spans, results, strict=True)]
    if isinstance(first, Plaintext):
        return PoolPlaintext(parts, evaluator.context, call.team)
    axis = len(first.shape) - len(call.shape)
    count = spans[0].end - spans[0].begin
    if axis > 0 and call.shape and isinstance(first, Ciphertext) and first.shape[axis] == count:
        return _with_first_axis(parts, evaluator)
    return PoolCiphertext(parts, evaluator)


def _with_first_axis(parts: Sequence[Part], evaluator: Evaluator) -> Ciphertext:
    """Results with a new first axis, before the one that is cut."""
    turned = []
    for member, value in parts:
        turned.append(Part(member, elements(value, places_in(value).swapaxes(0, 1))))
    whole = PoolCiphertext(turned, evaluator)
    return elements(whole, places_in(whole).swapaxes(0, 1))


def as_rows(values: Any) -> Any:
    """Values that can be cut: an array where there is one, else what was given, for one member."""
    if not isinstance(values, (list, tuple)):
        return values
    try:
        return np.asarray(values)
    except ValueError:
        return values  # the encoder reports the error
