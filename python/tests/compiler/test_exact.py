"""Exact programs by BFV and BGV: their results are NumPy's on int64 and Python's integers, bit by bit."""

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.array import Array
from hemera.errors import MismatchError, ParameterError
from hemera.program import operations as op
from hemera.program.program import Program
from hemera.program.values import Form

from ..arrays.judged import is_refusal
from ..arrays.random_calls import Drawing, all_draws
from ..refusals import raises
from .exact_cases import SCHEMES, Spec, assert_equal, assert_exact, both_schemes, listed, samples

TABLE = np.array([5, 1, 7, -3, 0, 12])

PROGRAMS = {
    "an input": (lambda x, y: {"x": x, "again": x, "y": y}, (Spec((3,), (0, 9)), Spec((2, 2), (-1, 1)))),
    "constant": (lambda x: {"a": x * 0 + 3, "b": np.concatenate([x, [1, -2]])}, (Spec((3,), (0, 9)),)),
    "one-hot of a part": (lambda x: (x[:, None] == np.arange(7)).sum(0), (Spec((9,), (0, 40)),)),
    "one-hot of all": (lambda x: (x[:, None] == np.arange(64)) * 2, (Spec((4,), (0, 63)),)),
    "one-hot selection": (
        lambda at, rows: ((at == np.arange(6))[:, None] * rows).sum(0),
        (Spec((), (0, 5)), Spec((6, 3), (-50, 50))),
    ),
    "choose": (
        lambda x: TABLE[x] if isinstance(x, np.ndarray) else np.choose(x, TABLE),
        (Spec((6,), (0, 5)),),
    ),
    "table": (
        lambda x: x.approximated(lambda v: v**3 % 11) if hasattr(x, "approximated") else x**3 % 11,
        (Spec((5,), (-20, 20)),),
    ),
    "where": (lambda x: np.where(x > 5, x, -3 * x), (Spec((10,), (-2, 12)),)),
    "where of two": (
        lambda x, y: np.where((x >= 2) & (y < 3), x * y, 0),
        (Spec((2, 5), (0, 7)), Spec((5,), (-2, 5))),
    ),
    "different ranges": (lambda x: (x * np.arange(1, 6)) >= 7, (Spec((5,), (0, 4)),)),
    "two arrays": (lambda x, y: (x > y).sum() + (x == y).sum(), (Spec((6,), (0, 9)), Spec((6,), (-3, 9)))),
    "masks": (
        lambda x: {"a": ~((x > 3) & (x < 6) | (x == 0)), "b": (x > 2) ^ (x > 5), "any": (x == 8).any()},
        (Spec((6,), (0, 8)),),
    ),
    "digits": (lambda x: [x // 10, x % 10, np.floor_divide(x, -7), x % -3], (Spec((5,), (-19, 40)),)),
    "steps": (
        lambda x: {"eq": x == 15, "gt": x > 11, "abs": abs(x), "half": x * 2 > 20},
        (Spec((9,), (-100, 100), step=5),),
    ),
    "steps of products": (lambda x: (2 * x > 3) + 3 * (4 * x == 8), (Spec((6,), (-7, 7)),)),
    "halves": (lambda x: 2 * x == 2, (Spec((6,), (0, 1)),)),
    "powers": (lambda x: [x**5, x.prod(), np.polyval([2, -1, 0, 3], x)], (Spec((6,), (-7, 7)),)),
    "moves": (
        lambda x: x.T.reshape(2, 6)[:, ::2].cumsum(1) - np.roll(x, 1).ravel()[3:6],
        (Spec((3, 4), (-8, 8)),),
    ),
    "a single number": (lambda x: x * x - 3 * x + (x == 2), (Spec((), (-5, 5)),)),
    "sums of masked tables": (
        lambda x: {"sum": (x * 0 + (x != 0)).sum(), "of 1": (1 - (x == 1)).sum(), "all": (x % 3 + 1).sum()},
        (Spec((5, 3), (0, 8)),),
    ),
    "sums of look-ups": (
        lambda x: {"zero later": abs(x).sum(), "no zero": (x % 3 + (x == 10) * 2 + 1).sum(1)},
        (Spec((3, 5), (-10, 10), step=5),),
    ),
    "sums of a table without 0": (
        lambda x: TABLE[:3][x].sum() if isinstance(x, np.ndarray) else np.choose(x, TABLE[:3]).sum(),
        (Spec((5,), (0, 2)),),
    ),
    "look-ups of products": (
        lambda x, y: (x * y == 6) + (x * y * 2 > 14) + (x * y + y <= 5),
        (Spec((6,), (0, 4)), Spec((6,), (-2, 5))),
    ),
    "squares of sums": (
        lambda x: (x - x.sum()).square().sum() if hasattr(x, "square") else ((x - x.sum()) ** 2).sum(),
        (Spec((5,), (-9, 9)),),
    ),
}


@both_schemes
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_numpy_s_integers(name, scheme):
    function, specs = PROGRAMS[name]
    assert_exact(function, *specs, scheme=scheme)


def random_program(seed):
    """Look-ups of inputs, then sums, products, matrices and moves; shapes and ranges by chance."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 6, rng.integers(1, 4)).tolist())
    low = int(rng.integers(-9, 3))
    high = low + int(rng.integers(1, 12))
    size = int(np.prod(shape))
    edge, edges = int(rng.integers(low, high + 1)), rng.integers(low, high + 1, shape)
    weights = rng.integers(-9, 10, shape)
    matrix = rng.integers(-5, 6, (shape[-1], int(rng.integers(1, 5))))
    turned = rng.permutation(len(shape))
    picked = rng.integers(0, size, int(rng.integers(1, 2 * size + 1)))
    first = [
        lambda x, y: np.where(x > edge, x, y),
        lambda x, y: (x == edges) * y + x,
        lambda x, y: np.where((x <= edges) | (y != edge), 3 * x - y, y),
        lambda x, y: x * y + (x >= y),
        lambda x, y: np.maximum(x, edges) - abs(y),
    ]
    later = [
        lambda z: z * weights + 2,
        lambda z: z * z - z,
        lambda z: z - z.sum(-1, keepdims=True),
        lambda z: z * (z + weights),
        lambda z: z[::-1] - z,
    ]
    last = [
        lambda z: z.transpose(*turned).reshape(-1)[::2],
        lambda z: z @ matrix,
        lambda z: z.sum(0),
        lambda z: np.cumsum(z.ravel()),
        lambda z: z.ravel()[picked],
        lambda z: np.concatenate([z, z[:1] * 2]),
    ]
    begin = first[int(rng.integers(len(first)))]
    then = [later[int(at)] for at in rng.integers(0, len(later), rng.integers(0, 3))]
    end = [last[int(at)] for at in rng.integers(0, len(last), 2)]

    def program(x, y):
        z = begin(x, y)
        for each in then:
            z = each(z)
        return {"all": z, "a": end[0](z), "b": end[1](z), "sum": z.sum()}

    return program, (Spec(shape, (low, high)), Spec(shape, (low, high)))


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed):
    program, specs = random_program(seed)
    assert_exact(program, *specs, scheme=SCHEMES[seed % 2], seed=seed)


DRAWS = all_draws()


def compiled(call, spec, scheme):
    """The plan of a call, the error with which it is refused, or None for plain results alone."""
    names = []

    def kept(x):
        found = listed(call.run([x], encrypted=isinstance(x, Array)))
        if isinstance(x, Array):  # shapes and edges are plain
            names.extend(name for name, value in found.items() if isinstance(value, Array))
        return {name: found[name] for name in names} or {"none": x}

    try:
        plan = hm.compile(kept, spec, scheme=scheme, security=None)
    except Exception as error:
        return error
    return plan if names else None


def called(call, x):
    """NumPy's result, or its error."""
    try:
        return call.run([x], encrypted=False)
    except Exception as error:
        return error


def unrounded(value):
    """NumPy's result without the rounding of doubles, of quantiles."""
    return np.round(value, 9) if np.asarray(value).dtype.kind == "f" else value


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning", "ignore:Arrays of 2-dimensional")
@pytest.mark.parametrize(("shape", "most"), [((3, 4), 9), ((5,), 5), ((2, 2), 3)])
def test_numpy_s_functions_are_exact_or_refused(shape, most):
    """Random calls of all that approximate programs are tested with."""
    rng, spec = np.random.default_rng(most), Spec(shape, (0, most))
    exact = set[str]()
    refused = 0
    for name in sorted(DRAWS) * 3:
        call = DRAWS[name](Drawing(rng, [shape], 0, {}))
        rows = [x for (x,) in samples((spec,), most)]
        if name in exact or any(isinstance(called(call, x), Exception) for x in rows):
            continue
        plan = compiled(call, spec, SCHEMES[len(exact) % 2])
        if isinstance(plan, Exception):
            assert is_refusal(plan), (str(call), plan)
            refused += 1
        elif plan is not None:
            runs = [plan.evaluate_clear] * (len(rows) - 1) + [plan.local(threads=1)]
            for run, x in zip(runs, rows, strict=True):
                found, expected = run(x), listed(called(call, x))
                given = found if len(plan.outputs) > 1 else {next(iter(plan.outputs)): found}
                assert_equal(given, {each: unrounded(expected[each]) for each in plan.outputs})
            exact.add(name)
    assert len(exact) > 150
    assert refused > 50


def test_many_elements_in_many_slots():
    """More than N / 2 of the smallest ring, so that the ring has to grow."""
    weights = np.arange(3000) % 7 - 3
    plan = assert_exact(
        lambda x: {"dot": x @ weights, "big": (x > 2).sum(), "x": x[::-1]}, Spec((3000,), (0, 3))
    )
    assert plan.params.max_slots == plan.slots >= 8192


def test_counts_beyond_a_row_of_slots():
    """9000 elements and 5 bins take 131072 slots: bins come in turn, unless written together."""
    x = np.random.default_rng(3).integers(0, 4, 9000)

    def counts(x):
        return {"bins": np.bincount(x, minlength=5), "edges": np.histogram(x, [0, 1, 2, 4, 5])[0]}

    plan = hm.compile(counts, Spec((9000,), (0, 3)), scheme="bfv", security=None)
    assert_equal(plan.local(threads=1)(x), counts(x))

    def together(x):
        return (x[:, None] == np.arange(5)).sum(0)

    plan = hm.compile(together, Spec((9000,), (0, 3)), scheme="bfv")
    assert "(9000, 5) in 3" in plan.report()
    np.testing.assert_array_equal(plan.evaluate_clear(x), together(x))


def test_several_requests_at_once():
    plan = hm.compile(lambda x: (x > 2).sum(-1), Spec((4,), (0, 5)), scheme="bgv", security=None)
    x = np.random.default_rng(1).integers(0, 6, (3, 2, 4))
    found = plan.local(threads=1)(x)
    np.testing.assert_array_equal(found, (x > 2).sum(-1))


def test_maps_of_rows():
    rng = np.random.default_rng(3)
    numbers, diagonals = [0, 3, 5, 12, 13, 15], rng.integers(-9, 10, (6, 16))
    found = op.RowMap.of(numbers, diagonals)
    assert 1 < found.baby_steps < 16
    x = rng.integers(-9, 10, (2, 64))
    rows = x.reshape(2, 2, 32)
    wanted = sum(np.tile(own, 2) * np.roll(rows, -at, -1) for at, own in zip(numbers, diagonals, strict=True))
    np.testing.assert_array_equal(found.clear(x), np.asarray(wanted).reshape(2, 64))
    raises(ParameterError, "CKKS has no operation", lambda: Program("ckks", [Form(64)]).add(found, 0))
    with pytest.raises(ParameterError):
        op.RowMap(found.numbers, found.values, found.places + 99, 4).validated("bfv")
    with pytest.raises(ParameterError):
        op.RowMap(found.numbers, found.values, found.places, 0).validated("bfv")
    raises(MismatchError, "", lambda: found.form([Form(16)]))
