"""CKKS: approximate arithmetic on real and complex numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hemera import _core, parameters
from hemera.inputs.encoding import COMPLEX_PAIR, PAIR, difference
from hemera.parameters import chain_levels, check_security, require_naturals

if TYPE_CHECKING:
    from typing_extensions import Self

    from hemera._bootstrap_search import EphemeralSecret

__all__ = ["COMPLEX_PAIR", "PAIR", "Parameters", "Precision", "precision"]


_MOST_DEGREE = 1 << 16
"""The largest degree of circuits whose depth alone asks for more."""


class Parameters(parameters.Parameters):
    """Parameters of CKKS. The constructor takes explicit primes; `for_circuit` chooses primes for a circuit,
    and `from_bits` by their sizes."""

    __slots__ = ()
    scheme = "ckks"

    def __init__(
        self,
        *,
        degree: int,
        primes: Sequence[int],
        special_primes: Sequence[int],
        scale: float,
        last_base: int = 1,
        levels: Sequence[Sequence[int]] | None = None,
        range_bits: int = 10,
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
            primes: ciphertext primes, the last level's first; each level above has one more.
            special_primes: primes of key-switching; may be empty.
            scale: factor between values and polynomial at the top level, above 1 and at most 2^120.
            last_base: the number of `primes` that the last level has.
            levels: the primes of each level, last level first, for chains that do not drop one prime a level;
                `primes` is then ().
            range_bits: the bits of integer range above the scale in the last level. Results may be as large
                as 15/32 of 2^range_bits.
            digits: a partition of the ciphertext primes for key-switching; empty: each digit has as many as
                fit under the special primes.
            window_bits: w of a base-2^w split of single-prime digits; 0: none.
            roots: primitive 2N-th roots of unity by prime; the minimal one if there is no entry.
            galois_generator: 5, or 3 for objects of SEAL.
            secret_weight: the number of non-zero coefficients of the secret; 0: uniform ternary.
            sigma: the standard deviation of the error.
            security: the least bits of security (128, 192, 256); None: any.

        Raises:
            ParameterError: if arguments clash; the message names them.
            SecurityError: if the parameters are weaker than `security`.
        """
        require_naturals(degree=degree, range_bits=range_bits, secret_weight=secret_weight)
        self._native = _core.parameters_from_literal(
            scheme=_core.Scheme.ckks,
            degree=degree,
            levels=chain_levels(primes, last_base, levels),
            special_primes=list(special_primes),
            digits=[list(digit) for digit in digits],
            window_bits=window_bits,
            roots=dict(roots or {}),
            plain_modulus=0,
            scale=scale,
            range_bits=range_bits,
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
        scale_bits: int = 40,
        slots: int = 1,
        range_bits: int | None = None,
        largest: float | None = None,
        sharing_bits: int = 0,
        shares: int = 1,
        digits: int = 0,
        degree: int = 0,
        security: int | None = 128,
        openings: _core.Openings | None = None,
    ) -> Self:
        """Parameters for a circuit, with all primes below 2^50 if scale and range allow it.

        Args:
            depth: the number of multiplications one after the other; products with plain numbers that are no
                integers count too.
            scale_bits: log2 of the factor between values and polynomial. A result has about 15 to 20 bits
                less than this after the point.
            slots: the number of slots needed in one ciphertext.
            range_bits: the bits of a result before the point, which may be as large as 15/32 of 2^range_bits;
                None: 20, or as many as `largest` takes. From 12 bits on the last level has two bits more, so
                that results may be as large as 2^(range_bits - 1) and more, and decryption notices most
                values that are too large (NoiseError).
            largest: in place of `range_bits`: the largest magnitude of your values, results too. Encryption
                refuses larger values. Ciphertexts carry bounds that follow from it (`Ciphertext.largest`),
                and `shrink` keeps room for them. None: no bound is declared. Files do not keep this number.
            sharing_bits: for results that others will see: the `statistical_bits` of
                `Context.decrypt_for_sharing`. The scale grows by the bits of its noise, about 30 for 40.
                0: no results are shown.
            shares: with `sharing_bits`: the number of results that will be shown.
            digits: the number of digits of key-switching; 0: chosen.
            degree: the least degree N; 0: the smallest that is secure and has the slots, up to 2^16, or
                2^17 for more than 2^15 slots. Deeper circuits are cheaper with bootstraps.
            security: the least bits of security (128, 192, 256); None: any.
            openings: those of a group (`Group.openings`), in place of `sharing_bits` and `shares`: the scale
                has room for the noise of all its pieces, and the secret is a sum of as many terms.

        Raises:
            ParameterError: if there are no such parameters; the message has the reason. If they would have N
                = 2^17 for their depth alone, it names `for_bootstrapping`.

        Examples:
            >>> hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=4096)
            <ckks.Parameters N=8192, 3 levels, log2(QP)=191.0, security >=128>
        """
        require_naturals(
            depth=depth,
            scale_bits=scale_bits,
            slots=slots,
            sharing_bits=sharing_bits,
            shares=shares,
            digits=digits,
            degree=degree,
        )
        if range_bits is not None:
            require_naturals(range_bits=range_bits)
        if largest is not None and not largest > 0:
            raise _core.ParameterError(f"largest must be above 0, not {largest}")
        check_security(security)
        if openings is not None:
            if sharing_bits:
                raise _core.ParameterError("openings have their own bits; leave sharing_bits and shares out")
            sharing_bits, shares = openings.bits, openings.count
        pieces: tuple[Any, ...] = () if openings is None else (openings.pieces,)
        native = _core.ckks_for_circuit(
            depth,
            scale_bits,
            slots,
            range_bits,
            largest or 0.0,
            sharing_bits,
            shares,
            digits,
            degree,
            security,
            *pieces,
        )
        if native.degree > _MOST_DEGREE >= max(degree, 2 * slots):
            raise _core.ParameterError(
                f"depth {depth} at a scale of {scale_bits} bits takes N = 2^17, where bootstraps at N = 2^16 "
                "cost less: take hemera.ckks.Parameters.for_bootstrapping, or degree=2**17 for this ring"
            )
        return cls._wrap(native)

    @classmethod
    def for_bootstrapping(
        cls,
        preset: str = "n16-40",
        *,
        real_slots: int | None = None,
        ephemeral_secret: EphemeralSecret = "fixed weight",
        **fields: Any,
    ) -> Self:
        """Parameters with the levels of a bootstrap (`hemera.circuits.Bootstrap`) in addition to the user's.

        Args:
            preset: "n16-40" (13 levels of 40 bits are left after a bootstrap), "n16-40-light" (9, with
                fewer bytes of keys to upload), "n16-40-sparse128" (12, through an ephemeral secret of weight
                128; `Bootstrap` takes sine_range=44, ephemeral_weight=128), "n16-40-precise" (12),
                "n16-45" (8 of 45 bits), "n16-59" (9 of 59 bits, for two iterations), "n16-80" (6 of 80 bits,
                for three), "n15-31" (4 of 31 bits at N = 2^15), for few real slots at N = 2^15 "n15-40" and
                "n15-36" (64; 4 of 40 and 36 bits), "n15-34" and "n15-30" (2,048; 3 of 34 and 4 of 30 bits),
                "n16-40-few" (up to 256 at N = 2^16, by roots of unity; 4 of 40 bits), "n16-exact" and,
                by roots of unity of up to 512 real slots, "n16-exact-few" (16 of 40 bits, after bootstraps to
                exponentials), each with 128 bits of security for every key; or "test-40", "test-few",
                "test-exact" and "test-exact-few": N = 2^11, not secure.
            real_slots: the number of real slots of the bootstrapped ciphertext. None: all.
            ephemeral_secret: the secret that bootstraps go through. "fixed weight": as the preset has it, 32
                coefficients; the presets of "-few" alone have blocks. "blocks": a single 1
                in each of 64 blocks, which bootstraps by roots of unity need, where they count as faster for
                `real_slots`, up to 256 or so, with the same levels and no more than a bit less of precision;
                else as the preset is. Their 128 bits rest on judgement: 181 by the cheapest known attack, 165
                with margins, 127 if a hybrid attack guessed in fourth roots (docs/security.md).
            fields: fields in place of the preset's (docs/bootstrapping.md): degree, levels, scale_bits, order
                ("slots-first", "standard" or "from-coefficients"), last_bits, ratio_bits,
                slots_to_coefficients and coefficients_to_slots (the bits that each matrix drops; none of the
                first from coefficients), eval_mod_error, constant_bits, sine_range, ephemeral_weight,
                sine_degree, doublings, nested_sine, exponential, arcsine, arcsine_bits, blocks (of the
                ephemeral secret of roots of unity; 0: EvalMod), special_primes, digits, secret_weight (0:
                uniform ternary), security (128, 192, 256 or None). Where the preset's digits are not secure
                with other fields, they are the fewest that are.

        Raises:
            ParameterError: if the preset or a field is unknown, or fields do not fit; the message names them.
                If the levels are too many to be secure, it has the most that are, and the largest security of
                these.
            SecurityError: if the parameters are weaker than `security`.
        """
        from hemera import _bootstrap_search  # few users need it

        return cls._wrap(_bootstrap_search.of_real_slots(preset, fields, real_slots, ephemeral_secret))

    @classmethod
    def from_bits(
        cls,
        *,
        degree: int,
        prime_bits: Sequence[int],
        special_bits: Sequence[int],
        scale_bits: float,
        last_base: int = 1,
        digits: int = 0,
        range_bits: int = 10,
        equal_scales: bool = False,
        security: int | None = 128,
    ) -> Self:
        """Parameters from the sizes of their primes.

        Args:
            degree: N, a power of two from 2^10 to 2^17.
            prime_bits: the bits of each ciphertext prime, the last level's first; each level above has one
                more.
            special_bits: the bits of each special prime.
            scale_bits: log2 of the scale at the top level; of that at the lowest one where scales that follow
                from the top would leave it by more than two bits, as with primes of other sizes.
            last_base: the number of primes of the last level.
            digits: the number of digits of key-switching; 0: each digit has as many primes as fit under the
                special primes.
            range_bits: the bits of integer range above the scale in the last level.
            equal_scales: whether all levels have this scale, whatever their primes: for circuits whose
                factors fill the primes, as those of `hemera.circuits.PlainMatrixProduct(rescaled=False)` do.
                Other products leave the scale.
            security: the least bits of security (128, 192, 256); None: any.

        Raises:
            ParameterError: if there are not enough such primes, or they do not fit together.
            SecurityError: if the parameters are weaker than `security`.

        Examples:
            >>> params = hm.ckks.Parameters.from_bits(
            ...     degree=8192, prime_bits=[60, 40, 40], special_bits=[60], scale_bits=40
            ... )
            >>> params.levels, round(params.level_bits(0))
            (3, 60)
        """
        require_naturals(degree=degree, last_base=last_base, digits=digits, range_bits=range_bits)
        return cls._wrap(
            _core.ckks_from_bits(
                degree,
                list(prime_bits),
                list(special_bits),
                2.0**scale_bits,
                last_base,
                digits,
                security,
                range_bits,
                equal_scales,
            )
        )

    @property
    def scale(self) -> float:
        """The factor between values and polynomial of fresh encodings at the top level."""
        return self._native.scale

    @property
    def range_bits(self) -> int:
        """The bits of integer range. Results may be as large as 15/32 of 2^range_bits at the last level."""
        return self._native.range_bits

    @property
    def largest(self) -> float | None:
        """The declared largest magnitude of values; None: no bound is declared."""
        return self._native.largest or None

    @property
    def checks_range(self) -> bool:
        """Whether decryption checks that values did not wrap (NoiseError). True if the last level has two
        bits more than `range_bits` and the Galois generator is 5."""
        return self._native.checks_range


