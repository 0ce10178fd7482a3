"""Bits of statistics of tables that clients finish."""

import numpy as np
import pandas as pd
import pytest

import hemera as hm
from hemera.errors import PrecisionError

EQUAL = pd.DataFrame({"x": [0.5] * 3 + [4.5] * 3, "a": [9, 1, 9, 9, 3, 9], "k": list("uuuvvv")})


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", ["of a function", "of a filter", "of all"])
def test_deviations_of_equal_values_have_their_bits(name, bits):
    """A root near 0 has half of the bits of the variance below it."""
    study = {
        "of a function": lambda t: t.assign(q=np.exp(t.x)).groupby("k").q.std(),
        "of a filter": lambda t: t[t.a > 2].groupby("k").x.std(),
        "of all": lambda t: (t.x * t.a).std(),
    }[name]
    spec = hm.TableSpec.of(EQUAL, ranges={"x": (0, 5), "a": (0, 20)}, keys=["k"])
    plan = hm.compile(study, spec, precision_bits=bits, security=None)
    far = EQUAL.assign(x=[0.0, 5.0] * 3, a=[3, 20, 3, 3, 20, 20])
    largest = np.max(study(far))
    equal = EQUAL.assign(x=5.0, a=9) if name == "of all" else EQUAL
    assert np.max(study(equal)) < 1e-9
    run = plan.local(threads=1)
    errors = [np.max(run(equal)) for _ in range(4)]
    assert max(errors) < 2.0 ** (1 - bits) * largest
    told = plan.expected_bits()
    assert bits - 1 <= told < 3 - np.log2(max(*errors, 2.0**-40) / largest)


@pytest.mark.parametrize("name", ["var", "std", "mean"])
def test_finished_results_have_the_bits_of_tables(name):
    """Sums around the middle of a wide range cancel in a variance."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(3e4, 10, 40), "f": rng.random(40) < 0.5, "k": [*"uv"] * 20})
    spec = hm.TableSpec.of(frame, ranges={"x": (0, 1e6)}, keys=["k"])

    def study(t):
        return {"filtered": getattr(t[t.f].x, name)(), "groups": getattr(t.groupby("k").x, name)()}

    plan = hm.compile(study, spec, precision_bits=12, calibrate=frame, security=None)
    found = plan.local(threads=1)(frame)
    for key, wanted in study(frame).items():
        np.testing.assert_allclose(found[key], wanted, rtol=0, atol=2.0**-10 * np.abs(wanted).max())


def test_bits_that_deviations_lack_are_told():
    spec = hm.TableSpec.of(EQUAL, ranges={"x": (0, 5), "a": (0, 20)}, keys=["k"])
    with pytest.raises(PrecisionError, match=r"finished results of 30 bits take \d+ bits of what"):
        hm.compile(lambda t: t.groupby("k").x.std(), spec, precision_bits=30, security=None)
    hm.compile(lambda t: t.groupby("k").x.var(), spec, precision_bits=30, security=None)
