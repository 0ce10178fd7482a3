"""Truth values, whole and real numbers: operators and functions of each pair of kinds are NumPy's."""

import functools
import operator
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.array import Array
from hemera.arrays.recorder import Recorder
from hemera.errors import ParameterError

Values = dict[str, Any]

VALUES = {
    "b": (np.array([[True, False, True], [False, False, True]]), np.array([True, True, False])),
    "i": (np.array([[2, 0, -1], [1, -2, 2]]), np.array([1, -2, 2])),
    "f": (np.array([[1.5, 0.0, -0.5], [1.0, -2.0, 2.0]]), np.array([1.0, -1.5, 2.0])),
}
PAIRS = [(a, b) for a in "bif" for b in "bif"]

TRUTHS = [True, False, True]
UFUNCS = """add subtract multiply maximum minimum fmax fmin equal not_equal less less_equal greater
greater_equal bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor inner outer kron"""
BINARY = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "and_", "or_", "xor")},
    **{name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    **{name: getattr(np, name) for name in UFUNCS.split()},
    "dot": lambda x, y: np.dot(x, y),
    "matmul": lambda x, y: x @ y,
    "np.matmul": lambda x, y: np.matmul(x, y),
    "tensordot": lambda x, y: np.tensordot(x, y, 1),
    "vdot": lambda x, y: np.vdot(x[0], y),
    "einsum": lambda x, y: np.einsum("ij,j->i", x, y),
    "einsum of three": lambda x, y: np.einsum("ij,ij,j->i", x, x, y),
    "convolve": lambda x, y: np.convolve(x[0], y),
    "correlate": lambda x, y: np.correlate(x[1], y, "full"),
    "where": lambda x, y: np.where(x != 0, x, y),
    "concatenate": lambda x, y: np.concatenate([x, y[None]]),
    "append": lambda x, y: np.append(x, y),
    "stack": lambda x, y: np.stack([x[0], y]),
    "insert": lambda x, y: np.insert(x, 1, y, axis=0),
    "outer of add": lambda x, y: np.add.outer(x[0], y),
    "compared twice": lambda x, y: (x > 0) + (y > 0),
    "three": lambda x, y: (x > 0) + (y > 0) + (x == y),
    "counted": lambda x, y: ((x > 0) + (y > 0)).sum(),
    "sum of sums": lambda x, y: (x > 0).sum() + (y > 0).sum(),
    "isin": lambda x, y: np.isin(x, [0, 1, 1]) * y,
}
FUNCTIONS = """negative positive invert logical_not absolute square sign conjugate fabs sum mean prod max min
any all cumsum var argmax argmin sort argsort median count_nonzero diff ediff1d trace average zeros_like
ones_like ravel trapezoid cov"""
OVER_AXES = ("sum", "max", "min", "any", "all", "prod")
UNARY = {
    **{name: getattr(operator, name) for name in ("neg", "pos", "abs")},
    **{name: getattr(np, name) for name in FUNCTIONS.split()},
    **{f"{name} of an axis": functools.partial(getattr(np, name), axis=1) for name in OVER_AXES},
    "or True": lambda x: x | True,
    "and a list": lambda x: x & [True, False, True],
    "plus a list": lambda x: x + TRUTHS,
    "list on the left": lambda x: [True, False, True] * x,
    "minus on the left": lambda x: np.array([True, False, True]) - x,
    "plus 0.5": lambda x: x + 0.5,
    "above False": lambda x: x > False,
    "diff of diffs": lambda x: np.diff(x, 2),
    "diff of columns": lambda x: np.diff(x, axis=0),
    "add.reduce": lambda x: np.add.reduce(x),
    "logical_or.reduce": lambda x: np.logical_or.reduce(x),
    "as int": lambda x: (x > 0).astype(int) + (x > 1),
    "as float": lambda x: (x > 0).astype(float) * 2,
    "as bool": lambda x: x.astype(bool) + (x > 0),
    "clip": lambda x: np.clip(x, 0, 1),
    "where of numbers": lambda x: np.where(x > 0, 1, 0.5),
    "where of truths": lambda x: np.where(x > 0, x > 1, True) + (x == 0),
    "choose": lambda x: np.choose((x > 0) * 1, [False, True]) + (x == 0),
    "pad": lambda x: np.pad(x, 1),
    "pad with 1": lambda x: np.pad(x, 1, constant_values=1),
    "index": lambda x: x[0, 1:] + x[1, :2],
    "reshape": lambda x: x.reshape(3, 2) + x.T,
    "digitize": lambda x: np.digitize(x, [0, 1]),
    "heaviside": lambda x: np.heaviside(x, 1),
    "dot with itself": lambda x: x[0] @ x[1],
}
REFUSED = {
    # Bits of whole numbers other than 0 and 1, as NumPy has them.
    *("and_", "or_", "xor", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "or True", "and a list"),
    # Whether numbers are 0.
    *("logical_and", "logical_or", "logical_xor", "logical_not", "logical_or.reduce"),
    *("any", "all", "any of an axis", "all of an axis"),
    # Values that NumPy makes those of another kind.
    *("insert", "pad with 1", "trapezoid"),
}
"""Where hemera may refuse what NumPy takes."""


