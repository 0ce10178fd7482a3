"""Bootstraps of real rows, two in one complex ciphertext."""

from __future__ import annotations

from collections.abc import Iterable

import hemera as hm
from hemera.errors import ParameterError
from hemera_apps.transformer.layers import chunks


def declared(x: hm.Ciphertext) -> hm.Ciphertext:
    """The same values, of which calibration says that they lie from -1 to 1."""
    return x.evaluator.declare(x, 1)


def twice_parts(z: hm.Ciphertext) -> tuple[hm.Ciphertext, hm.Ciphertext]:
    """Twice the real and twice the imaginary parts."""
    turned = z.conjugate()
    return z + turned, (z - turned) * -1j


class Refresh:
    """Bootstraps by a plan of complex slots.

    Attributes:
        base, top: as given.

    Args:
        plan: the plan.
        size: the number of ciphertexts that a call bootstraps.
        base, top: the level that bootstraps start from, and the highest level that a block takes of results.
        real: a plan of real slots that leaves as many levels, for a ciphertext without a partner.

    Raises:
        ParameterError: if a bootstrap leaves too few levels.
    """

    def __init__(
        self,
        plan: hm.circuits.Bootstrap,
        size: int,
        base: int,
        top: int,
        *,
        real: hm.circuits.Bootstrap | None = None,
    ) -> None:
        if plan.result_level < top:
            raise ParameterError(
                f"the block needs bootstraps that leave {top - base} levels, and these leave "
                f"{plan.levels_left}: for_bootstrapping(levels=)"
            )
        self._plan, self._size, self._real = plan, size, real or plan
        self.base, self.top = base, top

    def prepare(self, context: hm.Context) -> None:
        """Encode the plans' matrices now, and not in the first call."""
        self._plan.prepare(context)
        self._real.prepare(context)

    def parts(self, count: int) -> list[slice]:
        """The rows of the batches that `twice` gives for as many rows."""
        half = (count + 1) // 2
        first = list(chunks(half, self._size))
        second = [slice(half + part.start, min(half + part.stop, count)) for part in first]
        return [part for part in first + second if part.start < part.stop]

    def one(self, x: hm.Ciphertext) -> hm.Ciphertext:
        """A ciphertext, or a batch, of real values from -1 to 1, as it is."""
        return x.evaluator.bootstrap(declared(x), self._real, magnitude=1)

    def _pairs(self, z: hm.Ciphertext) -> hm.Ciphertext:
        """The same of complex values, whose parts are from -1 to 1."""
        return z.evaluator.bootstrap(declared(z), self._plan, magnitude=1)

    def twice(self, rows: hm.Ciphertext, level: int) -> list[hm.Ciphertext]:
        """Twice the rows, whose values are from -1 to 1, at a level: batches in the order of the rows, see
        `parts`. Halves would cost a level, and weights behind this step can have the factor."""
        if len(rows) % 2:  # one more, whose result is left out
            *found, last = self.twice(hm.concatenate([rows, rows[-1:]]), level)
            return [*found, last[:-1]] if len(last) > 1 else found
        half = len(rows) // 2
        return self._twice_each(
            (
                rows[part] + rows[half + part.start : half + part.stop] * 1j
                for part in chunks(half, self._size)
            ),
            level,
        )

    def twice_pairs(self, z: hm.Ciphertext, level: int) -> list[hm.Ciphertext]:
        """The same of pairs that are complex numbers already, whose parts are from -1 to 1."""
        return self._twice_each((z[part] for part in chunks(len(z), self._size)), level)

    def _twice_each(self, batches: Iterable[hm.Ciphertext], level: int) -> list[hm.Ciphertext]:
        parts = [twice_parts(self._pairs(z).at_level(level)) for z in batches]
        return [real for real, _ in parts] + [imaginary for _, imaginary in parts]

    def pair(
        self, first: hm.Ciphertext, second: hm.Ciphertext, level: int
    ) -> tuple[hm.Ciphertext, hm.Ciphertext]:
        """Twice the values of two ciphertexts, or batches, from -1 to 1, at a level, by one bootstrap."""
        return twice_parts(self._pairs(first + second * 1j).at_level(level))
