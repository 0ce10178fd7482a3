"""Two digits read in one refresh, by Chinese remainders."""

from __future__ import annotations

from collections.abc import Callable

from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine
from hemera.integers.layout import BASE
from hemera.integers.lookup import lookup

_OTHER = BASE + 1
_PERIOD = BASE * _OTHER


class Remainders:
    """Tables of two digits a and b. With s = 17 b - 16 a and z = exp(2 pi i s / 272), z^16 is exp(2 pi i a /
    17) and z^17 is exp(2 pi i b / 16), as whole turns vanish: so tables of both have degree 8, where one of
    a + 16 b has degree 128. But s / 272 takes a level of the digits, as 256 / 272 is no whole number.

    Args:
        functions: the tables of either digit.
    """

    def __init__(self, *functions: Callable[[int], float]) -> None:
        # No digit is 16: a table has the least derivatives with 1/2 there.
        self._first = lookup(
            _OTHER, *((lambda s, f=f: f(s) if s < BASE else 0.5) for f in functions), taken=BASE
        )
        self._second = lookup(BASE, *functions)

    def most_error(self, engine: Engine) -> float:
        """The largest error of digits with which sums of a table of each can be cleaned well."""
        return engine.most_error(self._first, self._second) / (_OTHER + BASE)

    def takes(self, engine: Engine, a: Bounded, b: Bounded) -> bool:
        """Whether digits have the level, and no more error."""
        return engine.have_levels(a, b, 1) and max(a.error, b.error) <= self.most_error(engine)

    def __call__(self, engine: Engine, a: Bounded, b: Bounded) -> tuple[list[Bounded], list[Bounded]]:
        """The tables of a, and those of b, as they are read.

        Raises:
            NoiseError: if a digit could be misread with a probability above 2^-128.
        """
        z = engine.exponential(b * _OTHER - a * BASE, _PERIOD)
        first = engine.power(z, BASE)
        second = z.raised(first.value * z.value, _OTHER, engine.rounding)
        return engine.read(first, self._first, clean=False), engine.read(second, self._second, clean=False)
