"""Parameters of integers, BFV and BGV: arithmetic modulo a plaintext modulus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from hemera import _core
from hemera.parameters import SCHEMES, Parameters, chain_levels, check_security, require_naturals

if TYPE_CHECKING:
    from typing_extensions import Self


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
        from hemera import _bootstrap_search  # few users need it

        found = _bootstrap_search.of_integers(SCHEMES[cls.scheme], preset, plain_modulus, fields, openings)
        return cls._wrap(found)

    @property
    def plain_modulus(self) -> int:
        """t: values are integers modulo t, below 2^60. n slots need a prime t = 1 modulo 2n."""
        return self._native.plain_modulus

    def _html_facts(self) -> dict[str, object]:
        return {"plaintext modulus t": self.plain_modulus, **super()._html_facts()}
