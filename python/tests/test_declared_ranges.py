"""Where values must lie: declared ranges are checked, clear values outside refused, others warned of."""

import itertools
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest

import hemera as hm
from hemera import circuits
from hemera.errors import NoiseError, ParameterError, RangeError, RangeWarning

from .refusals import raises, refuse, refuse_each

DEPTH = 14


@pytest.fixture(scope="module")
def session():
    params = hm.ckks.Parameters.for_circuit(depth=DEPTH, degree=1024, slots=8, security=None)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    return ctx, sk, ctx.bind(ctx.generate_keys(sk))


def test_powers_are_right_everywhere_and_finite():
    square = circuits.Polynomial([1, 0, 2])
    np.testing.assert_allclose(square(np.array([10.0, -100.0])), [201, 20001])
    refuse_each(square, (math.nan, math.inf), RangeError)
    refuse((lambda: circuits.Polynomial([1, 0, 2], basis="chebyshev")(1.5), RangeError, "from -1 to 1"))
    refuse((lambda: circuits.Polynomial([1, 0, 2], error=0.1)(1.5), RangeError, "from -1 to 1"))


def declared_elsewhere(largest, depth):
    return hm.ckks.Parameters.for_circuit(depth=depth, largest=largest, degree=1024, slots=8, security=None)


