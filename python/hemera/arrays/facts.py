"""The facts that a recorder knows of a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from hemera.arrays.chains import Chain
from hemera.arrays.operations import Bounds
from hemera.arrays.watch import Watch

__all__ = ["Facts"]


@dataclass(eq=False)
class Facts:
    """Facts of the elements of a node."""

    bounds: Bounds
    """The least and the largest value of each element."""
    certain: Bounds
    """The same by interval arithmetic alone, without samples, where functions take what is in their
    intervals. The same object as `bounds` where samples show nothing more."""
    sign: int
    """The intended sign of all elements: 1: none is below 0, -1: none is above 0, 0: not known. Errors of
    functions do not count."""
    step: float | None
    """A number of which all elements are integer multiples, to the program's precision; None where there is
    none known."""
    samples: NDArray[Any] | None
    """Values for samples of the inputs, of shape (samples, *shape)."""
    watch: Watch | None = None
    """The watch on the arguments of functions, if its values may leave their intervals."""
    jump: tuple[int, float] | None = None
    """For a mask of real numbers, which nothing computes: the node that it is of, and where that jumps."""
    chain: Chain | None = None
    """The node as a function of another one."""
    unmade: Exception | None = None
    """Why no polynomial is near to a function, which only chains may take in."""
