"""BFV: exact arithmetic on integers modulo t, the message in the high bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hemera import _core
from hemera.parameters import MULTIPLICATION, SCHEMES, IntegerParameters, Multiplication, choose

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Parameters"]


class Parameters(IntegerParameters):
    """Parameters of BFV. Products consume no level; `Ciphertext.rescale` makes a ciphertext smaller."""

    __slots__ = ()
    scheme = "bfv"
    _core_for_circuit = _core.bfv_for_circuit
    _core_from_bits = _core.bfv_from_bits

    @classmethod
    def _found_for_bootstrapping(
        cls, preset: str, plain_modulus: int, fields: Mapping[str, Any], openings: _core.Openings | None
    ) -> _core.Parameters:
        from hemera import _bootstrap_search  # few users need it

        return _bootstrap_search.of_integers(SCHEMES[cls.scheme], preset, plain_modulus, fields, openings)

    @property
    def multiplication(self) -> Multiplication:
        """The algorithm of products: "hps_over_q", "hps" or "behz". All decrypt to the same values."""
        return {variant: name for name, variant in MULTIPLICATION.items()}[self._native.bfv_multiplication]

    def with_multiplication(self, multiplication: Multiplication) -> Self:
        """The same parameters with another algorithm of products. The fingerprint stays."""
        variant = choose(MULTIPLICATION, multiplication, "multiplication")
        return self._wrap(self._native.with_policies(bfv_multiplication=variant))
