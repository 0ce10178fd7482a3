"""Random formulas of circuits' functions, judged by NumPy and SciPy: told errors, intervals, slopes hold."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.special

import hemera as hm
from hemera import circuits
from hemera.errors import ParameterError, RangeError

ANYWHERE = {
    "sigmoid": (lambda ends, bits: circuits.sigmoid(ends, bits=bits), scipy.special.expit),
    "tanh": (lambda ends, bits: circuits.tanh(ends, bits=bits), np.tanh),
    "gelu": (lambda ends, bits: circuits.gelu(ends, bits=bits), lambda x: x * scipy.special.ndtr(x)),
    "silu": (lambda ends, bits: circuits.silu(ends, bits=bits), lambda x: x * scipy.special.expit(x)),
    "softplus": (lambda ends, bits: circuits.softplus(ends, bits=bits), lambda x: np.logaddexp(0, x)),
    "exp": (lambda ends, bits: circuits.exp(ends, bits=bits), np.exp),
    "relu": (lambda ends, bits: circuits.relu(ends, bits=bits), lambda x: np.maximum(x, 0)),
    "abs": (lambda ends, bits: circuits.abs(ends, bits=bits), np.abs),
    "leaky": (
        lambda ends, bits: circuits.leaky_relu(-1.5, ends, bits=bits),
        lambda x: np.where(x > 0, x, -1.5 * x),
    ),
    "power": (
        lambda ends, _: circuits.Polynomial([0.5, -1, 0.25, 0.5], interval=ends),
        lambda x: 0.5 - x + x**2 / 4 + x**3 / 2,
    ),
    "cos": (lambda ends, _: circuits.approximate(np.cos, ends, 9), np.cos),
}
AWAY_FROM_0 = {
    "inverse": (lambda ends, bits: circuits.inverse(ends, bits=bits), np.reciprocal),
    "sqrt": (lambda ends, bits: circuits.sqrt(ends, bits=bits), np.sqrt),
    "log": (lambda ends, bits: circuits.log(ends, bits=bits), np.log),
}
LIMIT = 4.0
"""The limit of values: larger ones are scaled."""
POINTS = 41


def brought(term, limit=LIMIT):
    """The same value, scaled to magnitudes up to a limit."""
    value, truth = term
    size = max(map(abs, value.interval))
    return term if size <= limit else (value * (limit / size), lambda *x: truth(*x) * (limit / size))


def applied(rng, terms):
    """One more operation, a random one."""
    (a, f), (b, g) = (brought(terms[rng.integers(len(terms))]) for _ in range(2))
    c = float(rng.choice([-2.5, -1, 0.5, 3, -0.75, 2]))
    ends, bits = (a.interval[0] - a.error - 0.01, a.interval[1] + a.error), float(rng.integers(5, 9))
    kind = rng.integers(13)
    if kind == 0:
        return a + b, lambda *x: f(*x) + g(*x)
    if kind == 1:
        return a - b, lambda *x: f(*x) - g(*x)
    if kind == 2:
        return c - a * b, lambda *x: c - f(*x) * g(*x)
    if kind == 3:
        return a * c + c, lambda *x: f(*x) * c + c
    if kind == 4:
        return -(a / c), lambda *x: -f(*x) / c
    if kind == 5:
        n = int(rng.integers(2, 5))
        a, f = brought((a, f), 2.0)
        return a**n, lambda *x: f(*x) ** n
    if kind == 6:
        return (a + c) * (b - c) * c, lambda *x: (f(*x) + c) * (g(*x) - c) * c
    if kind == 7:
        return (c * (a * b) + a) + (b * b) * 2, lambda *x: c * f(*x) * g(*x) + f(*x) + 2 * g(*x) ** 2
    if kind == 8:
        largest = max(*map(abs, a.interval), *map(abs, b.interval)) + a.error + b.error
        return circuits.maximum(bits=5, largest=largest)(a, b), lambda *x: np.maximum(f(*x), g(*x))
    if kind == 9:
        name = str(rng.choice(list(AWAY_FROM_0)))
        near = float(rng.choice([0.5, 1.5]))
        shift = near - ends[0]
        make, truth = AWAY_FROM_0[name]
        sign = -1 if name == "inverse" and c < 0 else 1
        found = make((near, ends[1] + shift) if sign > 0 else (-ends[1] - shift, -near), bits)
        return found((a + shift) * sign), lambda *x: truth((f(*x) + shift) * sign)
    if kind == 10:
        low = b.interval[0] - b.error
        shift = float(rng.choice([0.5, 1.5])) - low
        found = circuits.divide(ends, (low + shift, b.interval[1] + b.error + shift), bits=bits)
        return found(a, b + shift), lambda *x: f(*x) / (g(*x) + shift)
    name = str(rng.choice(list(ANYWHERE)))
    make, truth = ANYWHERE[name]
    return make(ends, bits)(a), lambda *x: truth(f(*x))


def composed(rng, known):
    """A function of a random formula of one or two inputs, perhaps of one that was made before."""
    found = []
    intervals = [
        tuple(sorted((rng.uniform(-2, 0.5), rng.uniform(0.7, 2)))) for _ in range(rng.integers(1, 3))
    ]

    def formula(*inputs):
        found.extend((x, lambda *given, at=at: given[at]) for at, x in enumerate(inputs))
        if known and rng.integers(2):
            function, truth = known[rng.integers(len(known))]
            own = [at % len(inputs) for at in range(len(function.intervals))]
            # A map of each input's interval into the middle of the function's, turned around.
            maps = [
                (-0.5 * (d - c) / (b - a), (c + d) / 2 + 0.25 * (d - c) * (b + a) / (b - a))
                for (a, b), (c, d) in zip((intervals[at] for at in own), function.intervals, strict=True)
            ]
            value = function(*(inputs[at] * s + t for at, (s, t) in zip(own, maps, strict=True)))
            found.append(
                (value, lambda *x: truth(*(x[at] * s + t for at, (s, t) in zip(own, maps, strict=True))))
            )
        for _ in range(rng.integers(1, 5)):
            found.append(applied(rng, found))
        return found[-1][0]

    return circuits.function(formula, intervals), found


def steepest(truth, grid, at):
    """The largest change along an input, between points."""
    values = np.broadcast_to(truth(*grid), np.broadcast_shapes(*(each.shape for each in grid)))
    apart = np.diff(grid[at], axis=at)
    return float(np.abs(np.diff(values, axis=at) / apart).max())


def test_told_errors_intervals_and_slopes_hold():
    rng = np.random.default_rng(4)
    known = []
    for number in range(120):
        function, terms = composed(rng, known)
        points = POINTS if len(function.intervals) > 1 else 20 * POINTS
        grid = list(np.meshgrid(*(np.linspace(*ends, points) for ends in function.intervals), indexing="ij"))
        truth = terms[-1][1]
        wanted = np.broadcast_to(truth(*grid), grid[0].shape)
        room = 1e-7 * max(1.0, float(np.abs(wanted).max()))
        assert np.abs(function.evaluate_clear(*grid) - wanted).max() <= function.error + room, number
        for value, own in terms:
            values = np.asarray(own(*grid))
            assert value.interval[0] - value.error - room <= values.min(), number
            assert values.max() <= value.interval[1] + value.error + room, number
            for at in range(len(grid)):
                assert steepest(own, grid, at) <= value.slopes[at] * (1 + 1e-6) + room, number
        assert function._slopes == tuple(terms[-1][0].slopes)
        if max(function._slopes) < 50:
            known = [*known[-5:], (function, truth)]


def test_numbers_change_slopes_and_errors_by_their_magnitudes():
    """Formulas: |c| times f's for c f(x) + d, the sums for f + g, as of products for f g."""
    f, g = circuits.tanh((-2, 1), bits=6), circuits.sigmoid((-2, 1), bits=5)
    for c, d in itertools.product([-3.0, -1, 0.25, 2], [-1.0, 2]):
        made = circuits.function(lambda x, c=c, d=d: f(x) * c + d, [(-2, 1)])
        assert made._slopes == pytest.approx([abs(c)])
        assert made.error == pytest.approx(abs(c) * f.error)
        made = circuits.function(lambda x, y, c=c: c * f(x) - g(y) / c, [(-2, 1)] * 2)
        assert made._slopes == pytest.approx([abs(c), 0.25 / abs(c)])
        assert made.error == pytest.approx(abs(c) * f.error + g.error / abs(c))
        made = circuits.function(lambda x, c=c: g(f(x) * c / 4), [(-2, 1)])
        assert made._slopes == pytest.approx([abs(c) / 16])
        assert made.error == pytest.approx(g.error + abs(c) / 16 * f.error)
    values = []

    def product(x, y):
        values.extend((f(x), g(y)))
        return values[0] * values[1]

    made = circuits.function(product, [(-2, 1)] * 2)
    a, b = (max(map(abs, each.interval)) for each in values)
    assert made.error == pytest.approx(a * g.error + b * f.error + f.error * g.error, rel=1e-9)
    assert made._slopes == pytest.approx([b, a / 4])


