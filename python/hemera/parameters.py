"""Parameters: the validated facts that two parties must agree on. Each scheme adds its constructors."""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from hemera import _core
from hemera.errors import SecurityWarning
from hemera.inputs.source import Source, read

if TYPE_CHECKING:
    from typing_extensions import Self

Scheme = Literal["bfv", "bgv", "ckks"]
Rescaling = Literal["automatic", "manual"]
Multiplication = Literal["hps_over_q", "hps", "behz"]

T = TypeVar("T")
Name = TypeVar("Name", bound=str)

SCHEMES: Mapping[str, _core.Scheme] = {each.name: each for each in _core.Scheme}
RESCALING: Mapping[Rescaling, bool] = {"automatic": False, "manual": True}
"""Whether the caller rescales."""
MULTIPLICATION: Mapping[Multiplication, _core.BfvMultiplication] = {
    "hps_over_q": _core.BfvMultiplication.hps_over_q,
    "hps": _core.BfvMultiplication.hps,
    "behz": _core.BfvMultiplication.behz,
}


def choose(choices: Mapping[Name, T], name: Name, what: str) -> T:
    """The value of a named choice. ParameterError, which lists the names, if there is no such choice."""
    if name not in choices:
        raise _core.ParameterError(f"{what} must be one of {', '.join(map(repr, choices))}, not {name!r}")
    return choices[name]


def max_log_modulus(degree: int, bits: int, secret_weight: int = 0) -> int | None:
    """The largest log2 of the product of all primes with `bits` (128, 192 or 256) of classical security at
    this degree; None if the table has no entry. Uniform ternary secrets: by ePrint 2024/463, Table 5.2.
    Secrets of `secret_weight` non-zero coefficients: by the committed estimates (docs/security.md)."""
    return _core.max_log_modulus(degree, bits, secret_weight)


def require_naturals(**values: int) -> None:
    """ParameterError, which names the first such value, if a value is no integer of 0 or more."""
    for name, value in values.items():
        if not isinstance(value, numbers.Integral) or value < 0:
            raise _core.ParameterError(f"{name} must be an integer of 0 or more, not {value!r}")


def warn_if_weak(params: Parameters) -> None:
    """A SecurityWarning if loaded parameters are below 128 bits by the tables of 2024."""
    if params.security in (">=128 (2018 table)", "below 128"):
        warnings.warn(
            f"the loaded parameters have security {params.security}: {params!r}",
            SecurityWarning,
            stacklevel=3,
        )


def require_security(found: str | None, wanted: int | None, what: str) -> None:
    """SecurityError, which begins with `what`, if the class of security is below `wanted` bits by the tables
    of 2024. No check if `wanted` is None, or if `found` is (there is nothing to judge)."""
    bits = {">=256": 256, ">=192": 192, ">=128": 128}
    if wanted is None or found is None or bits.get(found, 0) >= wanted:
        return
    raise _core.SecurityError(
        f"{what} security {found}, less than the {wanted} bits asked for: whoever has ciphertexts may find "
        "the secret key; pass security=None to accept it"
    )


def check_security(security: int | None) -> None:
    """ParameterError if there is no table for these bits of security."""
    if security not in (None, 128, 192, 256):
        raise _core.ParameterError(f"security must be 128, 192, 256 or None, not {security!r}")


def chain_levels(
    primes: Sequence[int], last_base: int, levels: Sequence[Sequence[int]] | None
) -> list[list[int]]:
    """The bases of a chain: `levels`, or else all primes, all but the last, ... the first `last_base`."""
    if levels is not None:
        if len(primes) != 0:
            raise _core.ParameterError("give primes or levels, not both")
        return [list(level) for level in levels]
    if not 1 <= last_base <= len(primes):
        raise _core.ParameterError(
            f"the last base needs 1 to {len(primes)} of the {len(primes)} primes, not {last_base}"
        )
    return [list(primes[:count]) for count in range(last_base, len(primes) + 1)]


_CLASSES: dict[str, type[Parameters]] = {}
"""The class of each scheme."""


