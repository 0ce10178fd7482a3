"""Parameters: the validated facts that two parties must agree on. Each scheme adds its constructors."""

from __future__ import annotations

import numbers
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
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

SCHEMES: Mapping[str, _core.Scheme] = {
    "bfv": _core.Scheme.bfv,
    "bgv": _core.Scheme.bgv,
    "ckks": _core.Scheme.ckks,
}
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


def prefix_levels(primes: Sequence[int], last_base: int) -> list[list[int]]:
    """The bases of a chain that drops one prime a level: all primes, all but the last, ... the first ones."""
    if not 1 <= last_base <= len(primes):
        raise _core.ParameterError(
            f"the last base needs 1 to {len(primes)} of the {len(primes)} primes, not {last_base}"
        )
    return [list(primes[:count]) for count in range(last_base, len(primes) + 1)]


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
    """The bases of a chain: `levels`, or else the bases that drop one of `primes` a level."""
    if levels is None:
        return prefix_levels(primes, last_base)
    if len(primes) != 0:
        raise _core.ParameterError("give primes or levels, not both")
    return [list(level) for level in levels]


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

    @classmethod
    def _wrap(cls, core: _core.Parameters) -> Self:
        if cls is Parameters:
            raise TypeError("parameters of any scheme load by hemera.load_parameters")
        if core.scheme != SCHEMES[cls.scheme]:
            raise _core_mismatch(cls.scheme, core.scheme.name)
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


def _core_mismatch(wanted: str, found: str) -> Exception:
    return _core.MismatchError(
        f"these are parameters of {found.upper()}, not of {wanted.upper()}: load them with "
        f"hemera.{found}.Parameters.load or hemera.load_parameters"
    )


