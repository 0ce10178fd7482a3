"""BGV: exact arithmetic on integers modulo t, the message in the low bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hemera import _core
from hemera.parameters import SCHEMES, IntegerParameters

__all__ = ["Parameters"]


class Parameters(IntegerParameters):
    """Parameters of BGV."""

    __slots__ = ()
    scheme = "bgv"
    _core_for_circuit = _core.bgv_for_circuit
    _core_from_bits = _core.bgv_from_bits

    @classmethod
    def _found_for_bootstrapping(
        cls, preset: str, plain_modulus: int, fields: Mapping[str, Any], openings: _core.Openings | None
    ) -> _core.Parameters:
        from hemera import _bootstrap_search  # few users need it

        return _bootstrap_search.of_integers(SCHEMES[cls.scheme], preset, plain_modulus, fields, openings)
