"""BFV: exact arithmetic on integers modulo t, the message in the high bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hemera import _core
from hemera.integer_parameters import IntegerParameters
from hemera.parameters import MULTIPLICATION, Multiplication, choose

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Parameters"]


class Parameters(IntegerParameters):
    """Parameters of BFV. Products consume no level; `Ciphertext.rescale` makes a ciphertext smaller."""

    __slots__ = ()
    scheme = "bfv"
    _core_for_circuit = _core.bfv_for_circuit
    _core_from_bits = _core.bfv_from_bits

    @property
    def multiplication(self) -> Multiplication:
        """The algorithm of products: "hps_over_q", "hps" or "behz". All decrypt to the same values."""
        return {variant: name for name, variant in MULTIPLICATION.items()}[self._native.bfv_multiplication]

    def with_multiplication(self, multiplication: Multiplication) -> Self:
        """The same parameters with another algorithm of products. The fingerprint stays."""
        variant = choose(MULTIPLICATION, multiplication, "multiplication")
        return self._wrap(self._native.with_policies(bfv_multiplication=variant))