def evaluated(exact, program, x, y, encrypted):
    """A program of two arrays in the clear, of which some are encrypted: values, of NumPy's type."""
    recorder = Recorder(precision_bits=np.inf if exact else 8)
    given = []
    for name, values in (("x", x), ("y", y)):
        if name not in encrypted:
            given.append(values)
            continue
        kind = {"b": "b", "i": "i", "f": "f"}[values.dtype.kind]
        low, high = (0, 1) if kind == "b" else (-2, 2)
        number = recorder.input(name, values.shape, low, high, step=0.5 if kind == "f" else 1)
        given.append(Array(recorder, number, kind))
    found = program(*given)
    if not isinstance(found, Array):
        return np.asarray(found)
    recorder.program.outputs = [("y", found._number)]
    inputs = [values[None].astype(float) for name, values in (("x", x), ("y", y)) if name in encrypted]
    (result,) = recorder.program.evaluate_clear(inputs)
    assert found.shape == result.shape[1:]
    low, high = found.range
    assert low - 2.0**-5 <= result.min() <= result.max() <= high + 2.0**-5
    if found.dtype == np.bool_:
        assert found.step == 1
        return np.where(np.abs(result[0] - (result[0] > 0.5)) < 0.1, result[0] > 0.5, np.nan).astype(bool)
    return (
        result[0].astype(found.dtype)
        if found.dtype == np.int64 and (result == np.rint(result)).all()
        else result[0]
    )


def assert_is_numpy_s(name, exact, program, x, y, encrypted):
    """Whether it is computed; else it is refused, as by NumPy or where REFUSED has it."""
    try:
        expected = np.asarray(program(x, y))
    except TypeError:
        with pytest.raises(TypeError):
            evaluated(exact, program, x, y, encrypted)
        return False
    try:
        found = evaluated(exact, program, x, y, encrypted)
    except ParameterError:
        assert exact  # fractions
        return False
    except TypeError:
        assert name in REFUSED
        return False
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.astype(float), expected.astype(float), atol=2.0**-5)
    if not (exact and expected.dtype.kind == "f"):
        assert (found.dtype.kind in "b") == (expected.dtype.kind == "b")
        assert (found.dtype.kind == "f") >= (expected.dtype.kind == "f")
    return True


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_kinds(name, exact):
    computed = 0
    for a, b in PAIRS:
        if exact and "f" in a + b:
            continue
        for encrypted in ("xy", "x", "y"):
            computed += assert_is_numpy_s(name, exact, BINARY[name], VALUES[a][0], VALUES[b][1], encrypted)
    assert computed


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", UNARY)
def test_single_kinds(name, exact):
    for kind in "bi" if exact else "bif":
        x, y = VALUES[kind]
        assert_is_numpy_s(name, exact, lambda x, _: UNARY[name](x), x, y, "x")


NUMBERS = [True, 0, 2, 0.0, 1.0, 2.0, np.int8(2), np.float32(2), np.array(2), np.array(2.0)]
ON_THE_RIGHT = {"pow": operator.pow, "np.power": np.power, "truediv": operator.truediv}
ON_BOTH_SIDES = {name: BINARY[name] for name in ("add", "sub", "mul", "eq", "gt", "fmin", "logical_and")}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_kinds_with_a_plain_number(number, exact):
    for name, function in {**ON_BOTH_SIDES, **ON_THE_RIGHT}.items():
        sides = [lambda x, _, f=function: f(x, number), lambda x, _, f=function: f(number, x)]
        for kind in "bi" if exact else "bif":
            x, y = VALUES[kind]
            for program in sides[: 1 if name in ON_THE_RIGHT else 2]:
                if name != "truediv" or number:
                    assert_is_numpy_s(name, exact, program, x, y, "x")


def _alias(x):
    y = x * 2
    z = y
    z += 1
    return y + z


