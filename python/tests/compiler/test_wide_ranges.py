"""Numbers of wide ranges, judged by NumPy: comparisons where one step is a small part of the range, and slots
without elements, whose numbers must not outgrow those of elements."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.special

import hemera as hm
from hemera.errors import PrecisionError, RangeWarning

BITS = 15.5
"""The bits that results have, where 16 are asked for."""


def assert_gives(program, spec, rows, *, judge=None, **options):
    plan = hm.compile(program, spec, security=None, **options)
    run = plan.local(threads=1)
    wanted = [np.asarray((judge or program)(x), np.float64) for x in rows]
    room = 2.0**-BITS * max(float(np.abs(each).max()) for each in wanted)
    for x, own in zip(rows, wanted, strict=True):
        np.testing.assert_allclose(run(x), own, rtol=0, atol=room)
    return plan


COMPARISONS = {"equal": np.equal, "greater": np.greater, "sign": lambda x, at: np.sign(x - at)}


@pytest.mark.parametrize(("name", "bits"), [("equal", 28), ("equal", 34), ("greater", 36), ("sign", 28)])
def test_comparisons_next_to_equality(name, bits):
    """One step is 2^-bits of the range: noise is less, and errors of a step are none of its neighbours."""
    compare, at, most = COMPARISONS[name], 2.0**19, 2.0**bits
    x = np.array([at - 1, at, at + 1, 0, most, at, at + 2, most - 1])
    assert_gives(lambda x: compare(x, at) * 1, hm.ArraySpec((8,), (0, most), step=1), [x, x[::-1]])


def test_equality_of_two_arrays_with_cents():
    prices = np.round(np.random.default_rng(0).uniform(1, 1e6, 8), 2)
    other = prices + np.array([0, 0.01, -0.01, 0, 0.01, -0.01, 100, 0])
    spec = hm.ArraySpec((2, 8), range=(0, 1e6 + 101), step=0.01)
    rows = [np.stack([prices, other])]
    assert_gives(lambda x: (x[0] == x[1]) * 1, spec, rows, judge=lambda x: np.abs(x[0] - x[1]) < 0.005)


@pytest.mark.parametrize(("middle", "bits"), [(1e3, 16), (1e6, 4), (1e6, 12), (1e6, 13), (1e6, 16)])
def test_sums_that_cancel_have_the_bits_or_are_refused(middle, bits):
    """Rounded weights of the two summands, of 10^12, leave a part of 2^-40 of these. The last case had 3."""
    spec = hm.ArraySpec((64,), range=(middle, middle + 10), step=1)
    row = np.random.default_rng(0).integers(middle, middle + 11, 64)
    whole = [int(x) for x in row]
    judge = float(Fraction(sum(x * x for x in whole), 64) - Fraction(sum(whole), 64) ** 2)

    def spread(x):
        return (x * x).mean() - x.mean() ** 2

    if bits == 16 and middle == 1e6:
        with pytest.raises(PrecisionError, match=r"would have 12.* of the 16 bits that were asked for"):
            hm.compile(spread, spec, precision_bits=bits, security=None)
        return
    plan = hm.compile(spread, spec, precision_bits=bits, security=None)
    assert plan.expected_bits() >= bits - 0.5
    assert abs(plan.local()(row) - judge) <= 2.0 ** -(bits - 0.5) * judge


def test_steps_without_the_bits_are_refused():
    """Also of a mask that no draw makes true: it has a size, and so bits."""
    params = hm.ckks.Parameters.for_circuit(50, scale_bits=40, slots=8, range_bits=10, security=None)
    programs = [lambda x: x == 2**20, lambda x: x > 2**20]
    for program in programs:
        hm.compile(program, hm.ArraySpec((8,), (0, 2**22), step=1), params=params)
        with pytest.raises(PrecisionError, match=r"of the 16 bits.*noise of test_wide_ranges.py"):
            hm.compile(program, hm.ArraySpec((8,), (0, 2**32), step=1), params=params)


@pytest.mark.parametrize(("count", "widest", "name"), [(3, 300, "softmax"), (5, 60, "logsumexp")])
def test_free_slots_of_exponentials(count, widest, name):
    """What lies beside few elements is divided by their sum, squared, divided again, and so on."""
    rows = [np.zeros(count), np.full(count, widest), np.linspace(0, widest, count)]
    plan = assert_gives(
        getattr(hm, name), hm.ArraySpec((count,), (0, widest)), rows, judge=getattr(scipy.special, name)
    )
    assert max(plan._lowered.magnitudes.values()) < 2.0**20


def test_free_slots_of_polynomials():
    """A polynomial of any number is one of what lies in slots without elements, too."""
    power = hm.circuits.Polynomial([0] * 20 + [1.0])

    def program(x):
        found = np.exp(x) / np.exp(x).sum()
        return found**20 if isinstance(x, np.ndarray) else power(found)

    samples = np.random.default_rng(0).uniform(-7.5, 0, (200, 3))
    spec = hm.ArraySpec((3,), range=(-7.5, 0))
    plan = assert_gives(program, spec, samples[:3], calibrate=samples, precision_bits=16)
    assert max(plan._lowered.magnitudes.values()) < 2.0**20


@pytest.mark.parametrize("weight", [1e-15, 1e-30, 1e-300])
def test_results_of_small_weights_have_their_bits(weight):
    """They are small next to what they are made of, and no rounding of it."""
    for program in (lambda x: x * weight, lambda x: x / (1 / weight), lambda x: (x * weight).sum() + x * 0):
        assert_gives(program, hm.ArraySpec((3,), (1, 5)), [np.array([1.0, 2.5, 5])])
    assert_gives(lambda x: np.clip(x, 0, 5e-324), hm.ArraySpec((3,), (1, 5)), [np.array([1.0, 2.5, 5])])


@pytest.mark.parametrize("factor", [4096, -3, 1000, 1 - 2**20])
def test_whole_factors_at_the_lowest_level(factor):
    """They may be larger than any result, where they make small numbers at most 1."""
    most = abs(factor) ** -0.5
    rows = [np.array([-most, most, most / 3])]
    spec = hm.ArraySpec((3,), (-most, most))
    plan = assert_gives(lambda x: x * x * factor, spec, rows, scales=False)
    assert plan.depth == 1


@pytest.mark.parametrize("factor", [57.3, -1000.5, 1e6 / 7])
def test_factors_above_all_results(factor):
    most = 2 / abs(factor)
    assert_gives(lambda x: x * factor, hm.ArraySpec((3,), (-most, most)), [np.array([-most, most, 0])])


def test_small_variances_far_from_0_can_be_computed():
    rows = [np.array([0.0355262, 0.0358, 0.03588, 0.0356])]
    assert_gives(lambda x: x.var(), hm.ArraySpec((4,), (0.0355262, 0.0358815)), rows)


def test_bits_at_the_ends_of_ranges():
    """A quotient of sums is noisier where both are large than where one is small."""
    rows = [np.full(11, -367.0), np.full(11, 367.0), np.where(np.arange(11) % 2, 367.0, -367.0)]

    def program(x):
        return (x * x[::-1]).sum() / ((x * x).sum() + 1)

    spec = hm.ArraySpec((11,), (-367, 367))
    run = hm.compile(program, spec, precision_bits=20, security=None).local(threads=1)
    for x in rows:
        assert abs(run(x) - program(x)) < 2.0**-19.25


def test_noise_of_exponentials_at_the_ends_of_ranges():
    """Where all are at the lower end their sum is least, and its inverse has most of the noise."""
    rows = [np.full(3, -1200.0), np.full(3, 1200.0), np.array([1200.0, -1200.0, 0])]
    plan = assert_gives(hm.softmax, hm.ArraySpec((3,), (-1200, 1200)), rows, judge=scipy.special.softmax)
    assert plan.expected_bits() <= 20


@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
@pytest.mark.parametrize("sign", [1, -1])
def test_whole_inputs_above_all_results(scheme, sign):
    x = sign * (10**6 + np.array([0, 5, 3]))
    spec = hm.ArraySpec((3,), (int(x.min()), int(x.max())))
    run = hm.compile(lambda x: x - sign * 10**6, spec, scheme=scheme, security=None).local(threads=1)
    np.testing.assert_array_equal(run(x), x - sign * 10**6)


def test_functions_on_intervals_far_from_0():
    """The factor that maps them to [-1, 1] is rounded; the middle is not moved by it."""
    ends = (52398903463200.0, 52451446000500.0)
    params = hm.ckks.Parameters.for_circuit(6, scale_bits=40, slots=8, range_bits=48, security=None)
    context = hm.Context(params)
    secret = context.generate_secret_key()
    evaluator = context.bind(context.generate_keys(secret))
    x = np.linspace(*ends, 8)
    with pytest.warns(RangeWarning, match="no declared bound"):
        found = hm.circuits.sqrt(ends)(evaluator.encrypt(x))
    np.testing.assert_allclose(context.decrypt(found, secret), np.sqrt(x), rtol=2.0**-17)
    far = hm.ArraySpec((13,), (-5.12367e6, -5.11854e6))
    assert_gives(lambda x: np.sqrt((x * x).mean() + 2.62e13), far, [np.full(13, end) for end in far.range])


BANDS = {
    "one clip": lambda x, at: np.clip(x, at - 2, at + 2),
    "two rectifiers": lambda x, at: np.minimum(np.maximum(x, at - 2), at + 2),
    "two maxima": lambda x, at: np.minimum(np.maximum(x, x * 0 + at - 2), x * 0 + at + 2),
}


@pytest.mark.parametrize(
    ("name", "at", "bits"),
    [("one clip", 1e3, 16), ("one clip", 1e7, 20), ("two rectifiers", 2e7 - 1, 12), ("two maxima", 1e7, 8)],
)
def test_narrow_bands_between_bends(name, at, bits):
    """A band of 2^-22 of the range, which no draw meets, has the bits that are told, and is where the program
    has it. Noise of copies of slots takes nothing out of [-1, 1]."""
    most = 2e7
    plan = hm.compile(
        lambda x: BANDS[name](x, at), hm.ArraySpec((8,), (0, most)), precision_bits=bits, security=None
    )
    run, told = plan.local(threads=1), plan.expected_bits()
    assert told >= bits - 0.5
    near = np.minimum(at + np.array([-3, -2, -1, 0, 1, 1.9, 2, 3]), most)
    for x in (near, near[::-1], np.full(8, 0.0), np.full(8, most), np.linspace(0, most, 8)):
        error = np.abs(run(x) - np.clip(x, at - 2, at + 2)).max()
        assert error <= 2 ** (1 - told) * at


@pytest.mark.parametrize(
    ("name", "largest", "bits"),
    [("abs", 3, 20), ("relu", 100, 16), ("abs", 2**16, 5), ("abs", 2**18, 3), ("relu", 2**20, 2)],
)
def test_signs_next_to_1_have_finite_polynomials(name, largest, bits):
    function = getattr(hm.circuits, name)((-largest, largest), bits=bits)
    x = np.concatenate([np.linspace(-largest, largest, 1001), largest * 2.0 ** -np.arange(40)])
    wanted = np.abs(x) if name == "abs" else np.maximum(x, 0)
    assert np.abs(function(x) - wanted).max() <= 2.0**-bits


def test_small_weights_are_rounded():
    """1e-9 is a multiple of 2^-40 but for 2^-12 of itself: where nothing else has errors, too."""
    spec = hm.ArraySpec((2,), (9.22581e6, 9.31807e6))
    plan = assert_gives(lambda x: x * 1e-9, spec, [np.array(spec.range)])
    assert plan.expected_bits() >= BITS


def test_small_results_of_large_summands_are_refused_unless_they_are_rounding():
    """A variance of times, around 1.7e9, is 2^-45 of its summands; doubles have 8 bits more."""
    spec = hm.ArraySpec((64,), range=(1.7e9, 1.7e9 + 1000))
    row = np.random.default_rng(0).uniform(*spec.range, 64)
    exact = [Fraction(x) for x in row]
    judge = float(sum(x * x for x in exact) / 64 - (sum(exact) / 64) ** 2)
    assert abs((row * row).mean() - row.mean() ** 2 - judge) < 0.02 * judge
    with pytest.raises(PrecisionError, match=r"would have (none|0\.\d) of the 16 bits"):
        hm.compile(lambda x: (x * x).mean() - x.mean() ** 2, spec)
    assert_gives(lambda x: x.var(), spec, [row], judge=lambda _: judge)

    def zero(x):
        return (x + 0.1) ** 2 - x * x - 0.2 * x - 0.01

    row = np.linspace(0, 1, 8)
    found = hm.compile(zero, hm.ArraySpec((8,), range=(0, 1)), security=None).local(threads=1)(row)
    assert np.abs(found).max() < 2.0**-30
