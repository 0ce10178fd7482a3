"""BGV: exact arithmetic on integers modulo t, the message in the low bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hemera import _core
from hemera.parameters import SCHEMES, IntegerParameters

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Parameters"]


class Parameters(IntegerParameters):
    """Parameters of BGV."""

    __slots__ = ()
    scheme = "bgv"
    _core_for_circuit = _core.bgv_for_circuit
    _core_from_bits = _core.bgv_from_bits

    @classmethod
    def for_bootstrapping(cls, preset: str = "bfv16-32", *, plain_modulus: int, **fields: Any) -> Self:
        """Parameters with the levels of a bootstrap (`hemera.circuits.IntegerBootstrap`) above the user's.
        Presets are those of `hemera.bfv.Parameters.for_bootstrapping`.

        Args:
            preset: "bfv16-32": N = 2^16, 150 bits of the user's, of which a pass of a bootstrap gives 29 to
                30 back, with 128 bits of security for every key; or "bfv11-test": N = 2^11, not secure.
            plain_modulus: t, prime or not, for example from 2 to 2^32; slots need a prime t = 1 modulo 2N.
            fields: fields in place of the preset's: see `hemera.ckks.Parameters.for_bootstrapping`.

        Raises:
            ParameterError: if the preset or a field is unknown, or fields or t do not fit; the message names
                them.
            SecurityError: if the parameters are weaker than `security`.
        """
        from hemera import _bootstrap_search  # few users need it

        return cls._wrap(_bootstrap_search.of_integers(SCHEMES[cls.scheme], preset, plain_modulus, fields))