def _of_all(x):
    y, z = x + 0, x + 3
    y -= 1
    y *= x
    y /= 2
    y **= 2
    z @= np.array([[1.0, 0, 2], [0, 1, 0], [1, 1, 0]])
    y += z
    return y


def _accumulated(x):
    total = 0
    for row in x:
        total += row
    return total


def _copied(x):
    y = x[0].copy()
    y += x[1]
    z = np.copy(x)
    z -= 1
    w = x.flatten()
    w *= 3
    v = x[[0, 1]]
    v += 5
    return x + y + z + w.reshape(x.shape) + v


def _unchanged(x):
    y = x * 2
    kept = [abs(y * y), +y, y.copy(), y.clip(-100, 100), np.abs(y * y), np.positive(y), y**1]
    other = kept[0] + 0
    kept[0] += 1
    y += 1
    return other + kept[1] + kept[2] + kept[3] + kept[5] + kept[6] + y


def _numbers(x):
    total = x.sum()
    other = total
    other += 1
    first = x[0, 0]
    second = first
    second *= 3
    return np.stack([total, other, first, second])


def _masks(x):
    y = x > 0
    z = y
    y |= x == -2
    z &= x < 2
    y ^= x == 1
    w = y.astype(bool)
    w |= x == 0.5
    return z.sum() + y + w * 2


@pytest.mark.parametrize("program", [_alias, _of_all, _accumulated, _copied, _unchanged, _numbers, _masks])
def test_operators_in_place_are_numpy_s(program):
    x = VALUES["f"][0]
    expected = program(x.copy())
    recorder = Recorder(precision_bits=20)
    found = program(Array(recorder, recorder.input("x", x.shape, -2, 2, step=0.5), "f")._as_argument())
    recorder.program.outputs = [("y", found._number)]
    np.testing.assert_allclose(recorder.program.evaluate_clear([x[None]])[0][0], expected, atol=1e-5)


DECIDED = {
    "above": lambda x: (x > 9) | (x == 3),
    "any above": lambda x: np.any(x > 9),
    "within": lambda x: x <= 7,
    "both": lambda x: (x <= 7) & (x > 1),
    "sum": lambda x: (x < 9).sum(),
    "sum of none": lambda x: ((x > 9) * x).sum(),
    "from 0 on": lambda x: (x >= 0) + (x < 2),
    "other": lambda x: x != 8,
    "equal": lambda x: (x == 7.5) ^ (x == 2),
    "none of": lambda x: np.isin(x, [7, 8.5]) | (x > 4),
    "some of": lambda x: np.isin(x, [7, 2]),
    "where": lambda x: np.where(x > 9, x, -x),
    "each": lambda x: x > np.array([9, 2, -1, 3]),
    "difference": lambda x: x[:2] - x[2:] > 5,
    "far": lambda x: x > 10**9,
    "all": lambda x: np.all(x <= 5),
    "not": lambda x: ~(x > 5),
    "then compared": lambda x: ((x > 9) * 1 + x) > 3,
}
WITHOUT_STEP = {
    "from 0 on",
    "any above",
    "difference",
    "within",
    "sum",
    "sum of none",
    "other",
    "where",
    "far",
    "all",
    "not",
}
GIVEN = np.array([0, 5, 3, 2])


@pytest.mark.parametrize("step", [1, None])
@pytest.mark.parametrize("name", DECIDED)
def test_comparisons_that_ranges_decide_are_masks(name, step):
    expected = DECIDED[name](GIVEN)
    spec = hm.ArraySpec((4,), range=(0, 5), step=step)
    if step is None and name not in WITHOUT_STEP:
        with pytest.raises(TypeError, match="known step"):  # some elements are not decided
            hm.compile(DECIDED[name], spec, precision_bits=10, security=None)
        return
    plan = hm.compile(DECIDED[name], spec, precision_bits=10, security=None)
    np.testing.assert_allclose(plan.evaluate_clear(GIVEN), expected, atol=2.0**-8)
    if step is not None:
        exact = hm.compile(DECIDED[name], spec, scheme="bfv", security=None)
        np.testing.assert_array_equal(exact.evaluate_clear(GIVEN), expected)


EDGES = [
    # Numbers from 0 to 5 are compared with the last threshold that is decided, and the first that is not.
    (operator.gt, 5, 4.999),
    (operator.lt, 0, 0.001),
    (operator.ge, 0, 0.001),
    (operator.le, 5, 4.999),
    (operator.eq, 5.001, 5),
    (operator.ne, -0.001, 0),
]


