"""Compiled functions have NumPy's results, encrypted in a small ring, to the precision that was asked for."""

import numpy as np
import pytest

import hemera as hm

from .programs import Given, listed

RNG = np.random.default_rng(11)
REAL = Given(RNG.uniform(-1, 1, (3, 4)), -1, 1)
PAIR = Given(RNG.uniform(-1, 1, (5, 2)), -1, 1)
FEW = Given(RNG.integers(0, 4, 7).astype(np.float64), 0, 3, 1)
MANY = Given(RNG.integers(0, 20, (2, 3)).astype(np.float64), 0, 19, 1)
MASK = Given(np.array([1.0, 0, 0, 1, 1]), 0, 1, 1)
SCALE_BITS = 40
DEGREE = 2048

CASES = {
    "sums": (16, REAL, lambda x: [x.sum(0) + 1, x.mean(), x - x.mean(1, keepdims=True)]),
    "moments": (16, REAL, lambda x: {"var": x.var(), "skew": ((x - x.mean()) ** 3).mean()}),
    "matrices": (16, REAL, lambda x: x @ np.arange(8.0).reshape(4, 2) / 8 - 1),
    "encrypted matrices": (16, REAL, lambda x: [x @ x.T, np.einsum("ij,kj->ki", x, x)]),
    "places": (16, REAL, lambda x: np.concatenate([np.roll(x, 1)[:, ::-1].T.ravel(), [0.5], x[1, 1:]])),
    "convolution": (16, REAL, lambda x: [np.convolve(x[0], x[1]), np.pad(x, 1, "wrap")]),
    "product": (16, REAL, lambda x: [np.prod(x, 1), x**5]),
    "polynomial": (16, REAL, lambda x: np.polyval([1, -2, 3.0, 0.5], x)),
    "functions": (10, REAL, lambda x: [np.exp(x), np.tanh(2 * x), np.sin(3 * x)]),
    "quotient": (10, REAL, lambda x: [1 / (x + 3), np.sqrt(x + 2)]),
    "deviation": (8, REAL, lambda x: np.append(x, [-2.0, 2]).std()),
    "covariances": (16, REAL, lambda x: np.cov(x)),
    "clip": (5, REAL, lambda x: np.clip(x, -0.5, 0.5)),
    "maximum": (5, PAIR, lambda x: [x.max(1), np.minimum(x, 0.25)]),
    "sorted": (5, PAIR, lambda x: np.sort(x)),
    "equality": (12, FEW, lambda n: [n == 2, n[:, None] == np.arange(4)]),
    "order": (8, MANY, lambda n: [n > 7, n <= 12]),
    "equality of many": (8, MANY, lambda n: n == 7),
    "pairs": (8, MANY, lambda n: n[0] >= n[1]),
    "histogram": (12, FEW, lambda n: np.histogram(n, [0, 1, 2, 3])[0]),
    "selection": (12, FEW, lambda n: [np.where(n > 1, n, -n), np.choose(index(n), [3, 1, 4, 1])]),
    "places of the largest": (8, FEW, lambda n: [n[:3].argmax(), n[:3].max()]),
    "masks": (12, MASK, lambda m: [(m == 0) & (m[::-1] == 1), np.count_nonzero(m), (m == 1).all()]),
}


def compiled(program, given, bits):
    """The program compiled for parameters of its own depth, which are small and weak."""
    spec = hm.ArraySpec(np.shape(given.values), (given.low, given.high), step=given.step)
    deep = hm.ckks.Parameters.for_circuit(
        depth=32, scale_bits=SCALE_BITS, slots=DEGREE // 2, range_bits=8, security=None, degree=DEGREE
    )
    depth = hm.compile(program, spec, precision_bits=bits, params=deep).depth
    params = hm.ckks.Parameters.for_circuit(
        depth=max(1, depth), scale_bits=SCALE_BITS, slots=256, range_bits=8, security=None, degree=DEGREE
    )
    return hm.compile(program, spec, precision_bits=bits, params=params)


def index(x):
    """Whole numbers of a plain array, which NumPy needs; an encrypted one as it is."""
    return x.astype(int) if isinstance(x, np.ndarray) else x


@pytest.mark.filterwarnings("ignore::hemera.errors.RangeWarning")
@pytest.mark.parametrize("name", CASES)
def test_results(name):
    bits, given, program = CASES[name]
    plan = compiled(program, given, bits)
    expected = [np.asarray(each, np.float64) for each in listed(program(given.values))]
    found = listed(plan.local(threads=1)(given.values))
    clear = listed(plan.evaluate_clear(given.values))
    assert len(found) == len(clear) == len(expected)
    for value, in_clear, wanted in zip(found, clear, expected, strict=True):
        largest = max(1.0, float(np.abs(wanted).max()))
        assert value.shape == wanted.shape
        np.testing.assert_allclose(in_clear, wanted, rtol=0, atol=largest * 2.0 ** (1 - bits))
        np.testing.assert_allclose(value, wanted, rtol=0, atol=largest * 2.0 ** (1 - bits))