@dataclass(frozen=True)
class Precision:
    """The distance of a result from the exact one. Bits are -log2 of an absolute error, infinite for an error
    of 0."""

    worst_bits: float
    """The bits of the largest error."""
    mean_bits: float
    """The bits of the mean error."""
    largest_error: float
    """max |result - expected|."""
    mean_error: float
    """mean |result - expected|."""
    standard_deviation: float
    """The root of the mean square of |result - expected|."""

    def __str__(self) -> str:
        return f"{self.worst_bits:.1f} bits at worst, {self.mean_bits:.1f} bits in the mean"


def precision(result: ArrayLike, expected: ArrayLike) -> Precision:
    """Compare decrypted values with exact ones.

    Args:
        result: real or complex values of any shape: doubles, long doubles, PAIR or COMPLEX_PAIR.
        expected: values of the same shape.

    Raises:
        MismatchError: if the shapes differ or there are no values.

    Examples:
        >>> found = hm.ckks.precision([1.0, 2.0 + 2**-10], [1.0, 2.0])
        >>> found.largest_error, found.worst_bits
        (0.0009765625, 10.0)
    """
    found = np.asarray(result)
    exact = np.asarray(expected)
    if found.shape != exact.shape or found.size == 0:
        raise _core.MismatchError(
            f"precision compares equal shapes that are not empty, not {found.shape} and {exact.shape}"
        )
    errors = np.abs(difference(found, exact))
    largest, mean = float(errors.max()), float(errors.mean())
    return Precision(
        worst_bits=_bits(largest),
        mean_bits=_bits(mean),
        largest_error=largest,
        mean_error=mean,
        standard_deviation=float(np.sqrt(np.mean(errors**2))),
    )


def _bits(error: float) -> float:
    return math.inf if error == 0 else -math.log2(error)
