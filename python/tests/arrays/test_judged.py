"""The judge itself: which errors count as refusals."""

import numpy as np
import pytest

import hemera as hm
from hemera.errors import FormatError, MismatchError, NoiseError, ParameterError, RangeError

from .judged import called, judged


@pytest.mark.parametrize(
    ("error", "refuses"),
    [
        (MismatchError("arrays of shapes (2,) and (3,): give equal ones"), True),
        (ParameterError("log is not finite (study.py:7)"), True),
        (RangeError("the range has 0 in it; keep it from 0"), True),
        (hm.errors.PrecisionError("would have 3 of the 9 bits: ask for fewer"), True),
        (ParameterError("that is wrong"), False),  # without a way out
        (ParameterError(""), False),
        (NoiseError("no room: give larger parameters"), False),
        (FormatError("no file: give one"), False),
        (hm.Error("any: give another"), False),
        (KeyError("give"), False),
        (TypeError("not from the package: give another"), False),
    ],
)
def test_refusals_are_typed_and_name_the_way_out(error, refuses):
    def raises(*_):
        raise error

    for wanted in (np.arange(3.0), IndexError("of the judge")):
        (verdict,) = judged(raises, [np.arange(3.0)], {}, wanted)
        # Where the judge refuses too, words are its own affair, but not another kind of error.
        typed = isinstance(error, (MismatchError, ParameterError, RangeError, TypeError))
        expected = refuses if isinstance(wanted, np.ndarray) else typed
        assert verdict.found == ("refused" if expected else "wrong"), verdict


def test_errors_of_the_package_refuse():
    arguments = [np.array([True, False]), np.array([1.5, 2.0])]
    verdicts = list(judged(np.copysign, arguments[1:] * 2, {}, np.arange(2.0)))
    assert [each.found for each in verdicts] == ["refused"] * 3
    (plain,) = judged(lambda _: int("a"), arguments[:1], {}, called(int, ["a"], {}))
    assert plain.found == "refused"  # as the judge
