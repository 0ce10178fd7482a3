"""Ways from encrypted digits to CKKS's numbers, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hemera import _core
from hemera.inputs.arguments import described
from hemera.integers.bounded import Bounded, Risk
from hemera.integers.engine import Engine
from hemera.integers.layout import BASE, DIGIT_BITS
from hemera.integers.lookup import bits, lookup
from hemera.integers.margins import MOST_DIGIT_ERROR
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context

_TOP = BASE - 1
_NUMBERS = 0
"""The root of all numbers of CKKS, as it is not known which are the same."""
_PERIOD = BASE * BASE
"""The period of the numbers that one table takes apart: two digits."""
MOST_DIGITS = 4
"""The first step of a bootstrap has an error relative to the numbers: those of 20 bits would be misread."""


def to_numbers(engine: Engine, a: Bounded, digits: int, *, signed: bool, factor: float) -> Ciphertext:
    """The sum of 16^i d_i, times a factor, of each value in its slot, as vectors of `layout.values` slots."""
    layout = engine.layout
    total = a.value * layout.by_digit([factor * float(BASE) ** i for i in range(digits)])
    if signed:
        (below,) = engine.tables(a, lookup(BASE, lambda s: s >= BASE // 2), clean=True)
        total = total + below.value * layout.only(digits - 1, -factor * float(BASE) ** digits)
    return engine.everywhere(replace(a, value=total)).value.with_slots(layout.values)


def require_numbers(y: Any, context: Context, values: int, error: float) -> None:
    """The errors of `Context.from_ckks` about its numbers: of another context, too many, or too inexact."""
    if not isinstance(y, Ciphertext):
        raise TypeError(f"from_ckks: takes a ciphertext of CKKS, not {described(y)}")
    if y.context is not context:
        raise _core.MismatchError("from_ckks: the numbers belong to another context than `evaluator`'s")
    if y.slots > values:
        raise _core.MismatchError(
            f"from_ckks: {y.slots} slots, and {values} integers are in a ciphertext; encrypt that many "
            "numbers at most in each"
        )
    if not 0 < error < 0.5:
        raise _core.ParameterError(f"from_ckks: error={error!r}; it is above 0 and below 0.5")


def from_numbers(engine: Engine, y: Ciphertext, digits: int, error: float) -> Bounded:
    """Digits of whole numbers, modulo 16^digits, which stand in vectors of at most `layout.values` slots."""
    value = y.with_slots(engine.layout.slots)  # then they stand at all digits
    if value._native.is_complex:
        if engine.level(Bounded(value, 1, error)) - engine.lowest < 1:
            raise _core.LevelError(
                "from_ckks: imaginary parts are left out, which takes a level, and there is none; "
                "bring fewer operations, or bootstrap the numbers before"
            )
        value = (value + value.conjugate()) * 0.5
    rest = Bounded(value, float(BASE) ** digits, error, Risk.encrypted(_NUMBERS))
    total = None
    for i in range(0, digits, 2):
        found = engine.tables(rest, lookup(_PERIOD, *bits(2 * DIGIT_BITS)), clean=False)
        both = engine.cleaned_numbers(found, MOST_DIGIT_ERROR)
        for k, digit in enumerate(both):
            part = engine.masked(digit, engine.layout.only(i + k))
            total = part if total is None else total + part
        if i + 2 < digits:
            rest = rest - (both[0] + both[1] * BASE)
            rest = engine.masked(rest, engine.layout.by_digit([1 / _PERIOD] * engine.layout.digits))
            rest = replace(rest, largest=float(BASE) ** (digits - 2))
    assert total is not None
    return replace(total, largest=_TOP)
