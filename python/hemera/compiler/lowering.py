"""From a program on arrays to one on slots: what all layouts and schemes share. `hemera.compiler.diagonals`
has elements in the slots of a ciphertext, `hemera.compiler.batches` those with ciphertexts of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hemera.arrays.layout import Layout
from hemera.arrays.operations import Apply
from hemera.arrays.tensor import TensorProgram, Walk
from hemera.circuits import Polynomial
from hemera.compiler.impossible import NotPossibleError
from hemera.compiler.placement import Placement
from hemera.compiler.tracing import told
from hemera.program.program import Program
from hemera.program.tracing import Recorder, Symbol, number_of

__all__ = ["Lowered", "Lowering", "Step", "Value", "applied"]

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """How one node of a program is done."""

    node: int
    layout: Layout | None = None
    """None: not in the slots of one ciphertext."""
    diagonals: tuple[int, ...] = ()
    """The number of diagonals of each map; 0 where it moves nothing."""
    folds: int = 0
    """Rotations by which sums over parts are taken."""
    matrices: tuple[tuple[int, int], ...] = ()
    """Where elements lie in ciphertexts of their own: the rows and columns of each matrix."""


@dataclass(frozen=True)
class Lowered:
    """A program on slots, and how each node of the program on arrays is done."""

    program: Program
    slots: int
    steps: tuple[Step, ...]
    magnitudes: dict[int, float]
    """The largest number in a slot, for values of `program` that are nodes' results."""
    arrays: tuple[int | None, ...] = ()
    """For each value of `program`, the array of several tiles that it is for (`SplitProgram.arrays`), or of
    operations that are done alike."""
    placement: Placement | None = None
    """How bootstraps were placed; None: there are none to place."""
    in_parts: bool = False
    """Whether values hold samples in their real and imaginary parts, and batches of two hold both apart."""


@dataclass(frozen=True)
class Value:
    """A node's ciphertexts, and the range of slots that hold no element."""

    symbol: Symbol
    low: float = 0.0
    high: float = 0.0


class Lowering(Walk[T]):
    """Records each node's form, from the forms of the nodes that it takes.

    Args:
        recorder: of a program with the inputs of `program`.
        inputs: what these are.
    """

    def __init__(self, program: TensorProgram, recorder: Recorder, inputs: Iterable[T]) -> None:
        super().__init__(program, inputs)
        self._recorder = recorder
        self._how: dict[int, Step] = {}
        """How nodes are done, where there is something to say."""

    def run(self) -> Lowered:
        """The program on slots, without values that no output takes."""
        recorded, nodes = self._recorder.program, self._program.nodes
        arrays = [self._array(at, 0) for at in self._program.inputs]
        magnitudes: dict[int, float] = {}
        for at, node in enumerate(nodes):
            told("lower", at, len(nodes))
            value = self.made(at)
            if isinstance(value, Value):
                reached = (value.low, value.high, *node.range)
                magnitudes[number_of(value.symbol)] = max(map(abs, reached))
            arrays += [self._array(at, number) for number in range(len(recorded.forms) - len(arrays))]
        for _, at in self._program.outputs:
            self._recorder.give(self._result(at))
        arrays += [None] * (len(recorded.forms) - len(arrays))
        places = {value: place for place, value in enumerate(recorded.used)}
        return Lowered(
            recorded.pruned(),
            recorded.forms[0].slots,
            tuple(self._how.get(at, Step(at)) for at in range(len(nodes))),
            {places[value]: own for value, own in magnitudes.items() if value in places},
            tuple(arrays[value] for value in places),
        )

    @abstractmethod
    def _array(self, at: int, number: int, /) -> int | None:
        """What `Lowered.arrays` has for a value, the `number`-th that is made for a node."""

    @abstractmethod
    def _result(self, at: int) -> Symbol:
        """The results of a node that is an output."""


def applied(operation: Apply, xs: Sequence[Symbol]) -> Symbol:
    """A function of values. NotPossibleError for one that no file can keep."""
    function = operation.function
    if not isinstance(function, Polynomial) and function.recipe is None:
        raise NotPossibleError(f"{function.name} can not be kept in a program; take one of hm.circuits")
    return xs[0].apply(function, *xs[1:])
