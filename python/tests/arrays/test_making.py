"""Errors of functions that can not be made name the function, the user's line and the ways out."""

import re

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, ParameterError, RangeError

WIDE = hm.ArraySpec((3,), range=(-60, 60))
NEAR_0 = hm.ArraySpec((3,), range=(1e-7, 100))
LINE = r"test_making\.py:\d+"

# The function, the inputs, and what the error says first.
REFUSED = {
    "exp": (lambda x: np.exp(x), WIDE, r"^exp of values from -60 to 60"),
    "exp2": (lambda x: np.exp2(x), WIDE, r"^values up to 1.1\d*e\+18 .* too large"),
    "log": (lambda x: np.log(x), NEAR_0, r"^log of values from 1e-07 to 100"),
    "sqrt": (lambda x: np.sqrt(x), hm.ArraySpec((3,), range=(0, 100)), r"^sqrt of values from 0 to 100"),
    "quotient": (lambda x: 1 / x, NEAR_0, r"^(result .* by )?inverse (of|at)"),
    "any": (lambda x: x.approximated(np.sinc, most=7), WIDE, r"^sinc of values from -60 to 60"),
    "lambda": (lambda x: x.approximated(lambda v: abs(v) ** 0.1, most=7), WIDE, r"^the function of values"),
    "maximum": (lambda x: np.maximum(x[:1], x[1:2]), WIDE, r"\bmaximum "),
    "relu": (lambda x: np.maximum(x, 0), WIDE, r"^relu of values from -6"),
    "softmax": (lambda x: hm.softmax(x), WIDE, r"^(exp|inverse) of values from"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_functions_that_can_not_be_made_are_named(name):
    function, spec, first = REFUSED[name]
    bits = {"maximum": 56, "relu": 40, "softmax": 50, "sqrt": 36}.get(name, 24)
    with pytest.raises((ParameterError, LevelError)) as caught:
        hm.compile(function, spec, precision_bits=bits)
    text = str(caught.value)
    assert re.search(first, text), text
    assert re.search(LINE, text), text
    for way in ("range=", "calibrate=", "precision_bits" if name != "exp2" else "divide"):
        assert way in text


def test_bootstraps_of_too_large_values_name_the_deepest_line():
    with pytest.raises(RangeError, match=rf"a bootstrap of values of a magnitude .*{LINE}"):
        hm.compile(lambda x: hm.softmax(x) * x**8, WIDE)


@pytest.mark.parametrize(
    ("function", "first"),
    [
        (lambda x: 1 / x, "1 / x of values from -60 to 60"),
        (np.log, "log of values from -60 on"),
        (lambda x: hm.circuits.sigmoid((-8, 8))(x), "sigmoid is for values from -8 to 8"),
    ],
)
def test_ranges_that_do_not_fit_tell_the_line(function, first):
    with pytest.raises(RangeError, match=rf"^{re.escape(first)}.*({LINE}|\(\)).*calibrate="):
        hm.compile(function, WIDE)


def test_a_function_without_values_tells_where():
    with pytest.raises(ParameterError, match=rf"^arccos is not finite everywhere from -60 to 60 \({LINE}\)"):
        hm.compile(lambda x: np.arccos(x), WIDE)