def test_a_declared_bound_beyond_the_interval_is_an_error_before_computing():
    function = circuits.sigmoid((-8, 8), bits=8)
    ctx = hm.Context(declared_elsewhere(100, function.depth), "cpu")
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, relinearization=False))
    x = ev.encrypt([1.0, 20.0])
    plan = function.plan(ctx.params)
    for evaluate in (function, plan):
        # Before the key that is not there is missed.
        raises(RangeError, r"up to 100 are declared.*from -8 to 8.*clip=True.*largest=", evaluate, x)
    # What is smaller may say so, of parameters that say more.
    y = ctx.bind(ctx.generate_keys(sk)).encrypt([1.0, 7.0], largest=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(ctx.decrypt(function(y), sk), 1 / (1 + np.exp([-1.0, -7.0])), atol=2**-7)
    assert function(y).largest == pytest.approx(1 / (1 + math.exp(-8)))


def test_where_nothing_is_declared_there_is_one_warning(session):
    _, _, ev = session
    function = circuits.sigmoid((-8, 8), bits=4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        for _ in range(3):
            y = function(ev.encrypt([1.0]))
    assert ([each.category for each in caught], caught[0].filename) == ([RangeWarning], __file__)
    assert "from -8 to 8" in str(caught[0].message)
    assert y.largest == math.inf
    # A magnitude does not say that values are positive.
    with pytest.warns(RangeWarning, match="log: values are taken to be from 0.5 to 4"):
        circuits.log((0.5, 4), bits=4)(ev.encrypt([1.0], largest=4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(ev.encrypt([1.0], largest=8))
        ev.encrypt([1.0]).polyval([0, 1, 2])


def test_declared_bounds_are_checked_and_kept(session):
    ctx, sk, ev = session
    x = ev.encrypt([1.0, -3.0], largest=4)
    assert (x.largest, ctx.encrypt([1.0], sk, largest=4).largest) == (4, 4)
    assert (ctx.load(bytes(x)).largest, (x * x - 1).largest) == (4, 17)
    assert (x * ev.encode([2.0, 2.0], largest=2)).largest == 8
    assert x.polyval([1, -3, 0, 0.5]).largest == 1 + 12 + 32
    np.testing.assert_allclose(ctx.decrypt(x.polyval([1, -3, 0, 0.5]), sk), [-1.5, -3.5], atol=1e-4)
    for give in (ev.encrypt, ctx.encode):
        raises(ParameterError, "exceeds the declared bound 4", give, [1.0, 5.0], largest=4)
        for bound in (-1, math.nan):
            raises(ParameterError, "largest", give, [0.0], largest=bound)
    refuse((lambda: ctx.encrypt(ctx.encode([1.0]), sk, largest=4), ParameterError, "give largest= to encode"))
    integers = hm.Context(hm.bfv.Parameters.for_circuit(depth=1, degree=1024, security=None), "cpu")
    refuse((lambda: integers.encode([1], largest=4), ParameterError, "largest is of CKKS"))


CLIPPED = {
    "sigmoid": (circuits.sigmoid, (-8, 8), lambda x: 1 / (1 + np.exp(-x))),
    "tanh": (circuits.tanh, (-3, 2), np.tanh),
    "gelu": (circuits.gelu, (-4, 4), lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
    "exp": (circuits.exp, (-2, 1), np.exp),
    "log": (circuits.log, (0.5, 4), np.log),
    "inverse": (circuits.inverse, (-4, -1), lambda x: 1 / x),
    "sqrt": (circuits.sqrt, (0.5, 2), np.sqrt),
}


@pytest.mark.parametrize("name", CLIPPED)
def test_with_clip_values_outside_have_that_of_the_end(name):
    make, (low, high), expected = CLIPPED[name]
    largest = 5 * max(abs(low), abs(high))
    function = make((low, high), bits=6, clip=largest)
    x = np.concatenate(
        [np.linspace(-largest, largest, 2001), low + np.linspace(-1, 1, 501), high + np.linspace(-1, 1, 501)]
    )
    difference = np.abs(function(x) - expected(np.clip(x, low, high)))
    assert difference.max() <= 2**-6
    assert function.error <= 2**-6
    assert difference.max() <= function.error + 1e-9
    assert function.intervals == [(-largest, largest)]
    refuse((lambda: function(1.1 * largest), RangeError, None))
    assert make((low, high), bits=6, clip=True).intervals == [(-0.8 * largest, 0.8 * largest)]
    again = circuits.from_recipe(function.name, function.recipe or {})
    np.testing.assert_array_equal(again(x), function(x))


def test_clips_that_are_none_are_refused():
    for interval, largest in (((-1, 1), 1), ((-1, 1), 0.5), ((1, -1), 4), ((-1, 1), math.inf), ((0, 0), 2)):
        raises(ParameterError, "", circuits.clip, interval, largest=largest)
        raises(ParameterError, "", circuits.sigmoid, interval, clip=largest)
    refuse((lambda: circuits.sqrt((0, 1), bits=4, clip=True), ParameterError, "negative"))
    raises(ParameterError, "clip is not made of", circuits.from_recipe, "clip", {"low": -1, "high": 1})


@pytest.fixture(scope="module")
def automatic():
    params = hm.ckks.Parameters.for_bootstrapping("test-40", levels=5)
    boot = circuits.Bootstrap(params, 8)
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    return ctx, sk, ctx.bind(ctx.generate_keys(sk, plan=boot), bootstrap=boot, automatic=True), boot


def values():
    return np.array([1.0, -1.0, 0.5, -0.25, 0.0, 0.75, -0.6, 0.1])


def test_arrays_make_bounds_unknown_and_authors_know_them(automatic):
    ctx, sk, ev, _ = automatic
    x, expected = ev.encrypt(values(), largest=1), values()
    weights = np.linspace(1, 1.5, 8)
    assert (x * weights).largest == math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(1, 13):
            x = ev.declare(x * weights, 1.5**step)
            expected = expected * weights
    np.testing.assert_allclose(ctx.decrypt(x, sk), expected, atol=1.5**12 * 2**-12)
    refuse_each(lambda bound: ev.declare(x, bound), (-1.0, math.nan), ParameterError, "declare: a bound of")


def test_every_undeclared_bootstrap_warns(automatic):
    ctx, _, ev, boot = automatic
    low = ev.at_level(ev.encrypt(values()), boot.input_level)
    runs = (
        lambda x: x.bootstrap(),
        lambda x: boot(x),
        lambda x: x * x,
        lambda x: x * 0.5,
        lambda x: x * np.ones(8),
        lambda x: x.evaluator.dot([x], [x]),
        lambda x: x.polyval([0.5, 0.5]),
    )
    # Two operations of two calls each: each warns of itself once, and never of the same evaluator's others.
    for first, second in itertools.pairwise((*runs, runs[0])):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = ctx.bind(ev.keys, bootstrap=boot, automatic=True).bind(low)
            told = []
            for run in (first, second, first, second):
                run(x)
                told.append(len(caught))
        assert (told, {each.category for each in caught}) == ([1, 2, 3, 4], {RangeWarning})
        assert "from -1 to 1" in str(caught[0].message)
        assert "magnitude=" in str(caught[0].message)
        assert {each.filename for each in caught} == {__file__}


def test_python_tells_each_warning_of_a_line(tmp_path):
    """Python's own filters would show one for each line of a process; a user's filters come first."""
    program = tmp_path / "program.py"
    program.write_text(
        "import hemera as hm\n"
        "from hemera._noise_warning import warn_of_bootstrap, warn_of_interval, warn_of_spent_budget\n"
        "for _ in range(3):\n"
        "    warn_of_bootstrap()\n"
        "    warn_of_interval('log', 0.5, 4), warn_of_spent_budget('add')\n"
    )
    for options, told in (([], 9), (["-W", "ignore"], 0), (["-W", "once"], 3)):
        run = subprocess.run([sys.executable, *options, program], capture_output=True, text=True, check=True)
        assert run.stderr.count("Warning: ") == told, run.stderr


@pytest.mark.parametrize("largest", [None, 1])
@pytest.mark.parametrize("given", [None, 1])
@pytest.mark.parametrize("bound", [None, 100])
def test_the_magnitude_of_bind_is_that_of_its_plan(automatic, bound, given, largest):
    """A declared bound comes first, then that of the call, and then that of bind. A hundred costs 3 bits."""
    ctx, sk, undeclared, boot = automatic
    ev = ctx.bind(undeclared.keys, bootstrap=boot, magnitude=bound)
    low = ev.at_level(ev.encrypt(values(), largest=largest), boot.input_level)
    for plan in (None, boot, circuits.Bootstrap(ctx.params, 8)):
        known = largest or given or (bound if plan in (None, boot) else None)
        for run in (ev.bootstrap, lambda x, *own, **asked: hm.bootstrap_many([x], *own, **asked)[0]):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                y = run(low, plan, magnitude=given)
            assert [each.category for each in told] == [RangeWarning] * (known is None)
            error = np.abs(ctx.decrypt(y, sk) - values()).max()
            assert (error > 2**-21.7) == (known == 100), (plan, np.log2(error))


def test_magnitudes_that_do_not_fit_are_refused(automatic):
    ctx, _, ev, boot = automatic
    for magnitude in (0, -1, math.inf, math.nan):
        raises(ParameterError, "finite and positive", ctx.bind, ev.keys, bootstrap=boot, magnitude=magnitude)
    refuse((lambda: ctx.bind(ev.keys, bootstrap=boot, magnitude="100"), TypeError, "must be a number"))
    refuse((lambda: ctx.bind(ev.keys, magnitude=100), ParameterError, "needs a plan"))
    raises(RangeError, "smaller magnitude", ctx.bind, ev.keys, bootstrap=boot, automatic=True, magnitude=1e9)
    own = ctx.bind(ev.keys, bootstrap=boot, magnitude=100)
    low = own.at_level(own.encrypt(values(), largest=101), boot.input_level)
    refuse((lambda: low.bootstrap(), RangeError, "from -1 to 100"))


def make_session(params):
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    return ctx, sk, ctx.bind(ctx.generate_keys(sk, sum_slots=4))


def test_a_wrap_is_a_noise_error():
    ctx, sk, ev = make_session(hm.ckks.Parameters.for_circuit(depth=1, slots=4))
    x = ev.encrypt([1500.0] * 4)
    refuse((lambda: ctx.decrypt(x * x, sk), NoiseError, r"quarter.*range_bits.*largest="))
    small = hm.ckks.Parameters.for_circuit(depth=1, slots=4, range_bits=10)
    assert not small.checks_range
    assert small.range_bits == 10


def test_a_declared_bound():
    params = hm.ckks.Parameters.for_circuit(depth=1, slots=4, largest=3e6)
    assert (params.largest, params.range_bits) == (3e6, 23)
    ctx, sk, ev = make_session(params)
    x = ev.encrypt([1500.0] * 4)
    np.testing.assert_allclose(ctx.decrypt(x * x, sk), [2250000] * 4, rtol=1e-4)
    assert (x.largest, (x * x).largest, (2 * x - 1).largest) == (3e6, 9e12, 6e6 + 1)
    assert x.sum().largest == 1.2e7
    refuse((lambda: ev.encrypt([4e6]), ParameterError, "exceeds the declared bound 3000000"))
    assert hm.ckks.Parameters.for_circuit(1).largest is None
    for bound in (0, -1, math.nan, math.inf, 1e30):
        raises(ParameterError, "largest", hm.ckks.Parameters.for_circuit, 1, largest=bound)
    raises(ParameterError, "one of them", hm.ckks.Parameters.for_circuit, 1, largest=10, range_bits=20)