class IntegerParameters(Parameters):
    """Parameters of BFV or BGV: arithmetic modulo a plaintext modulus t. The constructor takes explicit
    primes; `for_circuit` chooses primes for a circuit, and `from_bits` by their sizes."""

    __slots__ = ()

    _core_for_circuit: ClassVar[Callable[..., _core.Parameters]]
    _core_from_bits: ClassVar[Callable[..., _core.Parameters]]

    def __init__(
        self,
        *,
        degree: int,
        plain_modulus: int,
        primes: Sequence[int],
        special_primes: Sequence[int],
        last_base: int = 1,
        levels: Sequence[Sequence[int]] | None = None,
        digits: Sequence[Sequence[int]] = (),
        window_bits: int = 0,
        roots: Mapping[int, int] | None = None,
        galois_generator: int = 5,
        secret_weight: int = 0,
        sigma: float = 3.19,
        security: int | None = 128,
    ) -> None:
        """Parameters from explicit primes, each 1 modulo 2N and below 2^61.

        Args:
            degree: N, a power of two from 2^10 to 2^17.
            plain_modulus: t, from 2 to 2^60; n slots need a prime t = 1 modulo 2n.
            primes: ciphertext primes, the last level's first; each level above has one more.
            special_primes: primes of key-switching; may be empty.
            last_base: the number of `primes` that the last level has.
            levels: the primes of each level, last level first, for chains that do not drop one prime a level;
                `primes` is then ().
            digits: a partition of the ciphertext primes for key-switching; empty: each digit has as many as
                fit under the special primes.
            window_bits: w of a base-2^w split of single-prime digits; 0: none.
            roots: primitive 2N-th roots of unity by modulus; the minimal one if there is no entry.
            galois_generator: 5, or 3 for objects of SEAL.
            secret_weight: the number of non-zero coefficients of the secret; 0: uniform ternary.
            sigma: the standard deviation of the error.
            security: the least bits of security (128, 192, 256); None: any.

        Raises:
            ParameterError: if arguments clash; the message names them.
            SecurityError: if the parameters are weaker than `security`.
        """
        require_naturals(degree=degree, plain_modulus=plain_modulus, secret_weight=secret_weight)
        self._native = _core.parameters_from_literal(
            scheme=SCHEMES[self.scheme],
            degree=degree,
            levels=chain_levels(primes, last_base, levels),
            special_primes=list(special_primes),
            digits=[list(digit) for digit in digits],
            window_bits=window_bits,
            roots=dict(roots or {}),
            plain_modulus=plain_modulus,
            scale=0.0,
            range_bits=0,
            galois_generator=galois_generator,
            secret_weight=secret_weight,
            sigma=sigma,
            bfv_multiplication=_core.BfvMultiplication.none,
            security=security,
        )

    @classmethod
    def for_circuit(
        cls,
        depth: int,
        *,
        plain_bits: int | None = None,
        plain_modulus: int | None = None,
        slots: int = 1,
        terms: int = 16,
        digits: int = 0,
        degree: int = 0,
        security: int | None = 128,
        openings: Any = None,
    ) -> Self:
        """Parameters for a circuit: primes below 2^50, as many as its noise bound needs.

        Args:
            depth: the number of multiplications one after the other, by ciphertexts or by plaintexts in
                slots.
            plain_bits: the bits of the plaintext modulus, a prime that has slots; None: 20.
            plain_modulus: the plaintext modulus itself, instead of `plain_bits`.
            slots: the number of slots needed in one ciphertext.
            terms: the number of products or rotated copies that are added up after each multiplication.
            digits: the number of digits of key-switching; 0: chosen.
            degree: the least degree N; 0: the smallest that is secure and has the slots.
            security: the least bits of security (128, 192, 256); None: any.
            openings: those of a group (`Group.openings`): results have room for them at each level, and
                bounds on noise are those of a secret of many pieces.

        Raises:
            ParameterError: if there are no such parameters; the message has the reason.

        Examples:
            >>> params = hm.bfv.Parameters.for_circuit(depth=2, plain_modulus=65537, slots=4096)
            >>> params.plain_modulus, params.security
            (65537, '>=128')
        """
        require_naturals(
            depth=depth,
            slots=slots,
            terms=terms,
            digits=digits,
            degree=degree,
            plain_bits=plain_bits or 0,
            plain_modulus=plain_modulus or 0,
        )
        if plain_bits is not None and plain_modulus is not None:
            raise _core.ParameterError("give plain_bits or plain_modulus, not both")
        check_security(security)
        return cls._wrap(
            cls._core_for_circuit(
                depth=depth,
                plain_bits=20 if plain_bits is None else plain_bits,
                plain_modulus=plain_modulus or 0,
                slots=slots,
                terms=terms,
                digits=digits,
                degree=degree,
                security=security,
                **({} if openings is None else {"openings": openings}),
            )
        )

    @classmethod
    def from_bits(
        cls,
        *,
        degree: int,
        plain_modulus: int,
        prime_bits: Sequence[int],
        special_bits: Sequence[int],
        digits: int = 0,
        security: int | None = 128,
    ) -> Self:
        """Parameters from the sizes of their primes.

        Args:
            degree: N, a power of two from 2^10 to 2^17.
            plain_modulus: t, from 2 to 2^60; n slots need a prime t = 1 modulo 2n.
            prime_bits: the bits of each ciphertext prime, the last level's first; each level above has one
                more.
            special_bits: the bits of each special prime.
            digits: the number of digits of key-switching; 0: each digit has as many primes as fit under the
                special primes.
            security: the least bits of security (128, 192, 256); None: any.

        Raises:
            ParameterError: if there are not enough such primes, or they do not fit together.
            SecurityError: if the parameters are weaker than `security`.
        """
        require_naturals(degree=degree, plain_modulus=plain_modulus, digits=digits)
        return cls._wrap(
            cls._core_from_bits(
                degree=degree,
                plain_modulus=plain_modulus,
                prime_bits=list(prime_bits),
                special_bits=list(special_bits),
                digits=digits,
                security=security,
            )
        )

    @classmethod
    def for_bootstrapping(
        cls, preset: str = "bfv16-32", *, plain_modulus: int, openings: Any = None, **fields: Any
    ) -> Self:
        """Parameters with the levels of a bootstrap (`hemera.circuits.IntegerBootstrap`) above the user's.

        Args:
            preset: with 128 bits of security for every key, and some 150 bits of the user's: "bfv16-32" at
                N = 2^16, of which a pass of a bootstrap gives 29 back; "bfv16-40", 36 to 37, for more time
                and memory; or "bfv15-22" at N = 2^15, 18, for less time. "bfv11-test" and "bfv11-test-40"
                have the settings of the first two at N = 2^11, and are not secure.
            plain_modulus: t, prime or not, for example from 2 to 2^32; `max_slots` says how many slots it
                has: 65537 has 2^15, 786433 has N.
            openings: those of a group (`Group.openings`): the sine covers the integers of a sum of ephemeral
                secrets, one of each piece, and results of bootstraps have room for openings. For the sizes of
                `hm.circuits.IntegerBootstrap`, which is planned for that, it takes seconds at N = 2^16.
            fields: fields in place of the preset's: see `hemera.ckks.Parameters.for_bootstrapping`.

        Raises:
            ParameterError: if the preset or a field is unknown, or fields or t do not fit; the message names
                them. For openings of more pieces than the preset has room for, it names the most; where no
                number of passes leaves room for openings, the most passes and what they leave.
            SecurityError: if the parameters are weaker than `security`.
        """
        return cls._wrap(cls._found_for_bootstrapping(preset, plain_modulus, fields, openings))

    @classmethod
    @abstractmethod
    def _found_for_bootstrapping(
        cls, preset: str, plain_modulus: int, fields: Mapping[str, Any], openings: _core.Openings | None
    ) -> _core.Parameters:
        """The core's parameters. The search stands above this module."""

    @property
    def plain_modulus(self) -> int:
        """t: values are integers modulo t, below 2^60. n slots need a prime t = 1 modulo 2n."""
        return self._native.plain_modulus

    def _html_facts(self) -> dict[str, object]:
        return {"plaintext modulus t": self.plain_modulus, **super()._html_facts()}
