"""hm.sigmoid, hm.softmax and others, of plain and of encrypted arrays: the judge is SciPy."""

import numpy as np
import pytest
from scipy import special

import hemera as hm
from hemera import circuits
from hemera.arrays.array import Array
from hemera.arrays.functions import _shares
from hemera.arrays.recorder import Recorder
from hemera.errors import ParameterError

from .programs import Given, check

FUNCTIONS = {
    "sigmoid": (hm.sigmoid, special.expit),
    "relu": (hm.relu, lambda x: np.maximum(x, 0)),
    "gelu": (hm.gelu, lambda x: x * special.ndtr(x)),
    "silu": (hm.silu, lambda x: x * special.expit(x)),
    "softplus": (hm.softplus, lambda x: np.logaddexp(0, x)),
    "erf": (hm.erf, special.erf),
}
ENDS = [0.0, -0.0, -1000, 1000, -37.5, 37.5, 1e-300, -1e-9, -30, 700]
RNG = np.random.default_rng(3)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_plain_arrays_have_scipys_values_without_overflow(name):
    function, judge = FUNCTIONS[name]
    x = np.concatenate([ENDS, 10 * RNG.normal(size=50)])
    np.testing.assert_allclose(function(x), judge(x), rtol=1e-11, atol=0)
    assert function(x.reshape(6, 10)).shape == (6, 10)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_types_are_scipys(name):
    function, judge = FUNCTIONS[name]
    for given in (np.float32([0.5, -2]), np.array([1, -2]), [0.5, 1.5], 0.5, 1, np.float64(2), True):
        found = function(given)
        assert np.shape(found) == np.shape(given)
        wanted = np.float32 if getattr(given, "dtype", None) == np.float32 else np.float64
        assert found.dtype == wanted
        np.testing.assert_allclose(found, judge(np.asarray(given, np.float64)), rtol=1e-6)


@pytest.mark.parametrize("name", [*FUNCTIONS, "softmax", "logsumexp"])
@pytest.mark.parametrize("given", [1j, np.array([1 + 2j]), ["a"], None])
def test_other_values_are_refused(name, given):
    with pytest.raises(TypeError, match=rf"hm\.{name} takes"):
        getattr(hm, name)(given)


def test_missing_values_are_refused():
    with pytest.raises(ParameterError, match=r"hm\.softmax"):
        hm.softmax(np.ma.masked_array([1.0, 2.0], [True, False]))


