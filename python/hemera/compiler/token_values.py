"""Values with tokens in slots, and views of their elements, which are moved where they are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.sparse_map import Shape, SparseMap
from hemera.arrays.tensor import TensorProgram
from hemera.arrays.tiling import SplitProgram
from hemera.arrays.tokens import Places, Turns, turns_of
from hemera.compiler.lowering import Lowering, Value
from hemera.compiler.matrices import Matrices
from hemera.program.tracing import Recorder
from hemera.program.values import Form

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Placed(Value):
    """The ciphertexts of a node, or of elements of it."""

    places: Places = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class View:
    """Elements of a value, which come to their places where they are used."""

    value: Placed
    taken: Indices | None = None
    """None: all of them in their order."""

    def of(self, taken: Indices) -> View:
        """Elements of these."""
        return View(self.value, self.elements(taken))

    def elements(self, taken: Indices) -> Indices:
        """The numbers in the value of elements of these."""
        return taken if self.taken is None else self.taken[taken]

    def is_like(self, other: View) -> bool:
        """Whether both are the same elements."""
        if self.taken is None or other.taken is None:
            return self.value is other.value and self.taken is other.taken
        return self.value is other.value and np.array_equal(self.taken, other.taken)


class TokenValues(Lowering[Placed | View | None]):
    """The values of a program's nodes; None of products that sums take.

    Args:
        program: of one sample.
        places: of its inputs.
        length: the number of tokens.
        samples: of a ciphertext.
        maps: records what brings elements to other places.
    """

    def __init__(
        self, program: TensorProgram, places: Sequence[Places], length: int, samples: int, maps: Matrices
    ) -> None:
        recorder = Recorder("ckks", [Form(length * samples, (each.count,)) for each in places])
        inputs = zip(recorder.inputs, places, strict=True)
        super().__init__(
            SplitProgram.whole_arrays(program),
            recorder,
            (Placed(symbol, places=own) for symbol, own in inputs),
        )
        self._length, self._maps = length, maps
        self._elsewhere: list[tuple[View, Placed]] = []
        """Values that were brought to other places."""

    def _view(self, at: int) -> View:
        """The elements of a node."""
        own = self._values[at]
        assert own is not None
        return own if isinstance(own, View) else View(own)

    def _turns(self, view: View, wanted: Places) -> Turns | None:
        """The turns that bring elements to some places; None where they can not come there."""
        own = view.value.places
        taken = np.arange(own.size) if view.taken is None else view.taken
        return turns_of(SparseMap.selection(taken, own.size), own, wanted, self._length)

    def _cost(self, view: View, wanted: Places) -> int | None:
        """Ciphertexts that are turned to bring elements to some places; None where they do not come there."""
        if view.taken is None and view.value.places.is_like(wanted):
            return 0
        turns = self._turns(view, wanted)
        return None if turns is None else turns.cost

    def _at(self, view: View, wanted: Places) -> Placed | None:
        """Elements at some places; None where they can not come there."""
        own = view.value
        if view.taken is None and own.places.is_like(wanted):
            return own
        for known, found in self._elsewhere:
            if known.is_like(view) and found.places.is_like(wanted):
                return found
        turns = self._turns(view, wanted)
        if turns is None:
            return None
        found = Placed(self._maps.turned_map(own.symbol, turns, wanted.count)[0], places=wanted)
        self._elsewhere.append((view, found))
        return found

    def _candidates(self, shape: Shape, views: Sequence[View] = ()) -> Iterator[Places]:
        """Places for a result: those that its operands have, and others for its shape."""
        first, *others = Places.candidates(shape, self._length)
        yield first
        for view in views:
            own = view.value.places
            found = own if view.taken is None else own.taken(view.taken, self._length)
            if found is not None:
                yield found
        yield from others

    def _met(self, views: Sequence[View], shape: Shape) -> list[Placed] | None:
        """Operands of one shape at common places, with the fewest turns."""
        best: tuple[int, Places] | None = None
        for places in self._candidates(shape, views):
            costs = [own for own in (self._cost(view, places) for view in views) if own is not None]
            if len(costs) == len(views) and (best is None or sum(costs) < best[0]):
                best = sum(costs), places
                if best[0] == 0:
                    break
        if best is None:
            return None
        found = [self._at(view, best[1]) for view in views]
        return [each for each in found if each is not None]