INTERVALS = [(-2.0, 2.0), (-4.0, 1.0), (-1.0, 4.0), (0.5, 4.0), (-4.0, -0.5)]


@pytest.mark.parametrize("ends", INTERVALS)
def test_intervals_are_taken_to_their_ends(ends):
    """In formulas and in the clear: the ends are taken, and not what is beyond them by a thousandth."""
    f, beyond = circuits.gelu(ends, bits=4), 1e-3 * max(map(abs, ends))
    apart = circuits.softmax(3, ends, bits=4)
    for low, high, is_taken in (
        (*ends, True),
        (ends[0] - beyond, ends[1], False),
        (ends[0], ends[1] + beyond, False),
    ):
        values = np.array([low, high, high])
        if is_taken:
            circuits.function(lambda x: f(x), [(low, high)])
            f(values)
            assert np.abs(apart(values) - scipy.special.softmax(values)).max() <= apart.error
            continue
        with pytest.raises(ParameterError, match="wider interval"):
            circuits.function(lambda x: f(x), [(low, high)])
        for function in (f, apart):
            with pytest.raises(RangeError):
                function(values)


@pytest.mark.parametrize("ends", INTERVALS)
def test_declared_bounds_are_taken_where_intervals_hold_them(ends):
    """A magnitude up to the nearer end is taken, up to the farther one with a warning, and softmax, whose
    differences alone count, gives none."""
    f, softmax = circuits.sigmoid(ends, bits=3), circuits.softmax(4, ends, bits=3)
    params = hm.ckks.Parameters.for_circuit(depth=softmax.depth, slots=4, degree=1024, security=None)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, rotations=range(1, 4)))
    near, far = max(0.0, min(-ends[0], ends[1])), max(map(abs, ends))
    values = np.array([ends[0], ends[1], *ends]) * (near / far if near else 1)
    for function, silent in ((f, near), (softmax, far)):
        for bound in (near, 1.001 * near, far, 1.001 * far):
            if not bound:
                continue
            x = ev.encrypt(values if bound >= np.abs(values).max() else values * 0, largest=bound)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                if bound > far:
                    with pytest.raises(RangeError, match="declared"):
                        function(x)
                else:
                    function(x)
            assert bool(told) == (silent < bound <= far), (ends, function, bound, told)
