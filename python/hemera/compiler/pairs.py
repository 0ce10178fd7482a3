"""Programs that multiply encrypted matrices, and nothing else, as products of many pairs at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from hemera.arrays.array import Array
from hemera.arrays.folding import folded, with_squares
from hemera.arrays.recorded import number_of
from hemera.arrays.recorder import Recorder
from hemera.arrays.tensor import TensorProgram
from hemera.arrays.tiling import SplitProgram
from hemera.compiler.lowering import Lowered, Step
from hemera.program import operations as op
from hemera.program.program import Program
from hemera.program.values import Form

_MOST_FACTORS = 3


def factors_of(program: TensorProgram) -> dict[int, bool] | None:
    """The factors of x @ y or x @ (y @ z), from the left to the right, by the numbers of inputs: whether
    their lines, columns of left factors and rows of the right one, are columns of the inputs. None where the
    program is another one. All factors are inputs, or transposed ones, each once."""
    shapes = [program.nodes[at].shape for at in program.inputs]
    count = len(shapes)
    if (
        not 2 <= count <= _MOST_FACTORS
        or len(program.outputs) != 1
        or any(len(shape) != 2 for shape in shapes)
    ):
        return None
    sides = itertools.product((False, True), repeat=count)
    for order, turned in itertools.product(itertools.permutations(range(count)), sides):
        own = [shapes[at][:: -1 if back else 1] for at, back in zip(order, turned, strict=True)]
        chained = all(a[1] == b[0] for a, b in itertools.pairwise(own))
        if chained and _is(program, shapes, order, turned):
            return {at: turned[place] != (place < count - 1) for place, at in enumerate(order)}
    return None


def _is(
    program: TensorProgram, shapes: Sequence[tuple[int, ...]], order: Sequence[int], turned: Sequence[bool]
) -> bool:
    """Whether a program is the product of its inputs in this order."""
    recorder = Recorder()
    arrays = [Array(recorder, recorder.input("", shape, -1.0, 1.0)) for shape in shapes]
    factors = [arrays[at].T if back else arrays[at] for at, back in zip(order, turned, strict=True)]
    found = factors[-1]
    for each in reversed(factors[:-1]):
        found = each @ found
    recorder.program.outputs = [("", number_of(found))]
    return _are_equal(folded(with_squares(recorder.program)), program)


def _are_equal(a: TensorProgram, b: TensorProgram) -> bool:
    """Whether two programs of products and maps do the same with inputs of any range."""
    if len(a.nodes) != len(b.nodes) or [at for _, at in a.outputs] != [at for _, at in b.outputs]:
        return False
    for one, other in zip(a.nodes, b.nodes, strict=True):
        x, y = one.operation, other.operation
        if type(x) is not type(y) or one.operands != other.operands or one.shape != other.shape:
            return False
        if x.is_linear and x.identity != y.identity:
            return False
    return True


def in_pairs(program: TensorProgram, factors: Iterable[int], size: int, slots: int) -> Lowered:
    """The program on batches of `size` ciphertexts, for matrices that are filled up to `size`.

    Args:
        factors: the inputs that are multiplied, from the left to the right.
    """
    *left, value = factors
    found = Program("ckks", [Form(slots, (size,))] * (1 + len(left)))
    for each in reversed(left):
        value = found.add(op.PairProducts(), each, value)
    found.give(value)
    result = program.outputs[0][1]
    shape = ((size, size),) * len(left)
    steps = tuple(Step(at, matrices=shape if at == result else ()) for at in range(len(program.nodes)))
    return Lowered(SplitProgram.whole_arrays(program), found, slots, steps, {})