class Parameters:
    """Immutable, validated parameters of one scheme: `hemera.ckks.Parameters`, `hemera.bfv.Parameters` or
    `hemera.bgv.Parameters`, whose constructors make them.

    Contexts of parameters with the same fingerprint exchange objects. Parameters compare, hash and pickle.
    """

    __slots__ = ("_native",)

    scheme: ClassVar[Scheme]
    _native: _core.Parameters

    def __init__(self) -> None:
        raise TypeError("use hemera.ckks.Parameters, hemera.bfv.Parameters or hemera.bgv.Parameters")

    def __init_subclass__(cls) -> None:
        if "scheme" in vars(cls):
            _CLASSES[cls.scheme] = cls

    @classmethod
    def _wrap(cls, core: _core.Parameters) -> Self:
        if cls is Parameters:
            raise TypeError("parameters of any scheme load by hemera.load_parameters")
        if core.scheme != SCHEMES[cls.scheme]:
            found = core.scheme.name
            raise _core.MismatchError(
                f"these are parameters of {found.upper()}, not of {cls.scheme.upper()}: load them with "
                f"hemera.{found}.Parameters.load or hemera.load_parameters"
            )
        self = cls.__new__(cls)
        self._native = core
        return self

    @classmethod
    def load(cls, source: Source) -> Self:
        """Parameters from their bytes, or from a file's path. Weak parameters load too, with a
        SecurityWarning.

        Raises:
            FormatError: if the bytes are damaged or not Hemera's.
            MismatchError: if the bytes hold something else, or another scheme's parameters.
            FileError: if the file can not be read.
        """
        loaded = cls._wrap(read(source, _core.load_parameters, _core.load_parameters_file))
        warn_if_weak(loaded)
        return loaded

    def to_bytes(self) -> bytes:
        """The parameters in Hemera's file format."""
        return _core.save(self._native, 0)

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parameters to a file. FileError if it can not be written."""
        _core.save_file(os.fsencode(path), self._native, 0)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).load, (self.to_bytes(),)

    @property
    def degree(self) -> int:
        """N: the number of coefficients of a polynomial, a power of two from 2^10 to 2^17."""
        return self._native.degree

    @property
    def levels(self) -> int:
        """The number of levels. A fresh ciphertext has level `levels - 1`; level 0 is the last."""
        return self._native.levels

    @property
    def max_slots(self) -> int:
        """The largest number of slots of one ciphertext: N/2 for CKKS. BFV and BGV: the largest power of two
        n up to N for which a prime plaintext modulus is 1 modulo 2n; 0 for others, which have coefficients
        alone. With n < N, slots are those of the polynomials in X^(N/n)."""
        return self._native.max_slots

    @property
    def primes(self) -> list[list[int]]:
        """The primes of each level, the last (smallest) level first."""
        return self._native.primes

    @property
    def special_primes(self) -> list[int]:
        """The special primes of key-switching; may be empty."""
        return self._native.special_primes

    @property
    def digits(self) -> list[list[int]]:
        """The digits of the key-switching gadget: a partition of the ciphertext primes."""
        return self._native.digits

    @property
    def log_modulus(self) -> float:
        """log2 of the product of all primes, special ones included. The class of security depends on it."""
        return self._native.log_union + self._native.log_special

    def level_bits(self, level: int) -> float:
        """log2 of the product of the primes of a level. ParameterError if there is no such level."""
        if not 0 <= level < self.levels:
            raise _core.ParameterError(f"level {level} is not in 0 to {self.levels - 1}")
        return self._native.log_modulus(level)

    @property
    def rescaling(self) -> str:
        """The policy of rescaling and of aligning operands: "automatic" (the evaluator does both), "manual"
        (the caller does), or "custom" (rules of the parameters' own, as for other libraries)."""
        return self._native.rescaling

    def with_rescaling(self, rescaling: Rescaling) -> Self:
        """The same parameters under another policy: "automatic" or "manual". The fingerprint stays."""
        manual = choose(RESCALING, rescaling, "rescaling")
        return self._wrap(self._native.with_policies(manual_rescaling=manual))

    @property
    def security(self) -> str:
        """The class of classical security: ">=256", ">=192", ">=128", ">=128 (2018 table)" or "below 128"."""
        return self._native.security

    @property
    def security_bits(self) -> int:
        """The class of security as a number: 256, 192, 128 (either table) or 0."""
        return self._native.security_bits

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the facts that decide whether two parties' objects fit together: 64 hexadecimal
        digits."""
        return self._native.fingerprint.hex()

    @property
    def ciphertext_bytes(self) -> int:
        """The bytes of the residues of one fresh ciphertext."""
        return self._native.ciphertext_bytes

    @property
    def switching_key_bytes(self) -> int:
        """The bytes of one relinearization or rotation key in memory."""
        return self._native.switching_key_bytes

    def describe(self) -> str:
        """Several lines for people: degree, modulus, security, sizes of ciphertexts and keys."""
        return self._native.describe()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameters):
            return NotImplemented
        return self._native.fingerprint == other._native.fingerprint

    def __hash__(self) -> int:
        return hash(self._native.fingerprint)

    def __repr__(self) -> str:
        return (
            f"<{self.scheme}.Parameters N={self.degree}, {self.levels} level{'s'[: self.levels != 1]}, "
            f"log2(QP)={self.log_modulus:.1f}, security {self.security}>"
        )

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        from hemera import _html

        return _html.table(f"{self.scheme.upper()} parameters", self._html_facts())

    def _html_facts(self) -> dict[str, object]:
        """The rows of the table for notebooks, by name."""
        return {
            "degree N": self.degree,
            "levels": self.levels,
            "slots": self.max_slots,
            "log2 of the modulus QP": round(self.log_modulus, 1),
            "security": self.security,
            "bytes of a ciphertext": self.ciphertext_bytes,
            "bytes of a switching key": self.switching_key_bytes,
            "fingerprint": self.fingerprint[:16],
        }


def load_parameters(source: Source) -> Parameters:
    """Parameters of any scheme from their bytes or a file's path. Weak parameters load too, with a
    SecurityWarning.

    Raises:
        FormatError: if the bytes are damaged or not Hemera's.
        MismatchError: if the bytes hold something else.
        FileError: if the file can not be read.

    Examples:
        >>> params = hm.ckks.Parameters.for_circuit(depth=1)
        >>> hm.load_parameters(bytes(params)) == params
        True
    """
    return parameters_of(read(source, _core.load_parameters, _core.load_parameters_file))


def parameters_of(core: _core.Parameters) -> Parameters:
    """The core's parameters as the class of their scheme, with a SecurityWarning if they are weak."""
    loaded = _CLASSES[core.scheme.name]._wrap(core)
    warn_if_weak(loaded)
    return loaded