def test_of_ciphertexts_the_functions_on_intervals_are_named():
    ctx = hm.Context(hm.ckks.Parameters.for_circuit(1, slots=4, degree=1024, security=None))
    x = ctx.encrypt(np.zeros(4), ctx.generate_secret_key())
    with pytest.raises(TypeError, match=r"hm\.circuits\.sigmoid\(\(low, high\)\)\(x\)"):
        hm.sigmoid(x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_encrypted_arrays_have_them_on_their_range(name):
    function, judge = FUNCTIONS[name]
    plan = hm.compile(function, hm.ArraySpec((9,), range=(-6, 6)), precision_bits=9, security=None)
    x = np.linspace(-6, 6, 9)
    np.testing.assert_allclose(plan.local(threads=1)(x), judge(x), atol=6 * 2.0**-9)
    np.testing.assert_array_equal(plan.clear(x), function(x))


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_plain_softmax_and_logsumexp_are_scipys(axis):
    x = 300 * RNG.normal(size=(3, 4, 2))
    np.testing.assert_allclose(hm.softmax(x, axis), special.softmax(x, axis), rtol=1e-12)
    for kept in (False, True):
        found = hm.logsumexp(x, axis, keepdims=kept)
        np.testing.assert_allclose(found, special.logsumexp(x, axis, keepdims=kept), rtol=1e-12)


def wide(width):
    """Rows whose largest value is at the low end of the range, at the high end, and alone."""
    rows = RNG.uniform(-width, width, (5, 6))
    rows[0], rows[1], rows[2, 1:] = -width, width, -width
    rows[2, 0] = width
    return rows


@pytest.mark.parametrize("width", [0.5, 5, 5.5, 12])  # halved 0, 0, 1 and 2 times
def test_encrypted_softmax_is_right_anywhere_in_its_range(width):
    """No row has a sum near 0: x - high is halved, and its exponentials squared, as often as it takes."""
    rows = wide(width)
    spec = hm.ArraySpec(rows.shape, range=(-width, width))
    kept = np.arange(6) <= np.arange(5)[:, None]  # as of a causal attention: 1 to 5 elements
    plan = hm.compile(lambda x: (hm.softmax(x, -1), hm.softmax(x, -1, where=kept)), spec, precision_bits=9)
    found, of_some = plan.evaluate_clear(rows).values()
    np.testing.assert_allclose(found, special.softmax(rows, -1), atol=2.0**-9)
    expected = special.softmax(np.where(kept, rows, -np.inf), -1)
    np.testing.assert_allclose(of_some, expected, atol=2.0**-9)
    np.testing.assert_allclose(hm.softmax(rows, -1, where=kept), expected, rtol=1e-12)


def test_a_softmax_of_no_element_is_refused():
    kept = np.ones((2, 3), np.bool_)
    kept[1, 1:] = False
    assert hm.softmax(np.ones((2, 3)), 1, where=kept)[1].tolist() == [1, 0, 0]
    kept[1, 0] = False
    with pytest.raises(ParameterError, match="leaves out all elements"):
        hm.softmax(np.ones((2, 3)), 1, where=kept)
    with pytest.raises(ParameterError, match="leaves out all elements"):
        hm.compile(lambda x: hm.softmax(x, 1, where=kept), hm.ArraySpec((2, 3), range=(0, 1)))


@pytest.mark.parametrize("width", [0.5, 8, 15])  # halved 0, 1 and 2 times
def test_encrypted_logsumexp_is_right_anywhere_in_its_range(width):
    rows = wide(width)
    spec = hm.ArraySpec(rows.shape, range=(-width, width))
    plan = hm.compile(lambda x: hm.logsumexp(x, 1, keepdims=True), spec, precision_bits=12)
    wanted = special.logsumexp(rows, 1, keepdims=True)
    np.testing.assert_allclose(plan.evaluate_clear(rows), wanted, atol=2.0**-6)
    assert plan.outputs == {"output": (5, 1)}


@pytest.mark.parametrize(("count", "width"), [(6, 0.5), (6, 12), (2, 30)])
def test_sums_of_exponentials_are_known_to_be_as_large_as_they_are(count, width):
    """From half of the least to a sixteenth above the largest, by the ends of the range: of divisors."""
    x = Array(recorder := Recorder(), recorder.input("x", (count,), -width / 2, width / 2))
    first, *others = _shares(x, None)[1]
    least = count * np.exp(-width / 2 ** len(others))
    assert 0.4 * least < first.range[0] < least < count < first.range[1] < 1.1 * count
    assert len(others) == max(0, np.ceil(np.log2(width / 10)))
    for each in others:
        assert 0.4 / count < each.range[0] < 1 / count
        assert 1 < each.range[1] < 1.1


def test_powers_are_numpys():
    given = Given(np.array([[-1.5, 0, 1], [2, -1, 0.5]]))
    check(lambda x: [x**power for power in range(12)], given)
    check(lambda x: [x**power for power in (15, 16, 17, 24, 31)], given, tolerance=1e-7)


# What random calls (test_random_programs.py) do not draw: complex numbers in between, and functions and lists
# of encrypted arrays as arguments.
UNDRAWN = [
    lambda x: (np.fft.fft(np.fft.fft(x)) / (1 - 2j))[0].imag,
    lambda x: np.imag(np.conjugate(np.fft.fft(x, len(np.fft.fft(x)) + 2)) - (3 - 1j)),
    lambda x: np.real((2 - np.fft.fft(x)) * np.fft.fft(x[::-1] * 2)),
    lambda x: np.fft.ifft(np.fft.fft(np.tile(x, 2), axis=0) * [1j], axis=0, norm="forward").real,
    lambda x: [np.fft.irfft(1j * np.fft.rfft(x[0]), 3), (np.fft.rfft(x) + x[..., :1]).real],
    lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: -2 * v, lambda v: 3 * v]),
    lambda x: np.piecewise(x, [x > 1], [1, lambda v, slope: slope * v + 1 - slope], 2),
    lambda x: np.choose(_whole(x + 2), [x * at for at in range(5)]),
    lambda x: [np.convolve(x[0], x[1, :2]), np.correlate(x[0, :2], x[1], "full"), *np.gradient(x)],
    lambda x: np.average(x, axis=(1, 0), weights=[[1.0, 2], [3, 4], [5, 6]]),
    lambda x: [np.cross([1.0, -2, 3], x[0]), np.einsum("ab,c->cba", x, [1.0, 2])],
]


