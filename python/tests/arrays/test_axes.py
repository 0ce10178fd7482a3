"""Axes of arrays without axes, and of one element, are NumPy's; arrays without elements are refused."""

import numpy as np
import pytest

from hemera.arrays.array import Array
from hemera.arrays.recorder import Recorder
from hemera.errors import ParameterError

OVER = (
    "sum",
    "mean",
    "prod",
    "max",
    "min",
    "cumsum",
    "var",
    "std",
    "argmax",
    "argmin",
    "sort",
    "argsort",
    "median",
)
FUNCTIONS = {
    **{name: getattr(np, name) for name in (*OVER, "count_nonzero", "average", "flip", "squeeze", "diff")},
    "any": lambda x, **axis: np.any(x > 1, **axis),
    "all": lambda x, **axis: np.all(x > 1, **axis),
    "norm": np.linalg.norm,
    "roll": lambda x, **axis: np.roll(x, 1, **axis),
    "repeat": lambda x, **axis: np.repeat(x, 2, **axis),
    "expand_dims": lambda x, axis=0: np.expand_dims(x, axis),
    "trapezoid": np.trapezoid,
}
NONE = object()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_have_numpy_s_shapes(name, shape):
    x = Array(recorder := Recorder(precision_bits=8), recorder.input("x", shape, 1, 3, step=1), "i")
    for axis in (NONE, None, 0, -1, 1, -2, (), (0,), 2.5, "a"):
        options = {} if axis is NONE else {"axis": axis}
        if name == "norm" and axis == ():
            continue  # NumPy refuses it, and takes it for other functions
        try:
            expected = np.shape(FUNCTIONS[name](np.ones(shape), **options))
        except (TypeError, ValueError, IndexError):
            with pytest.raises((TypeError, ValueError, IndexError)):
                FUNCTIONS[name](x, **options)
            continue
        if 0 in expected:
            with pytest.raises(ParameterError, match="0 elements"):
                FUNCTIONS[name](x, **options)
        else:
            assert FUNCTIONS[name](x, **options).shape == expected, (name, axis)


def test_no_elements():
    recorder = Recorder()
    with pytest.raises(ParameterError, match="no elements"):
        recorder.input("x", (0,), 0, 1)
    x = Array(recorder, recorder.input("x", (3,), 0, 1))
    for tried in (lambda: x[:0], lambda: x[[]], lambda: np.split(x, [0]), lambda: x.reshape(3, 1)[:, 1:]):
        with pytest.raises(ParameterError, match="0 elements"):
            tried()
