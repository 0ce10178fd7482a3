"""Bounds on the noise of a program's results, and what openings leave of them, from the program alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hemera import _core
from hemera.circuits.needs import size_text
from hemera.errors import MismatchError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.package.dry_run import noise_of_a_run
from hemera.package.encodings import Arrays
from hemera.package.error_bounds import own_noise_bounds
from hemera.package.package import Package


@dataclass(frozen=True)
class Bounds:
    """What a dry run of a program gives: its own bounds, not those that files claim."""

    inputs: list[Ciphertext]
    outputs: list[Ciphertext]
    noise: list[float]
    """log2 of the bound on each output's noise, as openings take it."""

    @classmethod
    def of(cls, package: Package) -> Bounds:
        """ParameterError for a program of CKKS whose errors have no worst-case bound."""
        ledger = Context(package.params, "ledger", threads=1)
        inputs, outputs = noise_of_a_run(package.planned(ledger))
        if package.scheme != "ckks":
            return cls(inputs, outputs, [x.noise_bits for x in outputs])
        bounds = own_noise_bounds(package.interface, package.program)
        # The root mean square of the errors' coefficients, with the rounding of the exact result.
        root = math.sqrt(package.params.degree)
        noise = [math.log2(bound * x.scale / root + 0.5) for bound, x in zip(bounds, outputs, strict=True)]
        return cls(inputs, outputs, noise)

    def require_inputs(self, given: Sequence[Ciphertext]) -> None:
        """MismatchError unless they are fresh encryptions, by all that can be seen of them."""
        for number, (x, own) in enumerate(zip(given, self.inputs, strict=True)):
            facts = [(*_facts(each), each.noise_bits) for each in (x, own)]
            if facts[0] != facts[1]:
                raise MismatchError(
                    f"input {number} is no fresh encryption: size, level, scale, slots, shape, noise are "
                    f"{facts[0]}, not {facts[1]}"
                )

    def require_outputs(self, given: Sequence[Ciphertext]) -> None:
        """MismatchError unless they have the places of the program's results."""
        for number, (x, own) in enumerate(zip(given, self.outputs, strict=True)):
            if _facts(x) != _facts(own):
                raise MismatchError(f"result {number} has another level, scale or shape than a run's")

    def bits_left(self, openings: _core.Openings) -> list[float]:
        """-log2 of an error that no slot of a result exceeds, of CKKS, but for 2^-failure_bits a result.
        Floodings make nearly all of it."""
        found = []
        for x, noise in zip(self.outputs, self.noise, strict=True):
            degree = x.context.params.degree
            flooding = openings.flooding_log2(degree, noise)
            # A slot is a sum of two coefficients for each slot, times roots of unity; and the largest error
            # of N / 2 slots is at most their norm.
            flooded = openings.opened_noise_log2(degree, noise, flooding) + 0.5 * math.log2(2 * x.slots)
            own = noise + math.log2(degree) - 0.5
            found.append(math.log2(x.scale) - math.log2(2.0**flooded + 2.0**own))
        return found


def _facts(x: Ciphertext) -> tuple[object, ...]:
    return x.size, x.level, x.scale, x.slots, x.shape


def message_bytes(degree: int, needs: Sequence[_core.KeyNeed]) -> int:
    """Bytes of the switching keys in a piece's messages of both rounds: residues in the bits of their primes;
    of products two polynomials of a digit, and one in round 2."""
    bits = 0
    for need in needs:
        primes = (*need.primes, *need.special_primes)
        polynomials = need.digits * (3 if need.power == 2 else 1)
        bits += polynomials * sum((q - 1).bit_length() for q in primes)
    return bits * degree // 8


def report_of(package: Package, openings: _core.Openings) -> str:
    """A line for each result: what its opening leaves; and one for the keys."""
    needs = package.interface.keys.all_needs(Context(package.params, "ledger", threads=1))
    size = size_text(message_bytes(package.params.degree, needs))
    keys = f"keys: {len(needs)} switching keys, by messages of {size} of each piece"
    if package.scheme != "ckks":
        return "\n".join([*(f"{spec.name}: exact" for spec in package.outputs), keys])
    factors = [1.0] * len(package.outputs)
    encoding = package.interface.encoding
    if isinstance(encoding, Arrays) and encoding.output_scales:
        pairs = zip(encoding.outputs, encoding.output_scales, strict=True)
        factors = [factor for layout, (factor, _) in pairs for _ in range(layout.count)]
    left = zip(package.outputs, Bounds.of(package).bits_left(openings), factors, strict=True)
    lines = (
        f"{spec.name}: {bits - math.log2(abs(factor)):.1f} bits after the point"
        if bits > 1
        else f"{spec.name}: no bits are left, and openings are refused; take a larger scale"
        for spec, bits, factor in left
    )
    return "\n".join([*lines, keys])


def no_approximate_bootstraps(degree: int, openings: _core.Openings) -> str:
    """Why a group does not run programs of CKKS with bootstraps, in numbers: an error of bound B in slots is
    flooded by a deviation of sqrt(12 R N C) 2^(s / 2) B of a slot."""
    bits = 0.5 * (math.log2(12 * openings.count * openings.pieces * degree) + openings.bits)
    return (
        f"a group runs no CKKS programs with bootstraps. Flooding of {openings.count} openings with "
        f"{openings.bits} bits takes {bits:.1f} bits of precision at N = {degree}, and a bootstrap leaves 23 "
        "to 31; its error, moreover, has no worst-case bound, without which openings tell about the secret. "
        "Take for_circuit(openings=) with all the depth, or BFV or BGV, whose bootstraps are exact"
    )