@pytest.mark.parametrize(("compare", "last", "first"), EDGES)
def test_the_last_threshold_that_a_range_decides(compare, last, first):
    spec = hm.ArraySpec((4,), range=(0, 5))
    plan = hm.compile(lambda x: compare(x, last), spec, security=None)
    np.testing.assert_allclose(plan.evaluate_clear(GIVEN), compare(GIVEN, last), atol=2.0**-8)
    with pytest.raises(TypeError, match="known step"):
        hm.compile(lambda x: compare(x, first), spec, security=None)


def test_ranges_of_samples_decide_nothing():
    """They are no promise for values in between; of inputs they are, since clients keep to them."""
    samples = np.random.default_rng(0).uniform(0, 1, (20, 4))
    spec = hm.ArraySpec((4,), range=(0, 9))
    with pytest.raises(TypeError, match="known step"):
        hm.compile(lambda x: x * 2 > 5, spec, calibrate=samples, security=None)
    plan = hm.compile(lambda x: x > 9, spec, calibrate=samples, security=None)
    np.testing.assert_allclose(plan.evaluate_clear(GIVEN), np.zeros(4), atol=2.0**-8)


def _votes(m, n):
    return {
        "either": (m + n).sum(),
        "both": (m * n).sum(),
        "not": ~m,
        "apart": m ^ n,
        "count": m.sum() + n.sum(),
    }


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_declared_truth_values_encrypted(scheme):
    m, n = np.array([True, True, False, False]), np.array([True, False, True, False])
    spec = hm.ArraySpec((4,), dtype=bool)
    plan = hm.compile(_votes, spec, spec, scheme=scheme, security=None)
    found = plan.local(threads=1)(m, n)
    for name, expected in _votes(m, n).items():
        np.testing.assert_allclose(found[name], expected, atol=1e-3)
        # Given as numbers, they are truth values for the function in the clear, too.
        np.testing.assert_array_equal(plan.clear(m * 1.0, n * 1.0)[name], expected)
    assert plan.check(m[None] * 1, n[None] * 1, encrypted=0).bits > 8


def test_eager_arrays_have_the_kind_of_their_values():
    m, n = np.array([True, True, False]), np.array([False, True, True])
    a, b = hm.array(m), hm.array(n)
    whole, real = hm.array(np.array([2, 3, 4]), range=(0, 5)), hm.array([2.5, 3, 4], range=(0, 5))
    assert [each.dtype.kind for each in (a, whole, real)] == ["b", "i", "f"]
    for found, expected in (
        ((a + b).sum(), (m + n).sum()),
        ((a * whole).sum(), (m * np.array([2, 3, 4])).sum()),
        (a.sum() + b.sum(), m.sum() + n.sum()),
        ((a + a).astype(int) + a, (m + m).astype(int) + m),
    ):
        assert found.dtype.kind == expected.dtype.kind
        np.testing.assert_allclose(found.decrypt(), expected, atol=1e-3)
    for tried in (lambda: -a, lambda: +a, lambda: a - b, lambda: ~whole, lambda: np.sign(a)):
        with pytest.raises(TypeError):
            tried()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": complex}, "truth values, whole numbers or real ones"),
        ({"dtype": str}, "truth values, whole numbers or real ones"),
        ({"dtype": bool, "range": (0, 2)}, r"range \(0, 1\) and the step 1"),
        ({"dtype": bool, "step": 0.5}, r"range \(0, 1\) and the step 1"),
    ],
)
def test_types_of_inputs(options, message):
    with pytest.raises(ParameterError, match=message):
        hm.ArraySpec((2,), **options)
    assert hm.ArraySpec((2,), dtype=bool) == hm.ArraySpec((2,), (0, 1), "", 1, dtype=np.bool_)
    assert hm.ArraySpec((2,), (0, 9), dtype=np.int8).step == 1
    assert hm.ArraySpec((2,), (0, 9), dtype=float).step is None


def test_types_of_values():
    x = Array(recorder := Recorder(), recorder.input("x", (3,), -3, 200, step=1))
    for dtype in (np.int16, np.int64, np.float32, float, int):
        assert x.astype(dtype).dtype.kind == np.dtype(dtype).kind
    for dtype, message in (
        (np.int8, "beyond the type"),
        (np.uint8, "beyond the type"),
        (complex, "can not be of complex128"),
    ):
        with pytest.raises(TypeError, match=message):
            x.astype(dtype)
    with pytest.raises(TypeError, match="need not be whole"):
        (x / 2).astype(int)
