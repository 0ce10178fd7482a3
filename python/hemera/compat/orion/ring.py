"""Hemera's parameters for those that Orion's configurations name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from hemera import ckks
from hemera.errors import LevelError, ParameterError


@dataclass(frozen=True)
class Ring:
    """Parameters, and where Orion's levels are in them."""

    params: ckks.Parameters
    lowest: int
    """Hemera's level that is Orion's level 0. Levels below are of bootstraps."""
    levels: int
    """Orion's highest level."""
    scale_bits: int
    """log2 of Orion's scale."""

    @property
    def slots(self) -> int:
        """The number of slots of each ciphertext."""
        return self.params.degree // 2

    def native_level(self, level: int) -> int:
        """Hemera's level for Orion's.

        Raises:
            LevelError: if Orion has no such level.
        """
        if not 0 <= level <= self.levels:
            raise LevelError(f"there is no level {level}: LogQ has the levels 0 to {self.levels}")
        return self.lowest + level

    @property
    def moduli(self) -> list[int]:
        """About the factor that each level drops, and at level 0 the modulus that is left: Orion's `LogQ` as
        numbers. Levels of bootstrapping parameters are no single primes, so these are rounded."""
        bases = [_product(base) for base in self.params.primes[self.lowest :]]
        drops = [(2 * above + below) // (2 * below) for below, above in pairwise(bases)]
        return [bases[0], *drops][: self.levels + 1]


def make_ring(
    *,
    log_degree: int,
    log_primes: Sequence[int],
    log_special: Sequence[int],
    log_scale: int,
    ring: Literal["standard", "conjugateinvariant"] = "standard",
    bootstraps: bool = False,
    security: int | None = 128,
) -> Ring:
    """Parameters by the sizes that Orion's configurations have.

    The ring of conjugation-invariant polynomials of degree N has N real slots. Here they are those of the
    usual ring of degree 2N, whose security is that of its own degree.

    Args:
        log_degree: log2 of N.
        log_primes: log2 of each level's factor, the lowest level first.
        log_special: log2 of the special primes.
        log_scale: log2 of the scale.
        ring: "standard", of N/2 slots, or "conjugateinvariant", of N real ones.
        bootstraps: whether there are levels for bootstraps above and below those of `log_primes`. They are
            Hemera's own, as are the lowest level's modulus and the special primes then: `log_primes` says
            how many levels there are.
        security: the least bits of security (128, 192, 256); None: any.

    Raises:
        ParameterError: if there are no such parameters.
        SecurityError: if they are weaker than `security`.
    """
    if ring not in ("standard", "conjugateinvariant"):
        raise ParameterError(f"ringtype is 'standard' or 'conjugateinvariant', not {ring!r}")
    if not log_primes:
        raise ParameterError("LogQ is empty: it has the bits of a modulus for each level, the lowest first")
    levels = len(log_primes) - 1
    degree = 2 ** (log_degree + (ring == "conjugateinvariant"))
    if bootstraps:
        params = ckks.Parameters.for_bootstrapping(
            "n16-40", degree=degree, levels=levels, scale_bits=log_scale, security=security
        )
        highest = params._native.highest_user_level
        return Ring(params, highest - levels, levels, log_scale)
    params = ckks.Parameters.from_bits(
        degree=degree,
        prime_bits=log_primes,
        special_bits=log_special,
        scale_bits=log_scale,
        security=security,
    )
    return Ring(params, 0, levels, log_scale)


def _product(primes: Sequence[int]) -> int:
    found = 1
    for prime in primes:
        found *= int(prime)
    return found
