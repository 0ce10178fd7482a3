"""The bootstraps that take digits to exponentials: of whole ciphertexts, or of few slots."""

from __future__ import annotations

from weakref import WeakValueDictionary

from hemera import _core
from hemera.circuits import Bootstrap
from hemera.ckks import Parameters
from hemera.integers.layout import BASE, DIGIT_BITS, Layout

_made: WeakValueDictionary[tuple[Parameters, int, bool], Bootstrap] = WeakValueDictionary()
"""Plans by their parameters, slots and whether these are real: one for all contexts that are alive."""


def refreshes(params: Parameters, values: int | None, digits: int) -> tuple[Layout, Bootstrap, Bootstrap]:
    """The layout of `values` integers of `digits` digits in a ciphertext, and the bootstraps of two vectors
    together and of one: the same where each vector has its own.

    Args:
        values: None: as many as a ciphertext has slots for.

    Raises:
        ParameterError: if they are no power of two or do not fit, or the parameters have no bootstraps to
            exponentials modulo 256.
    """
    blocks = _plan(params, 2, True).blocks
    most = params.max_slots // (blocks or 1) // digits
    if values is None and blocks:
        raise _core.ParameterError(
            f"integers of {DIGIT_BITS * digits} bits in few slots: a ciphertext of these parameters holds up "
            f"to {most}; say how many, Context(values=): the fewer, the less time and keys they take"
        )
    if values is not None and not (1 <= values <= most and values & (values - 1) == 0):
        raise _core.ParameterError(
            f"values={values}: a ciphertext of these parameters holds a power of two of integers of "
            f"{DIGIT_BITS * digits} bits, up to {most}"
        )
    layout = Layout(params.max_slots if values is None else values * digits, digits)
    one = _plan(params, layout.slots, True)
    if not one.exponential or round(one.ratio) != BASE**2:
        raise _core.ParameterError(
            'integers need a preset whose bootstraps give exponentials, as "n16-exact" and "n16-exact-few", '
            f"not {params!r}"
        )
    return layout, (one if blocks else _plan(params, layout.slots, False)), one


def _plan(params: Parameters, slots: int, real: bool) -> Bootstrap:
    plan = _made.get((params, slots, real)) or Bootstrap(params, slots=slots, real=real)
    _made[params, slots, real] = plan
    return plan
