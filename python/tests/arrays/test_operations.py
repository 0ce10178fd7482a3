"""What each operation of array programs says of itself, against NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from hemera import circuits
from hemera.arrays.folding import folded
from hemera.arrays.layout import Layout
from hemera.arrays.operations import Affine, Apply, Input, LookUp, Multiply
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tensor import TensorProgram
from hemera.arrays.tiling import SplitProgram
from hemera.compiler.attempts import NotPossibleError
from hemera.compiler.batches import in_batches
from hemera.compiler.lowering import InSlots
from hemera.errors import MismatchError, ParameterError

RANDOM = np.random.default_rng(7)
SHAPE = (2, 3)
A, B = RANDOM.normal(size=(6, 6)) * (RANDOM.random((6, 6)) < 0.5), RANDOM.normal(size=(6, 6))
OFFSET, TABLE, KINDS = RANDOM.normal(size=6), RANDOM.integers(-9, 9, (5, 2)), np.array([0, 1, 1, 0, 1, 0])
SIGMOID = circuits.sigmoid((-4, 4), bits=10)


def _map(matrix):
    rows, columns = np.nonzero(matrix)
    return SparseMap.of(*matrix.shape, rows, columns, matrix[rows, columns])


INPUT, PRODUCT, MAPS = Input("x", -2, 3), Multiply(), Affine((_map(A), _map(B)), OFFSET)
FUNCTION, LOOK_UP = Apply(SIGMOID, expit), LookUp(TABLE, KINDS, 3)
EACH = pytest.mark.parametrize("case", [
    # The operation, its meaning for flat operands, how many there are, their ends, its levels and its title.
    (INPUT, lambda x: x, 1, (-2, 3), 0, "input x"),
    (Affine((_map(np.eye(6)[::-1]),)), lambda x: x[..., ::-1], 1, (-2, 3), 0, "linear map"),
    (MAPS, lambda x, y: x @ A.T + y @ B.T + OFFSET, 2, (-2, 3), 1, "2 linear maps"),
    (PRODUCT, np.multiply, 2, (-2, 3), 1, "product"),
    (FUNCTION, expit, 1, (-4, 4), SIGMOID.depth, "sigmoid"),
    (LOOK_UP, lambda x: TABLE[np.int64(x) // 3, KINDS], 1, (0, 12), 4, "look-up of 5 values"),
])  # fmt: skip


def _drawn(own, low, high, count):
    """Flat values between these, half of them at an end."""
    inside, at_ends = RANDOM.random((count, 6)), RANDOM.integers(0, 2, (count, 6))
    found = low + (high - low) * np.where(RANDOM.random((count, 1)) < 0.5, inside, at_ends)
    return found // 3 * 3 if own is LOOK_UP else found


@EACH
def test_values_levels_and_titles(case):
    own, judge, count, ends, depth, title = case
    xs = [_drawn(own, *ends, 50) for _ in range(count)]
    for exact, error in ((False, SIGMOID.error if own is FUNCTION else 1e-12), (True, 1e-12)):
        found = own.clear([x.reshape(-1, *SHAPE) for x in xs], SHAPE, clip=True, exact=exact)
        np.testing.assert_allclose(found.reshape(50, -1), judge(*xs), rtol=0, atol=error)
    program = TensorProgram()
    given = [] if own is INPUT else [program.add(INPUT, (), SHAPE) for _ in range(count)]
    assert program.nodes[program.add(own, given, SHAPE)].title == title
    assert (program.depth, program.least_depth) == (depth, 0 if own.is_linear else depth)
    with pytest.raises(MismatchError):
        own.clear([np.zeros((1, 7))], SHAPE) if own is INPUT else program.add(own, given, (7,))


@EACH
def test_intervals_and_errors(case):
    own, judge, count, ends, *_ = case
    given = [np.sort(_drawn(own, *ends, 2), axis=0) for _ in range(count)]
    given = [np.repeat([ends], 6, axis=0).T] if own is INPUT else given
    found, slack = judge(*(_drawn(own, *each, 20000) for each in given)), 1e-9
    if own is FUNCTION:  # of all elements together
        found, slack = np.repeat(found.reshape(-1, 1), 6, axis=1), SIGMOID.error
    found = np.repeat(TABLE.reshape(-1, 1), 6, axis=1) if own is LOOK_UP else found
    bounds = own.bounds([tuple(each) for each in given], SHAPE)
    np.testing.assert_allclose(bounds, [found.min(0), found.max(0)], rtol=0, atol=3 * slack)
    np.testing.assert_array_equal(found, np.clip(found, bounds[0] - slack, bounds[1] + slack))
    errors = [0.1 * RANDOM.random(6) * (RANDOM.random(6) < 0.8) * (own is not INPUT) for _ in range(count)]
    xs = [_drawn(own, *ends, 5000) for _ in range(count)]
    moved = [x + each * RANDOM.choice([-1, 1], x.shape) for x, each in zip(xs, errors, strict=True)]
    off = own.clear([x.reshape(-1, *SHAPE) for x in moved], SHAPE, clip=True).reshape(5000, -1) - judge(*xs)
    bound, most = own.error_bound(errors, [ends] * count, SHAPE), np.abs(off).max(0)
    assert (most <= 1.001 * bound + 1e-12).all()
    assert (bound <= 3 * most + 3 * slack).all()  # and is of their size


def test_squares_are_not_negative_and_functions_have_intervals():
    x, y = ((np.array([-2.0]), np.array([1.0])) for _ in range(2))
    assert (PRODUCT.bounds([x, x], (1,)), PRODUCT.bounds([x, y], (1,))) == ((0, 4), (-2, 4))
    assert (PRODUCT.title(1, 1), FUNCTION.intervals, PRODUCT.intervals) == ("square", [(-4, 4)], ())
    assert FUNCTION.clear([np.array([9.0])], (), clip=True) == FUNCTION.clear([np.array([4.0])], ())


def test_operations_that_differ_in_a_field_are_not_merged():
    own, nearly = Affine((_map(A),), OFFSET), Affine((_map(A * (1 + 1e-15)),), OFFSET)
    for case in (
        [own, nearly, Affine(own.maps, OFFSET + 1e-15), Affine((_map(A.T),), OFFSET), Affine(own.maps)],
        [FUNCTION, Apply(circuits.sigmoid((-5, 4), bits=10), expit), Apply(SIGMOID), Apply(SIGMOID, np.tanh)],
        [LOOK_UP, LookUp(TABLE + 1, KINDS, 3), LookUp(TABLE, 1 - KINDS, 3), LookUp(TABLE, KINDS)],
    ):
        program = TensorProgram()
        program.add(INPUT, (), SHAPE)
        program.outputs = [("", program.add(each, [0], SHAPE)) for each in (*case, replace(case[0]))]
        assert len(folded(program).nodes) == 1 + len(case)


def test_an_operation_that_a_pass_has_no_method_for_is_refused():
    def program(own):
        found = TensorProgram()
        found.outputs = [("y", found.add(own, [found.add(INPUT, (), SHAPE)], SHAPE, "here.py:3"))]
        return found

    with pytest.raises(ParameterError, match=r"sigmoid \(here.py:3\): .* another scheme= or layout="):
        InSlots(
            SplitProgram.whole_arrays(program(FUNCTION)), (Layout.raster(SHAPE),) * 2, 8, "bfv", 65537
        ).run()
    with pytest.raises(ParameterError, match="look-up of 5 values"):
        InSlots(SplitProgram.whole_arrays(program(LOOK_UP)), (Layout.raster(SHAPE),) * 2, 8).run()
    with pytest.raises(NotPossibleError, match="look-up of 5 values"):
        in_batches(program(LOOK_UP), 1, 8, 16)
