"""BGV: exact arithmetic on integers modulo t, the message in the low bits."""

from __future__ import annotations

from hemera import _core
from hemera.integer_parameters import IntegerParameters

__all__ = ["Parameters"]


class Parameters(IntegerParameters):
    """Parameters of BGV."""

    __slots__ = ()
    scheme = "bgv"
    _core_for_circuit = _core.bgv_for_circuit
    _core_from_bits = _core.bgv_from_bits