def _whole(x):
    """Whole numbers of a plain array, which NumPy needs; an encrypted one as it is."""
    return x.astype(int) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize("row", range(len(UNDRAWN)))
def test_calls_with_other_arguments_are_numpys(row):
    check(UNDRAWN[row], Given(np.array([[-2.0, 0, 1], [2, -1, 2]]), step=1), tolerance=2**-10)


def test_arrays_in_tuples_are_seen():
    given = Given(np.array([[-2.0, 0, 1], [2, -1, 2]]))
    check(lambda x: [np.stack((x, -x)), np.concatenate((x, [[1.0, 2, 3]], x)), *np.unstack(x)], given)


def test_softmax_of_axes_encrypted():
    x = RNG.uniform(-1, 1, (2, 3))
    for axis in (None, 0, (0, 1)):
        plan = hm.compile(
            lambda y, axis=axis: hm.softmax(y, axis),
            hm.ArraySpec(x.shape, range=(-1, 1)),
            precision_bits=9,
            security=None,
        )
        np.testing.assert_allclose(plan.local(threads=1)(x), special.softmax(x, axis), atol=2.0**-9)


@pytest.mark.parametrize("name", ["expit", "erf", "ndtr", "log1p", "exprel"])
def test_ufuncs_of_scipy_are_approximated(name):
    function = getattr(special, name)
    plan = hm.compile(function, hm.ArraySpec((9,), range=(0, 3)), precision_bits=9, security=None)
    x = np.linspace(0, 3, 9)
    np.testing.assert_allclose(plan.local(threads=1)(x), function(x), atol=8 * 2.0**-9)


def test_other_functions_of_scipy_tell_what_there_is():
    with pytest.raises(TypeError, match=r"hm\.softmax"):
        hm.compile(special.softmax, hm.ArraySpec((4,), range=(0, 1)))
    with pytest.raises(TypeError, match=r"np\.frexp takes no encrypted array"):
        hm.compile(np.frexp, hm.ArraySpec((4,), range=(0, 1)))


def _leaky(x, slope):
    encrypted = isinstance(x, Array)
    return circuits.leaky_relu(slope, (-2, 2), bits=14)(x) if encrypted else np.where(x > 0, x, slope * x)


# Each row has functions of one name of one value that differ in one number.
DIFFERING = [
    [lambda x, a=a, b=b: np.clip(x, a, b) for a, b in ((-1, 1), (-1, 0), (0, 1), (0, 1.5))],
    [lambda x, a=a: _leaky(x, a) for a in (0.1, 0.3)],
    [lambda x, a=a: np.heaviside(x, a) for a in (0.5, 1)],
    [lambda x, a=a: np.isin(x, a) for a in (0, [0, 1], 1)],
    [lambda x, a=a: np.digitize(x, [0, a]) for a in (1, 2)],
]


@pytest.mark.parametrize("row", range(len(DIFFERING)))
def test_functions_that_differ_in_one_number_stay_two(row):
    given = Given(np.array([[-2.0, 0, 1], [2, -1, 2]]), step=1 if row > 1 else None)
    check(lambda x: [each(x) for each in [*DIFFERING[row], *DIFFERING[row]]], given, tolerance=2**-7, bits=14)


def test_complex_numbers_are_no_results():
    with pytest.raises(TypeError, match="returns ComplexArray as 'output'"):
        hm.compile(lambda x: np.fft.fft(x), hm.ArraySpec((4,), range=(-1, 1)))
    pair = hm.compile(lambda x: (np.fft.rfft(x).real, np.fft.rfft(x).imag), hm.ArraySpec((4,), range=(-1, 1)))
    assert pair.outputs == {"output0": (3,), "output1": (3,)}


def test_power_spectrum_of_an_encrypted_signal():
    """At a secure preset, within the bits that are told."""
    t = np.arange(64)
    signal = np.sin(2 * np.pi * 5 * t / 64) + 0.25 * np.cos(2 * np.pi * 12 * t / 64)

    def power(x):
        found = np.fft.rfft(x)
        return found.real**2 + found.imag**2

    plan = hm.compile(power, hm.ArraySpec((64,), range=(-1.25, 1.25)))
    wanted = np.abs(np.fft.rfft(signal)) ** 2
    room = 2.0**-16 * wanted.max()
    np.testing.assert_allclose(plan.local(threads=1)(signal), wanted, rtol=0, atol=room)
